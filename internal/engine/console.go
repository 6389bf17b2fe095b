package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/nesting"
	"github.com/tombolo-iac/tombolo/internal/planning"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// ConsoleOptions configures a console.
type ConsoleOptions struct {
	// Plan creates a plan first and evaluates with planned values; otherwise resources have their stored values.
	Plan bool
	// Variables are the root input variables as given. Missing required ones are unknown.
	Variables map[string]cty.Value
	// Scope is the module instance whose names expressions may use.
	Scope addr.ModuleInstance
}

// Console evaluates expressions in the scope of a module instance. It writes nothing. It must not be used concurrently,
// and must be closed before its Run.
type Console struct {
	scope  *eval.Instance
	table  map[string]function.Function
	close  func() diag.List
	redact func(string) string
}

// Console evaluates the configuration for a console. Objects with problems are unknown, and the console can still be
// used; it is only nil if nothing can be evaluated.
func (r *Run) Console(ctx context.Context, o ConsoleOptions) (*Console, diag.List) {
	p := r.project
	prog, diags := p.prepare()
	if diags.HasErrors() {
		return nil, diags
	}
	variables := map[string]cty.Value{}
	for _, v := range p.config.Root.Variables {
		if given, ok := o.Variables[v.Name]; ok {
			variables[v.Name] = given
		} else if v.Required() {
			variables[v.Name] = cty.UnknownVal(v.Type)
		}
	}
	pool := p.registry.NewPool()
	ctx, done := r.until(ctx, pool)
	options := planning.Options{
		Settings: p.settings(variables, p.functions(p.opts.Abort, funcs.Options{})),
	}
	var walk *eval.Walk
	var more diag.List
	if o.Plan {
		options.Now = time.Now()
		options.Functions = p.functions(p.opts.Abort, funcs.Options{PlanTime: options.Now, Pure: true})
		walk, more = planning.Explore(ctx, p.opts.Abort, prog, r.prior(), pool, options)
	} else {
		walk, more = planning.Evaluate(ctx, prog, r.prior(), pool, options)
	}
	scope := walk.Instance(o.Scope)
	if scope == nil {
		done()
		closing(pool, &diags)
		return nil, diags.Extend(more).Errorf(nil, "Failed to retrieve evaluation scope after graph walk",
			"The configuration has no module instance %s, or its number of instances is not known yet. %s", o.Scope,
			moduleInstances(p, walk))
	}
	c := &Console{scope: scope, table: p.functions(ctx, funcs.Options{ConsoleMode: true, Pure: o.Plan}).Table,
		redact: p.secrets.Redact}
	c.close = func() (diags diag.List) {
		done()
		closing(pool, &diags)
		return diags
	}
	return c, diags.Extend(more)
}

// moduleInstances lists the module instances of a walk, up to the limit of a message.
func moduleInstances(p *Project, walk *eval.Walk) string {
	const most = 10
	var names []string
	for a := range walk.Instances() {
		if a != addr.RootInstance {
			names = append(names, a.String())
		}
	}
	slices.Sort(names)
	switch {
	case len(p.config.Root.Calls) == 0:
		return "It calls no modules: omit -scope."
	case len(names) == 0:
		return "No module call has any instances: omit -scope."
	}
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	return "The module instances are " + strings.Join(names, ", ") + "."
}

// ParseExpression parses an expression of the user; name is used in messages.
func ParseExpression(src []byte, name string) (hcl.Expression, diag.List) {
	if diags := nesting.Check(src, name); diags.HasErrors() {
		return nil, diags
	}
	expr, problems := hclsyntax.ParseExpression(src, name, hcl.InitialPos)
	if problems.HasErrors() {
		return nil, diag.List{}.AppendHCL(problems)
	}
	return expr, nil
}

// Unmark returns a value without marks, and the paths of sensitive parts.
func Unmark(v cty.Value) (cty.Value, []cty.Path) {
	v, marks := value.UnmarkDeep(v)
	return v, slices.Concat(marks.Sensitive, marks.Ephemeral)
}

// Evaluate returns the value of an expression with its marks; src is its text.
func (c *Console) Evaluate(expr hcl.Expression, src []byte) (cty.Value, diag.List) {
	return c.scope.Expression(expr, src, c.table)
}

// Redact removes secrets of the configuration from a text.
func (c *Console) Redact(text string) string { return c.redact(text) }

// Close stops the providers that were started.
func (c *Console) Close() diag.List { return c.close() }
