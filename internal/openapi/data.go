package openapi

import (
	"maps"
	"slices"
	"strings"
)

// contains reports whether a list has a value.
//
//go:noinline
func contains[T comparable](list []T, v T) bool { return slices.Contains(list, v) }

// fill copies a map into another one.
//
//go:noinline
func fill[V any](to, from map[string]V) { maps.Copy(to, from) }

// sorted returns the names in a map in their order. Inlined, it would be a large part of this package.
//
//go:noinline
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// fetched is a data source, with the information for its tests.
type fetched struct {
	name   string
	op     *Operation
	args   map[string]*Param // the required arguments, by attribute
	ofItem string            // the parameter with the id of an object, or ""
}

// source creates the data source of an operation. d is the resource that it reads, or nil; told means that the
// operation is mapped already.
func (p *Provider) source(op *Operation, name, entity string, d *made, noted bool) {
	why := ""
	switch {
	case op.Method != "GET":
		why = "it is not read with GET"
	case op.Answer == nil:
		why = "the document does not say what it answers"
	case op.Answer.Schema == nil:
		why = "it answers with " + either(op.Answer.Content, "nothing") + ", not with described JSON"
	}
	f := &fetched{op: op, args: map[string]*Param{}}
	var t members
	if why == "" {
		f.name = p.Name + "_" + p.used.take(name)
		t, why = p.dataType(f, entity, d)
	}
	if why != "" {
		if !noted && !p.hasListed(op) {
			p.list(op, why)
		} else {
			p.note("", "%s is no data source: %s", op, why)
		}
		return
	}
	p.data.add(f.name, t)
	p.reads = append(p.reads, f)
	p.mapped(op, "the data source `"+f.name+"`")
}

// dataType creates the type of a data source, or returns the reason why it cannot.
func (p *Provider) dataType(f *fetched, entity string, d *made) (members, string) {
	m := p.mapper(f.name)
	op := f.op
	object, place := objectOf(op, entity)
	items, expr := (*Schema)(nil), ""
	if d == nil && isList(op) {
		if items, expr = listOf(op, entity, strings.TrimPrefix(f.name, p.Name+"_"), place); items != nil {
			object = nil
		}
	}
	used, args := names{}, map[string]string{}
	attrs, query, why := p.parameters(m, f, d, used, args)
	if why != "" {
		return nil, why
	}
	request := members{{"path", pathOf(op, func(name string) string { return "self." + args[name] })}}
	if found := pages(op, expr); items != nil && found != nil {
		request.add("pages", found)
		expr = "items"
		attrs, query = f.withoutCounter(op, found, attrs, query)
	}
	if len(query) > 0 {
		request.add("query", query)
	}
	if headers := p.headers(op); len(headers) > 0 {
		request.add("headers", headers)
	}
	if items != nil || object == nil {
		s, name := op.Answer.Schema, "result"
		if expr == "" {
			expr = "answer.body"
		}
		if items != nil {
			s, name = arrayOf(p.doc, items), "items"
			if expr != "items" && expr != "answer.body" {
				expr = "try(" + expr + ", null)"
			}
		}
		name = used.take(name)
		one := m.attribute(nil, s, name)
		one.attr.add("computed", true)
		attrs.add(name, one.attr)
		request.add("object", "${{"+name+" = "+expr+"}}")
	} else {
		if place != "" {
			request.add("object", place)
		}
		attrs = append(attrs, p.answers(m, object, entity, args, used)...)
	}
	t := members{}
	if sentence := sentenceOf(op.Summary); sentence != "" {
		t.add("description", sentence)
	}
	return append(t, member{"attributes", attrs}, member{"http", members{{"data", request}}}), ""
}

// withoutCounter returns attributes and query without the parameter that counts pages, which the host sets. If it is
// required, the query has its first value.
func (f *fetched) withoutCounter(op *Operation, found, attrs, query members) (members, members) {
	counter := text(found.get("parameter"))
	query = slices.DeleteFunc(query, func(q member) bool { return q.name == literal(counter) })
	if first := firstOfRequired(op, found); first != nil {
		query.add(literal(counter), first)
		delete(f.args, snake(counter))
	}
	return slices.DeleteFunc(attrs, func(a member) bool {
		return counter != "" && a.name == snake(counter) && f.args[a.name] == nil
	}), query
}

