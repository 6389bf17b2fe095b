//go:build unix

package process_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/host/process"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// TestMain runs the test binary as an engine that will be killed, if the environment says so: it starts a wrapper with
// a child, prints their process IDs, and waits.
func TestMain(m *testing.M) {
	if os.Getenv("PROCESS_TEST_ENGINE") == "" {
		os.Exit(m.Run())
	}
	if name := os.Getenv("PROCESS_TEST_WATCHED"); name != "" {
		watched(name)
	}
	script := wrapper
	if os.Getenv("PROCESS_TEST_STOPPED") != "" {
		script = stubborn
	}
	if os.Getenv("PROCESS_TEST_LONELY") != "" {
		script = lonely
	}
	p, err := process.Start(process.Spec{Path: "/bin/sh", Args: []string{"-c", script},
		Temp: os.Getenv("PROCESS_TEST_ENGINE")})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	io.Copy(os.Stdout, p.Stdout())
}

// wrapper prints its own process ID and its child's, and waits for the child.
const wrapper = `sleep 600 & echo $$ $!; wait`

// stubborn is a wrapper whose processes ignore the usual signals and are stopped.
const stubborn = `trap '' HUP INT QUIT PIPE TERM; sleep 600 & echo $$ $!; kill -STOP $! $$; wait`

// lonely is a program without children.
const lonely = `echo $$; exec sleep 600`

func waitGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if !programtest.Ends(pid) {
			t.Fatalf("process %d of %v is still there", pid, pids)
		}
	}
}

func readPids(t *testing.T, r io.Reader) []int {
	t.Helper()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, word := range strings.Fields(line) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func TestKillEndsChildrenOfWrappers(t *testing.T) {
	p, err := process.Start(process.Spec{Path: "/bin/sh", Args: []string{"-c", wrapper}})
	if err != nil {
		t.Fatal(err)
	}
	pids := readPids(t, p.Stdout())
	if p.ExitState() != "" || pids[0] != p.Pid() {
		t.Errorf("fate %q, pid %d of %v", p.ExitState(), p.Pid(), pids)
	}
	p.Kill()
	p.Kill()
	waitGone(t, pids)
	if !strings.Contains(p.ExitState(), "killed") {
		t.Errorf("fate %q", p.ExitState())
	}
}

func TestNothingStaysBehindWhenTheEngineIsKilled(t *testing.T) {
	for name, stopped := range map[string]string{"a program": "", "a stopped program that ignores signals": "1"} {
		t.Run(name, func(t *testing.T) { nothingStays(t, stopped) })
	}
}

func nothingStays(t *testing.T, stopped string) {
	engine := exec.Command(os.Args[0])
	temp := filepath.Join(t.TempDir(), "with a space")
	if err := errors.Join(os.Mkdir(temp, 0o700), os.WriteFile(filepath.Join(temp, "socket"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	engine.Env = append(os.Environ(), "PROCESS_TEST_ENGINE="+temp, "PROCESS_TEST_STOPPED="+stopped)
	out, err := engine.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	pids := readPids(t, out)
	for _, pid := range pids {
		if !programtest.Alive(pid) {
			t.Errorf("process %d ended by itself", pid)
		}
	}
	engine.Process.Signal(syscall.SIGKILL)
	engine.Wait()
	waitGone(t, pids)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(temp); errors.Is(err, os.ErrNotExist) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the directory is still there")
		}
	}
}

// watched runs an engine with two groups and two files: the watch of one of each ends before the engine waits for its
// own end. It prints the processes of each group, and then that it is ready.
func watched(name string) {
	guard, kept := process.NewWatch(), process.NewWatch()
	guard.File(name)
	kept.File(name + " kept")
	for _, w := range []*process.Watch{guard, kept} {
		cmd := exec.Command("/bin/sh", "-c", stubborn)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		w.Group(cmd.Process.Pid)
	}
	kept.End()
	fmt.Println("ready")
	select {}
}

func TestWatchedGroupsAndFilesEndWithTheEngine(t *testing.T) {
	engine := exec.Command(os.Args[0])
	name := filepath.Join(t.TempDir(), `a 'key' \with "marks`)
	engine.Env = append(os.Environ(), "PROCESS_TEST_ENGINE=1", "PROCESS_TEST_WATCHED="+name)
	if err := errors.Join(os.WriteFile(name, nil, 0o600), os.WriteFile(name+" kept", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	out, err := engine.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	defer engine.Process.Kill()
	lines := bufio.NewReader(out)
	var groups [][]int
	for ready := false; len(groups) < 2 || !ready; { // a group may start more slowly than the engine
		if line, err := lines.ReadString('\n'); line == "ready\n" {
			ready = true
		} else if err != nil {
			t.Fatal(err)
		} else {
			groups = append(groups, readPids(t, strings.NewReader(line)))
		}
	}
	one, two := groups[0], groups[1]
	defer func() {
		for _, pid := range append(one, two...) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	engine.Process.Signal(syscall.SIGKILL)
	engine.Wait()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		gone := 0
		for _, pid := range append(one, two...) {
			if !programtest.Alive(pid) {
				gone++
			}
		}
		if gone == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("of %v and %v, %d are gone", one, two, gone)
		}
	}
	if programtest.Alive(one[0]) != programtest.Alive(one[1]) {
		t.Error("not the processes of one group are gone")
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file that was watched is there: %v", err)
	}
	if _, err := os.Stat(name + " kept"); err != nil {
		t.Error(err)
	}
}

func TestAProgramHasNoStandardInputAndItsEndIsSeen(t *testing.T) {
	p, err := process.Start(process.Spec{Path: "/bin/sh", Args: []string{"-c", "cat; echo $A; echo oops >&2; exit 3"},
		Env: []string{"A=b"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	out, _ := io.ReadAll(p.Stdout())
	errText, _ := io.ReadAll(p.Stderr())
	<-p.Ended()
	if string(out) != "b\n" || string(errText) != "oops\n" || p.ExitState() != "exit status 3" {
		t.Errorf("%q, %q, %q", out, errText, p.ExitState())
	}
}

func TestStreamsEndThoughADaemonHoldsThem(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid, with which this test makes a daemon")
	}
	p, err := process.Start(process.Spec{Path: "/bin/sh", Args: []string{
		"-c", `setsid sh -c 'echo $$; exec sleep 600' & wait`}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	pids := readPids(t, p.Stdout())
	defer syscall.Kill(pids[0], syscall.SIGKILL)
	done := make(chan struct{})
	go func() { io.Copy(io.Discard, p.Stdout()); close(done) }()
	p.Kill()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("reading goes on")
	}
}

func TestFailedStartsAreErrors(t *testing.T) {
	if _, err := process.Start(process.Spec{Path: "/nonexistent/program"}); err == nil {
		t.Error("started")
	}
}
