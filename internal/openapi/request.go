package openapi

import (
	"slices"
	"strings"
)

// requests creates the requests of a resource, or returns the reason why it cannot.
func (d *made) requests() string {
	e := d.e
	for _, name := range sorted(d.args) {
		if a := d.args[name]; a.parent && (a.found == "" || d.sent.Member(a.found) == nil) {
			d.state.add(a.attr, "${self."+a.attr+"}")
		}
	}
	create, why := d.request(e.Create, "create")
	if why != "" {
		return why
	}
	var read, update, remove members
	if e.Read != nil {
		if read, why = d.request(e.Read, "read"); why != "" {
			return why
		}
	}
	if e.Update != nil {
		if update, why = d.request(e.Update, "update"); why != "" {
			d.drop(&e.Update, why)
			d.unforce()
		}
	}
	if e.Delete != nil {
		if remove, why = d.request(e.Delete, "delete"); why == "" && e.Delete.Body != nil && e.Delete.Body.Required {
			why = "it needs a body"
		}
		if why != "" {
			d.drop(&e.Delete, why)
			remove = nil
		}
	}
	if e.Delete == nil {
		d.m.p.note(d.name, "has no request that deletes it: when it is destroyed, it is only forgotten")
	}
	if e.Read == nil {
		d.m.p.note(d.name, "has no request that reads it: changes by others are not seen")
	}
	d.http = members{{"create", create}}
	for _, one := range []member{{"read", read}, {"update", update}, {"delete", remove}} {
		if one.value.(members) != nil {
			d.http = append(d.http, one)
		}
	}
	if len(d.state) > 0 {
		d.http.add("state", d.state)
	}
	return ""
}

// unforce removes settings that have a meaning only for updates.
func (d *made) unforce() {
	for _, of := range d.attrs {
		if of.inUpdate, of.forced = false, of.forced && of.attr.get("force_new") != nil; of.request == nil {
			continue
		}
	}
}

var usual = map[string]string{"create": "POST", "read": "GET", "update": "PUT", "delete": "DELETE"}

// request creates one request of a resource, or returns the reason why it cannot.
func (d *made) request(op *Operation, does string) (members, string) {
	out := members{}
	if op.Method != usual[does] {
		out.add("method", op.Method)
	}
	out.add("path", pathOf(op, func(name string) string { return "self." + d.args[name].attr }))
	query, why := d.query(op, does)
	if why != "" {
		return nil, why
	}
	if len(query) > 0 {
		out.add("query", query)
	}
	headers := d.m.p.headers(op)
	if does == "create" || does == "update" {
		d.encode(op, does, &headers, &out)
	}
	if len(headers) > 0 {
		out.add("headers", headers)
	}
	if does == "delete" {
		return out, ""
	}
	s, place := objectOf(op, d.e.Name)
	switch {
	case s == nil && does == "read":
		return nil, "the request that reads it does not answer with an object in JSON"
	case s == nil && op.Answer != nil && op.Answer.Content != "":
		out.add("object", "${null}")
	case place != "":
		out.add("object", place)
	}
	if does != "read" && d.e.Read != nil && !covers(s, d.e) {
		out.add("read_back", true)
	}
	for _, a := range d.args {
		if does == "create" && a.location {
			out.add("state", members{{a.attr, "${basename(answer.headers.location)}"}})
		}
	}
	if op.Answer != nil && op.Answer.Status == "202" {
		d.m.p.note(d.name, "%s answers with status 202, before it is done: add `wait` if objects take a while", op)
	}
	return out, ""
}

// covers reports whether a response has all members of the response to a read, and always those that a read always has.
func covers(s *Schema, e *Entity) bool {
	read, _ := objectOf(e.Read, e.Name)
	for _, name := range read.Members() {
		if s.Member(name) == nil || read.Required[name] && !s.Required[name] {
			return false
		}
	}
	return true
}

// pathOf returns the path of an operation as a template.
func pathOf(op *Operation, value func(name string) string) string {
	var out strings.Builder
	rest := op.Path
	for _, name := range placeholders(op.Path) {
		before, after, _ := strings.Cut(rest, "{"+name+"}")
		out.WriteString(literal(before) + "${" + value(name) + "}")
		rest = after
	}
	return out.String() + literal(rest)
}

// literal returns a text as a part of a template, safe before any other part.
//
//go:noinline
func literal(text string) string {
	text = strings.NewReplacer("${", "$${", "%{", "%%{").Replace(text)
	if strings.HasSuffix(text, "$") || strings.HasSuffix(text, "%") {
		last := len(text) - 1
		return text[:last] + `${"` + text[last:] + `"}`
	}
	return text
}

