package console

import (
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/value"
)

// Format writes a value in the syntax of the language. What is sensitive, ephemeral or not known is named, not shown.
func Format(v cty.Value) string {
	var p printer
	p.value(v, 0)
	return p.String()
}

type printer struct{ strings.Builder }

const step = 2

func (p *printer) value(v cty.Value, indent int) {
	if stand, withheld := value.Withheld(v); withheld {
		p.WriteString(stand)
		return
	}
	switch ty := v.Type(); {
	case !v.IsKnown():
		p.WriteString("(known after apply)")
	case v.IsNull():
		p.WriteString(null(ty))
	case ty == cty.Bool:
		p.WriteString(strconv.FormatBool(v.True()))
	case ty == cty.Number:
		p.WriteString(v.AsBigFloat().Text('f', -1))
	case ty == cty.String:
		p.text(v.AsString(), indent)
	case ty.IsTupleType():
		p.sequence("[", v, "]", indent)
	case ty.IsListType():
		p.sequence("tolist([", v, "])", indent)
	case ty.IsSetType():
		p.sequence("toset([", v, "])", indent)
	case ty.IsObjectType():
		p.mapping("{", v, "}", indent)
	case ty.IsMapType():
		p.mapping("tomap({", v, "})", indent)
	default:
		p.WriteString("<" + ty.FriendlyName() + ">")
	}
}

// null writes a null so that its type shows.
func null(ty cty.Type) string {
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

// text writes a string in quotes, or as a heredoc when it has several lines.
func (p *printer) text(s string, indent int) {
	if !strings.Contains(s, "\n") {
		p.WriteString(strconv.Quote(s))
		return
	}
	marker := "EOT"
	lines := strings.Split(s, "\n")
	taken := map[string]bool{}
	for _, line := range lines {
		taken[strings.TrimSpace(line)] = true
	}
	for taken[marker] {
		marker += "_"
	}
	p.WriteString("<<")
	if indent > 0 {
		p.WriteString("-")
	}
	p.WriteString(marker)
	for _, line := range append(lines, marker) {
		p.line(indent)
		p.WriteString(line)
	}
}

func (p *printer) sequence(start string, v cty.Value, end string, indent int) {
	p.WriteString(start)
	if v.LengthInt() > 0 {
		for _, element := range v.Elements() {
			p.line(indent + step)
			p.value(element, indent+step)
			p.WriteString(",")
		}
		p.line(indent)
	}
	p.WriteString(end)
}

func (p *printer) mapping(start string, v cty.Value, end string, indent int) {
	p.WriteString(start)
	if v.LengthInt() > 0 {
		for key, element := range v.Elements() {
			p.line(indent + step)
			p.value(key, indent+step)
			p.WriteString(" = ")
			p.value(element, indent+step)
		}
		p.line(indent)
	}
	p.WriteString(end)
}

// line starts a new line.
func (p *printer) line(indent int) {
	p.WriteString("\n")
	for range indent {
		p.WriteByte(' ')
	}
}
