package builtin

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// The block store of terraform_data stores a value that is only read when necessary: input is write-only, so that it
// may be ephemeral. It is copied to output, or to sensitive_output, if it differs from the stored value or, with
// version, if that changes (conformance newer/data_store).
var storeBlock = &provider.NestedBlock{Nesting: provider.NestingSingle, Block: provider.Block{
	Attributes: map[string]*provider.Attribute{
		"input":            {Type: cty.DynamicPseudoType, Optional: true, WriteOnly: true},
		"output":           {Type: cty.DynamicPseudoType, Computed: true},
		"replace":          {Type: cty.Bool, Optional: true},
		"sensitive":        {Type: cty.Bool, Optional: true},
		"sensitive_output": {Type: cty.DynamicPseudoType, Computed: true, Sensitive: true},
		"version":          {Type: cty.DynamicPseudoType, Optional: true},
	},
}}

var nullValue = cty.NullVal(cty.DynamicPseudoType)

// planStore returns the planned block. renewed means that the whole object is new or replaced; replaces reports whether
// the block requires a replacement. prior is null for a new object.
func planStore(prior, config cty.Value, renewed bool) (planned cty.Value, replaces bool, diags diag.List) {
	if config.IsNull() {
		return config, false, nil
	}
	if !config.IsKnown() {
		return config, false, nil
	}
	block := config.AsValueMap()
	flag := func(name string) bool {
		v := block[name]
		if !v.IsKnown() {
			diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Value not known in plan",
				Path: cty.GetAttrPath("store").GetAttr(name), Detail: "The argument \"" + name + "\" determines the " +
					"plan, so its value must be known before apply. Use a value that does not depend on other " +
					"objects."})
			return false
		}
		return !v.IsNull() && v.True()
	}
	secret, replace := flag("sensitive"), flag("replace")
	if diags.HasErrors() {
		return config, false, diags
	}
	renewed = renewed || prior.IsNull()
	differs := !prior.IsNull() && storedDiffers(prior, block)
	input, value := block["input"], nullValue
	switch {
	case renewed && input.IsKnown() && input.IsNull():
	case renewed || differs:
		value = cty.UnknownVal(input.Type())
	default:
		value = stored(prior)
	}
	block["input"], block["output"], block["sensitive_output"] = nullValue, value, nullValue
	if secret {
		block["output"], block["sensitive_output"] = nullValue, value
	}
	return cty.ObjectVal(block), replace && differs, nil
}

// storedDiffers reports whether the input must be stored again, because the version or the value differs.
func storedDiffers(prior cty.Value, block map[string]cty.Value) bool {
	version := block["version"]
	if version.IsKnown() && version.IsNull() {
		return !block["input"].RawEquals(stored(prior))
	}
	return !version.RawEquals(ctyfast.Attr(prior, "version"))
}

// stored returns the value stored in a block.
func stored(prior cty.Value) cty.Value {
	if v := ctyfast.Attr(prior, "sensitive"); !v.IsNull() && v.True() {
		return ctyfast.Attr(prior, "sensitive_output")
	}
	return ctyfast.Attr(prior, "output")
}

// applyStore returns the block with the input in place of the planned unknown value.
func applyStore(planned, config cty.Value) cty.Value {
	if planned.IsNull() {
		return planned
	}
	block := planned.AsValueMap()
	for _, name := range []string{"output", "sensitive_output"} {
		if !block[name].IsKnown() {
			block[name] = ctyfast.Attr(config, "input")
		}
	}
	return cty.ObjectVal(block)
}
