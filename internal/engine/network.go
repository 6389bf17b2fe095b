package engine

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/fetch/credentials"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

const defaultRetries = 1

// Web returns the client for servers, with the hosts and credentials of the CLI configuration and the limits of the
// environment.
func (s *Surroundings) Web() *web.Client {
	if s.web != nil {
		return s.web
	}
	set, _ := s.Settings() // whose problems are reported where the settings are needed
	tokens := &credentials.Source{Settings: set, Environ: s.Environ, HelperDirs: s.SettingsEnvironment().HelperDirs()}
	s.web = web.New(web.Options{
		Credentials: tokens.Token, Logins: tokens.Login, Services: set.Hosts,
		Agent: strings.TrimSpace(cmp.Or(s.Title, "Tombolo") + " " +
			strings.TrimSpace(s.Getenv("TF_APPEND_USER_AGENT"))),
		Retries: s.number("TF_REGISTRY_DISCOVERY_RETRY", defaultRetries),
		Timeout: time.Duration(s.number("TF_REGISTRY_CLIENT_TIMEOUT", 0)) * time.Second, // the default is the client's
	})
	return s.web
}

// most is the limit for values of the environment.
const most = 3600

// number reads a number from the environment; an invalid one counts as unset.
func (s *Surroundings) number(variable string, otherwise int) int {
	n, err := strconv.Atoi(s.Getenv(variable))
	if err != nil || n < 0 {
		return otherwise
	}
	return min(n, most)
}
