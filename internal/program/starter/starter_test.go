package starter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program/starter"
)

func TestProgramsComeWithWhatTheyAreUsedBy(t *testing.T) {
	for _, lang := range starter.Languages {
		text := string(starter.Files(lang, "demo")["README.md"])
		if lang != "go" && !strings.Contains(text, "TOMBOLO_PROGRAM_PROVIDERS=example/demo=") {
			t.Errorf("%s: the README does not say how a configuration gets the provider:\n%s", lang, text)
		}
	}
}

// TestTheProviderInGoPassesItsTest builds it with this checkout in the place of a release, and with the modules that
// this one is built with.
func TestTheProviderInGoPassesItsTest(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go")
	}
	dir, other := t.TempDir(), t.TempDir()
	write := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := starter.Files("go", "demo")
	for _, name := range []string{"go.mod", "main.go", "provider.go", "provider_test.go", "README.md"} {
		if files[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	for name, text := range files {
		if strings.Contains(string(text), "NAME") {
			t.Errorf("%s is not filled in", name)
		}
		write(filepath.Join(dir, name), text)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	module, rest, _ := strings.Cut(string(ours), "\n")
	_, name, _ := strings.Cut(module, " ")
	theirs, _, _ := strings.Cut(string(files["go.mod"]), "\n")
	write(filepath.Join(other, "go.mod"), []byte(theirs+"\n"+rest+"\nrequire "+name+" v0.0.0\nreplace "+name+" => "+
		root+"\n"))
	write(filepath.Join(other, "go.sum"), sums)
	cmd := exec.Command(tool, "test", "-modfile="+filepath.Join(other, "go.mod"), "-mod=mod", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "PWD="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
