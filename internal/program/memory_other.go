//go:build !linux

package program

// limitMemory does nothing: another process cannot be limited.
func limitMemory(int, uint64) {}
