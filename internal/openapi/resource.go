package openapi

import (
	"fmt"
	"maps"
	"sort"
	"strings"
)

// made is a resource under construction.
type made struct {
	e    *Entity
	name string // of the type
	m    *mapper
	// args are the attributes for parameters of paths and of the creation's query, by parameter.
	args map[string]*argument
	// attrs are all attributes by name; order has the names.
	attrs map[string]*property
	order []string

	sent           *Schema // the object of a creation
	update         *Schema // the object of an update, or nil
	answer         *Schema // the object in responses
	inBody, inSent string  // the members of the bodies that contain the object
	http, state    members
	by             string // the form of an import id: "{org}/{id}"
	needed         []string
}

// argument is a parameter of a path or query as an attribute.
type argument struct {
	param *Param
	attr  string
	// found is the response member with the value; parent means that the creation requires it.
	found    string
	parent   bool
	location bool
}

// property is an attribute of a resource.
type property struct {
	api      string  // the member, or ""
	request  *Schema // nil: not in the creation
	required bool
	inUpdate bool
	answer   *Schema // nil: not in responses
	forced   bool
	attr     members
}

// resource creates the resource of an entity, or returns the reason why it cannot.
func (p *Provider) resource(e *Entity) (*made, string) {
	d := &made{e: e, name: p.Name + "_" + e.Name, args: map[string]*argument{}, attrs: map[string]*property{}}
	d.m = p.mapper(d.name)
	if why := d.bodies(); why != "" {
		return nil, why
	}
	for _, op := range []*Operation{e.Read, e.Create, e.Update} {
		s, _ := objectOf(op, e.Name)
		if d.answer == nil {
			d.answer = s
		} else if s != nil {
			joined := *d.answer
			joined.members, joined.Required = maps.Clone(s.members), maps.Clone(s.Required)
			fill(joined.members, d.answer.members)
			fill(joined.Required, d.answer.Required)
			d.answer = &joined
		}
	}
	if why := d.arguments(); why != "" {
		return nil, why
	}
	d.properties()
	if why := d.requests(); why != "" {
		return nil, why
	}
	if len(d.attrs) == 0 {
		return nil, "the document describes no attributes of it"
	}
	d.imports()
	p.add(d)
	return d, ""
}

// bodies finds the request bodies.
func (d *made) bodies() string {
	e := d.e
	var why string
	if d.sent, d.inBody, why = sentBy(e.Create, e.Name); why != "" {
		return why
	}
	for _, name := range sorted(d.sent.required()) {
		if m := d.sent.Member(name); m != nil && e.Create.Body.Kind == "form" && !m.inForm() {
			return "its body is a form, which cannot have the object " + name
		}
	}
	if e.Update == nil {
		return ""
	}
	if d.update, d.inSent, why = sentBy(e.Update, e.Name); why != "" || d.update == nil {
		d.drop(&e.Update, either(why, "it has no body"))
	}
	return ""
}

// required returns the names of the required members.
func (s *Schema) required() map[string]bool {
	if s == nil {
		return nil
	}
	return s.Required
}

// inForm reports whether a value can be a form field: a string or a list of strings.
func (s *Schema) inForm() bool {
	return scalars[s.Type] != "" || s.Type == "array" && s.Items() != nil && scalars[s.Items().Type] != ""
}

// drop removes an operation from the resource and lists it in the report.
func (d *made) drop(op **Operation, why string) {
	if *op != nil && *op != d.e.Create {
		d.m.p.list(*op, why)
	}
	*op = nil
}

// sentBy returns the schema of the object that an operation sends, and the member of the body that contains it. The
// schema is nil if there is no body.
func sentBy(op *Operation, entity string) (s *Schema, member, why string) {
	switch {
	case op.Body == nil:
		return nil, "", ""
	case op.Body.Kind == "":
		return nil, "", "its body is " + either(op.Body.Content, "of no type") + ", neither JSON nor a form"
	case op.Body.Schema == nil:
		return nil, "", "the document does not describe its body"
	}
	s, _ = op.Body.Schema.united()
	if s.Type != "object" {
		return nil, "", "its body is not an object: " + either(s.Type, "it may be anything")
	}
	if len(s.members) == 1 {
		if member = inEnvelope(s, entity); member != "" {
			s, _ = s.Member(member).united()
		}
	}
	return s, member, ""
}

