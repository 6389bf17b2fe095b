//go:build unix

package examples_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/pack/generic"
	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
	"github.com/tombolo-iac/tombolo/kits"
	"github.com/tombolo-iac/tombolo/provider/serve"
)

// The test binary does the same as the main function of the command, so that it can be packed as the host.
func TestMain(m *testing.M) {
	if dir, ok := generic.Started(os.Args[0]); ok {
		os.Exit(generic.Serve(dir, nil, serve.Options{}))
	}
	if filepath.Base(os.Args[0]) == "tombolo" {
		os.Exit(cli.Main())
	}
	var err error
	if workspace, err = os.MkdirTemp("", "examples"); err != nil {
		panic(err)
	}
	if real, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = real
	}
	code := m.Run()
	pgtest.Stop()
	if err := os.RemoveAll(workspace); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// workspace is a folder for all tests.
var workspace string

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// record is true if new records of the calls are to be written, which takes longer: all checks are made.
var record = flag.Bool("record", false, "run all checks with the real systems, and write new records of their calls")

// suite runs checks of `provider test` with the real system, or all, to record them. The records are those of all.
func suite(t *testing.T, example string, checks []string, env ...string) {
	t.Helper()
	p := &project{t: t, dir: t.TempDir(), program: tombolo(t), env: append(programtest.Environ(
		"XDG_CACHE_HOME="+t.TempDir()), env...)}
	if *record {
		name, err := filepath.Abs(filepath.Join("testdata", "records", example+".jsonl.gz"))
		must(t, err)
		p.run("provider", "test", folder(t, example), "-record", name)
		return
	}
	for _, check := range checks {
		p.says("1 check passed", "provider", "test", folder(t, example), "-run", check)
	}
}

// The records of all checks are repeated with the manifests as they are now, without the programs and the systems.
func TestRecordsFitTheManifests(t *testing.T) {
	for _, example := range []string{"provider-zones", "provider-hosts", "provider-repo", "provider-pgaccess"} {
		name, err := filepath.Abs(filepath.Join("testdata", "records", example+".jsonl.gz"))
		must(t, err)
		p := &project{t: t, dir: t.TempDir(), program: tombolo(t), env: programtest.Environ("PATH=/none")}
		p.says("checks passed", "provider", "test", folder(t, example), "-replay", name)
	}
}

// The pages in docs equal the output of `tombolo provider docs -provider example/NAME .` in the folder, and the copies
// of kits are those of this version.
func TestDocumentsAndKitsAreCurrent(t *testing.T) {
	p := &project{t: t, dir: t.TempDir(), program: tombolo(t), env: programtest.Environ()}
	for _, name := range []string{"zones", "hosts", "repo", "pgaccess"} {
		dir, err := filepath.Abs("provider-" + name)
		must(t, err)
		p.run("provider", "docs", "-check", "-provider", "example/"+name, "-source", dir, "-out",
			filepath.Join(dir, "docs"), dir)
	}
	for name, kit := range map[string][]byte{"provider-zones/" + kits.PythonName: kits.Python,
		"provider-hosts/" + kits.BashName: kits.Bash, "provider-repo/" + kits.NodeName: kits.Node} {
		if contents(t, name) != string(kit) {
			t.Errorf("copy the kit to examples/%s: it is another one", name)
		}
	}
}

// needs skips a test if a program is missing.
func needs(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s on PATH", tool)
		}
	}
}

// project is a folder with a configuration, and an engine that works on it.
type project struct {
	t       *testing.T
	dir     string
	program string
	env     []string
}

// newProject returns a project with the configuration of an example, which Tombolo uses from its folder.
func newProject(t *testing.T, example string, env ...string) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir(), program: tombolo(t)}
	_, name, _ := strings.Cut(example, "-")
	must(t, os.CopyFS(p.dir, os.DirFS(filepath.Join(example, "use"))))
	p.env = programtest.Environ("TF_IN_AUTOMATION=1", "TF_INPUT=0", "XDG_CACHE_HOME="+t.TempDir(),
		"TF_CLI_CONFIG_FILE="+p.file("rc", ""), "TOMBOLO_PROGRAM_PROVIDERS=example/"+name+"="+folder(t, example))
	p.env = append(p.env, env...)
	return p
}

// tombolo returns the name of the program.
func tombolo(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	name := filepath.Join(t.TempDir(), "tombolo")
	must(t, os.Symlink(exe, name))
	return name
}

// folder returns the absolute name of the folder of an example.
func folder(t *testing.T, example string) string {
	t.Helper()
	if dir, ok := built[example]; ok {
		return dir
	}
	dir, err := filepath.Abs(example)
	must(t, err)
	return dir
}

// built has the folders of examples whose program is compiled.
var built = map[string]string{}

func (p *project) file(name, text string) string {
	p.t.Helper()
	name = filepath.Join(p.dir, name)
	must(p.t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

// try runs a command, and returns its output.
func (p *project) try(args ...string) (string, error) {
	cmd := exec.Command(p.program, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (p *project) run(args ...string) string {
	p.t.Helper()
	out, err := p.try(args...)
	if err != nil {
		p.t.Fatalf("%s %s: %s\n%s", filepath.Base(p.program), strings.Join(args, " "), err, out)
	}
	return out
}

func (p *project) apply(want string, args ...string) string {
	p.t.Helper()
	return p.says(want, append([]string{"apply", "-auto-approve", "-no-color"}, args...)...)
}

// settled checks that a plan has no changes.
func (p *project) settled(args ...string) {
	p.t.Helper()
	p.says("No changes", append([]string{"plan", "-detailed-exitcode", "-no-color"}, args...)...)
}

// drifted checks that a plan has changes, and that it shows a text.
func (p *project) drifted(want string, args ...string) {
	p.t.Helper()
	p.says(want, append([]string{"plan", "-no-color"}, args...)...)
}

func (p *project) says(want string, args ...string) string {
	p.t.Helper()
	out := p.run(args...)
	if !strings.Contains(out, want) {
		p.t.Errorf("%s does not say %q:\n%s", strings.Join(args, " "), want, out)
	}
	return out
}

// fails checks that a command fails with a text.
func (p *project) fails(want string, args ...string) string {
	p.t.Helper()
	out, err := p.try(args...)
	if err == nil || !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(out, "│", " ")), " "), want) {
		p.t.Errorf("%s: got %v without %q\n%s", strings.Join(args, " "), err, want, out)
	}
	return out
}

// imported removes an object from the state, imports it, and checks that this changes nothing.
func (p *project) imported(address, id string, args ...string) {
	p.t.Helper()
	p.run("state", "rm", address)
	p.run(append(append([]string{"import"}, args...), address, id)...)
	p.settled(args...)
}

// spied returns an environment in which a program is a script: it adds its arguments to a file, runs more commands of
// the shell, which may call the program as "$real", and becomes the program.
func spied(t *testing.T, program, more string) (env, log string) {
	t.Helper()
	real, err := exec.LookPath(program)
	must(t, err)
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	script := "#!/bin/sh\nreal='" + real + "'\nprintf '%s\\n' \"$*\" >>'" + log + "'\n" + more +
		"\nexec \"$real\" \"$@\"\n"
	must(t, os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755))
	return "PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH"), log
}

// hides checks that a text has none of some secrets.
func hides(t *testing.T, what, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows the secret %q:\n%s", what, secret, text)
		}
	}
}

func contents(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}
