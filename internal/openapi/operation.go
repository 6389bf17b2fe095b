package openapi

import (
	"slices"
	"sort"
	"strings"
)

// Operation is an operation of a document.
type Operation struct {
	Method, Path string
	ID           string
	Summary      string
	Params       []*Param
	Body         *Body   // nil if there is none
	Answer       *Answer // the response to a successful request; nil if the document has none
	Error        *Schema // of a failure; nil if the document has none
	Hints        map[string]any
	Security     []requirement
	// Elsewhere means that the operation has another server than most.
	Elsewhere bool

	server  map[string]any // its own; nil for that of the document
	written string         // the path in the document, if Path has other names of parameters
}

// String returns the name of an operation, such as "GET /pets".
func (o *Operation) String() string { return o.Method + " " + either(o.written, o.Path) }

// requirement is the set of schemes that one request needs.
type requirement map[string][]string

// Param is a parameter.
type Param struct {
	Name, In string
	Required bool
	Schema   *Schema
	Text     string // its description
	Hints    map[string]any
	// Style is the notation of lists; "" means one parameter per element.
	Style string
}

// Body is the body of a request.
type Body struct {
	Kind     string // json or form; "" for all others
	Content  string // the content type
	Schema   *Schema
	Required bool
}

// Answer is the response to a successful request.
type Answer struct {
	Status  string
	Content string  // "" if there is no body
	Schema  *Schema // of a JSON body; nil if there is none
	Headers map[string]bool
}

var methods = []string{"get", "put", "post", "delete", "patch", "options", "head", "trace"}

// read reads everything except schemas.
func (d *Document) read(top node) {
	info := d.object(top.v["info"], top.in, "#/info").v
	d.Title, d.Version = text(info["title"]), text(info["version"])
	if servers := list(top.v["servers"]); len(servers) > 0 {
		d.server = d.object(servers[0], top.in, "#/servers/0").v
	}
	d.security = requirements(top.v["security"])
	components := d.object(top.v["components"], top.in, "#/components")
	d.schemes = map[string]map[string]any{}
	for name, v := range d.object(components.v["securitySchemes"], components.in, "#/components/securitySchemes").v {
		d.schemes[name] = d.object(v, components.in, "#/components/securitySchemes/"+name).v
	}
	paths := d.object(top.v["paths"], top.in, "#/paths")
	for _, name := range sorted(paths.v) {
		if !strings.HasPrefix(name, "/") {
			continue
		}
		where := "#/paths/" + strings.ReplaceAll(name, "/", "~1")
		item := d.object(paths.v[name], paths.in, where)
		for _, method := range methods {
			op := d.object(item.v[method], item.in, where+"/"+method)
			if op.v == nil {
				continue
			}
			if len(d.Operations) == maxOperations {
				d.failf("The document has more than %d operations", maxOperations)
				return
			}
			d.Operations = append(d.Operations, d.operation(name, method, item, op, where+"/"+method))
		}
	}
	d.commonServer()
}

// commonServer makes the most common server of operations that of the document. Operations with other servers are
// marked Elsewhere.
func (d *Document) commonServer() {
	times := map[string]int{}
	for _, o := range d.Operations {
		if o.server != nil {
			times[text(o.server["url"])]++
		}
	}
	rest := len(d.Operations)
	for _, n := range times {
		rest -= n
	}
	for _, o := range d.Operations {
		if o.server != nil && times[text(o.server["url"])] > rest {
			d.server, rest = o.server, times[text(o.server["url"])]
		}
	}
	for _, o := range d.Operations {
		own := d.server
		if o.server != nil {
			own = o.server
		}
		o.Elsewhere = o.server != nil && text(own["url"]) != text(d.server["url"]) ||
			o.server == nil && d.moved()
	}
}

// moved reports whether the server of the document differs from that at its top level.
func (d *Document) moved() bool {
	top, _ := d.root.root.(map[string]any)
	servers := list(top["servers"])
	first := map[string]any{}
	if len(servers) > 0 {
		first, _ = servers[0].(map[string]any)
	}
	return text(first["url"]) != text(d.server["url"])
}

func requirements(v any) (out []requirement) {
	for _, one := range list(v) {
		r := requirement{}
		m, _ := one.(map[string]any)
		for name, scopes := range m {
			r[name] = []string{}
			for _, scope := range list(scopes) {
				r[name] = append(r[name], text(scope))
			}
		}
		out = append(out, r)
	}
	return out
}

