package lockfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
)

// written is a file that terraform 1.11.4 wrote for three providers from a filesystem mirror.
const written = `# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "example.com/corp/thing" {
  version = "1.0.0"
  hashes = [
    "h1:uOUn0ZKXSKEHcNDJ40Bbqf6ke7M6WyFNfqgeQF5x/vQ=",
  ]
}

provider "registry.terraform.io/foo/bar" {
  version     = "0.1.0"
  constraints = "~> 0.1, != 0.2.0"
}

provider "registry.terraform.io/hashicorp/null" {
  version     = "3.2.2"
  constraints = ">= 3.0.0, ~> 3.2, < 4.0.0"
  hashes = [
    "h1:kp7EmgAokUFufC9b09agu2cl3v3eHlsxCAPNu9l7Sq4=",
    "zh:00a1476ecf18c735cc08e27bfa835c33f8ac8fa6fa746b01cd3bcbad8ca84f7f",
    "zh:3007f8fc4a4f8614c43e8ef1d4b0c773a5de1dcac50e701d8abc9fdc8fcb6bf5",
  ]
}
`

func entry(t *testing.T, provider, version, constraints string, hashes ...lockfile.Hash) lockfile.Entry {
	t.Helper()
	p, err := addr.ParseProvider(provider)
	if err != nil {
		t.Fatal(err)
	}
	c, err := require.Parse(constraints)
	if err != nil {
		t.Fatal(err)
	}
	return lockfile.Entry{Provider: p, Version: versions.MustParseVersion(version), Constraints: c, Hashes: hashes}
}

func TestBytesEqualTerraforms(t *testing.T) {
	var f lockfile.File
	f = f.With(entry(t, "hashicorp/null", "3.2.2", "~>3.2, <4, >=3",
		"zh:3007f8fc4a4f8614c43e8ef1d4b0c773a5de1dcac50e701d8abc9fdc8fcb6bf5",
		"h1:kp7EmgAokUFufC9b09agu2cl3v3eHlsxCAPNu9l7Sq4=",
		"zh:00a1476ecf18c735cc08e27bfa835c33f8ac8fa6fa746b01cd3bcbad8ca84f7f",
		"h1:kp7EmgAokUFufC9b09agu2cl3v3eHlsxCAPNu9l7Sq4="))
	f = f.With(entry(t, "foo/bar", "0.1.0", "!= 0.2.0,~> 0.1"))
	f = f.With(entry(t, "example.com/corp/thing", "1.0.0", "", "h1:uOUn0ZKXSKEHcNDJ40Bbqf6ke7M6WyFNfqgeQF5x/vQ="))
	if diff := cmp.Diff(written, string(f.Bytes())); diff != "" {
		t.Error(diff)
	}
}

func TestFilesRoundTrip(t *testing.T) {
	f, diags := lockfile.Parse("lock", []byte(written))
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if diff := cmp.Diff(written, string(f.Bytes())); diff != "" {
		t.Error(diff)
	}
	e, ok := f.Entry(addr.DefaultProvider("null"))
	if !ok || e.Version.String() != "3.2.2" || len(e.Hashes) != 3 || e.Hashes[0].Scheme() != "h1" {
		t.Errorf("got %v, %v", e, ok)
	}
}

func TestKeepRemovesOtherEntries(t *testing.T) {
	f, _ := lockfile.Parse("lock", []byte(written))
	kept := f.Keep(func(p addr.Provider) bool { return p.Type == "bar" })
	if len(kept.Entries()) != 1 || len(f.Entries()) != 3 {
		t.Errorf("kept %v of %v", kept.Entries(), f.Entries())
	}
}

