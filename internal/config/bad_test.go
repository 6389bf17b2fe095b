package config_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

var update = flag.Bool("update", false, "rewrite the want-error comments of testdata/bad from what Load reports")

const languageVersion = "1.11.4"

// badCase is one top folder of an archive in testdata/bad.
type badCase struct {
	name  string
	files map[string][]byte // including the expectations in comments
}

func readArchive(t *testing.T, name string) (*txtar.Archive, []badCase) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var cases []badCase
	for _, f := range archive.Files {
		folder, rest, ok := strings.Cut(f.Name, "/")
		if !ok {
			t.Fatalf("%s: file %s stands in no folder", name, f.Name)
		}
		i := slices.IndexFunc(cases, func(c badCase) bool { return c.name == folder })
		if i < 0 {
			i = len(cases)
			cases = append(cases, badCase{name: folder, files: map[string][]byte{}})
		}
		if _, dup := cases[i].files[rest]; dup {
			t.Fatalf("%s: two files %s", name, f.Name)
		}
		cases[i].files[rest] = f.Data
	}
	return archive, cases
}

func archives(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/bad/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	return names
}

// ownArchive holds cases in files that only Tombolo reads.
const ownArchive = "own.txtar"

const manifestPath = ".terraform/modules/modules.json"

// load installs the modules of a case, unless it brings a manifest, and loads it.
func (c badCase) load(t *testing.T) diag.List {
	t.Helper()
	files := map[string][]byte{"./": nil}
	for name, src := range c.files {
		files[name] = src
	}
	if _, ok := files[manifestPath]; !ok {
		manifest, _, _ := fetch.Resolve(context.Background(), config.SnapshotFiles(files), &config.Manifest{},
			fetch.Options{})
		src, err := manifest.Encode()
		if err != nil {
			t.Fatal(err)
		}
		files[manifestPath] = src
	}
	cfg, diags := config.Load(context.Background(), config.Options{Files: config.SnapshotFiles(files),
		LanguageVersion: languageVersion})
	if cfg != nil {
		diags = diags.Extend(cfg.CheckCalls()).Extend(cfg.CheckUnpassed())
	}
	return diags
}

var wantMarker = regexp.MustCompile(` *# want-(error|warning): ((?:[^#\n]|#[^ \n])*)`)

// wants returns the expectations in comments and, for problems without a line, in want.txt.
func (c badCase) wants(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for name, src := range c.files {
		for i, line := range strings.Split(string(src), "\n") {
			if name == wantFile {
				if at, want, ok := strings.Cut(line, ": "); ok {
					out[at] = append(out[at], want)
				}
				continue
			}
			for _, m := range wantMarker.FindAllStringSubmatch(line, -1) {
				at := fmt.Sprintf("%s:%d", name, i+1)
				out[at] = append(out[at], m[1]+": "+strings.TrimSpace(m[2]))
			}
		}
	}
	return out
}

const wantFile = "want.txt"

func place(d *diag.Diagnostic) string {
	if d.Subject == nil {
		return "-"
	}
	return fmt.Sprintf("%s:%d", d.Subject.Filename, d.Subject.Start.Line)
}

func TestBadConfigurationsReportExpectedErrors(t *testing.T) {
	for _, name := range archives(t) {
		archive, cases := readArchive(t, name)
		for _, c := range cases {
			t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar")+"/"+c.name, func(t *testing.T) {
				diags := c.load(t)
				if *update {
					rewriteWants(archive, c, diags)
					return
				}
				c.check(t, diags)
			})
		}
		if *update {
			if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// check matches every diagnostic with one expectation of its line.
func (c badCase) check(t *testing.T, diags diag.List) {
	t.Helper()
	wants := c.wants(t)
	for _, d := range diags {
		at := place(d)
		got := fmt.Sprintf("%s: %s; %s", d.Severity, d.Summary, d.Detail)
		i := slices.IndexFunc(wants[at], func(want string) bool {
			ok, err := regexp.MatchString("^"+want, got)
			if err != nil {
				t.Fatalf("bad pattern %q: %v", want, err)
			}
			return ok
		})
		if i < 0 {
			t.Errorf("%s: unexpected %s", at, got)
			continue
		}
		wants[at] = slices.Delete(wants[at], i, i+1)
	}
	for at, left := range wants {
		for _, want := range left {
			t.Errorf("%s: no diagnostic matches %q", at, want)
		}
	}
}

// rewriteWants writes the found problems in place of the expectations.
func rewriteWants(archive *txtar.Archive, c badCase, diags diag.List) {
	found := map[string][]string{}
	for _, d := range diags {
		found[place(d)] = append(found[place(d)], d.Severity.String()+": "+regexp.QuoteMeta(d.Summary))
	}
	var rest []string
	for i := range archive.Files {
		f := &archive.Files[i]
		folder, name, _ := strings.Cut(f.Name, "/")
		if folder != c.name || name == wantFile || !strings.HasSuffix(name, ".tf") &&
			!strings.HasSuffix(name, ".tombolo") {
			continue
		}
		lines := strings.Split(wantMarker.ReplaceAllString(string(f.Data), ""), "\n")
		for n := range lines {
			at := fmt.Sprintf("%s:%d", name, n+1)
			if strings.TrimSpace(lines[n]) == "" {
				continue // no place for a comment
			}
			for _, want := range found[at] {
				lines[n] += " # want-" + want
			}
			delete(found, at)
		}
		f.Data = []byte(strings.Join(lines, "\n"))
	}
	for at, wants := range found {
		for _, want := range wants {
			rest = append(rest, at+": "+want+"\n")
		}
	}
	slices.Sort(rest)
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == c.name+"/"+wantFile })
	if i >= 0 {
		archive.Files = slices.Delete(archive.Files, i, i+1)
	}
	if len(rest) > 0 {
		last := 0
		for i, f := range archive.Files {
			if strings.HasPrefix(f.Name, c.name+"/") {
				last = i
			}
		}
		archive.Files = slices.Insert(archive.Files, last+1, txtar.File{Name: c.name + "/" + wantFile,
			Data: []byte(strings.Join(rest, ""))})
	}
}

