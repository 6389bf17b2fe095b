//go:build unix

package drivers

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// locked is the pattern by which Terragrunt recognizes its cache server's response that it is fetching a provider.
var locked = regexp.MustCompile(`(?smi)423.*Locked`)

// TestTheAnswerOfACacheServerIsShown emulates Terragrunt's provider cache: a local registry, named in the CLI
// configuration and with its own kind of token, that responds to requests for packages with 423 and fetches them
// meanwhile. Init must fail with the code and its name in the output.
func TestTheAnswerOfACacheServerIsShown(t *testing.T) {
	binaries := map[string]string{"tombolo": ours(t, "terraform")}
	if real := findTerraform(t); real != "" {
		binaries["terraform"] = real
	}
	for name, bin := range binaries {
		for _, where := range []string{"/versions", "/download/"} {
			t.Run(name+where, func(t *testing.T) {
				var tokens []string
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					tokens = append(tokens, r.Header.Get("Authorization"))
					if strings.Contains(r.URL.Path, where) {
						w.WriteHeader(http.StatusLocked)
						return
					}
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, `{"versions":[{"version":"1.0.0","protocols":["6.0"],"platforms":[]}]}`)
				}))
				defer server.Close()
				s := newSession(t, bin, worldly)
				s.registry(server.URL)
				cmd := programtest.Bounded(t, bin, "init", "-no-color", "-input=false")
				cmd.Dir, cmd.Env = s.dir, programtest.Environ("TF_TOKEN_registry_terraform_io=x-api-key:0b3c")
				for k, v := range s.environ() {
					cmd.Env = append(cmd.Env, k+"="+v)
				}
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 1 {
					t.Errorf("init ends with %v", err)
				}
				if !locked.MatchString(stderr.String()) {
					t.Errorf("the output has no %s\n%s\n%s", locked, &stdout, &stderr)
				}
				for _, token := range tokens {
					if token != "Bearer x-api-key:0b3c" {
						t.Errorf("the token is %q", token)
					}
				}
				if len(tokens) == 0 {
					t.Error("nobody asked the server")
				}
			})
		}
	}
}

// registry configures installation of providers from a server that is named in the CLI configuration.
func (s *session) registry(url string) {
	s.t.Helper()
	s.write(".home/rc", fmt.Sprintf(`
provider_installation {
  direct {}
}
host "registry.terraform.io" {
  services = {
    "providers.v1" = "%s/v1/providers/registry.terraform.io/"
  }
}
`, url))
}

func TestACancelledContextEndsAnInstallation(t *testing.T) {
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-r.Context().Done() // no response is ever sent
	}))
	defer server.Close()
	s := newSession(t, ours(t, "terraform"), worldly)
	s.registry(server.URL)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tf, out := s.another()
	s.must(tf.SetWaitDelay(10 * patience)) // it must exit by itself
	result := make(chan error, 1)
	go func() { result <- tf.Init(ctx) }()
	select {
	case <-asked:
	case <-time.After(patience):
		t.Fatalf("nobody asked the server\n%s", out)
	}
	cancel()
	s.ended("init", result, gently, out)
}
