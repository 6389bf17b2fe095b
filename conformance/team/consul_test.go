//go:build unix

package team

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/consul/consultest"
)

// consulServer starts a small Consul server, and returns its address.
func consulServer(t *testing.T) string {
	t.Helper()
	there := &consultest.Server{}
	s := httptest.NewServer(there)
	t.Cleanup(func() {
		there.Close()
		s.CloseClientConnections()
		s.Close()
	})
	return strings.TrimPrefix(s.URL, "http://")
}

// consulBlock returns a backend block with additional arguments.
func consulBlock(address, more string) string {
	return fmt.Sprintf(`backend "consul" {
  address = %q
  path    = "team/state"
  %s
}`, address, more)
}

func TestConsulIsSharedWithTerraform(t *testing.T) {
	inFull(t)
	withPeers(t, func(t *testing.T, other string) {
		for name, more := range map[string]string{"json": "", "gzip": "gzip = true"} {
			if testing.Short() && name == "gzip" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				place{block: consulBlock(consulServer(t), more), lockEnds: true}.live(t, other)
			})
		}
	})
}

// The same with Consul itself, with plain and with encrypted states.
func TestConsulItselfIsSharedWithTerraform(t *testing.T) {
	inFull(t)
	address := consultest.Agent(t)
	for n, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			other := theirs(t, p.onPath, p.variable)
			for name, more := range map[string]string{"json": "", "gzip": "gzip = true"} {
				t.Run(name, func(t *testing.T) {
					place{block: fmt.Sprintf("backend \"consul\" {\n  address = %q\n  path = \"team%d/%s\"\n  %s\n}",
						address, n, name, more), lockEnds: true}.live(t, other)
				})
			}
		})
	}
}

// The records of init are byte for byte the same.
func TestRecordsOfConsulAreTerraforms(t *testing.T) {
	other := theirs(t, "terraform", "TOMBOLO_TERRAFORM")
	p := place{block: consulBlock(consulServer(t), "gzip = true\n  lock = true\n  datacenter = \"dc1\"")}
	p.known(t, other)
	one, two := p.member(t, "tombolo", ours), p.member(t, "terraform", other)
	if got, want := recordOf(t, one), recordOf(t, two); got != want {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}
}

// States that do not fit into one key are split, and every program reads those of the others.
func TestLargeStatesInConsulAreSharedWithTerraform(t *testing.T) {
	inFull(t)
	withPeers(t, func(t *testing.T, other string) {
		for _, more := range []string{"", "gzip = true"} {
			p := place{block: consulBlock(consulServer(t), more)}
			p.known(t, other)
			a, b := p.member(t, "tombolo", ours), p.member(t, "the other", other)
			for n, m := range []*member{a, b, a, b} {
				large := fmt.Sprintf(`
resource "terraform_data" "large" {
  for_each = toset([for n in range(40 * %d) : tostring(n)])
  input    = join("", [for m in range(300) : sha256("${each.key} ${m}")])
}`, n+1)
				for _, one := range []*member{a, b} {
					text := "terraform {\n" + p.block + "\n}\n" + configuration + large
					if err := os.WriteFile(filepath.Join(one.dir, "main.tf"), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				m.run("apply", "-auto-approve", "-no-color")
				a.idle()
				b.idle()
			}
			b.goTo(p)
			b.run("apply", "-auto-approve", "-no-color")
			a.goTo(p)
			a.idle()
		}
	})
}
