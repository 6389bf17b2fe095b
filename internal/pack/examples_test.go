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

	"github.com/tombolo-iac/tombolo/kits"
)

// linksService starts the service of provider-node, and gives the environment of those who use it. It ends with its standard input, which is also
// that of a test that was killed.
func linksService(t *testing.T) []string {
	t.Helper()
	const token = "the-token-of-the-test"
	cmd := exec.Command("node", "../../examples/provider-node/service.js", "--port", "0", "--until-eof")
	cmd.Env, cmd.Stderr = append(os.Environ(), "LINKS_TOKEN="+token), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt of the terminal is for the test
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

func TestExamplesHaveTheKitsAsTheyAre(t *testing.T) {
	for name, kit := range map[string][]byte{"provider-node/" + kits.NodeName: kits.Node} {
		text, err := os.ReadFile(filepath.Join("../../examples", name))
		must(t, err)
		if !bytes.Equal(text, kit) {
			t.Errorf("copy the kit to examples/%s: it is another one", name)
		}
	}
}

// The pages in docs are those that `tombolo provider docs -provider example/NAME .` writes in the folder.
func TestExamplesAreDocumented(t *testing.T) {
	for _, e := range examples {
		dir, err := filepath.Abs(filepath.Join("../../examples", e.name))
		must(t, err)
		if _, err := os.Stat(filepath.Join(dir, "docs")); err != nil {
			continue // so short that its manifest says everything
		}
		p := newProject(t, example{name: e.name}, "tombolo")
		p.run("provider", "docs", "-check", "-provider", "example/"+sourceName(e), "-source", dir, "-out", filepath.Join(dir, "docs"), dir)
	}
}