// arguments creates attributes for path parameters.
func (d *made) arguments() string {
	e := d.e
	ids := e.IDs()
	for _, does := range []string{"read", "update", "delete", "create"} {
		op := e.All()[does]
		if op == nil {
			continue
		}
		for _, name := range placeholders(op.Path) {
			param := op.param("path", name)
			if d.args[name] == nil {
				d.args[name] = &argument{param: param, parent: !contains(ids, name)}
			} else if scalars[param.Schema.Type] == "number" { // all requests must accept the value
				d.args[name].param = param
			}
		}
	}
	created, _ := objectOf(e.Create, e.Name)
	taken := map[string]bool{}
	for _, name := range sorted(d.args) {
		a := d.args[name]
		hint := text(a.param.Hints[hintPrefix+"match"])
		of := d.sent
		if a.parent { // only exactly the same member is equivalent
			a.attr = snake(either(hint, name))
			for _, member := range d.sent.Members() {
				if r, _ := halves(d.sent, nil, member); snake(member) == a.attr && r != nil && scalars[r.Type] != "" {
					a.found = member
				}
			}
			continue
		}
		natural := e.Create.Method != "POST"
		if a.found = memberFor(created, either(hint, name), e.Name); a.found == "" && natural {
			a.found = memberFor(d.answer, either(hint, name), e.Name)
		}
		if a.found == "" {
			a.found = memberFor(of, name, e.Name)
			if m := of.Member(a.found); m == nil || m.ReadOnly || !of.Required[a.found] {
				a.found = ""
			}
		}
		if taken[a.found] {
			a.found = ""
		}
		taken[a.found] = a.found != ""
		a.attr = snake(either(a.found, name))
		switch {
		case a.found != "", natural:
		case e.Create.Answer != nil && e.Create.Answer.Headers["location"] && len(ids) == 1:
			a.attr, a.location = "id", true
		case created == nil && e.Create.Answer != nil && e.Create.Answer.Content == "":
			return "its creation answers with nothing that has the " + name
		default:
			return "no answer to its creation has the " + name + " that its path needs"
		}
		a.parent = a.parent || natural
	}
	return ""
}

// called returns a valid attribute name.
func (d *made) called(name string) string {
	if contains(reserved, name) {
		d.m.notef(name, "is a word of the language: the attribute is `%s`", d.e.Name+"_"+name)
		return d.e.Name + "_" + name
	}
	return name
}

// properties creates the attributes.
func (d *made) properties() {
	ofArgument := map[string]*argument{}
	used := names{}
	for _, name := range sorted(d.args) {
		a := d.args[name]
		a.attr = d.called(a.attr)
		for used[a.attr] {
			a.attr = snake(name) + "_" + itoa(len(used)+1)
		}
		used[a.attr] = true
		if ofArgument[a.found] = a; a.found == "" || d.sent.Member(a.found) == nil && d.answer.Member(a.found) == nil {
			d.put(a.attr, d.bare(a))
		}
	}
	delete(ofArgument, "")
	for _, name := range union(d.sent, d.answer) {
		r, a := halves(d.sent, d.answer, name)
		if r != nil && d.e.Create.Body.Kind == "form" && !r.inForm() {
			d.m.notef(snake(name), "cannot be sent: forms have texts and lists of texts only")
			r = nil
		}
		if r == nil && a == nil {
			continue
		}
		if d.m.left--; d.m.left < 0 {
			d.m.p.note(d.name, "has more than %d attributes: the rest is left out, from %s on", mostAttributes, name)
			break
		}
		arg := ofArgument[name]
		called := ""
		if arg != nil {
			called = arg.attr
		} else {
			called = d.called(attributeName(name, r, a))
			if d.isParent(called) {
				d.m.notef(called, "is in answers, too, which are not read: it is a parameter of the path")
				continue
			}
			called = used.take(called)
		}
		d.put(called, d.property(name, called, r, a, arg))
	}
	for _, name := range sorted(d.args) {
		if a := d.args[name]; d.attrs[a.attr] == nil {
			d.put(a.attr, d.bare(a))
		}
	}
	for _, name := range d.update.Members() {
		if r, _ := halves(d.update, nil, name); r != nil && d.sent.Member(name) == nil && !d.isID(name) {
			d.m.notef(snake(name), "can be set by updates only: it is not mapped, except for what answers say of it")
		}
	}
}

