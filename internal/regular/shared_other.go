//go:build !windows

package regular

import "os"

// Shared opens a file as os.OpenFile does. While it is open, it can be renamed, replaced and removed, as any file on
// this system.
func Shared(name string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}
