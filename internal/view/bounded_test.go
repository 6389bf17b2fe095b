package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/diag"
)

// Among any diagnostics of several kinds, each is either shown, in order, or counted.
func TestBoundedShowsOrCountsEach(t *testing.T) {
	for _, n := range []int{0, 1, 49, 50, 51, 52, 2000} {
		var list diag.List
		for i := range n {
			at := &hcl.Range{Filename: "main.tf", Start: hcl.Pos{Line: i + 1}}
			list = list.Errorf(at, "Many", "Number %d.", i)
			list = list.Warnf(nil, "Many", "Number %d.", i)
			if i < 10 {
				list = list.Errorf(at, "Few", "Number %d.", i)
			}
		}
		got := bounded(list, nil)
		shown, more := map[string]int{}, 0
		for _, d := range got {
			shown[d.Severity.String()+" "+d.Summary]++
		}
		if n > mostOfKind {
			more = 1
			title := fmt.Sprintf("Many (and %d more like this)", n-mostOfKind)
			if shown["error "+title] != 1 || shown["warning "+title] != 1 {
				t.Errorf("%d of a kind: the others are not counted: %v", n, shown)
			}
		}
		want := 2*(min(n, mostOfKind)+more) + min(n, 10)
		if len(got) != want || shown["error Many"] != min(n, mostOfKind) || shown["error Few"] != min(n, 10) {
			t.Errorf("%d of a kind: got %d diagnostics %v, want %d", n, len(got), shown, want)
		}
	}
}

// All failures of a user's checks are shown, regardless of their number.
func TestBoundedKeepsDiagnosticsThatStandApart(t *testing.T) {
	var list diag.List
	for range 3 * mostOfKind {
		list = list.Warnf(nil, "Check failed", "")
	}
	if got := bounded(list, func(*diag.Diagnostic) bool { return true }); len(got) != len(list) {
		t.Errorf("got %d diagnostics, want %d", len(got), len(list))
	}
}

// Both the text and the JSON lines are bounded. Grouped warnings are counted as before.
func TestViewsBoundWhatTheyShow(t *testing.T) {
	var list diag.List
	for i := range 2000 {
		list = list.Errorf(nil, "Unsupported argument", "Number %d.", i)
		list = list.Warnf(&hcl.Range{Filename: "main.tf", Start: hcl.Pos{Line: i + 1}}, "Deprecated", "")
	}
	text := Diagnostics(Options{Width: 120}, list)
	var out bytes.Buffer
	(&lines{o: Options{Out: &out}}).Diagnostics(list.OnlyErrors())
	for name, got := range map[string]string{"text": text, "json": out.String()} {
		n := strings.Count(got, "Number ")
		if n != mostOfKind || !strings.Contains(got, "Unsupported argument (and 1950 more like this)") {
			t.Errorf("%s: %d shown, want %d and a count of the others:\n%.2000s", name, n, mostOfKind, got)
		}
	}
	if !strings.Contains(text, "(and 1999 more similar warnings elsewhere)") {
		t.Errorf("folded warnings are not counted:\n%.2000s", text)
	}
}
