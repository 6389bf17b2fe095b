//go:build unix

package plugged

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// plugged is a directory with a configuration and a plugin. The command line and the plugin run as processes.
type plugged struct {
	t   *testing.T
	dir string
	env []string
}

const pluggedConfig = `
terraform {
  required_providers {
    world = { source = "tombolo/bad" }
  }
}
provider "world" {
  dir = "w"
}
resource "world_object" "first" {
  name = "first"
}
resource "world_object" "slow" {
  name       = "slow"
  behave     = { delay = "2s" }
  depends_on = [world_object.first]
}
resource "world_object" "bad" {
  name       = "bad"
  depends_on = [world_object.first]
}
`

// newPlugged creates a directory with a plugin that misbehaves like badPlugin.
func newPlugged(t *testing.T, config string, env ...string) *plugged {
	t.Helper()
	p := &plugged{t: t, dir: t.TempDir()}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tombolo", "real/" + badName, "plugin/" + badName} {
		p.must(os.MkdirAll(filepath.Dir(p.path(name)), 0o777))
		p.must(os.Symlink(exe, p.path(name)))
	}
	p.write("main.tf", config)
	p.write("rc",
		fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"tombolo/bad\" = %q\n  }\n  direct {}\n}\n",
			p.path("plugin")))
	p.env = programtest.Environ("TF_CLI_CONFIG_FILE="+p.path("rc"), "PIDS="+p.path("pids"),
		"REAL="+p.path("real/"+badName), "HOME="+p.dir, "TF_IN_AUTOMATION=1", "GOTRACEBACK=single")
	p.env = append(p.env, env...)
	return p
}

// wrap replaces the plugin by a shell script. $REAL is the plugin itself.
func (p *plugged) wrap(script string) {
	p.must(os.Remove(p.path("plugin/" + badName)))
	p.write("plugin/"+badName, "#!/bin/sh\necho $$ >>\"$PIDS\"\n"+script+"\n")
	p.must(os.Chmod(p.path("plugin/"+badName), 0o755))
}

func (p *plugged) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *plugged) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *plugged) write(name, text string) { p.must(os.WriteFile(p.path(name), []byte(text), 0o666)) }

// ran is the result of a command.
type ran struct {
	code     int
	out      string // both streams
	took     time.Duration
	megabyte int64 // maximum memory
}

