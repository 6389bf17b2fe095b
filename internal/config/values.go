package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/nesting"
)

// Origin is the source of a root module variable's value. Later ones override earlier ones.
type Origin uint8

// The origins.
const (
	FromEnv       Origin = iota + 1 // a TF_VAR_ environment variable
	FromAutoFile                    // terraform.tfvars, *.auto.tfvars and their JSON forms
	FromNamedFile                   // a -var-file option
	FromOption                      // a -var option
	FromInput                       // an answer to a question
	FromCaller                      // a program that embeds the engine
)

// RawValue is the value of a variable from a source, before the declaration of the variable is known.
type RawValue struct {
	Origin Origin
	// Text is set by origins of text, which is parsed according to the variable's ParsingMode; Value by origins of
	// values.
	Text  string
	Value cty.Value
	Range hcl.Range // within a file; zero for others

	problems diag.List // why the expression in a file has no value
}

// isText reports whether the value still has to be parsed.
func (r RawValue) isText() bool {
	return r.Origin == FromEnv || r.Origin == FromOption || r.Origin == FromInput
}

// describe returns the source for a sentence such as `set using ...`.
func (r RawValue) describe(name string) string {
	switch r.Origin {
	case FromEnv:
		return "set using the " + EnvPrefix + name + " environment variable"
	case FromOption:
		return fmt.Sprintf("set using -var=\"%s=...\"", name)
	case FromInput:
		return "set interactively"
	case FromCaller:
		if r.Text != "" {
			return "set in " + r.Text
		}
		return "set by the calling program"
	}
	return "set in " + r.Range.Filename
}

// EnvPrefix is the prefix of environment variables that set variables.
const EnvPrefix = "TF_VAR_"

// Option is a -var or -var-file option; their order matters.
type Option struct {
	File bool // -var-file
	Text string
}

// ValueSources holds all sources of values for the root module's variables.
type ValueSources struct {
	Files   Files    // the working directory
	Dir     string   // the folder of the files that are read without an option; "" means Dir
	Environ []string // KEY=VALUE
	Options []Option
}

// Values are the values of the root module's variables by name.
type Values map[string]RawValue

// CollectValues reads all sources in the order of their precedence: the environment, terraform.tfvars,
// terraform.tfvars.json, *.auto.tfvars and *.auto.tfvars.json by name, then the options. The last value of a variable
// takes precedence. Sources holds the text of the files read, by name.
func CollectValues(from ValueSources) (values Values, sources map[string][]byte, diags diag.List) {
	values, sources = Values{}, map[string][]byte{}
	for _, entry := range from.Environ {
		name, text, _ := strings.Cut(entry, "=")
		if name, ok := strings.CutPrefix(name, EnvPrefix); ok && name != "" {
			values[name] = RawValue{Origin: FromEnv, Text: text}
		}
	}
	readFile := func(name string, origin Origin, read func(Files, string) ([]byte, error)) {
		src, err := read(from.Files, name)
		if err != nil {
			diags = diags.Extend(unreadableValues(name, err))
			return
		}
		sources[name] = src
		found, moreDiags := ParseValuesFile(src, name, origin)
		diags = diags.Extend(moreDiags)
		for k, v := range found {
			values[k] = v
		}
	}
	for _, name := range autoFiles(from.Files, cmp.Or(from.Dir, ".")) {
		readFile(path.Join(from.Dir, name), FromAutoFile, Files.ReadFile)
	}
	for _, opt := range from.Options {
		if opt.File {
			readFile(opt.Text, FromNamedFile, readNamed)
			continue
		}
		name, text, moreDiags := parseOption(opt.Text)
		diags = diags.Extend(moreDiags)
		if !moreDiags.HasErrors() {
			values[name] = RawValue{Origin: FromOption, Text: text}
		}
	}
	return values, sources, diags
}

func unreadableValues(name string, err error) diag.List {
	const summary = "Failed to read variables file"
	if errors.Is(err, fs.ErrNotExist) {
		return diag.List(nil).Errorf(nil, summary, "The variables file %s does not exist.", name)
	}
	return diag.List(nil).Errorf(nil, summary, "The variables file %s cannot be read: %s.", name, reason(err))
}

// autoFiles lists the files that are read without an option, in the order in which they are read.
func autoFiles(files Files, dir string) []string {
	names, err := files.ReadDir(dir)
	if err != nil {
		return nil // a missing working directory is reported by the loader
	}
	slices.Sort(names)
	var fixed, auto []string
	for _, name := range names {
		stem, isValues := strings.CutSuffix(strings.TrimSuffix(name, ".json"), ".tfvars")
		switch {
		case !isValues: // unlike configuration files, files whose names begin with a dot are read: wrappers use them
		case stem == "terraform":
			fixed = append(fixed, name)
		case strings.HasSuffix(stem, ".auto"):
			auto = append(auto, name)
		}
	}
	return append(fixed, auto...)
}

