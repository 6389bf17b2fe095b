package engine

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/plan"
)

// VariableOptions are the sources of variable values, in addition to the environment and the files of the working
// directory.
type VariableOptions struct {
	// Given holds the options of the command line, in their order.
	Given []config.Option
	// Ask is called for each required variable that has no value yet, until it returns false; nil asks no questions.
	Ask func(v *config.Variable) (text string, ok bool)
	// Sources receives the text of the files that were read; nil drops it.
	Sources func(map[string][]byte)
}

// Constants returns the values of a root module's variables as far as they are valid. Problems of other variables are
// reported where they are used.
func (s *Surroundings) Constants(*config.Module) config.Values {
	raw, _, _ := config.CollectValues(config.ValueSources{Files: config.OSFiles(s.dir()), Environ: s.Environ,
		Options: s.Given})
	return s.withValues(raw)
}

// withValues merges the values of the embedding program over others, which may be nil.
func (s *Surroundings) withValues(raw config.Values) config.Values {
	if raw == nil {
		raw = config.Values{}
	}
	for name, v := range s.Values {
		raw[name] = config.RawValue{Origin: config.FromCaller, Value: v, Text: s.ValuesIn}
	}
	return raw
}

// Variables collects the values of the variables of a root module, with Terraform's precedence, and checks them: each
// is declared and fits its type, and no required one is missing.
func (s *Surroundings) Variables(root *config.Module, o VariableOptions) (config.Values, diag.List) {
	raw, sources, diags := config.CollectValues(config.ValueSources{Files: config.OSFiles(s.dir()), Environ: s.Environ,
		Options: o.Given})
	if o.Sources != nil {
		o.Sources(sources)
	}
	if diags.HasErrors() {
		return nil, diags
	}
	raw = s.withValues(raw)
	if o.Ask != nil {
		for _, v := range root.Unset(raw) {
			text, ok := o.Ask(v)
			if !ok {
				break
			}
			raw[v.Name] = config.RawValue{Origin: config.FromInput, Text: text}
		}
	}
	_, more := root.VariableValues(raw)
	diags = diags.Extend(more)
	for _, v := range root.SortedVariables() {
		if _, given := raw[v.Name]; given && v.DeprecatedRange != nil {
			block := hcl.RangeBetween(v.Range, *v.DeprecatedRange)
			diags = append(diags, &diag.Diagnostic{Severity: diag.Warning, Summary: "Deprecated variable got a value",
				Detail: v.Deprecated, Subject: v.DeprecatedRange, Context: &block, Extra: diag.Deprecation{}})
		}
	}
	return raw, diags
}

// planVariables returns the caller's values, so that the apply uses the same. Ephemeral values are left out.
func planVariables(cfg *config.Config, given map[string]cty.Value) map[string]plan.Variable {
	out := map[string]plan.Variable{}
	for name, v := range cfg.Root.Variables {
		pv := plan.Variable{Sensitive: v.Sensitive, Ephemeral: v.Ephemeral}
		switch value, ok := given[name]; {
		case !ok:
		case v.Ephemeral:
			pv.Given = !value.IsNull()
		default:
			pv.Value = value
		}
		out[name] = pv
	}
	return out
}
