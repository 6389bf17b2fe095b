package schema

import (
	"context"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// EphemeralResource describes an object that exists for one run and is never stored: a token, a tunnel.
type EphemeralResource struct {
	Schema map[string]*Schema

	// Open creates the object and sets its attributes. Renew and Close only get the private data that it set; both may
	// be nil.
	Open  EphemeralFunc
	Renew EphemeralFunc
	Close EphemeralFunc

	DeprecationMessage string
	Description        string
}

// EphemeralFunc is a callback of an EphemeralResource.
type EphemeralFunc func(ctx context.Context, d *EphemeralData, meta interface{}) diag.List

// EphemeralData is an ephemeral object in a callback. In Renew and Close only the private data is available, not the
// attributes.
type EphemeralData struct {
	*ResourceData
	private []byte
	renewAt time.Time
}

// Private returns the data that an earlier callback stored with SetPrivate.
func (d *EphemeralData) Private() []byte { return d.private }

// SetPrivate sets data for Renew and Close. It is not stored.
func (d *EphemeralData) SetPrivate(private []byte) { d.private = private }

// SetRenewAt requests a call of Renew at the given time.
func (d *EphemeralData) SetRenewAt(at time.Time) { d.renewAt = at }

type ephemeralType struct {
	*resourceType
	e *EphemeralResource
}

func compileEphemeral(name string, e *EphemeralResource) *ephemeralType {
	r := &Resource{Schema: e.Schema, Description: e.Description, DeprecationMessage: e.DeprecationMessage}
	return &ephemeralType{compile(name, r, ephemeral), e}
}

func (c *inspection) ephemeral(w where, e *EphemeralResource) {
	c.typeName(w)
	switch {
	case e == nil:
		c.add(w.what, "the ephemeral resource is nil")
		return
	case e.Open == nil:
		c.add(w.what, "there is no Open")
	}
	c.fields(w, e.Schema)
}

// callEphemeral runs a callback, which may be nil.
func (s *server) callEphemeral(ctx context.Context, t *ephemeralType, what string, f EphemeralFunc,
	d *EphemeralData) diag.List {
	if f == nil {
		return nil
	}
	diags := s.guard(ctx, t.resourceType, what, func(ctx context.Context) diag.List {
		d.ctx = ctx
		return f(ctx, d, s.meta())
	})
	return dropped(d.mistakes, diags)
}

// OpenEphemeral opens an ephemeral object.
func (s *server) OpenEphemeral(ctx context.Context, req provider.OpenEphemeralRequest) provider.OpenEphemeralResponse {
	t := s.ephemeral[req.Type]
	if t == nil {
		return s.Base.OpenEphemeral(ctx, req)
	}
	config, err := t.withDefaults(req.Config)
	if err != nil {
		return provider.OpenEphemeralResponse{Diagnostics: diag.List{setProblem(err)}}
	}
	null := cty.NullVal(t.object.ty)
	open := value.SetUnknownsWhere(t.block(), config, func(a *provider.Attribute) bool {
		return t.fields[a].schema.Computed
	})
	d := &EphemeralData{ResourceData: newData(t.resourceType, reader{object: t.object, old: null, now: config,
		unknown: open, config: req.Config})}
	diags := s.callEphemeral(ctx, t, "open", t.e.Open, d)
	if diags.HasErrors() {
		return provider.OpenEphemeralResponse{Diagnostics: diags}
	}
	result := value.UnknownAsNull(d.whole())
	errs := value.CheckPlan(t.block(), null, req.Config, result, everything)
	return provider.OpenEphemeralResponse{Result: result, Private: d.private, RenewAt: d.renewAt,
		Diagnostics: diags.Extend(invalidResponse("Invalid object from the provider", errs))}
}

// later returns the data for callbacks that only get the private data.
func (t *ephemeralType) later(private []byte) *EphemeralData {
	empty := t.block().EmptyValue()
	return &EphemeralData{ResourceData: newData(t.resourceType, reader{object: t.object, old: cty.NullVal(t.object.ty),
		now: empty}), private: private}
}

// RenewEphemeral renews an ephemeral object.
func (s *server) RenewEphemeral(ctx context.Context,
	req provider.RenewEphemeralRequest) provider.RenewEphemeralResponse {
	t := s.ephemeral[req.Type]
	if t == nil {
		return s.Base.RenewEphemeral(ctx, req)
	}
	d := t.later(req.Private)
	diags := s.callEphemeral(ctx, t, "renew", t.e.Renew, d)
	return provider.RenewEphemeralResponse{Private: d.private, RenewAt: d.renewAt, Diagnostics: diags}
}

// CloseEphemeral closes an ephemeral object.
func (s *server) CloseEphemeral(ctx context.Context, req provider.CloseEphemeralRequest) diag.List {
	t := s.ephemeral[req.Type]
	if t == nil {
		return noSuchType("ephemeral resource", req.Type, s.ephemeral)
	}
	return s.callEphemeral(ctx, t, "close", t.e.Close, t.later(req.Private))
}
