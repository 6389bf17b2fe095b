package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view/nearby"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// change writes one change: its headline with the object and the reason, and its block. It returns the number of bytes
// before the block.
func (w *planWriter) change(c *plan.Change) int {
	before := w.Len()
	if c.Action == plan.Forget {
		w.forget(c)
		return 0
	}
	n := compareBlock(w.schema(c), w.sides(c), nil)
	if w.brief {
		n.withoutCopies(c)
	}
	w.heading(c)
	if causes := w.causes(c, n); causes != "" {
		w.remark("(because of changes to %s)", causes)
	}
	head := w.Len() - before
	// An imported object is shown in full: its owner sees it for the first time.
	w.resource(c, n, c.Action, c.Importing != nil)
	w.triggered(c.Object.Instance)
	return head
}

// withoutCopies leaves out the present output of a terraform_data if it equals the present input: both change or are
// removed together.
func (n *blockNode) withoutCopies(c *plan.Change) {
	if c.Provider.Provider != addr.BuiltinProvider("terraform") || c.Before.Value == cty.NilVal ||
		c.Before.Value.IsNull() {
		return
	}
	input, output := part(c.Before.Value, "input"), part(c.Before.Value, "output")
	i := slices.Index(n.names, "output")
	if i < 0 || isAbsent(input) || isAbsent(output) || !ctyfast.RawEquals(input, output) {
		return
	}
	switch a := n.attributes[i]; {
	case a.kind == unknown:
		a.was = nil
	case a.op == remove && a.kind != secret && worthLeavingOut(input):
		n.attributes[i] = &node{kind: copied, op: remove}
	}
}

// worthLeavingOut reports whether a value is longer than the note that replaces it.
func worthLeavingOut(v cty.Value) bool {
	return !v.IsNull() && v.IsKnown() && (!v.Type().IsPrimitiveType() || isText(v) && len(v.AsString()) > 24)
}

func (w *planWriter) heading(c *plan.Change) {
	a := clean(c.Object.String())
	switch c.Action {
	case plan.NoOp:
		if hasMoved(c) {
			w.headline("%s has moved to %s", clean(c.PrevAddr.String()), a)
		} else {
			w.headline("%s will be imported", a)
		}
		if c.Importing != nil && c.GeneratedConfig != "" {
			w.remark("(config will be generated)")
		}
		if hasMoved(c) && c.Importing != nil {
			w.remark("(imported from %s)", w.importedFrom(c.Importing))
		}
		return
	case plan.Create:
		w.headline("%s will be created", a)
	case plan.Read:
		w.headline("%s will be read during apply", a)
	case plan.Update:
		w.headline("%s will be updated in-place", a)
	case plan.Delete:
		w.headline("%s will be destroyed", a)
	default:
		switch c.Reason {
		case plan.ReplaceBecauseTainted:
			w.headline("%s is tainted, so must be replaced", a)
		case plan.ReplaceByRequest:
			w.headline("%s will be replaced, as requested", a)
		case plan.ReplaceByTriggers:
			w.headline("%s will be replaced due to changes in replace_triggered_by", a)
		default:
			w.headline("%s must be replaced", a)
		}
	}
	if reason := reasonText(c); reason != "" {
		w.remark("(%s)", reason)
	}
	if by := w.triggeredBy(c); by != "" && c.Action.IsReplace() {
		w.remark("(%s)", by)
	}
	if again := w.again(c); w.brief && again != "" {
		w.remark("(it was %s)", again)
	}
	if c.Action == plan.ForgetThenCreate {
		w.remark("(the old object will not be destroyed: destroy = false)")
	}
	if hasMoved(c) {
		w.remark("(moved from %s)", clean(c.PrevAddr.String()))
	}
	if c.Importing != nil {
		w.remark("(imported from %s)", w.importedFrom(c.Importing))
	}
	if c.NotImported != nil {
		w.remark("(not imported: there is no object with %s)", w.soughtBy(c.NotImported))
	}
}

func (w *planWriter) soughtBy(i *plan.Importing) string {
	switch {
	case i.Sensitive:
		return "the " + i.Argument() + ", which is sensitive"
	case i.ByIdentity():
		return "the identity " + clean(w.name(i.Shown()))
	}
	return "the id " + quoted(w.name(i.ID))
}

func (w *planWriter) importedFrom(i *plan.Importing) string {
	switch {
	case i.Unknown:
		return "an id that will be known after apply"
	case i.Sensitive:
		return "a sensitive " + i.Argument()
	case i.ByIdentity():
		return "the identity " + clean(w.name(i.Shown()))
	}
	return quoted(w.name(i.ID))
}

