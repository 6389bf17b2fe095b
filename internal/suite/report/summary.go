package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/suite"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// Table returns a line for each file, with the number of runs by status and their duration, followed by a line for each
// failed run and for the slowest ones. For a single run it returns "".
func Table(r *suite.Result) string {
	runs := 0
	names := make([]string, len(r.Files))
	for i, f := range r.Files {
		runs += len(f.Runs)
		names[i] = view.CleanLine(f.File.Name)
	}
	if runs < 2 {
		return ""
	}
	longest := 0
	for _, name := range names {
		longest = max(longest, len(name))
	}
	slow := slowest(r)
	var b strings.Builder
	b.WriteString("\n")
	for i, f := range r.Files {
		fmt.Fprintf(&b, "%-*s  %s\n", longest, names[i], ended(f))
		for _, o := range f.Runs {
			switch {
			case o.Status == suite.Fail || o.Status == suite.Error:
				fmt.Fprintf(&b, "  failed: run %q (%s)\n", o.Run.Name, durationText(o.Elapsed))
			case slices.Contains(slow, o):
				fmt.Fprintf(&b, "  slow: run %q (%s)\n", o.Run.Name, durationText(o.Elapsed))
			}
		}
	}
	return b.String()
}

// ended returns the number of runs of a file by status, and their total duration.
func ended(f *suite.FileResult) string {
	counts, sum := map[string]int{}, time.Duration(0)
	for _, o := range f.Runs {
		kind := "skipped"
		switch o.Status {
		case suite.Pass:
			kind = "passed"
		case suite.Fail, suite.Error:
			kind = "failed"
		}
		counts[kind]++
		sum += o.Elapsed
	}
	var parts []string
	for _, kind := range []string{"passed", "failed", "skipped"} {
		if n := counts[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if len(parts) == 0 {
		return "no runs"
	}
	return strings.Join(parts, ", ") + " in " + durationText(sum)
}

// Thresholds for listing a run as slow.
const (
	slowRuns = 3
	slowFrom = 5 * time.Second
)

// slowest returns the slowest runs.
func slowest(r *suite.Result) (out []*suite.Outcome) {
	for _, f := range r.Files {
		for _, o := range f.Runs {
			if o.Elapsed >= slowFrom {
				out = append(out, o)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *suite.Outcome) int { return int(b.Elapsed - a.Elapsed) })
	return out[:min(len(out), slowRuns)]
}

// durationText returns a duration for people.
func durationText(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
