package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/planning"
	"github.com/tombolo-iac/tombolo/state"
)

// Recovery selects how to resolve an operation that a killed run left open. Exactly one field is set.
type Recovery struct {
	// Adopt imports the existing object with this id.
	Adopt string
	// Retry means that the operation did not happen: the state is not changed, and the next apply repeats the
	// operation.
	Retry bool
	// Forget removes the object from the state, whether it exists or not.
	Forget bool
}

// Recover resolves the open operations of interrupted runs at an address.
func (r *Run) Recover(ctx context.Context, a addr.AbsResourceInstance, how Recovery,
	variables map[string]cty.Value) diag.List {
	var diags diag.List
	var ops []string
	var open []state.InFlight
	for _, f := range r.openAt(a) {
		ops = append(ops, f.Token())
		open = append(open, f)
	}
	for _, u := range r.Snapshot().Unfolded {
		for _, e := range u.Edits {
			if e.Put != nil && e.Put.Addr.Instance == a || e.Drop != nil && e.Drop.Addr.Instance == a {
				ops = append(ops, u.Token())
				break
			}
		}
	}
	if len(ops) == 0 && r.Ended(a) && (how.Retry || how.Adopt != "") {
		return diags // the result has since become known and was stored; Open reports it
	}
	if len(ops) == 0 {
		return diags.Errorf(nil, "Nothing to recover", "No interrupted operation is known at %s.%s", a,
			r.openAddresses())
	}
	var edits []state.Edit
	switch {
	case how.Adopt != "":
		if len(open) == 0 {
			return diags.Errorf(nil, "Nothing to adopt", "%s has no interrupted creation.", a).
				Advise("Use %s or %s.", diag.Means("--retry"), diag.Means("--forget"))
		}
		edit, more := r.adopt(ctx, open[0].Intent, how.Adopt, variables)
		if diags = diags.Extend(more); diags.HasErrors() {
			return diags
		}
		edits = append(edits, edit)
	case how.Forget:
		edits = append(edits, state.Edit{Drop: &state.DropObject{Addr: addr.Object{Instance: a}}})
	case how.Retry:
	default:
		return diags.Errorf(nil, "How to recover?", "%s has an interrupted operation.", a).
			Advise("Resolve it with %s, %s or %s.", diag.Means("--adopt ID"), diag.Means("--retry"),
				diag.Means("--forget"))
	}
	if err := r.session.Resolve(ctx, ops, edits...); err != nil {
		return diags.AppendError("Cannot record the recovery", err)
	}
	r.project.forgetAnswers(ops)
	return diags
}

// Ended reports whether an interrupted operation on an object ended later, so that opening the run stored its result.
func (r *Run) Ended(a addr.AbsResourceInstance) bool { return slices.Contains(r.ended, a) }

// IsOpen reports whether an operation on the current object of an instance is in flight.
func (r *Run) IsOpen(a addr.AbsResourceInstance) bool {
	return slices.ContainsFunc(r.openAt(a), func(f state.InFlight) bool { return f.Object.Deposed == "" })
}

func (r *Run) openAddresses() string {
	var list []string
	for _, f := range r.Snapshot().InFlight {
		if !isHook(f) {
			list = append(list, f.Object.String())
		}
	}
	if len(list) == 0 {
		return " The state has no interrupted operations at all."
	}
	return fmt.Sprintf(" Interrupted are: %s.", strings.Join(list, ", "))
}

func (r *Run) adopt(ctx context.Context, intent state.Intent, id string, variables map[string]cty.Value) (
	edit state.Edit, diags diag.List) {
	p := r.project
	prog, diags := p.prepare()
	if diags.HasErrors() {
		return state.Edit{}, diags
	}
	pool := p.registry.NewPool()
	defer closing(pool, &diags)
	ctx, done := r.until(ctx, pool)
	defer done()
	edit, more := planning.Adopt(ctx, p.opts.Abort, prog, r.State(), pool, planning.Options{
		Settings: p.settings(variables, p.functions(ctx, funcs.Options{})),
	}, planning.Adoption{Intent: intent, ID: id})
	return edit, diags.Extend(more)
}

// foldPartial stores early results of interrupted creations, as tainted, so that the next apply replaces the objects.
func (r *Run) foldPartial(ctx context.Context) error {
	for _, f := range r.Snapshot().InFlight {
		if f.Partial == nil || r.State().Object(f.Object) != nil {
			continue
		}
		put := state.Edit{Put: &state.PutObject{Addr: f.Object, Provider: f.Provider,
			Object: f.Partial.WithStatus(state.Tainted)}}
		if err := r.session.Resolve(ctx, []string{f.Token()}, put); err != nil {
			return fmt.Errorf("record the known attributes of %s: %w", f.Object, err)
		}
	}
	return nil
}
