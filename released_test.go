package tombolo_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/diag"
)

var release = flag.String("release", "", "record the codes of problems as those of this release")

// The folder with a list of codes for each release, and the file in it with reworded titles.
const (
	recorded = "diag/released"
	reworded = "reworded.txt"
)

// line returns a kind as a line of the register and of the lists of releases.
func line(k diag.Kind) string {
	says := ""
	if k.Says != "" {
		says = " ~ " + k.Says
	}
	return k.Code + " " + k.Title + says
}

// TestReleasedCodesStay compares the register of codes with the lists of all releases: scripts and searches depend on
// codes. A code never vanishes (it is retired), and never gets another meaning. If only the words of a title change,
// add its former line to reworded.txt by hand, after you checked that the meaning is the same.
//
// go test . -run ReleasedCodes -release=VERSION records the codes of a release.
func TestReleasedCodesStay(t *testing.T) {
	now := map[string]diag.Kind{}
	var list strings.Builder
	for _, k := range diag.Kinds() {
		now[k.Code] = k
		fmt.Fprintln(&list, line(k))
	}
	if *release != "" {
		name := filepath.Join(recorded, *release+".txt")
		if _, err := os.Stat(name); err == nil {
			t.Fatalf("%s exists: what was released stays", name)
		}
		if err := os.WriteFile(name, []byte(list.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	names, err := filepath.Glob(filepath.Join(recorded, "*.txt"))
	if err != nil || len(names) < 2 {
		t.Fatalf("lists of codes: %q (%v)", names, err)
	}
	words := readLines(t, filepath.Join(recorded, reworded))
	for _, name := range names {
		if filepath.Base(name) == reworded {
			continue
		}
		codes := readLines(t, name)
		if len(codes) < 900 {
			t.Errorf("%s has %d codes only", name, len(codes))
		}
		for _, problem := range lostCodes(codes, words, now) {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// readLines returns the lines of a file that have a code, without repetition.
func readLines(t *testing.T, name string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for l := range strings.Lines(string(text)) {
		if l = strings.TrimSpace(l); strings.HasPrefix(l, "TB") {
			lines[l] = true
		}
	}
	return lines
}

// lostCodes returns the problems of released codes that vanished or changed.
func lostCodes(released, words map[string]bool, now map[string]diag.Kind) (problems []string) {
	for l := range released {
		code, _, _ := strings.Cut(l, " ")
		k, ok := now[code]
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf("%s is gone: let it retire", code))
		case line(k) != l && !words[l]:
			problems = append(problems, fmt.Sprintf("%q is now %q: give it a new code, or, if it means the same, "+
				"add the former line to %s", l, line(k), reworded))
		}
	}
	return problems
}

// Every release in the changelog has a list of codes.
func TestEveryReleaseHasItsCodes(t *testing.T) {
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^## (\d\S*)`).FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join(recorded, m[1]+".txt")); err != nil {
			t.Errorf("run go test . -run ReleasedCodes -release=%s (%v)", m[1], err)
		}
	}
}

// lostCodes reports codes that vanish and codes that change, and accepts all others.
func TestLostCodesAreFound(t *testing.T) {
	now := map[string]diag.Kind{"TB0001": {Code: "TB0001", Title: "A"}, "TB0002": {Code: "TB0002", Title: "New"},
		"TB0003": {Code: "TB0003", Title: "C", Retired: true}, "TB0009": {Code: "TB0009", Title: "Added"},
		"TB0005": {Code: "TB0005", Title: "E", Says: "other"}}
	words := map[string]bool{"TB0002 Old": true}
	for l, want := range map[string]bool{"TB0001 A": false, "TB0001 B": true, "TB0002 Old": false, "TB0002 Older": true,
		"TB0003 C": false, "TB0004 D": true, "TB0005 E ~ some": true, "TB0005 E": true} {
		if got := lostCodes(map[string]bool{l: true}, words, now); len(got) > 0 != want {
			t.Errorf("%s: %q", l, got)
		}
	}
}
