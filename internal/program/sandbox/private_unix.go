//go:build unix && !without_modules

package sandbox

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblock is the flag with which opening a pipe does not wait for its other end.
const nonblock = syscall.O_NONBLOCK

// private reports whether only this user can write to a folder.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
