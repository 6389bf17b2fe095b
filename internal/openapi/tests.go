package openapi

import (
	"fmt"
	"slices"
	"strings"
)

// Mark stands for the address of the mock in tests.
const Mark = "{mock}"

// Tests returns the file with the test values for the provider and the mock of the same document: for each resource all
// attributes, a change of those that can be updated and a change of one that cannot. It adds notes about missing tests
// to the report, so call it before Report.
//
// Equal seeds produce equal values.
func (p *Provider) Tests(seed uint64) []byte {
	p.untested, p.seed = nil, itoa(int(seed))
	config := members{}
	for _, a := range p.attributes {
		switch attr, _ := a.value.(members); {
		case a.name == "url":
			config.add(a.name, Mark)
		case a.name == "token_url":
			config.add(a.name, Mark+TokenPath)
		default:
			if attr != nil {
				config.add(a.name, "test")
			}
		}
	}
	out := members{{"provider", config}}
	var resources, data, lists []any
	for _, d := range p.made {
		if one := p.resourceTest(d); one != nil {
			resources = append(resources, one)
		}
	}
	for _, f := range p.reads {
		data = append(data, members{{"type", f.name}, {"config", p.arguments(f)}})
	}
	for _, l := range p.lists {
		i := slices.IndexFunc(p.made, func(d *made) bool { return d.name == l.name })
		config := members{}
		for _, a := range l.value.(members).get("attributes").(members) {
			if a.value.(members).get("required") != nil {
				config.add(a.name, p.made[i].given(a.name))
			}
		}
		lists = append(lists, members{{"type", l.name}, {"config", config}})
	}
	for _, one := range []struct {
		name string
		list []any
	}{{"resources", resources}, {"data", data}, {"lists", lists}} {
		if one.list != nil {
			out.add(one.name, one.list)
		}
	}
	return []byte(printed(out, 0) + "\n")
}

// given returns the value of an argument of a list: of a parent, or of a query parameter.
func (d *made) given(attr string) any {
	for _, a := range d.args {
		if a.attr == attr {
			return Sample(a.param)
		}
	}
	for _, param := range d.e.List.Params {
		if snake(param.Name) == attr {
			return requests(d.m.p.seed, d.name, attr).value(param.Schema)
		}
	}
	return nil
}

// requests returns a maker of request values.
func requests(words ...string) *maker {
	g := seeded(words...)
	g.request, g.full = true, true
	return g
}

// arguments returns the values for a data source.
func (p *Provider) arguments(f *fetched) members {
	config := members{}
	for _, name := range sorted(f.args) {
		param := f.args[name]
		if param.In == "path" {
			config.add(name, Sample(param))
			continue
		}
		config.add(name, requests(p.seed, f.name, name).value(param.Schema))
	}
	return config
}

// trial is the test of a resource under construction.
type trial struct {
	d                             *made
	config, updates, replacements members
	untold                        []any
	// choosing means that only certain combinations of the members are a valid body.
	choosing bool
}

// resourceTest returns the test of a resource, or nil, with a note in the report, if it cannot be tested.
func (p *Provider) resourceTest(d *made) any {
	t := &trial{d: d, choosing: d.sent != nil && len(d.sent.choices) > 0}
	why := ""
	switch {
	case d.e.Delete == nil:
		why = "no request deletes what a test has made"
	case d.e.Read == nil:
		why = "no request reads it"
	case len(d.e.IDs()) == 0:
		why = "there is only one such object, which all tests would change"
	}
	read, _ := objectOf(d.e.Read, d.e.Name)
	for _, name := range d.order {
		of := d.attrs[name]
		if of.request != nil && why == "" {
			why = t.add(name, of, requests(p.seed, d.name, name))
		}
		if of.answer != nil && read.Member(of.api) == nil && d.argumentOf(name) == nil {
			t.untold = append(t.untold, name) // only the responses to other requests have it
		}
	}
	if why != "" {
		p.untested = append(p.untested, fmt.Sprintf("`%s` is not tested: %s", d.name, why))
		return nil
	}
	out := members{{"type", d.name}, {"config", t.config}}
	if len(t.updates) > 0 {
		out.add("updates", []any{t.updates})
	}
	if len(t.replacements) > 0 {
		out.add("replacements", []any{t.replacements})
	}
	if t.untold != nil {
		out.add("untold", t.untold)
	}
	if strings.Contains(d.by, "{") {
		out.add("import", d.by)
	}
	return out
}

