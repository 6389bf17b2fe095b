//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package program_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// spoolScript returns a program whose answer is spooled in dir.
func spoolScript(dir, script string) program.Command {
	return program.Command{
		Argv: []string{"/bin/sh", "-c", script}, Linger: 10 * time.Millisecond,
		Spool: program.Spool{Dir: dir, Token: "run/op-1", Record: []byte("record")},
	}
}

// place returns the location of that program's answer.
func place(dir string) program.Spool { return program.Spool{Dir: dir, Token: "run/op-1"} }

// left creates the files of a call that a killed run leaves behind: an answer that a process and its children write.
func left(t *testing.T, dir, script string) *exec.Cmd {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(filepath.Join(dir, "run.op-1.out"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := syscall.Flock(int(out.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	cmd := programtest.Bounded(t, "/bin/sh", "-c", script)
	cmd.Stdout = out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	if err := os.WriteFile(filepath.Join(dir, "run.op-1.process"), program.Running(cmd.Process.Pid),
		0o600); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// Users who may access a state may continue where the run of another was killed: its answers have the owner, the group
// and the permissions of the state.
func TestSharedStatesHaveSharedAnswers(t *testing.T) {
	for _, perm := range []os.FileMode{0o600, 0o640, 0o644, 0o660} {
		state := filepath.Join(t.TempDir(), "terraform.tfstate")
		if err := errors.Join(os.WriteFile(state, nil, 0o600), os.Chmod(state, perm)); err != nil {
			t.Fatal(err)
		}
		given := os.Chown(state, 12, 34) == nil // even root cannot always change the owner
		dir := state + ".answers"
		if _, err := program.Run(t.Context(), spoolScript(dir, `echo '{}'`)); err != nil {
			t.Fatal(err)
		}
		seen := 0
		err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			seen++
			info, err := e.Info()
			if err != nil {
				return err
			}
			want := perm
			if e.IsDir() {
				want |= 0o100 | perm&0o044>>2
			}
			if info.Mode().Perm() != want {
				t.Errorf("%s has mode %v beside a state of mode %v, expected %v", name, info.Mode(), perm, want)
			}
			if sys := info.Sys().(*syscall.Stat_t); given && (sys.Uid != 12 || sys.Gid != 34) {
				t.Errorf("%s belongs to %d:%d, and the state to 12:34", name, sys.Uid, sys.Gid)
			}
			return nil
		})
		if err != nil || seen != 6 {
			t.Errorf("%d names, %v", seen, err)
		}
	}
}

// Whatever a stranger's project contains in place of the folder, or of a file in it, is not changed, and neither are
// the targets of links.
func TestSpoolsDoNotChangeForeignFiles(t *testing.T) {
	calls := map[string]func(dir string) error{
		"sweep":  func(dir string) error { return program.SweepSpool(dir, nil) },
		"remove": func(dir string) error { return program.RemoveSpooled(dir, "run/op-1") },
		"await": func(dir string) error {
			_, err := program.AwaitSpooled(t.Context(), place(dir), func([]int) {})
			return err
		},
		"run": func(dir string) error {
			_, err := program.Run(t.Context(), spoolScript(dir, `echo '{}'`))
			return err
		},
	}
	for what, call := range calls {
		for _, target := range []string{"folder", "file", "nothing"} {
			t.Run(what+" with a link to "+target, func(t *testing.T) {
				home := t.TempDir()
				kept := filepath.Join(home, "folder", "run.op-1.out")
				if err := errors.Join(os.Mkdir(filepath.Join(home, "folder"), 0o755), os.WriteFile(kept, []byte("mine"),
					0o644),
					os.WriteFile(filepath.Join(home, "file"), []byte("mine"), 0o644)); err != nil {
					t.Fatal(err)
				}
				dir := filepath.Join(t.TempDir(), "terraform.tfstate.answers")
				if err := os.Symlink(filepath.Join(home, target), dir); err != nil {
					t.Fatal(err)
				}
				err := call(dir)
				if foreign := (*program.SpoolError)(nil); !errors.As(err, &foreign) || !strings.Contains(err.Error(),
					dir) {
					t.Errorf("got %v", err)
				}
				entries, _ := os.ReadDir(home)
				if got, err := os.ReadFile(kept); string(got) != "mine" || err != nil || len(entries) != 2 {
					t.Errorf("it was touched: %q, %v, %v", got, err, entries)
				}
			})
		}
	}
	t.Run("files of others in the folder", func(t *testing.T) {
		dir, mine := t.TempDir(), filepath.Join(t.TempDir(), "mine")
		var err error
		for _, name := range []string{"notes.txt", ".out", "a.out", "run.op-1.record", "run.op-2.out"} {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
		}
		err = errors.Join(err, os.WriteFile(mine, []byte("mine"), 0o600),
			os.Symlink(mine, filepath.Join(dir, "run.op-1.out")),
			os.Mkdir(filepath.Join(dir, "run.op-3.out"), 0o700), syscall.Mkfifo(filepath.Join(dir, "run.op-4.out"),
				0o600))
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{"run/op-1", "run/op-3", "run/op-4"} {
			of := program.Spool{Dir: dir, Token: token}
			if found, err := program.AwaitSpooled(t.Context(), of, func([]int) {}); err == nil {
				t.Errorf("%s: read %+v", token, found)
			}
		}
		if err := program.SweepSpool(dir, nil); err != nil {
			t.Error(err)
		}
		var names []string
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if got := strings.Join(names, " "); got != ".out a.out notes.txt run.op-1.out run.op-3.out run.op-4.out" {
			t.Errorf("left: %s", got)
		}
	})
}

// A process that a program leaves running keeps its answer open, but does not delay it.
func TestAnswersAreAvailableWhenTheProgramHasEnded(t *testing.T) {
	for name, answer := range map[string]string{"whole": `{"state": {}}`, "cut": `{"state": `} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "answers")
			cmd := left(t, dir, `printf '`+answer+`'; sleep 600&`)
			_ = cmd.Wait()
			found, err := program.AwaitSpooled(t.Context(), place(dir), func([]int) {})
			if err != nil || found == nil || string(found.Stdout) != answer || found.Known {
				t.Errorf("got %+v, %v", found, err)
			}
		})
	}
}