// terraform 1.11.4 also refuses each text, except for the empty list of hashes, with which every package would be
// accepted.
func TestUnknownPartsAreRefusedWithTheirPosition(t *testing.T) {
	const null = `provider "registry.terraform.io/hashicorp/null" {`
	for _, c := range []struct{ src, want string }{
		{null + "\n version = \"3.2.1\"\n foo = 1\n}", `lock:3,2-5: Unsupported argument`},
		{null + "\n version = \"3.2.1\"\n constraints = \"x\"\n}",
			`lock:3,16-19: Invalid provider version constraints`},
		{null + "\n version = \"3.2.1\"\n constraints = \"~>3\"\n}",
			`lock:3,16-21: Invalid provider version constraints`},
		{null + "\n version = \"3.2.1\"\n hashes = [\"bad\"]\n}", `lock:3,12-17: Invalid provider hash string`},
		{null + "\n version = \"3.2.1\"\n hashes = [3]\n}", `lock:3,12-13: Invalid provider hash string`},
		{null + "\n version = \"3.2.1\"\n hashes = \"h1:a\"\n}", `lock:3,11-17: Invalid provider hash set`},
		{null + "\n version = \"3.2.1\"\n hashes = []\n}", `lock:3,11-13: Invalid provider hash set`},
		{null + "\n version = \"3.2.1\"\n}\n" + null + "\n version = \"3.2.1\"\n}",
			`lock:4,1-48: Duplicate provider lock`},
		{"provider \"null\" {\n version = \"3.2.1\"\n}", `lock:1,10-16: Non-normalized provider source address`},
		{"provider \"registry.terraform.io/HashiCorp/null\" {\n version = \"3.2.1\"\n}",
			`lock:1,10-48: Non-normalized provider source address`},
		{"provider \"terraform.io/builtin/terraform\" {\n version = \"3.2.1\"\n}",
			`lock:1,10-42: Invalid provider source address`},
		{"provider \"a/b/c/d\" {\n version = \"3.2.1\"\n}", `lock:1,10-19: Invalid provider source address`},
		{null + "\n}", `Missing required argument`},
		{null + "\n version = \"3.2\"\n}", `lock:2,12-17: Invalid provider version number`},
		{null + "\n version = \"v3.2.1\"\n}", `lock:2,12-20: Invalid provider version number`},
		{null + "\n version = null\n}", `lock:2,12-16: Unsuitable value type`},
		{null + "\n version = [1]\n}", `lock:2,12-15: Unsuitable value type`},
		{null, `Unclosed configuration block`},
		{"zork {}", `Unsupported block type`},
		{"y = 1", `Unsupported argument`},
		{strings.Repeat("[", 1_000_000), `Nesting too deep`},
	} {
		f, diags := lockfile.Parse("lock", []byte(c.src))
		if !diags.HasErrors() {
			t.Errorf("accepted: %s", c.src)
			continue
		}
		if got := diags.Err().Error(); !strings.Contains(got, c.want) {
			t.Errorf("%.80s\n got  %.300s\n want %s", c.src, got, c.want)
		}
		if len(f.Entries()) != 0 {
			t.Errorf("%.80s: a refused file gives entries: %v", c.src, f.Entries())
		}
	}
}

func TestEntriesOfModulesAreLeftOutWithAWarning(t *testing.T) {
	f, diags := lockfile.Parse("lock", []byte("module \"x\" {}\n"+written))
	if len(diags) != 1 || diags.HasErrors() ||
		diags[0].Summary != "Dependency locks for modules are not yet supported" {
		t.Errorf("got %v", diags)
	}
	if got := string(f.Bytes()); strings.Contains(got, "module") || len(f.Entries()) == 0 {
		t.Errorf("got %s", got)
	}
}

func TestEveryProblemOfAFileIsReported(t *testing.T) {
	_, diags := lockfile.Parse("lock",
		[]byte("y = 1\nprovider \"null\" {\n  hashes = [\"a\", \"b\"]\n}\nmodule \"m\" {}\n"))
	if len(diags) != 6 {
		t.Errorf("got %d problems:\n%s", len(diags), diags.Err())
	}
}

func TestSaveReplacesChangedFilesAtomically(t *testing.T) {
	dir := t.TempDir()
	if err := (lockfile.File{}).Save(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, lockfile.Name)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Fatalf("an empty file was written: %v", err)
	}
	if err := (lockfile.File{}).SaveEvenEmpty(dir); err != nil {
		t.Fatal(err)
	}
	if loaded, diags := lockfile.Load(dir); diags.HasErrors() || len(loaded.Entries()) > 0 {
		t.Fatalf("an empty file that was asked for: %v, %s", loaded, diags.Err())
	}
	f, _ := lockfile.Parse("lock", []byte(written))
	if err := f.Save(dir); err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(path)
	if err := f.Save(dir); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Error("the same content was written again")
	}
	loaded, diags := lockfile.Load(dir)
	if diags.HasErrors() || !loaded.Equal(f) {
		t.Errorf("got %s, %v", loaded.Bytes(), diags.Err())
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

func TestLoadRefusesIrregularFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, lockfile.Name), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, diags := lockfile.Load(dir); !diags.HasErrors() {
		t.Error("a directory was read as a lock file")
	}
	if f, diags := lockfile.Load(t.TempDir()); diags.HasErrors() || len(f.Entries()) != 0 {
		t.Errorf("a missing file: %v, %v", f, diags.Err())
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(written))
	f.Add([]byte("provider \"a/b\" {\n version = 1\n hashes = [for x in y: x]\n}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		file, diags := lockfile.Parse("lock", src)
		if diags.HasErrors() {
			return
		}
		again, diags := lockfile.Parse("lock", file.Bytes())
		if diags.HasErrors() || !again.Equal(file) {
			t.Fatalf("%q was written as %q, which is read as %q (%v)", src, file.Bytes(), again.Bytes(), diags.Err())
		}
	})
}
