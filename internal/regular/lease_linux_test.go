package regular_test

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tombolo-iac/tombolo/internal/regular"
)

// lease takes a lease on a new file, as file servers do for their clients, and releases it when the system asks for
// that.
func lease(t *testing.T, name string) (called <-chan struct{}) {
	t.Helper()
	if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	wanted, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(wanted, syscall.SIGIO)
	t.Cleanup(func() { signal.Stop(wanted) })
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skipf("needs leases of files: %s", err)
	}
	go func() {
		select {
		case <-wanted:
			_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
			close(done)
		case <-t.Context().Done():
		}
	}()
	return done
}

func TestTheEndOfALeaseIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for what, read := range map[string]func() ([]byte, error){
		"Read":   func() ([]byte, error) { return regular.Read(filepath.Join(dir, "Read"), 100) },
		"ReadIn": func() ([]byte, error) { return regular.ReadIn(root, "ReadIn", 100) },
	} {
		t.Run(what, func(t *testing.T) {
			called := lease(t, filepath.Join(dir, what))
			if text, err := read(); err != nil || string(text) != "text" {
				t.Errorf("returns %q and %v", text, err)
			}
			select {
			case <-called:
			default:
				t.Error("the file was read while it was leased")
			}
		})
	}
}

// Other errors are returned immediately.
func TestOnlyLeasesAreWaitedFor(t *testing.T) {
	calls, no := 0, errors.New("no")
	if _, err := regular.Patient(func() (*os.File, error) { calls++; return nil, no }); !errors.Is(err, no) ||
		calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
