package main

import (
	"compress/flate"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/internal/pack"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

// hostLimits are the most bytes that the host for a kind of provider may have in a package, which is compressed.
var hostLimits = map[manifest.Kind]int64{manifest.Program: 4_600_000, manifest.Module: 5_600_000,
	manifest.Requests: 5_900_000}

// checkHosts prints the sizes of the hosts in packages of providers, and returns an error if one is above its limit.
func checkHosts(ctx context.Context, dir string, out io.Writer) error {
	fmt.Fprint(out, "\n| host of packages | MB | MB in the archive |\n|---|---:|---:|\n")
	for _, kind := range manifest.Kinds() {
		file := filepath.Join(dir, "host")
		args := append([]string{"build", "-o", file}, pack.HostFlags(kind)...)
		if text, err := goForLinux(ctx, append(args, "./cmd/tombolo-host")...).CombinedOutput(); err != nil {
			return fmt.Errorf("build the host for %s: %w: %s", kind, err, text)
		}
		size, packed, err := deflated(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s | %s | %s |\n", kind, decimalMB(size), decimalMB(packed))
		if packed > hostLimits[kind] {
			return fmt.Errorf("the host for %s has %d bytes in an archive, at most %d are promised: look for what it "+
				"imports since then with \"go list -deps -tags=... ./cmd/tombolo-host\"", kind, packed,
				hostLimits[kind])
		}
	}
	return nil
}

// deflated returns the size of a file, and its size in an archive.
func deflated(name string) (size, packed int64, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, 0, err
	}
	var n written
	w, err := flate.NewWriter(&n, flate.DefaultCompression)
	if err != nil {
		return 0, 0, err
	}
	if _, err := w.Write(text); err != nil {
		return 0, 0, err
	}
	err = w.Close()
	return int64(len(text)), int64(n), err
}

// written counts the bytes that are written.
type written int64

// Write implements io.Writer.
func (n *written) Write(b []byte) (int, error) {
	*n += written(len(b))
	return len(b), nil
}
