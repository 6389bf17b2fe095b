package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Detail holds the parts of the text of a plan or state about one object, for pages with a layout of their own. Body
// and Full contain escape sequences for colors.
type Detail struct {
	Object addr.Object
	// Change is nil for an object of a state.
	Change *plan.Change
	// Fate is a word as in the index of a plan, such as "destroy", or empty for an unchanged object.
	Fate string
	// Headline and Remarks are the lines above the block. Why is a short reason, and Because lists the resources whose
	// changes are the reason.
	Headline string
	Remarks  []string
	Why      string
	Because  []addr.ConfigResource
	// Body is the block as a terminal shows it. Full is the block with the parts that Body abbreviates, or empty if
	// there are none.
	Body, Full string
}

// Details returns the text of plans and states in parts, without secrets.
type Details struct {
	brief, full planWriter
	why         reasons
}

// NewDetails returns the details of a plan. It uses the program names and the secrets of the options.
func NewDetails(o Options, p *plan.Plan, schemas tfjson.Schemas) *Details {
	o.Secrets = cmp.Or(o.Secrets, &Secrets{})
	o.learnPlan(p, schemas)
	writer := func(brief bool) planWriter {
		return planWriter{renderer: renderer{style: style{true}, brief: brief, hide: o.concealing()}, o: o,
			schemas: schemas}
	}
	d := &Details{brief: writer(true), full: writer(false)}
	changes := shownChanges(p)
	for _, w := range []*planWriter{&d.brief, &d.full} {
		w.follow(p, changes)
	}
	d.why = d.brief.reasons(p, changes)
	return d
}

// Change returns the details of a change that is not a no-op.
func (d *Details) Change(c *plan.Change) Detail {
	out := Detail{Object: c.Object, Change: c}
	f := fateOf(c)
	if f == unaffected {
		return out
	}
	out.Fate, out.Why = words[f].index, d.why.why(c)
	var head string
	head, out.Body = d.brief.parts(c)
	_, out.Full = d.full.parts(c)
	if out.Full == out.Body {
		out.Full = ""
	}
	out.Headline, out.Remarks = headlines(head)
	out.Because = d.brief.because(c)
	switch c.Action {
	case plan.Update:
		out.Why = cmp.Or(out.Why, d.brief.differing(c))
	case plan.Create:
		out.Why = cmp.Or(out.Why, d.brief.again(c))
	}
	return out
}

// parts returns the lines above the block of a change, and the block.
func (w *planWriter) parts(c *plan.Change) (head, body string) {
	w.Reset()
	defer w.Reset()
	n := w.change(c)
	text := w.String()
	if c.Action == plan.Forget { // two lines, not counted
		for n = 0; strings.HasPrefix(withoutStyle(text[n:]), " #"); {
			n += strings.IndexByte(text[n:], '\n') + 1
		}
	}
	return text[:n], text[n:]
}

// headlines splits the lines above a block.
func headlines(head string) (headline string, remarks []string) {
	for line := range strings.Lines(withoutStyle(head)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "# ")
		if headline == "" {
			headline = line
			continue
		}
		remarks = append(remarks, strings.Trim(line, "()"))
	}
	return headline, remarks
}

// because returns the resources that cause a change: those that trigger a replacement, and those of its dependencies
// that change, if its own configuration depends on them.
func (w *planWriter) because(c *plan.Change) []addr.ConfigResource {
	if c.Action != plan.Update && c.Action != plan.Read && !c.Action.IsReplace() {
		return nil
	}
	triggers := map[addr.ConfigResource]bool{}
	for _, t := range c.Triggers {
		triggers[t.Instance.Config()] = true
	}
	all := c.Action == plan.Read || waits(w.schema(c), c)
	var out []addr.ConfigResource
	for _, dep := range c.Dependencies {
		if triggers[dep] || all && len(w.changing.Of(dep, c.Object.Instance.Module)) > 0 {
			out = append(out, dep)
		}
	}
	return out
}

// differing returns the names of the first few arguments and blocks that an update changes.
func (w *planWriter) differing(c *plan.Change) string {
	const shown = 4
	n := compareBlock(w.schema(c), w.sides(c), nil)
	var names []string
	for i, a := range n.attributes {
		if a.op != same {
			names = append(names, n.names[i])
		}
	}
	for _, g := range n.groups {
		if g.pending || slices.ContainsFunc(g.blocks, func(b *blockNode) bool { return b.op != same }) {
			names = append(names, g.name)
		}
	}
	if len(names) > shown {
		names = append(names[:shown], fmt.Sprintf("%d more", len(names)-shown))
	}
	if len(names) == 0 {
		return ""
	}
	return "changes " + inWords(names)
}

