package reference

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// group is the list that a member of a block belongs to.
type group int

const (
	required group = iota
	optional
	readOnly
)

var groupNames = []string{"Required", "Optional", "Read-Only"}

// member is an attribute or nested block as it is listed.
type member struct {
	name    string
	group   group
	kind    string   // such as "Map of String" or "Block List, Min: 1"
	notes   []string // such as "Sensitive"
	text    string
	writes  bool   // is write-only
	anchor  string // prefix of the anchor of its own section; "" for a member without a section
	members []member
}

const (
	writeOnlyDocs = "https://developer.hashicorp.com/terraform/language/resources/ephemeral#write-only-arguments"
	writeOnlyNote = "> **NOTE**: [Write-only arguments](" + writeOnlyDocs + ") need Terraform 1.11 or later."
)

// SchemaSection lists the arguments and attributes of a block, and adds a section for each nested block and nested
// attribute.
func SchemaSection(b *provider.Block) string {
	var w strings.Builder
	w.WriteString("<!-- schema: generated -->\n## Schema\n")
	list := blockMembers(b)
	if len(list) == 0 {
		w.WriteString("\nThere are no arguments and no attributes.\n")
	}
	listMembers(&w, list, "### %s", nil)
	return w.String()
}

// identitySection lists the parts of an identity.
func identitySection(s *provider.IdentitySchema) string {
	var w strings.Builder
	w.WriteString("### Identity Schema\n")
	var list []member
	for name, a := range s.Attributes {
		m := member{name: name, kind: typeName(a.Type), text: a.Description, group: optional}
		if a.RequiredForImport {
			m.group = required
		}
		list = append(list, m)
	}
	listMembers(&w, sorted(list), "#### %s", nil)
	return w.String()
}

// listMembers writes the lists of a section, then the sections of members that have their own.
func listMembers(w *strings.Builder, list []member, title string, path []string) {
	for g, name := range groupNames {
		of := inGroup(list, group(g))
		if len(of) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n"+title+"\n\n", name)
		if slices.ContainsFunc(of, func(m member) bool { return m.writes }) {
			w.WriteString(writeOnlyNote + "\n\n")
		}
		for _, m := range of {
			w.WriteString(m.line(path))
		}
	}
	for g := range groupNames {
		for _, m := range inGroup(list, group(g)) {
			if m.anchor == "" {
				continue
			}
			at := append(slices.Clone(path), m.name)
			fmt.Fprintf(w, "\n<a id=\"%s\"></a>\n### Nested Schema for `%s`\n", m.id(path), strings.Join(at, "."))
			listMembers(w, m.members, "%s:", at)
		}
	}
}

func inGroup(list []member, g group) (out []member) {
	for _, m := range list {
		if m.group == g {
			out = append(out, m)
		}
	}
	return out
}

// id returns the anchor of a member's section.
func (m member) id(path []string) string {
	return m.anchor + "--" + strings.Join(append(slices.Clone(path), m.name), "--")
}

