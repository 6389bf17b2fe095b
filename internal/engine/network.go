package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/fetch/credentials"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

const defaultRetries = 1

// hosts provides services and tokens to backends.
type hosts struct{ web *web.Client }

// Service implements remote.Hosts.
func (h hosts) Service(ctx context.Context, host string, ids ...string) (*url.URL, error) {
	var none *web.NoServiceError
	var err error
	for _, id := range ids {
		var u *url.URL
		if u, err = h.web.Service(ctx, host, id); err == nil {
			if !h.web.MaySendToken(host, u) {
				return nil, fmt.Errorf("the address of the service %[3]s of the host %[1]s is on %[2]s, and the "+
					"token of %[1]s is not sent there: another host has chosen the address, or TLS does not protect it",
					host, u.Host, id)
			}
			return u, nil
		}
		if !errors.As(err, &none) {
			return nil, err
		}
	}
	return nil, err
}

// Token implements remote.Hosts.
func (h hosts) Token(ctx context.Context, host string) (string, error) {
	if h.web.Credentials == nil {
		return "", nil
	}
	return h.web.Credentials(ctx, host)
}

// Web returns the client for servers, with the hosts and credentials of the CLI configuration and the limits of the
// environment.
func (s *Surroundings) Web() *web.Client {
	if s.web != nil {
		return s.web
	}
	tokens := s.tokens()
	s.web = web.New(web.Options{
		Credentials: tokens.Token, Logins: tokens.Login, Services: tokens.Settings.Hosts,
		Agent: strings.TrimSpace(cmp.Or(s.Title, "Tombolo") + " " +
			strings.TrimSpace(s.Getenv("TF_APPEND_USER_AGENT"))),
		Retries: s.number("TF_REGISTRY_DISCOVERY_RETRY", defaultRetries),
		Timeout: time.Duration(s.number("TF_REGISTRY_CLIENT_TIMEOUT", 0)) * time.Second, // 0 means the client's default
	})
	return s.web
}

// tokens returns the source of credentials.
func (s *Surroundings) tokens() *credentials.Source {
	set, _ := s.Settings() // their problems are reported where the settings are used
	return &credentials.Source{Settings: set, Environ: s.Environ, HelperDirs: s.SettingsEnvironment().HelperDirs()}
}

// Tokens returns the keeper of hosts' tokens. makeDir creates the folder of their file.
func (s *Surroundings) Tokens(makeDir func(dir string) error) credentials.Keeper {
	return credentials.Keeper{Source: s.tokens(), File: s.SettingsEnvironment().CredentialsFile(s.Flavor()),
		MakeDir: makeDir}
}

// User returns the name of the user that a token of a host belongs to, according to the API of HCP Terraform, or "" if
// the host has no such API. The token is only sent to this host.
func (s *Surroundings) User(ctx context.Context, host, token string) (string, error) {
	o := s.Web().Options
	o.Credentials = func(context.Context, string) (string, error) { return token, nil }
	client := web.New(o)
	base, err := hosts{client}.Service(ctx, host, "tfe.v2", "tfe.v2.1", "tfe.v2.2")
	if err != nil {
		var none *web.NoServiceError
		if errors.As(err, &none) {
			return "", nil
		}
		return "", err
	}
	var account struct {
		Data struct{ Attributes struct{ Username string } }
	}
	_, err = client.JSON(ctx, web.Request{URL: base.JoinPath("account", "details"), Host: host}, &account)
	return account.Data.Attributes.Username, err
}

// most is the limit for values of the environment.
const most = 3600

// number returns a number from the environment; an invalid one is ignored.
func (s *Surroundings) number(variable string, otherwise int) int {
	n, err := strconv.Atoi(s.Getenv(variable))
	if err != nil || n < 0 {
		return otherwise
	}
	return min(n, most)
}
