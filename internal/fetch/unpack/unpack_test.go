package unpack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/fetch/unpack"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

var limits = unpack.Limits{Files: 50, Bytes: 1 << 16}

type entry struct {
	header  tar.Header
	content string
}

func file(name, content string) entry {
	return entry{tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg}, content}
}

func tarGz(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, e := range entries {
		e.header.Size = int64(len(e.content))
		if e.header.Typeflag == tar.TypeXGlobalHeader {
			e.header = tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "abc"}}
		}
		err := w.WriteHeader(&e.header)
		if err == nil {
			_, err = w.Write([]byte(e.content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// tree lists everything below a directory, with contents and permissions.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(name)] = info.Mode().String()
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			out[filepath.ToSlash(name)] += " " + string(content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestATarArchiveBecomesAFolder(t *testing.T) {
	programtest.UsualUmask()
	dir := filepath.Join(t.TempDir(), "out")
	archive := tarGz(t,
		entry{header: tar.Header{Typeflag: tar.TypeXGlobalHeader}},
		entry{header: tar.Header{Name: "./", Mode: 0o777, Typeflag: tar.TypeDir}},
		file("./a.tf", "a"), file("b/c/d.tf", "d"),
		entry{tar.Header{Name: "run.sh", Mode: 0o777, Typeflag: tar.TypeReg}, "#!"},
		entry{header: tar.Header{Name: "empty/", Mode: 0o700, Typeflag: tar.TypeDir}})
	if err := unpack.TarGz(context.Background(), "x.tar.gz", bytes.NewReader(archive), dir, limits); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a.tf": "-rw-r--r-- a", "b": "drwxr-xr-x", "b/c": "drwxr-xr-x", "b/c/d.tf": "-rw-r--r-- d", "run.sh": "-rwxr-xr-x #!", "empty": "drwxr-xr-x"}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestHostileTarArchivesAreRefusedAndLeaveNothing(t *testing.T) {
	link := func(kind byte, name, to string) entry {
		return entry{header: tar.Header{Name: name, Linkname: to, Typeflag: kind, Mode: 0o777}}
	}
	many := make([]entry, limits.Files+1)
	for i := range many {
		many[i] = file(fmt.Sprint("f", i), "")
	}
	remarks := make([]entry, 2500) // which are no entries, so that nothing counts them
	for i := range remarks {
		remarks[i] = entry{header: tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": strings.Repeat("x", 1000)}}}
	}
	for name, c := range map[string]struct {
		entries []entry
		want    string
	}{
		"parent":           {[]entry{file("../evil", "x")}, "could leave"},
		"inner parent":     {[]entry{file("a/../b", "x")}, "could leave"},
		"absolute":         {[]entry{file("/tmp/evil", "x")}, "could leave"},
		"backslash":        {[]entry{file(`..\evil`, "x")}, "could leave"},
		"symbolic link":    {[]entry{link(tar.TypeSymlink, "l", "/etc"), file("l/passwd", "x")}, "symbolic link"},
		"hard link":        {[]entry{file("a", "x"), link(tar.TypeLink, "l", "a")}, "link to another entry"},
		"character device": {[]entry{link(tar.TypeChar, "dev", "")}, "device"},
		"block device":     {[]entry{link(tar.TypeBlock, "dev", "")}, "device"},
		"pipe":             {[]entry{link(tar.TypeFifo, "pipe", "")}, "pipe"},
		"setuid":           {[]entry{{tar.Header{Name: "su", Mode: 0o4755, Typeflag: tar.TypeReg}, "x"}}, "special permissions"},
		"setgid":           {[]entry{{tar.Header{Name: "su", Mode: 0o2755, Typeflag: tar.TypeReg}, "x"}}, "special permissions"},
		"twice":            {[]entry{file("a", "1"), file("./a", "2")}, "is there twice"},
		"too deep":         {[]entry{file(strings.Repeat("d/", 100)+"x", "x")}, "folders deep"},
		"too many":         {many, "more than 50 entries"},
		"remarks":          {remarks, "more than 65536 bytes"},
		"bomb":             {[]entry{file("a", strings.Repeat("0", 1<<15)), file("b", strings.Repeat("0", 1<<15+1))}, "more than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			err := unpack.TarGz(context.Background(), "x.tar.gz", bytes.NewReader(tarGz(t, c.entries...)), filepath.Join(parent, "out"), limits)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "x.tar.gz") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if left := tree(t, parent); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// The directory of a zip archive is in memory before it can be judged, so that its size alone has to stop the reading.
func TestAZipArchiveWithAHugeDirectoryIsNotRead(t *testing.T) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i := range 100 {
		if _, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i), Comment: strings.Repeat("x", 1<<15)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	archive := filepath.Join(parent, "in")
	if err := os.WriteFile(archive, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{unpack.Zip(context.Background(), archive, "x.zip", filepath.Join(parent, "out"), limits), unpack.CheckZip(archive, limits)} {
		if err == nil || !strings.Contains(err.Error(), "more than 50 entries") {
			t.Errorf("got %v", err)
		}
	}
}

func TestACutArchiveLeavesNothing(t *testing.T) {
	whole := tarGz(t, file("a", strings.Repeat("abc", 1000)), file("b", "b"))
	for n := 0; n < len(whole); n += 7 {
		parent := t.TempDir()
		if err := unpack.TarGz(context.Background(), "x", bytes.NewReader(whole[:n]), filepath.Join(parent, "out"), limits); err == nil {
			t.Fatalf("%d of %d bytes were accepted", n, len(whole))
		}
		if left := tree(t, parent); len(left) > 0 {
			t.Fatalf("left behind: %v", left)
		}
	}
}

// stays checks that nothing was written beside the folder, and nothing but files and folders into it.
func stays(t *testing.T, parent string, err error) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		if e.Name() != "out" && e.Name() != "in" || err != nil && e.Name() == "out" {
			t.Errorf("after %v there is %s", err, e.Name())
		}
	}
	for name, text := range tree(t, parent) {
		if text[0] != '-' && text[0] != 'd' {
			t.Errorf("%s is %s", name, text)
		}
	}
}

func FuzzTar(f *testing.F) {
	var plain bytes.Buffer
	z, _ := gzip.NewReader(bytes.NewReader(tarGz(f, file("a/b", "x"), entry{header: tar.Header{Name: "l", Linkname: "..", Typeflag: tar.TypeSymlink}})))
	plain.ReadFrom(z)
	f.Add(plain.Bytes())
	f.Fuzz(func(t *testing.T, content []byte) {
		parent := t.TempDir()
		stays(t, parent, unpack.Tar(context.Background(), "x", bytes.NewReader(content), filepath.Join(parent, "out"), limits))
	})
}

func FuzzZip(f *testing.F) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	w, _ := z.Create("../a/b")
	w.Write([]byte("x"))
	z.Close()
	f.Add(buf.Bytes())
	f.Fuzz(func(t *testing.T, content []byte) {
		parent := t.TempDir()
		archive := filepath.Join(parent, "in")
		if err := os.WriteFile(archive, content, 0o600); err != nil {
			t.Fatal(err)
		}
		stays(t, parent, unpack.Zip(context.Background(), archive, "x.zip", filepath.Join(parent, "out"), limits))
	})
}