// isID reports whether a member of bodies has the value of a path parameter.
func (d *made) isID(name string) bool {
	for _, a := range d.args {
		if a.found == name {
			return true
		}
	}
	return false
}

func (d *made) isParent(attr string) bool {
	for _, a := range d.args {
		if a.parent && a.attr == attr {
			return true
		}
	}
	return false
}

func (d *made) put(name string, of *property) {
	d.attrs[name] = of
	d.order = append(d.order, name)
}

// bare returns the attribute for a parameter that is in no body.
func (d *made) bare(a *argument) *property {
	of := &property{attr: members{{"type", "string"}}, forced: a.parent}
	if a.parent {
		of.required, of.request = true, a.param.Schema
		of.attr.add("required", true)
		of.attr.add("force_new", true)
	} else {
		of.attr.add("computed", true)
		of.attr.add("stable", true)
	}
	if sentence := sentenceOf(either(a.param.Text, a.param.Schema.Description)); sentence != "" {
		of.attr.add("description", sentence)
	}
	if a.parent {
		d.m.checks(&of.attr, &Schema{Type: "string", Enum: a.param.Schema.Enum, Limits: a.param.Schema.Limits,
			Format: a.param.Schema.Format}, shape{typ: "string"}, a.attr)
		of.attr.add("http", members{{"send", "never"}})
	}
	return of
}

// property creates the attribute for a member. arg is the path parameter with the same value, or nil.
func (d *made) property(name, called string, r, a *Schema, arg *argument) *property {
	one := d.m.attribute(r, a, called)
	of := &property{api: name, request: r, answer: a}
	if one.http.get("read") != nil {
		of.answer = nil
	}
	defer func() { of.attr = one.attr }()
	if r == nil {
		if arg != nil && arg.parent { // a name that the user chooses
			of.required, of.forced, of.request = true, true, a
			one.attr.set("type", "string")
			one.attr.add("required", true)
			one.attr.add("force_new", true)
			one.http.add("send", "never")
			d.m.finish(&one, called, name)
			return of
		}
		if one.attr.add("computed", true); arg != nil {
			one.attr.set("type", "string")
			one.attr.add("stable", true)
		}
		d.m.finish(&one, called, name)
		return of
	}
	of.required = d.sent.Required[name] && !hinted(r, "param-optional") || arg != nil
	u, _ := halves(d.update, nil, name)
	if u != nil && !accepts(u, r, 0) {
		d.m.notef(called, "has another form in updates than in creations: a change replaces the object")
		u = nil
	}
	of.inUpdate = u != nil
	of.forced = d.e.Update != nil && (u == nil || arg != nil || hinted(r, "param-force-new"))
	if of.required {
		one.attr.add("required", true)
	} else {
		one.attr.add("optional", true)
		partial := d.e.Update != nil && d.e.Update.Method != "PUT" && !r.Nullable
		// Some attributes of a nested object are never computed. Engines treat such an object as configured, so it
		// would be removed when it is not in the configuration.
		computed := a != nil && one.http.get("read") == nil && one.typ != nil
		if computed && (d.answer.Required[name] || r.Default != nil || partial) || hinted(r, "param-computed") {
			one.attr.add("computed", true)
		}
	}
	if of.forced {
		one.attr.add("force_new", true)
		if u == nil {
			one.http.add("send", "create")
			if one.http.get("read") == nil {
				one.http.add("read", a != nil)
			}
		}
	}
	d.m.checks(&one.attr, r, one.shape, called)
	d.m.finish(&one, called, name)
	return of
}

