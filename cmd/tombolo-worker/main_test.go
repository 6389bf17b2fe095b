//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/runs"
)

func TestMain(m *testing.M) {
	testscript.Main(stopping{m}, map[string]func(){
		"tombolo":        func() { os.Exit(cli.Main()) },
		"tombolo-worker": main,
	})
}

// stopping runs the tests without settings of this machine, and stops the database at the end.
type stopping struct{ *testing.M }

func (s stopping) Run() int {
	defer pgtest.Stop()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "PG") || strings.HasPrefix(name, "TF_") {
			os.Unsetenv(name)
		}
	}
	return s.M.Run()
}

// site is a repository with its origin, a database, and a folder for what programs make.
type site struct {
	t                  *testing.T
	dsn                string
	dir, clone, origin string
	queue              *runs.Queue
	workers            int
}

// program is one that makes objects as files. If an object is made twice, it says so in the file "twice". It waits
// while the file "wait" exists.
const program = `action=$1
input=$(cat)
name=$(printf %s "$input" | sed 's/.*"name":"\([^"]*\)".*/\1/')
cd "$THINGS" || exit 1
case $action in
create)
  echo "$name" >>begun
  while [ -e wait ]; do sleep 0.05; done
  ( set -C; : >"objects/$name" ) 2>/dev/null || { echo "$name" >>twice; exit 1; }
  sleep 0.05
  echo "$name" >>created ;;
delete) rm "objects/$name"; exit ;;
read) [ -e "objects/$name" ] || { echo null; exit; } ;;
esac
printf '{"id":"%s","arguments":{"name":"%s"},"result":{}}' "$name" "$name"
`

// things is a configuration with some objects.
func things(schema string, count int) string {
	return fmt.Sprintf(`terraform {
  backend "pg" { schema_name = %q }
}
variable "after" { default = "" }
resource "external_resource" "it" {
  count     = %d
  program   = ["sh", "make.sh"]
  arguments = { name = "%s-${count.index}" }
}
output "last" { value = "%[1]s-${length(external_resource.it)}" }
output "seen" { value = var.after }
terraform {
  required_providers {
    external = { source = "tombolo/external" }
  }
}
`, schema, count, schema)
}

// newSite makes a site with files in its repository, committed and pushed.
func newSite(t *testing.T, files map[string]string) *site {
	t.Helper()
	for _, name := range []string{"git", "sh", "sed"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("needs " + name)
		}
	}
	if pgtest.Programs() == "" {
		t.Skip("needs a PostgreSQL server")
	}
	dir := t.TempDir()
	s := &site{t: t, dsn: pgtest.Database(t), dir: dir, clone: filepath.Join(dir, "clone"),
		origin: filepath.Join(dir, "origin.git")}
	for _, name := range []string{"clone", "things/objects"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.git("init", "-q", "-b", "main")
	s.git("init", "-q", "--bare", s.origin)
	s.git("remote", "add", "origin", s.origin)
	s.commit(files)
	return s
}

// environment is that of the commands and the workers of a site.
func (s *site) environment() []string {
	return append(os.Environ(), runs.Variable+"="+s.dsn, "PG_CONN_STR="+s.dsn, "THINGS="+filepath.Join(s.dir, "things"),
		"HOME="+s.dir, "GIT_CONFIG_NOSYSTEM=1")
}

func (s *site) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", s.clone, "-c", "user.name=t", "-c", "user.email=t@example.com"},
		args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files, commits and pushes them.
