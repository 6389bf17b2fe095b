package view

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// reasons explains briefly why objects are destroyed or replaced.
type reasons struct {
	w *planWriter
	// counts holds, by resource, its present number of instances.
	counts map[addr.AbsResource]int
	// followers holds, by resource, the changes whose configuration depends on it.
	followers map[addr.ConfigResource][]*plan.Change
}

func (r *reasons) why(c *plan.Change) string {
	a := c.Object.Instance
	if c.Object.Deposed != "" {
		return "remains from an unfinished replacement"
	}
	switch c.Reason {
	case plan.DeleteBecauseNoResource:
		return "no longer configured"
	case plan.DeleteBecauseNoModule:
		return clean(a.Module.String()) + " is no longer configured"
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
		return "a change in replace_triggered_by"
	}
	if c.Action.IsReplace() {
		return r.forcing(c)
	}
	if c.Action == plan.Forget {
		return "not destroyed: destroy = false"
	}
	return ""
}

// forcing returns the first two of the differences that made an update impossible.
func (r *reasons) forcing(c *plan.Change) string {
	var found []lossCause
	compareBlock(r.w.schema(c), r.w.sides(c), nil).forcing("", &found)
	var parts []string
	for i, f := range found {
		if i == 2 {
			parts = append(parts, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		parts = append(parts, r.w.name(f.path)+": "+f.text(&r.w.renderer))
	}
	return strings.Join(parts, ", ")
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
		return oneSide(n.before) + " -> " + oneSide(n.after)
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
	if len(parts) == 0 {
		return "changes"
	}
	return strings.Join(parts, ", ")
}

// oneSide writes a scalar in a few characters, without its middle if it is longer.
func oneSide(v cty.Value) string {
	const most = 30
	if isAbsent(v) {
		return "null"
	}
	text := literal(v)
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	return string(runes[:most/2]) + "..." + string(runes[len(runes)-most/2+3:])
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

// followers returns, by resource, the updates and replacements whose configuration is unknown until the resource has
// changed. An attribute that a provider cannot compute is unknown only for that reason.
func followers(changes []*plan.Change, schema func(*plan.Change) *provider.Block,
) map[addr.ConfigResource][]*plan.Change {
	by := map[addr.ConfigResource][]*plan.Change{}
	for _, c := range changes {
		if c.Action != plan.Update && !c.Action.IsReplace() || len(c.Dependencies) == 0 || !waits(schema(c), c) {
			continue
		}
		for _, d := range c.Dependencies {
			by[d] = append(by[d], c)
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
	resource := row.changes[0].Object.Instance.AbsResource()
	list := slices.DeleteFunc(slices.Clone(r.followers[resource.Config()]), func(c *plan.Change) bool {
		return c.Object.Instance.AbsResource() == resource
	})
	if len(list) == 0 {
		return ""
	}
	const shown = 3
	var names []string
	verb := "changes"
	groups := rows(list, func(*plan.Change) string { return "" })
	for i := range groups {
		if i == shown {
			names = append(names, fmt.Sprintf("%d more", left(groups[i:])))
			break
		}
		names = append(names, groups[i].address())
	}
	if len(list) > 1 {
		verb = "change"
	}
	return "(" + inWords(names) + " " + verb + " with it)"
}

// causes returns the names of the objects whose changes are the only reason for an update, or "" if the object's own
// configuration has changed too or the reason is not known.
func (w *planWriter) causes(c *plan.Change, n *blockNode) string {
	if c.Action != plan.Update || !n.onlyWaits(w.schema(c)) {
		return ""
	}
	const shown = 3
	var names []string
	for _, d := range c.Dependencies {
		if w.changing[d] {
			names = append(names, clean(d.String()))
		}
	}
	if len(names) > shown {
		names = append(names[:shown], fmt.Sprintf("%d more", len(names)-shown))
	}
	return inWords(names)
}

// onlyWaits reports whether all differences in the parts that a configuration decides are unknown values.
func (n *blockNode) onlyWaits(b *provider.Block) bool {
	some := false
	for i, a := range n.attributes {
		schema := b.Attributes[n.names[i]]
		switch {
		case a.op == same, a.kind == unknown && schema.Computed: // decided by the provider
		case !a.onlyWaits():
			return false
		default:
			some = true
		}
	}
	for _, g := range n.groups {
		if g.pending {
			return false
		}
		for _, block := range g.blocks {
			if block.op != same {
				return false
			}
		}
	}
	return some
}

func (n *node) onlyWaits() bool {
	if n.op == same || n.kind == unknown {
		return true
	}
	if n.op != update || n.kind == bag || len(n.children) == 0 {
		return false
	}
	return !slices.ContainsFunc(n.children, func(c *node) bool { return !c.onlyWaits() })
}

// changing returns the resources that a plan changes, and whose dependents may therefore have unknown values.
func changing(changes []*plan.Change) map[addr.ConfigResource]bool {
	some := make(map[addr.ConfigResource]bool, len(changes))
	for _, c := range changes {
		if fateOf(c) <= created && c.Action != plan.Delete && c.Action != plan.Forget || c.Action == plan.Read {
			some[c.Object.Instance.AbsResource().Config()] = true
		}
	}
	return some
}

// deletedOutside returns the objects that the plan's refresh did not find any more.
func deletedOutside(p *plan.Plan) map[addr.Object]bool {
	gone := map[addr.Object]bool{}
	for _, c := range p.Drift {
		if c.Action == plan.Delete {
			gone[c.Object] = true
		}
	}
	return gone
}

// again returns why an object is created that existed after the last apply, or "" for a new one.
func (w *planWriter) again(c *plan.Change) string {
	if c.Action == plan.Create && w.gone[c.Object] {
		return "deleted outside of " + w.o.title()
	}
	return ""
}

// inWords joins names as in a sentence.
func inWords(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
