package packages

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// What an archive may hold: far more than any provider has, far less than fills a disk.
const (
	maxFiles   = 20_000
	maxBytes   = 4 << 30
	maxNesting = 32
)

// unpack extracts an archive into a new directory. Only regular files and directories are accepted, under plain relative names: an archive
// that wants to write elsewhere, or to make links or devices, is hostile. After an error the directory is gone.
func unpack(archive, dir string) (err error) {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("read the archive %s: %w", archive, err)
	}
	defer r.Close()
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("unpack %s: %w", archive, err), os.RemoveAll(dir))
		}
	}()
	if err := checkArchive(&r.Reader); err != nil {
		return err
	}
	left := int64(maxBytes)
	for _, f := range r.File {
		n, err := extract(f, dir, left)
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// checkArchive refuses an archive for what it claims to hold, before any of it is read.
func checkArchive(r *zip.Reader) error {
	if len(r.File) > maxFiles {
		return fmt.Errorf("it has %d entries, more than %d", len(r.File), maxFiles)
	}
	var size uint64
	for _, f := range r.File {
		if err := checkEntry(f); err != nil {
			return err
		}
		// The reader gives no more of an entry than it claims; none alone can make the sum overflow.
		if size += min(f.UncompressedSize64, maxBytes+1); size > maxBytes {
			return fmt.Errorf("it holds more than %d bytes", int64(maxBytes))
		}
	}
	return nil
}

func checkEntry(f *zip.File) error {
	name := strings.TrimSuffix(f.Name, "/")
	switch {
	case !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\\\x00:"):
		return fmt.Errorf("the entry %q has a name that could leave the folder", f.Name)
	case strings.Count(name, "/") > maxNesting:
		return fmt.Errorf("the entry %.100q… lies more than %d folders deep", f.Name, maxNesting)
	case !f.Mode().IsRegular() && !f.Mode().IsDir():
		return fmt.Errorf("the entry %q is neither a file nor a folder but a %s", f.Name, f.Mode().Type())
	case f.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
		return fmt.Errorf("the entry %q has special permissions (%s)", f.Name, f.Mode())
	}
	return nil
}

// extract writes one entry and gives how many bytes it has. limit is counted on what comes out, not on what the archive claims.
func extract(f *zip.File, dir string, limit int64) (int64, error) {
	path := filepath.Join(dir, filepath.FromSlash(f.Name))
	if f.Mode().IsDir() {
		return 0, os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return 0, err
	}
	in, err := f.Open()
	if err != nil {
		return 0, fmt.Errorf("%q: %w", f.Name, err)
	}
	defer in.Close()
	// The same name twice fails: which of the two is meant would depend on who reads.
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.Mode().Perm()&0o755|0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, limit+1))
	if err := errors.Join(err, out.Close()); err != nil {
		return n, fmt.Errorf("%q: %w", f.Name, err)
	}
	if n > limit {
		return n, fmt.Errorf("it holds more than %d bytes", int64(maxBytes))
	}
	return n, nil
}