func (p *plugged) command(args ...string) *exec.Cmd {
	cmd := programtest.Bounded(p.t, p.path("tombolo"), args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.Stdin = strings.NewReader("a secret that the user types\n")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	programtest.Tie(cmd)
	return cmd
}

// run runs a command. If meanwhile is not nil, it is called after the start.
func (p *plugged) run(meanwhile func(pid int), args ...string) ran {
	p.t.Helper()
	var out bytes.Buffer
	cmd := p.command(args...)
	file, err := os.Create(p.path("said"))
	p.must(err)
	defer file.Close()
	both := io.MultiWriter(&out, file) // tests wait for text in the file
	cmd.Stdout, cmd.Stderr = both, both
	begin := time.Now()
	p.must(cmd.Start())
	if meanwhile != nil {
		meanwhile(cmd.Process.Pid)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return ran{code: cmd.ProcessState.ExitCode(), out: out.String(), took: time.Since(begin), megabyte: peak(cmd)}
}

// peak returns the maximum memory of a process. On Linux it includes that of the parent process, so 0 means no more
// than this test.
func peak(cmd *exec.Cmd) int64 {
	var own syscall.Rusage
	most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil || most <= own.Maxrss {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return most >> 20
	}
	return most >> 10
}

func (p *plugged) pids() []int { return p.from("pids") }

// from returns the process IDs in a file.
func (p *plugged) from(file string) (list []int) {
	text, _ := os.ReadFile(p.path(file)) // it does not exist before the first plugin
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		p.must(err)
		list = append(list, pid)
	}
	return list
}

// nothingStays checks that all processes of plugins end soon, and returns how many there were.
func (p *plugged) nothingStays() int {
	p.t.Helper()
	list := p.pids()
	if len(list) == 0 {
		p.t.Error("no plugin was started")
	}
	for _, pid := range list {
		if !programtest.Ends(pid) {
			p.t.Fatalf("process %d of %v is still there", pid, list)
		}
	}
	return len(list)
}

// stored returns the names of the objects in the state file, and checks that the file is valid.
func (p *plugged) stored() (names []string) {
	p.t.Helper()
	text, err := os.ReadFile(p.path("terraform.tfstate"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	p.must(err)
	var s struct {
		Version   int
		Resources []struct{ Name string }
	}
	if err := json.Unmarshal(text, &s); err != nil || s.Version != 4 {
		p.t.Fatalf("the state file is damaged: %v\n%s", err, text)
	}
	for _, r := range s.Resources {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names
}

func (p *plugged) wants(r ran, code int, words ...string) {
	p.t.Helper()
	if r.code != code {
		p.t.Errorf("exit code %d, want %d", r.code, code)
	}
	// Messages are wrapped and framed.
	text := strings.Join(strings.Fields(strings.ReplaceAll(r.out, "│", " ")), " ")
	for _, word := range words {
		if !strings.Contains(text, word) {
			p.t.Errorf("there is no %q", word)
		}
	}
	if p.t.Failed() {
		p.t.Logf("after %s, %d MB:\n%.6000s", r.took, r.megabyte, r.out)
	}
}

func TestErrorsOfPluginsThatFailToStart(t *testing.T) {
	for mode, want := range map[string][]string{
		"start-panic":  {"tombolo/bad", "panic: no licence", "exit status 2"},
		"start-words":  {"tombolo/bad", "This provider needs python3, which is not installed.", "exit status 1"},
		"start-plain":  {"tombolo/bad", "no certificate"},
		"start-old":    {"tombolo/bad", "4"},
		"start-flood":  {"tombolo/bad", "not the handshake line of a plugin"},
		"schema-panic": {"tombolo/bad", "Plugin did not respond", "panic: no schema", "GetProviderSchema"},
		"schema-exit":  {"tombolo/bad", "Plugin did not respond", "exit status 7", "GetProviderSchema"},
		"configure-exit": {"tombolo/bad", "Plugin did not respond", "exit status 7", "ConfigureProvider",
			`provider["registry.terraform.io/tombolo/bad"]`},
		"schema-words":   {"tombolo/bad", "Licence expired"},
		"schema-version": {"tombolo/bad", "resource world_object: -5 is not a valid version of a schema"},
		"plan-panic": {"tombolo/bad", "Plugin did not respond", "panic: no plan", "PlanResourceChange",
			"with world_object.bad"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPlugged(t, pluggedConfig, "BAD="+mode)
			r := p.run(nil, "apply", "-auto-approve")
			p.wants(r, 1, want...)
			p.nothingStays()
			if got := p.stored(); got != nil {
				t.Errorf("the state has %v", got)
			}
			if r.megabyte > 300 || r.took > 45*time.Second {
				t.Errorf("it took %s and %d MB", r.took, r.megabyte)
			}
		})
	}
}

func TestOperationsOfACrashedPluginAreListed(t *testing.T) {
	for mode, want := range map[string][]string{
		"apply-panic": {"Stack trace from the terraform-provider-bad plugin: panic: assignment to entry in nil map",
			"exit status 2"},
		"apply-exit":   {"cannot go on: the disk is on fire", "exit status 3"},
		"apply-killed": {"signal: killed"},
	} {
		for _, protocol := range []string{"5", "6"} {
			t.Run(mode+"/"+protocol, func(t *testing.T) {
				t.Parallel()
				p := newPlugged(t, strings.ReplaceAll(pluggedConfig, `"2s"`, `"10m"`), "BAD="+mode, "BAD_PROTOCOL="+
					protocol, "OTHERS=1")
				r := p.run(nil, "apply", "-auto-approve")
				p.wants(r, 1, append(want, "tombolo/bad", "Plugin did not respond", "ApplyResourceChange",
					"with world_object.bad", "with world_object.slow")...)
				if n := strings.Count(r.out, "It wrote to standard error") + strings.Count(r.out,
					"Stack trace"); n > 1 {
					t.Errorf("what it wrote is shown %d times", n)
				}
				p.nothingStays()
				if got := p.stored(); !slices.Equal(got, []string{"first"}) {
					t.Errorf("the state has %v", got)
				}
				p.wants(p.run(nil, "state", "list"), 0, "world_object.first", "world_object.bad", "world_object.slow",
					"recover")
				// An object that may exist is not created again.
				p.env = append(p.env, "BAD=")
				p.wants(p.run(nil, "apply", "-auto-approve"), 1, "world_object.bad", "world_object.slow")
			})
		}
	}
}

func TestInvalidResponsesOfPluginsAreNotStored(t *testing.T) {
	for mode, want := range map[string][]string{
		"nothing":       {"with world_object.bad"},
		"garbage":       {"with world_object.bad", "invalid answer"},
		"other-message": {"with world_object.bad"},
		"huge":          {"with world_object.bad", "invalid answer"},
		"too-huge":      {"with world_object.bad"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPlugged(t, pluggedConfig, "BAD="+mode)
			r := p.run(nil, "apply", "-auto-approve")
			p.wants(r, 1, append(want, "tombolo/bad", "ApplyResourceChange")...)
			p.nothingStays()
			if got := p.stored(); !slices.Equal(got, []string{"first", "slow"}) {
				t.Errorf("the state has %v", got)
			}
			p.wants(p.run(nil, "state", "list"), 0, "world_object.bad", "recover")
			if r.megabyte > 800 {
				t.Errorf("it took %d MB", r.megabyte)
			}
		})
	}
}

func TestInvalidPlansOfPluginsAreRefused(t *testing.T) {
	for mode, want := range map[string][]string{
		"plan-problems":     {"One of many", "with world_object.first", "100000 problems"},
		"plan-long-problem": {"One long", "with world_object.first", "bytes more)"},
		"plan-infinite":     {"with world_object.first", "invalid answer"},
		"upgrade-nothing":   {"tombolo/bad", "with world_object.first", "the upgrade of the stored object"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPlugged(t, strings.ReplaceAll(pluggedConfig, `"2s"`, `"0s"`))
			var before []string
			if mode == "upgrade-nothing" {
				p.wants(p.run(nil, "apply", "-auto-approve"), 0, "3 added")
				before = p.stored()
			}
			p.env = append(p.env, "BAD="+mode)
			r := p.run(nil, "apply", "-auto-approve")
			p.wants(r, 1, want...)
			p.nothingStays()
			if got := p.stored(); !slices.Equal(got, before) {
				t.Errorf("the state has %v", got)
			}
			if r.megabyte > 500 || len(r.out) > 2<<20 {
				t.Errorf("it took %d MB and wrote %d bytes", r.megabyte, len(r.out))
			}
		})
	}
}

func TestPluginsWithOddOutputWork(t *testing.T) {
	for mode, script := range map[string]string{
		"flood": "", "flood-endless-line": "", "stdin": "", "deaf": "", "grandchild": "",
		"wrapper":       `"$REAL" "$@"`,
		"wrapper, gone": `"$REAL" "$@" &`,
		"wrapper, wait": "trap '' TERM INT\n\"$REAL\" \"$@\" &\nwait",
		"wrapper, deaf": "export BAD=deaf\ntrap '' TERM INT\n\"$REAL\" \"$@\"\nsleep 600",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPlugged(t, pluggedConfig, "BAD="+mode)
			if script != "" {
				p.wrap(script)
			}
			r := p.run(nil, "apply", "-auto-approve")
			p.wants(r, 0, "3 added")
			p.nothingStays()
			if got := p.stored(); !slices.Equal(got, []string{"bad", "first", "slow"}) {
				t.Errorf("the state has %v", got)
			}
			if r.megabyte > 200 || r.took > 2*time.Minute {
				t.Errorf("it took %s and %d MB", r.took, r.megabyte)
			}
		})
	}
}

