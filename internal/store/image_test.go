package store

import (
	"crypto/sha256"
	"errors"
	"path/filepath"
	"testing"

	"os"

	"github.com/tombolo-iac/tombolo/internal/regular"
)

// A state that is too large to be read again is not written.
func TestStatesBeyondTheLimitAreNotWritten(t *testing.T) {
	f, err := OS{}.Open(filepath.Join(t.TempDir(), "image"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := &imageWriter{f: f, off: regular.State - 1, sum: sha256.New()}
	if _, err := w.Write([]byte("12")); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v", err)
	}
	if info, err := f.Stat(); err != nil || info.Size != 0 {
		t.Errorf("%d bytes were written; %v", info.Size, err)
	}
}
