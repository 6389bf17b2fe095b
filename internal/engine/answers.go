package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// spooling is a workspace with a folder for responses of programs beside the journal, and their encryption.
type spooling interface {
	Answers() (dir string, c *encryption.Cipher)
}

// answering is a provider whose responses can outlive the engine; see the handler of program providers.
type answering interface {
	provider.Provider
	Answered(ctx context.Context, req provider.ApplyRequest, found *program.Spooled) provider.ApplyResponse
}

// answersOf returns the spool for responses of programs in a workspace.
func (p *Project) answersOf(at spooling) program.Spool {
	dir, c := at.Answers()
	s := program.Spool{Dir: dir}
	if c == nil {
		return s
	}
	s.Sealing = &program.Sealing{
		Plain: !c.Seals(), Keeps: p.opts.Keeps,
		Seal: func(document []byte) ([]byte, error) {
			return c.Seal(context.Background(), document, nil, 0) // programs in the settings have a minute
		},
		Open: func(document []byte) ([]byte, error) {
			plain, _, err := c.Open(context.Background(), document)
			return plain, err
		},
	}
	return s
}

// answersHere returns the spool for responses of programs during this run; its folder is "" if there is none.
func (p *Project) answersHere() program.Spool {
	if s := p.answers.Load(); s != nil {
		return *s
	}
	return program.Spool{}
}

// forgetAnswer removes a response that the journal contains.
func (p *Project) forgetAnswer(token string) {
	if dir := p.answersHere().Dir; dir != "" {
		_ = program.RemoveSpooled(dir, token) // otherwise the next run does it
	}
}

// forgetAnswers removes responses that are no longer needed, because the operation was resolved in another way.
func (p *Project) forgetAnswers(tokens []string) {
	for _, token := range tokens {
		p.forgetAnswer(token)
	}
}

// foldAnswers records the responses that programs of a killed run have stored since it ended. It waits for programs
// that are still running.
func (r *Run) foldAnswers(ctx context.Context) (diags diag.List) {
	here := r.project.answersHere()
	dir := here.Dir
	if dir == "" {
		return nil
	}
	providers := map[addr.Provider]answering{}
	defer func() {
		for _, p := range providers {
			if p != nil {
				_ = p.Close()
			}
		}
	}()
	var open []string
	for _, f := range r.Snapshot().InFlight {
		here.Token = f.Token()
		found, err := program.AwaitSpooled(ctx, here, func(pids []int) { r.awaiting(f, pids) })
		switch {
		case err != nil:
			return diags.AppendError("Cannot read a program's answer to an interrupted run", err)
		case found == nil:
			continue
		}
		open = append(open, f.Token())
		edit, why := r.answered(ctx, providers, f, found)
		if edit == nil {
			logOrDiscard(r.project.opts.Log).Debug("The answer of an interrupted operation is not used",
				"object", f.Object.String(), "because", why)
			continue
		}
		if err := r.session.Resolve(ctx, []string{f.Token()}, *edit); err != nil {
			return diags.AppendError("Cannot record a program's answer to an interrupted run", err)
		}
		diags = diags.Append(&diag.Diagnostic{
			Severity: diag.Warning, Summary: "Operation of an interrupted run has ended", Address: f.Object.String(),
			Detail: "A run ended in the middle of the " + string(f.Action) + " of " + f.Object.String() +
				". Its program continued, and its answer has been stored."})
		r.ended = append(r.ended, f.Object.Instance)
		r.project.forgetAnswer(f.Token())
		open = open[:len(open)-1]
	}
	err := program.SweepSpool(dir, open)
	if foreign := (*program.SpoolError)(nil); errors.As(err, &foreign) {
		return diags.AppendError("Answers of programs cannot be kept beside the state", err)
	}
	if err != nil {
		diags = diags.Warnf(nil, "Answers of an interrupted run are left behind", "They cannot be removed from %s: %s.",
			dir, err)
	}
	return diags
}

// awaiting reports that a run waits for a program.
func (r *Run) awaiting(f state.InFlight, pids []int) {
	which := ""
	for i, pid := range pids {
		switch {
		case i == 0:
			which = fmt.Sprintf(" (process %d", pid)
		case i < 5:
			which += fmt.Sprintf(", %d", pid)
		}
	}
	if which != "" {
		which += ")"
	}
	line := "the program of an interrupted run is still running" + which + "; waiting for its end"
	r.project.opts.Events.Send(event.ProgramOutput{Object: f.Object, Label: string(f.Action), Line: line})
}

