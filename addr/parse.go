package addr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/diag"
)

// stepName returns the name of a root or attribute step, or "" for any other.
func stepName(t hcl.Traverser) string {
	switch t := t.(type) {
	case hcl.TraverseRoot:
		return t.Name
	case hcl.TraverseAttr:
		return t.Name
	}
	return ""
}

// keyOf converts an index value to an instance key.
func keyOf(v cty.Value) (Key, error) {
	switch {
	case v.IsNull() || !v.IsKnown():
		return NoKey, fmt.Errorf("an instance key must be a known string or whole number")
	case v.Type() == cty.String:
		return StringKey(v.AsString()), nil
	case v.Type() == cty.Number:
		n, acc := v.AsBigFloat().Int64()
		if acc != 0 || n < 0 {
			return NoKey, fmt.Errorf("an instance key must be a whole number that is not negative")
		}
		return IntKey(int(n)), nil
	}
	return NoKey, fmt.Errorf("an instance key must be a string or a whole number")
}

// KeyFromValue converts a value such as each.key or count.index to an instance key.
func KeyFromValue(v cty.Value) (Key, error) { return keyOf(v) }

// Value returns the key as a number, a string, or null for no key.
func (k Key) Value() cty.Value {
	switch k.kind {
	case intKey:
		return cty.NumberIntVal(int64(k.num))
	case stringKey:
		return cty.StringVal(k.str)
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// parseCanonicalKey parses the text in brackets of an address that this package wrote.
func parseCanonicalKey(s string) Key {
	if n, err := strconv.Atoi(s); err == nil {
		return IntKey(n)
	}
	if len(s) >= 2 && s[0] == '"' && !strings.ContainsAny(s, `\$%`) {
		return StringKey(s[1 : len(s)-1]) // without escapes, the usual case
	}
	expr, diags := hclsyntax.ParseExpression([]byte(s), "", hcl.InitialPos)
	if !diags.HasErrors() {
		if v, d := expr.Value(nil); !d.HasErrors() {
			if v, err := convert.Convert(v, cty.String); err == nil && !v.IsNull() {
				return StringKey(v.AsString())
			}
		}
	}
	panic("addr: instance key is not canonical: " + s)
}

// Target is the argument of -target and similar options: a module instance (then Resource is zero), all instances of a
// resource, one instance, or a pattern.
type Target struct {
	Module   ModuleInstance
	Resource Resource
	// Key is the instance key; if HasKey is false, the target is every instance of the resource.
	Key    Key
	HasKey bool
	// Pattern is the text of a pattern for ParsePattern; then all other fields are zero. Only ParseSelector returns
	// such targets.
	Pattern string
}

// IsModule reports whether the target is a module with all its content.
func (t Target) IsModule() bool { return t.Resource == Resource{} && t.Pattern == "" }

// String returns the address as the user wrote it.
func (t Target) String() string {
	switch {
	case t.Pattern != "":
		return t.Pattern
	case t.IsModule():
		return t.Module.String()
	}
	return AbsResourceInstance{t.Module, t.Resource, t.Key}.String()
}

// ParseTarget parses the address of a module, a resource or an instance.
func ParseTarget(s string) (Target, diag.List) {
	var diags diag.List
	traversal, hclDiags := hclsyntax.ParseTraversalAbs([]byte(s), "", hcl.InitialPos)
	if hclDiags.HasErrors() {
		return Target{}, diags.Errorf(nil, hclDiags[0].Summary,
			"%q is not an address such as aws_instance.web, module.net or aws_instance.web[\"a\"]. %s%s", s,
			hclDiags[0].Detail, quoting(s))
	}
	t, problems := TargetFromTraversal(traversal)
	if problems.HasErrors() { // a text has no range in a file
		return Target{}, diags.Errorf(nil, "Invalid address",
			"%q is not an address such as aws_instance.web, module.net or aws_instance.web[\"a\"]. %s", s,
			problems[0].Detail)
	}
	return t, nil
}

// quoting returns a hint if a shell has probably removed quotes.
func quoting(s string) string {
	if strings.Contains(s, "[") && !strings.Contains(s, `"`) {
		return ` In a shell, put the whole address in single quotes so that its own quotes are kept: ` +
			`'aws_instance.web["a"]'.`
	}
	return ""
}

// moduleSteps parses the module instance at the beginning of an address and returns the steps after it, or the problem
// as a sentence.
func moduleSteps(rest hcl.Traversal) (m ModuleInstance, _ hcl.Traversal, problem string) {
	for len(rest) > 0 && stepName(rest[0]) == "module" {
		if len(rest) < 2 || stepName(rest[1]) == "" {
			return m, nil, `After "module." comes the name of a module call.`
		}
		name := stepName(rest[1])
		rest = rest[2:]
		key := NoKey
		if len(rest) > 0 {
			if index, ok := rest[0].(hcl.TraverseIndex); ok {
				var err error
				if key, err = keyOf(index.Key); err != nil {
					return m, nil, fmt.Sprintf("Invalid key for module.%s: %s.", name, err)
				}
				rest = rest[1:]
			}
		}
		m = m.Child(name, key)
	}
	return m, rest, ""
}

// TargetFromTraversal converts the address of a module, a resource or an instance that was parsed as a traversal.
func TargetFromTraversal(traversal hcl.Traversal) (Target, diag.List) {
	var diags diag.List
	rng := traversal.SourceRange()
	fail := func(format string, args ...any) (Target, diag.List) {
		return Target{}, diags.Errorf(&rng, "Invalid address", format, args...)
	}
	var t Target
	// Bytes that are not UTF-8, dots included, can become part of a parsed name, which no other code here expects.
	for _, step := range traversal {
		if name := stepName(step); name != "" && (!utf8.ValidString(name) || !hclsyntax.ValidIdentifier(name)) {
			return fail("%q is not a valid name.", name)
		}
	}
	var rest hcl.Traversal
	var problem string
	if t.Module, rest, problem = moduleSteps(traversal); problem != "" {
		return fail("%s", problem)
	}
	if len(rest) == 0 {
		if t.Module.IsRoot() {
			return fail("The address is empty.")
		}
		return t, nil
	}
	t.Resource.Mode = Managed
	switch stepName(rest[0]) {
	case "data":
		t.Resource.Mode, rest = Data, rest[1:]
	case "ephemeral":
		t.Resource.Mode, rest = Ephemeral, rest[1:]
	case "action":
		t.Resource.Mode, rest = Action, rest[1:]
	case "list":
		t.Resource.Mode, rest = List, rest[1:]
	case "resource":
		rest = rest[1:]
	case "var", "local", "path", "terraform", "self", "each", "count", "template", "lazy", "arg":
		return fail("%q is a reserved word and cannot begin the address of a resource. If it is a resource type, "+
			"write resource.%s.", stepName(rest[0]), stepName(rest[0]))
	}
	if len(rest) < 2 || stepName(rest[0]) == "" || stepName(rest[1]) == "" {
		return fail("A resource address needs a type and a name, such as aws_instance.web.")
	}
	t.Resource.Type, t.Resource.Name = stepName(rest[0]), stepName(rest[1])
	rest = rest[2:]
	if len(rest) > 0 {
		index, ok := rest[0].(hcl.TraverseIndex)
		if !ok || len(rest) > 1 {
			return fail("Unexpected text after the resource name: only an instance key in brackets is allowed there.")
		}
		key, err := keyOf(index.Key)
		if err != nil {
			return fail("Invalid key for %s: %s.", t.Resource, err)
		}
		t.Key, t.HasKey = key, true
	}
	return t, nil
}

// ParseInstance parses the address of one resource instance; without brackets the key is NoKey.
func ParseInstance(s string) (AbsResourceInstance, diag.List) {
	t, diags := ParseTarget(s)
	if diags.HasErrors() {
		return AbsResourceInstance{}, diags
	}
	if t.IsModule() {
		return AbsResourceInstance{}, diags.Errorf(nil, "Invalid address",
			"%q names a module; a resource instance is needed here, such as %s.aws_instance.web.", s, s)
	}
	return AbsResourceInstance{t.Module, t.Resource, t.Key}, diags
}

// ParseConfigResource parses a resource address without any keys, such as the dependencies in a state file.
func ParseConfigResource(s string) (ConfigResource, diag.List) {
	inst, diags := ParseInstance(s)
	if diags.HasErrors() {
		return ConfigResource{}, diags
	}
	return inst.Config(), diags
}
