package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	tmpfs = 0x01021994
	ramfs = 0x858458f6
)

// memoryFolder returns a folder of this user in the memory of the machine, or "" if there is none.
func memoryFolder() string {
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"),
		filepath.Join("/dev/shm", "tombolo-"+strconv.Itoa(os.Getuid()))} {
		if dir == "" || !filepath.IsAbs(dir) || !inMemory(filepath.Dir(dir)) && !inMemory(dir) {
			continue
		}
		_ = os.Mkdir(dir, 0o700) // what stands there is looked at below
		if private(dir) == nil && inMemory(dir) {
			return dir
		}
	}
	return ""
}

func inMemory(dir string) bool {
	var fs syscall.Statfs_t
	err := syscall.Statfs(dir, &fs)
	return err == nil && (uint64(fs.Type) == tmpfs || uint64(fs.Type) == ramfs)
}

// private ensures that a folder is this user's, and closed to others.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	of, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(of.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a folder of this user alone", dir)
	}
	return nil
}
