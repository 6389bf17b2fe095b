//go:build !linux

package store

// memoryFolder returns a folder of this user in the memory of the machine, or "" if there is none.
func memoryFolder() string { return "" }
