//go:build unix

package store

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes the names in a folder durable. Some file systems cannot sync folders and say so.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