// Drift returns the details of a change made outside, and reports whether there is anything to show.
func (d *Details) Drift(c *plan.Change) (Detail, bool) {
	w := &d.brief
	w.Reset()
	defer w.Reset()
	n := compareBlock(w.schema(c), w.sides(c), nil)
	if n.op == same && !hasMoved(c) && c.Action != plan.Update || !n.anyChange() && n.op == remove {
		return Detail{}, false
	}
	out := Detail{Object: c.Object, Change: c, Fate: "changed", Headline: clean(c.Object.String()) + " has changed"}
	switch {
	case n.op == same && hasMoved(c):
		out.Fate, out.Headline = "move", clean(c.PrevAddr.String())+" has moved to "+clean(c.Object.String())
	case c.Action == plan.Delete:
		out.Fate, out.Headline = "gone", clean(c.Object.String())+" has been deleted"
	}
	w.resource(c, n, headerOp(n.op), false)
	out.Body = w.String()
	return out, true
}

// Shown returns the changes of a plan that are not no-ops, in the order of its text.
func Shown(p *plan.Plan) []*plan.Change { return shownChanges(p) }

// Summary returns the counts of a plan as a line without colors, such as "Plan: 1 to add, 0 to change, 0 to destroy".
func Summary(p *plan.Plan) string { return markdownTitle(p) }

// OutputDetail is the change of a root output value.
type OutputDetail struct {
	Name, Fate string
	// Body is the text of the output in the plan, of one or more lines.
	Body string
}

// Outputs returns the details of the output values that change.
func (d *Details) Outputs(p *plan.Plan) (list []OutputDetail) {
	for _, o := range sortedOutputs(p.Outputs) {
		body := d.brief.outputs([]*plan.OutputChange{o})
		if body == "" {
			continue
		}
		word := words[changed].index
		switch o.Action {
		case plan.Create:
			word = words[created].index
		case plan.Delete:
			word = words[destroyed].index
		}
		list = append(list, OutputDetail{Name: clean(o.Name), Fate: word, Body: body})
	}
	return list
}

// Text returns an arbitrary text without secrets and control characters.
func (d *Details) Text(text string) string { return clean(d.brief.o.Secrets.Redact(text)) }

// Problem returns a diagnostic as text.
func (d *Details) Problem(problem *diag.Diagnostic) string {
	o := d.brief.o
	o.Color, o.AllDiagnostics, o.Width = false, true, 100
	return o.Secrets.Redact(strings.TrimSpace(Diagnostics(o, diag.List{problem})))
}

// StateDetails returns the text of a state's objects in parts, as Details does for a plan.
type StateDetails struct {
	w stateWriter
	s *state.State
}

// NewStateDetails returns the details of a state.
func NewStateDetails(o Options, s *state.State, schemas tfjson.Schemas) *StateDetails {
	o.Color = true
	return &StateDetails{newStateWriter(o, s, schemas), s}
}

// Object returns the details of one object.
func (d *StateDetails) Object(r *state.Resource, a addr.Object) (Detail, error) {
	d.w.Reset()
	defer d.w.Reset()
	stored := d.s.Object(a)
	if err := d.w.object(r, a, stored); err != nil {
		return Detail{}, err
	}
	head, body, _ := strings.Cut(d.w.String(), "\n")
	out := Detail{Object: a, Headline: strings.TrimPrefix(withoutStyle(head), "# "), Body: body,
		Because: slices.Clone(stored.Dependencies)}
	if stored.Status == state.Tainted {
		out.Why = "tainted: the next plan replaces it"
	}
	return out, nil
}

// Outputs returns the output values of the state.
func (d *StateDetails) Outputs() (list []OutputDetail) {
	for _, name := range d.s.OutputNames() {
		d.w.Reset()
		d.w.output(name, d.s.Output(name))
		list = append(list, OutputDetail{Name: clean(name), Body: d.w.String()})
	}
	d.w.Reset()
	return list
}

// Text is like Details.Text, for a state.
func (d *StateDetails) Text(text string) string { return clean(d.w.o.Secrets.Redact(text)) }
