package starter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program/starter"
)

func TestProgramsIncludeTheirKits(t *testing.T) {
	for _, lang := range starter.Languages {
		text := string(starter.Files(lang, "demo")["README.md"])
		if lang != "go" && !strings.Contains(text, "TOMBOLO_PROGRAM_PROVIDERS=example/demo=") {
			t.Errorf("%s: the README does not say how a configuration gets the provider:\n%s", lang, text)
		}
	}
}

func TestStoresAreFilledIn(t *testing.T) {
	for _, lang := range starter.StoreLanguages {
		files := starter.Store(lang, "demo")
		script := strings.TrimPrefix(starter.StoreCommand(lang)[1], "./")
		if files[script] == nil || len(files) != 2 {
			t.Errorf("%s: the files are %d, without %s", lang, len(files), script)
		}
		for name, text := range files {
			if strings.Contains(string(text), "NAME") || strings.Contains(string(text), "SCRIPT") {
				t.Errorf("%s: %s is not filled in", lang, name)
			}
		}
	}
	if starter.Store("cobol", "demo") != nil {
		t.Error("there is a store in a language that there is none in")
	}
}

// The first steps with a provider in Go are those that "provider new" prints, with this checkout in place of a release.
// Modules that are not on this machine are downloaded.
func TestFirstStepsInGoWork(t *testing.T) {
	for _, tool := range []string{"go", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs ", tool, " for the first steps")
		}
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	above := t.TempDir()
	dir := filepath.Join(above, "demo")
	write := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range starter.Files("go", "demo") {
		if strings.Contains(string(text), "NAME") {
			t.Errorf("%s is not filled in", name)
		}
		write(filepath.Join(dir, name), text)
	}
	// The versions are those with which this checkout is tested.
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(dir, "go.sum"), sums)
	run := func(line string) (string, error) {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = above
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOSUMDB=off", "PWD="+above)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	_, advice, _ := strings.Cut(starter.Advice("go", "demo"), "\n")
	if out, err := run(strings.ReplaceAll(strings.TrimSpace(advice), "CHECKOUT", "'"+root+"'")); err != nil {
		t.Fatalf("%s: %v\n%s", advice, err, out)
	}
	steps := starter.Try("go", "tombolo", "demo", "demo")
	prepare, test, _ := strings.Cut(steps, " && go test")
	if out, err := run(prepare); err != nil && unreachable.MatchString(out) {
		t.Logf("%s needs modules that are not on this machine:\n%s", prepare, out)
		passesWithOurModules(t)
		return
	} else if err != nil {
		t.Fatalf("%s: %v\n%s", prepare, err, out)
	}
	if out, err := run("cd demo && go test" + test); err != nil {
		t.Errorf("%s: %v\n%s", steps, err, out)
	}
}

// unreachable matches Go's messages about modules that it cannot fetch.
var unreachable = regexp.MustCompile(`dial tcp|no such host|module lookup disabled|i/o timeout|connection refused|` +
	`proxyconnect|TLS handshake|network is unreachable|50[0-9] |429 `)

// passesWithOurModules runs the tests of the provider in Go with this checkout in place of a release, and with the
// modules of this checkout, which are on the machine.
func passesWithOurModules(t *testing.T) {
	t.Helper()
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
	cmd := exec.Command("go", "test", "-modfile="+filepath.Join(other, "go.mod"), "-mod=mod", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "PWD="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
