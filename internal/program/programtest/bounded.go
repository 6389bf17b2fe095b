package programtest

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// patience is long for loaded machines. What takes longer is in a loop.
const patience = 5 * time.Minute

// Bounded is a command of a program that is not ours, or that may hang: it is killed with the test, after some minutes
// at the latest, and, where the system can do that, with the process of the test, whichever way that ends.
func Bounded(t testing.TB, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = 5 * time.Second
	Tie(cmd)
	return cmd
}

// Ends waits at most a minute for the end of a process that is not our child, and reports whether it has ended.
func Ends(pid int) bool {
	for begun := time.Now(); Alive(pid); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			return false
		}
	}
	return true
}
