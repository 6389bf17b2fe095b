//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// noFollow prevents opening a link that was created after the check of a name, and waiting for a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// noWait makes opening a pipe without a reader an error.
const noWait = syscall.O_NONBLOCK

// cannotLock reports whether an error means that the file system does not support locks.
func cannotLock(err error) bool {
	for _, no := range []error{syscall.ENOLCK, syscall.EINVAL, syscall.ENOSYS, syscall.EOPNOTSUPP, syscall.ENOTSUP} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// sticky returns the error for replacing or removing a file in a folder such as /tmp, where only the owner of the file
// or of the folder may do so. It returns nil for other folders and for missing files.
func sticky(name string, user int, ownsAll bool) error {
	dir, err := os.Stat(filepath.Dir(name))
	if err != nil || dir.Mode()&fs.ModeSticky == 0 || ownsAll {
		return err
	}
	file, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, info := range []fs.FileInfo{file, dir} {
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) == user {
			return nil
		}
	}
	return &fs.PathError{Op: "replace", Path: name,
		Err: errors.New("only the owner of the file may replace or remove it in this folder")}
}

// Foreign reports whether another user may have created a file in a folder, such as the one for temporary files, where
// every user can create files under any name.
func Foreign(folder string, file Info) bool {
	dir, err := os.Stat(folder)
	of, ok := file.ID.(fs.FileInfo)
	if err != nil || !ok {
		return false
	}
	st, ok := of.Sys().(*syscall.Stat_t)
	return ok && dir.Mode().Perm()&0o002 != 0 && int(st.Uid) != os.Geteuid()
}

// alive reports whether a process exists on this machine.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// syncDir makes the names in a folder durable. Errors of file systems that cannot sync folders are ignored.
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
