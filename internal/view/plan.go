package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view/nearby"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// planWriter writes a plan as text. Each change is written as soon as it is rendered.
type planWriter struct {
	renderer
	out     io.Writer
	o       Options
	schemas tfjson.Schemas
	// invocations are the triggered actions, by the object that triggers them.
	invocations map[addr.AbsResourceInstance][]*plan.Invocation
	// changing are the changes of the plan that others may wait for.
	changing *nearby.Index
	// unsettled are those of them after which something is unknown until then.
	unsettled *nearby.Index
	// names holds the common names of changes to instances of a resource.
	names map[someOf]string
	// sources are the changes that trigger replacements; triggers holds what was said of them.
	sources  *nearby.Sources
	triggers map[string]string
	// gone are the objects that were deleted outside since the last apply.
	gone map[addr.Object]bool
}

// flush writes the rendered text. The owner of the writer handles its errors: a view cannot report them.
func (w *planWriter) flush() {
	_, _ = w.out.Write(w.Bytes())
	w.Reset()
}

func (w *planWriter) paragraph(format string, args ...any) {
	w.WriteString("\n" + wrap(fmt.Sprintf(format, args...), w.o.width()-1) + "\n")
}

// plan writes the whole plan.
func (w *planWriter) plan(p *plan.Plan) {
	defer w.flush()
	name := w.o.title()
	drifted := w.drift(p)
	changes := shownChanges(p)
	outputs := w.outputs(p.Outputs)
	defer w.unread(p)
	defer w.leftOut(p)
	defer w.deferred(p)
	w.follow(p, changes)
	if len(changes) == 0 && outputs == "" && len(p.Invocations) == 0 {
		w.noChanges(p, drifted)
		w.closing(p, nil)
		return
	}
	if drifted {
		w.afterDrift(p)
	}
	if len(changes) > 0 {
		if !w.o.IndexOnly {
			w.legend(p.Changes)
		}
		if p.Errored {
			w.paragraph("%s planned the following actions, but then encountered a problem:", name)
		} else {
			w.paragraph("%s will perform the following actions:", name)
		}
		w.index(changes)
		if !w.o.IndexOnly {
			w.changes(changes)
		}
		w.WriteString("\n" + w.in(bold, "Plan:") + w.o.summary(p) + "\n")
	}
	w.closing(p, changes)
	if len(p.Invoke) > 0 {
		w.WriteString("\n" + w.in(bold, "Plan:") + w.o.summary(p) + "\n")
		w.invoked(p.Invocations)
	}
	if outputs != "" {
		w.WriteString("\nChanges to Outputs:\n" + outputs)
		if len(changes) == 0 {
			// Terratest looks for two phrases of this sentence, the second on one line.
			w.paragraph("You can apply this plan to save these output values in the %s state,\n"+
				"without changing any real infrastructure.", name)
		}
	}
}

// leftOut lists the objects that the plan leaves alone: interrupted creations, with the commands that resolve them, and
// their dependents.
func (w *planWriter) leftOut(p *plan.Plan) {
	if len(p.LeftOut) == 0 {
		return
	}
	w.WriteString("\n" + w.in(bold, w.in(yellow, "Left out")+" because of interrupted creations:") + "\n\n")
	for _, l := range p.LeftOut {
		mark := w.in(yellow, "-")
		if l.Reason == plan.LeftOutUnsettled {
			mark = w.in(yellow, "!")
		}
		fmt.Fprintf(w, "  %s %s\n", mark, clean(l.Address))
		if l.Reason == plan.LeftOutUnsettled {
			address := "ADDRESS"
			if as := l.Because.String(); as != l.Address {
				address = as
				fmt.Fprintf(w, "      It was started as %s, which is its address until it is resolved.\n", clean(as))
			}
			fmt.Fprintf(w,
				"      A run ended in the middle of its creation: it may exist. Run \"%s recover %s\" with\n",
				w.o.program(), clean(address))
			w.WriteString("      --adopt ID, --retry or --forget to resolve it.\n")
			continue
		}
		fmt.Fprintf(w, "      %s\n", clean(l.Why()))
	}
}

// deferredShown limits how many deferrals are listed. JSON lists all of them.
const deferredShown = 50

// deferred lists what a later plan has to plan.
func (w *planWriter) deferred(p *plan.Plan) {
	n := len(p.Deferred)
	if n == 0 {
		return
	}
	w.WriteString("\n" + w.in(bold, w.in(yellow, "Deferred")+" until this plan is applied:") + "\n\n")
	for _, d := range p.Deferred[:min(n, deferredShown)] {
		fmt.Fprintf(w, "  %s %s\n      %s\n", w.in(yellow, "?"), clean(d.Address), clean(d.Why()))
	}
	if n > deferredShown {
		fmt.Fprintf(w, "  and %d more\n", n-deferredShown)
	}
}

