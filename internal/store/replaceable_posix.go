//go:build unix && !linux

package store

import "os"

// replaceable returns why a rename cannot replace a file: its folder lets only owners do that.
func replaceable(name string) error { return sticky(name, os.Geteuid(), os.Geteuid() == 0) }