// firstOfRequired returns the value of the parameter that counts pages or items in the first request, or nil if the
// parameter is optional.
func firstOfRequired(op *Operation, found members) any {
	param := op.param("query", text(found.get("parameter")))
	switch first, has := found.get("first").(int); {
	case param == nil || !param.Required || found.get("by") == nil:
		return nil
	case has:
		return itoa(first)
	case found.get("by") == "page":
		return "1"
	}
	return "0"
}

// listOf returns the schema and the expression of the items of a response, unless the object in it is at another path.
func listOf(op *Operation, entity, plural, place string) (*Schema, string) {
	found, in := itemsOf(op, entity, plural)
	around := at("answer.body", inEnvelope(op.Answer.Schema, entity))
	if found == nil || place != "" && !strings.HasPrefix(within(in), around) {
		return nil, ""
	}
	return found, within(in)
}

// arrayOf returns the schema of an array of items.
func arrayOf(d *Document, items *Schema) *Schema {
	v := map[string]any{}
	d.schemas[identity(v)] = items
	return &Schema{Type: "array", doc: d, items: &part{v: v}, where: items.where}
}

// isList reports whether a response is a list, and not an object that contains one.
func isList(op *Operation) bool {
	s := op.Answer.Schema
	if s.Type == "array" {
		return true
	}
	if strings.HasSuffix(op.Path, "}") {
		return false
	}
	plain := 0
	for _, name := range s.Members() {
		if inner := s.Member(name); inner.Type == "array" && inner.Items() != nil {
			plain++
		}
	}
	return plain == 1 || inEnvelope(s, "") != ""
}

// answers adds attributes for the members of an object that is read, except for those in args.
func (p *Provider) answers(m *mapper, object *Schema, entity string, args map[string]string,
	used names) (out members) {
	prefix := "its_"
	if entity != "" {
		prefix = entity + "_"
	}
	for _, name := range object.Members() {
		_, a := halves(nil, object, name)
		called := attributeName(name, a)
		if a == nil || used[called] && hasValue(args, called) {
			continue
		}
		if m.left--; m.left < 0 {
			break
		}
		one := m.attribute(nil, a, called)
		one.attr.add("computed", true)
		if contains(reserved, called) {
			m.notef(called, "is a word of the language: the attribute is `%s`", prefix+called)
			called = prefix + called
		}
		called = used.take(called)
		m.finish(&one, called, name)
		out.add(called, one.attr)
	}
	return out
}

func hasValue(m map[string]string, v string) bool {
	for _, one := range m {
		if one == v {
			return true
		}
	}
	return false
}

// parameters adds attributes for the parameters of a read operation, and sets the query.
func (p *Provider) parameters(m *mapper, f *fetched, d *made, used names, args map[string]string) (
	attrs, query members, why string) {
	for _, in := range []string{"path", "query"} {
		for _, param := range f.op.Params {
			if param.In != in {
				continue
			}
			name, attr := snake(either(text(param.Hints[hintPrefix+"match"]), param.Name)), members{}
			if d != nil && in == "path" && d.args[param.Name] != nil {
				name = d.args[param.Name].attr
				if !d.args[param.Name].parent || d.e.Create.Method != "POST" {
					f.ofItem = param.Name
				}
			}
			of := scalars[param.Schema.Type]
			if in == "path" {
				of = "string"
			}
			items := param.Schema.Items()
			switch {
			case of != "":
				attr.add("type", of)
			case param.Schema.Type == "array" && param.Style == "" && items != nil && scalars[items.Type] != "":
				attr.add("type", []any{"list", scalars[items.Type]})
			case param.Required:
				return nil, nil, "its parameter " + param.Name + " cannot be written as a text"
			default:
				m.notef(param.Name, "is a parameter that cannot be written as a text: it is not mapped")
				continue
			}
			if contains(reserved, name) {
				m.notef(name, "is a word of the language: the attribute is `%s`", "by_"+name)
				name = "by_" + name
			}
			name = used.take(name)
			attr.add(map[bool]string{true: "required", false: "optional"}[param.Required || in == "path"], true)
			if sentence := sentenceOf(either(param.Text, param.Schema.Description)); sentence != "" {
				attr.add("description", sentence)
			}
			if hinted(param.Schema, "param-sensitive") || flag(param.Hints[hintPrefix+"param-sensitive"]) {
				attr.add("sensitive", true)
			}
			m.checks(&attr, param.Schema, shape{typ: attr.get("type")}, name)
			if in == "query" {
				query.add(literal(param.Name), "${self."+name+"}")
			} else {
				args[param.Name] = name
			}
			if param.Required || in == "path" {
				f.args[name] = param
			}
			attrs.add(name, attr)
		}
	}
	return attrs, query, ""
}