// unreadShown limits how many instances that were not read are listed. JSON lists all of them.
const unreadShown = 10

// unread lists the existing objects that the plan did not read, with the reason.
func (w *planWriter) unread(p *plan.Plan) {
	var minimal []addr.AbsResourceInstance
	for _, a := range p.Unread {
		if _, set := slices.BinarySearchFunc(p.UnreadBySetting, a, addr.AbsResourceInstance.Compare); !set {
			minimal = append(minimal, a)
		}
	}
	w.unreadFor(minimal, "because the refresh is minimal, and according to the state nothing changes there")
	w.unreadFor(p.UnreadBySetting, "because tombolo.hcl sets refresh = false")
}

// unreadFor lists the objects that were not read for one reason.
func (w *planWriter) unreadFor(list []addr.AbsResourceInstance, why string) {
	n := len(list)
	if n == 0 {
		return
	}
	objects, them := fmt.Sprintf("%d objects were", n), "them"
	if n == 1 {
		objects, them = "One object was", "it"
	}
	w.paragraph("%s not read %s. Changes made to %s outside of %s are not in this plan.", objects, why, them,
		w.o.title())
	for _, a := range list[:min(n, unreadShown)] {
		fmt.Fprintf(w, "  - %s\n", clean(a.String()))
	}
	if n > unreadShown {
		fmt.Fprintf(w, "  and %d more\n", n-unreadShown)
	}
}

// summary returns the counts of what apply would do. OpenTofu also counts the objects that are removed from the state
// and not destroyed.
func (o Options) summary(p *plan.Plan) string {
	s := p.Summary()
	text := fmt.Sprintf(" %d to add, %d to change, %d to destroy", s.Add, s.Change, s.Destroy)
	if o.countsForgotten() && s.Forget > 0 {
		text += fmt.Sprintf(", %d to forget", s.Forget)
	}
	text += "."
	if s.Invoke > 0 {
		text += fmt.Sprintf(" Actions: %d to invoke.", s.Invoke)
	}
	if s.Import > 0 {
		text = fmt.Sprintf(" %d to import,", s.Import) + text
	}
	return text
}

// countsForgotten reports whether summaries count the objects that are removed from the state and not destroyed.
func (o Options) countsForgotten() bool { return o.tool() == flavor.OpenTofu }

// shownChanges returns the changes to show, in order. A refresh-only plan shows the changes made outside, and has no
// others.
func shownChanges(p *plan.Plan) []*plan.Change {
	if p.Mode == plan.RefreshOnly {
		return nil
	}
	var shown []*plan.Change
	for _, c := range tfjson.SortedChanges(p.Changes) {
		if c.Action != plan.NoOp || hasMoved(c) || c.Importing != nil {
			shown = append(shown, c)
		}
	}
	return shown
}

func hasMoved(c *plan.Change) bool {
	return c.PrevAddr != nil
}

// noChanges returns why there is nothing to do.
func (w *planWriter) noChanges(p *plan.Plan, drifted bool) {
	name := w.o.title()
	say := func(headline, format string, args ...any) {
		w.WriteString("\n" + w.in(bold, w.in(green, "No changes.")+" "+headline) + "\n")
		w.paragraph(format, args...)
	}
	switch {
	case p.Errored:
		w.WriteString("\nPlanning failed. ")
		w.WriteString(name + " encountered an error while generating this plan.\n\n")
	case len(p.Deferred) > 0 && p.Mode != plan.RefreshOnly:
		w.WriteByte('\n')
		w.paragraph("%s cannot plan anything now. What it defers is listed below.", name)
	case len(p.LeftOut) > 0 && p.Mode != plan.RefreshOnly:
		w.WriteByte('\n')
		w.paragraph("%s cannot do anything now. The changes that it leaves out are listed below.", name)
	case p.Mode == plan.RefreshOnly && drifted:
		w.paragraph("A refresh-only plan changes no real object: %s leaves these as they are. If they are as you "+
			"expect, apply the plan to record them in the %s state.", name, name)
	case p.Mode == plan.RefreshOnly:
		say("Your infrastructure still matches the configuration.",
			"%s compared the real objects with the state and found no differences.", name)
	case p.Mode == plan.Destroy && p.Partial() && managed(p.Prior()) > 0:
		say("No objects need to be destroyed.",
			"The %s state has objects (%d), but -target selects none of them, so nothing changes.", name,
			managed(p.Prior()))
	case p.Mode == plan.Destroy:
		say("No objects need to be destroyed.",
			"There are no objects in the %s state: nothing was created yet, or everything was destroyed.", name)
	case drifted:
		w.rule()
		say("Your infrastructure matches the configuration.",
			"The configuration agrees with the changes shown above, so applying this plan only records them in the "+
				"%s state and changes no real infrastructure.", name)
	case len(p.Unread) > 0:
		say("The stored objects match the configuration.",
			"%s compared the state with your configuration and found no differences. Nothing has to be done, unless "+
				"objects were changed outside.", name)
	default:
		say("Your infrastructure matches the configuration.",
			"%s compared your real infrastructure with your configuration and found no differences. Nothing has to "+
				"be done.", name)
	}
}

