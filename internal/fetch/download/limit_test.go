package download

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/fetch/unpack"
)

// The limit of entries can be reached, and is checked where entries are written: a package with that many entries is
// unpacked, and one with one more leaves nothing. With TOMBOLO_FETCH_FULL the files are written; without it only the
// check runs.
func TestPackagesHaveALimitOfEntries(t *testing.T) {
	whole := os.Getenv("TOMBOLO_FETCH_FULL") != "" // writes and removes 200 000 files, which takes a minute
	dir := t.TempDir()
	for _, entries := range []int{standard.Files, standard.Files + 1} {
		archive := filepath.Join(dir, "zip")
		if err := os.WriteFile(archive, zipOf(t, entries), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unpack.CheckZip(archive, standard); !refused(err, entries) {
			t.Errorf("a zip archive of %d entries: %v", entries, err)
		}
		if !whole {
			continue
		}
		out := filepath.Join(dir, fmt.Sprint(entries))
		err := unpack.TarGz(t.Context(), "x", bytes.NewReader(tarOf(t, entries)), out, standard)
		if !refused(err, entries) {
			t.Errorf("a tar archive of %d entries: %v", entries, err)
		}
		if left, _ := os.ReadDir(out); (len(left) > 0) != (err == nil) {
			t.Errorf("of %d entries %d are there after %v", entries, len(left), err)
		}
	}
}

func refused(err error, entries int) bool {
	if entries <= standard.Files {
		return err == nil
	}
	return err != nil && strings.Contains(err.Error(), "more than 100000 entries")
}

func tarOf(t *testing.T, entries int) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for i := range entries - 100 {
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%d/%d.tf", i%100, i), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func zipOf(t *testing.T, entries int) []byte {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := range entries - 100 {
		if _, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%d/%d.tf", i%100, i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
