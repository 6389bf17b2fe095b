package diag

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// advice completes messages of the hcl library that do not suggest a fix. The key is the summary; the first entry whose
// text is in the detail applies.
var advice = map[string][]struct{ found, do string }{
	"Argument or block definition required": {
		{"equals sign", ""},
		{"", "A closing brace here has no opening one; a comment begins with #."},
	},
	"Attempt to get attribute from null value": {
		{"", "Set the value, or handle null with a condition or try(...)."}},
	"Attempt to index null value": {
		{"", "Set the value, or handle null with a condition or try(...)."}},
	"Incorrect condition type": {{"", "Compare the value with another, such as x == \"large\"."}},
	"Inconsistent conditional result types": {
		{"", "Give both results the same type, with the same attributes if they are objects."}},
	"Invalid block definition": {
		{"content delimited", "To set an argument, put an equals sign between its name and its value."}},
	"Invalid character": {
		{"This character is not used",
			"Write strings in double quotes. A reference needs ${ } only inside of a string."},
	},
	"Invalid expression": {
		{"start of an expression", "A value is a string in double quotes, a number, true, false, null, a list in [ " +
			"], a map in { }, or a reference such as var.name."},
	},
	"Invalid operand": {
		{"number is required", "Operators such as + are for numbers. To join strings, write \"${...}${...}\"."}},
	"Invalid multi-line string": {
		{"", "If the string should end on the line that it begins on, its closing quote is missing."}},
	"Invalid single-argument block definition": {{"", "Put each argument on its own line."}},
	"Invalid template interpolation value": {
		{"null value", "Use coalesce(...) or a condition to set another value."},
		{"string required", "Convert it to a string with join(\", \", ...) or jsonencode(...), or use one of its " +
			"parts."},
	},
	"Invalid type specification": {
		{"not a valid type",
			"The types are string, number, bool, any, list(...), set(...), map(...), object({...}) and tuple([...])."},
	},
	"Missing item separator": {{"", "If there is no further item, the closing bracket before it is missing."}},
	"Missing newline after argument": {
		{"", "Put the next argument on its own line; a string must be in double quotes."}},
	"Unterminated template string": {
		{"", "A quoted string must end with a quote on the same line, a heredoc with its marker on its own line."}},
	"Variables not allowed": {{"", "This is needed before anything is evaluated, so it must be a constant."}},
}

// advised returns the detail of a diagnostic of the hcl library, with advice.
func advised(d *Diagnostic) string {
	if text, ok := panickedCall(d); ok {
		return text
	}
	switch d.Summary {
	case "Invalid index":
		return join(d.Detail, membership(d))
	case "Unsupported attribute":
		return d.Detail + attributeMeant(d)
	case "Call to unknown function":
		return functionMeant(d)
	case "Duplicate object key":
		if secretKey(d) {
			return duplicateSecret
		}
	}
	for _, a := range advice[d.Summary] {
		if strings.Contains(d.Detail, a.found) {
			return join(d.Detail, a.do)
		}
	}
	if rest, ok := strings.CutPrefix(d.Detail, "Only 1 labels "); ok {
		return "Only 1 label " + strings.Replace(rest, " are expected", " is expected", 1)
	}
	if name, ok := between(d.Detail, `The argument "`, `" is required, but no definition was found.`); ok {
		return join(d.Detail, fmt.Sprintf("Add it to the block: %s = ...", name))
	}
	return d.Detail
}

func join(detail, more string) string {
	if more == "" || strings.Contains(detail, strings.TrimSuffix(more, ".")) {
		return detail
	}
	return detail + " " + more
}

func between(s, before, after string) (string, bool) {
	s, ok := strings.CutPrefix(s, before)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(s, after)
}

// missed returns the first nonexistent step of an expression and the value that lacks it, or neither if that would
// reveal sensitive values.
func missed(expr hcl.Expression, ctx *hcl.EvalContext) (within cty.Value, step hcl.Traverser) {
	var steps hcl.Traversal
	switch e := expr.(type) {
	case *hclsyntax.IndexExpr:
		key, _ := e.Key.Value(ctx)
		within, _ = e.Collection.Value(ctx)
		steps = hcl.Traversal{hcl.TraverseIndex{Key: key}}
	case *hclsyntax.ScopeTraversalExpr:
		within, _ = e.Traversal[:1].TraverseAbs(ctx)
		steps = e.Traversal[1:]
	case *hclsyntax.RelativeTraversalExpr:
		within, _ = e.Source.Value(ctx)
		steps = e.Traversal
	}
	for _, step := range steps {
		next, diags := hcl.Traversal{step}.TraverseRel(within)
		if !diags.HasErrors() {
			within = next
			continue
		}
		if within.IsMarked() {
			break
		}
		return within, step
	}
	return cty.NilVal, nil
}

