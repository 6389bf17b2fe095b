package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/faults"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// TestMain runs the test binary as a child process of a test if its environment says so.
func TestMain(m *testing.M) {
	switch os.Getenv("TOMBOLO_TEST_CHILD") {
	case "apply":
		childApply()
	case "lock":
		childLock()
	case "begin":
		childBegin()
	default:
		os.Exit(m.Run())
	}
}

func child(t *testing.T, what, dir string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "TOMBOLO_TEST_CHILD="+what), env...)
	return cmd
}

// childBegin prints the result of an intent.
func childBegin() {
	s, err := childStore().Lock(ctx, state.LockRequest{})
	if err != nil {
		panic(err)
	}
	j, err := s.Begin(ctx, state.RunInfo{ID: "r"})
	if err != nil {
		panic(err)
	}
	if err := j.Intent(storetest.Create("1", "t.b")); err != nil {
		fmt.Println("refused:", err)
	} else {
		fmt.Println("begun")
	}
	_ = j.Close(ctx)
	_ = s.Unlock()
}

func childStore() state.Workspace {
	files, err := faults.FromEnv(os.Getenv("TOMBOLO_FAULT"), store.OS{})
	if err != nil {
		panic(err)
	}
	ws, err := store.New(store.Options{Files: files}).Workspace("default")
	if err != nil {
		panic(err)
	}
	return ws
}

// childApply creates objects in a world, ten at a time. The world's ledger is written before the response returns, as
// in reality.
func childApply() {
	s, err := childStore().Lock(ctx, state.LockRequest{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	run := fmt.Sprint(os.Getpid())
	j, err := s.Begin(ctx, state.RunInfo{ID: run})
	if err != nil {
		panic(err)
	}
	ledger, err := os.OpenFile("ledger", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	for w := range 10 {
		wg.Go(func() {
			for n := range 30 {
				op := fmt.Sprintf("%d-%d", w, n)
				at := fmt.Sprintf("t.r%s_%s", run, strings.ReplaceAll(op, "-", "_"))
				if j.Intent(storetest.Create(op, at)) != nil {
					return
				}
				fmt.Fprintf(ledger, "%s %s/%s\n", at, run, op)
				if j.Result(op, storetest.Put(at, run+"/"+op, strings.Repeat("x", 500))) != nil {
					return
				}
				if n == 15 && w == 0 {
					j.Checkpoint(ctx)
				}
			}
		})
	}
	wg.Wait()
	err = errors.Join(j.Close(ctx), s.Unlock())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func childLock() {
	s, err := childStore().Lock(ctx, state.LockRequest{})
	var locked *state.LockedError
	switch {
	case errors.As(err, &locked):
		fmt.Println("locked")
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Println("free")
		s.Unlock()
	}
	os.Exit(0)
}

// known checks that every entry of the ledger is exactly once in the state or in flight. It returns the numbers of
// both.
func known(t *testing.T, dir string, snapshot *state.Snapshot) (stored, flying int) {
	t.Helper()
	ids := storetest.IDs(snapshot.State)
	var tokens []string
	for _, f := range snapshot.InFlight {
		tokens = append(tokens, f.Token())
	}
	ledger, err := os.ReadFile(filepath.Join(dir, "ledger"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	lines := bytes.Fields(ledger)
	for i := 0; i+1 < len(lines); i += 2 {
		at, token := string(lines[i]), string(lines[i+1])
		_, inState := slices.BinarySearch(ids, at+"="+token)
		if inFlight := slices.Contains(tokens, token); inState == inFlight {
			t.Errorf("%s (%s): in the state %v, in flight %v", at, token, inState, inFlight)
		}
	}
	return len(ids), len(tokens)
}

func TestKilledProcessesLoseNothing(t *testing.T) {
	kills := 12
	switch {
	case testing.Short():
		kills = 3
	case os.Getenv("TOMBOLO_CRASH_FULL") != "":
		kills = 200
	}
	dir := t.TempDir()
	ws := openDefault(t, dir)
	objects, flying := 0, 0
	for n := range kills {
		cmd := child(t, "apply", dir)
		if n%2 == 1 { // at a random call instead of a random time
			cmd = child(t, "apply", dir, fmt.Sprintf("TOMBOLO_FAULT=kill:%d", 20+rand.IntN(500)))
		}
		must(t, cmd.Start())
		if n%2 == 0 {
			time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
			cmd.Process.Kill()
		}
		cmd.Wait()
		before, err := ws.Read(ctx)
		must(t, err)
		known(t, dir, before)
		s := lockOn(t, ws)
		after := s.Snapshot()
		objects, flying = known(t, dir, after)
		if !before.State.SameContent(after.State) {
			t.Error("the recovery found something other than the reader")
		}
		must(t, s.Unlock())
	}
	t.Logf("%d kills, %d objects, %d in flight", kills, objects, flying)
}

func TestReadingDoesNotReleaseTheLock(t *testing.T) {
	dir := t.TempDir()
	ws := openDefault(t, dir)
	s := lockOn(t, ws)
	_, err := openDefault(t, dir).Read(ctx)
	must(t, err)
	_, err = openDefault(t, dir).Lock(ctx, state.LockRequest{})
	if err == nil {
		t.Error("the same process got the lock twice")
	}
	out, err := child(t, "lock", dir).Output()
	must(t, err)
	if string(out) != "locked\n" {
		t.Errorf("another process: %s", out)
	}
	must(t, s.Unlock())
	if out, err = child(t, "lock", dir).Output(); string(out) != "free\n" {
		t.Errorf("after the end: %s, %v", out, err)
	}
}