func (d *Document) operation(name, method string, item, op node, where string) *Operation {
	o := &Operation{Method: strings.ToUpper(method), Path: name, ID: text(op.v["operationId"]),
		Summary: either(text(op.v["summary"]), text(op.v["description"])), Hints: map[string]any{},
		Security: d.security}
	for _, of := range []node{item, op} {
		if own := list(of.v["servers"]); len(own) > 0 {
			o.server = d.object(own[0], of.in, where+"/servers").v
		}
	}
	for name, v := range op.v {
		if strings.HasPrefix(name, "x-") {
			o.Hints[name] = v
		}
	}
	if _, ok := op.v["security"]; ok {
		o.Security = requirements(op.v["security"])
	}
	for _, of := range []node{item, op} {
		for _, v := range list(of.v["parameters"]) {
			p := d.param(v, of.in, where+"/parameters")
			if p == nil {
				continue
			}
			o.Params = append(slices.DeleteFunc(o.Params, func(q *Param) bool {
				return q.Name == p.Name && q.In == p.In
			}), p)
		}
	}
	for _, p := range placeholders(name) { // including those that the document does not declare
		if o.param("path", p) == nil {
			o.Params = append(o.Params, &Param{Name: p, In: "path", Required: true, Schema: &Schema{Type: "string",
				doc: d}})
		}
	}
	if body := d.object(op.v["requestBody"], op.in, where+"/requestBody"); body.v != nil {
		o.Body = d.body(body, where+"/requestBody")
	}
	d.answers(o, d.object(op.v["responses"], op.in, where+"/responses"), where+"/responses")
	return o
}

func (o *Operation) param(in, name string) *Param {
	for _, p := range o.Params {
		if p.In == in && p.Name == name {
			return p
		}
	}
	return nil
}

// placeholders returns the names of the parameters in a path, in order.
func placeholders(path string) (names []string) {
	for {
		_, rest, ok := strings.Cut(path, "{")
		if !ok {
			return names
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return names
		}
		names, path = append(names, name), after
	}
}

func (d *Document) param(v any, in *source, where string) *Param {
	n := d.object(v, in, where)
	if n.v == nil || text(n.v["name"]) == "" {
		return nil
	}
	p := &Param{Name: text(n.v["name"]), In: text(n.v["in"]), Required: flag(n.v["required"]), Hints: map[string]any{},
		Text: text(n.v["description"]), Schema: &Schema{Type: "string", doc: d}}
	for name, v := range n.v {
		if strings.HasPrefix(name, "x-") {
			p.Hints[name] = v
		}
	}
	if given, ok := n.v["schema"]; ok {
		p.Schema = d.schema(part{given, n.in}, where+"/"+p.Name)
	} else if n.v["content"] != nil {
		p.Style = "content"
	}
	fill(p.Hints, p.Schema.Hints)
	style, explode := text(n.v["style"]), true
	if given, ok := n.v["explode"].(bool); ok {
		explode = given
	}
	if p.Schema.Type == "array" && !explode || style != "" && style != "form" && style != "simple" {
		p.Style = either(style, "form, not exploded")
	}
	return p
}

// isJSON reports whether a content type is JSON.
func isJSON(content string) bool {
	kind, _, _ := strings.Cut(content, ";")
	kind = strings.TrimSpace(kind)
	return kind == "application/json" || strings.HasSuffix(kind, "+json") || kind == "*/*" || kind == "text/json"
}

const formContent = "application/x-www-form-urlencoded"

func (d *Document) body(n node, where string) *Body {
	content := d.object(n.v["content"], n.in, where+"/content")
	b := &Body{Required: flag(n.v["required"])}
	kinds := sorted(content.v)
	sort.SliceStable(kinds, func(i, j int) bool { return rank(kinds[i]) < rank(kinds[j]) })
	for i, kind := range kinds {
		media := d.object(content.v[kind], content.in, where+"/content")
		use := isJSON(kind) && !strings.Contains(kind, "json-patch") || kind == formContent
		if !use && i > 0 {
			continue
		}
		if b.Content, b.Kind = kind, ""; use {
			if b.Kind = "json"; kind == formContent {
				b.Kind = "form"
			}
		}
		if given, ok := media.v["schema"]; ok {
			b.Schema = d.schema(part{given, media.in}, where)
		}
		if use {
			return b
		}
	}
	return b
}

// rank orders content types by suitability.
func rank(content string) int {
	switch {
	case content == "application/json":
		return 0
	case strings.Contains(content, "merge-patch"):
		return 1
	case strings.Contains(content, "json-patch"):
		return 4
	case isJSON(content):
		return 2
	case content == formContent:
		return 3
	}
	return 5
}

// answers reads the responses for success and failure.
func (d *Document) answers(o *Operation, n node, where string) {
	for _, status := range sorted(n.v) {
		if strings.HasPrefix(status, "x-") {
			continue
		}
		v := d.object(n.v[status], n.in, where+"/"+status)
		a := &Answer{Status: status, Headers: map[string]bool{}}
		for name := range d.object(v.v["headers"], v.in, where+"/"+status+"/headers").v {
			a.Headers[strings.ToLower(name)] = true
		}
		content := d.object(v.v["content"], v.in, where+"/"+status+"/content")
		for _, kind := range sorted(content.v) {
			if a.Content == "" || rank(kind) < rank(a.Content) {
				a.Content = kind
			}
		}
		media := d.object(content.v[a.Content], content.in, where+"/"+status)
		if given, ok := media.v["schema"]; ok && isJSON(a.Content) {
			a.Schema = d.schema(part{given, media.in}, where+"/"+status)
		}
		success := strings.HasPrefix(status, "2")
		switch {
		case success && (o.Answer == nil || o.Answer.Schema == nil && a.Schema != nil):
			o.Answer = a
		case !success && !strings.HasPrefix(status, "3") && o.Error == nil && a.Schema != nil:
			o.Error = a.Schema
		}
	}
}
