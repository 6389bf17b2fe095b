package manifest

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/nesting"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
)

// Template is a value of a manifest that is evaluated for each request: strings are templates of the configuration
// language, at any depth, as in .tf.json files. A string that consists of one interpolation, "${…}", has the value of
// its expression.
type Template struct {
	expr hclsyntax.Expression
	// places are the positions of its strings. A position in the expression counts the bytes of the decoded text from
	// there, which has fewer bytes than the file.
	places []place
	line   int
}

// place is a string of a manifest and its line.
type place struct {
	*node
	line int
}

// at returns the string that contains a position of the expression, or nil.
func (t *Template) at(offset int) *place {
	for i, p := range t.places {
		if p.Offset < offset && offset < p.End {
			return &t.places[i]
		}
	}
	return nil
}

// Variables maps the names of variables to their values.
type Variables map[string]cty.Value

// Value returns the value. An error names the position in the manifest.
func (t *Template) Value(vars Variables) (cty.Value, error) { return t.value(t.expr, vars) }

func (t *Template) value(expr hclsyntax.Expression, vars Variables) (cty.Value, error) {
	v, diags := expr.Value(&hcl.EvalContext{Variables: vars, Functions: language()})
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		line := t.line
		if d.Subject != nil {
			if p := t.at(d.Subject.Start.Byte); p != nil {
				line = p.line
			}
		}
		return cty.DynamicVal, fmt.Errorf("%s line %d: %s: %s", FileName, line, d.Summary,
			strings.TrimSuffix(d.Detail, "."))
	}
	v, _ = v.UnmarkDeep()
	return v, nil
}

func (t *Template) errorf(format string, args ...any) error {
	return fmt.Errorf("%s line %d: "+format, append([]any{FileName, t.line}, args...)...)
}

// Text returns the value as a string, or false if it is null.
func (t *Template) Text(vars Variables) (text string, ok bool, err error) {
	return t.text(t.expr, vars)
}

func (t *Template) text(expr hclsyntax.Expression, vars Variables) (text string, ok bool, err error) {
	v, err := t.value(expr, vars)
	if err != nil || v.IsNull() {
		return "", false, err
	}
	if v, err = convert.Convert(v, cty.String); err != nil {
		return "", false, t.errorf("a string was expected")
	}
	if !v.IsKnown() {
		return "", false, t.errorf("the value is not known yet")
	}
	return v.AsString(), true, nil
}

// True returns the value of a condition. Null is false.
func (t *Template) True(vars Variables) (bool, error) {
	v, err := t.Value(vars)
	if err != nil || v.IsNull() {
		return false, err
	}
	if v, err = convert.Convert(v, cty.Bool); err != nil || !v.IsKnown() {
		return false, t.errorf("a condition must be true or false")
	}
	return v.True(), nil
}

// Path returns the text as part of an address. Each interpolated value becomes one path segment, with all special
// characters escaped; an empty segment, or one that consists of dots, would lead elsewhere and is an error. A template
// that consists of one interpolation is a link, and whole is true.
func (t *Template) Path(vars Variables) (path string, whole bool, err error) {
	parts := []hclsyntax.Expression{t.expr}
	switch e := t.expr.(type) {
	case *hclsyntax.TemplateWrapExpr:
		link, _, err := t.Text(vars)
		if err == nil && link == "" {
			err = t.errorf("the path is empty")
		}
		return link, true, err
	case *hclsyntax.TemplateExpr:
		parts = e.Parts
	}
	var out strings.Builder
	for _, part := range parts {
		text, ok, err := t.text(part, vars)
		if _, literal := part.(*hclsyntax.LiteralValueExpr); err == nil && !literal {
			if !ok || text == "" {
				err = t.errorf("a value in the path is empty, so the request would go elsewhere")
			}
			text = url.PathEscape(text)
		}
		if err != nil {
			return "", false, err
		}
		out.WriteString(text)
	}
	for _, segment := range strings.Split(out.String(), "/") {
		if segment == "." || segment == ".." {
			return "", false, t.errorf("the path has a part %q, so the request would go elsewhere", segment)
		}
	}
	return out.String(), false, nil
}

// traversals returns the references of a template.
func (t *Template) traversals() []hcl.Traversal { return hclsyntax.Variables(t.expr) }

// template decodes a template. The method checked checks its references when all types are known.
func (r *reader) template(v *node) *Template {
	expr := r.expression(v)
	if expr == nil {
		return nil
	}
	line, _ := strictjson.Position(r.src, v.Offset)
	return &Template{expr: expr, places: r.lines(v, nil), line: line}
}