// waitBegun waits until the plugin works on an object.
func (p *plugged) waitBegun(name string) {
	p.t.Helper()
	p.waitFor("w/ledger", begun(name))
}

// begun returns the entry in the world's ledger for the begin of an object's creation.
func begun(name string) string { return `BEGIN {"op":"create","name":"` + name + `"` }

func (p *plugged) waitFor(file, words string) {
	p.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(p.path(file)) // it does not exist yet
		if strings.Contains(string(text), words) {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s holds %q, not %q", file, text, words)
		}
	}
}

func TestPluginsEndWithAKilledRun(t *testing.T) {
	for name, script := range map[string]string{
		"plain": "", "wrapper": `"$REAL" "$@"`,
		"deaf wrapper": "trap '' TERM INT\nexport BAD=deaf\n\"$REAL\" \"$@\" &\nwait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlugged(t, pluggedConfig, "BAD=apply-hang")
			if script != "" {
				p.wrap(script)
			}
			r := p.run(func(pid int) {
				p.waitBegun("slow")
				p.must(syscall.Kill(pid, syscall.SIGKILL))
			}, "apply", "-auto-approve")
			if r.code != -1 {
				t.Errorf("exit code %d", r.code)
			}
			p.nothingStays()
			p.wants(p.run(nil, "state", "list"), 0, "world_object.first", "world_object.slow", "recover")
		})
	}
}

