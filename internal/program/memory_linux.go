package program

import "golang.org/x/sys/unix"

// limitMemory limits the memory of a program that has just been started, and of those that it starts from now on. A
// program that has already ended needs no limit.
func limitMemory(pid int, bytes uint64) {
	unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}, nil)
}
