package diag

import (
	"fmt"
	"strings"
)

// Limits for the problems of one answer. Further problems of a severity are left out, and longer texts are cut.
const (
	MaxOfAnswer = 1000
	MaxText     = 256 << 10
)

// OfAnswer collects the problems in an answer of a provider or program, and counts those that it leaves out. The zero
// value is ready for use.
type OfAnswer struct {
	list  List
	count [2]int // by severity
}

// Add adds a problem, unless MaxOfAnswer problems of its severity were already added.
func (o *OfAnswer) Add(d *Diagnostic) {
	at := severityIndex(d.Severity)
	if o.count[at]++; o.count[at] <= MaxOfAnswer {
		o.list = append(o.list, d)
	}
}

// List returns the problems, and one more for each severity that has omitted problems. The title of that one begins
// with who, such as "The provider".
func (o *OfAnswer) List(who string) List {
	list := o.list
	for _, severity := range []Severity{Warning, Error} {
		if n := o.count[severityIndex(severity)]; n > MaxOfAnswer {
			list = append(list, &Diagnostic{Severity: severity, Summary: who + " reported more problems than are shown",
				Detail: fmt.Sprintf(
					"The answer has %d problems of this severity. The first %d of them are shown.", n,
					MaxOfAnswer)})
		}
	}
	return list
}

func severityIndex(s Severity) int {
	if s == Warning {
		return 0
	}
	return 1
}

// Shortened returns s, cut with a mark if it is too long.
func Shortened(s string) string {
	if len(s) <= MaxText {
		return s
	}
	return strings.ToValidUTF8(s[:MaxText], "") + fmt.Sprintf("... (%d bytes more)", len(s)-MaxText)
}