// answered converts a response to an edit of the state. If it cannot, why is the reason.
func (r *Run) answered(ctx context.Context, providers map[addr.Provider]answering, f state.InFlight,
	found *program.Spooled) (edit *state.Edit, why string) {
	p := r.answering(ctx, providers, f.Provider.Provider)
	if p == nil {
		return nil, "the provider cannot be started"
	}
	schema, problems := p.Schema(ctx)
	if problems.HasErrors() {
		return nil, "the provider has no schema"
	}
	rt := schema.Resources[f.Object.Instance.Resource.Type]
	if rt == nil {
		return nil, "the provider no longer has the type"
	}
	stored := r.State().Object(f.Object)
	req, err := answeredRequest(f, rt.Block.ImpliedType(), stored)
	if err != nil {
		return nil, "the provider's schema has changed"
	}
	resp := p.Answered(ctx, req, found)
	v := resp.State
	switch {
	case v == cty.NilVal, len(value.Conforms(rt.Block, v)) > 0, !v.IsKnown():
		return nil, "the answer has no valid object" // as in a run that waits for the response
	case v.IsNull() && f.Action == state.ActionDelete && !resp.Diagnostics.HasErrors():
		return &state.Edit{Drop: &state.DropObject{Addr: f.Object}}, ""
	case v.IsNull() || f.Action == state.ActionDelete:
		return nil, "the answer reports that the operation failed" // the user, or the next plan, resolves it
	}
	if edit = settled(f, rt, resp, found.Record, stored); edit == nil {
		why = "the object of the answer cannot be stored"
	}
	return edit, why
}

// answering returns a provider that reads responses, or nil if there is none. It is started once.
func (r *Run) answering(ctx context.Context, providers map[addr.Provider]answering, of addr.Provider) answering {
	p, known := providers[of]
	if known {
		return p
	}
	if factory := r.project.factories()[of]; factory != nil {
		if made, err := factory(ctx); err == nil {
			if p, _ = made.(answering); p == nil {
				_ = made.Close()
			}
		}
	}
	providers[of] = p
	return p
}

// answeredRequest returns the request that a program has responded to, as far as it is recorded.
func answeredRequest(f state.InFlight, ty cty.Type, stored *state.Object) (provider.ApplyRequest, error) {
	req := provider.ApplyRequest{Type: f.Object.Instance.Resource.Type, Prior: cty.NullVal(ty),
		Planned: cty.NullVal(ty)}
	var err error
	if stored != nil && f.Action != state.ActionCreate {
		if req.Prior, err = stored.Value(ty); err != nil {
			return req, err
		}
		req.PlannedPrivate = stored.Private
	}
	if len(f.Planned) > 0 {
		req.Planned, err = ctyjson.Unmarshal(f.Planned, ty)
	}
	return req, err
}

// settled returns the edit that stores the object after a creation or an update.
func settled(f state.InFlight, rt *provider.ResourceType, resp provider.ApplyResponse, record []byte,
	stored *state.Object) *state.Edit {
	sketch, err := state.DecodeObject(record)
	if err != nil {
		return nil
	}
	if resp.Diagnostics.HasErrors() {
		sketch.Status = state.Tainted
		if stored != nil {
			sketch.Status = stored.Status
		}
	}
	sketch.Private = resp.Private
	if rt.Identity != nil && resp.Identity != cty.NilVal && !resp.Identity.IsNull() {
		if sketch.Identity, err = value.EncodeIdentity(rt.Identity, resp.Identity); err != nil {
			return nil
		}
		sketch.IdentityVersion = rt.Identity.Version
	}
	o, err := state.NewObject(value.NullWriteOnly(rt.Block, value.UnknownAsNull(resp.State)), rt.Block.ImpliedType(),
		*sketch, rt.Newer...)
	if err != nil {
		return nil
	}
	return &state.Edit{Put: &state.PutObject{Addr: f.Object, Provider: f.Provider, Object: o}}
}