// membership returns a sentence with the existing indexes or keys, if the expression uses one that does not exist.
func membership(d *Diagnostic) string {
	collection, step := missed(d.Expression, d.EvalContext)
	index, ok := step.(hcl.TraverseIndex)
	if !ok || index.Key.IsMarked() || !collection.IsKnown() || collection.IsNull() {
		return ""
	}
	switch ty := collection.Type(); {
	case ty.IsMapType() || ty.IsObjectType():
		return keysOf(d, collection, index.Key)
	case ty.IsListType() || ty.IsTupleType():
		return indicesOf(collection.LengthInt())
	}
	return ""
}

// attributeMeant suggests the attribute with the name nearest to a missing one.
func attributeMeant(d *Diagnostic) string {
	object, step := missed(d.Expression, d.EvalContext)
	attr, ok := step.(hcl.TraverseAttr)
	if !ok || !object.Type().IsObjectType() {
		return ""
	}
	names := slices.Sorted(maps.Keys(object.Type().AttributeTypes()))
	if name := Nearest(attr.Name, names); name != "" {
		d.Fix = Fix{{attr.SrcRange, attr.Name, name}}
	}
	return DidYouMean(attr.Name, names)
}

// functionMeant suggests a function with a similar name that takes as many arguments as the call, unless the library's
// own suggestion does.
func functionMeant(d *Diagnostic) string {
	call, ok := d.Expression.(*hclsyntax.FunctionCallExpr)
	problem, _, _ := strings.Cut(d.Detail, " Did you mean ")
	if !ok || strings.Contains(call.Name, "::") || d.Subject == nil {
		return d.Detail
	}
	if call.Name == "if" {
		d.Fix = decided(call)
		return problem + " A conditional expression is written as CONDITION ? VALUE : OTHER_VALUE."
	}
	var names []string
	for ctx := d.EvalContext; ctx != nil; ctx = ctx.Parent() {
		for name, f := range ctx.Functions {
			few := len(call.Args) < len(f.Params())
			many := len(call.Args) > len(f.Params()) && f.VarParam() == nil
			if !few && !many && !strings.Contains(name, "::") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	name := Nearest(call.Name, names)
	if name == "" {
		return d.Detail
	}
	d.Fix = Fix{{Range: *d.Subject, New: name}}
	return problem + fmt.Sprintf(" Did you mean %q?", name)
}

// meantByHCL returns the fix for a name if the hcl library itself suggests one.
func meantByHCL(d *Diagnostic) Fix {
	switch d.Summary {
	case "Invalid type specification":
		if word, ok := between(d.Detail, `The keyword "`, `" is not a valid type specification.`); ok {
			if name := TypeMeant(word); name != "" && d.Subject != nil {
				return Fix{{*d.Subject, word, name}}
			}
		}
	case "Unsupported argument", "Unsupported block type", "Call to unknown function":
		if name := meant().FindStringSubmatch(d.Detail); name != nil && d.Subject != nil {
			return Fix{{Range: *d.Subject, New: name[1]}}
		}
	}
	return nil
}

// maxKeys is the maximum number of keys to list.
const maxKeys = 10

func keysOf(d *Diagnostic, collection, key cty.Value) string {
	names := slices.Sorted(maps.Keys(collection.AsValueMap()))
	if len(names) == 0 {
		return "It is empty."
	}
	guess := ""
	if key.IsKnown() && !key.IsNull() && key.Type() == cty.String {
		guess = DidYouMean(key.AsString(), names)
		if name := Nearest(key.AsString(), names); name != "" && d.Subject != nil {
			d.Fix = Fix{{*d.Subject, key.AsString(), name}}
		}
	}
	more := ""
	if n := len(names) - maxKeys; n > 0 {
		names, more = names[:maxKeys], fmt.Sprintf(" and %d more", n)
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%q", name)
	}
	return "Its keys are " + strings.Join(names, ", ") + more + "." + guess
}

func indicesOf(n int) string {
	switch n {
	case 0:
		return "It is empty."
	case 1:
		return "It has one element, whose index is 0."
	}
	return fmt.Sprintf("It has %d elements, with the indices 0 to %d.", n, n-1)
}