// searched adds attributes for the query parameters of a list, except for the page counter. The last result is a
// required parameter that cannot be an attribute.
func searched(op *Operation, counter string, attrs *members) (query members, missing string) {
	for _, param := range op.Params {
		if param.In != "query" || param.Name == counter {
			continue
		}
		name := snake(param.Name)
		if scalars[param.Schema.Type] == "" || attrs.get(name) != nil {
			if param.Required {
				return nil, param.Name
			}
			continue
		}
		attrs.add(name, members{{"type", scalars[param.Schema.Type]},
			{map[bool]string{true: "required", false: "optional"}[param.Required], true}})
		query.add(literal(param.Name), "${config."+name+"}")
	}
	return query, ""
}

// listing creates the list of a resource if the items contain its identity, and reports whether it did.
func (p *Provider) listing(e *Entity, d *made) bool {
	items, place := itemsOf(e.List, e.Name, e.Plural)
	expr := within(place)
	if items == nil || len(d.needed) == 0 {
		p.note(d.name, "cannot be listed: %s does not answer with items that have an identity", e.List)
		return false
	}
	items, _ = items.united()
	identity, attrs := members{}, members{}
	for _, name := range placeholders(e.Read.Path) {
		arg := d.args[name]
		from := either(arg.found, memberFor(items, name, e.Name))
		switch {
		case contains(placeholders(e.List.Path), name):
			identity.set(arg.attr, "${config."+arg.attr+"}")
		case items.Member(from) != nil:
			identity.set(arg.attr, "${"+at("item", from)+"}")
		default:
			p.note(d.name, "cannot be listed: the items of %s have no %s", e.List, arg.attr)
			return false
		}
	}
	for _, name := range placeholders(e.List.Path) {
		arg := d.args[name]
		if arg == nil {
			p.note(d.name, "cannot be listed: %s needs the %s", e.List, name)
			return false
		}
		attrs.set(arg.attr, members{{"type", "string"}, {"required", true}})
	}
	found := pages(e.List, expr)
	if found == nil {
		found = members{{"items", "${" + expr + "}"}}
	}
	query, missing := searched(e.List, text(found.get("parameter")), &attrs)
	if missing != "" {
		p.note(d.name, "cannot be listed: %s needs the parameter %s", e.List, missing)
		return false
	}
	request := members{{"path", pathOf(e.List, func(name string) string { return "config." + d.args[name].attr })}}
	if len(query) > 0 {
		request.add("query", query)
	}
	if headers := p.headers(e.List); len(headers) > 0 {
		request.add("headers", headers)
	}
	request = append(request, member{"pages", found}, member{"identity", identity})
	for _, name := range []string{"name", "title", "displayName", "display_name", "label"} {
		if s := items.Member(name); s != nil && s.Type == "string" {
			request.add("display_name", "${try("+at("item", name)+", null)}")
			break
		}
	}
	p.lists.add(d.name, members{{"attributes", attrs}, {"http", members{{"list", request}}}})
	p.mapped(e.List, "the list of the resource `"+d.name+"`")
	return true
}
