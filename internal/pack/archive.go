package pack

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/replace"
)

// date is the modification time of all entries, so that an archive only depends on its content. It is the earliest date
// that zip supports.
var date = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// archive writes the archive for one platform and returns its SHA-256.
func (b *build) archive(ctx context.Context, p part, name string) (a Archive, sum string, err error) {
	host := b.Hosts[p.on]
	info, err := os.Stat(host)
	if err != nil {
		return a, "", err
	}
	entries := append(slices.Clone(p.files), file{name: b.program(p.on), path: host, exec: true, size: info.Size()})
	slices.SortFunc(entries, func(a, b file) int { return strings.Compare(a.name, b.name) })
	digest := sha256.New()
	var size counter
	err = replace.File(name, 0o666, func(w io.Writer) error {
		return zipTo(ctx, io.MultiWriter(w, digest, &size), entries)
	})
	if err != nil {
		return a, "", err
	}
	return Archive{Platform: p.on, Path: name, Size: int64(size), Files: len(entries)},
		fmt.Sprintf("%x", digest.Sum(nil)), nil
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// zipTo writes an archive that contains only files: with entries for folders, its hash would differ from the hash of
// its unpacked content.
func zipTo(ctx context.Context, w io.Writer, entries []file) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.DefaultCompression)
	})
	for _, f := range entries {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: date}
		mode := fs.FileMode(filePerm)
		if f.exec {
			mode = 0o755
		}
		h.SetMode(mode)
		out, err := z.CreateHeader(h)
		if err == nil {
			err = f.copyTo(stoppable{ctx, out})
		}
		if err != nil {
			return fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	return z.Close()
}

// stoppable is a writer that fails when a context has ended.
type stoppable struct {
	ctx context.Context
	io.Writer
}

func (s stoppable) Write(b []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.Writer.Write(b)
}

func (f file) copyTo(w io.Writer) error {
	if f.path == "" {
		_, err := w.Write(f.text)
		return err
	}
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return err
}

func putText(name string, text []byte) error {
	return replace.File(name, 0o666, func(w io.Writer) error { _, err := w.Write(text); return err })
}

func sumOf(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// listOf returns checksums in the format of sha256sum.
func listOf(sums map[string]string) []byte {
	var out bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&out, "%s  %s\n", sums[name], name)
	}
	return out.Bytes()
}
