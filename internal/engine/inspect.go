package engine

import (
	"context"
	"errors"
	"maps"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/host"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// WithStore returns the same project with another store, for callers that choose it based on the configuration.
func (p *Project) WithStore(s state.Store) *Project {
	c := *p
	c.store = s
	return &c
}

// WithProviders returns the same project with more providers, which override the built-in ones, for callers that choose
// them based on the configuration. It must be called before the first use of a provider.
func (p *Project) WithProviders(more map[addr.Provider]provider.Factory) *Project {
	c := *p
	c.opts.Providers = maps.Clone(p.opts.Providers)
	if c.opts.Providers == nil {
		c.opts.Providers = map[addr.Provider]provider.Factory{}
	}
	maps.Copy(c.opts.Providers, more)
	c.registry = host.NewRegistry(c.opts.Abort, c.factories())
	return &c
}

// Redact removes the secrets collected so far from a text, such as a provider's log.
func (p *Project) Redact(text string) string { return p.secrets.Redact(text) }

// Secrets returns the secrets collected so far.
func (p *Project) Secrets() *value.Secrets { return p.secrets }

// Dependencies returns all declarations of the configuration, with the indexes of their direct dependencies.
func (p *Project) Dependencies() (slots []*linking.Slot, edges [][]int, diags diag.List) {
	prog, diags := p.prepare()
	if diags.HasErrors() {
		return nil, nil, diags
	}
	slots, edges = prog.Dependencies()
	return slots, edges, diags
}

// BuiltInProviders lists the providers that need no installation, in the form of required_providers.
func BuiltInProviders() []string {
	return append([]string{"terraform.io/builtin/terraform"}, externalSources...)
}

// LockProblem returns the error that the lock of a state could not be acquired.
func LockProblem(err error) diag.List { return lockFailed(err, OpenOptions{}) }

// Schemas returns the schemas of all providers in the configuration, a state and changes, as far as they are available:
// documents can do without the others.
func (p *Project) Schemas(s *state.State, changes ...*plan.Change) tfjson.Schemas {
	out := tfjson.Schemas{}
	add := func(a addr.Provider) { p.addSchema(out, a) }
	for _, m := range p.config.Modules {
		for _, r := range m.Resources {
			add(r.Provider)
		}
		for _, c := range m.ProviderConfigs {
			add(c.Provider)
		}
	}
	if s != nil {
		for _, r := range s.Resources() {
			add(r.Provider.Provider)
		}
	}
	for _, c := range changes {
		add(c.Provider.Provider)
	}
	return out
}

// AllSchemas is like Schemas, including those of required but unused providers.
func (p *Project) AllSchemas(s *state.State, changes ...*plan.Change) tfjson.Schemas {
	out := p.Schemas(s, changes...)
	wanted, _ := Wanted(p.config) // a wrong constraint was reported before
	for a := range wanted {
		p.addSchema(out, a)
	}
	return out
}

func (p *Project) addSchema(to tfjson.Schemas, a addr.Provider) {
	if _, ok := to[a]; ok {
		return
	}
	if schema, diags := p.Schema(a); schema != nil && !diags.HasErrors() {
		to[a] = schema
	}
}

// readOnly is the session of a run without a lock that only reads while another run writes: its state includes the
// other run's results so far, and it refuses to write.
type readOnly struct {
	ctx      context.Context
	snapshot state.Snapshot
}

var errReadOnly = errors.New("another run is writing the state, and this run was started only to read it")

// readBesideWriter reads the state while another run writes it. That run's operations in flight are not reported as
// open.
func readBesideWriter(ctx context.Context, ws state.Workspace) (state.Session, error) {
	snapshot, err := ws.Read(ctx)
	if err != nil {
		return nil, err
	}
	s := &readOnly{ctx: context.WithoutCancel(ctx), snapshot: *snapshot}
	if s.snapshot.Running != nil {
		s.snapshot.InFlight = nil
	}
	return s, nil
}

func (s *readOnly) Context() context.Context { return s.ctx }

func (s *readOnly) Snapshot() *state.Snapshot {
	snapshot := s.snapshot
	return &snapshot
}

func (s *readOnly) Begin(context.Context, state.RunInfo) (state.Journal, error) {
	return nil, errReadOnly
}

func (s *readOnly) Write(context.Context, *state.State) error { return errReadOnly }

func (s *readOnly) Replace(context.Context, *state.State) error { return errReadOnly }

func (s *readOnly) Resolve(context.Context, []string, ...state.Edit) error { return errReadOnly }

func (s *readOnly) Unlock() error { return nil }