// line returns a member as a list item, including further lines of its description.
func (m member) line(path []string) string {
	text := fmt.Sprintf("- `%s` (%s)", m.name, strings.Join(append([]string{m.kind}, m.notes...), ", "))
	if described := strings.TrimSpace(m.text); described != "" {
		text += " " + described
	}
	if m.anchor != "" {
		text += fmt.Sprintf(" (see [below for nested schema](#%s))", m.id(path))
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		if line = strings.TrimRight(line, " \t"); i > 0 && line != "" {
			line = "  " + line
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n") + "\n"
}

// blockMembers returns the attributes and nested blocks of a block, sorted by name.
func blockMembers(b *provider.Block) []member {
	var list []member
	for name, a := range b.Attributes {
		list = append(list, attributeMember(name, a))
	}
	for name, nb := range b.Blocks {
		list = append(list, nestedBlockMember(name, nb))
	}
	return sorted(list)
}

func sorted(list []member) []member {
	slices.SortFunc(list, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return list
}

func attributeMember(name string, a *provider.Attribute) member {
	m := member{name: name, text: described(a.Description, a.Deprecated, a.DeprecationMessage), group: readOnly}
	switch {
	case a.Required:
		m.group = required
	case a.Optional:
		m.group = optional
	case name == "id" && m.text == "" && a.Type == cty.String:
		m.text = "The ID of this object."
	}
	if a.Sensitive {
		m.notes = append(m.notes, "Sensitive")
	}
	if a.Deprecated {
		m.notes = append(m.notes, "Deprecated")
	}
	if a.WriteOnly {
		m.writes = true
		m.notes = append(m.notes, "[Write-only]("+writeOnlyDocs+")")
	}
	if a.Nested == nil {
		m.kind = typeName(a.Type)
		if o := innerObject(a.Type); o != cty.NilType {
			m.anchor, m.members = "nestedatt", objectMembers(o, m.group)
		}
		return m
	}
	m.kind, m.anchor = "Attributes"+collection(a.Nested.Nesting), "nestedatt"
	for _, child := range slices.Sorted(maps.Keys(a.Nested.Attributes)) {
		m.members = append(m.members, attributeMember(child, a.Nested.Attributes[child]))
	}
	return m
}

// described returns a description with the replacement of a deprecated object.
func described(text string, deprecated bool, message string) string {
	text = strings.TrimSpace(text)
	if deprecated && message != "" {
		text = strings.TrimSpace(text + " Deprecated: " + strings.TrimSpace(message))
	}
	return text
}

func nestedBlockMember(name string, nb *provider.NestedBlock) member {
	m := member{
		name: name, anchor: "nestedblock", members: blockMembers(&nb.Block), group: optional,
		text: described(nb.Description, nb.Deprecated, nb.DeprecationMessage), kind: "Block" + collection(nb.Nesting),
	}
	single := nb.Nesting == provider.NestingSingle || nb.Nesting == provider.NestingGroup
	switch {
	case nb.MinItems > 0:
		m.group = required
	case len(m.members) > 0 && len(inGroup(m.members, readOnly)) == len(m.members):
		m.group = readOnly
	case single:
		m.notes = append(m.notes, "Optional")
	}
	if nb.MinItems > 0 && !single {
		m.notes = append(m.notes, fmt.Sprintf("Min: %d", nb.MinItems))
	}
	if nb.MaxItems > 0 && !single {
		m.notes = append(m.notes, fmt.Sprintf("Max: %d", nb.MaxItems))
	}
	if nb.Deprecated {
		m.notes = append(m.notes, "Deprecated")
	}
	return m
}

// collection returns the word that a nesting mode adds to the name of a kind.
func collection(n provider.Nesting) string {
	switch n {
	case provider.NestingList:
		return " List"
	case provider.NestingSet:
		return " Set"
	case provider.NestingMap:
		return " Map"
	}
	return ""
}

// objectMembers returns the attributes of an object type, all of which are required unless they are optional in it.
func objectMembers(ty cty.Type, of group) []member {
	var list []member
	for name, aty := range ty.AttributeTypes() {
		m := member{name: name, kind: typeName(aty), group: of}
		if of != readOnly {
			m.group = required
			if ty.AttributeOptional(name) {
				m.group = optional
			}
		}
		if o := innerObject(aty); o != cty.NilType {
			m.anchor, m.members = "nestedobjatt", objectMembers(o, of)
		}
		list = append(list, m)
	}
	return sorted(list)
}

// innerObject returns the object type within a type and any collections, or NilType if there is none.
func innerObject(ty cty.Type) cty.Type {
	for ty.IsCollectionType() {
		ty = ty.ElementType()
	}
	if ty.IsObjectType() && len(ty.AttributeTypes()) > 0 {
		return ty
	}
	return cty.NilType
}

// typeName returns the name of a type for pages.
func typeName(ty cty.Type) string {
	switch {
	case ty == cty.String:
		return "String"
	case ty == cty.Number:
		return "Number"
	case ty == cty.Bool:
		return "Boolean"
	case ty == cty.DynamicPseudoType:
		return "Dynamic"
	case ty.IsListType():
		return "List of " + typeName(ty.ElementType())
	case ty.IsSetType():
		return "Set of " + typeName(ty.ElementType())
	case ty.IsMapType():
		return "Map of " + typeName(ty.ElementType())
	case ty.IsTupleType():
		var names []string
		for _, e := range ty.TupleElementTypes() {
			names = append(names, typeName(e))
		}
		return "Tuple of (" + strings.Join(names, ", ") + ")"
	}
	return "Object"
}
