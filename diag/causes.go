package diag

import (
	"strings"

	"github.com/tombolo-iac/tombolo/internal/regex"
)

// Causes returns the problems that are not consequences of others. A problem is a consequence if it is marked as one;
// if it is about the meaning of a file that cannot be parsed; if it reports a missing argument that is there with a
// misspelt name; or if it reports that each or count is not available, where for_each or count is misspelt.
func (l List) Causes() List {
	unreadable := map[string]bool{}
	for _, d := range l {
		if d.Subject != nil && d.unreadable() {
			unreadable[d.Subject.Filename] = true
		}
	}
	misspelt := l.misspelt()
	var out List
	for _, d := range l {
		meaning := d.Severity == Error && d.Subject != nil && unreadable[d.Subject.Filename] &&
			!d.syntax
		if !d.Follows && !meaning && !misspelt[d] {
			out = append(out, d)
		}
	}
	return out
}

// unreadable reports whether a problem means that the parser skipped a part of the text.
func (d *Diagnostic) unreadable() bool {
	return d.Severity == Error && d.syntax && d.kind().Role != Whole
}

var meant = regex.Lazy(`Did you mean "([^"]+)"\?`)

// misspelt returns the problems about a missing argument that an unknown argument is probably meant to be: the nearest
// such problems for each unknown argument.
func (l List) misspelt() map[*Diagnostic]bool {
	found := map[*Diagnostic]bool{}
	for _, u := range l {
		name := meant().FindStringSubmatch(u.Detail)
		if u.kind().Role != Unknown || name == nil || u.Subject == nil {
			continue
		}
		if name[1] == "for_each" || name[1] == "count" {
			l.withoutRepetition(u, found)
		}
		var nearest *Diagnostic
		for _, d := range l {
			if d.kind().Role == Absent && d.Subject != nil && !found[d] &&
				d.Subject.Filename == u.Subject.Filename && d.Subject.Start.Line <= u.Subject.Start.Line &&
				strings.Contains(d.Detail, `"`+name[1]+`"`) &&
				(nearest == nil || d.Subject.Start.Line > nearest.Subject.Start.Line) {
				nearest = d
			}
		}
		if nearest != nil {
			found[nearest] = true
		}
	}
	return found
}

// withoutRepetition finds the references to each and count in a block whose unknown argument is probably for_each or
// count.
func (l List) withoutRepetition(u *Diagnostic, found map[*Diagnostic]bool) {
	for _, d := range l {
		if d.Subject == nil || d.Subject.Filename != u.Subject.Filename || d.Within != u.Within ||
			d.Subject.Start.Line <= u.Subject.Start.Line {
			continue
		}
		if d.kind().Role == Unrepeated {
			found[d] = true
		}
	}
}