// managed returns the number of managed objects in a state.
func managed(s *state.State) (n int) {
	for _, r := range s.Resources() {
		if r.Addr.Resource.Mode == addr.Managed {
			n += len(r.Instances)
		}
	}
	return n
}

func (w *planWriter) rule() {
	w.WriteString("\n" + w.in(gray, strings.Repeat("─", w.o.width()-1)) + "\n")
}

// drift writes the changes made outside since the last run that are relevant to the plan, and reports whether there are
// any.
func (w *planWriter) drift(p *plan.Plan) bool {
	relevant := map[addr.AbsResourceInstance][]cty.Path{}
	for _, r := range p.Relevant {
		relevant[r.Resource] = append(relevant[r.Resource], r.Path)
	}
	some := false
	for _, c := range tfjson.SortedChanges(p.Drift) {
		var counts *pathSet
		if p.Mode != plan.RefreshOnly {
			paths := append(relevant[c.Object.Instance],
				relevant[c.Object.Instance.AbsResource().Instance(addr.NoKey)]...)
			if counts = pathSetOf(paths); counts == nil {
				continue
			}
		}
		n := compareBlock(w.schema(c), w.sides(c), counts)
		if n.op != same {
			n = compareBlock(w.schema(c), w.sides(c), nil) // what is left out would look unchanged
		}
		marksAlone := n.op == same && c.Action == plan.Update && p.Mode == plan.RefreshOnly
		if n.op == same && !hasMoved(c) && !marksAlone || !n.anyChange() && n.op == remove {
			continue
		}
		if !some {
			w.WriteString("\n" + w.in(bold, w.in(cyan, "Note:")+" Objects have changed outside of "+w.o.title()) + "\n")
			end := " and may be the reason for parts of this plan:"
			if p.Mode == plan.RefreshOnly {
				end = ":"
			}
			w.paragraph("%s found these changes, which were made outside of %s since the last %q%s",
				w.o.title(), w.o.title(), w.o.program()+" apply", end)
			some = true
		}
		w.WriteByte('\n')
		a := clean(c.Object.String())
		switch {
		case marksAlone && !hasMoved(c):
			w.headline("%s is unchanged, but the state will record which of its values are sensitive", a)
		case n.op == same:
			w.headline("%s has moved to %s", clean(c.PrevAddr.String()), a)
		case c.Action == plan.Delete:
			w.headline("%s has been deleted", a)
		default:
			w.headline("%s has changed", a)
			if hasMoved(c) {
				w.remark("(moved from %s)", clean(c.PrevAddr.String()))
			}
		}
		w.resource(c, n, headerOp(n.op), false)
		w.flush()
	}
	return some
}

func (n *blockNode) anyChange() bool {
	for i, a := range n.attributes {
		if a.op != same && a.kind != writeOnly && n.names[i] != "" {
			return true
		}
	}
	for _, g := range n.groups {
		if g.pending {
			return true
		}
		for _, b := range g.blocks {
			if b.op != same {
				return true
			}
		}
	}
	return false
}

func headerOp(o op) plan.Action {
	return [...]plan.Action{plan.NoOp, plan.Create, plan.Update, plan.Delete}[o]
}

func (w *planWriter) afterDrift(p *plan.Plan) {
	if p.Mode == plan.RefreshOnly {
		w.paragraph("A refresh-only plan changes no real object: %s leaves these as they are. If they are as you "+
			"expect, apply the plan to record them in the %s state.", w.o.title(), w.o.title())
		return
	}
	w.paragraph("The plan below may undo them or respond to them. To keep them, make the same changes in your " +
		"configuration, or name the attributes in ignore_changes.")
	w.rule()
}

