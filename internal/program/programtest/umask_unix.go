//go:build unix

package programtest

import "syscall"

// UsualUmask sets the most common umask for this process and its children, for tests that check permissions of files.
func UsualUmask() { syscall.Umask(0o022) }
