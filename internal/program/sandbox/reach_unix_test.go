//go:build unix

package sandbox

import (
	"path/filepath"
	"syscall"
	"testing"

	esys "github.com/tetratelabs/wazero/experimental/sys"
)

func TestAPipeInAFolderDoesNotBlock(t *testing.T) {
	d, base := newFolder(t, true)
	if err := syscall.Mkfifo(filepath.Join(base, "granted", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []esys.Oflag{esys.O_RDONLY, esys.O_WRONLY, esys.O_RDWR} {
		if _, n := d.OpenFile("pipe", flag, 0); n == 0 {
			t.Errorf("a pipe was opened with %b", flag)
		}
	}
}
