package suite

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
)

// chosenProvider is a provider configuration of a file with its name in the module under test.
type chosenProvider struct {
	as    addr.LocalProviderConfig
	block *testfile.Provider
	mock  *testfile.Mock // nil for a real one
	// instance means that the run names one instance of the block, by its key.
	instance bool
}

// chosen returns the provider configurations that a run gets from its file: those that it names, or all.
func chosen(f *testfile.File, run *testfile.Run) (out []chosenProvider) {
	for _, p := range f.Providers {
		if len(run.Providers) == 0 {
			out = append(out, chosenProvider{as: p.Addr(), block: p, mock: p.Mock})
			continue
		}
		for _, passed := range run.Providers {
			if passed.InParent == p.Addr() {
				out = append(out, chosenProvider{passed.InChild, p, p.Mock, passed.Key != nil})
			}
		}
	}
	return out
}

// loaded holds the loaded modules, so that runs can share them. Only one run uses a module at a time: expressions of
// its provider blocks use variables and outputs of that run.
type loaded struct {
	load func(context.Context, Wanted) (*engine.Project, diag.List)
	mu   sync.Mutex // held while a module is loaded
	free map[string][]*module
	all  []*engine.Project
}

// module is a loaded module.
type module struct {
	*engine.Project
	key string
	to  *binding
}

// binding is the run that uses a module.
type binding struct{ attempt *attempt }

// get loads the module under test of a run, or returns a free one. The module is nil if there are errors.
func (l *loaded) get(ctx context.Context, a *attempt) (*module, diag.List) {
	w, key := Wanted{}, ""
	if a.run.Module != nil {
		w.Run, key = a.run, config.ManifestKey(a.run.ModulePath)
	}
	b := &binding{attempt: a}
	if list := chosen(a.file.file, a.run); len(list) > 0 {
		for _, p := range list {
			key += fmt.Sprintf("|%s=%s,%v", p.as, p.block.Addr(), p.instance)
		}
		key = a.file.file.Name + "|" + key
		w.Providers = b.providers(list)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.free[key]) - 1; n >= 0 {
		m := l.free[key][n]
		l.free[key] = l.free[key][:n]
		m.to.attempt = a
		return m, nil
	}
	p, diags := l.load(ctx, w)
	if diags.HasErrors() {
		return nil, diags
	}
	l.all = append(l.all, p)
	if diags = diags.Extend(p.Prepare()); diags.HasErrors() {
		return nil, diags
	}
	return &module{p, key, b}, diags
}

// put releases a module that its run no longer needs. m may be nil.
func (l *loaded) put(m *module) {
	if m == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free == nil {
		l.free = map[string][]*module{}
	}
	l.free[m.key] = append(l.free[m.key], m)
}

func (l *loaded) close() {
	for _, p := range l.all {
		_ = p.Close() // every run has closed the providers that it started
	}
}

// providers returns the provider configurations of the module under test, built from those of the file. It omits
// providers that the module does not use: their blocks may refer to later runs.
func (b *binding) providers(list []chosenProvider) func(*config.Config) []*config.ProviderConfig {
	return func(c *config.Config) (out []*config.ProviderConfig) {
		uses := c.Uses()
		for _, p := range list {
			if !uses[c.Root.ProviderFor(p.as.LocalName)] {
				continue
			}
			own := *p.block.ProviderConfig
			own.LocalName, own.Alias = p.as.LocalName, p.as.Alias
			if p.mock != nil && p.instance { // the instances of a mock are all the same
				own.ForEach = nil
			}
			var iterators []string
			if own.ForEach != nil {
				own.ForEach = boundExpression{own.ForEach, b, nil}
				iterators = []string{"each"}
			}
			own.Body = boundBody{own.Body, b, iterators}
			out = append(out, &own)
		}
		return out
	}
}

