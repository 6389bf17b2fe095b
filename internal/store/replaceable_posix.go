//go:build unix && !linux

package store

import "os"

// replaceable returns the reason why a rename cannot replace a file: only owners may do that in its folder.
func replaceable(name string) error { return sticky(name, os.Geteuid(), os.Geteuid() == 0) }
