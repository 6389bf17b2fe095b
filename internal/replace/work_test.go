package replace_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/replace"
)

const (
	worksEnv = "TOMBOLO_TEST_WORKS_IN"
	markName = ".tombolo-unfinished"
)

// TestMain runs the test binary as a process that uses a folder until its input ends, if the environment says so.
func TestMain(m *testing.M) {
	dir := os.Getenv(worksEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	w, err := replace.Unfinished(dir, ".new-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(w.Dir)
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = w.Remove()
}

// worker is another process that uses a folder.
type worker struct {
	cmd *exec.Cmd
	in  io.Closer
	dir string
}

func startWorker(t *testing.T, in string) *worker {
	t.Helper()
	w := &worker{cmd: exec.Command(os.Args[0])}
	w.cmd.Env = append(os.Environ(), worksEnv+"="+in)
	w.cmd.Stderr = os.Stderr
	stdin, err := w.cmd.StdinPipe()
	out, outErr := w.cmd.StdoutPipe()
	if err = errors.Join(err, outErr); err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	w.in = stdin
	t.Cleanup(func() { stdin.Close(); _ = w.cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	w.dir = strings.TrimSpace(line)
	if err := os.WriteFile(filepath.Join(w.dir, "work"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *worker) kill() { _ = w.cmd.Process.Kill(); _ = w.cmd.Wait() }

func (w *worker) finish() { w.in.Close(); _ = w.cmd.Wait() }

func age(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	if err := os.Chtimes(dir, then, then); err != nil {
		t.Fatal(err)
	}
}

// bootIsKnown reports whether the system identifies its boots; if not, ages count as well.
func bootIsKnown(t *testing.T, w *worker) bool {
	t.Helper()
	mark, err := os.ReadFile(filepath.Join(w.dir, markName))
	if err != nil {
		t.Fatal(err)
	}
	_, name, _ := strings.Cut(string(mark), "\n")
	return name != ""
}

func there(dir string) bool { _, err := os.Lstat(dir); return err == nil }

// Whatever the clock shows, the folder of a running process stays, and that of a killed one is removed.
func TestSweepingDependsOnTheProcessAndNotOnTheClock(t *testing.T) {
	dir := t.TempDir()
	var works, killed []*worker
	for _, by := range []time.Duration{0, time.Minute, 48 * time.Hour, 20 * 365 * 24 * time.Hour, -time.Hour,
		-48 * time.Hour} {
		for _, list := range []*[]*worker{&works, &killed} {
			w := startWorker(t, dir)
			age(t, w.dir, by)
			*list = append(*list, w)
		}
	}
	for _, w := range killed {
		w.kill()
	}
	known := bootIsKnown(t, works[0])
	replace.Sweep(dir, ".new-")
	for i := range works {
		if !there(filepath.Join(works[i].dir, "work")) {
			t.Error("the folder of a process that works was swept")
		}
		if known && there(killed[i].dir) {
			t.Error("the folder of a killed process is still there")
		}
		works[i].finish()
		if there(works[i].dir) {
			t.Error("the folder of a process that has ended is still there")
		}
	}
}

// Processes start, end, are killed and sweep at random, while their clocks jump.
func TestSweepingAtRandom(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(3) {
		first := startWorker(t, dir)
		known := bootIsKnown(t, first)
		r := rand.New(rand.NewPCG(seed, 1))
		works, gone := []*worker{first}, []*worker{}
		for range 25 {
			switch at := r.IntN(4); {
			case at == 0 || len(works) == 0:
				works = append(works, startWorker(t, dir))
			case at == 1:
				age(t, works[r.IntN(len(works))].dir, time.Duration(r.IntN(1000)-500)*time.Hour)
			case at == 2:
				replace.Sweep(dir, ".new-")
			default:
				i := r.IntN(len(works))
				if r.IntN(2) == 0 {
					works[i].kill()
				} else {
					works[i].finish()
				}
				gone = append(gone, works[i])
				works = append(works[:i], works[i+1:]...)
			}
			for _, w := range works {
				if !there(filepath.Join(w.dir, "work")) {
					t.Fatalf("seed %d: the folder of a process that works was swept", seed)
				}
			}
		}
		replace.Sweep(dir, ".new-")
		for _, w := range gone {
			if known && there(w.dir) {
				t.Errorf("seed %d: the folder of a process that has ended is still there", seed)
			}
		}
		for _, w := range works {
			w.finish()
		}
	}
}

// Folders without a mark, and folders of another system that may still be in use, are not swept.
func TestOnlyOwnFoldersAreSwept(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	old, behind := startWorker(t, dir), startWorker(t, elsewhere)
	mark, err := os.ReadFile(filepath.Join(old.dir, markName))
	if err != nil {
		t.Fatal(err)
	}
	old.kill()
	behind.kill()
	text, _, _ := strings.Cut(string(mark), "\n")
	goes := map[string]bool{}
	for name, c := range map[string]struct {
		mark string
		age  time.Duration
		goes bool
	}{
		"other system":        {text + "\nother", time.Minute, false},
		"other system, later": {text + "\nother", 25 * time.Hour, true},
		"no system":           {text + "\n", time.Minute, false},
		"no system, later":    {text + "\n", 25 * time.Hour, true},
		"not ours":            {"text", 25 * time.Hour, false},
		"begun":               {text[:10], 25 * time.Hour, false},
		"long":                {string(mark) + strings.Repeat("x", 2000), 25 * time.Hour, false},
		"no mark":             {"", 25 * time.Hour, false},
	} {
		at := filepath.Join(dir, ".new-"+name)
		err := os.Mkdir(at, 0o755)
		if c.mark != "" {
			err = errors.Join(err, os.WriteFile(filepath.Join(at, markName), []byte(c.mark), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		age(t, at, c.age)
		goes[at] = c.goes
	}
	if err := os.Symlink(behind.dir, filepath.Join(dir, ".new-link")); err == nil {
		goes[filepath.Join(dir, ".new-link")] = false
	}
	goes[old.dir], goes[behind.dir] = true, false
	replace.Sweep(dir, ".new-")
	for name, want := range goes {
		if there(name) == want {
			t.Errorf("%s goes: %t", filepath.Base(name), !want)
		}
	}
}

// A user with access to the folder, such as the one for temporary files, replaces a folder with a link while it is
// being swept. Nothing is removed from the target.
func TestLinksCreatedWhileSweepingAreNotFollowed(t *testing.T) {
	top := t.TempDir()
	dir, victim := filepath.Join(top, "tmp"), filepath.Join(top, "victim")
	mine := startWorker(t, top)
	mark, err := os.ReadFile(filepath.Join(mine.dir, markName)) // without its lock
	if err = errors.Join(err, os.Mkdir(dir, 0o755), os.Mkdir(victim, 0o755)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for n := range 50 {
		name := filepath.Join(victim, fmt.Sprint(n))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	bait, aside := filepath.Join(dir, ".new-bait"), filepath.Join(dir, "aside")
	if err := os.Symlink(victim, aside); err != nil {
		t.Skipf("needs symbolic links: %s", err)
	}
	for range 100 {
		err := errors.Join(os.Mkdir(bait, 0o755), os.WriteFile(filepath.Join(bait, markName), mark, 0o600))
		if err != nil {
			t.Fatal(err)
		}
		for n := range names {
			if err := os.WriteFile(filepath.Join(bait, fmt.Sprint(n)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		age(t, bait, 48*time.Hour)
		swept := make(chan struct{})
		go func() {
			defer close(swept)
			replace.Sweep(dir, ".new-")
		}()
		for {
			select {
			case <-swept:
			default:
				away := bait + "-away"
				if os.Rename(bait, away) == nil {
					_ = os.Rename(aside, bait)
					_ = os.Rename(bait, aside)
					_ = os.Rename(away, bait)
				}
				continue
			}
			break
		}
		_ = os.RemoveAll(bait)
		_ = os.RemoveAll(bait + "-away")
	}
	for _, name := range names {
		if !there(name) {
			t.Fatalf("%s is gone", name)
		}
	}
}
