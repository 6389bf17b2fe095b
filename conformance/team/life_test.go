package team

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/backend/backendtest"
	"github.com/tombolo-iac/tombolo/internal/encryption"
)

// place is a backend with its server.
type place struct {
	block string   // the backend block
	env   []string // of both programs
	// noWorkspaces: the backend has one state.
	noWorkspaces bool
	initArgs     []string // of init, in addition to the usual ones
	// lockEnds: a lock ends with the process that acquired it.
	lockEnds bool
	// lockID is the id of every lock, if Terraform does not show that of the holder.
	lockID string
	// home is the initially selected workspace; "" is the default one.
	home string
	// source has the arguments of a data source that reads the state, if they differ from those of the block.
	source string
	// cloud: the other program does not migrate states from there, and its "output" queries the service, which does not
	// have the outputs of states that we have encrypted.
	cloud bool
	// heard returns everything that a service has received so far, if that is recorded.
	received func() string
}

// ofKind returns a place in a service that is started for it.
func ofKind(t *testing.T, kind string) place {
	t.Helper()
	s := backendtest.Serve(t, kind)
	return place{block: fmt.Sprintf("backend %q %s", kind, s.Object("team")), env: s.Env, received: s.Recorded}
}

// member is a program with its own working directory, like a machine of a team.
type member struct {
	t    *testing.T
	name string
	bin  string
	dir  string
	env  []string
}

// patience is the timeout of a command.
const patience = 20 * time.Minute

var ours string // the binary under test

// within is set in the environment of tests that run again in a new process with another environment.
const within = "TOMBOLO_TEST_WITHIN"

