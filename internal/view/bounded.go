package view

import (
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
)

// Limits for diagnostics with the same severity and summary: nobody reads two thousand of them.
const (
	mostOfKind = 50 // in full
	mostPlaces = 3  // of those that are counted
)

// sameTitle is the key by which diagnostics are counted together.
type sameTitle struct {
	severity diag.Severity
	summary  string
}

// bounded returns the first diagnostics of each kind, and behind the last of these one diagnostic that counts the
// others. A kind is a severity and a summary. Members for which apart reports true are neither counted nor left out.
// Documents for editors and other programs, such as that of `validate -json`, are not bounded: each has a place there.
func bounded(list diag.List, apart func(*diag.Diagnostic) bool) diag.List {
	if len(list) <= mostOfKind {
		return list
	}
	seen, counted := map[sameTitle]int{}, map[sameTitle]*diag.Diagnostic{}
	left := map[sameTitle][]string{}
	out := make(diag.List, 0, len(list))
	for _, d := range list {
		k := sameTitle{d.Severity, d.Summary}
		if apart != nil && apart(d) {
			out = append(out, d)
			continue
		}
		if seen[k]++; seen[k] <= mostOfKind {
			out = append(out, d)
			continue
		}
		if counted[k] == nil {
			counted[k] = &diag.Diagnostic{Severity: d.Severity}
			out = append(out, counted[k])
		}
		if p := placeOf(d); p != "" && len(left[k]) < mostPlaces {
			left[k] = append(left[k], p)
		}
	}
	for k, d := range counted {
		rest := seen[k] - mostOfKind
		d.Summary = fmt.Sprintf("%s (and %d more like this)", k.summary, rest)
		d.Detail = fmt.Sprintf("%d problems have this title. The first %d of them are shown.", seen[k], mostOfKind)
		if len(left[k]) > 0 {
			d.Detail += " The next are at " + strings.Join(left[k], ", ") + "."
		}
	}
	return out
}

// placeOf returns in a few words where a problem is; "" if it is not known.
func placeOf(d *diag.Diagnostic) string {
	switch {
	case d.Address != "":
		return d.Address
	case d.Subject != nil:
		return fmt.Sprintf("%s line %d", d.Subject.Filename, d.Subject.Start.Line)
	}
	return ""
}