// accepts reports whether a schema accepts all values of another one, judging by type and structure.
func accepts(s, of *Schema, depth int) bool {
	if s == of || depth > mostNested {
		return true
	}
	if !compatible(of, s, 0) || !compatible(s, of, 0) {
		return false
	}
	for _, name := range of.Members() {
		m := s.Member(name)
		if m == nil && !s.Open && len(s.members) > 0 || m != nil && !accepts(m, of.Member(name), depth+1) {
			return false
		}
	}
	return s.Items() == nil || of.Items() == nil || accepts(s.Items(), of.Items(), depth+1)
}

// imports adds how to find an object by its id.
func (d *made) imports() {
	var attrs, parts []string
	of := d.e.Read
	if of == nil {
		return
	}
	plain := true
	for _, name := range placeholders(of.Path) {
		attr := d.args[name].attr
		if contains(attrs, attr) {
			continue
		}
		attrs, parts = append(attrs, attr), append(parts, "{"+attr+"}")
		plain = plain && d.attrs[attr].attr.get("type") == "string"
	}
	d.by = strings.Join(parts, "/")
	if len(attrs) == 0 {
		return
	}
	d.needed = attrs
	if len(attrs) == 1 && plain {
		d.by = attrs[0]
		return
	}
	state := members{}
	for i, attr := range attrs {
		state.add(attr, fmt.Sprintf("${try(identity.%s, split(\"/\", id)[%d])}", attr, i))
	}
	request := members{{"state", state}}
	if d.attrs["id"] != nil && !contains(attrs, "id") { // only responses contain the identity
		found := members{{"path", pathOf(of, func(name string) string {
			expr := text(state.get(d.args[name].attr))
			return strings.TrimSuffix(strings.TrimPrefix(expr, "${"), "}")
		})}}
		read, _ := d.http.get("read").(members)
		for _, one := range read {
			if one.name == "object" || one.name == "headers" {
				found = append(found, one)
			}
		}
		request = append(found, request...)
	}
	d.http.add("import", request)
}

// add adds the type to the manifest.
func (p *Provider) add(d *made) {
	t := members{}
	description := text(d.e.Create.Hints[hintPrefix+"entity-description"])
	if description = sentenceOf(either(description, d.e.Create.Summary)); description != "" {
		t.add("description", description)
	}
	if len(d.needed) == 1 && d.by == d.needed[0] {
		t.add("import", d.by)
	}
	if len(d.needed) > 0 {
		attrs := members{}
		for _, name := range d.needed {
			attrs.add(name, members{{"type", d.attrs[name].attr.get("type")}, {"required_for_import", true}})
		}
		t.add("identity", members{{"attributes", attrs}})
	} else {
		p.note(d.name, "cannot be imported: no parameter of a path tells objects apart")
	}
	sort.SliceStable(d.order, func(i, j int) bool { return d.attrs[d.order[i]].rank() < d.attrs[d.order[j]].rank() })
	attrs := members{}
	for _, name := range d.order {
		attrs.add(name, d.attrs[name].attr)
	}
	t.add("attributes", attrs)
	t.add("http", d.http)
	p.resources.add(d.name, t)
	p.made = append(p.made, d)
	for _, does := range []string{"create", "read", "update", "delete"} {
		if op := d.e.All()[does]; op != nil {
			p.mapped(op, does+" of the resource `"+d.name+"`")
		}
	}
}

// rank orders attributes: required ones first, computed ones last.
func (p *property) rank() int {
	switch {
	case p.required:
		return 0
	case p.request != nil:
		return 1
	}
	return 2
}
