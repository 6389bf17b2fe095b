package program

import "golang.org/x/sys/unix"

// limitMemory limits the memory of a program that was just started, and of the processes that it starts from now on. A
// program that has already ended needs no limit.
func limitMemory(pid int, bytes uint64) {
	unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}, nil)
}