func TestMain(m *testing.M) {
	if os.Getenv(within) != "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "team")
	if err != nil {
		panic(err)
	}
	ours = filepath.Join(dir, "tombolo")
	build := exec.Command("go", "build", "-o", ours, "../../cmd/tombolo")
	if out, err := build.CombinedOutput(); err != nil {
		println(string(out))
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

const configuration = `
variable "names" {
  type    = set(string)
  default = ["a", "b"]
}
variable "wait" {
  type    = number
  default = 0
}
resource "terraform_data" "thing" {
  for_each = var.names
  input    = "${terraform.workspace}/${each.key}"
}
resource "terraform_data" "slow" {
  count            = var.wait == 0 ? 0 : 1
  triggers_replace = var.wait
  provisioner "local-exec" {
    command = "touch started; while [ ! -e go ]; do sleep 0.05; done"
  }
}
output "ids" {
  value = { for k, v in terraform_data.thing : k => v.id }
}
`

func (p place) member(t *testing.T, name, bin string) *member {
	t.Helper()
	m := &member{t: t, name: name, bin: bin, dir: t.TempDir()}
	for file, text := range map[string]string{"main.tf": "terraform {\n" + p.block + "\n}\n" + configuration,
		"cli.tfrc": ""} {
		if err := os.WriteFile(filepath.Join(m.dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.env = p.environ(m.dir)
	m.run(append([]string{"init", "-no-color"}, p.initArgs...)...)
	return m
}

// try runs a command and returns its output.
func (m *member) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.bin, args...)
	cmd.Dir, cmd.Env = m.dir, m.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (m *member) run(args ...string) string {
	m.t.Helper()
	out, err := m.try(args...)
	if err != nil {
		m.t.Fatalf("%s %s: %v\n%s", m.name, strings.Join(args, " "), err, out)
	}
	return out
}

// fails runs a command that must fail, and returns its output.
func (m *member) fails(args ...string) string {
	m.t.Helper()
	out, err := m.try(args...)
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		m.t.Fatalf("%s %s ended with %v\n%s", m.name, strings.Join(args, " "), err, out)
	}
	return out
}

// ids returns the ids of the objects in the program's state.
func (m *member) ids() map[string]string {
	m.t.Helper()
	var ids map[string]string
	if err := json.Unmarshal([]byte(m.run("output", "-json", "ids")), &ids); err != nil {
		m.t.Fatal(err)
	}
	return ids
}

// idle checks that a program plans no changes.
func (m *member) idle(args ...string) {
	m.t.Helper()
	out, err := m.try(append([]string{"plan", "-no-color", "-detailed-exitcode"}, args...)...)
	if err != nil {
		m.t.Errorf("%s plans changes: %v\n%s", m.name, err, out)
	}
}

func (m *member) has(file string) bool {
	_, err := os.Stat(filepath.Join(m.dir, file))
	return err == nil
}

func (m *member) touch(file string) { m.write(filepath.Join(m.dir, file)) }

func (m *member) write(name string) {
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		m.t.Error(err)
	}
}

// live is the life cycle of a state that two programs share; with OpenTofu also that of an encrypted one, which begins
// with the state that the first has left.
func (p place) live(t *testing.T, other string) {
	p.known(t, other)
	t.Run("plain", func(t *testing.T) { p.liveOnce(t, other) })
	if !p.cloud && isTofu(other) {
		p.env = append(slices.Clone(p.env), encryption.Variable+"="+sealing)
		t.Run("sealed", func(t *testing.T) { p.liveOnce(t, other) })
	}
}

// isTofu reports whether a program is OpenTofu.
func isTofu(bin string) bool {
	out, err := exec.Command(bin, "version").Output()
	return err == nil && strings.Contains(string(out), "OpenTofu v")
}

// sealing are encryption settings for states, and for those that data sources read.
const sealing = `
key_provider "pbkdf2" "a" {
  passphrase = "what nobody else should know"
  iterations = 200000
}
method "aes_gcm" "a" {
  keys = key_provider.pbkdf2.a
}
method "unencrypted" "plain" {}
state {
  method = method.aes_gcm.a
  fallback {
    method = method.unencrypted.plain
  }
}
remote_state_data_sources {
  default {
    method = method.aes_gcm.a
  }
}`

func (p place) liveOnce(t *testing.T, other string) {
	a, b := p.member(t, "tombolo", ours), p.member(t, "the other", other)
	for _, turn := range [][2]*member{{a, b}, {b, a}} {
		one, two := turn[0], turn[1]
		one.run("apply", "-auto-approve", "-no-color")
		two.idle()
		before := one.ids()
		p.readBy(t, one.bin, before)
		p.readBy(t, two.bin, before)
		two.run("apply", "-auto-approve", "-no-color", `-var=names=["b","c"]`)
		after := one.ids()
		if len(after) != 2 || after["b"] != before["b"] || after["c"] == "" {
			t.Errorf("%s made %v of %v", two.name, after, before)
		}
		one.idle(`-var=names=["b","c"]`)
		p.conflict(t, one, two)
		if one == a || !testing.Short() {
			p.vanish(t, one, two)
			if !p.cloud {
				p.migrate(t, one, two)
			}
		}
		if !p.noWorkspaces {
			p.workspaces(t, one, two)
		}
		one.run("destroy", "-auto-approve", "-no-color")
		if list := two.run("state", "list"); strings.TrimSpace(list) != "" {
			t.Errorf("%s still knows\n%s", two.name, list)
		}
	}
}

// readBy has a program read the state from another configuration.
func (p place) readBy(t *testing.T, bin string, want map[string]string) {
	t.Helper()
	m := &member{t: t, name: "a reader", bin: bin, dir: t.TempDir()}
	source := p.source
	if source == "" {
		label, arguments := p.arguments()
		source = fmt.Sprintf("backend = %q\n  config = {%s}", label, arguments)
	}
	text := fmt.Sprintf("data \"terraform_remote_state\" \"it\" {\n  %s\n}\n"+
		"output \"ids\" {\n  value = data.terraform_remote_state.it.outputs.ids\n}\n", source)
	if err := os.WriteFile(filepath.Join(m.dir, "main.tf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.dir, "cli.tfrc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.env = p.environ(m.dir)
	m.run("init", "-no-color")
	m.run("apply", "-auto-approve", "-no-color")
	if got := m.ids(); !maps.Equal(got, want) {
		t.Errorf("%s reads %v, want %v", bin, got, want)
	}
}

var backendBlock = regexp.MustCompile(`(?s)^\s*backend "(\w+)" \{(.*)\}\s*$`)

// arguments returns the label and the arguments of the block.
func (p place) arguments() (label, arguments string) {
	found := backendBlock.FindStringSubmatch(p.block)
	return found[1], found[2]
}

func (p place) environ(dir string) []string {
	env := append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE="+filepath.Join(dir, "cli.tfrc"),
		"TF_IN_AUTOMATION=1", "TF_INPUT=0", "HOME="+dir)
	return append(env, p.env...)
}

var lockID = regexp.MustCompile(`(?m)^\s*ID:\s+(\S{8,})`)

// conflict has one hold the lock while two tries to acquire it.
func (p place) conflict(t *testing.T, one, two *member) {
	t.Helper()
	ended := make(chan string)
	go func() {
		out, err := one.try("apply", "-auto-approve", "-no-color", "-var=wait=1", `-var=names=["b","c"]`)
		if err != nil {
			t.Errorf("%s under its lock: %v\n%s", one.name, err, out)
		}
		ended <- out
	}()
	waitFor(t, func() bool { return one.has("started") })
	out := two.fails("plan", "-no-color", `-var=names=["b","c"]`)
	if !strings.Contains(out, "Error acquiring the state lock") {
		t.Errorf("%s is refused with\n%s", two.name, out)
	}
	if two.bin == ours && !lockID.MatchString(out) {
		t.Errorf("the holder has no name:\n%s", out)
	}
	one.touch("go")
	<-ended
	for _, file := range []string{"go", "started"} {
		os.Remove(filepath.Join(one.dir, file))
	}
	two.run("apply", "-auto-approve", "-no-color", `-var=names=["b","c"]`)
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come to that within two minutes")
		}
	}
}

func (p place) workspaces(t *testing.T, one, two *member) {
	t.Helper()
	one.run("workspace", "new", "blue")
	if !slices.Contains(strings.Fields(two.run("workspace", "list")), "blue") {
		t.Errorf("%s does not see the workspace", two.name)
	}
	two.run("workspace", "select", "blue")
	two.run("apply", "-auto-approve", "-no-color", `-var=names=["w"]`)
	one.idle(`-var=names=["w"]`)
	one.run("destroy", "-auto-approve", "-no-color")
	for _, m := range []*member{one, two} {
		m.run("workspace", "select", cmp.Or(p.home, "default"))
	}
	two.run("workspace", "delete", "blue")
	if slices.Contains(strings.Fields(one.run("workspace", "list")), "blue") {
		t.Errorf("%s still sees the workspace", one.name)
	}
}

// goTo changes the backend block.
func (m *member) goTo(p place) {
	m.t.Helper()
	text := "terraform {\n" + p.block + "\n}\n" + configuration
	if err := os.WriteFile(filepath.Join(m.dir, "main.tf"), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// vanish kills one during an apply, as if its machine had failed. The lock remains if the service cannot detect that,
// until two removes it.
func (p place) vanish(t *testing.T, one, two *member) {
	t.Helper()
	cmd := exec.Command(one.bin, "apply", "-auto-approve", "-no-color", "-var=wait=2", `-var=names=["b","c"]`)
	cmd.Dir, cmd.Env = one.dir, one.env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return one.has("started") })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	one.touch("go") // for processes that it has started
	defer func() {
		for _, file := range []string{"go", "started"} {
			os.Remove(filepath.Join(one.dir, file))
		}
	}()
	names := `-var=names=["b","c"]`
	if !p.lockEnds {
		out := two.fails("plan", "-no-color", names)
		id := lockID.FindStringSubmatch(out)
		if id == nil {
			t.Fatalf("%s does not name the lock of %s:\n%s", two.name, one.name, out)
		}
		two.run("force-unlock", "-force", cmp.Or(p.lockID, id[1]))
	}
	waitFor(t, func() bool { // the server may need time to detect the lost connection
		out, err := two.try("apply", "-auto-approve", "-no-color", names)
		if err != nil && (!p.lockEnds || !strings.Contains(out, "Error acquiring the state lock")) {
			t.Fatalf("%s after %s has vanished: %v\n%s", two.name, one.name, err, out)
		}
		return err == nil
	})
	one.run("apply", "-auto-approve", "-no-color", names) // unfinished operations are found and resolved
	two.idle(names)
}

// migrate has two move the state to a file, and one move it back, in the same directory.
func (p place) migrate(t *testing.T, one, two *member) {
	t.Helper()
	const names = `-var=names=["b","d"]`
	m := *two
	m.t, m.dir = t, t.TempDir()
	m.env = p.environ(m.dir)
	m.touch("cli.tfrc")
	m.goTo(p)
	m.run("init", "-no-color")
	before := m.ids()
	m.goTo(place{})
	m.run("init", "-no-color", "-force-copy")
	if got := m.ids(); !maps.Equal(got, before) {
		t.Errorf("%s took away %v, and has %v", two.name, before, got)
	}
	m.run("apply", "-auto-approve", "-no-color", names)
	changed := m.ids()
	m.name, m.bin = one.name, one.bin
	m.goTo(p)
	m.run("init", "-no-color", "-force-copy")
	if got := two.ids(); !maps.Equal(got, changed) || maps.Equal(got, before) {
		t.Errorf("%s brought back %v, and there is %v", one.name, changed, got)
	}
	two.run("apply", "-auto-approve", "-no-color", `-var=names=["b","c"]`)
}
