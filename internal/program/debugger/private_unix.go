//go:build unix

package debugger

import (
	"io/fs"
	"os"
	"syscall"
)

// private reports whether only this user can connect to a socket.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
