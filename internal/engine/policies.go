package engine

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/policy"
	"github.com/tombolo-iac/tombolo/internal/projectfile"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/plan"
)

// Policy is a program of the project that judges plans.
type Policy struct {
	Name    string
	Command []string
	Environ []string      // nil means that of the process
	Timeout time.Duration // 0 means that of package policy
	Range   hcl.Range     // where it is declared
}

// policiesOf returns the policies of a project file, which run with this environment.
func policiesOf(f projectfile.File, environ []string) (list []Policy) {
	for _, p := range f.Policies {
		list = append(list, Policy{Name: p.Name, Command: p.Command, Environ: environ, Timeout: p.Limit(),
			Range: p.NameRange})
	}
	return list
}

// judgeNew asks the policies about a plan that the run has made with these problems, unless it is exempt.
func (r *Run) judgeNew(ctx context.Context, pl *plan.Plan, made diag.List, exempt bool) (diags diag.List) {
	if pl == nil || pl.Errored || made.HasErrors() {
		return nil
	}
	if !exempt {
		diags = r.project.judge(ctx, pl)
	}
	if !diags.HasErrors() {
		r.judged = pl
	}
	return diags
}

// judgeOld asks the policies about a plan that another run has made: it may be older than they are.
func (r *Run) judgeOld(ctx context.Context, pl *plan.Plan) diag.List {
	if pl == r.judged {
		return nil
	}
	return r.project.judge(ctx, pl)
}

// judge asks the policies of the project about a plan that changes real objects. What they deny are errors.
func (p *Project) judge(ctx context.Context, pl *plan.Plan) (diags diag.List) {
	if len(p.opts.Policies) == 0 || pl.Mode == plan.RefreshOnly {
		return nil
	}
	var document bytes.Buffer
	if err := tfjson.Plan(&document, pl, pl.Prior(), p.config, p.Schemas(pl.Base, pl.Changes...)); err != nil {
		return diag.FromError("The policies cannot be asked", err)
	}
	for _, one := range p.opts.Policies {
		diags = diags.Extend(p.verdict(ctx, one, document.Bytes()))
	}
	return diags
}

func (p *Project) verdict(ctx context.Context, one Policy, document []byte) (diags diag.List) {
	var v policy.Verdict
	var err error
	if p.opts.MayRead != nil {
		err = p.opts.MayRead(addr.Provider{}, one.Command)
	}
	if err == nil {
		v, err = policy.Policy{Name: one.Name, Command: one.Command, Dir: p.baseDir(), Env: one.Environ,
			Timeout: one.Timeout}.Judge(ctx, document)
	}
	if err != nil {
		return diags.Errorf(&one.Range, "Policy failed", "The policy %q has not judged the plan, so that it cannot be "+
			"applied: %s", one.Name, p.secrets.Redact(err.Error()))
	}
	for _, e := range v.Deny {
		d := diag.List{}.Errorf(&one.Range, fmt.Sprintf("Denied by the policy %q", one.Name), "%s",
			p.secrets.Redact(e.Message))
		diags = diags.Extend(p.placed(d, e.Address))
	}
	for _, e := range v.Warn {
		d := diag.List{}.Warnf(&one.Range, fmt.Sprintf("Warning of the policy %q", one.Name), "%s",
			p.secrets.Redact(e.Message))
		diags = diags.Extend(p.placed(d, e.Address))
	}
	return diags
}

// placed names the object that an entry of a policy is about, and points at its block, if the configuration has it.
func (p *Project) placed(d diag.List, address string) diag.List {
	if address == "" {
		return d
	}
	d[0].Address = p.secrets.Redact(address)
	a, problems := addr.ParseInstance(address)
	if problems.HasErrors() {
		return d
	}
	if r := p.config.Resource(a.Config()); r != nil {
		d[0].Subject = r.DeclRange.Ptr()
	}
	return d
}