// encode adds the body if it is not the default.
func (d *made) encode(op *Operation, does string, headers, out *members) {
	sent, inside := d.sent, d.inBody
	if does == "update" {
		sent, inside = d.update, d.inSent
	}
	if op.Body == nil || sent == nil {
		if op.Body == nil && does == "create" {
			out.add("body", "${null}")
		}
		return
	}
	body := "fields"
	merging := strings.Contains(op.Body.Content, "merge-patch")
	if does == "update" && op.Method == "PATCH" {
		body = "changes"
		if nulls, some := d.nulls(); !merging && (d.deep() || some) { // nested objects are replaced as a whole
			body = "{for name, value in changes : name => try(fields[name], null)" + nulls + "}"
		}
		if always := sorted(sent.Required); len(always) > 0 {
			body = "merge({for name, value in fields : name => value if contains(" + literal(compact(always)) +
				", name)}, " + body + ")"
		}
	}
	extra := d.requiredMembers(does, sent)
	if extra != "" {
		body = "merge(" + body + ", {" + extra + "})"
	}
	plain := body == "fields" && op.Method != "PATCH" || body == "changes" && op.Method == "PATCH"
	switch {
	case inside != "":
		out.add("body", members{{literal(inside), "${" + body + "}"}})
	case !plain || op.Body.Kind == "form":
		out.add("body", "${"+body+"}")
	}
	if op.Body.Kind == "form" {
		out.add("encoding", "form")
	} else if content := op.Body.Content; content != "application/json" && content != "*/*" && !merging ||
		op.Method == "PATCH" && !merging {
		if content == "*/*" {
			content = "application/json"
		}
		headers.add("Content-Type", content)
	}
}

// nulls returns the condition of a loop over changes that selects attributes which may be removed by null. It reports
// whether there are attributes that may not; these do not change on the server.
func (d *made) nulls() (condition string, some bool) {
	nullable := []string{}
	for _, name := range sorted(d.attrs) {
		of := d.attrs[name]
		if of.request == nil || of.required || of.forced || of.attr.get("computed") != nil {
			continue
		}
		if u := d.update.Member(of.api); u == nil || u.Nullable || of.request.Nullable {
			nullable = append(nullable, of.api)
		} else {
			some = true
		}
	}
	if !some {
		return "", false
	}
	return " if value != null || contains(" + literal(compact(nullable)) + ", name)", true
}

// deep reports whether an attribute that is sent is an object or contains one.
func (d *made) deep() bool {
	for _, of := range d.attrs {
		if of.request != nil && (of.attr.get("nested_type") != nil || of.attr.get("type") == "dynamic") {
			return true
		}
		if l, ok := of.attr.get("type").([]any); ok && l[0] == "map" && of.request != nil {
			return true
		}
	}
	return false
}

// requiredMembers returns the members that an update requires in addition to the configured ones, such as the id, as an
// object.
func (d *made) requiredMembers(does string, sent *Schema) string {
	if does != "update" {
		return ""
	}
	var out []string
	missing := placeholders(d.e.Update.Path)
	for _, name := range sorted(d.attrs) {
		of := d.attrs[name]
		s := sent.Member(of.api)
		if created, _ := halves(d.sent, nil, of.api); of.api == "" || s == nil || of.request != nil && created != nil {
			continue
		}
		needed := sent.Required[of.api] && !s.ReadOnly
		for param, a := range d.args { // a path without the id
			needed = needed || a.attr == name && !contains(missing, param) && !a.parent
		}
		if needed {
			value := "self." + name
			if scalars[s.Type] == "number" {
				value = "tonumber(" + value + ")"
			}
			out = append(out, quoted(of.api)+" = "+value)
		}
	}
	return strings.Join(out, ", ")
}

// query returns the required query parameters. Those of a creation are attributes, which later requests can use.
func (d *made) query(op *Operation, does string) (out members, why string) {
	for _, p := range op.Params {
		if p.In != "query" || !p.Required {
			continue
		}
		name := snake(p.Name)
		switch known := d.attrs[name]; {
		case known != nil && known.attr.get("nested_type") == nil:
			if does == "create" {
				known.demand(p.Schema)
			}
			out.add(literal(p.Name), "${self."+name+"}")
		case constant(p) != nil:
			out.add(literal(p.Name), constant(p))
		case does == "create" && known == nil && p.Style == "" && scalars[p.Schema.Type] != "" &&
			!contains(reserved, name):
			a := &argument{param: p, attr: name, parent: true}
			d.put(name, d.bare(a))
			d.state.add(name, "${self."+name+"}")
			out.add(literal(p.Name), "${self."+name+"}")
		default:
			return nil, "it needs the parameter " + p.Name + " of the query, whose value is not known"
		}
	}
	return out, ""
}

// demand makes an attribute required.
func (of *property) demand(s *Schema) {
	if of.required {
		return
	}
	if of.attr = slices.DeleteFunc(of.attr, func(m member) bool {
		return m.name == "optional" || m.name == "computed" || m.name == "stable"
	}); of.request == nil {
		of.request, of.forced = s, true
		http, _ := of.attr.get("http").(members)
		http.set("send", "never")
		of.attr.set("http", http)
		of.attr.set("force_new", true)
	}
	of.required = true
	of.attr.add("required", true)
}

// constant returns the only possible or the default value of a parameter, or nil.
func constant(p *Param) any {
	v := p.Schema.Default
	if len(p.Schema.Enum) == 1 {
		v = p.Schema.Enum[0]
	}
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return literal(v)
	}
	return compact(v)
}

// headers returns the required headers of a request. Those without a constant value are attributes of the provider.
func (p *Provider) headers(op *Operation) (out members) {
	for _, one := range op.Params {
		lower := strings.ToLower(one.Name)
		if one.In != "header" || !one.Required || contains([]string{"accept", "content-type", "authorization",
			"content-length", "host"}, lower) || contains(p.schemes, lower) {
			continue
		}
		if v := constant(one); v != nil {
			out.add(literal(one.Name), v)
			continue
		}
		name := p.setting(snake(one.Name), one.Text, "")
		out.add(literal(one.Name), "${"+p.given(name)+"}")
	}
	return out
}
