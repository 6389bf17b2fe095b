// Package credentials finds the tokens of hosts in environment variables, in the CLI configuration and with a
// credentials helper, in this order.
//
//	tokens := credentials.Source{Settings: set, Environ: os.Environ(), HelperDirs: dirs}
//	token, err := tokens.Token(ctx, "example.com")
//
// A variable TF_TOKEN_example_com contains the token of example.com; a dash in the name is written as two underscores
// or unchanged, and letters outside of ASCII in the form that begins with xn--. The helper is a program,
// terraform-credentials-NAME in one of the folders, which is called with its arguments, "get" and the host, and prints
// an object with the token, or an empty one. It is called once for each host, for at most half a minute. If the call
// fails, there is no token. Background processes of the helper are killed.
package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/settings"
)

// Source finds tokens. It is safe for concurrent use.
type Source struct {
	Settings *settings.Settings
	// Environ is the environment as "key=value".
	Environ []string
	// HelperDirs are the folders that are searched for the credentials helper.
	HelperDirs []string

	mu    sync.Mutex
	asked map[svchost.Hostname]*answer // results of the helper; guarded by mu
}

type answer struct {
	once  sync.Once
	token string
	err   error
}

const (
	envPrefix    = "TF_TOKEN_"
	helperPrefix = "terraform-credentials-"
	helperTime   = 30 * time.Second
	maxAnswer    = 1 << 20
)

// Token returns the token of a host, or "" if there is none.
func (s *Source) Token(ctx context.Context, host string) (string, error) {
	name, err := normal(host)
	if err != nil {
		return "", err
	}
	if token := s.fromEnvironment(name); token != "" {
		return token, check(token)
	}
	// the settings may contain several spellings of a host
	for _, known := range slices.Sorted(maps.Keys(s.Settings.Credentials)) {
		token := s.Settings.Credentials[known]
		if other, err := normal(known); err == nil && other == name {
			return token, check(token)
		}
	}
	if s.Settings.Helper == nil {
		return "", nil
	}
	s.mu.Lock()
	if s.asked == nil {
		s.asked = map[svchost.Hostname]*answer{}
	}
	a := s.asked[name]
	if a == nil {
		a = &answer{}
		s.asked[name] = a
	}
	s.mu.Unlock()
	a.once.Do(func() {
		if a.token, a.err = s.fromHelper(ctx, name); a.err != nil {
			a.err = fmt.Errorf("credentials helper %q: %w", s.Settings.Helper.Name, a.err)
		}
	})
	return a.token, a.err
}

// normal returns the normalized name of a host.
func normal(host string) (svchost.Hostname, error) {
	return svchost.ForComparison(svchost.ForDisplay(host))
}

// check refuses a token with control characters, which could inject another header.
func check(token string) error {
	if strings.ContainsFunc(token, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return errors.New("the token contains control characters, such as a line break")
	}
	return nil
}

func (s *Source) fromEnvironment(name svchost.Hostname) string {
	token := ""
	for _, entry := range s.Environ {
		rest, ok := strings.CutPrefix(entry, envPrefix)
		if !ok {
			continue
		}
		encoded, value, _ := strings.Cut(rest, "=")
		host := strings.ReplaceAll(strings.ReplaceAll(encoded, "__", "-"), "_", ".")
		if other, err := normal(host); err == nil && other == name {
			token = value
		}
	}
	return token
}

func (s *Source) fromHelper(ctx context.Context, name svchost.Hostname) (string, error) {
	helper := s.Settings.Helper
	path, err := s.find(helper.Name)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, helperTime, fmt.Errorf("it did not answer within %s", helperTime))
	defer cancel()
	argv := append(append([]string{path}, helper.Args...), "get", string(name))
	result, err := program.Run(ctx, program.Command{Argv: argv, Env: s.Environ, MaxStdout: maxAnswer,
		Grace: time.Second, Final: true})
	switch {
	case err != nil:
		return "", err
	case result.ExitCode != 0:
		return "", fmt.Errorf("it failed (%s): %s", result.State, strings.TrimSpace(string(result.Stderr)))
	}
	// The output may be secret, so only the kind of problem is reported.
	members, err := program.ReadObject(result.Stdout)
	if err != nil {
		return "", errors.New("it did not print a JSON object")
	}
	var token string
	if raw, ok := members["token"]; ok && json.Unmarshal(raw, &token) != nil {
		return "", errors.New("the token that it printed is not a string")
	}
	return token, check(token)
}

func (s *Source) find(name string) (string, error) {
	if name == "" || strings.ContainsAny(name, `/\:`) {
		return "", fmt.Errorf("%q is not the name of a helper", name)
	}
	for _, dir := range s.HelperDirs {
		for _, suffix := range []string{"", ".exe"} {
			path := filepath.Join(dir, helperPrefix+name+suffix)
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				return filepath.Abs(path)
			}
		}
	}
	return "", fmt.Errorf("there is no program %s in %s", helperPrefix+name, strings.Join(s.HelperDirs, " or "))
}
