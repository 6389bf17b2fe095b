package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A backup that would fail is refused before anything begins, while nothing has been changed.
func TestIrreplaceableBackupsAreFoundBeforeTheFirstIntent(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: only root can make files of others")
	}
	const user = 12345
	for what, c := range map[string]struct {
		plant   func(t *testing.T, dir, backup string) error
		refused bool
	}{
		"nothing there": {func(*testing.T, string, string) error { return nil }, false},
		"a file of the user in a folder for all": {func(_ *testing.T, dir, backup string) error {
			return errors.Join(os.Chmod(dir, 0o777|os.ModeSticky), plantFor(backup, user))
		}, false},
		"a file of another in a folder for all": {func(_ *testing.T, dir, backup string) error {
			return errors.Join(os.Chmod(dir, 0o777|os.ModeSticky), plantFor(backup, user+1))
		}, true},
		"a file of another in one of the user": {func(_ *testing.T, dir, backup string) error {
			return errors.Join(os.Chmod(dir, 0o777|os.ModeSticky), plantFor(backup, user+1), os.Chown(dir, user, user))
		}, false},
		"a file of another in a folder without that rule": {func(_ *testing.T, dir, backup string) error {
			return errors.Join(os.Chmod(dir, 0o777), plantFor(backup, user+1))
		}, false},
		"a file that cannot be changed": {func(t *testing.T, _, backup string) error {
			if err := plantFor(backup, user); err != nil {
				return err
			}
			immutable(t, backup)
			return nil
		}, true},
	} {
		t.Run(what, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "backup")
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(dir) })
			seedOn(t, openDefault(t, dir), put("t.a", "1"))
			must(t, errors.Join(os.Chmod(dir, 0o777), os.Chown(filepath.Join(dir, "terraform.tfstate"), user, user)))
			backup := filepath.Join(dir, "terraform.tfstate.backup")
			must(t, errors.Join(os.RemoveAll(backup), c.plant(t, dir, backup)))
			run := child(t, "begin", dir)
			run.Path = "/proc/self/exe" // the folder of the test binary belongs to root
			run.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
			out, err := run.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			refused := strings.HasPrefix(string(out), "refused: the backup cannot be created at ")
			if refused != c.refused {
				t.Errorf("refused %t, want %t: %s", refused, c.refused, out)
			}
		})
	}
}

func plantFor(name string, owner int) error {
	return errors.Join(os.WriteFile(name, []byte("theirs"), 0o666), os.Chown(name, owner, owner))
}

// immutable makes a file immutable until the test ends.
func immutable(t *testing.T, name string) {
	f, err := os.Open(name)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags|unix.STATX_ATTR_IMMUTABLE)
	}
	if err != nil {
		t.Skipf("needs files that can be made immutable: %s", err)
	}
	t.Cleanup(func() { _ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags) })
}
