//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// noFollow keeps a link that came after the look at a name from being followed, and a pipe from being waited for.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// noWait makes opening a pipe without a reader an error.
const noWait = syscall.O_NONBLOCK

// cannotLock reports whether an error means that the file system has no locks.
func cannotLock(err error) bool {
	for _, no := range []error{syscall.ENOLCK, syscall.EINVAL, syscall.ENOSYS, syscall.EOPNOTSUPP, syscall.ENOTSUP} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// sticky is the error of a folder, such as /tmp, in which only the owner of a file, or that of the folder, may remove
// or replace it; nil for other folders, and where the file is missing.
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

// Foreign reports whether a file may have been put into a folder by another user, such as into the one for temporary
// files, where everybody can make files under any name.
func Foreign(folder string, file Info) bool {
	dir, err := os.Stat(folder)
	of, ok := file.ID.(fs.FileInfo)
	if err != nil || !ok {
		return false
	}
	st, ok := of.Sys().(*syscall.Stat_t)
	return ok && dir.Mode().Perm()&0o002 != 0 && int(st.Uid) != os.Geteuid()
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
