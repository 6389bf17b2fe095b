package process_test

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/host/process"
)

// TestAProgramWhoseGuardWasKilledEndsWithTheEngine kills first the guard and then the engine.
func TestAProgramWhoseGuardWasKilledEndsWithTheEngine(t *testing.T) {
	engine := exec.Command(os.Args[0])
	engine.Env = append(os.Environ(), "PROCESS_TEST_ENGINE="+t.TempDir(), "PROCESS_TEST_LONELY=1")
	out, err := engine.StdoutPipe()
	if err == nil {
		err = engine.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	pids := readPids(t, out)
	guard, err := syscall.Getpgid(pids[0])
	if err != nil || guard == pids[0] {
		t.Fatalf("the group of %d is %d: %v", pids[0], guard, err)
	}
	defer syscall.Kill(pids[0], syscall.SIGKILL) // if the test fails; else nobody has this number yet
	if err := syscall.Kill(guard, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := engine.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	engine.Wait()
	waitGone(t, pids)
}

// TestAProgramOutlivesTheThreadThatAskedForIt starts a program from a thread that ends.
func TestAProgramOutlivesTheThreadThatAskedForIt(t *testing.T) {
	type answer struct {
		p      *process.Process
		thread int
		err    error
	}
	input, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	answers := make(chan answer)
	var starts func()
	starts = func() {
		runtime.LockOSThread() // and it ends with the goroutine
		if syscall.Gettid() == os.Getpid() {
			go starts() // the first thread never ends; while this one is kept from others, that is another
			time.Sleep(100 * time.Millisecond)
			return
		}
		p, err := process.Start(process.Spec{Path: "/bin/sh", Args: []string{"-c", `echo ready; read end; echo lives`},
			Stdin: input})
		answers <- answer{p, syscall.Gettid(), err}
	}
	go starts()
	a := <-answers
	if a.err != nil {
		t.Fatal(a.err)
	}
	defer a.p.Kill()
	lines := bufio.NewReader(a.p.Stdout())
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	for syscall.Tgkill(os.Getpid(), a.thread, 0) == nil {
		time.Sleep(time.Millisecond) // until the thread has ended
	}
	release.Close()
	if line, err := lines.ReadString('\n'); line != "lives\n" {
		t.Errorf("%q, %v, %s", line, err, a.p.ExitState())
	}
}
