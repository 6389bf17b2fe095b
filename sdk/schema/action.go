package schema

import (
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// Action describes an operation with an effect that is not stored in the state, such as a message or a restart.
type Action struct {
	// Schema describes the block config of action blocks: arguments and blocks, nothing Computed.
	Schema map[string]*Schema
	// Plan checks whether the action could be invoked, and changes nothing. Values may not be known yet: see GetKnown.
	// It may be nil.
	Plan ActionFunc
	// Invoke performs the action. Its effect is not recorded, so performing it again should do no harm.
	Invoke ActionFunc

	DeprecationMessage string
	Description        string
}

// ActionFunc is a callback of an Action.
type ActionFunc func(ctx context.Context, d *ActionData, meta interface{}) diag.List

// ActionData is an action in a callback. Get and the other methods read the config block.
type ActionData struct {
	*ResourceData
	progress func(message string)
}

// Progress sends a message about the progress of the action. It does nothing in Plan.
func (d *ActionData) Progress(format string, args ...interface{}) {
	if d.progress != nil {
		d.progress(fmt.Sprintf(format, args...))
	}
}

type actionType struct {
	*resourceType
	a *Action
}

func compileAction(name string, a *Action) *actionType {
	r := &Resource{Schema: a.Schema, Description: a.Description, DeprecationMessage: a.DeprecationMessage}
	return &actionType{compile(name, r, acting), a}
}

func (c *inspection) action(w where, a *Action) {
	c.typeName(w)
	switch {
	case a == nil:
		c.add(w.what, "the action is nil")
		return
	case a.Invoke == nil:
		c.add(w.what, "there is no Invoke")
	}
	c.fields(w, a.Schema)
}

// callAction runs a callback, which may be nil.
func (s *server) callAction(ctx context.Context, t *actionType, what string, f ActionFunc, config cty.Value,
	progress func(string)) diag.List {
	if f == nil {
		return nil
	}
	full, err := t.withDefaults(config)
	if err != nil {
		return diag.List{setProblem(err)}
	}
	if diags := t.missing(full); diags.HasErrors() {
		return diags
	}
	d := &ActionData{ResourceData: newData(t.resourceType, reader{object: t.object, old: cty.NullVal(t.object.ty),
		now: full, config: config, planning: true}), progress: progress}
	diags := s.guard(ctx, t.resourceType, what, func(ctx context.Context) diag.List {
		d.ctx = ctx
		return f(ctx, d, s.meta())
	})
	return dropped(d.mistakes, diags)
}

// PlanAction checks whether an action can be invoked.
func (s *server) PlanAction(ctx context.Context, req provider.PlanActionRequest) provider.PlanActionResponse {
	t := s.actions[req.Type]
	if t == nil {
		return provider.PlanActionResponse{Diagnostics: noSuchType("action", req.Type, s.actions)}
	}
	return provider.PlanActionResponse{Diagnostics: s.callAction(ctx, t, "plan", t.a.Plan, req.Config, nil)}
}

// InvokeAction performs an action.
func (s *server) InvokeAction(ctx context.Context, req provider.InvokeActionRequest) provider.InvokeActionResponse {
	t := s.actions[req.Type]
	if t == nil {
		return provider.InvokeActionResponse{Diagnostics: noSuchType("action", req.Type, s.actions)}
	}
	return provider.InvokeActionResponse{Diagnostics: s.callAction(ctx, t, "invoke", t.a.Invoke, req.Config,
		req.Progress)}
}
