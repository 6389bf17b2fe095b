package wire

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
)

// text makes a string valid for a message, which must be UTF-8: output of programs need not be.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func encodeDiagnostics(list diag.List) []*plugin6.Diagnostic {
	if len(list) == 0 {
		return nil
	}
	out := make([]*plugin6.Diagnostic, 0, len(list))
	for _, d := range list {
		m := &plugin6.Diagnostic{Severity: plugin6.Diagnostic_ERROR, Summary: text(d.Summary),
			Detail: text(d.Text(diag.Program))}
		if d.Severity == diag.Warning {
			m.Severity = plugin6.Diagnostic_WARNING
		}
		if len(d.Path) > 0 {
			m.Path = encodePath(d.Path)
		}
		out = append(out, m)
	}
	return out
}

// decodeDiagnostics decodes diagnostics. An unknown severity counts as an error, the worst case. It counts the
// diagnostics that it omits.
func decodeDiagnostics(in []*plugin6.Diagnostic) diag.List {
	var out diag.OfAnswer
	for _, m := range in {
		severity := diag.Error
		if m.GetSeverity() == plugin6.Diagnostic_WARNING {
			severity = diag.Warning
		}
		d := &diag.Diagnostic{Severity: severity, Summary: diag.Shortened(m.GetSummary()),
			Detail: diag.Shortened(m.GetDetail()), Path: decodePath(m.GetPath()), Foreign: m.GetSummary() != ""}
		switch { // every diagnostic needs a summary
		case d.Summary == "" && d.Detail == "":
			d.Summary = "The provider reported a problem without saying which"
		case d.Summary == "":
			d.Summary = "The provider reported a problem"
		}
		out.Add(d)
	}
	return out.List("The provider")
}

// encodePath encodes a path up to the first step that messages cannot express: an element of a set, whose key is an
// object.
func encodePath(path cty.Path) *plugin6.Path {
	m := &plugin6.Path{}
	for _, step := range path {
		switch step := step.(type) {
		case cty.GetAttrStep:
			m.Steps = append(m.Steps, &plugin6.Path_Step{Step: &plugin6.Path_Step_Attribute{
				Attribute: text(step.Name)}})
		case cty.IndexStep:
			s := encodeIndex(step.Key)
			if s == nil {
				return m
			}
			m.Steps = append(m.Steps, s)
		default:
			return m
		}
	}
	return m
}

func encodeIndex(key cty.Value) *plugin6.Path_Step {
	if key == cty.NilVal || key.IsMarked() || !key.IsKnown() || key.IsNull() {
		return nil
	}
	switch key.Type() {
	case cty.String:
		return &plugin6.Path_Step{Step: &plugin6.Path_Step_Key{Key: text(key.AsString())}}
	case cty.Number:
		if i, acc := key.AsBigFloat().Int64(); acc == big.Exact {
			return &plugin6.Path_Step{Step: &plugin6.Path_Step_Index{Index: i}}
		}
	}
	return nil
}

// decodePath decodes a path up to the first empty step.
func decodePath(m *plugin6.Path) cty.Path {
	var path cty.Path
	for _, s := range m.GetSteps() {
		switch step := s.GetStep().(type) {
		case *plugin6.Path_Step_Attribute:
			path = append(path, cty.GetAttrStep{Name: step.Attribute})
		case *plugin6.Path_Step_Key:
			path = append(path, cty.IndexStep{Key: cty.StringVal(step.Key)})
		case *plugin6.Path_Step_Index:
			path = append(path, cty.IndexStep{Key: cty.NumberIntVal(step.Index)})
		default:
			return path
		}
	}
	return path
}

// pathText formats a path as in a configuration.
func pathText(path cty.Path) string {
	var b strings.Builder
	for i, step := range path {
		switch step := step.(type) {
		case cty.GetAttrStep:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step.Name)
		case cty.IndexStep:
			switch s := encodeIndex(step.Key).GetStep().(type) {
			case *plugin6.Path_Step_Key:
				fmt.Fprintf(&b, "[%q]", s.Key)
			case *plugin6.Path_Step_Index:
				fmt.Fprintf(&b, "[%d]", s.Index)
			default:
				b.WriteString("[...]")
			}
		}
	}
	return b.String()
}
