//go:build !linux && !darwin && !windows

package store

// began is not known here: a process is known by its number alone.
func began(int) string { return "" }