// expression converts a value to an expression, or returns nil if there is an error.
func (r *reader) expression(v *node) hclsyntax.Expression {
	at := r.rangeOf(v)
	literal := func(v cty.Value) hclsyntax.Expression { return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: at} }
	ok := true
	switch v.Kind {
	case strictjson.Null:
		return literal(cty.NullVal(cty.DynamicPseudoType))
	case strictjson.Bool:
		return literal(cty.BoolVal(v.True))
	case strictjson.Number:
		return literal(cty.MustParseNumberVal(v.Text)) // strictjson has narrower limits
	case strictjson.String:
		return r.parsed(v)
	case strictjson.Array:
		list := &hclsyntax.TupleConsExpr{SrcRange: at, OpenRange: at}
		for _, item := range v.Items {
			e := r.expression(item)
			ok = ok && e != nil
			list.Exprs = append(list.Exprs, e)
		}
		if ok {
			return list
		}
	case strictjson.Object:
		object := &hclsyntax.ObjectConsExpr{SrcRange: at, OpenRange: at}
		for _, m := range v.Members {
			e := r.expression(m.Value)
			ok = ok && e != nil
			object.Items = append(object.Items, hclsyntax.ObjectConsItem{
				KeyExpr: literal(cty.StringVal(m.Name)), ValueExpr: e})
		}
		if ok {
			return object
		}
	}
	return nil
}

// parsed parses a string as a template.
func (r *reader) parsed(v *node) hclsyntax.Expression {
	if problems := nesting.CheckTemplate([]byte(v.Text), r.file); problems.HasErrors() {
		r.errorf(v, "The template is nested too deeply.")
		return nil
	}
	expr, diags := hclsyntax.ParseTemplate([]byte(v.Text), r.file, hcl.Pos{Line: 1, Column: 1, Byte: v.Offset + 1})
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			r.wrong(&Template{places: []place{{v, 0}}}, v.Offset, d)
			return nil
		}
	}
	return expr
}

// lines appends the positions of the strings in a value.
func (r *reader) lines(v *node, to []place) []place {
	if v.Kind == strictjson.String {
		line, _ := strictjson.Position(r.src, v.Offset)
		to = append(to, place{v, line})
	}
	for _, item := range v.Items {
		to = r.lines(item, to)
	}
	for _, m := range v.Members {
		to = r.lines(m.Value, to)
	}
	return to
}

// inFile returns the offset in the file of a position in an expression.
func (r *reader) inFile(t *Template, offset int) int {
	v := t.at(offset)
	if v == nil {
		return offset
	}
	offset -= v.Offset + 1
	at, text := v.Offset+1, 0
	for text < offset && at < v.End-1 {
		if r.src[at] != '\\' {
			at++
			text++
			continue
		}
		n := 2
		if r.src[at+1] == 'u' {
			n = 6
		}
		piece, err := strictjson.Parse(slices.Concat([]byte{'"'}, r.src[at:at+n], []byte{'"'}))
		if err != nil { // half of a surrogate pair, which is four bytes of text
			n = 12
			text += 4
		} else {
			text += len(piece.Text)
		}
		at += n
	}
	return at
}

func (r *reader) rangeOf(v *node) hcl.Range {
	line, column := strictjson.Position(r.src, v.Offset)
	pos := hcl.Pos{Line: line, Column: column, Byte: v.Offset}
	return hcl.Range{Filename: r.file, Start: pos, End: pos}
}

// wrong reports an error of the language in a template; usual is the position for errors without one.
func (r *reader) wrong(t *Template, usual int, d *hcl.Diagnostic) {
	if d.Subject != nil {
		usual = r.inFile(t, d.Subject.Start.Byte)
	}
	r.errorAt(usual, "The template cannot be used: %s: %s", d.Summary, d.Detail)
}

// checked evaluates a template with unknown values of the types of its variables. want is the type of its result, or
// cty.DynamicPseudoType for any.
func (r *reader) checked(t *Template, vars Variables, want cty.Type) {
	if t == nil {
		return
	}
	for _, ref := range t.traversals() {
		if _, known := vars[ref.RootName()]; !known {
			names := slices.Sorted(maps.Keys(vars))
			r.errorAt(r.inFile(t, ref.SourceRange().Start.Byte), "There is no variable %q here; the variables are "+
				"%s.%s",
				ref.RootName(), strings.Join(names, ", "), diag.DidYouMean(ref.RootName(), names))
			return
		}
	}
	v, diags := t.expr.Value(&hcl.EvalContext{Variables: vars, Functions: language()})
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			r.wrong(t, t.expr.Range().Start.Byte, d)
			return
		}
	}
	v, _ = v.UnmarkDeep()
	if _, err := convert.Convert(v, want); err != nil {
		r.errorAt(r.inFile(t, t.expr.Range().Start.Byte), "The value here must be %s, not %s.", kindName(want),
			v.Type().FriendlyName())
	}
}

func kindName(ty cty.Type) string {
	switch ty {
	case cty.Bool:
		return "true or false"
	case cty.String:
		return "a string"
	case cty.Number:
		return "a number"
	}
	return ty.FriendlyName()
}
