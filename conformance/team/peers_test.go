package team

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// peers are the programs that states are shared with, each with the variable that names its binary. Those on PATH under
// their own name are found too.
var peers = []struct{ name, variable, onPath string }{
	{"terraform", "TOMBOLO_TERRAFORM", "terraform"},
	{"a newer terraform", "TOMBOLO_TERRAFORM_NEW", ""},
	{"tofu", "TOMBOLO_TOFU", "tofu"},
}

// withPeers runs a test with each installed peer.
func withPeers(t *testing.T, test func(t *testing.T, bin string)) {
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, theirs(t, p.onPath, p.variable))
		})
	}
}

// theirs returns the path of another program, and skips the test if it is missing.
func theirs(t *testing.T, onPath, variable string) string {
	t.Helper()
	if bin := os.Getenv(variable); bin != "" {
		return bin
	}
	bin, err := exec.LookPath(onPath)
	if err != nil {
		t.Skipf("needs another program, named with %s: this test shares a state with it", variable)
	}
	return bin
}

// noBackend matches the message about a type of backend that a program does not have.
var noBackend = regexp.MustCompile(`no such backend|Unsupported backend type`)

// known skips the test if a program was built without a type of backend.
func (p place) known(t *testing.T, bin string) {
	t.Helper()
	m := &member{t: t, name: "a build", bin: bin, dir: t.TempDir()}
	if !backendBlock.MatchString(p.block) {
		return // a cloud block, which every build has
	}
	label, _ := p.arguments()
	block := "terraform {\n  backend \"" + label + "\" {}\n}\n"
	if err := os.WriteFile(filepath.Join(m.dir, "main.tf"), []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	m.env = p.environ(m.dir)
	if out, err := m.try("init", "-no-color", "-input=false"); err != nil && noBackend.MatchString(out) {
		t.Skipf("needs a build of %s that has the backend %q", bin, label)
	}
}

// inFull skips a slow test, unless all are selected, as by .ci/full.
func inFull(t *testing.T) {
	t.Helper()
	if os.Getenv("TOMBOLO_TEAM_CLOUDS") == "" {
		t.Skip("runs with TOMBOLO_TEAM_CLOUDS=1: it takes long")
	}
}
