package schema

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// server is a running provider.
type server struct {
	provider.Base
	p         *Provider
	config    *resourceType
	metaType  *resourceType // provider_meta blocks, or nil if there are none
	managed   map[string]*resourceType
	data      map[string]*resourceType
	ephemeral map[string]*ephemeralType
	lists     map[string]*listType
	actions   map[string]*actionType
	schema    *provider.Schema
	problems  diag.List

	mu       sync.Mutex // guards p.meta
	stopping *provider.Stopping
}

// New starts a provider. The description must not change afterwards.
func New(p *Provider) provider.Provider {
	s := &server{p: p, managed: map[string]*resourceType{}, data: map[string]*resourceType{},
		ephemeral: map[string]*ephemeralType{}, lists: map[string]*listType{}, actions: map[string]*actionType{},
		stopping: provider.NewStopping()}
	if err := p.InternalValidate(); err != nil {
		// Some mistakes make a schema meaningless or infinite.
		s.problems = diag.List{}.Errorf(nil, "Invalid provider", "The provider's schema has mistakes. %s\n\n%s",
			value.ProviderBug, err)
		p = &Provider{}
		s.p = p
	}
	s.config = compile("provider", &Resource{Schema: p.Schema, Description: p.Description}, configuration)
	s.schema = &provider.Schema{
		Provider: s.config.block(), Resources: map[string]*provider.ResourceType{},
		Data:      map[string]*provider.ResourceType{},
		Ephemeral: map[string]*provider.ResourceType{}, Functions: map[string]*provider.Function{},
		Lists: map[string]*provider.ResourceType{}, Actions: map[string]*provider.ResourceType{},
		GenerateConfig: true,
	}
	if len(p.ProviderMetaSchema) > 0 {
		s.metaType = compile("provider_meta", &Resource{Schema: p.ProviderMetaSchema}, metaBlock)
		s.schema.Meta = s.metaType.block()
	}
	for name, r := range p.ResourcesMap {
		s.managed[name] = compile(name, r, managed)
		s.schema.Resources[name] = s.managed[name].wire
	}
	for name, r := range p.DataSourcesMap {
		s.data[name] = compile(name, r, data)
		s.schema.Data[name] = s.data[name].wire
	}
	for name, e := range p.EphemeralResourcesMap {
		s.ephemeral[name] = compileEphemeral(name, e)
		s.schema.Ephemeral[name] = s.ephemeral[name].wire
	}
	for name, l := range p.ListResourcesMap {
		s.lists[name] = compileList(name, l)
		s.schema.Lists[name] = s.lists[name].wire
	}
	for name, a := range p.ActionsMap {
		s.actions[name] = compileAction(name, a)
		s.schema.Actions[name] = s.actions[name].wire
	}
	for name, f := range p.Functions {
		s.schema.Functions[name] = f.wire()
	}
	return s
}

// Schema returns the schema of the provider, or the problems of its description.
func (s *server) Schema(context.Context) (*provider.Schema, diag.List) { return s.schema, s.problems }

// Configure calls the provider's ConfigureFunc.
func (s *server) Configure(ctx context.Context, req provider.ConfigureRequest) provider.ConfigureResponse {
	return provider.ConfigureResponse{
		Diagnostics: s.guard(ctx, s.config, "use", func(ctx context.Context) diag.List {
			config, err := s.config.withDefaults(req.Config)
			if err != nil {
				return diag.List{setProblem(err)}
			}
			if diags := s.config.missing(config); diags.HasErrors() {
				return diags
			}
			d := newData(s.config, reader{object: s.config.object, old: cty.NullVal(s.config.object.ty), now: config,
				config: req.Config, planning: true})
			d.ctx = ctx
			s.mu.Lock()
			s.p.TerraformVersion = req.TerraformVersion
			s.mu.Unlock()
			meta, diags := s.p.configure(ctx, d)
			if meta != nil && !diags.HasErrors() {
				s.mu.Lock()
				s.p.meta = meta
				s.mu.Unlock()
			}
			return dropped(d.mistakes, diags)
		})}
}

