package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var codeSpan = regexp.MustCompile("`([^`]+)`")

// spans returns what a cell of a table has in code.
func spans(cell string) (list []string) {
	for _, found := range codeSpan.FindAllStringSubmatch(cell, -1) {
		list = append(list, found[1])
	}
	return list
}

// proof returns the text of a case, a script or a file of tests that has a test; "" if it does not exist.
func proof(t *testing.T, name string) string {
	t.Helper()
	pkg, test, isTest := strings.Cut(name, ": ")
	pattern := filepath.Join("testdata", name+".txtar")
	if script, ok := strings.CutPrefix(name, "cli/"); ok {
		pattern = filepath.Join("..", "internal", "cli", "testdata", script+".txtar")
	}
	if other, ok := strings.CutPrefix(name, "providers/"); ok && strings.Contains(other, "/") {
		pattern = filepath.Join("providers", "testdata", other+".txtar")
	}
	if isTest {
		pattern = filepath.Join("..", filepath.FromSlash(pkg), "*_test.go")
	}
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !isTest || strings.Contains(string(text), "func "+test+"(") {
			return string(text)
		}
	}
	return ""
}

// The tables of docs/newer.md that list features one by one name a proof for each, and the words of the feature are in
// it.
func TestEveryNewerFeatureHasAProof(t *testing.T) {
	page, err := os.ReadFile("../docs/newer.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tables, found := strings.Cut(string(page), "\n## One by one\n")
	if !found {
		t.Fatal("docs/newer.md has no section that lists features one by one")
	}
	rows := 0
	for line := range strings.SplitSeq(tables, "\n") {
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| feature") {
			continue
		}
		if len(cells) != 3 {
			t.Errorf("%q has %d cells, want a feature, words and a proof", line, len(cells))
			continue
		}
		rows++
		words, proofs := spans(cells[1]), spans(cells[2])
		if len(words) == 0 || len(proofs) == 0 {
			t.Errorf("%q names no words, or no proof", line)
		}
		var text strings.Builder
		for _, name := range proofs {
			one := proof(t, name)
			if one == "" {
				t.Errorf("%s: there is no proof %s", strings.TrimSpace(cells[0]), name)
			}
			text.WriteString(one)
		}
		for _, word := range words {
			if !strings.Contains(text.String(), word) {
				t.Errorf("%s: %v do not mention %s", strings.TrimSpace(cells[0]), proofs, word)
			}
		}
	}
	if rows < 90 {
		t.Errorf("%d features are listed, expected at least 90", rows)
	}
}
