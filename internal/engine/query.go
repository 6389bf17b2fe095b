package engine

import (
	"context"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/planning"
	"github.com/tombolo-iac/tombolo/plan"
)

// QueryOptions configures a query.
type QueryOptions struct {
	// GenerateConfig generates configuration for found objects: Listed.GeneratedConfig and GeneratedImport.
	GenerateConfig bool
	// Variables and VariableRanges are as in PlanOptions.
	Variables      map[string]cty.Value
	VariableRanges map[string]hcl.Range
}

// Query lets providers find the objects that the project's list blocks describe. The project must have been loaded with
// its query files. It changes nothing. After errors it returns the results so far.
func (r *Run) Query(ctx context.Context, o QueryOptions) (out []*plan.List, diags diag.List) {
	p := r.project
	prog, diags := p.prepare()
	if !diags.HasErrors() {
		diags = diags.Extend(p.config.CheckRoot())
	}
	if diags.HasErrors() {
		return nil, diags
	}
	if len(prog.Lists()) == 0 {
		return nil, diags.Errorf(nil, "No resources to query", "The configuration has no list blocks. Write them in "+
			"files that end in .tfquery.hcl:\n\n  list \"TYPE\" \"NAME\" {\n    provider = PROVIDER\n  }")
	}
	pool := p.registry.NewPool()
	defer closing(pool, &diags)
	ctx, done := r.until(ctx, pool)
	defer done()
	if problems := p.validate(ctx, prog, pool); problems.HasErrors() {
		return nil, diags.Extend(problems)
	}
	now := time.Now()
	p.learnVariables(o.Variables)
	settings := p.settings(o.Variables, p.functions(ctx, funcs.Options{PlanTime: now, Pure: true,
		Files: funcs.NewFileRecord(nil)}))
	settings.VariableRanges = o.VariableRanges
	out, more := planning.Query(ctx, p.opts.Abort, prog, r.prior(), pool, planning.Options{
		Settings: settings, Title: p.opts.Title, Generate: o.GenerateConfig, Interrupted: r.openCreations(), Now: now,
	})
	return out, diags.Extend(more)
}
