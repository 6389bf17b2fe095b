//go:build unix

package crash

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// A program provider whose program waits in the middle of each change until the file go exists, and writes a log. It
// has no action read: its responses are the only information about objects.
const spoolManifest = `{
  "protocol": 1, "name": "slow", "command": ["sh", "./slow.sh"],
  "schema": {"resource_schemas": {"slow_thing": {"implements": ["create", "update", "delete"], "attributes": {
    "id": {"type": "string", "computed": true, "stable": true}, "text": {"type": "string",
"required": true, "sensitive": true}, "serial": {"type": "number", "computed": true}
  }}}}
}`

const spoolProgram = `in=$(cat)
echo "$1" >>"../log"
while ! [ -e "../go" ]; do sleep 0.02; echo waiting >&2; done
echo "done $1" >>"../log"
case $1,$in in
create,*half*) echo '{"state": {"id": "half"}, "diagnostics": [{"severity": "error", "summary": "No DNS"}]}'; exit 1 ;;
create,*) echo '{"state": {"id": "made", "serial": 12345678901234567890123}, "private": {"etag": 7}}' ;;
update,*) echo '{"state": {"serial": 2}}' ;;
esac
`

const spoolConfig = `terraform {
  required_providers {
    slow = { source = "slow" }
  }
}
resource "terraform_data" "first" {}
resource "slow_thing" "a" {
  text       = "TEXT"
  depends_on = [terraform_data.first]
}
`

// spoolProject is a project with that provider.
type spoolProject struct {
	t   *testing.T
	dir string
}

