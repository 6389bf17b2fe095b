//go:build unix

package credentials_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Processes that a helper leaves in the background are killed when it ends, whether they have its outputs open or not.
func TestProcessesOfHelpersAreKilled(t *testing.T) {
	for what, outputs := range map[string]string{"with its outputs": "", "without outputs": " >/dev/null 2>&1"} {
		t.Run(what, func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Skip("needs pipes: ", err)
			}
			// The process at the other end of the pipe is running.
			f, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			s := helper(t, "exec 9>'"+pipe+"'; echo begun >&9; sleep 300"+outputs+" & echo '{\"token\": \"helped\"}'")
			if got := token(t, s, "example.com"); got != "helped" {
				t.Errorf("got %q", got)
			}
			if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Skip("needs a pipe that can be waited for: ", err)
			}
			if text, err := io.ReadAll(f); err != nil || string(text) != "begun\n" {
				t.Errorf("read %q and %v: something is left", text, err)
			}
		})
	}
}
