// Package handler implements a provider with a manifest and a program: level 2 of docs/program-protocol.md.
//
// It implements the parts of a provider that are the same in every language: schema, validation by keywords, defaults,
// the plan, merging answers with known values, unknown values, exact numbers, write-only attributes, secrets in
// messages, partial results of failures, timeouts, retries. The program only implements calls (action, params) ->
// result, and only for the actions in its manifest. It is not started for schemas, nor for validation and plans unless
// it implements these actions.
//
// A Caller transports calls to the program: NewOneShot starts the program for each call, NewSession once for all of
// them.
//
//	m, diags := manifest.Load("./notes")
//	p := handler.New(m, handler.NewCaller(m, handler.Surroundings{}), handler.Options{})
package handler

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// Options configures a handler.
type Options struct {
	// Output is called with messages of programs, concurrently. It may be nil.
	Output func(Output)
	// MayRead is called before the program is started for a call that changes nothing; an error refuses it. Nil allows
	// all.
	MayRead func() error
	// Redact removes secrets from the output of programs that are not secret according to the schema, which this
	// package handles itself. Nil removes nothing.
	Redact func(string) string
	// RemoteState reads states of other configurations for programs that request them; nil refuses such requests.
	RemoteState RemoteState
	// Cache is the folder for answers that are stored for reuse; "" means that none are.
	Cache string
	// Private reports whether answers must not be stored because states are encrypted. Nil means false.
	Private func() bool
}

// New returns the provider. It owns the caller.
func New(m *manifest.Manifest, caller Caller, opts Options) provider.Provider {
	h := &handler{caller: caller, opts: opts, secrets: &value.Secrets{}, stopping: provider.NewStopping()}
	h.config.Store(&configuration{values: json.RawMessage("{}"), unknown: json.RawMessage("{}")})
	if n := m.Concurrency; n > 0 || m.Mode == manifest.Session {
		h.slots = make(chan struct{}, max(1, n))
	}
	h.hash = sync.OnceValue(func() string { return hashFolder(m.Dir) })
	h.manifest.Store(m)
	if l, ok := caller.(listener); ok {
		l.Listen((&output{request: h.request(context.Background(), "session", "")}).line)
	}
	return h
}

// listener is a caller whose program writes lines that belong to no call. Lines are not reported concurrently.
type listener interface{ Listen(fn func(line string)) }

type handler struct {
	provider.Base
	caller Caller
	opts   Options
	slots  chan struct{} // nil means no limit

	manifest atomic.Pointer[manifest.Manifest]
	asking   sync.Mutex // held while the program is asked for its schema, which completes the manifest

	hash    func() string                 // hash of the program's files, or "" if it is unknown
	config  atomic.Pointer[configuration] // set by Configure, perhaps during validation
	secrets *value.Secrets                // of the configuration
	recent  recent

	stopping *provider.Stopping
}

// configuration holds the values of the provider block, and the tree of its unknown values.
type configuration struct{ values, unknown json.RawMessage }

// Schema implements provider.Provider.
func (h *handler) Schema(ctx context.Context) (*provider.Schema, diag.List) {
	h.asking.Lock()
	defer h.asking.Unlock()
	if h.m().Schema != nil {
		return h.m().Schema, nil
	}
	r := h.request(ctx, "schema", "")
	r.reads = true
	a, diags := r.call(`{"schema": {…}}`)
	if diags.HasErrors() {
		return nil, diags
	}
	schema := a.root.Get("schema")
	if schema == nil {
		return nil, diags.Append(r.badAnswer(a, `there is no member "schema"`))
	}
	m, more := h.m().WithSchema(a.text[schema.Offset:schema.End])
	if diags = diags.Extend(withoutRanges(more)); more.HasErrors() {
		return nil, diags
	}
	h.manifest.Store(m)
	return m.Schema, diags
}

func (h *handler) m() *manifest.Manifest { return h.manifest.Load() }

