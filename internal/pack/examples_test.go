//go:build unix

package pack_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/kits"
)

// linksService starts the service of provider-node, and returns the environment of its users. It ends when its standard
// input ends, which also happens if the test is killed.
func linksService(t *testing.T) []string {
	t.Helper()
	const token = "the-token-of-the-test"
	cmd := exec.Command("node", "../../examples/provider-node/service.js", "--port", "0", "--until-eof")
	cmd.Env, cmd.Stderr = append(os.Environ(), "LINKS_TOKEN="+token), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal is for the test only
	lifeline, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	url, err := bufio.NewReader(out).ReadString('\n')
	t.Cleanup(func() {
		must(t, lifeline.Close())
		must(t, cmd.Wait())
	})
	must(t, err)
	url = strings.TrimSpace(url)
	return []string{"TF_VAR_url=" + url, "TF_VAR_token=" + token, "LINKS_URL=" + url, "LINKS_TOKEN=" + token}
}

func init() { ends = append(ends, pgtest.Stop) }

// plansTable creates a database with the table of provider-python, and returns the environment of its users.
func plansTable(t *testing.T) []string {
	t.Helper()
	dsn := pgtest.Database(t)
	text, err := os.ReadFile("../../examples/provider-python/use/schema.sql")
	must(t, err)
	must(t, pgtest.Execute(dsn, string(text)))
	// Prefer the psql of the server to that of a distribution, which may be a slow script that searches for it.
	path := pgtest.Programs() + string(os.PathListSeparator) + os.Getenv("PATH")
	return []string{"TF_VAR_dsn=" + dsn, "SQLROWS_DSN=" + dsn, "PATH=" + path}
}

func TestExamplesContainTheCurrentKits(t *testing.T) {
	for name, kit := range map[string][]byte{"provider-node/" + kits.NodeName: kits.Node, "provider-python/" +
		kits.PythonName: kits.Python} {
		text, err := os.ReadFile(filepath.Join("../../examples", name))
		must(t, err)
		if !bytes.Equal(text, kit) {
			t.Errorf("copy the kit to examples/%s: it is another one", name)
		}
	}
}

// The pages in docs equal the output of `tombolo provider docs -provider example/NAME .` in the folder.
func TestExamplesAreDocumented(t *testing.T) {
	for _, e := range examples {
		dir, err := filepath.Abs(filepath.Join("../../examples", e.name))
		must(t, err)
		if _, err := os.Stat(filepath.Join(dir, "docs")); err != nil {
			continue // so short that its manifest contains everything
		}
		p := newProject(t, example{name: e.name}, "tombolo")
		p.run("provider", "docs", "-check", "-provider", "example/"+sourceName(e), "-source", dir, "-out",
			filepath.Join(dir, "docs"), dir)
	}
}
