package view

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/internal/view/nearby"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// reasons explains briefly why objects are destroyed or replaced.
type reasons struct {
	w *planWriter
	// counts holds, by resource, its present number of instances.
	counts map[addr.AbsResource]int
	// modules are the module instances that still have objects, also without their last keys.
	modules map[addr.ModuleInstance]bool
	// followers holds, by the last of the replaced objects that they may depend on, the changes that depend on these.
	followers map[*plan.Change][]follower
}

func (w *planWriter) reasons(p *plan.Plan, changes []*plan.Change) reasons {
	r := reasons{w: w, counts: countsOf(p), followers: followers(changes, w.schema)}
	if !p.Partial() && !p.Errored && len(p.LeftOut)+len(p.Deferred) == 0 {
		r.modules = remaining(p)
	}
	return r
}

// follower is a change whose configuration depends on replaced objects, one or several of a resource.
type follower struct {
	change *plan.Change
	of     int
}

func (r *reasons) why(c *plan.Change) string {
	if c.Object.Deposed != "" {
		return "remains from an unfinished replacement"
	}
	if c.Action == plan.Forget && (c.Reason == plan.DeleteBecauseNoResource || c.Reason == plan.DeleteBecauseNoModule) {
		return notDestroyed
	}
	if why := r.base(c); why != "" || c.Action != plan.Forget {
		return why
	}
	return notDestroyed
}

const notDestroyed = "not destroyed: destroy = false"

// base returns the reason of why, without that a forgotten object is not destroyed.
func (r *reasons) base(c *plan.Change) string {
	a := c.Object.Instance
	switch c.Reason {
	case plan.DeleteBecauseNoResource:
		return "no longer configured"
	case plan.DeleteBecauseNoModule:
		return r.noModule(a.Module)
	case plan.DeleteBecauseEachKey:
		return "no longer a key of for_each"
	case plan.DeleteBecauseCountIndex:
		if n, ok := r.counts[a.AbsResource()]; ok {
			return fmt.Sprintf("count is now %d", n)
		}
		return "the index is not below count"
	case plan.DeleteBecauseWrongRepetition:
		return strings.TrimPrefix(reasonText(c), "because ")
	case plan.DeleteBecauseDisabled:
		return "enabled is now false"
	case plan.DeleteBecauseNoMoveTarget:
		return strings.TrimPrefix(reasonText(c), "because ")
	case plan.ReplaceBecauseTainted:
		return "tainted"
	case plan.ReplaceByRequest:
		return "requested by -replace"
	case plan.ReplaceByTriggers:
		if by := r.w.triggeredBy(c); by != "" {
			return by + " (replace_triggered_by)"
		}
		return "a change in replace_triggered_by"
	}
	if c.Action.IsReplace() {
		return r.forcing(c)
	}
	return ""
}

// noModule explains why a module instance does not exist any more. Other instances of the same call show that only its
// key is gone.
func (r *reasons) noModule(m addr.ModuleInstance) string {
	steps := m.Steps()
	for i, s := range steps {
		parent := addr.ModuleInstanceOf(steps[:i]...)
		if r.modules[parent.Child(s.Call, s.Key)] {
			continue // this one still exists
		}
		call := clean(parent.Child(s.Call, addr.NoKey).String())
		switch _, number := s.Key.Int(); {
		case !r.modules[parent.Child(s.Call, addr.NoKey)]:
		case number:
			return fmt.Sprintf("count of %s is lower now", call)
		case !s.Key.IsNone():
			return clean(s.Key.String()) + " is no longer a key of for_each of " + call
		}
		break
	}
	return clean(m.String()) + " is no longer configured"
}

// remaining returns the module instances with objects that a plan keeps, also without the keys of their last calls.
func remaining(p *plan.Plan) map[addr.ModuleInstance]bool {
	modules := map[addr.ModuleInstance]bool{}
	for _, c := range p.Changes {
		if c.Action == plan.Delete || c.Action == plan.Forget {
			continue
		}
		for m := c.Object.Instance.Module; !m.IsRoot() && !modules[m]; {
			modules[m] = true
			parent, last, _ := m.Parent()
			modules[parent.Child(last.Call, addr.NoKey)] = true
			m = parent
		}
	}
	return modules
}