// legend explains the signs that the plan uses.
func (w *planWriter) legend(changes []*plan.Change) {
	used := map[plan.Action]bool{}
	for _, c := range changes {
		if c.Action != plan.NoOp {
			used[c.Action] = true
		}
	}
	if len(used) == 0 {
		return
	}
	w.paragraph("%s compared the state with the configuration and made this execution plan. Its symbols mean:",
		w.o.title())
	for _, l := range []struct {
		action plan.Action
		text   string
	}{
		{plan.Create, "create"},
		{plan.Update, "update in-place"},
		{plan.Delete, "destroy"},
		{plan.DeleteThenCreate, "destroy and then create replacement"},
		{plan.CreateThenDelete, "create replacement and then destroy"},
		{plan.ForgetThenCreate, "forget and then create replacement"},
		{plan.Read, "read (data resources)"},
	} {
		if used[l.action] {
			w.WriteString(w.sign(l.action) + " " + l.text + "\n")
		}
	}
	if used[plan.Forget] {
		w.WriteString(w.sign(plan.Forget) + " forget (no longer managed, but not destroyed)\n")
	}
}

// sign returns the three columns before a resource.
func (w *planWriter) sign(a plan.Action) string {
	switch a {
	case plan.Create:
		return "  " + w.in(green, "+")
	case plan.Update:
		return "  " + w.in(yellow, "~")
	case plan.Delete:
		return "  " + w.in(red, "-")
	case plan.DeleteThenCreate:
		return w.in(red, "-") + "/" + w.in(green, "+")
	case plan.CreateThenDelete:
		return w.in(green, "+") + "/" + w.in(red, "-")
	case plan.ForgetThenCreate:
		return w.in(red, ".") + "/" + w.in(green, "+")
	case plan.Read:
		return " " + w.in(cyan, "<=")
	case plan.Forget:
		return " " + w.in(red, ".")
	}
	return "   "
}

func (w *planWriter) headline(format string, args ...any) {
	w.WriteString("  " + w.in(bold, "# "+fmt.Sprintf(format, args...)) + "\n")
}

func (w *planWriter) remark(format string, args ...any) {
	w.WriteString("  # " + fmt.Sprintf(format, args...) + "\n")
}

// schema returns the schema of a change, or one derived from its type if there is none.
func (w *planWriter) schema(c *plan.Change) *provider.Block {
	if b := blockOf(w.schemas, c.Provider.Provider, c.Object.Instance.Resource); b != nil {
		return b
	}
	return blockFromType(c.Type)
}

func (w *planWriter) sides(c *plan.Change) sides {
	b := w.schema(c)
	s := objectSides(c.Before.Value, c.After.Value, w.o.secrets(orNull(c.Before.Value), c.Before.Sensitive, b),
		w.o.secrets(orNull(c.After.Value), c.After.Sensitive, b))
	s.replace = pathSetOf(c.ReplacePaths)
	return s
}

func orNull(v cty.Value) cty.Value {
	if v == cty.NilVal {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return v
}

// resource writes the block of a change.
func (w *planWriter) resource(c *plan.Change, n *blockNode, a plan.Action, all bool) {
	r := c.Object.Instance.Resource
	w.WriteString(w.sign(a) + " ")
	w.WriteString(blockWord(r.Mode) + " " + quoted(r.Type) + " " + quoted(r.Name) + " {\n")
	w.renderer.block(n, 1, all)
	w.WriteByte('\n')
}

func blockWord(m addr.Mode) string {
	switch m {
	case addr.Data:
		return "data"
	case addr.Ephemeral:
		return "ephemeral"
	case addr.Action:
		return "action"
	}
	return "resource"
}

// outputs returns the lines of the root output values that change.
func (w *planWriter) outputs(outputs []*plan.OutputChange) string {
	sorted := sortedOutputs(outputs)
	width := 0
	for _, o := range sorted {
		width = max(width, utf8.RuneCountInString(memberName(o.Name)))
	}
	r := renderer{style: w.style, brief: w.brief, hide: w.hide}
	for _, o := range sorted {
		n := compareOutput(o, w.o.ShowSensitive)
		if n == nil || n.op == same {
			continue
		}
		r.lead(1, n.op)
		r.assign(memberName(o.Name), width)
		r.value(n, 1, how{})
		r.WriteByte('\n')
	}
	return r.String()
}

// compareOutput returns the difference of an output value. Unless all is set, the difference of a sensitive one has no
// values.
func compareOutput(o *plan.OutputChange, all bool) *node {
	s := sides{before: nullAsAbsent(o.Before), after: nullAsAbsent(o.After)}
	if s.isEmpty() {
		return nil
	}
	n := compare(cty.DynamicPseudoType, s)
	if n.op == same || all || !o.Sensitive && !o.BeforeSensitive {
		return n // plans do not show changes of only the type or the sensitivity
	}
	return &node{kind: secret, op: s.op()}
}
