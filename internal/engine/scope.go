package engine

import (
	"context"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/host"
	"github.com/tombolo-iac/tombolo/provider"
)

// StandIns mock providers and modules, for tests of modules.
type StandIns = eval.StandIns

// Scope evaluates assertions with the values of a plan or an apply.
type Scope struct {
	root  *eval.Instance
	table map[string]function.Function
}

// Assert evaluates a condition; src is its text. It returns no diagnostics if the condition is true. An error with
// eval.Failed means that it is false; other errors mean that it cannot be evaluated.
func (s *Scope) Assert(c *config.Condition, src []byte, beside eval.ExtraScope) diag.List {
	return s.root.Assert(c, src, s.table, beside)
}

// Usable reports whether there are values for an evaluation: a plan that could not begin has none.
func (s *Scope) Usable() bool { return s.root != nil }

// Prepare links the configuration, so that copies of the project share the result.
func (p *Project) Prepare() diag.List {
	_, diags := p.prepare()
	return diags
}

// Outputs returns the output values of the root module, with marks. Outputs that are not targeted, or that were not
// evaluated for another reason, are unknown: their stored values belong to another configuration.
func (s *Scope) Outputs() map[string]cty.Value {
	out := s.root.Outputs()
	for _, name := range s.root.Excluded() {
		out[name] = cty.DynamicVal
	}
	return out
}

// walked returns a function that sets a scope at the end of a walk, or nil without a scope.
func (s *Scope) walked(table map[string]function.Function) func(*eval.Walk) {
	if s == nil {
		return nil
	}
	return func(w *eval.Walk) {
		w.Settle()
		s.root, s.table = w.Root, table
	}
}

// pool returns the pool of providers for one walk. Mocked provider configurations come from standIns.
func (p *Project) pool(standIns StandIns) *pool {
	return &pool{Pool: p.registry.NewPool(), config: p.config, standIns: standIns}
}

type pool struct {
	*host.Pool
	config   *config.Config
	standIns StandIns
}

// Get returns the provider for a configuration, or its mock.
func (p *pool) Get(ctx context.Context, a addr.AbsProviderConfig) (provider.Provider, diag.List) {
	if block := p.config.ProviderBlock(a); block == nil || !block.Mock || p.standIns == nil {
		return p.Pool.Get(ctx, a)
	}
	real, diags := p.Unconfigured(a.Provider)
	if real == nil {
		return nil, diags
	}
	return p.standIns.Provider(a, real), diags
}
