//go:build unix

package regular

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// dontWait makes opening a named pipe return immediately. With it, opening a leased regular file fails; see Patient.
const dontWait = syscall.O_NONBLOCK

// leased is the error for opening a file while its lease is being broken. Some systems have a second name for its
// number.
const leased = syscall.EWOULDBLOCK

// leaseBreak returns a little more than the time for which a holder may keep a lease after another process opens the
// file.
func leaseBreak() time.Duration {
	const usual, most, more = 45, 600, 5
	text, err := os.ReadFile("/proc/sys/fs/lease-break-time")
	seconds, notNumber := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || notNumber != nil || seconds <= 0 {
		seconds = usual
	}
	return time.Duration(min(seconds, most)+more) * time.Second
}

// Share sets the owner, the group and the permissions of an open file or folder to those of another file, as far as the
// system allows: only an administrator can change owners, and only members can set a group. If the group differs, it
// gets no permissions. A folder is also searchable for those who may read the other file.
func Share(f *os.File, like os.FileInfo) error {
	perm := like.Mode().Perm() & 0o666
	is, err := f.Stat()
	if err != nil {
		return err
	}
	from, fromOK := like.Sys().(*syscall.Stat_t)
	to, toOK := is.Sys().(*syscall.Stat_t)
	if fromOK && toOK {
		perm |= 0o600
		given := from.Uid != to.Uid && f.Chown(int(from.Uid), int(from.Gid)) == nil
		if !given && from.Gid != to.Gid && f.Chown(-1, int(from.Gid)) != nil {
			perm &^= 0o060
		}
	}
	if is.IsDir() {
		perm |= perm & 0o444 >> 2
	}
	return Permit(f, perm)
}

// Permit sets the permissions of an open file. On file systems without them, the file keeps those of its creation.
func Permit(f *os.File, perm os.FileMode) error {
	is, err := f.Stat()
	if err != nil || is.Mode().Perm() == perm {
		return err
	}
	err = f.Chmod(is.Mode()&(os.ModeSetgid|os.ModeSticky) | perm)
	for _, no := range []error{syscall.EPERM, syscall.ENOSYS, syscall.EINVAL, syscall.EROFS, syscall.EOPNOTSUPP,
		syscall.ENOTSUP} {
		if errors.Is(err, no) {
			return nil
		}
	}
	return err
}
