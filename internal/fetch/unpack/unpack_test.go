package unpack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
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
	want := map[string]string{"a.tf": "-rw-r--r-- a", "b": "drwxr-xr-x", "b/c": "drwxr-xr-x",
		"b/c/d.tf": "-rw-r--r-- d", "run.sh": "-rwxr-xr-x #!", "empty": "drwxr-xr-x"}
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
	remarks := make([]entry, 2500) // not entries, so they are not counted
	for i := range remarks {
		remarks[i] = entry{header: tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{
			"comment": strings.Repeat("x", 1000)}}}
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
		"setuid": {[]entry{{tar.Header{Name: "su", Mode: 0o4755, Typeflag: tar.TypeReg}, "x"}},
			"special permissions"},
		"setgid": {[]entry{{tar.Header{Name: "su", Mode: 0o2755, Typeflag: tar.TypeReg}, "x"}},
			"special permissions"},
		"twice":     {[]entry{file("a", "1"), file("./a", "2")}, "appears twice"},
		"long name": {[]entry{file(strings.Repeat("n", 300), "x")}, `the entry "nnn`},
		"too deep":  {[]entry{file(strings.Repeat("d/", 100)+"x", "x")}, "folders deep"},
		"too many":  {many, "more than 50 entries"},
		"remarks":   {remarks, "more than 65536 bytes"},
		"bomb": {[]entry{file("a", strings.Repeat("0", 1<<15)), file("b", strings.Repeat("0", 1<<15+1))},
			"more than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			err := unpack.TarGz(context.Background(), "x.tar.gz", bytes.NewReader(tarGz(t, c.entries...)),
				filepath.Join(parent, "out"), limits)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "x.tar.gz") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if left := tree(t, parent); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// The directory of a zip archive is in memory before it can be checked, so its size must be limited.
func TestAZipArchiveWithAHugeDirectoryIsNotRead(t *testing.T) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i := range 100 {
		if _, err := w.CreateHeader(&zip.FileHeader{
			Name: fmt.Sprint(i), Comment: strings.Repeat("x", 1<<15)}); err != nil {
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
	for _, err := range []error{unpack.Zip(context.Background(), archive, "x.zip", filepath.Join(parent, "out"),
		limits), unpack.CheckZip(archive, limits)} {
		if err == nil || !strings.Contains(err.Error(), "more than 50 entries") {
			t.Errorf("got %v", err)
		}
	}
}

func TestTruncatedArchivesLeaveNothing(t *testing.T) {
	whole := tarGz(t, file("a", strings.Repeat("abc", 1000)), file("b", "b"))
	for n := 0; n < len(whole); n += 7 {
		parent := t.TempDir()
		if err := unpack.TarGz(context.Background(), "x", bytes.NewReader(whole[:n]), filepath.Join(parent, "out"),
			limits); err == nil {
			t.Fatalf("%d of %d bytes were accepted", n, len(whole))
		}
		if left := tree(t, parent); len(left) > 0 {
			t.Fatalf("left behind: %v", left)
		}
	}
}

// stays checks that nothing was written beside the folder, that it contains only files and folders within the limits,
// which no other user may write, and that links are only created if they are allowed and stay in the folder.
func stays(t *testing.T, parent string, links bool, err error) {
	out, entries, size := filepath.Join(parent, "out"), 0, int64(0)
	walkErr := filepath.WalkDir(out, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == out {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		entries++
		switch mode := info.Mode(); {
		case mode.IsRegular():
			size += info.Size()
			fallthrough
		case mode.IsDir():
			if mode&^(fs.ModeDir|0o755) != 0 {
				t.Errorf("%s has the mode %s", name, mode)
			}
		case links && mode&fs.ModeSymlink != 0:
			real, err := filepath.EvalSymlinks(name)
			if rel, relErr := filepath.Rel(out, real); err == nil && (relErr != nil || !filepath.IsLocal(rel)) {
				t.Errorf("%s leads to %s", name, real)
			}
		default:
			t.Errorf("%s is %s", name, mode)
		}
		return nil
	})
	if walkErr != nil || entries > limits.Files || size > limits.Bytes {
		t.Errorf("%d entries, %d bytes: %v", entries, size, walkErr)
	}
	left(t, parent, err)
}

func left(t *testing.T, parent string, err error) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		if e.Name() != "out" && e.Name() != "in" || err != nil && e.Name() == "out" {
			t.Errorf("after %v there is %s", err, e.Name())
		}
	}
}

