package conformance

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// noPlace is the location of a problem that Terraform reports with an empty one, "on line 0", such as that of a
// variable's default in a module.
const noPlace = " @ :0:0"

// placed removes from both documents the problems that have an empty location in Terraform and a real one in ours.
func placed(terraform, tombolo Document) {
	theirs := texts(terraform["diagnostics"])
	for _, one := range theirs {
		head, ok := strings.CutSuffix(one, noPlace)
		if !ok {
			continue
		}
		for _, part := range []string{"diagnostics", "text diagnostics"} {
			ours := func(text string) bool {
				return strings.HasPrefix(text, head+" @ ") && !slices.Contains(texts(terraform[part]), text)
			}
			if !slices.ContainsFunc(texts(tombolo[part]), ours) {
				continue
			}
			drop(tombolo, part, ours)
			drop(terraform, part, func(text string) bool {
				return text == one || strings.HasPrefix(text, head+" (") // the stream that a text was written to
			})
		}
	}
}

func texts(list any) (all []string) {
	members, _ := list.([]any)
	for _, m := range members {
		if text, ok := m.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

func drop(d Document, part string, unwanted func(string) bool) {
	left := []any{}
	for _, text := range texts(d[part]) {
		if !unwanted(text) {
			left = append(left, text)
		}
	}
	d[part] = left
}

func TestProblemsWithoutALocationAreMatched(t *testing.T) {
	terraform := Document{"diagnostics": []any{"error: A @ :0:0", "error: A @ a.tf:1:1", "error: B @ :0:0"},
		"text diagnostics": []any{"error: A (stderr)", "error: A @ a.tf:1 (stderr)", "error: B (stderr)"}}
	tombolo := Document{"diagnostics": []any{"error: A @ a.tf:1:1", "error: A @ b.tf:2:1", "error: C @ b.tf:2:1"},
		"text diagnostics": []any{"error: A @ a.tf:1 (stderr)", "error: A @ b.tf:2 (stderr)"}}
	placed(terraform, tombolo)
	want := Document{"diagnostics": []any{"error: A @ a.tf:1:1", "error: B @ :0:0"},
		"text diagnostics": []any{"error: A @ a.tf:1 (stderr)", "error: B (stderr)"}}
	if diff := cmp.Diff(want, terraform); diff != "" {
		t.Errorf("theirs (-want +got):\n%s", diff)
	}
	want = Document{"diagnostics": []any{"error: A @ a.tf:1:1", "error: C @ b.tf:2:1"},
		"text diagnostics": []any{"error: A @ a.tf:1 (stderr)"}}
	if diff := cmp.Diff(want, tombolo); diff != "" {
		t.Errorf("ours (-want +got):\n%s", diff)
	}
}
