package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// replaceable returns the reason why a rename cannot replace a file, as far as the system can report it in advance:
// only owners may do that in the folder, the file is immutable, or it is a mount point, such as a file mounted into a
// container.
func replaceable(name string) error {
	fail := func(err error) error { return &fs.PathError{Op: "replace", Path: name, Err: err} }
	var st unix.Statx_t
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_STATX_SYNC_AS_STAT
	if err := unix.Statx(unix.AT_FDCWD, name, flags, unix.STATX_BASIC_STATS, &st); err == nil {
		has := func(attribute uint64) bool { return st.Attributes_mask&attribute != 0 && st.Attributes&attribute != 0 }
		switch {
		case has(unix.STATX_ATTR_MOUNT_ROOT):
			return fail(syscall.EBUSY)
		case has(unix.STATX_ATTR_IMMUTABLE), has(unix.STATX_ATTR_APPEND):
			return fail(syscall.EPERM)
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return sticky(name, os.Geteuid(), ownsAll())
}

// ownsAll reports whether this process counts as the owner of all files.
func ownsAll() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return os.Geteuid() == 0
	}
	return sets[unix.CAP_FOWNER/32].Effective&(1<<(unix.CAP_FOWNER%32)) != 0
}