func TestAwaitedProcessesAreReported(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "answers")
	cmd := left(t, dir, `echo '{}'; exec sleep 600`)
	ctx, cancel := context.WithCancel(t.Context())
	var got []int
	found, err := program.AwaitSpooled(ctx, place(dir), func(pids []int) { got = pids; cancel() })
	if found != nil || !errors.Is(err, context.Canceled) || len(got) != 1 || got[0] != cmd.Process.Pid {
		t.Errorf("waited for %v, not for %d: %+v, %v", got, cmd.Process.Pid, found, err)
	}
}

// tooMuch prints an answer that is valid except for its length.
const tooMuch = `echo '{"state": {}}'; head -c 70000000 /dev/zero | tr '\0' ' '; `

// An answer beyond the limit is refused whenever it is read, in bounded memory, and its program is killed.
func TestALateAnswerHasTheSameLimit(t *testing.T) {
	live := filepath.Join(t.TempDir(), "answers")
	_, err := program.Run(t.Context(), spoolScript(live, tooMuch))
	var limit *program.LimitError
	if !errors.As(err, &limit) {
		t.Fatalf("the run that waits says %v", err)
	}
	scripts := map[string]string{"ended": tooMuch}
	if runtime.GOOS == "linux" { // on other systems a process ID alone is not sufficient to kill it
		scripts["at work"] = tooMuch + "exec sleep 600"
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "answers")
			cmd := left(t, dir, script)
			go func() { _ = cmd.Wait() }()
			for range 2 {
				found, err := program.AwaitSpooled(t.Context(), place(dir), func([]int) {})
				if err != nil || found == nil || !errors.As(found.Refused, &limit) || len(found.Stdout) > limit.Limit {
					t.Fatalf("got %v, %v", found, err)
				}
			}
		})
	}
	found, err := program.AwaitSpooled(t.Context(), place(live), func([]int) {})
	if err != nil || found == nil || !errors.As(found.Refused, &limit) {
		t.Errorf("what the run refused that waited is later %v, %v", found, err)
	}
}

