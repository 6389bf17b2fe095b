package handler

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/provider"
)

type typ = *manifest.Type

// OpenEphemeral implements provider.Provider.
func (h *handler) OpenEphemeral(ctx context.Context, req provider.OpenEphemeralRequest) provider.OpenEphemeralResponse {
	rt, t := h.typeOf(provider.EphemeralResource, req.Type)
	if rt == nil {
		return h.Base.OpenEphemeral(ctx, req)
	}
	v, a, diags := h.fetch(ctx, opening, subject{rt, t, req.Type, addr.Object{}}, req.Config)
	resp := provider.OpenEphemeralResponse{Result: v, Diagnostics: diags}
	if !diags.HasErrors() {
		resp.Private = a.remembered(nil)
		var problem error
		if resp.RenewAt, problem = renewal(a); problem == nil && !resp.RenewAt.IsZero() && !t.Does("renew") {
			problem = errors.New(
				`"renew_at" requests a renewal, but the manifest does not list "renew" for the type`)
		}
		if problem != nil {
			// Do not show the output again, because it also contains secrets.
			resp.Diagnostics = diags.Append(h.requestFor(ctx, "open", rt, t, req.Type, addr.Object{}).badAnswer(&answer{
				program: a.program}, problem.Error()))
		}
	}
	if resp.Diagnostics.HasErrors() && a != nil && a.root != nil && !a.failed {
		// Only this call can close what was opened.
		resp.Diagnostics = resp.Diagnostics.Extend(h.CloseEphemeral(ctx, provider.CloseEphemeralRequest{
			Type: req.Type, Private: a.remembered(nil)}))
	}
	return resp
}

// renewal returns the time of the next renewal.
func renewal(a *answer) (time.Time, error) {
	given := a.get("renew_at")
	if given == nil || given.Kind == strictjson.Null {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, given.Text)
	if given.Kind != strictjson.String || err != nil {
		return time.Time{}, fmt.Errorf(`"renew_at" must be a time such as "2030-01-31T15:04:05Z"`)
	}
	return at, nil
}

// RenewEphemeral implements provider.Provider.
func (h *handler) RenewEphemeral(ctx context.Context,
	req provider.RenewEphemeralRequest) provider.RenewEphemeralResponse {
	rt, t := h.typeOf(provider.EphemeralResource, req.Type)
	if rt == nil || !t.Does("renew") {
		return h.Base.RenewEphemeral(ctx, req)
	}
	r := h.requestFor(ctx, "renew", rt, t, req.Type, addr.Object{})
	r.reads = true
	r.private(req.Private)
	a, diags := r.call(`{"renew_at": "…"}, or {}`)
	resp := provider.RenewEphemeralResponse{Private: a.remembered(req.Private), Diagnostics: diags}
	at, err := renewal(a)
	if err != nil && !diags.HasErrors() {
		resp.Diagnostics = diags.Append(r.badAnswer(a, err.Error()))
	}
	resp.RenewAt = at
	return resp
}

// CloseEphemeral implements provider.Provider. Stop does not cancel it, because an interrupted run has to clean up.
func (h *handler) CloseEphemeral(ctx context.Context, req provider.CloseEphemeralRequest) diag.List {
	rt, t := h.typeOf(provider.EphemeralResource, req.Type)
	if rt == nil || !t.Does("close") {
		return nil
	}
	r := h.requestFor(ctx, "close", rt, t, req.Type, addr.Object{})
	r.silent = true
	r.private(req.Private)
	_, diags := r.call("nothing, or {}")
	return diags
}

// CallFunction implements provider.Provider.
func (h *handler) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error) {
	var f *provider.Function
	if h.m().Schema != nil {
		f = h.m().Schema.Functions[name]
	}
	if f == nil {
		return h.Base.CallFunction(ctx, name, args)
	}
	r := h.request(ctx, "call", name)
	r.reads = true
	r.cache = h.m().Cache(f)
	r.raw("function", message.Text(name))
	list := []byte{'['}
	for i, arg := range args {
		p := f.VarParam
		if i < len(f.Params) {
			p = &f.Params[i]
		}
		if p == nil {
			return cty.DynamicVal, fmt.Errorf("the function takes %d arguments, not %d", len(f.Params), len(args))
		}
		if !arg.IsWhollyKnown() {
			return cty.UnknownVal(f.Return), nil
		}
		if i > 0 {
			list = append(list, ',')
		}
		text, _ := message.EncodeValue(p.Type, arg)
		list = append(list, text...)
	}
	r.raw("args", append(list, ']'))
	const expected = `{"result": …}, or {"error": {"message": "…", "argument": 0}}`
	a, diags := r.call(expected)
	if err := diags.Err(); err != nil {
		return cty.DynamicVal, r.functionError(diags)
	}
	if problem := a.get("error"); problem != nil {
		return cty.DynamicVal, r.functionFailure(problem, len(args))
	}
	result := a.get("result")
	if result == nil {
		return cty.DynamicVal, r.functionError(diag.List{r.badAnswer(a, `there is no "result". Expected: `+expected)})
	}
	v, problems := message.DecodeValue(f.Return, result, a.text)
	if len(problems) > 0 {
		return cty.DynamicVal, r.functionError(diag.List{r.badAnswer(a, r.placed("result", problems[0]))})
	}
	return v, nil
}

// functionError is the error of a function, which has no other way to report problems.
type functionError struct {
	text   string
	quoted []string
}

func (e *functionError) Error() string { return e.text }

// Quoted returns the parts of the text that come from the program; see funcs.OfProvider.
func (e *functionError) Quoted() []string { return e.quoted }

func (r *request) functionError(diags diag.List) error {
	return &functionError{firstError(diags), r.theirs}
}

// firstError returns the first error as a clause.
func firstError(diags diag.List) string {
	for _, d := range diags {
		switch text := d.Text(diag.Program); {
		case d.Severity != diag.Error:
		case text == "":
			return d.Summary
		default:
			return d.Summary + ": " + strings.TrimSuffix(text, ".")
		}
	}
	return ""
}

// functionFailure decodes an error from a function's answer.
func (r *request) functionFailure(given *strictjson.Value, args int) error {
	text := "the program gave no reason"
	if m := given.Get("message"); m != nil && m.Kind == strictjson.String && m.Text != "" {
		text = r.quote(m.Text)
	}
	if at := given.Get("argument"); at != nil && at.Kind == strictjson.Number {
		if i, err := strconv.Atoi(at.Text); err == nil && i >= 0 && i < args {
			return function.NewArgError(i, &functionError{text, r.theirs})
		}
	}
	return &functionError{text, r.theirs}
}
