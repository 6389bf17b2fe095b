package team

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var proof = regexp.MustCompile("`(?:([a-z/]+): )?(Test[A-Za-z]+)`")

// Every test in the table of failures exists.
func TestTheTableOfFailuresNamesTests(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## States that a team shares")
	table, _, _ = strings.Cut(table, "\n## ")
	places := []string{"", "pg", "s3", "httpstore", "program", "", ""}
	named := 0
	for _, line := range strings.Split(table, "\n") {
		for column, cell := range strings.Split(strings.Trim(line, "|"), " | ") {
			for _, name := range proof.FindAllStringSubmatch(cell, -1) {
				named++
				dir := name[1]
				if dir == "" {
					dir = "internal/store/" + places[min(column, len(places)-1)]
				}
				if !hasTest(t, filepath.Join("../..", dir), name[2]) {
					t.Errorf("there is no %s in %s", name[2], dir)
				}
			}
		}
	}
	if named < 50 {
		t.Errorf("the table names %d tests", named)
	}
}

// hasTest reports whether a test is in a directory.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
