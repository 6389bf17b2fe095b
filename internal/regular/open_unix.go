//go:build unix

package regular

import "syscall"

// dontWait makes opening a named pipe return at once. It means nothing for a regular file.
const dontWait = syscall.O_NONBLOCK
