package typings

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
)

// ruby writes the records as aliases of RBS, inside of a module. The keys of hashes are strings, as in requests; those
// of answers may be missing (RBS 3.5 and newer).
func ruby(name string, all []*record) ([]byte, error) {
	var w bytes.Buffer
	fmt.Fprintf(&w, "# %s\n#\n", note(name))
	w.WriteString("# A record has all members, as in requests; a program may return those that it knows (answer).\n")
	fmt.Fprintf(&w, "module %sTypes\n", camel([]string{name}))
	if uses(all, number) {
		w.WriteString("  type number = Integer | BigDecimal\n")
	}
	if uses(all, dynamic) {
		w.WriteString("\n  # A value of any type.\n  type dynamic = { \"value\" => untyped, \"type\" => untyped }\n")
	}
	names := rubyNames(all)
	for _, r := range all {
		w.WriteString("\n")
		for _, line := range append(lines("  # ", r.about), lines("  # ", r.text)...) {
			fmt.Fprintln(&w, line)
		}
		rubyRecord(&w, names, names[r.name], r, "")
		if r.answered {
			w.WriteString("\n")
			rubyRecord(&w, names, names[r.name+answer], r, "?")
		}
	}
	w.WriteString("end\n")
	return w.Bytes(), nil
}

func rubyRecord(w *bytes.Buffer, names map[string]string, name string, r *record, optional string) {
	if len(r.fields) == 0 {
		fmt.Fprintf(w, "  type %s = Hash[String, untyped]\n", name)
		return
	}
	fmt.Fprintf(w, "  type %s = {\n", name)
	for i, f := range r.fields {
		for _, line := range append(lines("    # ", f.text), lines("    # Deprecated: ", f.outdated)...) {
			fmt.Fprintln(w, line)
		}
		null, comma := "", ","
		if f.null {
			null = "?"
		}
		if i == len(r.fields)-1 {
			comma = ""
		}
		fmt.Fprintf(w, "    %s%q => %s%s%s\n", optional, f.name, rubyOf(names, f.of), null, comma)
	}
	w.WriteString("  }\n")
}

// rubyNames returns the names of aliases, which begin with a small letter, for the names of records and answers.
func rubyNames(all []*record) map[string]string {
	names, taken := map[string]string{}, map[string]bool{"number": true, "dynamic": true}
	for _, keyword := range strings.Fields("alias bool boolish bot class def end extend false in include instance " +
		"interface module nil out prepend private public self selfq singleton top true type unchecked untyped use " +
		"void") {
		taken[keyword] = true
	}
	for _, r := range all {
		for _, name := range []string{r.name, r.name + answer} {
			plain := snake(name)
			unique := plain
			for i := 2; taken[unique]; i++ {
				unique = fmt.Sprint(plain, "_", i)
			}
			taken[unique], names[name] = true, unique
		}
	}
	return names
}

// snake converts a name in upper camel case to small letters and underscores. Letters of other scripts are omitted,
// because RBS does not know which of them are small.
func snake(name string) string {
	var out strings.Builder
	for i, c := range name {
		if c > unicode.MaxASCII {
			continue
		}
		if i > 0 && unicode.IsUpper(c) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(c))
	}
	text := out.String()
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		text = "t" + text
	}
	return text
}

func rubyOf(names map[string]string, t typ) string {
	switch t.form {
	case text:
		return "String"
	case number:
		return "number"
	case boolean:
		return "bool"
	case list:
		return "Array[" + rubyOf(names, *t.of) + "]"
	case table:
		return "Hash[String, " + rubyOf(names, *t.of) + "]"
	case object:
		return names[t.record.name]
	case dynamic:
		return "dynamic"
	}
	return "untyped"
}
