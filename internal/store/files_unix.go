//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// noFollow keeps a link that came after the look at a name from being followed, and a pipe from being waited for.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// noWait makes it an error that nobody reads from a pipe.
const noWait = syscall.O_NONBLOCK

// share gives a file the owner, the group and the permissions of another. Only the system's administrator can give
// files away; a group can be given by its members. Where the group stays another, it gets no rights.
func share(f *os.File, like Info) error {
	perm := like.Mode.Perm() & 0o666
	want, ok := like.ID.(fs.FileInfo)
	if !ok {
		return chmod(f, perm)
	}
	is, err := f.Stat()
	if err != nil {
		return err
	}
	from, fromOK := want.Sys().(*syscall.Stat_t)
	to, toOK := is.Sys().(*syscall.Stat_t)
	if !fromOK || !toOK {
		return chmod(f, perm)
	}
	if from.Uid != to.Uid && f.Chown(int(from.Uid), int(from.Gid)) == nil {
		return chmod(f, perm|0o600)
	}
	if from.Gid != to.Gid && f.Chown(-1, int(from.Gid)) != nil {
		perm &^= 0o060
	}
	return chmod(f, perm|0o600)
}

// chmod gives a file its permissions. Where the file system has its own idea of them, the file keeps what it was made with,
// which lets nobody else in.
func chmod(f *os.File, perm fs.FileMode) error {
	is, err := f.Stat()
	if err != nil || is.Mode().Perm() == perm {
		return err
	}
	err = f.Chmod(perm)
	for _, no := range []error{syscall.EPERM, syscall.ENOSYS, syscall.EINVAL, syscall.EROFS, syscall.EOPNOTSUPP, syscall.ENOTSUP} {
		if errors.Is(err, no) {
			return nil
		}
	}
	return err
}

// cannotLock reports whether an error says that there are no locks here.
func cannotLock(err error) bool {
	for _, no := range []error{syscall.ENOLCK, syscall.EINVAL, syscall.ENOSYS, syscall.EOPNOTSUPP, syscall.ENOTSUP} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// alive reports whether a process of this machine is there.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// syncDir makes the names in a folder durable. Some file systems cannot sync folders and say so.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
