package diag

import (
	"fmt"
	"strings"
)

// Limits for the problems of one answer: more of a severity, or longer texts, are left out.
const (
	MaxOfAnswer = 1000
	MaxText     = 256 << 10
)

// OfAnswer collects the problems that a provider or program reports in one answer, and counts those that it leaves out.
// The zero value is ready to use.
type OfAnswer struct {
	list  List
	count [2]int // by severity
}

// Add adds a problem, unless it already has MaxOfAnswer of the severity.
func (o *OfAnswer) Add(d *Diagnostic) {
	at := severityIndex(d.Severity)
	if o.count[at]++; o.count[at] <= MaxOfAnswer {
		o.list = append(o.list, d)
	}
}

// List returns the problems, and one problem more for each severity of which some were left out. Its title begins with
// who reported them, such as "The provider".
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

// Shortened cuts a text that is too long to be read, and marks the cut.
func Shortened(s string) string {
	if len(s) <= MaxText {
		return s
	}
	return strings.ToValidUTF8(s[:MaxText], "") + fmt.Sprintf("... (%d bytes more)", len(s)-MaxText)
}
