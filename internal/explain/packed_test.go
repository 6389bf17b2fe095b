package explain

import (
	"bytes"
	"compress/gzip"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tombolo-iac/tombolo/diag"
)

var update = flag.Bool("update", false, "pack about.txt and the folders pages and found")

// TestPacked compares the embedded archive with its source files.
func TestPacked(t *testing.T) {
	about, err := os.ReadFile("about.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, has := &txtar.Archive{Comment: about}, map[string]string{}
	names, err := filepath.Glob("*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code := strings.TrimSuffix(filepath.Base(name), ".txtar")
		if folder := filepath.Dir(name); has[code] != "" {
			t.Errorf("%s has a page in %s and in %s: remove the one in found", code, has[code], folder)
		} else {
			has[code] = folder
		}
		if len(a.Comment) > 0 {
			want.Files = append(want.Files, txtar.File{Name: code + "/means", Data: a.Comment})
		}
		for _, f := range a.Files {
			want.Files = append(want.Files, txtar.File{Name: code + "/" + f.Name, Data: f.Data})
		}
	}
	if *update {
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(txtar.Format(want)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("packed.gz", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(txtar.Format(want)), string(txtar.Format(unpacked()))); diff != "" {
		t.Errorf("packed.gz is not made of about.txt and the folders pages and found: run this test with -update "+
			"(-files +packed.gz):\n%s", diff)
	}
}

// TestEveryPageIsComplete checks the pages of all codes: each has a description and the commands that report it, and
// refers only to known parts of the program. Most have an example, or the text of the problem.
func TestEveryPageIsComplete(t *testing.T) {
	if *update {
		t.Skip("runs without -update only")
	}
	plain := func(s string) string { return s }
	w := Words{Program: "tombolo", Title: "Tombolo", Wrap: plain, Bold: plain}
	examples, texts := 0, 0
	for _, p := range All() {
		text := p.Text(w)
		s := sayings()[p.Kind.Code]
		switch {
		case p.Kind.Retired:
			if s != nil {
				t.Errorf("%s is retired, and the source still makes it", p.Kind.Code)
			}
			continue
		case s == nil:
			t.Errorf("about.txt has nothing of %s", p.Kind.Code)
			continue
		case area(p.Kind.Code) == "other things":
			t.Errorf("nothing says what %s is about", p.Kind.Code)
		case !strings.Contains(text, "It is reported by ") && (p.Example == nil || p.Example.Means == ""):
			t.Errorf("%s does not say who reports it:\n%s", p.Kind.Code, text)
		}
		for _, part := range s.parts {
			if len(raisedBy([]string{part})) == 0 {
				t.Errorf("%s comes from %q, of which about.go does not say who runs it", p.Kind.Code, part)
			}
		}
		if p.Example != nil {
			examples++
			if !strings.Contains(text, "\nThis fails\n") {
				t.Errorf("%s shows no example:\n%s", p.Kind.Code, text)
			}
		} else if len(s.texts) > 0 {
			texts++
		}
	}
	t.Logf("%d codes: %d have an example, %d only a text", len(diag.Kinds()), examples, texts)
	if examples < leastExamples {
		t.Errorf("only %d codes have an example, of at least %d", examples, leastExamples)
	}
}

// leastExamples is the minimum number of codes with an example.
const leastExamples = 260
