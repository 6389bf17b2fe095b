//go:build unix

package team

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/httpstore/httpstoretest"
)

// httpBlock returns a backend block for a state on a server.
func httpBlock(address, lock, more string) string {
	return fmt.Sprintf(`backend "http" {
  address        = %q
  lock_address   = %q
  unlock_address = %q
  retry_wait_min = 0
%s}`, address, lock, lock, more)
}

func TestHTTPServersAreSharedWithTerraform(t *testing.T) {
	for name, one := range map[string]func() *httpstoretest.Server{
		"lenient": func() *httpstoretest.Server { return &httpstoretest.Server{Lenient: true, Loose: true} },
		"GitLab":  func() *httpstoretest.Server { return &httpstoretest.Server{GitLab: true, Echo: true, Tags: true} },
	} {
		t.Run(name, func(t *testing.T) {
			withPeers(t, func(t *testing.T, other string) {
				there := one()
				s := httptest.NewServer(there)
				t.Cleanup(s.Close)
				address := s.URL + "/network"
				block := httpBlock(address, address, "")
				if there.GitLab {
					block = httpBlock(address, address+"/lock",
						"  lock_method    = \"POST\"\n  unlock_method  = \"DELETE\"\n")
				}
				place{block: block, noWorkspaces: true}.live(t, other)
			})
		})
	}
}

// The records of init are byte for byte the same, and each program continues in a directory that the other has
// initialized.
func TestRecordsOfHTTPServersAreTerraforms(t *testing.T) {
	other := theirs(t, "terraform", "TOMBOLO_TERRAFORM")
	for name, c := range map[string]struct {
		more string
		env  []string
	}{
		"few": {},
		"environment": {env: []string{"TF_HTTP_USERNAME=user", "TF_HTTP_PASSWORD=password",
			"TF_HTTP_RETRY_MAX=1"}},
		"many": {more: `  update_method = "PUT"
  lock_method   = "LOCK"
  unlock_method = "UNLOCK"
  username      = "user"
  password      = "password"
  skip_cert_verification = "true"
  retry_max      = "5"
  retry_wait_max = 7
`},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(&httpstoretest.Server{})
			t.Cleanup(s.Close)
			p := place{block: httpBlock(s.URL+"/s", s.URL+"/s", c.more), env: c.env}
			one, two := p.member(t, "tombolo", ours), p.member(t, "the other", other)
			if got, want := recordOf(t, one), recordOf(t, two); got != want {
				t.Errorf("recorded\n%s\nwant\n%s", got, want)
			}
			one.run("apply", "-auto-approve", "-no-color")
			two.idle()
		})
	}
}

// A state that was overwritten with invalid data is refused by all programs, and can be replaced by a valid one.
func TestDamagedStatesAreReplaced(t *testing.T) {
	there := &httpstoretest.Server{}
	s := httptest.NewServer(there)
	t.Cleanup(s.Close)
	m := place{block: httpBlock(s.URL+"/s", s.URL+"/s", ""), noWorkspaces: true}.member(t, "tombolo", ours)
	m.run("apply", "-auto-approve", "-no-color")
	if err := os.WriteFile(filepath.Join(m.dir, "good.json"), []byte(m.run("state", "pull")), 0o600); err != nil {
		t.Fatal(err)
	}
	there.Put("/s", []byte(`{"message":"welcome"}`))
	for _, args := range [][]string{{"plan"}, {"apply", "-auto-approve"}, {"state", "push", "good.json"}} {
		if out := m.fails(args...); !strings.Contains(out, "state push -force") {
			t.Errorf("%s says\n%s", args[0], out)
		}
	}
	m.run("state", "push", "-force", "good.json")
	m.idle()
}