// reasonText returns why an object is removed or read during apply.
func reasonText(c *plan.Change) string {
	a := c.Object.Instance
	switch c.Reason {
	case plan.DeleteBecauseNoResource:
		return "because " + clean(a.Resource.String()) + " is not in configuration"
	case plan.DeleteBecauseNoModule:
		return "because " + clean(a.Module.String()) + " is not in configuration"
	case plan.DeleteBecauseWrongRepetition:
		if _, ok := a.Key.Int(); ok {
			return "because resource does not use count"
		}
		if _, ok := a.Key.Str(); ok {
			return "because resource does not use for_each"
		}
		return "because resource uses count or for_each"
	case plan.DeleteBecauseCountIndex:
		return "because index " + a.Key.String() + " is out of range for count"
	case plan.DeleteBecauseEachKey:
		return "because key " + clean(a.Key.String()) + " is not in for_each map"
	case plan.DeleteBecauseDisabled:
		return "because enabled is false"
	case plan.DeleteBecauseNoMoveTarget:
		return "because " + clean(c.PrevAddr.String()) + " was moved to " + clean(a.String()) +
			", which is not in configuration"
	case plan.ReadBecauseConfigUnknown:
		return "config refers to values not yet known"
	case plan.ReadBecauseDependencyPending:
		return "depends on an object that this plan changes"
	case plan.ReadBecauseCheckNested:
		return "read again for a check block"
	}
	if c.Object.Deposed != "" && c.Action == plan.Delete {
		return "remains from an unfinished replacement of this instance"
	}
	return ""
}

// forget writes an object that is no longer managed: unchanged, and one column to the left of changes.
func (w *planWriter) forget(c *plan.Change) {
	w.WriteString(" " + w.in(bold, "# "+clean(c.Object.String())+" will no longer be managed by "+w.o.title()+
		", but will not be destroyed") + "\n")
	w.WriteString(" # (destroy = false is set in the configuration)\n")
	s := w.sides(c)
	s.after, s.secret, s.replace = s.before, s.hadSecret, nil
	r := c.Object.Instance.Resource
	w.WriteString(w.sign(plan.Forget) + " " + blockWord(r.Mode) + " " + quoted(r.Type) + " " + quoted(r.Name) + " {\n")
	w.renderer.block(compareBlock(w.schema(c), s, nil), 1, false)
	w.WriteByte('\n')
}

// blockOf returns the schema of a resource, or nil if it is not available.
func blockOf(schemas tfjson.Schemas, p addr.Provider, r addr.Resource) *provider.Block {
	rt := schemas.ResourceType(p, r)
	if rt == nil {
		return nil
	}
	return rt.Block
}

// blockFromType returns a schema derived from a type, in which everything is an attribute, for objects without an
// available schema.
func blockFromType(ty cty.Type) *provider.Block {
	b := &provider.Block{Attributes: map[string]*provider.Attribute{}}
	if ty == cty.NilType || !ty.IsObjectType() {
		return b
	}
	for name, aty := range ty.AttributeTypes() {
		b.Attributes[name] = &provider.Attribute{Type: aty, Optional: true, Computed: true}
	}
	return b
}

func sortedOutputs(outputs []*plan.OutputChange) []*plan.OutputChange {
	byName := make(map[string]*plan.OutputChange, len(outputs))
	for _, o := range outputs {
		byName[o.Name] = o
	}
	sorted := make([]*plan.OutputChange, 0, len(outputs))
	for _, name := range slices.SortedFunc(maps.Keys(byName), strings.Compare) {
		sorted = append(sorted, byName[name])
	}
	return sorted
}

// openGroups limits how many different changes of instances of one resource are kept for comparison with later ones.
const openGroups = 64

// keysOfGroup limits how many instance keys, or ranges of them, are listed for equal changes.
const keysOfGroup = 20

// alike is a change, with the same changes of other instances.
type alike struct {
	first     *plan.Change
	own, body string // the text with its headline, and without it
	changed   string // the body without the attributes that identify the object
	differ    bool   // the others have other values of these attributes
	more      []*plan.Change
}

// changes writes all changes. For terminals, instances of one resource with equal changes are written once, even if
// they are not adjacent. For other outputs each is written.
func (w *planWriter) changes(list []*plan.Change) {
	var open []*alike
	for _, c := range list {
		start := w.Len()
		w.WriteByte('\n')
		w.identity = w.identity[:0]
		body := w.change(c)
		if !w.brief {
			w.flush()
			continue
		}
		g := &alike{first: c, own: string(w.Bytes()[start:]), body: string(w.Bytes()[start+1+body:]),
			changed: w.withoutIdentity(start + 1 + body)}
		w.Truncate(start)
		if len(open) > 0 && open[0].first.Object.Instance.AbsResource() != c.Object.Instance.AbsResource() {
			w.groups(open)
			open = open[:0]
		}
		i := slices.IndexFunc(open, func(o *alike) bool {
			return o.changed == g.changed && sameInstances(o.first, c) && w.gone[o.first.Object] == w.gone[c.Object] &&
				sameTriggers(o.first, c)
		})
		switch {
		case i >= 0:
			open[i].differ = open[i].differ || open[i].body != g.body
			open[i].more = append(open[i].more, c)
			continue
		case len(open) == openGroups:
			w.groups(open[:1])
			open = slices.Delete(open, 0, 1)
		}
		open = append(open, g)
	}
	w.groups(open)
}

