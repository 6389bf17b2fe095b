package typings

import (
	"bytes"
	"fmt"
	"strings"
)

// typescript writes the records as interfaces.
func typescript(name string, all []*record) ([]byte, error) {
	var w bytes.Buffer
	fmt.Fprintf(&w, "// %s\n//\n", note(name))
	w.WriteString("// A record has all members, as in requests; a program may return those that it knows (Answer).\n")
	if uses(all, dynamic) {
		w.WriteString("\n/** A value of any type. */\n")
		w.WriteString("export interface Dynamic {\n  value: unknown;\n  type: unknown;\n}\n")
	}
	for _, r := range all {
		w.WriteString("\n")
		typescriptComment(&w, "", append(lines("", r.about), lines("", r.text)...))
		fmt.Fprintf(&w, "export interface %s {\n", r.name)
		for _, f := range r.fields {
			typescriptComment(&w, "  ", append(lines("", f.text), lines("@deprecated ", f.outdated)...))
			null := ""
			if f.null {
				null = " | null"
			}
			fmt.Fprintf(&w, "  %q: %s%s;\n", f.name, typescriptOf(f.of), null)
		}
		w.WriteString("}\n")
		if r.answered {
			fmt.Fprintf(&w, "export type %s%s = Partial<%s>;\n", r.name, answer, r.name)
		}
	}
	return w.Bytes(), nil
}

func typescriptComment(w *bytes.Buffer, indent string, text []string) {
	for i, line := range text {
		text[i] = strings.ReplaceAll(line, "*/", "*\u200b/")
	}
	switch len(text) {
	case 0:
	case 1:
		fmt.Fprintf(w, "%s/** %s */\n", indent, text[0])
	default:
		fmt.Fprintf(w, "%s/**\n", indent)
		for _, line := range text {
			fmt.Fprintln(w, strings.TrimRight(indent+" * "+line, " "))
		}
		fmt.Fprintf(w, "%s */\n", indent)
	}
}

func typescriptOf(t typ) string {
	switch t.form {
	case text:
		return "string"
	case number:
		return "number"
	case boolean:
		return "boolean"
	case list:
		return "Array<" + typescriptOf(*t.of) + ">"
	case table:
		return "Record<string, " + typescriptOf(*t.of) + ">"
	case object:
		return t.record.name
	case dynamic:
		return "Dynamic"
	}
	return "unknown"
}