// withoutRanges moves source positions in a text that is not a file into the details.
func withoutRanges(in diag.List) diag.List {
	out := make(diag.List, len(in))
	for i, d := range in {
		c := *d
		if c.Subject != nil {
			c.Detail += " (" + c.Subject.String() + ")"
			c.Subject = nil
		}
		out[i] = &c
	}
	return out
}

func (h *handler) block() *provider.Block {
	if h.m().Schema == nil || h.m().Schema.Provider == nil {
		return &provider.Block{}
	}
	return h.m().Schema.Provider
}

func (h *handler) codec(b *provider.Block) message.Codec {
	return message.Codec{Block: b, AsText: func(a *provider.Attribute) bool { return h.m().Words(a).AsText }}
}

// ValidateConfig implements provider.Provider.
func (h *handler) ValidateConfig(ctx context.Context,
	req provider.ValidateConfigRequest) provider.ValidateConfigResponse {
	resp := provider.ValidateConfigResponse{Prepared: req.Config}
	if h.m().Schema == nil || req.Config.IsNull() {
		return resp
	}
	resp.Prepared = h.withDefaults(h.block(), req.Config)
	resp.Diagnostics = h.check(h.block(), resp.Prepared)
	if resp.Diagnostics.HasErrors() || !h.m().Does("validate") {
		return resp
	}
	r := h.request(ctx, "validate", "")
	r.block, r.reads = h.block(), true
	r.object("config", h.block(), resp.Prepared, true)
	_, diags := r.call(`{"diagnostics": […]}, or {}`)
	resp.Diagnostics = resp.Diagnostics.Extend(diags)
	return resp
}

// ValidateResource implements provider.Provider.
func (h *handler) ValidateResource(ctx context.Context, req provider.ValidateResourceRequest) diag.List {
	rt, t := h.typeOf(req.Kind, req.Type)
	if rt == nil {
		return nil
	}
	diags := h.check(rt.Block, req.Config)
	if diags.HasErrors() || !t.Does("validate") {
		return diags
	}
	r := h.requestFor(ctx, "validate", rt, t, req.Type, req.Object)
	r.reads = true
	r.object("config", rt.Block, req.Config, true)
	_, more := r.call(`{"diagnostics": […]}, or {}`)
	return diags.Extend(more)
}

// Configure implements provider.Provider.
func (h *handler) Configure(ctx context.Context, req provider.ConfigureRequest) provider.ConfigureResponse {
	config := req.Config
	if config == cty.NilVal || config.IsNull() {
		config = h.block().EmptyValue()
	}
	config = h.withDefaults(h.block(), config)
	values, unknown := h.codec(h.block()).Encode(config)
	h.config.Store(&configuration{values, unknown})
	addSecrets(h.secrets, h.block(), config)
	if diags := h.check(h.block(), config); diags.HasErrors() || !h.m().Does("configure") {
		return provider.ConfigureResponse{Diagnostics: diags}
	}
	r := h.request(ctx, "configure", "")
	r.block, r.reads = h.block(), true
	_, diags := r.call(`{"diagnostics": […]}, or {}`)
	return provider.ConfigureResponse{Diagnostics: diags}
}

// typeOf returns a type; rt is nil if it does not exist.
func (h *handler) typeOf(kind provider.ResourceKind, name string) (*provider.ResourceType, *manifest.Type) {
	if h.m().Schema == nil {
		return nil, nil
	}
	return h.m().Schema.Type(kind, name), h.m().Type(kind, name)
}

// Stop implements provider.Provider. It cancels calls that only read. It does not cancel calls that change something,
// because they could leave unknown objects behind; a caller that cannot wait for them cancels their context.
func (h *handler) Stop(ctx context.Context) error { return h.stopping.Stop(ctx) }

// Close implements provider.Provider.
func (h *handler) Close() error { return h.caller.Close() }
