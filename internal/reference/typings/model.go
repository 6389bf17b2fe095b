package typings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// record is an object with named members.
type record struct {
	name   string // in upper camel case, unique
	about  string // what it is, as a sentence
	text   string // the description in the schema
	fields []field
	// answered means that programs return the record, with the members that they know.
	answered bool
}

type field struct {
	name     string // as in the schema
	of       typ
	null     bool // whether requests may have null
	text     string
	outdated string // why it is deprecated, or ""
}

type form int

const (
	dynamic form = iota // {"value": ..., "type": ...}
	anything
	text
	number
	boolean
	list // also sets and tuples
	table
	object
)

// typ is the type of a member.
type typ struct {
	form   form
	of     *typ    // of list and table
	record *record // of object
}

// namer collects records.
type namer struct {
	all   []*record
	taken map[string]bool
}

// recordsOf returns the records of a schema: of each kind in the order of names, a record before those inside of it.
func recordsOf(s *provider.Schema) []*record {
	n := &namer{taken: map[string]bool{}}
	for _, used := range []string{"Any", "Array", "Decimal", "Dict", "Dynamic", "List", "Number", "Optional", "Partial",
		"Record", "TypedDict", "Union"} {
		n.taken[used] = true
	}
	if s.Provider != nil {
		n.block([]string{"provider", "config"}, "The configuration of the provider.", s.Provider)
	}
	for _, kind := range []struct {
		types    map[string]*provider.ResourceType
		suffix   string
		about    string
		answered bool
	}{
		{s.Resources, "", "The resource %s.", true}, {s.Data, "data", "The data source %s.", true},
		{s.Ephemeral, "ephemeral", "The ephemeral resource %s.", true},
		{s.Lists, "list", "The configuration of a list of %s.", false},
		{s.Actions, "action", "The configuration of the action %s.", false},
	} {
		for _, name := range slices.Sorted(maps.Keys(kind.types)) {
			rt := kind.types[name]
			r := n.block([]string{name, kind.suffix}, fmt.Sprintf(kind.about, name), rt.Block)
			r.answered = kind.answered
			if rt.Identity != nil && kind.suffix == "" {
				n.identity(name, rt.Identity)
			}
		}
	}
	return n.all
}

// record adds a record. Words are joined to its name.
func (n *namer) record(words []string, about, text string) *record {
	name := camel(words)
	for i := 2; n.taken[name] || n.taken[name+answer]; i++ {
		name = fmt.Sprint(camel(words), i)
	}
	n.taken[name], n.taken[name+answer] = true, true
	r := &record{name: name, about: about, text: text}
	n.all = append(n.all, r)
	return r
}

// answer ends the names of records that a program returns.
const answer = "Answer"

// camel joins words, and the parts of each, to a name in upper camel case.
func camel(words []string) string {
	var out strings.Builder
	upper := true
	for _, c := range strings.Join(words, "_") {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			upper = true
			continue
		case upper:
			c = unicode.ToUpper(c)
		}
		upper = unicode.IsDigit(c)
		out.WriteRune(c)
	}
	if name := out.String(); name != "" && unicode.IsUpper([]rune(name)[0]) {
		return name
	}
	return "T" + out.String() // names of types begin with a letter that has an upper case
}

func (n *namer) block(words []string, about string, b *provider.Block) *record {
	r := n.record(words, about, b.Description)
	r.fields = n.attributes(words, b.Attributes)
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		nb := b.Blocks[name]
		inner := n.block(append(slices.Clone(words), name), "A block "+name+".", &nb.Block)
		r.fields = append(r.fields, field{name: name, of: nested(nb.Nesting, inner), text: nb.Description,
			null:     nb.Nesting == provider.NestingSingle || nb.Computed,
			outdated: obsolete(nb.Deprecated, nb.DeprecationMessage)})
	}
	return r.sort()
}

func (r *record) sort() *record {
	slices.SortFunc(r.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return r
}

// obsolete returns why a member is deprecated.
func obsolete(is bool, why string) string {
	if !is {
		return ""
	}
	return cmp.Or(why, "It is deprecated.")
}

func (n *namer) attributes(words []string, all map[string]*provider.Attribute) (fields []field) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := all[name]
		f := field{name: name, text: a.Description, null: !a.Required,
			outdated: obsolete(a.Deprecated, a.DeprecationMessage)}
		within := append(slices.Clone(words), name)
		if a.Nested != nil {
			inner := n.record(within, "An object in "+name+".", "")
			inner.fields = n.attributes(within, a.Nested.Attributes)
			f.of = nested(a.Nested.Nesting, inner.sort())
		} else {
			f.of = n.typ(within, a.Type)
		}
		fields = append(fields, f)
	}
	return fields
}

// nested returns the type of nested objects.
func nested(n provider.Nesting, of *record) typ {
	one := typ{form: object, record: of}
	switch n {
	case provider.NestingList, provider.NestingSet:
		return typ{form: list, of: &one}
	case provider.NestingMap:
		return typ{form: table, of: &one}
	}
	return one
}

func (n *namer) typ(words []string, ty cty.Type) typ {
	switch {
	case ty == cty.String:
		return typ{form: text}
	case ty == cty.Number:
		return typ{form: number}
	case ty == cty.Bool:
		return typ{form: boolean}
	case ty.IsListType(), ty.IsSetType():
		of := n.typ(words, ty.ElementType())
		return typ{form: list, of: &of}
	case ty.IsMapType():
		of := n.typ(words, ty.ElementType())
		return typ{form: table, of: &of}
	case ty.IsTupleType(): // its elements may have different types
		return typ{form: list, of: &typ{form: anything}}
	case ty.IsObjectType():
		r := n.record(words, "An object in "+words[len(words)-1]+".", "")
		atys := ty.AttributeTypes()
		for _, name := range slices.Sorted(maps.Keys(atys)) {
			r.fields = append(r.fields, field{name: name, null: true,
				of: n.typ(append(slices.Clone(words), name), atys[name])})
		}
		return typ{form: object, record: r.sort()}
	}
	return typ{form: dynamic}
}

func (n *namer) identity(name string, s *provider.IdentitySchema) {
	words := []string{name, "identity"}
	r := n.record(words, "The identity of an object "+name+".", "")
	r.answered = true
	for _, part := range slices.Sorted(maps.Keys(s.Attributes)) {
		a := s.Attributes[part]
		r.fields = append(r.fields, field{name: part, text: a.Description, null: !a.RequiredForImport,
			of: n.typ(append(slices.Clone(words), part), a.Type)})
	}
	r.sort()
}

// uses reports whether a member of a record has, or contains, a type of a form.
func uses(all []*record, f form) bool {
	return slices.ContainsFunc(all, func(r *record) bool {
		return slices.ContainsFunc(r.fields, func(one field) bool {
			for at := &one.of; at != nil; at = at.of {
				if at.form == f {
					return true
				}
			}
			return false
		})
	})
}