// The terminal sends its interrupt to all foreground processes. The engine decides what it means for plugins.
func TestTerminalInterruptsDoNotReachPlugins(t *testing.T) {
	for name, script := range map[string]string{"plain": "", "wrapper": `"$REAL" "$@"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlugged(t, strings.ReplaceAll(pluggedConfig, `"2s"`, `"10m"`))
			if script != "" {
				p.wrap(script)
			}
			r := p.run(func(pid int) {
				p.waitBegun("slow")
				p.waitBegun("bad")
				p.must(syscall.Kill(-pid, syscall.SIGINT))
			}, "apply", "-auto-approve")
			// The plugin was asked to stop, and completed both calls.
			p.wants(r, 1, "Interrupt received", "world_object.bad: Creation complete",
				`"slow" was not created: interrupted`)
			if n := p.nothingStays(); n != 2 && script == "" {
				t.Errorf("%d processes were started, for planning and for applying", n)
			}
			if got := p.stored(); !slices.Equal(got, []string{"bad", "first"}) {
				t.Errorf("the state has %v", got)
			}
		})
	}
}

// waitStopped waits until all threads of a process are stopped, because they receive the signal one by one. Without
// /proc it does not wait.
func (p *plugged) waitStopped(pid int) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		running := slices.ContainsFunc(threads, func(name string) bool {
			text, err := os.ReadFile(name)
			_, rest, _ := strings.Cut(string(text), ") ")
			return err == nil && !strings.HasPrefix(rest, "T")
		})
		if !running {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("process %d does not stop", pid)
		}
	}
}

func TestSecondInterruptEndsAHangingPlugin(t *testing.T) {
	for _, c := range []struct {
		mode, script string
		begun        func(*plugged)
		args         []string
		want         []string
	}{
		{mode: "apply-hang", begun: func(p *plugged) { p.waitFor("pids.hung", "bad") }, want: []string{
			"Request cancelled", "ApplyResourceChange", "with world_object.bad", "recover world_object.bad"}},
		{mode: "start", script: "sleep 600", begun: func(p *plugged) { p.waitFor("pids", "\n") }, want: []string{
			"start of provider tombolo/bad was cancelled"}},
		{mode: "stopped", begun: func(p *plugged) {
			p.waitBegun("slow")
			for _, pid := range p.pids() {
				if programtest.Alive(pid) {
					p.must(syscall.Kill(pid, syscall.SIGSTOP))
					p.waitStopped(pid)
				}
			}
		}, want: []string{"Request cancelled", "with world_object.slow", "recover world_object.slow"}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			p := newPlugged(t, strings.ReplaceAll(pluggedConfig, `"2s"`, `"10m"`), "BAD="+c.mode)
			if c.script != "" {
				p.wrap(c.script)
			}
			var second time.Time
			r := p.run(func(pid int) {
				c.begun(p)
				p.must(syscall.Kill(-pid, syscall.SIGINT))
				p.waitFor("said", "Interrupt received") // the system merges two pending signals
				p.must(syscall.Kill(-pid, syscall.SIGINT))
				second = time.Now()
			}, "apply", "-auto-approve")
			if late := time.Since(second); late > time.Minute { // a hanging plugin does so for ten seconds
				t.Errorf("it ended %s after the second interrupt", late)
			}
			p.wants(r, 1, c.want...)
			p.nothingStays()
		})
	}
}

func TestRunDoesNotWaitForADaemonOfAPlugin(t *testing.T) {
	t.Parallel()
	p := newPlugged(t, pluggedConfig, "BAD=daemon")
	r := p.run(nil, "apply", "-auto-approve")
	p.wants(r, 0, "3 added")
	if r.took > time.Minute {
		t.Errorf("it took %s", r.took)
	}
	list := p.pids()
	daemon := list[len(list)-1]
	if !programtest.Alive(daemon) {
		t.Error("the daemon has ended: it left the group so as not to")
	}
	p.must(syscall.Kill(daemon, syscall.SIGKILL))
	p.nothingStays()
}