// sameTriggers reports whether the same references of replace_triggered_by replace two instances. References to
// instances with their own keys are the same.
func sameTriggers(a, b *plan.Change) bool {
	return slices.EqualFunc(a.Triggers, b.Triggers, func(x, y plan.ReplaceTrigger) bool {
		own := x.Instance.Key == a.Object.Instance.Key && y.Instance.Key == b.Object.Instance.Key
		return x.All == y.All && (own || x.Instance.Key == y.Instance.Key) && x.Path.Equals(y.Path) &&
			x.Instance.AbsResource() == y.Instance.AbsResource()
	})
}

// withoutIdentity returns the text from an offset on, without the attributes that identify the object.
func (w *planWriter) withoutIdentity(from int) string {
	var b strings.Builder
	for _, part := range w.identity {
		b.Write(w.Bytes()[from:part.from])
		from = part.to
	}
	b.Write(w.Bytes()[from:])
	return b.String()
}

// sameInstances reports whether two changes are of one resource and have the same reason, without details of a single
// instance.
func sameInstances(a, b *plan.Change) bool {
	return a.Object.Instance.AbsResource() == b.Object.Instance.AbsResource() && a.Action == b.Action &&
		a.Reason == b.Reason &&
		a.Object.Deposed == "" && b.Object.Deposed == "" && a.Importing == nil && b.Importing == nil && !hasMoved(a) &&
		!hasMoved(b) && a.NotImported == nil && b.NotImported == nil
}

// groups writes changes, each with the addresses of the equal ones.
func (w *planWriter) groups(list []*alike) {
	for _, g := range list {
		w.WriteString(g.own)
		if len(g.more) > 0 {
			same, what := row{changes: g.more}, "the same"
			if g.differ {
				what = "the same change"
			}
			text := fmt.Sprintf("(and %s for %d more: %s)", what, len(g.more), same.addressOf(keysOfGroup))
			for line := range strings.SplitSeq(wrap(text, w.o.width()-len("  # ")-1), "\n") {
				w.remark("%s", w.in(gray, line))
			}
		}
		w.flush()
	}
}

// causes returns the names of the objects whose changes are the only reason for an update, or "" if the object's own
// configuration has changed too or the reason is not known.
func (w *planWriter) causes(c *plan.Change, n *blockNode) string {
	if c.Action != plan.Update || !n.onlyWaits(w.schema(c)) {
		return ""
	}
	const shown = 3
	var names, others []string
	for _, d := range c.Dependencies {
		if open := w.unsettled.Of(d, c.Object.Instance.Module); len(open) > 0 {
			names = append(names, w.commonName(open))
		} else if list := w.changing.Of(d, c.Object.Instance.Module); len(list) > 0 {
			others = append(others, w.commonName(list))
		}
	}
	if len(names) == 0 {
		names = others // by way of a data source
	}
	if len(names) > shown {
		names = append(names[:shown], fmt.Sprintf("%d more", len(names)-shown))
	}
	return inWords(names)
}

// settled reports whether everything about an object after its change is known, so that no value that depends on it is
// unknown for its sake.
func settled(c *plan.Change) bool {
	return c.Action == plan.Update && c.After.Value != cty.NilVal && ctyfast.WhollyKnown(c.After.Value)
}

// someOf identifies a list of the changes to instances of a resource that an object may depend on.
type someOf struct {
	first  *plan.Change
	length int
}

// commonName returns the address of one object, or of what several instances of a resource have in common. Many objects
// may depend on the same list, so the name is kept.
func (w *planWriter) commonName(list []*plan.Change) string {
	first := list[0].Object
	if len(list) == 1 {
		return clean(first.String())
	}
	of := someOf{list[0], len(list)}
	if name, ok := w.names[of]; ok {
		return name
	}
	name := clean(first.Instance.AbsResource().String())
	others := func(c *plan.Change) bool { return c.Object.Instance.Module != first.Instance.Module }
	if slices.ContainsFunc(list, others) {
		name = clean(first.Instance.Config().String())
	}
	w.names[of] = name
	return name
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

// follow prepares the search for the causes of changes.
func (w *planWriter) follow(p *plan.Plan, changes []*plan.Change) {
	var all, open []*plan.Change
	for _, c := range changes {
		if fateOf(c) > created && c.Action != plan.Read || c.Action == plan.Delete || c.Action == plan.Forget {
			continue
		}
		all = append(all, c)
		if !settled(c) {
			open = append(open, c)
		}
	}
	w.changing, w.unsettled, w.names = nearby.New(all), nearby.New(open), map[someOf]string{}
	w.sources, w.triggers = nearby.NewSources(all), map[string]string{}
	w.invocations, w.gone = byTrigger(p.Invocations), deletedOutside(p)
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
