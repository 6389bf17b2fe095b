package pins_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/pins"
)

const hash = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

func TestFilesRoundTrip(t *testing.T) {
	dir := t.TempDir()
	if err := (pins.File{}).Save(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, pins.Name)); !os.IsNotExist(err) {
		t.Errorf("an empty file was written: %v", err)
	}
	f := pins.File{}.With(pins.Entry{Key: "net.in", Source: "git::https://x/${y}?ref=\"z\"", Hash: hash,
		Commit: strings.Repeat("a", 40)}).With(pins.Entry{Key: "net", Source: "corp/net/aws", Version: "1.0.0",
		Hash: hash})
	if err := f.Save(dir); err != nil {
		t.Fatal(err)
	}
	again, diags := pins.Load(dir)
	if diags.HasErrors() || string(again.Bytes()) != string(f.Bytes()) {
		t.Errorf("%s\nis read as\n%s\n%v", f.Bytes(), again.Bytes(), diags.Err())
	}
	if e, ok := again.Entry("net.in"); !ok || e.Source != "git::https://x/${y}?ref=\"z\"" || e.Hash != hash {
		t.Errorf("%+v", e)
	}
}

func TestUnknownLockEntriesAreRefused(t *testing.T) {
	block := func(args string) string { return "module \"a\" {\n" + args + "\n}\n" }
	good := "source = \"a/b/c\"\nhash = \"" + hash + "\""
	if _, diags := pins.Parse("f", []byte(block(good))); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	provider := func(name, lines string) string { return "provider \"" + name + "\" {\ngranted = [" + lines + "]\n}\n" }
	for text, want := range map[string]string{
		block(good) + block(good):                                         "is locked at f:1",
		block("source = \"a\""):                                           `"hash" is required`,
		block("source = \"a\"\nhash = \"h1:a\""):                          "expected \"h1:\" and a hash",
		block("source = \"\"\nhash = \"" + hash + "\""):                   "must name a module and its source",
		block(good + "\ncommit = \"main\""):                               "expected the full name of a commit",
		block(good + "\nhash_ = []"):                                      `"hash_" is not expected here`,
		"backend \"a\" {}":                                                `"backend" are not expected here`,
		"provider \"a\" {}":                                               `"granted" is required`,
		provider("example/a", `"env A"`):                                  "is not the full address of a provider",
		provider("example.com/x/a", `"env A, env B"`):                     "has several lines or a comma",
		provider("example.com/x/a", `"*"`):                                "is \"*\"",
		provider("example.com/x/a", "") + provider("example.com/x/a", ""): "two blocks for the provider",
		"module \"a\" \"b\" {}":                                           "label",
		"module \"a\" {\n" + strings.Repeat("[", 100_000):                 "deep",
	} {
		f, diags := pins.Parse("f", []byte(text))
		if !diags.HasErrors() || !strings.Contains(fmt.Sprint(diags.Err()), want) || len(f.Entries()) > 0 {
			t.Errorf("%.100q: %v, want %q", text, diags.Err(), want)
		}
	}
	name := filepath.Join(t.TempDir(), pins.Name)
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, diags := pins.Load(filepath.Dir(name)); !diags.HasErrors() {
		t.Error("a folder is taken for a lock file")
	}
}

func TestGrantsAreKeptBesideModules(t *testing.T) {
	p, err := addr.ParseProvider("example/dns")
	if err != nil {
		t.Fatal(err)
	}
	dir, lines := t.TempDir(), []string{"env TOKEN", "http *.example.com"}
	if err := (pins.File{}).Grant(p, []string{"env OLD"}).Grant(p, lines).Save(dir); err != nil {
		t.Fatal(err)
	}
	f, diags := pins.Load(dir)
	if diags.HasErrors() || !slices.Equal(f.Granted(p), lines) {
		t.Errorf("got %q, %v", f.Granted(p), diags.Err())
	}
	f = f.With(pins.Entry{Key: "a", Source: "x", Hash: hash})
	if again, _ := pins.Parse("f", f.Bytes()); len(again.Entries()) != 1 || !slices.Equal(again.Granted(p), lines) {
		t.Errorf("a module replaced the permissions:\n%s", f.Bytes())
	}
	if f = f.WithoutModules(); len(f.Entries()) != 0 || !slices.Equal(f.Granted(p), lines) {
		t.Errorf("the permissions are gone with the modules:\n%s", f.Bytes())
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("module \"a\" {\n  source = \"x\"\n  hash = \"" + hash + "\"\n}\n"))
	f.Add([]byte("provider \"example.com/x/a\" {\n  granted = [\"env A\"]\n}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		file, diags := pins.Parse("f", src)
		if diags.HasErrors() {
			return
		}
		again, diags := pins.Parse("f", file.Bytes())
		if diags.HasErrors() || string(again.Bytes()) != string(file.Bytes()) {
			t.Errorf("%q was written as %q, which is read as %q (%v)", src, file.Bytes(), again.Bytes(), diags.Err())
		}
	})
}

// The hash depends on names, contents and links. It ignores git's own files, and the order in which a folder is read.
func TestTheHashIsThatOfTheFiles(t *testing.T) {
	of := func(files map[string]string) string {
		dir := t.TempDir()
		for name, content := range files {
			name = filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			var err error
			if to, link := strings.CutPrefix(content, "-> "); link {
				err = os.Symlink(to, name)
			} else {
				err = os.WriteFile(name, []byte(content), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		h, err := pins.Hash(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	base := map[string]string{"main.tf": "a", "sub/main.tf": "b"}
	with := func(name, content string) map[string]string {
		out := map[string]string{name: content}
		for n, c := range base {
			if n != name {
				out[n] = c
			}
		}
		return out
	}
	seen := map[string]string{of(base): "base"}
	for what, files := range map[string]map[string]string{
		"content": with("main.tf", "b"), "name": with("x", ""), "hidden": with(".x", ""),
		"link": with("l", "-> main.tf"), "link elsewhere": with("l", "-> sub/main.tf"), "text": with("l", "main.tf"),
		"inner": with("sub/main.tf", "a"),
	} {
		h := of(files)
		if other, same := seen[h]; same {
			t.Errorf("%s has the hash of %s", what, other)
		}
		seen[h] = what
	}
	for _, name := range []string{".git/HEAD", "sub/.git"} {
		if of(with(name, "x")) != of(base) {
			t.Errorf("%s counts", name)
		}
	}
}

func TestTheCommitOfARepositoryIsFound(t *testing.T) {
	dir := t.TempDir()
	if got := pins.Commit(dir); got != "" {
		t.Errorf("without a repository: %q", got)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	commit := strings.Repeat("0a", 20)
	for text, want := range map[string]string{commit + "\n": commit, "ref: refs/heads/main\n": "", "": "",
		commit + "x": ""} {
		if err := os.WriteFile(filepath.Join(dir, ".git/HEAD"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := pins.Commit(dir); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
