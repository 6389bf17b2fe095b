//go:build unix

package tombolo

import "syscall"

// narrow makes new files and sockets unreachable for other users, until the function that it returns is called.
func narrow() (restore func()) {
	mask := syscall.Umask(0o177)
	return func() { syscall.Umask(mask) }
}