// parseOption splits the text of a -var option.
func parseOption(raw string) (name, text string, diags diag.List) {
	const summary = "Invalid -var option"
	name, text, ok := strings.Cut(raw, "=")
	switch {
	case !ok:
		return "", "", diags.Errorf(nil, summary, "The option -var %q must be a name and a value with an equals sign "+
			"between them, as in -var=\"key=value\".", raw)
	case strings.HasSuffix(name, " "):
		return "", "", diags.Errorf(nil, summary, "The name %q ends in a space. Did you mean -var=\"%s=...\"?", name,
			strings.TrimSpace(name))
	}
	return name, text, nil
}

// ParseValuesFile parses the text of a variables file; a name that ends in .json means JSON.
func ParseValuesFile(src []byte, name string, origin Origin) (Values, diag.List) {
	body, diags := parseBody(src, name)
	if body == nil {
		return nil, diags
	}
	// Blocks have their own message, because files with declarations and files with values are easily confused.
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "variable", LabelNames: []string{"name"}}}})
	if content != nil && !strings.HasSuffix(name, ".json") && len(content.Blocks) > 0 {
		for _, block := range content.Blocks {
			diags = diags.Errorf(block.TypeRange.Ptr(), "Variable declaration in .tfvars file", "This file can only "+
				"set variables. To declare %q, move the block to a .tf file. To set it here, write: %s = <value>",
				block.Labels[0], block.Labels[0])
		}
		return nil, diags
	}
	attrs, hclDiags := body.JustAttributes()
	diags = diags.AppendHCL(hclDiags)
	out := Values{}
	for _, attr := range inOrder(attrs) {
		v, hclDiags := attr.Expr.Value(nil)
		out[attr.Name] = RawValue{Origin: origin, Value: v, Range: attr.Expr.Range(),
			problems: diag.List(nil).AppendHCL(hclDiags)}
	}
	return out, diags
}

// ParseText reads the text of an environment variable, an option or an answer, according to the variable's mode.
func (v *Variable) ParseText(text string) (cty.Value, diag.List) {
	if v.ParsingMode != ParseHCL {
		return cty.StringVal(text), nil
	}
	name := "<value for var." + v.Name + ">"
	if diags := nesting.Check([]byte(text), name); diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	expr, hclDiags := hclsyntax.ParseExpression([]byte(text), name, hcl.InitialPos)
	if hclDiags.HasErrors() {
		return cty.DynamicVal, diag.List(nil).AppendHCL(hclDiags)
	}
	val, hclDiags := expr.Value(nil)
	return val, diag.List(nil).AppendHCL(hclDiags)
}

// ErrNull means that a variable that must not be null is null and has no default.
var ErrNull = errors.New("the value is null, which nullable = false does not allow, and there is no default")

// ConvertValue converts a value to the type of the variable: an unset value (cty.NilVal) becomes the default; the
// defaults of optional attributes are filled in unless the value is null; then it is converted; null becomes the
// default if null is not allowed. The value may be unknown and have marks. The caller, which knows the origin of the
// value, reports the error.
func (v *Variable) ConvertValue(raw cty.Value) (cty.Value, error) {
	if raw == cty.NilVal {
		if v.Required() {
			return cty.UnknownVal(v.Type), ErrUnset
		}
		return v.Default, nil
	}
	if v.TypeDefaults != nil && !raw.IsNull() {
		raw = v.TypeDefaults.Apply(raw)
	}
	out, err := ctyfast.Convert(raw, v.ConstraintType)
	if err != nil {
		return cty.UnknownVal(v.Type), v.conversionError(err)
	}
	if ctyfast.TooLong(out) { // it was converted from a string; too long literal numbers are already refused
		return cty.UnknownVal(v.Type), ctyfast.ErrTooLong
	}
	if v.Nullable || !out.IsKnown() || !out.IsNull() {
		return out, nil
	}
	if v.Required() {
		return cty.UnknownVal(v.Type), ErrNull
	}
	_, marks := out.Unmark()
	return v.Default.WithMarks(marks), nil
}

// ErrUnset means that a variable without a default has no value.
var ErrUnset = errors.New("there is neither a value nor a default")

// Convert is like ConvertValue with a diagnostic about a value of unknown origin.
func (v *Variable) Convert(raw cty.Value) (cty.Value, diag.List) {
	return v.convertFrom(raw, &v.Range, fmt.Sprintf("The value for var.%s", v.Name))
}

func (v *Variable) convertFrom(raw cty.Value, subject *hcl.Range, who string) (cty.Value, diag.List) {
	out, err := v.ConvertValue(raw)
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, ErrUnset):
		return out, v.missing()
	case errors.Is(err, ErrNull):
		return out, diag.List(nil).Errorf(subject, "Required variable not set", "%s is not suitable: %s.", who, err)
	}
	return out, diag.List(nil).Errorf(subject, "Invalid value for input variable", "%s is not suitable: %s.", who, err)
}

func (v *Variable) missing() diag.List {
	return diag.List(nil).Errorf(&v.Range, "No value for required variable", "The root module input variable %q is "+
		"not set, and has no default.", v.Name).Advise("It can be set by %s, a *.auto.tfvars file, or the environment "+
		"variable %s%s.", diag.Means("-var or -var-file"), EnvPrefix, v.Name)
}