// TestBadConfigurationsMatchTerraform compares summaries and positions with `terraform validate -json`.
// Differences listed in intended.txt are required.
func TestBadConfigurationsMatchTerraform(t *testing.T) {
	oracle, err := exec.LookPath("terraform")
	if err != nil || testing.Short() {
		t.Skip("needs terraform on PATH, and runs without -short")
	}
	intended := readIntended(t)
	for _, name := range archives(t) {
		if filepath.Base(name) == ownArchive {
			continue
		}
		_, cases := readArchive(t, name)
		for _, c := range cases {
			id := strings.TrimSuffix(filepath.Base(name), ".txtar") + "/" + c.name
			t.Run(id, func(t *testing.T) {
				t.Parallel()
				got := differences(c.askOracle(t, oracle), c.load(t))
				if diff := cmp.Diff(intended[id], got); diff != "" {
					t.Errorf("judged otherwise than intended.txt says (-intended +got):\n%s%s:\n  %s\n", diff, id,
						strings.Join(got, "\n  "))
				}
			})
		}
	}
}

// differences lists problems that only Terraform reports with a minus and those that only Tombolo reports with a plus,
// in order.
func differences(oracle []string, diags diag.List) []string {
	var ours []string
	for _, d := range diags {
		if d.Summary == "Module not installed" && len(oracle) > 0 {
			continue // Terraform stops at errors in the calling module
		}
		at := "-"
		if d.Subject != nil {
			at = fmt.Sprintf("%s:%d:%d", d.Subject.Filename, d.Subject.Start.Line, d.Subject.Start.Column)
		}
		ours = append(ours, fmt.Sprintf("%s %s: %s", d.Severity, at, d.Summary))
	}
	var out []string
	for _, d := range oracle {
		if !slices.Contains(ours, d) && !strings.HasSuffix(d, ": Module not installed") {
			out = append(out, "- "+d)
		}
	}
	for _, d := range ours {
		if !slices.Contains(oracle, d) {
			out = append(out, "+ "+d)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// readIntended returns the intended differences by case: a line CASE: REASON, and below it one indented line each.
func readIntended(t *testing.T) map[string][]string {
	t.Helper()
	src, err := os.ReadFile("testdata/bad/intended.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	id := ""
	for _, line := range strings.Split(string(src), "\n") {
		if diff, ok := strings.CutPrefix(line, "  "); ok {
			out[id] = append(out[id], diff)
			continue
		}
		id, _, _ = strings.Cut(line, ": ")
	}
	for _, diffs := range out {
		slices.Sort(diffs)
	}
	return out
}

func (c badCase) askOracle(t *testing.T, oracle string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, src := range c.files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if name == wantFile {
			continue
		}
		if err := os.WriteFile(file, src, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) []byte {
		cmd := exec.Command(oracle, args...)
		cmd.Dir = dir
		cmd.Env = programtest.Environ()
		out, _ := cmd.Output() // a configuration with errors makes it fail
		return out
	}
	_, hasManifest := c.files[manifestPath]
	nested := slices.ContainsFunc(slices.Collect(maps.Keys(c.files)), func(name string) bool {
		return path.Dir(name) != "."
	})
	if nested && !hasManifest {
		run("init", "-backend=false")
	}
	var doc struct {
		Diagnostics []struct {
			Severity, Summary string
			Range             *struct {
				Filename string
				Start    struct{ Line, Column int }
			}
		}
	}
	out := run("validate", "-json")
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("validate -json: %v\n%s", err, out)
	}
	var found []string
	for _, d := range doc.Diagnostics {
		at := "-"
		if d.Range != nil {
			at = fmt.Sprintf("%s:%d:%d", d.Range.Filename, d.Range.Start.Line, d.Range.Start.Column)
		}
		found = append(found, fmt.Sprintf("%s %s: %s", d.Severity, at, d.Summary))
	}
	return found
}
