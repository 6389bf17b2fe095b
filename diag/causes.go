package diag

import (
	"strings"

	"github.com/tombolo-iac/tombolo/internal/regex"
)

// Causes returns the problems that a person has to read: those that are no consequences of others. A consequence is
// marked as one; or it is a problem of what a file means, although the file cannot be parsed; or it says that an
// argument is missing that is there under a misspelt name, or that each or count is not there, whose argument has a
// misspelt name.
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

// unreadable reports whether a problem means that the parser has lost a part of the text.
func (d *Diagnostic) unreadable() bool {
	return d.Severity == Error && d.syntax && d.kind().Role != Whole
}

var meant = regex.Lazy(`Did you mean "([^"]+)"\?`)

// misspelt returns the problems that say that an argument is missing which an unknown one probably is: the nearest ones
// above those.
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

// withoutRepetition finds the references to each and count below an unknown argument that is probably for_each or
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
