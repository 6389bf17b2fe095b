//go:build unix

package team

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
)

// withVersions starts a server with a versioned bucket.
func withVersions(t *testing.T) (address string) {
	t.Helper()
	bucket := s3mem.New()
	if err := bucket.CreateBucket("states"); err != nil {
		t.Fatal(err)
	}
	if err := bucket.SetVersioningConfiguration("states",
		gofakes3.VersioningConfiguration{Status: gofakes3.VersioningEnabled}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(bucket).Server())
	t.Cleanup(server.Close)
	return server.URL
}

// Former states are listed with their authors, read, and restored.
func TestFormerStatesAreListedReadAndPushed(t *testing.T) {
	for name, of := range map[string]func(t *testing.T) place{
		"local": func(*testing.T) place { return place{env: []string{"TOMBOLO_STATE_HISTORY=20"}} },
		"pg": func(t *testing.T) place {
			return place{block: `backend "pg" {}`, env: []string{"PG_CONN_STR=" + pgtest.Database(t)}}
		},
		"gcs": func(t *testing.T) place { return place{block: googleBlock(google(t), ""), env: googleEnv} },
		"s3": func(t *testing.T) place {
			return place{block: bucketBlock(withVersions(t), "use_lockfile = true"), env: bucketEnv}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := of(t).member(t, name, ours)
			commit := m.committed()
			if out := m.run("state", "history"); !strings.Contains(out, "no former states of this workspace yet") {
				t.Errorf("before the first run:\n%s", out)
			}
			const old = `-var=names=["b","c","d"]`
			m.run("apply", "-auto-approve", "-no-color")
			m.run("apply", "-auto-approve", "-no-color", old)
			m.run("state", "rm", `terraform_data.thing["d"]`)
			lines := strings.Split(strings.TrimSpace(m.run("state", "history")), "\n")
			if len(lines) != 4 {
				t.Fatalf("the list is\n%s", strings.Join(lines, "\n"))
			}
			for i, want := range []string{`3 +state-rm +\+0 ~0 -1`, `2 +apply +\+2 ~0 -1`, `1 +apply +\+2 ~0 -0`} {
				if ok, _ := regexp.MatchString(want+` +\S+@\S+ +`+commit[:12]+`$`, lines[i+1]); !ok {
					t.Errorf("%s, want %s and the commit %s", lines[i+1], want, commit)
				}
			}
			id := strings.Fields(lines[2])[0]
			for _, want := range []string{`- terraform_data.thing["a"]`, `+ terraform_data.thing["d"]`} {
				if out := m.run("state", "history", id); !strings.Contains(out, want) {
					t.Errorf("state %s lacks %s:\n%s", id, want, out)
				}
			}
			var all []struct {
				ID, Who, Command, Commit string
				Addresses                []string
			}
			if err := json.Unmarshal([]byte(m.run("state", "history", "-json")), &all); err != nil || len(all) != 3 ||
				all[1].ID != id || all[1].Commit != commit || all[1].Who == "" || len(all[1].Addresses) != 3 {
				t.Errorf("as JSON: %+v, %v", all, err)
			}
			m.file("former.json", m.run("state", "history", "-pull", id))
			if out := m.fails("state", "push", "former.json"); !strings.Contains(out, "-force") {
				t.Errorf("an older state is refused with\n%s", out)
			}
			m.run("state", "push", "-force", "former.json")
			m.idle(old)
			if out := m.run("state", "history"); !strings.Contains(out, "state-push") {
				t.Errorf("the push is not in the list:\n%s", out)
			}
		})
	}
}

// committed creates a repository of the directory, and returns its commit.
func (m *member) committed() string {
	m.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		m.t.Skip("needs git: the history names the commit")
	}
	out := ""
	for _, args := range []string{"init -q", "add main.tf", "-c user.name=a -c user.email=a@b commit -qm first",
		"rev-parse HEAD"} {
		c := exec.Command("git", append([]string{"-C", m.dir}, strings.Fields(args)...)...)
		c.Env = m.env
		b, err := c.CombinedOutput()
		if err != nil {
			m.t.Fatalf("git %s: %v\n%s", args, err, b)
		}
		out = strings.TrimSpace(string(b))
	}
	return out
}

func (m *member) file(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}
