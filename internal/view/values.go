package view

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/state"
)

// Outputs writes the root output values as text: the output of `output`. It writes nothing for a state without outputs.
func Outputs(o Options, s *state.State) error {
	var b bytes.Buffer
	r := renderer{hide: o.concealing()}
	for _, name := range s.OutputNames() {
		output := s.Output(name)
		b.WriteString(clean(name) + " = ")
		if output.Sensitive && !o.ShowSensitive {
			b.WriteString("<sensitive>\n")
			continue
		}
		writeExpression(&b, r.publicly(output.Value), 0)
		b.WriteByte('\n')
	}
	_, err := o.Out.Write(b.Bytes())
	return err
}

// OutputValue writes one value, even a sensitive one, in the syntax of the language: the output of `output NAME`.
func OutputValue(w io.Writer, o *state.Output) error {
	_, err := io.WriteString(w, FormatValue(o.Value)+"\n")
	return err
}

// RawOutput writes one value as plain text, without a newline: the output of `output -raw NAME`. It fails for null and
// unknown values, and for anything except strings, numbers and bools. The text is not sanitized: it is for programs.
func RawOutput(w io.Writer, name string, o *state.Output) error {
	v := o.Value
	var text string
	switch ty := v.Type(); {
	case v.IsNull():
		return fmt.Errorf(
			"the value of output %q is null, which has no raw form: -raw prints strings, numbers and bools only", name)
	case !v.IsKnown():
		return fmt.Errorf("the value of output %q is not known until the next apply", name)
	case ty == cty.String:
		text = v.AsString()
	case ty == cty.Number, ty == cty.Bool:
		text = literal(v)
	default:
		return fmt.Errorf("output %q is %s, which has no raw form: -raw prints strings, numbers and bools only; use "+
			"-json for this one", name, ty.FriendlyName())
	}
	_, err := io.WriteString(w, text)
	return err
}

// FormatValue returns a value in the syntax of the language, as `output NAME` and the console print it. Marked values
// are withheld.
func FormatValue(v cty.Value) string {
	var b bytes.Buffer
	writeExpression(&b, v, 0)
	return b.String()
}

// writeExpression writes a value as an expression that evaluates to it, as far as there is one.
func writeExpression(b *bytes.Buffer, v cty.Value, indent int) {
	if text, hidden := value.Withheld(v); hidden {
		b.WriteString(text)
		return
	}
	v, _ = v.Unmark()
	ty := v.Type()
	switch {
	case !v.IsKnown():
		b.WriteString("(known after apply)")
	case v.IsNull():
		b.WriteString(nullExpression(ty))
	case ty == cty.String:
		writeString(b, v.AsString(), indent)
	case ty.IsPrimitiveType():
		b.WriteString(literal(v))
	case ty.IsListType():
		writeItems(b, "tolist([", "])", v, indent)
	case ty.IsSetType():
		writeItems(b, "toset([", "])", v, indent)
	case ty.IsTupleType():
		writeItems(b, "[", "]", v, indent)
	case ty.IsMapType():
		writeMembers(b, "tomap({", "})", v, indent)
	case ty.IsObjectType():
		writeMembers(b, "{", "}", v, indent)
	default:
		b.WriteString("(" + ty.FriendlyName() + ")")
	}
}

// nullExpression returns a null with its type.
func nullExpression(ty cty.Type) string {
	switch {
	case ty == cty.DynamicPseudoType:
		return "null"
	case ty.IsPrimitiveType():
		return "to" + ty.FriendlyName() + "(null)"
	case ty.IsListType():
		return "tolist(null) /* of " + ty.ElementType().FriendlyName() + " */"
	case ty.IsSetType():
		return "toset(null) /* of " + ty.ElementType().FriendlyName() + " */"
	case ty.IsMapType():
		return "tomap(null) /* of " + ty.ElementType().FriendlyName() + " */"
	}
	return "null /* " + ty.FriendlyName() + " */"
}

func writeItems(b *bytes.Buffer, open, end string, v cty.Value, indent int) {
	b.WriteString(open)
	if v.LengthInt() > 0 {
		b.WriteByte('\n')
		for _, element := range ctyfast.Each(v) {
			b.WriteString(strings.Repeat(" ", indent+2))
			writeExpression(b, element, indent+2)
			b.WriteString(",\n")
		}
		b.WriteString(strings.Repeat(" ", indent))
	}
	b.WriteString(end)
}

func writeMembers(b *bytes.Buffer, open, end string, v cty.Value, indent int) {
	b.WriteString(open)
	names := memberNames(v)
	if len(names) > 0 {
		b.WriteByte('\n')
		for _, name := range names {
			b.WriteString(strings.Repeat(" ", indent+2))
			writeString(b, name, indent+2)
			b.WriteString(" = ")
			writeExpression(b, part(v, name), indent+2)
			b.WriteByte('\n')
		}
		b.WriteString(strings.Repeat(" ", indent))
	}
	b.WriteString(end)
}

// writeString writes a string in quotes, or as a here document if it has several lines.
func writeString(b *bytes.Buffer, s string, indent int) {
	if !strings.Contains(s, "\n") {
		b.WriteString(quoted(s))
		return
	}
	lines := strings.Split(s, "\n")
	taken := map[string]bool{}
	for _, line := range lines {
		taken[strings.TrimSpace(line)] = true
	}
	mark := "EOT"
	for taken[mark] {
		mark += "_"
	}
	dash := ""
	if indent > 0 {
		dash = "-"
	}
	pad := strings.Repeat(" ", indent)
	b.WriteString("<<" + dash + mark + "\n")
	for _, line := range lines {
		text, ended := strings.CutSuffix(line, "\r") // a carriage return before it is harmless
		b.WriteString(pad + clean(text))
		if ended {
			b.WriteByte('\r')
		}
		b.WriteByte('\n')
	}
	b.WriteString(pad + mark)
}
