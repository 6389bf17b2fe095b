//go:build !linux && !darwin && !windows

package replace

// boot returns "", because this system does not report it: both the lock and the age of a folder count.
func boot() string { return "" }
