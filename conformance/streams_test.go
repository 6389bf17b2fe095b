package conformance

import (
	"slices"
	"testing"
)

// OpenTofu reports a file after it has ended, with its result first. Our events are sorted in that order.
func TestResultsOfFilesComeFirstForOpenTofu(t *testing.T) {
	event := func(kind, file, run, progress string) any {
		about := map[string]any{}
		if progress != "" {
			about["progress"] = progress
		}
		return map[string]any{"type": kind, "@testfile": file, "@testrun": run, kind: about}
	}
	got := resultsFirst([]any{
		event("test_abstract", "", "", ""), event("test_file", "a", "", "starting"),
		event("test_run", "a", "r", "starting"), event("test_run", "a", "r", "complete"),
		map[string]any{"file": "a", "run": "r", "diagnostic": "error"}, event("test_file", "a", "", "teardown"),
		event("test_file", "a", "", "complete"), event("test_file", "b", "", "complete"),
	})
	want := []any{
		event("test_abstract", "", "", ""), event("test_file", "a", "", ""), event("test_run", "a", "r", ""),
		map[string]any{"file": "a", "run": "r", "diagnostic": "error"}, event("test_file", "b", "", ""),
	}
	if compact(got) != compact(want) {
		t.Errorf("got %s, want %s", compact(got), compact(want))
	}
}

// An event that one side lacks is one difference, and does not shift others; a different order is reported separately.
func TestEventsAreComparedBySubject(t *testing.T) {
	event := func(run, message string) any {
		return map[string]any{"type": "test_run", "@testfile": "a", "@testrun": run, "@message": message}
	}
	warning := map[string]any{"file": "a", "run": "r2", "diagnostic": "warning", "@level": "warn"}
	other := map[string]any{"file": "a", "run": "r2", "diagnostic": "error", "@level": "warn"}
	one, two, end := event("r1", "pass"), event("r2", "skip"), event("r2", "end")
	for what, c := range map[string]struct {
		a, b []any
		want []string
	}{
		"alike":     {[]any{one, one, warning}, []any{one, one, warning}, nil},
		"missing":   {[]any{one, warning, two, end}, []any{one, two, end}, []string{"stream[diagnostic of a r2]"}},
		"more":      {[]any{one}, []any{one, one}, []string{"stream[test_run a r1 pass #2]"}},
		"different": {[]any{one, warning}, []any{one, other}, []string{"stream[diagnostic of a r2].diagnostic"}},
		"order": {[]any{one, two, end}, []any{two, one, warning}, []string{"stream.(order)",
			"stream[diagnostic of a r2]", "stream[test_run a r2 end]"}},
	} {
		var paths []string
		for _, d := range compareEvents(Document{"stream": c.a}, Document{"stream": c.b}) {
			paths = append(paths, d.Path)
		}
		if slices.Sort(paths); !slices.Equal(paths, c.want) {
			t.Errorf("%s: %q", what, paths)
		}
	}
}