// add adds a value of an attribute and another one for an update, or returns the reason why there is none.
func (t *trial) add(name string, of *property, g *maker) string {
	arg := t.d.argumentOf(name)
	if arg != nil && contains(t.d.e.IDs(), arg.param.Name) && !t.d.e.listedBy(arg.param.Name) {
		v := numbered(of.request)
		if v == nil {
			return "no names for it were found that fit the document"
		}
		t.config.add(name, attributeValue(of.attr, v))
		return ""
	}
	if arg != nil {
		t.config.add(name, attributeValue(of.attr, Sample(arg.param)))
		return ""
	}
	v, why := of.sample(g)
	switch {
	case why != "" && of.required:
		return "no value for `" + name + "` was found that requests and answers may have: " + why
	case why != "":
		return ""
	}
	if of.answer == nil && (of.required || t.choosing) {
		t.untold = append(t.untold, name)
	}
	t.untold = append(t.untold, hidden(of.attr, v, of.request, of.answer, name, 0)...)
	if of.answer != nil || of.required || t.choosing {
		t.config.add(name, attributeValue(of.attr, v))
	}
	other, ok := g.other(of.request, v)
	if !ok {
		return ""
	}
	other = inResponse(other, of.request, of.answer, 0)
	if of.answer != nil && of.answer.Check(completed(of.answer, other, "sample"), false) != "" {
		return ""
	}
	to := &t.updates
	if of.forced || t.d.e.Update == nil {
		to = &t.replacements
	}
	to.add(name, attributeValue(of.attr, other))
	return ""
}

// listedBy reports whether a list is of the objects with one value of a parameter of the path.
func (e *Entity) listedBy(param string) bool {
	return e.List != nil && contains(placeholders(e.List.Path), param)
}

// sample returns a value that is valid in requests and responses, or the reason why none was found.
func (of *property) sample(g *maker) (v any, why string) {
	for range 20 {
		v = inResponse(g.value(of.request), of.request, of.answer, 0)
		if why = of.request.Check(v, true); why == "" && of.answer != nil {
			why = of.answer.Check(completed(of.answer, v, "sample"), false)
		}
		if why == "" {
			break
		}
	}
	return v, why
}

// inResponse removes the parts of a value that responses do not contain, unless the request requires them.
func inResponse(v any, r, a *Schema, depth int) any {
	if r == nil || a == nil || depth > mostNested {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			m := a.Member(name)
			if len(a.members) > 0 && (m == nil || m.WriteOnly) && !r.Required[name] {
				delete(v, name)
			} else {
				v[name] = inResponse(inner, r.Member(name), m, depth+1)
			}
		}
	case []any:
		for i := range v {
			v[i] = inResponse(v[i], r.Items(), a.Items(), depth+1)
		}
	}
	return v
}

// hidden returns the nested attributes whose values are in no response.
func hidden(attr members, v any, r, a *Schema, place string, depth int) (out []any) {
	if r == nil || a == nil || depth > mostNested {
		return nil
	}
	nested, _ := attr.get("nested_type").(members)
	attrs, _ := nested.get("attributes").(members)
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			out = append(out, hidden(attr, item, r.Items(), a.Items(), place, depth+1)...)
		}
	case map[string]any:
		for _, one := range attrs {
			inner := one.value.(members)
			name := apiName(one.name, inner)
			given, has := v[name]
			m := a.Member(name)
			switch at := place + "." + one.name; {
			case !has:
			case len(a.members) > 0 && (m == nil || m.WriteOnly):
				out = append(out, at)
			default:
				out = append(out, hidden(inner, given, r.Member(name), m, at, depth+1)...)
			}
		}
	}
	return out
}

// apiName returns the name of an attribute in bodies.
func apiName(name string, attr members) string {
	http, _ := attr.get("http").(members)
	return either(text(http.get("name")), name)
}

func (d *made) argumentOf(attr string) *argument {
	for _, name := range sorted(d.args) {
		if a := d.args[name]; a.attr == attr {
			return a
		}
	}
	return nil
}

// numbered returns a text with a number that is unique for each object, or nil if the schema allows none.
func numbered(s *Schema) any {
	for _, v := range []string{"item-{n}", "item{n}", "{n}", "item{n}@example.com", "#{n}", "https://example.com/{n}"} {
		fits := true
		for _, n := range []string{"0", "7", "123"} {
			text := strings.ReplaceAll(v, "{n}", n)
			value, why := fromText(s, text)
			fits = fits && why == "" && s.Check(value, false) == ""
		}
		if fits {
			return v
		}
	}
	return nil
}

// attributeValue converts a value in a body to that of the attribute.
func attributeValue(attr members, v any) any {
	nested, _ := attr.get("nested_type").(members)
	if nested == nil {
		if attr.get("type") == "string" && v != nil {
			return textOf(v)
		}
		return v
	}
	attrs, _ := nested.get("attributes").(members)
	one := func(v any) any {
		from, ok := v.(map[string]any)
		if !ok {
			return v
		}
		out := members{}
		for _, a := range attrs {
			inner := a.value.(members)
			if given, has := from[apiName(a.name, inner)]; has && inner.get("computed") == nil {
				out.add(a.name, attributeValue(inner, given))
			}
		}
		return out
	}
	switch nested.get("nesting_mode") {
	case "list":
		out := []any{}
		for _, item := range list(v) {
			out = append(out, one(item))
		}
		return out
	case "map":
		out := members{}
		from, _ := v.(map[string]any)
		for _, name := range sorted(from) {
			out.add(name, one(from[name]))
		}
		return out
	}
	return one(v)
}
