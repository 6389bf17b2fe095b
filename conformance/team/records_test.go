//go:build unix

package team

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/cos/costest"
	"github.com/tombolo-iac/tombolo/internal/store/httpstore/httpstoretest"
)

// A directory that another program has initialized is used without init, including when a part of the settings is
// outside of the block, and when the other program has arguments that we, or the record, do not have. A block that has
// changed since is detected.
func TestDirectoriesOfOthersAreTakenOver(t *testing.T) {
	withPeers(t, func(t *testing.T, other string) {
		s := httptest.NewServer(&httpstoretest.Server{})
		t.Cleanup(s.Close)
		for name, c := range map[string]struct {
			place
			line, another string // an argument of the block, and another value of it
		}{
			"local": {place{block: "backend \"local\" {\n  path = \"x/y\"\n}"}, `path = "x/y"`, `path = "x/z"`},
			"pg": {place{block: "backend \"pg\" {\n  schema_name = \"one\"\n}",
				env: []string{"PG_CONN_STR=" + pgtest.Database(t)}}, `schema_name = "one"`, `schema_name = "two"`},
			"s3": {place{block: bucketBlock(amazon(t), "use_lockfile = true"), env: bucketEnv},
				`use_lockfile = true`, `use_lockfile = false`},
			"consul": {place{block: consulBlock(consulServer(t), "gzip = true"), lockEnds: true}, `gzip = true`,
				`gzip = false`},
			"gcs": {place{block: googleBlock(google(t), ""), env: googleEnv},
				`prefix                  = "team/network"`, `prefix = "team/other"`},
			"oss": {place{block: alibabaBlock(alibaba(t), ""), env: alibabaEnv}, `prefix              = "team/network"`,
				`prefix = "team/other"`},
			"cos": {tencentPlace(t, &costest.Server{}, `prefix = "team/network"`), `prefix = "team/network"`,
				`prefix = "team/other"`},
			"http": {place{block: httpBlock(s.URL+"/s", s.URL+"/s", "  retry_max = 1\n")}, `retry_max = 1`,
				`retry_max = 2`},
		} {
			for _, partial := range []bool{false, true} {
				t.Run(name+map[bool]string{true: " in part"}[partial], func(t *testing.T) {
					c.known(t, other)
					p, init := c.place, []string{"init", "-no-color", "-input=false"}
					if partial {
						p.block = strings.Replace(p.block, c.line, "", 1)
						text := strings.Join(strings.Fields(strings.ReplaceAll(c.line, `"`, "")), "")
						init = append(init, "-backend-config="+text)
					}
					m := &member{t: t, name: "the other", bin: other, dir: t.TempDir()}
					m.env = p.environ(m.dir)
					m.touch("cli.tfrc")
					m.goTo(p)
					m.run(init...)
					m.run("apply", "-auto-approve", "-no-color")
					m.name, m.bin = "tombolo", ours
					m.idle()
					m.run("init", "-no-color", "-input=false")
					m.run(init...)
					m.idle()
					p.block = strings.Replace(c.block, c.line, c.another, 1)
					m.goTo(p)
					if out := m.fails("plan", "-no-color"); !strings.Contains(out, "has changed since init") {
						t.Errorf("another block:\n%s", out)
					}
				})
			}
		}
	})
}

// toldVersion matches the version of the language in init's record: ours is newer than that of the real program.
var toldVersion = regexp.MustCompile(`"terraform_version": "[^"]*"`)

// recordOf returns init's record of the backend, without that version.
func recordOf(t *testing.T, m *member) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(m.dir, ".terraform", "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	return toldVersion.ReplaceAllString(string(b), `"terraform_version": "..."`)
}
