//go:build !linux && !darwin && !windows

package store

// processStart returns "", because this system does not report the time. A process is only identified by its ID.
func processStart(int) string { return "" }