func (s *site) commit(files map[string]string) {
	s.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		full := filepath.Join(s.clone, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(files[name]), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	s.git("add", "-A")
	s.git("commit", "-qm", "change")
	s.git("push", "-q", "origin", "HEAD:main")
}

// tombolo runs a command in a directory of the repository.
func (s *site) tombolo(dir string, args ...string) (string, error) {
	cmd := exec.Command("tombolo", args...)
	cmd.Dir, cmd.Env = filepath.Join(s.clone, dir), s.environment()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must runs a command that has to succeed.
func (s *site) must(dir string, args ...string) string {
	s.t.Helper()
	out, err := s.tombolo(dir, args...)
	if err != nil {
		s.t.Fatalf("tombolo %v: %v\n%s", args, err, out)
	}
	return out
}

// workerProcess is a worker that the test has started.
type workerProcess struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// worker starts a worker, and waits until it serves.
func (s *site) worker(args ...string) *workerProcess {
	s.t.Helper()
	s.workers++
	w := &workerProcess{name: fmt.Sprintf("w%d", s.workers), done: make(chan struct{})}
	w.log = filepath.Join(s.dir, w.name+".log")
	log, err := os.Create(w.log)
	if err != nil {
		s.t.Fatal(err)
	}
	if !slices.Contains(args, "-repository") {
		args = append(args, "-repository", s.origin)
	}
	w.cmd = exec.Command("tombolo-worker", append([]string{"-name", w.name, "-dir", filepath.Join(s.dir, w.name)},
		args...)...)
	w.cmd.Env, w.cmd.Stdout, w.cmd.Stderr = s.environment(), log, log
	if err := w.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		_ = w.cmd.Wait() // many are killed
		log.Close()
		close(w.done)
	}()
	s.t.Cleanup(func() {
		w.kill()
		if s.t.Failed() {
			text, _ := os.ReadFile(w.log)
			s.t.Logf("%s:\n%s", w.name, text)
		}
	})
	s.until("the worker has started", func() bool {
		text, _ := os.ReadFile(w.log)
		select {
		case <-w.done:
			s.t.Fatalf("the worker has ended:\n%s", text)
		default:
		}
		return strings.Contains(string(text), "msg=started")
	})
	if s.queue == nil {
		s.queue, err = runs.Open(s.t.Context(), func(name string) string {
			return map[string]string{runs.Variable: s.dsn}[name]
		})
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(s.queue.Close)
	}
	return w
}

// kill kills a worker without warning.
func (w *workerProcess) kill() {
	_ = w.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	<-w.done
}

// until waits for a condition, as long as the test may run.
func (s *site) until(what string, condition func() bool) {
	s.t.Helper()
	deadline, limited := s.t.Deadline()
	failed := s.failed()
	for !condition() {
		for _, id := range s.failed() {
			if !slices.Contains(failed, id) && !condition() {
				s.t.Fatalf("waiting until %s, but the run %d has failed:\n%s", what, id, s.log(id))
			}
		}
		if limited && time.Until(deadline) < 20*time.Second {
			s.t.Fatalf("still waiting until %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// failed returns the runs that have failed.
func (s *site) failed() (ids []int64) {
	if s.queue == nil {
		return nil // before the first worker
	}
	list, err := s.queue.List(s.t.Context(), 100)
	if err != nil && !errors.Is(err, runs.ErrNotPrepared) {
		s.t.Fatal(err)
	}
	for _, r := range list {
		if r.Status == runs.Failed {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

func (s *site) get(id int64) *runs.Run {
	s.t.Helper()
	r, err := s.queue.Get(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// await waits until a run has one of some statuses.
func (s *site) await(id int64, statuses ...runs.Status) *runs.Run {
	s.t.Helper()
	s.until(fmt.Sprintf("the run %d is %v", id, statuses), func() bool {
		r := s.get(id)
		if r.Status.Ended() && !slices.Contains(statuses, r.Status) {
			s.t.Fatalf("the run %d is %s: %s\n%s", id, r.Status, r.Problem, s.log(id))
		}
		return slices.Contains(statuses, r.Status)
	})
	return s.get(id)
}

func (s *site) log(id int64) string {
	lines, err := s.queue.Lines(context.WithoutCancel(s.t.Context()), id, 0)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line.Text + "\n")
	}
	return b.String()
}

// lines returns the lines of a file that the program writes.
func (s *site) lines(name string) []string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "things", name))
	return strings.Fields(string(text))
}

// block makes the program wait until the returned function is called.
func (s *site) block() (release func()) {
	s.t.Helper()
	name := filepath.Join(s.dir, "things/wait")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		s.t.Fatal(err)
	}
	release = func() { _ = os.Remove(name) }
	s.t.Cleanup(release)
	return release
}

// checkOnce checks that each of a number of objects was made, and none twice.
func (s *site) checkOnce(count int) {
	s.t.Helper()
	if twice := s.lines("twice"); len(twice) > 0 {
		s.t.Errorf("made twice: %v", twice)
	}
	objects, err := os.ReadDir(filepath.Join(s.dir, "things/objects"))
	if err != nil {
		s.t.Fatal(err)
	}
	if len(objects) != count {
		s.t.Errorf("there are %d objects, want %d", len(objects), count)
	}
}