func newSpoolProject(t *testing.T) spoolProject {
	r := spoolProject{t, t.TempDir()}
	if err := os.Mkdir(filepath.Join(r.dir, "slow"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.write("slow/tombolo-provider.json", spoolManifest)
	r.write("slow/slow.sh", strings.ReplaceAll(spoolProgram, "../", r.dir+"/"))
	r.configure("one")
	return r
}

func (r spoolProject) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r spoolProject) configure(text string) {
	r.write("main.tf", strings.Replace(spoolConfig, "TEXT", text, 1))
}

func (r spoolProject) command(args ...string) *exec.Cmd {
	cmd := programtest.Bounded(r.t, os.Args[0], args...)
	cmd.Dir = r.dir
	cmd.Env = programtest.Environ(roleCLI+"=1", "TOMBOLO_PROGRAM_PROVIDERS=slow=./slow",
		encryption.Variable+"="+os.Getenv(encryption.Variable))
	return cmd
}

func (r spoolProject) do(args ...string) string {
	r.t.Helper()
	out, err := r.command(args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (r spoolProject) wait(name, text string) {
	r.t.Helper()
	for range 12000 {
		if got, _ := os.ReadFile(filepath.Join(r.dir, name)); bytes.Contains(got, []byte(text)) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatalf("no %q in %s", text, name)
}

// kill kills an apply in the middle of an action: with ended set, when the program has ended and the engine has not
// noticed yet; otherwise while the program is running.
func (r spoolProject) kill(action string, ended bool, args ...string) {
	r.t.Helper()
	_ = os.Remove(filepath.Join(r.dir, "go"))
	cmd := r.command(args...)
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.wait("log", action+"\n")
	r.recorded()
	if ended {
		_ = cmd.Process.Signal(syscall.SIGSTOP)
		r.write("go", "")
		r.wait("log", "done "+action+"\n")
		time.Sleep(100 * time.Millisecond) // its response follows
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !ended {
		time.AfterFunc(300*time.Millisecond, func() { _ = os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644) })
	}
}

// recorded waits until the engine has recorded the process ID of its program. Otherwise the next run could only detect
// that some process has the response open.
func (r spoolProject) recorded() {
	r.t.Helper()
	for range 12000 {
		files, _ := filepath.Glob(filepath.Join(r.dir, "terraform.tfstate.answers", "*.process"))
		for _, name := range files {
			if text, _ := os.ReadFile(name); bytes.Contains(text, []byte(`"pid"`)) {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatal("the engine has not noted its program's process")
}

// object returns the object in the state, or nil if there is none.
func (r spoolProject) object() (object map[string]any, status string, dependencies int) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "terraform.tfstate"))
	if err != nil {
		r.t.Fatal(err)
	}
	var s struct {
		Resources []struct {
			Type      string
			Instances []struct {
				Attributes   map[string]any
				Status       string
				Dependencies []string
				Private      string
			}
		}
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&s); err != nil {
		r.t.Fatal(err)
	}
	for _, res := range s.Resources {
		if res.Type == "slow_thing" && len(res.Instances) == 1 {
			return res.Instances[0].Attributes, res.Instances[0].Status, len(res.Instances[0].Dependencies)
		}
	}
	return nil, "", 0
}

func (r spoolProject) clean() {
	r.t.Helper()
	for _, name := range []string{"terraform.tfstate.answers", "terraform.tfstate.journal"} {
		if _, err := os.Stat(filepath.Join(r.dir, name)); err == nil {
			r.t.Errorf("%s is left behind", name)
		}
	}
}

func TestAnswersOfProgramsOutliveTheEngine(t *testing.T) {
	for name, ended := range map[string]bool{"killed while the program works": false,
		"killed when the program has ended": true} {
		t.Run(name, func(t *testing.T) {
			r := newSpoolProject(t)
			r.kill("create", ended, "apply", "-auto-approve")
			if out := r.do("plan", "-no-color", "-detailed-exitcode"); !strings.Contains(out,
				"Operation of an interrupted run has ended") {
				t.Errorf("nobody was told: %s", out)
			}
			if o, status, deps := r.object(); o["id"] != "made" || o["text"] != "one" ||
				o["serial"] != json.Number("12345678901234567890123") || status != "" || deps != 1 {
				t.Errorf("got %v, status %q, %d dependencies", o, status, deps)
			}
			r.clean()
			r.configure("two")
			r.kill("update", ended, "apply", "-auto-approve")
			r.do("plan", "-no-color", "-detailed-exitcode")
			if o, _, _ := r.object(); o["id"] != "made" || o["text"] != "two" || o["serial"] != json.Number("2") {
				t.Errorf("after the update: got %v", o)
			}
			r.kill("delete", true, "destroy", "-auto-approve")
			r.do("apply", "-auto-approve", "-destroy", "-no-color")
			if o, _, _ := r.object(); o != nil {
				t.Errorf("after the deletion: got %v", o)
			}
			r.clean()
			log, _ := os.ReadFile(filepath.Join(r.dir, "log"))
			if n := strings.Count("\n"+string(log), "\ncreate\n"); n != 1 {
				t.Errorf("it was created %d times:\n%s", n, log)
			}
		})
	}
}

func TestAFailureThatOutlivesTheEngineIsTainted(t *testing.T) {
	r := newSpoolProject(t)
	r.configure("half")
	r.kill("create", false, "apply", "-auto-approve")
	if out := r.do("plan", "-no-color"); !strings.Contains(out, "is tainted, so") {
		t.Errorf("got %s", out)
	}
	if o, status, _ := r.object(); o["id"] != "half" || status != "tainted" {
		t.Errorf("got %v, %s", o, status)
	}
}

func TestStoredAnswersAreRemoved(t *testing.T) {
	r := newSpoolProject(t)
	r.write("go", "")
	r.do("apply", "-auto-approve")
	r.clean()
	r.do("destroy", "-auto-approve")
	r.clean()
}

// The program of a resource of the external provider, with level 1 of the protocol.
const externalProgram = `in=$(cat)
case $1 in
create|update)
  echo "$1" >>"../log"
  while ! [ -e "../go" ]; do sleep 0.02; done
  echo "done $1" >>"../log" ;;
esac
echo '{"id": "made", "arguments": {"text": "'"$(expr "$in" : '.*"arguments":{"text":"\([a-z]*\)"')"'"}, "result": {}}'
`

const externalConfig = `resource "external_resource" "a" {
  program   = ["sh", "./thing.sh"]
  arguments = { text = "TEXT" }
}
`

func TestAnswersOfExternalResourcesOutliveTheEngine(t *testing.T) {
	r := newSpoolProject(t)
	configure := func(text string) { r.write("main.tf", strings.Replace(externalConfig, "TEXT", text, 1)) }
	r.write("thing.sh", strings.ReplaceAll(externalProgram, "../", r.dir+"/"))
	for _, c := range []struct {
		action, text string
		ended        bool
	}{{"create", "one", false}, {"update", "two", false}, {"update", "three", true}} {
		configure(c.text)
		_ = os.Remove(filepath.Join(r.dir, "log"))
		r.kill(c.action, c.ended, "apply", "-auto-approve")
		if out := r.do("plan", "-no-color", "-detailed-exitcode"); !strings.Contains(out,
			"Operation of an interrupted run has ended") {
			t.Errorf("%s: nobody was told: %s", c.action, out)
		}
		if text, err := os.ReadFile(filepath.Join(r.dir, "terraform.tfstate")); err != nil ||
			!bytes.Contains(text, []byte(`"text": "`+c.text+`"`)) || bytes.Contains(text, []byte("tainted")) {
			t.Errorf("%s: got %s, %v", c.action, text, err)
		}
		r.clean()
	}
}

// A command that resolves an operation whose response has arrived meanwhile succeeds.
func TestRecoverAcceptsALateAnswer(t *testing.T) {
	r := newSpoolProject(t)
	r.kill("create", true, "apply", "-auto-approve")
	if out := r.do("recover", "slow_thing.a", "-retry"); !strings.Contains(out, "no longer needs recovery") {
		t.Errorf("recover says: %s", out)
	}
	if o, _, _ := r.object(); o["id"] != "made" {
		t.Errorf("got %v", o)
	}
	r.clean()
}

// A child process that the program of a killed run leaves behind keeps the response open for as long as it likes: the
// response is used nevertheless.
func TestGrandchildrenDoNotDelayTheNextRun(t *testing.T) {
	r := newSpoolProject(t)
	r.write("slow/slow.sh", "sleep 600 &\necho $! >"+r.dir+"/child\n"+strings.ReplaceAll(spoolProgram, "../",
		r.dir+"/"))
	r.kill("create", false, "apply", "-auto-approve")
	t.Cleanup(func() {
		if text, err := os.ReadFile(filepath.Join(r.dir, "child")); err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	out := r.do("plan", "-no-color", "-detailed-exitcode")
	if !strings.Contains(out, "Operation of an interrupted run has ended") {
		t.Errorf("nobody was told: %s", out)
	}
	if o, status, _ := r.object(); o["id"] != "made" || status != "" {
		t.Errorf("got %v, %q", o, status)
	}
	r.clean()
}

// A program creates its object, and then the disk is full: a response of usual size is not lost; for one that does not
// fit, the creation stays in flight, so that nothing is created twice.
func TestAFullDiskWhileAProgramAnswersLosesNothing(t *testing.T) {
	for name, script := range map[string]string{
		"an answer of the usual length": `echo '{"state": {"id": "made", "serial": 1}}'`,
		"an answer without room": `printf '{"state": {"id": "'; head -c 3000000 /dev/zero | tr '\0' x || exit ` +
			`1; echo '"}}'`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newSpoolProject(t)
			disk := testProject{t: t, job: job{Dir: r.dir}}
			outside := t.TempDir()
			if err := os.CopyFS(outside, os.DirFS(filepath.Join(r.dir, "slow"))); err != nil {
				t.Fatal(err)
			}
			disk.smallDisk("6m")
			if err := os.CopyFS(filepath.Join(r.dir, "slow"), os.DirFS(outside)); err != nil {
				t.Fatal(err)
			}
			r.write("slow/slow.sh", "cat >/dev/null\necho $1 >>"+outside+
				"/made\nhead -c 9000000 /dev/zero >filler 2>/dev/null\n"+script)
			cmd := r.command("apply", "-auto-approve", "-no-color")
			out, err := cmd.CombinedOutput()
			if err := os.Remove(filepath.Join(r.dir, "filler")); err != nil {
				t.Fatal(err)
			}
			again, second := r.command("apply", "-auto-approve", "-no-color").CombinedOutput()
			_ = os.Remove(filepath.Join(r.dir, "filler"))
			made, _ := os.ReadFile(filepath.Join(outside, "made"))
			if n := strings.Count(string(made), "create"); n != 1 {
				t.Errorf("it was made %d times: %v %s\n%v %s", n, err, out, second, again)
			}
			if o, _, _ := r.object(); o == nil && !strings.Contains(string(again),
				"Interrupted creation is not resolved") {
				t.Errorf("nobody knows of it: %v %s\n%v %s", err, out, second, again)
			}
		})
	}
}

// A cloned repository can contain anything: a link in place of the folder for responses is refused, and its target is
// unchanged.
func TestLinksInPlaceOfAnswersAreRefused(t *testing.T) {
	r := newSpoolProject(t)
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "letter"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(home, filepath.Join(r.dir, "terraform.tfstate.answers")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"plan"}, {"apply", "-auto-approve"}} {
		out, err := r.command(append(args, "-no-color")...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "Answers of programs cannot be kept beside the state") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	if text, err := os.ReadFile(filepath.Join(home, "letter")); string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
}