// A run may have a lower limit than a later run. An answer that it refused is also refused later.
func TestALaterRunHasTheLimitOfTheRunThatWaited(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "answers")
	cmd := spoolScript(dir, `printf '{"state": {"long": "enough"}}'`)
	cmd.MaxStdout = 10
	var live, later *program.LimitError
	if _, err := program.Run(t.Context(), cmd); !errors.As(err, &live) {
		t.Fatalf("the run that waits says %v", err)
	}
	found, err := program.AwaitSpooled(t.Context(), place(dir), func([]int) {})
	if err != nil || found == nil || !errors.As(found.Refused, &later) || later.Limit != live.Limit {
		t.Errorf("later it is %+v, %v", found, err)
	}
}

// A program that outlives its run and floods standard error does not fill the disk of the run that waits for it.
func TestLateMessagesFreeTheirDiskSpace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("runs on Linux, which alone frees the beginning of a file")
	}
	dir := filepath.Join(t.TempDir(), "answers")
	stop := filepath.Join(t.TempDir(), "stop")
	flood := filepath.Join(dir, "run.op-1.err")
	cmd := left(t, dir, `exec 2>>'`+flood+`'; head -c 50000000 /dev/zero >&2; `+
		`until [ -e '`+stop+`' ]; do sleep 0.05; done; echo '{}'`)
	go func() { _ = cmd.Wait() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		defer os.WriteFile(stop, nil, 0o600)
		for ctx.Err() == nil {
			var st syscall.Stat_t
			if err := syscall.Stat(flood, &st); err == nil && st.Size == 50000000 && st.Blocks*512 <= 16<<20 {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	found, err := program.AwaitSpooled(ctx, place(dir), func([]int) {})
	if err != nil || found == nil || strings.TrimSpace(string(found.Stdout)) != "{}" {
		t.Fatalf("got %v, %v: do the messages still take room on the disk?", found, err)
	}
}

// If the disk fills up while a program answers, there is space for answers of usual size. A program whose answer does
// not fit has an unknown result.
func TestAnswersSurviveAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "tombolo-spool-test",
		disk).CombinedOutput(); err != nil {
		t.Skipf("needs the right to mount a small file system: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", disk).Run() })
	fill := `head -c 4000000 /dev/zero >` + strconv.Quote(filepath.Join(disk, "filler")) + ` 2>/dev/null; `
	dir := filepath.Join(disk, "answers")
	long := `{"a": "` + strings.Repeat("x", 100_000) + `"}`
	res, err := program.Run(t.Context(),
		spoolScript(dir, fill+`printf '{"a": "'; head -c 100000 /dev/zero | tr '\0' x; echo '"}'`))
	if err != nil || strings.TrimSpace(string(res.Stdout)) != long {
		t.Errorf("the answer did not survive: %v", err)
	}
	var full *program.FullError
	_ = program.RemoveSpooled(dir, "run/op-1")
	_ = exec.Command("/bin/sh", "-c", fill).Run()
	if _, err := program.Run(t.Context(), spoolScript(dir, `echo`)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a program began without room for its answer: %v", err)
	}
	_ = os.Remove(filepath.Join(disk, "filler"))
	res, err = program.Run(t.Context(),
		spoolScript(dir, fill+`printf '{"a": "'; head -c 800000 /dev/zero | tr '\0' x || exit 1; echo '"}'`))
	if !errors.As(err, &full) {
		t.Errorf("got %v of %+.100v", err, res)
	}
	if found, err := program.AwaitSpooled(t.Context(), place(dir), func([]int) {}); err != nil || found == nil ||
		!errors.As(found.Refused, &full) {
		t.Errorf("later: %v, %v", found, err)
	}
}

// The folder is removed with its last answer, while other calls begin.
func TestConcurrentCallsShareATemporaryFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s.answers")
	over := make(chan struct{})
	var calls, others sync.WaitGroup
	for range 2 {
		others.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					_ = program.RemoveSpooled(dir, "run/other")
				}
			}
		})
	}
	for caller := range 4 {
		calls.Go(func() {
			for n := range 200 {
				call := program.Spool{Dir: dir, Token: fmt.Sprintf("run/op-%d-%d", caller, n)}
				if err := program.MakeRoom(call); err != nil {
					t.Error(err)
				}
				if err := program.RemoveSpooled(dir, call.Token); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	close(over)
	others.Wait()
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}