// forcing returns the first two of the differences that made an update impossible.
func (r *reasons) forcing(c *plan.Change) string {
	var found []lossCause
	compareBlock(r.w.schema(c), r.w.sides(c), nil).forcing("", &found)
	var parts []string
	for _, f := range found {
		parts = append(parts, r.w.name(f.path)+": "+f.text(&r.w.renderer))
	}
	return firstTwo(parts)
}

func firstTwo(parts []string) string {
	if more := len(parts) - 2; more > 0 {
		parts = append(parts[:2:2], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// triggeredBy describes the first two of the changes that replace an object by replace_triggered_by, or returns "" if
// the plan does not record them.
func (w *planWriter) triggeredBy(c *plan.Change) string {
	var parts []string
	for _, t := range c.Triggers {
		name := t.Instance.String() + value.FormatPath(t.Path)
		if t.All {
			name = t.Instance.AbsResource().String()
		}
		text, known := w.triggers[name]
		if !known {
			text = w.triggerText(t, name)
			w.triggers[name] = text
		}
		parts = append(parts, text)
	}
	return firstTwo(parts)
}

func (w *planWriter) triggerText(t plan.ReplaceTrigger, name string) string {
	sources := w.sources.Of(t)
	switch {
	case len(sources) == 0:
		return clean(w.name(name)) + " changes"
	case len(t.Path) == 0:
		if slices.ContainsFunc(sources, func(c *plan.Change) bool { return !c.Action.IsReplace() }) {
			return change(sources)
		}
		return happens(sources, "is replaced", "are replaced")
	}
	source := sources[0]
	sides := w.sides(source)
	sides.replace = pathSetOf([]cty.Path{t.Path})
	var found []lossCause
	compareBlock(w.schema(source), sides, nil).forcing("", &found)
	var parts []string
	for _, f := range found {
		parts = append(parts, clean(source.Object.String())+"."+w.name(f.path)+": "+f.text(&w.renderer))
	}
	if len(parts) == 0 {
		return clean(w.name(name)) + " changes"
	}
	return firstTwo(parts)
}

// lossCause is a difference that forces a replacement.
type lossCause struct {
	path string
	n    *node
}

func (n *blockNode) forcing(path string, found *[]lossCause) {
	for i, a := range n.attributes {
		a.forcing(path+memberName(n.names[i]), found)
	}
	for _, g := range n.groups {
		for i, b := range g.blocks {
			at := path + g.name
			switch {
			case i < len(g.labels) && g.labels[i] != "":
				at += "[" + quoted(g.labels[i]) + "]"
			case len(g.blocks) > 1:
				at += fmt.Sprintf("[%d]", i)
			}
			if b.replace && b.op != same {
				*found = append(*found, lossCause{at, &node{kind: object, op: b.op}})
				continue
			}
			b.forcing(at+".", found)
		}
	}
}

// forcing collects the parts that force a replacement, as precisely as they are known.
func (n *node) forcing(path string, found *[]lossCause) {
	switch {
	case n.op == same:
	case n.replace:
		*found = append(*found, nearest(path, n))
	default:
		for i, c := range n.children {
			c.forcing(path+n.step(i), found)
		}
	}
}

// nearest descends while only one part changes, and returns the innermost such part.
func nearest(path string, n *node) lossCause {
	for n.op == update && n.kind != bag {
		at, changes := 0, 0
		for i, c := range n.children {
			if c.op != same {
				at = i
				changes++
			}
		}
		if changes != 1 || n.kind == sequence && n.children[at].op != update {
			break
		}
		path, n = path+n.step(at), n.children[at]
	}
	return lossCause{path, n}
}

// step returns the path step of the child with index i.
func (n *node) step(i int) string {
	switch n.kind {
	case sequence, bag:
		return fmt.Sprintf("[%d]", i)
	case mapping:
		return "[" + quoted(n.names[i]) + "]"
	}
	return "." + memberName(n.names[i])
}

// text describes a difference in one line.
func (c lossCause) text(r *renderer) string {
	n := c.n
	if n.kind == scalar {
		n = r.conceal(n)
	}
	switch n.kind {
	case scalar:
		return bothSides(n.before, n.after)
	case unknown:
		if n.was != nil && n.was.kind == scalar {
			if was := r.conceal(n.was); was.kind == scalar {
				return oneSide(was.before) + " -> (known after apply)"
			}
			return "(sensitive value) -> (known after apply)"
		}
		return "(known after apply)"
	case secret:
		return "(sensitive value)"
	case writeOnly:
		return "(write-only attribute)"
	case retyped:
		return "a value of another type"
	}
	switch n.op {
	case create:
		return "is set now"
	case remove:
		return "is no longer set"
	}
	var added, gone, other int
	for _, child := range n.children {
		switch child.op {
		case create:
			added++
		case remove:
			gone++
		case update:
			other++
		}
	}
	var parts []string
	for _, p := range []struct {
		n    int
		verb string
	}{{added, "added"}, {gone, "removed"}, {other, "changed"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.verb))
		}
	}
	if len(parts) > 0 && (n.kind == mapping || n.kind == object) {
		if some := n.changedNames(r); some != "" {
			return some
		}
	}
	if len(parts) == 0 {
		return "changes"
	}
	return strings.Join(parts, ", ")
}

// changedNames returns the names of the members that change, if these are few.
func (n *node) changedNames(r *renderer) string {
	const most = 3
	var names []string
	for i, child := range n.children {
		if child.op != same {
			names = append(names, memberName(r.name(n.names[i])))
		}
	}
	if len(names) > most {
		return ""
	}
	verb := " change"
	if len(names) == 1 {
		verb = " changes"
	}
	return inWords(names) + verb
}

// mostOfSide is the maximum number of characters of a scalar in a reason.
const mostOfSide = 30

// bothSides writes a change of a scalar in a few characters. Of long texts, it shows where they begin to differ.
func bothSides(before, after cty.Value) string {
	if !isText(before) || !isText(after) {
		return oneSide(before) + " -> " + oneSide(after)
	}
	const context = 8
	a, b := unitsOf(before.AsString()), unitsOf(after.AsString())
	if max(len(a), len(b)) <= mostOfSide {
		return oneSide(before) + " -> " + oneSide(after)
	}
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	head, tail = max(0, head-context), max(0, tail-context)
	side := func(units []string) string {
		return shortened(units[head:len(units)-tail], head > 0, tail > 0)
	}
	return side(a) + " -> " + side(b)
}

// oneSide writes a scalar in a few characters, without its middle if it is longer.
func oneSide(v cty.Value) string {
	switch {
	case isAbsent(v):
		return "null"
	case isText(v):
		return shortened(unitsOf(v.AsString()), false, false)
	}
	return literal(v)
}

// shortened writes a part of a text, without its middle if it is long. before and after report whether something
// precedes and follows it.
func shortened(units []string, before, after bool) string {
	const end = 10
	text := strings.Join(units, "")
	if len(units) > mostOfSide {
		text = strings.Join(units[:mostOfSide-end], "") + "..." + strings.Join(units[len(units)-end:], "")
	}
	return quoted(ellipsis(before) + text + ellipsis(after))
}

// unitsOf splits a text into characters. The mark of a hidden secret is one.
func unitsOf(text string) []string {
	var units []string
	for text != "" {
		size := len(value.Withholding)
		if !strings.HasPrefix(text, value.Withholding) {
			_, size = utf8.DecodeRuneInString(text)
		}
		units = append(units, text[:size])
		text = text[size:]
	}
	return units
}

// countsOf returns the present number of instances of resources with count. It is not known for a targeted or failed
// plan.
func countsOf(p *plan.Plan) map[addr.AbsResource]int {
	if p.Partial() || p.Errored || len(p.LeftOut)+len(p.Deferred) > 0 {
		return nil
	}
	counts := map[addr.AbsResource]int{}
	for _, c := range p.Changes {
		index, ok := c.Object.Instance.Key.Int()
		if !ok {
			continue
		}
		n := 0
		if c.Action != plan.Delete && c.Action != plan.Forget && c.Object.Deposed == "" {
			n = index + 1
		}
		r := c.Object.Instance.AbsResource()
		counts[r] = max(counts[r], n)
	}
	return counts
}

// followers returns the updates and replacements whose configuration is unknown until replaced objects exist again, and
// the replacements that are triggered by those of other objects. An attribute that a provider cannot compute is unknown
// only for that reason.
func followers(changes []*plan.Change, schema func(*plan.Change) *provider.Block) map[*plan.Change][]follower {
	by := map[*plan.Change][]follower{}
	list := slices.DeleteFunc(slices.Clone(changes), func(c *plan.Change) bool { return !c.Action.IsReplace() })
	replaced, sources := nearby.New(list), nearby.NewSources(list)
	for _, c := range changes {
		if c.Action != plan.Update && !c.Action.IsReplace() {
			continue
		}
		if len(c.Dependencies) == 0 || !waits(schema(c), c) {
			for _, t := range c.Triggers {
				if of := sources.Of(t); len(of) > 0 {
					by[of[len(of)-1]] = append(by[of[len(of)-1]], follower{c, len(of)})
				}
			}
			continue
		}
		for _, d := range c.Dependencies {
			if of := replaced.Of(d, c.Object.Instance.Module); len(of) > 0 && d != c.Object.Instance.Config() {
				last := of[len(of)-1]
				by[last] = append(by[last], follower{c, len(of)})
			}
		}
	}
	return by
}

// waits reports whether a part of an object that only its configuration decides is unknown.
func waits(b *provider.Block, c *plan.Change) bool {
	if c.After.Value == cty.NilVal || c.After.Value.IsNull() || !c.After.Value.IsKnown() {
		return false
	}
	for name, a := range b.Attributes {
		if !a.Computed && c.After.Value.Type().HasAttribute(name) &&
			!ctyfast.WhollyKnown(c.After.Value.GetAttr(name)) {
			return true
		}
	}
	return false
}

// following returns a sentence about the changes that depend on the objects of a row, or "" if there are none.
func (r *reasons) following(row *row) string {
	if row.outcome != replaced {
		return ""
	}
	var exact, vague []*plan.Change
	for _, c := range row.changes {
		for _, f := range r.followers[c] {
			if f.of > len(row.changes) {
				vague = append(vague, f.change) // it depends on objects of other rows, or on these
			} else {
				exact = append(exact, f.change)
			}
		}
	}
	var parts []string
	for _, p := range []struct {
		list []*plan.Change
		with string
	}{{exact, "it"}, {vague, "some of these"}} {
		if len(p.list) > 0 {
			parts = append(parts, change(p.list)+" with "+p.with)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, "; ") + ")"
}

// change returns the first few names of objects that change, with the verb.
func change(list []*plan.Change) string { return happens(list, "changes", "change") }

// happens returns the first few names of objects, with the verb for one of them or for several.
func happens(list []*plan.Change, one, several string) string {
	const shown = 3
	var names []string
	groups := rows(list, func(*plan.Change) string { return "" })
	for i := range groups {
		if i == shown {
			names = append(names, fmt.Sprintf("%d more", left(groups[i:])))
			break
		}
		names = append(names, groups[i].address())
	}
	if len(list) == 1 {
		return inWords(names) + " " + one
	}
	return inWords(names) + " " + several
}

// inWords joins names as in a sentence.
func inWords(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
