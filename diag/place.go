package diag

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Line returns the file and the first line of a range, as editors and people write them: "main.tf:3".
func Line(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line) }

// lines returns the arguments of a text, with a Line in place of each range.
func lines(args []any) []any {
	out := slices.Clone(args)
	for i, arg := range args {
		switch r := arg.(type) {
		case hcl.Range:
			out[i] = Line(r)
		case *hcl.Range:
			if r != nil {
				out[i] = Line(*r)
			}
		}
	}
	return out
}

// withoutColumns returns the detail of a problem of the hcl library, which names the range of an earlier definition,
// with the file and line of that range.
func withoutColumns(d *hcl.Diagnostic) string {
	switch d.Summary {
	case "Attribute redefined", "Duplicate argument", "Duplicate attribute definition", "Duplicate object attribute":
	default:
		return d.Detail
	}
	at := strings.LastIndex(d.Detail, " at ")
	colon := strings.LastIndexByte(d.Detail, ':')
	if at < 0 || colon < at {
		return d.Detail
	}
	digits := func(r rune) bool { return r >= '0' && r <= '9' }
	line, rest, ok := strings.Cut(d.Detail[colon+1:], ",")
	columns, after := rest, ""
	if end := strings.IndexByte(rest, '.'); end >= 0 {
		columns, after = rest[:end], rest[end:]
	}
	if !ok || strings.TrimFunc(line, digits) != "" ||
		strings.TrimFunc(columns, func(r rune) bool { return digits(r) || r == '-' || r == ',' }) != "" {
		return d.Detail
	}
	return d.Detail[:colon+1] + line + after
}
