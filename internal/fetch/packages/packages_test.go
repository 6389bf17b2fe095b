package packages_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

var thing = addr.Provider{Host: "example.com", Namespace: "corp", Type: "thing"}

// files are the files of a package whose hash in a lock file of terraform 1.11.4 is thingHash.
var files = map[string]string{
	"terraform-provider-thing_v1.0.0_x5": "#!/bin/sh\necho \"hi thing 1.0.0\"\nexit 1\n",
	"README.md":                          "readme\n",
}

func anything(lockfile.Hash) error { return nil }

const thingHash = "h1:uOUn0ZKXSKEHcNDJ40Bbqf6ke7M6WyFNfqgeQF5x/vQ="

func writeTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content),
			0o755)); err != nil {
			t.Fatal(err)
		}
	}
}

func writeZip(t *testing.T, path string, headers []zip.FileHeader, contents []string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	z := zip.NewWriter(out)
	for i := range headers {
		headers[i].Method = zip.Deflate
		w, err := z.CreateHeader(&headers[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(contents[i])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

func zipOf(t *testing.T, path string, files map[string]string) {
	t.Helper()
	var headers []zip.FileHeader
	var contents []string
	for name, content := range files {
		h := zip.FileHeader{Name: name}
		h.SetMode(0o755)
		headers, contents = append(headers, h), append(contents, content)
	}
	writeZip(t, path, headers, contents)
}

func mirror(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	base, here := filepath.Join(dir, "example.com", "corp", "thing"), packages.Current().String()
	writeTree(t, filepath.Join(base, "1.0.0", here), files)
	writeTree(t, filepath.Join(base, "1.10.0", "plan9_mips"), files)
	zipOf(t, filepath.Join(base, "terraform-provider-thing_1.2.0_"+here+".zip"), files)
	zipOf(t, filepath.Join(base, "terraform-provider-thing_1.0.0_"+here+".zip"), files)
	writeTree(t, base, map[string]string{"README": "x", "not-a-version/x": "x", "1.0.0/notaplatform": "x",
		"1.0.0/a_file": "x", "terraform-provider-other_1.0.0_" + here + ".zip": "x", "index.json": "{}"})
	return dir
}

func TestSearchFindsBothFormsNewestFirst(t *testing.T) {
	dir, here := mirror(t), packages.Current().String()
	found, err := packages.Search(dir, thing)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range found {
		form := "unpacked"
		if p.Packed {
			form = "packed"
		}
		got = append(got, p.Version.String()+" "+p.Platform.String()+" "+form)
	}
	want := []string{"1.10.0 plan9_mips unpacked", "1.2.0 " + here + " packed", "1.0.0 " + here + " unpacked",
		"1.0.0 " + here + " packed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if found, err := packages.Search(dir, addr.DefaultProvider("null")); err != nil || len(found) != 0 {
		t.Errorf("a provider that is not there: %v, %v", found, err)
	}
	if _, err := packages.Search(filepath.Join(dir, "missing"), thing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a mirror that is not there: %v", err)
	}
}

func TestBothFormsInstallToTheSameHash(t *testing.T) {
	found, err := packages.Search(mirror(t), thing)
	if err != nil {
		t.Fatal(err)
	}
	folder := packages.Folder{Dir: filepath.Join(t.TempDir(), "providers")}
	for _, p := range found {
		if h, err := p.Hash(t.Context()); err != nil || h != thingHash {
			t.Errorf("%s: hash %s, %v", p.Path, h, err)
		}
		h, err := folder.Install(t.Context(), p, anything)
		if p.Platform != packages.Current() {
			if err == nil {
				t.Errorf("%s was installed here", p.Path)
			}
			continue
		}
		if err != nil || h != thingHash {
			t.Errorf("%s: installed with hash %s, %v", p.Path, h, err)
		}
		program, h, err := folder.Installed(t.Context(), p.Provider, p.Version)
		if err != nil || h != thingHash || filepath.Base(program) != "terraform-provider-thing_v1.0.0_x5" {
			t.Errorf("%s: %s, %s, %v", p.Path, program, h, err)
		}
		if info, err := os.Stat(program); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("%s: the program cannot be run: %v", p.Path, err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(folder.Dir, "*", "*", "*", "*", ".install-*"))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestPackagesWithoutProgramKeepThePreviousOne(t *testing.T) {
	dir := t.TempDir()
	good := packages.Package{Provider: thing, Version: versions.MustParseVersion("1.0.0"), Platform: packages.Current(),
		Path: filepath.Join(dir, "good")}
	writeTree(t, good.Path, files)
	bad := good
	bad.Path = filepath.Join(dir, "bad")
	writeTree(t, bad.Path, map[string]string{"terraform-provider-things": "other",
		"terraform-provider-thing_v1/x": "in a folder"})
	folder := packages.Folder{Dir: filepath.Join(dir, "providers")}
	if _, err := folder.Install(t.Context(), good, anything); err != nil {
		t.Fatal(err)
	}
	_, err := folder.Install(t.Context(), bad, anything)
	if want := "the package contains no program: " + bad.Path + " has"; !errors.Is(err, packages.ErrNoProgram) ||
		!strings.Contains(err.Error(), want) { // and not the temporary path
		t.Errorf("got %v, want %q", err, want)
	}
	if _, h, err := folder.Installed(t.Context(), good.Provider, good.Version); err != nil || h != thingHash {
		t.Errorf("the former package is gone: %s, %v", h, err)
	}
}

func TestHostileArchivesAreRefusedAndLeaveNothing(t *testing.T) {
	header := func(name string, mode fs.FileMode) zip.FileHeader {
		h := zip.FileHeader{Name: name}
		h.SetMode(mode)
		return h
	}
	program := header("terraform-provider-thing_v1.0.0", 0o755)
	for name, c := range map[string]struct {
		headers []zip.FileHeader
		want    string
	}{
		"parent":      {[]zip.FileHeader{program, header("../evil", 0o644)}, "could leave"},
		"deep parent": {[]zip.FileHeader{program, header("a/../../evil", 0o644)}, "could leave"},
		"absolute":    {[]zip.FileHeader{program, header("/tmp/evil", 0o644)}, "could leave"},
		"backslash":   {[]zip.FileHeader{program, header(`..\evil`, 0o644)}, "could leave"},
		"drive":       {[]zip.FileHeader{program, header(`C:evil`, 0o644)}, "could leave"},
		"link": {[]zip.FileHeader{program, header("link", 0o777|fs.ModeSymlink)},
			"neither a file nor a folder"},
		"device": {[]zip.FileHeader{program, header("dev", 0o644|fs.ModeDevice)},
			"neither a file nor a folder"},
		"pipe": {[]zip.FileHeader{program, header("pipe", 0o644|fs.ModeNamedPipe)},
			"neither a file nor a folder"},
		"setuid":         {[]zip.FileHeader{program, header("root", 0o755|fs.ModeSetuid)}, "special permissions"},
		"twice":          {[]zip.FileHeader{program, program}, "appears twice"},
		"too deep":       {[]zip.FileHeader{program, header(strings.Repeat("d/", 100)+"x", 0o644)}, "folders deep"},
		"too many":       {manyHeaders(20_001), "more than 20000"},
		"file as folder": {[]zip.FileHeader{program, header(program.Name+"/x", 0o644)}, "is a file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := packages.Package{Provider: thing, Version: versions.MustParseVersion("1.0.0"),
				Platform: packages.Current(), Path: filepath.Join(dir, "p.zip"), Packed: true}
			writeZip(t, p.Path, c.headers, make([]string, len(c.headers)))
			folder := packages.Folder{Dir: filepath.Join(dir, "providers")}
			_, err := folder.Install(t.Context(), p, anything)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() && path != p.Path {
					t.Errorf("left behind: %s", path)
				}
				return nil
			})
		})
	}
}

// An archive bomb is refused because of its stated size, before it is unpacked or read for its hash. An archive with
// more content than stated is invalid.
func TestArchivesBeyondTheLimitAreNotRead(t *testing.T) {
	for name, claims := range map[string][]uint64{
		"one entry": {5 << 30}, "overflow": {1 << 63, 1 << 63}, "together": {3 << 30, 3 << 30}, "less than it holds": {
			1},
	} {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			w := zip.NewWriter(&buf)
			for i, size := range claims {
				h := &zip.FileHeader{Name: fmt.Sprintf("terraform-provider-thing_v%d", i), Method: zip.Store,
					UncompressedSize64: size, CompressedSize64: 3}
				out, err := w.CreateRaw(h)
				if err == nil {
					_, err = out.Write([]byte("abc"))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			p := packages.Package{Provider: thing, Version: versions.MustParseVersion("1.0.0"),
				Platform: packages.Current(), Path: filepath.Join(dir, "p.zip"), Packed: true}
			if err := os.WriteFile(p.Path, buf.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			if h, err := p.Hash(t.Context()); err == nil {
				t.Errorf("got the hash %s", h)
			}
			if _, err := (packages.Folder{Dir: filepath.Join(dir, "providers")}).Install(t.Context(), p,
				anything); err == nil {
				t.Error("installed")
			}
		})
	}
}

func TestLeftoversOfKilledProcessesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.zip")
	zipOf(t, path, files)
	packed := packages.Package{Provider: thing, Version: versions.MustParseVersion("1.0.0"),
		Platform: packages.Current(), Path: path, Packed: true}
	folder := packages.Folder{Dir: filepath.Join(dir, "providers")}
	beside := filepath.Dir(folder.Path(packed.Provider, packed.Version))
	if err := os.MkdirAll(beside, 0o755); err != nil {
		t.Fatal(err)
	}
	works, err := replace.Unfinished(beside, ".install-")
	if err != nil {
		t.Fatal(err)
	}
	defer works.Remove()
	old := filepath.Join(beside, ".install-old")
	writeTree(t, old, files)
	mark, err := os.ReadFile(filepath.Join(works.Dir, ".tombolo-unfinished")) // without its lock
	long := time.Now().Add(-48 * time.Hour)
	if err = errors.Join(err, os.WriteFile(filepath.Join(old, ".tombolo-unfinished"), mark, 0o600),
		os.Chtimes(works.Dir, long, long)); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Install(t.Context(), packed, anything); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(beside, ".install-*"))
	if len(left) != 1 || left[0] != works.Dir {
		t.Errorf("left: %v", left)
	}
}

// A folder that the user has replaced with a link to another disk is kept.
func TestFailuresKeepLinksToFolders(t *testing.T) {
	dir := t.TempDir()
	p := packages.Package{Provider: thing, Version: versions.MustParseVersion("1.0.0"), Platform: packages.Current(),
		Path: filepath.Join(dir, "p.zip"), Packed: true}
	folder := packages.Folder{Dir: filepath.Join(dir, "providers")}
	host := filepath.Join(folder.Dir, thing.Host)
	writeTree(t, filepath.Join(dir, "elsewhere"), map[string]string{"mine": ""})
	writeTree(t, folder.Dir, nil)
	if err := os.MkdirAll(folder.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), host); err != nil {
		t.Skip("needs symbolic links: ", err)
	}
	if _, err := folder.Install(t.Context(), p, anything); err == nil {
		t.Error("a package that is not there was installed")
	}
	if left, err := os.ReadDir(host); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

// Reading a device or a pipe could block for ever.
func TestIrregularFilesAreNotRead(t *testing.T) {
	dir := t.TempDir()
	writeTree(t, dir, files)
	if err := os.Symlink(os.DevNull, filepath.Join(dir, "device")); err != nil {
		t.Skip("needs symbolic links: ", err)
	}
	if _, err := packages.HashDir(t.Context(), dir); err == nil || !strings.Contains(err.Error(),
		"not a regular file") {
		t.Errorf("got %v", err)
	}
}

func TestSeveralProcessesMayInstallTheSamePackage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.zip")
	zipOf(t, path, files)
	packed := packages.Package{Provider: thing, Version: versions.MustParseVersion("1.0.0"),
		Platform: packages.Current(), Path: path, Packed: true}
	folder := packages.Folder{Dir: filepath.Join(dir, "providers")}
	errs := make(chan error)
	for range 4 {
		go func() {
			_, err := folder.Install(t.Context(), packed, anything)
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if _, h, err := folder.Installed(t.Context(), packed.Provider, packed.Version); err != nil || h != thingHash {
		t.Errorf("got %s, %v", h, err)
	}
	left, err := os.ReadDir(filepath.Dir(folder.Path(packed.Provider, packed.Version)))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestTheHashOfAnArchiveCoversItsBytes(t *testing.T) {
	p := packages.Package{Path: filepath.Join(t.TempDir(), "p.zip"), Packed: true}
	if err := os.WriteFile(p.Path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if h, err := p.ArchiveHash(t.Context()); err != nil ||
		h != "zh:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("got %s, %v", h, err)
	}
}

func manyHeaders(n int) []zip.FileHeader {
	list := make([]zip.FileHeader, n)
	for i := range list {
		list[i] = zip.FileHeader{Name: fmt.Sprint("f", i)}
	}
	return list
}

func TestOtherFilesAreNotArchives(t *testing.T) {
	dir := t.TempDir()
	p := packages.Package{Provider: thing, Version: versions.MustParseVersion("1.0.0"), Platform: packages.Current(),
		Path: filepath.Join(dir, "p.zip"), Packed: true}
	if err := os.WriteFile(p.Path, []byte("not a zip"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (packages.Folder{Dir: filepath.Join(dir, "providers")}).Install(t.Context(), p, anything); err == nil {
		t.Error("installed")
	}
}

func FuzzInstallArchive(f *testing.F) {
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		p := packages.Package{Provider: thing, Version: versions.MustParseVersion("1.0.0"),
			Platform: packages.Current(), Path: filepath.Join(dir, "in", "p.zip"), Packed: true}
		writeTree(t, filepath.Dir(p.Path), map[string]string{"p.zip": string(content)})
		folder := packages.Folder{Dir: filepath.Join(dir, "out", "providers")}
		if _, err := folder.Install(t.Context(), p, anything); err != nil {
			return
		}
		outside, _ := os.ReadDir(dir)
		if len(outside) != 2 {
			t.Fatalf("the archive wrote outside of the folder: %v", outside)
		}
	})
}

// ending is a context that ends after a number of calls.
type ending struct {
	context.Context
	asked, ends int
}

func (e *ending) Err() error {
	if e.asked++; e.asked > e.ends {
		return context.Canceled
	}
	return nil
}

// TestHashingStopsWithTheContext uses files of 8 GB, which are not read after the context has ended.
func TestHashingStopsWithTheContext(t *testing.T) {
	dir := t.TempDir()
	writeTree(t, dir, files)
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 8<<30); err != nil {
		t.Skip("needs files with holes: ", err)
	}
	for name, hash := range map[string]func(context.Context) (lockfile.Hash, error){
		"folder":  packages.Package{Path: dir}.Hash,
		"archive": packages.Package{Path: large, Packed: true}.ArchiveHash,
	} {
		ctx := &ending{Context: context.Background(), ends: 50}
		got, err := hash(ctx)
		if !errors.Is(err, context.Canceled) || got != "" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		if more := ctx.asked - ctx.ends; more < 1 || more > 3 {
			t.Errorf("%s: it went on for %d steps", name, more)
		}
	}
}
