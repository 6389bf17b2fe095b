//go:build unix

package team

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/hcp/server"
)

// annsToken is that of a user of a service.
const annsToken = "canary-token-of-ann"

// terraforms is a service as HCP Terraform is one, with its address as a host.
type terraforms struct {
	*server.Server
	host string
	env  []string // of programs that have a token for it
}

// startTerraforms starts an empty service, in which the user ann has this token.
func startTerraforms(t *testing.T, token string) terraforms {
	t.Helper()
	there := &server.Server{Organization: "acme", Users: map[string]string{token: "ann"}, Projects: []string{"net"},
		Mode: "local"}
	s := httptest.NewUnstartedServer(there)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of programs that end
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(roots, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return terraforms{there, "", []string{"SSL_CERT_FILE=" + roots}}.at(t, strings.TrimPrefix(s.URL, "https://"), token)
}

// at is the service under another name, for which the user has a token.
func (s terraforms) at(t *testing.T, host, token string) terraforms {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cli.tfrc")
	text := fmt.Sprintf("credentials %q {\n  token = %q\n}\n", host, token)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.host, s.env = host, append(slices.Clone(s.env), "TF_CLI_CONFIG_FILE="+file)
	return s
}

// place is a backend block, or a cloud block, with what its block workspaces says.
func (s terraforms) place(block, workspaces string) place {
	where := fmt.Sprintf("  hostname     = %q\n  organization = \"acme\"\n", s.host)
	return place{block: block + " {\n" + where + "  workspaces {\n    " + workspaces + "\n  }\n}", env: s.env,
		source: fmt.Sprintf("backend = \"remote\"\n  config = {\n%s  workspaces = { name = \"one\" }\n  }", where)}
}

// from has data sources read this workspace of a prefix.
func (p place) from(prefix, workspace string) place {
	p.source = strings.Replace(p.source, `name = "one"`, fmt.Sprintf("prefix = %q", prefix), 1) +
		fmt.Sprintf("\n  workspace = %q", workspace)
	return p
}

// kinds are all ways to say which workspaces a configuration has.
func (s terraforms) kinds() map[string]place {
	one := s.place(`backend "remote"`, `name = "one"`)
	one.noWorkspaces, one.lockID = true, "acme/one"
	s.Make("net-dev", nil)
	many := s.place(`backend "remote"`, `prefix = "net-"`).from("net-", "dev")
	many.home, many.lockID = "dev", "acme/net-dev"
	cloud := s.place("cloud", `name = "one"`)
	cloud.noWorkspaces, cloud.lockID, cloud.stays = true, "acme/one", true
	s.Make("tag-dev", map[string]string{"a": "", "b": ""})
	tags := s.place("cloud", `tags = ["a", "b"]`).from("tag-", "dev")
	tags.home, tags.lockID, tags.stays = "tag-dev", "acme/tag-dev", true
	s.Make("val-dev", map[string]string{"team": "net"})
	values := s.place("cloud", `tags = { team = "net" }`).from("val-", "dev")
	values.home, values.lockID, values.stays = "val-dev", "acme/val-dev", true
	return map[string]place{"remote": one, "prefix": many, "cloud": cloud, "tags": tags, "values": values}
}

func TestWorkspacesOfTerraformAreShared(t *testing.T) {
	inFull(t)
	withPeers(t, func(t *testing.T, other string) {
		for _, name := range []string{"remote", "prefix", "cloud", "tags", "values"} {
			if testing.Short() && name == "values" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := startTerraforms(t, annsToken)
				s.kinds()[name].live(t, other)
				if foreign := s.Foreign(); len(foreign) > 0 {
					t.Errorf("tokens went to %q", foreign)
				}
			})
		}
	})
}

// What init records is the same to the byte.
func TestRecordsOfTerraformsAreTerraforms(t *testing.T) {
	other := theirs(t, "terraform", "TOMBOLO_TERRAFORM")
	s := startTerraforms(t, annsToken)
	for name, p := range s.kinds() {
		t.Run(name, func(t *testing.T) {
			one, two := p.member(t, "tombolo", ours), p.member(t, "terraform", other)
			if got, want := recordOf(t, one), recordOf(t, two); got != want {
				t.Errorf("recorded\n%s\nwant\n%s", got, want)
			}
			selected := func(m *member) string {
				text, err := os.ReadFile(filepath.Join(m.dir, ".terraform", "environment"))
				if err != nil && !os.IsNotExist(err) {
					t.Error(err)
				}
				return string(text)
			}
			if got, want := selected(one), selected(two); got != want {
				t.Errorf("the workspace %q is selected, want %q", got, want)
			}
		})
	}
}
