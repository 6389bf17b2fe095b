package programtest

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// patience is long enough for loaded machines. A test that takes longer hangs.
const patience = 5 * time.Minute

// Bounded returns a command for an external program, or for one that may hang. It is killed when the test ends, at the
// latest after some minutes and, if the system supports that, when the process of the test ends in any way.
func Bounded(t testing.TB, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = 5 * time.Second
	Tie(cmd)
	return cmd
}

// Ends waits at most a minute for the end of a process that is not a child, and reports whether it has ended.
func Ends(pid int) bool {
	for begun := time.Now(); Alive(pid); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			return false
		}
	}
	return true
}
