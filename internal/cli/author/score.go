package author

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/suite/report"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/provider/providertest"
)

// score counts results, and holds the program's messages since the last result.
type score struct {
	passed, failed int
	seen           map[string]string // the first check with these problems
	cases          []report.Case
	since          time.Time // the end of the last check

	mu    sync.Mutex
	lines []string
}

// mostLines is the maximum number of the program's lines to print with a failed check.
const mostLines = 20

// newScore returns an empty score, and the function that takes the program's messages.
func newScore() (*score, func(handler.Output)) {
	s := &score{seen: map[string]string{}, since: time.Now()}
	return s, s.listen
}

func (s *score) listen(o handler.Output) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines = append(s.lines, view.Clean(o.Line)); len(s.lines) > 2*mostLines {
		s.lines = slices.Clone(s.lines[mostLines:])
	}
}

// takeLines returns the last lines and clears them.
func (s *score) takeLines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	return lines[max(0, len(lines)-mostLines):]
}

// add counts a result and prints it.
func (s *score) add(c *command.Call, r providertest.Result) {
	printed := s.takeLines()
	s.record(r, printed)
	switch {
	case r.Skipped != "":
		fmt.Fprintf(c.Out, "skip  %s: %s\n", r.Name, indented(r.Skipped))
	case len(r.Problems) == 0:
		s.passed++
		fmt.Fprintf(c.Out, "ok    %s\n", r.Name)
	default:
		s.failed++
		s.show(c, r, printed)
	}
}

// show prints a failed check. It does not repeat problems of earlier checks: often one mistake fails all of them.
func (s *score) show(c *command.Call, r providertest.Result, printed []string) {
	var list []string
	times := map[string]int{}
	for _, p := range r.Problems {
		if times[p]++; times[p] == 1 {
			list = append(list, p)
		}
	}
	all := strings.Join(list, "\n")
	if before := s.seen[all]; before != "" {
		fmt.Fprintf(c.Out, "FAIL  %s: same as %q above\n", r.Name, before)
		return
	}
	s.seen[all] = r.Name
	fmt.Fprintf(c.Out, "FAIL  %s\n", r.Name)
	for _, p := range list {
		if times[p] > 1 {
			p = fmt.Sprintf("%s (%d times)", p, times[p])
		}
		fmt.Fprintf(c.Out, "      %s\n", indented(p))
	}
	printed = slices.DeleteFunc(printed, func(line string) bool {
		return strings.Contains(all, strings.TrimSpace(line))
	})
	if len(printed) > 0 {
		fmt.Fprintf(c.Out, "      The program wrote:\n")
	}
	for _, line := range printed {
		fmt.Fprintf(c.Out, "        %s\n", line)
	}
}

// record adds a result to those for the JUnit document.
func (s *score) record(r providertest.Result, printed []string) {
	now := time.Now()
	s.cases = append(s.cases, report.Case{Name: r.Name, Elapsed: now.Sub(s.since), Skipped: r.Skipped,
		Problems: r.Problems, Output: strings.Join(printed, "\n")})
	s.since = now
}

// junit writes the results to a file in JUnit format; "" means no file.
func (s *score) junit(name, provider string) (diags diag.List) {
	if name == "" {
		return nil
	}
	text, err := report.JUnitOfCases(provider, s.cases)
	if err == nil {
		err = replace.File(name, 0o666, func(w io.Writer) error { _, err := w.Write(text); return err })
	}
	return diags.AppendError("The JUnit document cannot be written", err)
}
