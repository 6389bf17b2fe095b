//go:build unix

package team

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/store/hcp/hcptest"
)

// annsToken is the token of a user of a service.
const annsToken = "canary-token-of-ann"

// terraforms is a service like HCP Terraform, with its host address.
type terraforms struct {
	*hcptest.Server
	host string
	env  []string // of programs with a token for it
}

// startTerraforms starts an empty service, in which the user ann has this token.
func startTerraforms(t *testing.T, token string) terraforms {
	t.Helper()
	there := &hcptest.Server{Organization: "acme", Users: map[string]string{token: "ann"}, Projects: []string{"net"},
		Mode: "local"}
	s := httptest.NewUnstartedServer(there)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that exit
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(roots, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return terraforms{there, "", []string{"SSL_CERT_FILE=" + roots}}.at(t, strings.TrimPrefix(s.URL, "https://"), token)
}

// at returns the service under another host name, for which the user has a token.
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

// place returns a backend block, or a cloud block, with the content of its block workspaces.
func (s terraforms) place(block, workspaces string) place {
	where := fmt.Sprintf("  hostname     = %q\n  organization = \"acme\"\n", s.host)
	return place{block: block + " {\n" + where + "  workspaces {\n    " + workspaces + "\n  }\n}", env: s.env,
		source: fmt.Sprintf("backend = \"remote\"\n  config = {\n%s  workspaces = { name = \"one\" }\n  }", where)}
}

// from returns settings with which data sources read this workspace of a prefix.
func (p place) from(prefix, workspace string) place {
	p.source = strings.Replace(p.source, `name = "one"`, fmt.Sprintf("prefix = %q", prefix), 1) +
		fmt.Sprintf("\n  workspace = %q", workspace)
	return p
}

// kinds returns all ways to select the workspaces of a configuration.
func (s terraforms) kinds() map[string]place {
	one := s.place(`backend "remote"`, `name = "one"`)
	one.noWorkspaces, one.lockID = true, "acme/one"
	s.Make("net-dev", nil)
	many := s.place(`backend "remote"`, `prefix = "net-"`).from("net-", "dev")
	many.home, many.lockID = "dev", "acme/net-dev"
	cloud := s.place("cloud", `name = "one"`)
	cloud.noWorkspaces, cloud.lockID, cloud.cloud = true, "acme/one", true
	s.Make("tag-dev", map[string]string{"a": "", "b": ""})
	tags := s.place("cloud", `tags = ["a", "b"]`).from("tag-", "dev")
	tags.home, tags.lockID, tags.cloud = "tag-dev", "acme/tag-dev", true
	s.Make("val-dev", map[string]string{"team": "net"})
	values := s.place("cloud", `tags = { team = "net" }`).from("val-", "dev")
	values.home, values.lockID, values.cloud = "val-dev", "acme/val-dev", true
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
				if name == "values" && isTofu(other) {
					t.Skip("runs with Terraform: OpenTofu knows no values of tags")
				}
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

// The records of init are byte for byte the same.
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

// identified returns the parts of a state that all programs print alike: some add data about objects.
func identified(t *testing.T, text string) string {
	t.Helper()
	var st struct {
		Lineage string
		Serial  uint64
		Outputs map[string]any
	}
	if err := json.Unmarshal([]byte(text), &st); err != nil || st.Lineage == "" {
		t.Errorf("%v: %s", err, text)
	}
	return fmt.Sprint(st)
}

// An encrypted state is exchanged with OpenTofu through a cloud block, too. OpenTofu also sends its outputs and objects
// in plain text; we do not.
func TestSealedStatesOfCloudBlocksAreShared(t *testing.T) {
	other := theirs(t, "tofu", "TOMBOLO_TOFU")
	s := startTerraforms(t, annsToken)
	p := s.place("cloud", `name = "one"`)
	p.env = append(p.env, encryption.Variable+"="+sealing)
	a, b := p.member(t, "tombolo", ours), p.member(t, "tofu", other)
	a.run("apply", "-auto-approve", "-no-color")
	if data, _ := s.State("one"); !strings.Contains(string(data), "encrypted_data") || len(s.Outputs("one")) > 0 {
		t.Errorf("the service knows %v of\n%s", s.Outputs("one"), data)
	}
	b.idle()
	b.run("apply", "-auto-approve", "-no-color", `-var=names=["c"]`)
	a.idle(`-var=names=["c"]`)
	if ids := a.ids(); len(ids) != 1 || ids["c"] == "" {
		t.Errorf("there is %v", ids)
	}
}

// own matches values that are unique to a state, and an argument of terraform_data that older programs do not have.
var own = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|"store": ?null,`)

// shownState returns the document of a state without values that are unique to it.
func shownState(t *testing.T, text []byte) any {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal(own.ReplaceAll(text, nil), &document); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	delete(document, "terraform_version")
	return document
}

// The service also receives a state in the form of "show -json", as from Terraform: with a cloud block, and without
// encryption. Large states are uploaded, with their documents.
func TestServicesDisplayStates(t *testing.T) {
	withPeers(t, func(t *testing.T, other string) {
		s := startTerraforms(t, annsToken)
		for name, names := range map[string]string{"small": `["a","b"]`,
			"large": `[for i in range(30) : format("thing-%05000d", i)]`} {
			t.Run(name, func(t *testing.T) {
				var got [2]any
				for i, bin := range []string{ours, other} {
					workspace := fmt.Sprint(name, i)
					m := s.place("cloud", fmt.Sprintf("name = %q", workspace)).member(t, bin, bin)
					m.file("main.tf", strings.Replace(mustRead(t, filepath.Join(m.dir, "main.tf")),
						`default = ["a", "b"]`, "default = []", 1))
					m.file("set.tf", "resource \"terraform_data\" \"many\" {\n  for_each = toset("+names+")\n"+
						"  input    = each.key\n}\noutput \"secret\" {\n  sensitive = true\n"+
						"  value     = \"canary\"\n}\n")
					m.run("apply", "-auto-approve", "-no-color")
					if text := s.Shown(workspace); len(text) > 0 {
						got[i] = shownState(t, text)
					}
				}
				if got[0] == nil || !reflect.DeepEqual(got[0], got[1]) {
					t.Errorf("we send %.2000v\n%s sends %.2000v", got[0], other, got[1])
				}
			})
		}
		m := s.place(`backend "remote"`, `name = "backend"`).member(t, "tombolo", ours)
		m.run("apply", "-auto-approve", "-no-color")
		if text := s.Shown("backend"); text != nil {
			t.Errorf("a backend sends %s", text)
		}
		p := s.place("cloud", `name = "sealed"`)
		p.env = append(p.env, encryption.Variable+"="+sealing)
		m = p.member(t, "tombolo", ours)
		m.run("apply", "-auto-approve", "-no-color")
		if text := s.Shown("sealed"); text != nil {
			t.Errorf("an encrypted state is sent as %s", text)
		}
	})
}

func mustRead(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A state that one program pulls can be pushed by the other, including an existing one.
func TestStatesOfTerraformsArePulledAndPushed(t *testing.T) {
	withPeers(t, func(t *testing.T, other string) {
		s := startTerraforms(t, annsToken)
		p := s.place(`backend "remote"`, `name = "one"`)
		a, b := p.member(t, "tombolo", ours), p.member(t, "the other", other)
		for _, turn := range [][2]*member{{a, b}, {b, a}} {
			one, two := turn[0], turn[1]
			one.run("apply", "-auto-approve", "-no-color")
			before, old := one.ids(), two.run("state", "pull")
			got := one.run("state", "pull")
			if identified(t, got) != identified(t, old) {
				t.Errorf("%s pulls\n%s%s pulls\n%s", one.name, got, two.name, old)
			}
			one.run("apply", "-auto-approve", "-no-color", `-var=names=["z"]`)
			file := filepath.Join(two.dir, "old.json")
			if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
				t.Fatal(err)
			}
			two.fails("state", "push", file)
			two.run("state", "push", "-force", file)
			if got := one.ids(); !maps.Equal(got, before) {
				t.Errorf("%s pushed %v, and there is %v", two.name, before, got)
			}
			one.idle()
			two.idle()
		}
	})
}