// Folders need no entries of their own, and cost as much as files.
func TestImpliedFoldersCount(t *testing.T) {
	var entries []entry
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := range 10 {
		name := fmt.Sprintf("%d/1/2/3/4/5/6/7/8/9/x", i)
		entries = append(entries, file(name, "x"))
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte("x"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	archive := filepath.Join(parent, "in")
	if err := os.WriteFile(archive, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		unpack.TarGz(t.Context(), "x", bytes.NewReader(tarGz(t, entries...)), filepath.Join(parent, "out"), limits),
		unpack.Zip(t.Context(), archive, "x", filepath.Join(parent, "out"), limits), unpack.CheckZip(archive, limits),
	} {
		if err == nil || !strings.Contains(err.Error(), "more than 50 entries") {
			t.Errorf("got %v", err)
		}
		left(t, parent, err)
	}
}

func TestInvalidArchivesAreNamed(t *testing.T) {
	whole := tarGz(t, file("a", strings.Repeat("x", 4000)))
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"empty":      {nil, "the content of x is not a gzip archive"},
		"page":       {[]byte("<html>"), "the content of x is not a gzip archive"},
		"cut":        {whole[:len(whole)/2], "cut off"},
		"no entries": {tarGz(t), "there are no files in it"},
		"folders": {tarGz(t, entry{header: tar.Header{Name: "d", Typeflag: tar.TypeDir, Mode: 0o755}}),
			"there are no files in it"},
	} {
		parent := t.TempDir()
		err := unpack.TarGz(t.Context(), "x", bytes.NewReader(c.content), filepath.Join(parent, "out"), limits)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, expected %q", name, err, c.want)
		}
		left(t, parent, err)
	}
}

// If the context ends while an archive is read, reading stops and nothing remains.
func TestUnpackingStopsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	asked := errors.New("asked to stop")
	parent := t.TempDir()
	content := tarGz(t, file("a", "x"), file("b", strings.Repeat("x", 1<<15)))
	rest := bytes.NewReader(content[20:])
	r := io.MultiReader(bytes.NewReader(content[:20]), readerFunc(func(p []byte) (int, error) {
		cancel(asked)
		return rest.Read(p[:1])
	}))
	err := unpack.TarGz(ctx, "x", r, filepath.Join(parent, "out"), limits)
	if !errors.Is(err, asked) {
		t.Errorf("got %v", err)
	}
	left(t, parent, err)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func FuzzTar(f *testing.F) {
	var plain bytes.Buffer
	z, _ := gzip.NewReader(
		bytes.NewReader(
			tarGz(f, file("a/b", "x"), entry{
				header: tar.Header{Name: "l", Linkname: "..", Typeflag: tar.TypeSymlink}})))
	plain.ReadFrom(z)
	f.Add(plain.Bytes())
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, links := range []bool{false, true} {
			parent, l := t.TempDir(), limits
			l.Links = links
			stays(t, parent, links, unpack.Tar(context.Background(), "x", bytes.NewReader(content),
				filepath.Join(parent, "out"), l))
		}
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
		stays(t, parent, false, unpack.Zip(context.Background(), archive, "x.zip", filepath.Join(parent, "out"),
			limits))
	})
}

// TestRandomArchivesStayInside creates archives with names and links that try to lead out, or that occur twice, in any
// order.
func TestRandomArchivesStayInside(t *testing.T) {
	names := []string{"a", "a/b", "a/b/c", "./a", "a//b", "l", "l/x", "l/l2/x", "..", "../x", "a/../../x", "/x", "d/",
		"d/e", ".", "", "A", `a\b`, "c:x", "d/e/../f", strings.Repeat("n/", 40) + "x"}
	targets := []string{"a", "..", ".", "a/b", "../a", "/etc", "l", "d/e/../..", "../../x", "nothing", ""}
	kinds := []byte{tar.TypeReg, tar.TypeReg, tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeSymlink, tar.TypeLink,
		tar.TypeFifo, tar.TypeChar}
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		var entries []entry
		for range 1 + r.IntN(6) {
			e := entry{header: tar.Header{Name: names[r.IntN(len(names))], Typeflag: kinds[r.IntN(len(kinds))],
				Mode: int64(r.IntN(0o7777))}}
			if strings.HasSuffix(e.header.Name, "/") {
				e.header.Typeflag = tar.TypeDir
			}
			switch e.header.Typeflag {
			case tar.TypeReg:
				e = file(e.header.Name, "x")
			case tar.TypeSymlink, tar.TypeLink:
				e.header.Linkname = targets[r.IntN(len(targets))]
			}
			entries = append(entries, e)
		}
		for _, links := range []bool{false, true} {
			parent, l := t.TempDir(), limits
			l.Links = links
			if stays(t, parent, links, unpack.TarGz(t.Context(), "x", bytes.NewReader(tarGz(t, entries...)),
				filepath.Join(parent, "out"), l)); t.Failed() {
				t.Fatalf("seed %d, links %t: %+v", seed, links, entries)
			}
		}
	}
}
