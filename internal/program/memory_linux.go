package program

import "golang.org/x/sys/unix"

// limitMemory bounds what a program that has just been started may allocate, and what those may that it starts from now
// on. A program that has already ended needs no bound.
func limitMemory(pid int, bytes uint64) {
	unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}, nil)
}
