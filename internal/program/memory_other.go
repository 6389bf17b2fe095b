//go:build !linux

package program

// limitMemory does nothing: on this system, the memory of another process cannot be limited.
func limitMemory(int, uint64) {}
