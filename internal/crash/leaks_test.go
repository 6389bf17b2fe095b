//go:build linux

package crash

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/plan"
)

// leaky is a project with everything that starts something: a plugin, ephemeral resources that are renewed, a program.
const leaky = `terraform {
  required_providers {
    world    = { source = "tombolo/world" }
    external = { source = "tombolo/external" }
  }
}
variable "fail" { default = null }
variable "delay" { default = "1ms" }
provider "world" { dir = "world" }
ephemeral "world_lease" "l" {
  name  = "l"
  renew = "1s"
}
resource "world_object" "a" {
  count  = 5
  name   = "a${count.index}"
  behave = { delay = var.delay }
}
resource "world_object" "bad" {
  name   = "bad"
  behave = var.fail == null ? null : { fail = var.fail }
}
resource "external_resource" "p" {
  program = ["sh", "-c", "cat >/dev/null; echo '{\"id\":\"1\",\"arguments\":{},\"result\":{}}'"]
}
output "n" { value = length(world_object.a) }
`

// A leakProject is a project with a plugin, and with its own home folder and folder for temporary files.
type leakProject struct {
	t              *testing.T
	dir, home, tmp string
}

func newLeakProject(t *testing.T) *leakProject {
	root := t.TempDir()
	r := &leakProject{t, filepath.Join(root, "project"), filepath.Join(root, "home"), filepath.Join(root, "tmp")}
	exe, err := os.Executable()
	at := filepath.Join(r.home, ".terraform.d", "plugins", "registry.terraform.io", "tombolo", "world", "1.0.0",
		runtime.GOOS+"_"+runtime.GOARCH)
	settings := filepath.Join(r.home, "empty.tfrc")
	r.must(err, os.MkdirAll(at, 0o700), os.Symlink(exe, filepath.Join(at, pluginName)), os.Mkdir(r.dir, 0o700),
		os.Mkdir(r.tmp, 0o700), os.WriteFile(filepath.Join(r.dir, "main.tf"), []byte(leaky), 0o600),
		os.WriteFile(settings, nil, 0o600))
	t.Setenv("HOME", r.home)
	t.Setenv("TMPDIR", r.tmp)
	t.Setenv("TF_CLI_CONFIG_FILE", settings)
	if diags := tombolo.Install(t.Context(), tombolo.Options{Dir: r.dir}, tombolo.InstallOptions{}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return r
}

func (r *leakProject) must(errs ...error) {
	r.t.Helper()
	if err := errors.Join(errs...); err != nil {
		r.t.Fatal(err)
	}
}

// reset removes the world and the state.
func (r *leakProject) reset() {
	names, err := filepath.Glob(filepath.Join(r.dir, "terraform.tfstate*"))
	r.must(err)
	for _, name := range append(names, filepath.Join(r.dir, "world")) {
		r.must(os.RemoveAll(name))
	}
}

// round plans, applies and destroys in this process; some rounds fail, and some are interrupted.
func (r *leakProject) round(n int) {
	r.t.Helper()
	r.reset()
	o := tombolo.Options{Dir: r.dir, Variables: map[string]any{}}
	if n%3 == 1 {
		o.Variables["fail"] = "create"
	}
	for _, mode := range []plan.Mode{plan.Normal, plan.Destroy} {
		ctx, cancel := context.WithCancel(r.t.Context())
		if n%3 == 2 && mode == plan.Normal {
			o.Variables["delay"] = "10s"
			ctx, cancel = context.WithTimeout(r.t.Context(), time.Second)
		}
		p, diags := tombolo.Load(r.t.Context(), o)
		r.must(diags.Err())
		run, diags := p.Open(r.t.Context(), tombolo.OpenOptions{})
		r.must(diags.Err())
		pl, diags := run.Plan(ctx, tombolo.PlanOptions{Mode: mode})
		if !diags.HasErrors() {
			_, diags = run.Apply(ctx, pl, tombolo.ApplyOptions{})
		}
		if fails := n%3 > 0; diags.HasErrors() != (fails && mode == plan.Normal) {
			r.t.Fatalf("round %d, mode %v: %v", n, mode, diags.Err())
		}
		r.must(run.Close(r.t.Context()).Err(), p.Close())
		cancel()
		if n%3 == 2 {
			break // an interrupted operation waits for a person
		}
	}
}

// held is what a process has in use, and how many files are left.
type held struct{ goroutines, files, children, left int }

func (r *leakProject) held() (h held) {
	fds, err := os.ReadDir("/proc/self/fd")
	r.must(err)
	h.goroutines, h.files = runtime.NumGoroutine(), len(fds)
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	r.must(err)
	for _, name := range tasks {
		text, _ := os.ReadFile(name) // a thread may have ended
		h.children += len(bytes.Fields(text))
	}
	h.left = r.files()
	return h
}

// files counts the files in the folder for temporary files and in the project, except for those of the world.
func (r *leakProject) files() (n int) {
	for _, root := range []string{r.tmp, r.dir} {
		r.must(filepath.WalkDir(root, func(_ string, _ fs.DirEntry, err error) error {
			if n++; errors.Is(err, fs.ErrNotExist) {
				return nil // it was removed meanwhile
			}
			return err
		}))
	}
	return n
}

// TestRunsInOneProcessLeaveNothingBehind repeats the same run with the library. The resources of the process and the
// files on the disk are the same after the first rounds and after the last.
func TestRunsInOneProcessLeaveNothingBehind(t *testing.T) {
	r, rounds := newLeakProject(t), 9
	if full {
		rounds = 200
	}
	for n := range 3 {
		r.round(n)
	}
	r.reset()
	first := r.held()
	for n := range rounds {
		r.round(n)
	}
	r.reset()
	for try := 0; ; try++ {
		last := r.held()
		if last.goroutines <= first.goroutines && last.files <= first.files && last.children <= first.children &&
			last.left <= first.left {
			t.Logf("%d rounds: %+v, then %+v", rounds, first, last)
			return
		}
		if try == 1000 { // whatever ends by itself has ended by now
			buf := make([]byte, 1<<20)
			t.Fatalf("after %d rounds %+v, before %+v\n%s", rounds, last, first, buf[:runtime.Stack(buf, true)])
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestKilledEnginesLeaveNoProcesses kills engines while their plugin works. Each time the plugin and the programs end,
// and no temporary files remain.
func TestKilledEnginesLeaveNoProcesses(t *testing.T) {
	r, rounds := newLeakProject(t), 3
	if full {
		rounds = 50
	}
	mark := "CRASH_LEAKS=" + r.dir
	for n := range rounds {
		r.reset()
		ledger := filepath.Join(r.dir, "world", "ledger")
		cmd := exec.Command(os.Args[0], "apply", "-auto-approve", "-input=false", "-var=delay=60s")
		cmd.Dir, cmd.Env = r.dir, append(os.Environ(), roleCLI+"=1", mark)
		r.must(cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for begun := false; !begun; {
			select {
			case err := <-ended:
				t.Fatalf("round %d: the engine has ended by itself: %v", n, err)
			case <-time.After(20 * time.Millisecond):
				text, _ := os.ReadFile(ledger)
				begun = strings.Contains(string(text), "BEGIN")
			}
		}
		if marked(mark) < 2 {
			t.Fatalf("round %d: no plugin is seen", n)
		}
		r.must(cmd.Process.Kill())
		<-ended
		for try := 0; ; try++ {
			left, err := os.ReadDir(r.tmp)
			if r.must(err); marked(mark) == 0 && len(left) == 0 {
				break
			}
			if try == 3000 {
				t.Fatalf("round %d: %d processes are left, and in the folder for temporary files %v", n, marked(mark),
					left)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// marked counts the processes whose environment contains a variable.
func marked(variable string) (n int) {
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		if env, err := os.ReadFile(name); err == nil && bytes.Contains(env, []byte(variable+"\x00")) {
			n++
		}
	}
	return n
}