// providerReferences checks the references in provider blocks of the file that the module under test uses. As in
// Terraform, they are checked before the variables of the run, so that an error in them is the only one reported.
func (a *attempt) providerReferences(global map[string]cty.Value) (diags diag.List) {
	c, ctx := a.project.Config(), a.names(global)
	used := map[addr.AbsProviderConfig]bool{}
	for _, m := range c.Modules {
		for _, r := range m.Resources {
			if p, ok := m.ResolveProvider(r.ProviderConfig()); ok {
				used[p] = true
			}
		}
	}
	for _, p := range chosen(a.file.file, a.run) {
		as := addr.AbsProviderConfig{Provider: c.Root.ProviderFor(p.as.LocalName), Alias: p.as.Alias}
		if p.mock != nil || !used[as] {
			continue
		}
		schema, more := a.project.Schema(as.Provider)
		if more.HasErrors() {
			continue // the start of the provider reports it
		}
		for _, t := range blocks.Compile(p.block.Body, schema.Provider).Traversals() {
			diags = diags.Extend(a.reference(t, ctx, inProvider))
		}
	}
	return diags
}

// boundBody is the body of a provider block of the file. Its references are resolved in the file, not in the module
// that gets it.
type boundBody struct {
	hcl.Body
	to *binding
	// iterators are those of the enclosing dynamic blocks.
	iterators []string
}

// Content implements hcl.Body.
func (b boundBody) Content(s *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	c, diags := b.Body.Content(s)
	return b.bound(c), diags
}

// PartialContent implements hcl.Body.
func (b boundBody) PartialContent(s *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	c, rest, diags := b.Body.PartialContent(s)
	return b.bound(c), boundBody{rest, b.to, b.iterators}, diags
}

// JustAttributes implements hcl.Body.
func (b boundBody) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
	attrs, diags := b.Body.JustAttributes()
	return b.attributes(attrs), diags
}

func (b boundBody) attributes(attrs hcl.Attributes) hcl.Attributes {
	out := make(hcl.Attributes, len(attrs))
	for name, attr := range attrs {
		own := *attr
		own.Expr = boundExpression{attr.Expr, b.to, b.iterators}
		out[name] = &own
	}
	return out
}

func (b boundBody) bound(c *hcl.BodyContent) *hcl.BodyContent {
	if c == nil {
		return nil
	}
	out := *c
	out.Attributes = b.attributes(c.Attributes)
	out.Blocks = make(hcl.Blocks, len(c.Blocks))
	for i, block := range c.Blocks {
		own := *block
		own.Body = boundBody{block.Body, b.to, b.iteratorsIn(block)}
		out.Blocks[i] = &own
	}
	return &out
}

// iteratorsIn returns the names of the iterators that expressions in a block can use.
func (b boundBody) iteratorsIn(block *hcl.Block) []string {
	if block.Type != "dynamic" || len(block.Labels) != 1 {
		return b.iterators
	}
	name := block.Labels[0]
	// The expansion reports errors in the block.
	content, _, _ := block.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "iterator"}}})
	if a := content.Attributes["iterator"]; a != nil {
		if keyword := hcl.ExprAsKeyword(a.Expr); keyword != "" {
			name = keyword
		}
	}
	return append(slices.Clone(b.iterators), name)
}

// boundExpression is an expression whose variables and runs are those of the file. Only the iterators of dynamic blocks
// come from the evaluation in the module.
type boundExpression struct {
	hcl.Expression
	to        *binding
	iterators []string
}

func (e boundExpression) ofFile(t hcl.Traversal) bool {
	return !slices.Contains(e.iterators, t.RootName())
}

// Variables implements hcl.Expression.
func (e boundExpression) Variables() (out []hcl.Traversal) {
	for _, t := range e.Expression.Variables() {
		if !e.ofFile(t) {
			out = append(out, t)
		}
	}
	return out
}

// Value implements hcl.Expression.
func (e boundExpression) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	a := e.to.attempt
	own := a.scope(a.outer)
	var diags hcl.Diagnostics
	for _, t := range e.Expression.Variables() {
		if !e.ofFile(t) {
			continue
		}
		for _, d := range a.reference(t, own, inProvider) {
			diags = append(diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: d.Summary,
				Detail:  d.Text(diag.Program),
				Subject: d.Subject, Expression: e.Expression, EvalContext: own})
		}
	}
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	inner := own
	if ctx != nil {
		inner = ctx.NewChild()
		inner.Variables = own.Variables
	}
	return e.Expression.Value(inner)
}

// UnwrapExpression returns the syntax of the expression.
func (e boundExpression) UnwrapExpression() hcl.Expression { return e.Expression }
