package typings

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/regex"
)

// A member whose name is none of Python, such as "from", is written as a key of a dict.
var pythonName = regex.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)

const pythonKeywords = " False None True and as assert async await break class continue def del elif else except " +
	"finally for from global if import in is lambda nonlocal not or pass raise return try while with yield "

// python writes the records as classes of typing.TypedDict, for Python 3.8 and newer. They follow what they contain, so
// that the annotations can be evaluated.
func python(name string, all []*record) ([]byte, error) {
	var w bytes.Buffer
	fmt.Fprintf(&w, "# %s\n\"\"\"Types of the provider %s, for editors and type checkers.\n\n", note(name), name)
	w.WriteString("A record has all members, as in requests; a program may return those that it knows (Answer).\n")
	w.WriteString("\"\"\"\n")
	if uses(all, number) {
		w.WriteString("from decimal import Decimal\n")
	}
	w.WriteString("from typing import Any, Dict, List, Optional, TypedDict, Union\n")
	if uses(all, number) {
		w.WriteString("\nNumber = Union[int, Decimal]\n")
	}
	if uses(all, dynamic) {
		w.WriteString("\n\nclass Dynamic(TypedDict):\n    \"\"\"A value of any type.\"\"\"\n")
		w.WriteString("    value: Any\n    type: Any\n")
	}
	done := map[*record]bool{}
	for _, r := range all {
		pythonRecord(&w, r, done)
	}
	return w.Bytes(), nil
}

func pythonRecord(w *bytes.Buffer, r *record, done map[*record]bool) {
	if done[r] {
		return
	}
	done[r] = true
	for _, f := range r.fields {
		for at := &f.of; at != nil; at = at.of {
			if at.record != nil {
				pythonRecord(w, at.record, done)
			}
		}
	}
	pythonClass(w, r, r.name, "")
	if r.answered {
		pythonClass(w, r, r.name+answer, ", total=False")
	}
}

func pythonClass(w *bytes.Buffer, r *record, name, total string) {
	w.WriteString("\n\n")
	if plain := pythonNames(r); !plain || len(r.fields) == 0 {
		for _, line := range append(lines("# ", r.about), lines("# ", r.text)...) {
			fmt.Fprintln(w, line)
		}
		fmt.Fprintf(w, "%s = TypedDict(%q, {\n", name, name)
		for _, f := range r.fields {
			pythonComment(w, f)
			fmt.Fprintf(w, "    %q: %s,\n", f.name, pythonType(f))
		}
		fmt.Fprintf(w, "}%s)\n", total)
		return
	}
	fmt.Fprintf(w, "class %s(TypedDict%s):\n    \"\"\"%s\"\"\"\n", name, total, r.about)
	for _, line := range lines("    # ", r.text) {
		fmt.Fprintln(w, line)
	}
	for _, f := range r.fields {
		pythonComment(w, f)
		fmt.Fprintf(w, "    %s: %s\n", f.name, pythonType(f))
	}
}

// pythonNames reports whether all members have names that can be written without quotes.
func pythonNames(r *record) bool {
	for _, f := range r.fields {
		private := strings.HasPrefix(f.name, "__") // a class changes such names
		if private || !pythonName().MatchString(f.name) || strings.Contains(pythonKeywords, " "+f.name+" ") {
			return false
		}
	}
	return true
}

func pythonComment(w *bytes.Buffer, f field) {
	for _, line := range append(lines("    # ", f.text), lines("    # Deprecated: ", f.outdated)...) {
		fmt.Fprintln(w, line)
	}
}

func pythonType(f field) string {
	text := pythonOf(f.of)
	if f.null {
		text = "Optional[" + text + "]"
	}
	return text
}

func pythonOf(t typ) string {
	switch t.form {
	case text:
		return "str"
	case number:
		return "Number"
	case boolean:
		return "bool"
	case list:
		return "List[" + pythonOf(*t.of) + "]"
	case table:
		return "Dict[str, " + pythonOf(*t.of) + "]"
	case object:
		return t.record.name
	case dynamic:
		return "Dynamic"
	}
	return "Any"
}
