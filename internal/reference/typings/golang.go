package typings

import (
	"bytes"
	"fmt"
	"go/format"
	"go/token"
	"strings"
)

// golang writes the records as structs for encoding/json. A member that may be null is a pointer, slice or map, and is
// left out of an answer while it is nil.
func golang(name string, all []*record) ([]byte, error) {
	var w bytes.Buffer
	fmt.Fprintf(&w, "// %s\n\n// Package %s has the types of the provider %s.\npackage %[2]s\n\n", note(name),
		packageName(name), name)
	if uses(all, number) {
		w.WriteString("import \"encoding/json\"\n\n")
	}
	if uses(all, dynamic) {
		w.WriteString("// Dynamic is a value of any type.\ntype Dynamic struct {\n\tValue any `json:\"value\"`\n" +
			"\tType any `json:\"type\"`\n}\n\n")
	}
	for _, r := range all {
		fmt.Fprintf(&w, "// %s: %s\n", r.name, r.about)
		for _, line := range lines("// ", r.text) {
			fmt.Fprintln(&w, line)
		}
		fmt.Fprintf(&w, "type %s struct {\n", r.name)
		taken := map[string]bool{}
		for _, f := range r.fields {
			for _, line := range lines("// ", f.text) {
				fmt.Fprintln(&w, line)
			}
			if f.outdated != "" {
				if f.text != "" {
					w.WriteString("//\n") // tools expect a paragraph of its own
				}
				fmt.Fprintln(&w, strings.Join(lines("// ", "Deprecated: "+f.outdated), "\n"))
			}
			member := camel([]string{f.name})
			for i := 2; taken[member]; i++ {
				member = fmt.Sprint(camel([]string{f.name}), i)
			}
			taken[member] = true
			if f.null {
				fmt.Fprintf(&w, "%s %s `json:\"%s,omitzero\"`\n", member, golangNull(f.of), f.name)
			} else {
				fmt.Fprintf(&w, "%s %s `json:%q`\n", member, golangOf(f.of), f.name)
			}
		}
		w.WriteString("}\n\n")
	}
	return format.Source(w.Bytes())
}

// packageName returns the name of a package, from that of a provider.
func packageName(provider string) string {
	name := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(provider))
	if !token.IsIdentifier(name) {
		return "provider" + name
	}
	return name
}

// golangNull returns the type of a member that may be null.
func golangNull(t typ) string {
	switch t.form {
	case list, table, anything:
		return golangOf(t)
	}
	return "*" + golangOf(t)
}

func golangOf(t typ) string {
	switch t.form {
	case text:
		return "string"
	case number:
		return "json.Number"
	case boolean:
		return "bool"
	case list:
		return "[]" + golangOf(*t.of)
	case table:
		return "map[string]" + golangOf(*t.of)
	case object:
		return t.record.name
	case dynamic:
		return "Dynamic"
	}
	return "any"
}
