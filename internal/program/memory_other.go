//go:build !linux

package program

// limitMemory does nothing: there is no way to bound another process.
func limitMemory(int, uint64) {}