// Unset returns the variables that must be set and are not, by name, so that the user can be asked for them.
func (m *Module) Unset(values Values) []*Variable {
	var out []*Variable
	for _, v := range m.SortedVariables() {
		if _, ok := values[v.Name]; !ok && v.Required() {
			out = append(out, v)
		}
	}
	return out
}

// maxUndeclared is the number of detailed warnings about unknown names.
const maxUndeclared = 2

// VariableValues returns the final value of every variable of the root module, converted; those with problems are
// unknown.
func (m *Module) VariableValues(values Values) (map[string]cty.Value, diag.List) {
	out := make(map[string]cty.Value, len(m.Variables))
	diags := m.Undeclared(values)
	for _, v := range m.SortedVariables() {
		raw, ok := values[v.Name]
		if !ok {
			var moreDiags diag.List
			out[v.Name], moreDiags = v.Convert(cty.NilVal)
			diags = diags.Extend(moreDiags)
			continue
		}
		diags = diags.Extend(raw.problems)
		if raw.problems.HasErrors() {
			out[v.Name] = cty.UnknownVal(v.Type)
			continue
		}
		value, subject := raw.Value, &raw.Range
		if raw.Range.Filename == "" {
			subject = &v.Range
		}
		if raw.isText() {
			parsed, moreDiags := v.ParseText(raw.Text)
			diags = diags.Extend(moreDiags)
			if moreDiags.HasErrors() {
				out[v.Name] = cty.UnknownVal(v.Type)
				continue
			}
			value = parsed
		}
		converted, moreDiags := v.convertFrom(value, subject, fmt.Sprintf("The value for var.%s %s", v.Name,
			raw.describe(v.Name)))
		diags = diags.Extend(moreDiags)
		out[v.Name] = converted
	}
	return out, diags
}

// RawValues returns the values as written: text for variables that use it literally, otherwise the expression's value.
// A plan stores them in this form. Invalid ones are left out; VariableValues reports them.
func (m *Module) RawValues(values Values) map[string]cty.Value {
	out := map[string]cty.Value{}
	for name, raw := range values {
		v := m.Variables[name]
		if v == nil || raw.problems.HasErrors() {
			continue
		}
		value := raw.Value
		if raw.isText() {
			parsed, diags := v.ParseText(raw.Text)
			if diags.HasErrors() {
				continue
			}
			value = parsed
		}
		out[name] = value
	}
	return out
}

// Ranges returns the source ranges of values in files, by variable, for messages about invalid values.
func (v Values) Ranges() map[string]hcl.Range {
	out := map[string]hcl.Range{}
	for name, raw := range v {
		if raw.Range.Filename != "" {
			out[name] = raw.Range
		}
	}
	return out
}

// Undeclared reports values for variables that the module does not have. Environment variables may be intended for
// other configurations.
func (m *Module) Undeclared(values Values) (diags diag.List) {
	const summary = "Value for undeclared variable"
	warned, more := 0, 0
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if m.Variables[name] != nil || values[name].problems.HasErrors() {
			continue // the user is only asked for declared variables
		}
		names := make([]string, 0, len(m.Variables))
		for _, v := range m.SortedVariables() {
			names = append(names, v.Name)
		}
		hint := diag.DidYouMean(name, names)
		switch raw := values[name]; raw.Origin {
		case FromEnv:
		case FromOption, FromInput, FromCaller:
			diags = diags.Errorf(nil, summary, "The variable %q was %s, but the root module does not declare it. Add "+
				"a variable block, or remove the value.%s", name, raw.describe(name), hint)
		default:
			if warned++; warned > maxUndeclared {
				more++
				continue
			}
			diags = diags.Warnf(nil, summary, "The file %s sets %q, but the root module does not declare a variable "+
				"of that name. Add a variable block if the value is needed. To set values for many configurations, "+
				"use %s environment variables.%s", raw.Range.Filename, name, EnvPrefix, hint)
		}
	}
	if more > 0 {
		diags = diags.Warnf(nil, "Values for undeclared variables",
			"%d more variables are set in files without being declared.", more)
	}
	return diags
}

// describeConversion returns the reason for a failed conversion, with the path within the value.
func describeConversion(err error) string {
	var pathErr cty.PathError
	if !errors.As(err, &pathErr) {
		return err.Error()
	}
	var b strings.Builder
	for _, step := range pathErr.Path {
		switch s := step.(type) {
		case cty.GetAttrStep:
			fmt.Fprintf(&b, "attribute %q: ", s.Name)
		case cty.IndexStep:
			b.WriteString("element " + keyText(s.Key) + ": ")
		}
	}
	return b.String() + err.Error()
}

func keyText(key cty.Value) string {
	key, _ = key.Unmark()
	switch {
	case !key.IsKnown() || key.IsNull():
		return "..."
	case key.Type() == cty.String:
		return fmt.Sprintf("%q", key.AsString())
	case key.Type() == cty.Number:
		return key.AsBigFloat().Text('f', -1)
	}
	return "..."
}
