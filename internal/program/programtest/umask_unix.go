//go:build unix

package programtest

import "syscall"

// UsualUmask sets for this process and what it starts the umask that most people have, for tests that look at
// permissions of files.
func UsualUmask() { syscall.Umask(0o022) }