func (p *Provider) configure(ctx context.Context, d *ResourceData) (interface{}, diag.List) {
	switch {
	case p.ConfigureContextFunc != nil:
		return p.ConfigureContextFunc(ctx, d)
	case p.ConfigureFunc != nil:
		meta, err := p.ConfigureFunc(d)
		return meta, diag.FromErr(err)
	}
	return nil, nil
}

func (s *server) meta() interface{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.p.meta
}

// withMeta sets the provider_meta value of the object's module.
func (s *server) withMeta(d *ResourceData, meta cty.Value) *ResourceData {
	if s.metaType != nil && meta != cty.NilVal && !meta.IsNull() {
		d.providerMeta, d.providerMetaType = meta, s.metaType
	}
	return d
}

// Stop cancels the contexts of all callbacks.
func (s *server) Stop(ctx context.Context) error { return s.stopping.Stop(ctx) }

// Close ends the provider and closes the result of ConfigureFunc if it has a Close method.
func (s *server) Close() error {
	_ = s.stopping.Stop(context.Background()) // never fails
	if c, ok := s.meta().(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// guard runs a callback with a context that Stop also cancels. A panic of the callback becomes a diagnostic.
func (s *server) guard(ctx context.Context, t *resourceType, what string, call func(context.Context) diag.List) (
	diags diag.List) {
	ctx, done := s.stopping.Interruptible(ctx)
	defer done()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case problem:
			diags = diags.Append(r.d)
		default:
			diags = diags.Append(panicked(t, what, r))
		}
	}()
	return call(ctx)
}

// panicked returns the diagnostic for a panic. It must be called while the goroutine is still panicking, so that it
// finds the position.
func panicked(t *resourceType, what string, reason interface{}) *diag.Diagnostic {
	place := ""
	if at := panickedAt(); at != "" {
		place = " in " + at
	}
	return &diag.Diagnostic{Severity: diag.Error, Summary: "The provider crashed",
		Detail: fmt.Sprintf("The provider panicked%s when it was to %s %s: %v. %s", place, what, t.label(),
			reason, value.ProviderBug),
		Extra: crash{}}
}

// panickedAt returns the function that panicked, from the current stack.
func panickedAt() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for panicking := false; ; {
		frame, more := frames.Next()
		switch {
		case strings.HasPrefix(frame.Function, "runtime."):
			panicking = panicking || frame.Function == "runtime.gopanic"
		case panicking && frame.Function != "":
			return fmt.Sprintf("%s (%s:%d)", filepath.Base(frame.Function), filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// label returns the kind and name of a type, for messages.
func (t *resourceType) label() string {
	switch t.kind {
	case data:
		return "data source " + t.name
	case ephemeral:
		return "ephemeral resource " + t.name
	case listing:
		return "objects of type " + t.name
	case acting:
		return "the action " + t.name
	case configuration:
		return "its configuration"
	case metaBlock:
		return "the provider_meta block of a module"
	case callee:
		return "the function " + t.name
	}
	return "an object of type " + t.name
}

// everything is hidden from messages about values: the provider does not know which of them are secret in the
// configuration.
var everything = cty.Path{}

// remedy explains to authors how to avoid invalid responses.
const remedy = "(In the provider: to treat two spellings as equal, use a DiffSuppressFunc or StateFunc; if the " +
	"system sets an attribute that is not configured, make it Computed.)"

// invalidResponse returns the error for a response that the engine would refuse.
func invalidResponse(summary string, errs []value.PathError) diag.List {
	var diags diag.List
	for _, e := range errs {
		diags = diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: summary, Path: e.Path,
			Detail: fmt.Sprintf(
				"The provider's answer contradicts the configuration or the plan: %s. %s\n\n%s", e.Error(),
				value.ProviderBug, remedy)})
	}
	return diags
}

// crash marks the diagnostic of a panic.
type crash struct{}
