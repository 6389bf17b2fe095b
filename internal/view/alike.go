package view

import (
	"fmt"

	"github.com/tombolo-iac/tombolo/plan"
)

// worthGrouping is how many instances have to be like the first one before they share its lines.
const worthGrouping = 3

// alike is a change with those that follow it and say the same of other instances.
type alike struct {
	first *plan.Change
	body  string
	more  []*plan.Change
}

// changes writes all changes. For people at a terminal, instances of one resource with equal changes are written once:
// nobody reads ten thousand equal blocks. Other readers get each of them.
func (w *planWriter) changes(list []*plan.Change) {
	var g alike
	for _, c := range list {
		start := w.Len()
		w.WriteByte('\n')
		body := w.change(c)
		if w.o.Size == nil {
			w.flush()
			continue
		}
		text := string(w.Bytes()[start+1+body:])
		if g.first != nil && sameInstances(g.first, c) && g.body == text {
			g.more = append(g.more, c)
			w.Truncate(start)
			continue
		}
		own := string(w.Bytes()[start:])
		w.Truncate(start)
		w.endGroup(&g)
		w.WriteString(own)
		w.flush()
		g = alike{first: c, body: text}
	}
	w.endGroup(&g)
	w.flush()
}

// sameInstances reports whether two changes are of one resource and for one reason, without details of the single
// instance.
func sameInstances(a, b *plan.Change) bool {
	return a.Object.Instance.AbsResource() == b.Object.Instance.AbsResource() && a.Action == b.Action &&
		a.Reason == b.Reason &&
		a.Object.Deposed == "" && b.Object.Deposed == "" && a.Importing == nil && b.Importing == nil && !hasMoved(a) &&
		!hasMoved(b)
}

func (w *planWriter) endGroup(g *alike) {
	if len(g.more) < worthGrouping {
		for _, c := range g.more {
			w.WriteByte('\n')
			w.change(c)
		}
	} else {
		w.remark("%s", w.in(gray, fmt.Sprintf("(and the same for %d more: %s to %s)", len(g.more),
			clean(g.more[0].Object.String()), clean(g.more[len(g.more)-1].Object.String()))))
	}
	g.more = nil
}
