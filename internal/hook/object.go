package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// Operation is an operation on one object.
type Operation struct {
	Object   addr.Object
	Provider addr.Provider
	// Action is plan.Create, Update, Delete or Read. Replacing marks both parts of a replacement.
	Action    plan.Action
	Replacing bool
	// Block is the schema of both values, which have no marks; cty.NilVal is a missing value.
	Block         *provider.Block
	Before, After plan.Value
}

// Around is an operation with its hooks. A nil Around has none.
type Around struct {
	set           *Set
	op            Operation
	before, after []Hook
}

// Object returns the hooks of an operation, or nil if there are none.
func (s *Set) Object(op Operation) *Around {
	if s == nil {
		return nil
	}
	a := &Around{set: s, op: op}
	for _, h := range s.hooks {
		if !h.fits(op) {
			continue
		}
		if slices.Contains(h.Events, BeforeObject) {
			a.before = append(a.before, h)
		}
		if slices.Contains(h.Events, AfterObject) {
			a.after = append(a.after, h)
		}
	}
	if a.before == nil && a.after == nil {
		return nil
	}
	return a
}

// fits reports whether a hook is for an operation. Both parts of a replacement also match the word replace.
func (h Hook) fits(op Operation) bool {
	if h.Objects != nil && !h.Objects.Contains(op.Object.Instance) {
		return false
	}
	if h.Actions == nil {
		return op.Action != plan.Read
	}
	return slices.Contains(h.Actions, op.Action.String()) || op.Replacing && slices.Contains(h.Actions, "replace")
}

// Before runs the hooks before the operation.
func (a *Around) Before(ctx context.Context) diag.List {
	if a == nil || len(a.before) == 0 {
		return nil
	}
	return a.run(ctx, a.before, BeforeObject, Document{Object: a.object()})
}

// HasAfter reports whether hooks run after the operation.
func (a *Around) HasAfter() bool { return a != nil && len(a.after) > 0 }

// After runs the hooks after the operation; after is the new value of the object.
func (a *Around) After(ctx context.Context, outcome Outcome, after plan.Value) diag.List {
	if !a.HasAfter() {
		return nil
	}
	a.op.After = after
	return a.run(ctx, a.after, AfterObject, Document{Outcome: outcome, Object: a.object()})
}

// run runs hooks within the limit of concurrent hooks.
func (a *Around) run(ctx context.Context, list []Hook, e Event, d Document) diag.List {
	select {
	case a.set.slots <- struct{}{}:
		defer func() { <-a.set.slots }()
	case <-ctx.Done():
		d := diag.List{}.Errorf(list[0].Range.Ptr(), fmt.Sprintf("Hook %q was interrupted", list[0].Name),
			"It was not run for the event %s, because the run was interrupted before.", e)
		return d.Because(context.Cause(ctx)).InAddress(a.op.Object.String())
	}
	return a.set.fire(ctx, list, e, d, a.op.Object)
}

// object returns the description of the operation.
func (a *Around) object() *Object {
	p := publisher{hide: a.set.o.Secrets.Values(), hidden: map[string]bool{}}
	i := a.op.Object.Instance
	o := &Object{
		Address: i.String(), Deposed: string(a.op.Object.Deposed), Mode: i.Resource.Mode.String(),
		Type: i.Resource.Type, Name: i.Resource.Name, Module: i.Module.String(),
		ProviderName: a.op.Provider.String(), Action: a.op.Action.String(), Replace: a.op.Replacing,
		Before: p.public(a.op.Before.Value, a.op.Block, a.op.Before.Sensitive),
		After:  p.public(a.op.After.Value, a.op.Block, a.op.After.Sensitive),
		Hidden: []string{},
	}
	if n, ok := i.Key.Int(); ok {
		o.Index = n
	} else if text, ok := i.Key.Str(); ok {
		o.Index = text
	}
	for place := range p.hidden {
		o.Hidden = append(o.Hidden, place)
	}
	slices.Sort(o.Hidden)
	return o
}

// Record returns the data that a later run needs to run the hooks after the operation again. It has no secrets.
func (a *Around) Record() (json.RawMessage, error) {
	r := record{Object: a.object()}
	for _, h := range a.after {
		r.Hooks = append(r.Hooks, h.Name)
	}
	return json.Marshal(r)
}

// record is the journal entry of an operation with hooks after it.
type record struct {
	Hooks  []string `json:"hooks"`
	Object *Object  `json:"object"`
}

// Again runs the hooks after an operation of a killed run, from its Record. It is unknown whether they ran and how the
// operation ended. Hooks that are no longer in the project are skipped.
func (s *Set) Again(ctx context.Context, o addr.Object, kept json.RawMessage) (diags diag.List) {
	var r record
	if err := json.Unmarshal(kept, &r); err != nil {
		return diags.Warnf(nil, "Hooks cannot be run again", "A run ended before the hooks after an operation on %s "+
			"had run, and the journal has no valid record of them: %s.", o, err)
	}
	var list []Hook
	for _, h := range s.On(AfterObject) {
		if slices.Contains(r.Hooks, h.Name) {
			list = append(list, h)
		}
	}
	for _, d := range s.fire(ctx, list, AfterObject, Document{Outcome: Unknown, Again: true, Object: r.Object}, o) {
		if d.Severity == diag.Error { // the operation is over: this must not prevent the run
			d.Severity = diag.Warning
			d.Detail += fmt.Sprintf(" The hook was run again for the operation on %s, because a run was killed "+
				"during it.", o)
		}
		diags = append(diags, d)
	}
	return diags
}
