package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Sample returns the value of a path parameter for the initial object of the mock.
func Sample(p *Param) string {
	simple := *p.Schema
	if scalars[simple.Type] == "" {
		simple.Type = "string"
	}
	simple.Example, simple.Default = nil, nil
	return textOf(seeded("sample", p.Name).value(&simple))
}

func textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}

// act performs the operation of a request on objects.
func (m *Mock) act(r *route, params map[string]string, req *http.Request, given any) (any, map[string]string,
	*refusal) {
	if r.entity == nil {
		return m.made(r.op, req), nil, nil
	}
	e := r.entity
	var sent map[string]any
	if given != nil {
		sent, _ = given.(map[string]any)
		if _, inside, _ := sentBy(r.op, e.Name); inside != "" {
			sent, _ = sent[inside].(map[string]any)
		}
	}
	if r.does == "list" {
		return m.page(r, params, req)
	}
	if r.does == "create" && r.op.Method == http.MethodPost {
		o := m.create(e, params, sent)
		headers := map[string]string{"Location": strings.TrimSuffix(req.URL.Path, "/") + "/" + o.last()}
		return m.answer(r.op, o, req), headers, nil
	}
	o, no := m.change(r, params, sent)
	if no != nil {
		return nil, nil, no
	}
	return m.answer(r.op, o, req), nil, nil
}

// change reads, replaces, changes or deletes one object.
func (m *Mock) change(r *route, params map[string]string, sent map[string]any) (*kept, *refusal) {
	e, key := r.entity, keyOf(r.entity, params)
	if r.does == "update" && len(placeholders(r.op.Path)) < len(placeholders(itemOf(e).Path)) {
		for _, name := range e.IDs() { // the id is in the body
			params[name] = textOf(sent[memberFor(r.op.Body.Schema, name, e.Name)])
		}
		key = keyOf(e, params)
	}
	o := m.objects[key]
	if o == nil && !m.gone[key] && isSample(itemOf(e), params) {
		o = m.sample(e, params)
		m.objects[key] = o
	}
	switch {
	case o == nil && r.op.Method == http.MethodPut && e.Create == r.op:
		o = m.sample(e, params)
		m.objects[key] = o
	case o == nil:
		return nil, refuse(http.StatusNotFound, "there is no %s %s", e.Name, key)
	}
	switch r.does {
	case "delete":
		delete(m.objects, key)
		m.gone[key] = true
	case "create", "update":
		o.change(r.op, sent)
	}
	return o, nil
}

// itemOf returns the operation with the path of one object.
func itemOf(e *Entity) *Operation {
	var best *Operation
	for _, op := range []*Operation{e.Read, e.Delete, e.Update} {
		if op != nil && (best == nil || len(placeholders(op.Path)) > len(placeholders(best.Path))) {
			best = op
		}
	}
	return best
}

func keyOf(e *Entity, params map[string]string) string {
	parts := []string{e.Name}
	for _, name := range placeholders(itemOf(e).Path) {
		parts = append(parts, params[name])
	}
	return strings.Join(parts, "\x00")
}

func isSample(op *Operation, params map[string]string) bool {
	for _, name := range placeholders(op.Path) {
		if params[name] != Sample(op.param("path", name)) {
			return false
		}
	}
	return true
}

// last returns the last segment of the object's path.
func (o *kept) last() string {
	all := placeholders(itemOf(o.entity).Path)
	if len(all) == 0 {
		return ""
	}
	return o.params[all[len(all)-1]]
}

// create creates an object with new ids.
func (m *Mock) create(e *Entity, params map[string]string, sent map[string]any) *kept {
	o := &kept{entity: e, params: maps.Clone(params), values: maps.Clone(sent),
		chosen: map[string]any{}}
	if o.values == nil {
		o.values = map[string]any{}
	}
	created, _ := objectOf(e.Create, e.Name)
	input, _, _ := sentBy(e.Create, e.Name)
	for _, name := range e.IDs() {
		param := itemOf(e).param("path", name)
		hint := either(text(param.Hints[hintPrefix+"match"]), name)
		found := memberFor(created, hint, e.Name)
		if found == "" {
			found = memberFor(input, name, e.Name)
		}
		m.next++
		id := any(json.Number(strconv.Itoa(1000 + m.next)))
		if s := created.Member(found); s == nil && param.Schema.Type == "string" || s != nil && s.Type == "string" {
			id = unique(s, param.Schema, m.next)
		}
		if v, has := o.values[found]; has && v != nil {
			id = v
		} else if found != "" {
			o.values[found] = id
		}
		o.params[name] = textOf(id)
	}
	m.objects[keyOf(e, o.params)] = o
	return o
}

// unique returns a value of two schemas that is different for each n, if their patterns permit one.
func unique(s, also *Schema, n int) any {
	for _, v := range []string{"id-" + itoa(n), itoa(n), fmt.Sprintf("11111111-0000-4000-8000-%012d", n),
		fmt.Sprintf("%d@example.com", n), "id" + itoa(n)} {
		if s.Check(v, false) == "" && checkText(also, v) == "" {
			return v
		}
	}
	g := seeded("unique", itoa(n))
	if s == nil || also.Limits["pattern"] != nil {
		s = also
	}
	return g.value(s)
}

// sample creates the initial object.
func (m *Mock) sample(e *Entity, params map[string]string) *kept {
	o := &kept{entity: e, params: maps.Clone(params), values: map[string]any{}, chosen: map[string]any{}}
	created, _ := objectOf(e.Read, e.Name)
	for name, value := range params {
		param := itemOf(e).param("path", name)
		if found := memberFor(created, either(text(param.Hints[hintPrefix+"match"]), name), e.Name); found != "" &&
			contains(e.IDs(), name) {
			if v, why := fromText(created.Member(found), value); why == "" {
				o.values[found] = v
			}
		}
	}
	return o
}

// change replaces or merges the sent values.
func (o *kept) change(op *Operation, sent map[string]any) {
	if op.Method == http.MethodPut {
		ids := map[string]any{}
		answered, _ := objectOf(o.entity.Read, o.entity.Name)
		for _, name := range o.entity.IDs() {
			if found := memberFor(answered, name, o.entity.Name); o.values[found] != nil {
				ids[found] = o.values[found]
			}
		}
		taken, _, _ := sentBy(op, o.entity.Name)
		maps.DeleteFunc(o.values, func(name string, _ any) bool {
			s := taken.Member(name)
			return s != nil && !s.ReadOnly
		})
		fill(o.values, sent)
		fill(o.values, ids)
		return
	}
	patch(o.values, sent, op.Body != nil && strings.Contains(op.Body.Content, "merge-patch"))
}

func patch(to, from map[string]any, deep bool) {
	for name, v := range from {
		old, isObject := to[name].(map[string]any)
		inner, also := v.(map[string]any)
		switch {
		case v == nil:
			delete(to, name)
		case deep && isObject && also:
			patch(old, inner, true)
		default:
			to[name] = v
		}
	}
}

// answer returns the body of a response about an object, or nil if it has none.
func (m *Mock) answer(op *Operation, o *kept, req *http.Request) any {
	if op.Answer == nil || op.Answer.Schema == nil {
		return nil
	}
	whole, _ := op.Answer.Schema.united()
	name := inEnvelope(whole, o.entity.Name)
	if name == "" && whole.Type != "object" || op.Method == http.MethodDelete {
		return m.made(op, req)
	}
	s, _ := objectOf(op, o.entity.Name)
	shown := m.shown(s, o, op != o.entity.Read)
	if name == "" {
		return shown
	}
	out, _ := seeded("envelope", op.Path).value(whole).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	out[name] = shown
	return out
}

// settle chooses the values of the server for an object, so that all responses about it agree. Of a member that several
// responses have, the value fits all of them if there is such a value.
func (o *kept) settle() {
	if o.settled {
		return
	}
	o.settled = true
	var all []*Schema
	for _, op := range []*Operation{o.entity.Read, o.entity.Create, o.entity.Update} {
		if s, _ := objectOf(op, o.entity.Name); s != nil {
			all = append(all, s)
		}
	}
	for _, s := range all {
		for _, name := range s.Members() {
			if _, has := o.chosen[name]; !has && o.tells(s, name) {
				o.chosen[name] = o.agreed(name, all)
			}
		}
	}
}

// tells reports whether responses always have a member.
func (o *kept) tells(s *Schema, name string) bool {
	return s.Required[name] || s.Member(name).ReadOnly || snake(name) == "id"
}

const mostTries = 20 // to find a value that several schemas allow

// agreed returns a value of a member for all of the responses that have it, or else for the first one.
func (o *kept) agreed(name string, all []*Schema) (first any) {
	for i := range mostTries {
		for _, s := range all {
			of := s.Member(name)
			if of == nil {
				continue
			}
			words := []string{"chosen", o.last(), name}
			if i > 0 {
				words = append(words, itoa(i))
			}
			v := seeded(words...).value(of)
			if !slices.ContainsFunc(all, func(other *Schema) bool {
				of := other.Member(name)
				return of != nil && of.Check(v, false) != ""
			}) {
				return v
			}
			if first == nil {
				first = v
			}
		}
	}
	return first
}

// shown returns an object as described by a response schema: the sent values, and deterministic values of the server.
// A brief response omits optional members that a response to a read has.
func (m *Mock) shown(s *Schema, o *kept, brief bool) map[string]any {
	out := map[string]any{}
	o.settle()
	whole, _ := objectOf(o.entity.Read, o.entity.Name)
	for _, name := range s.Members() {
		of := s.Member(name)
		if of.WriteOnly {
			continue
		}
		if v, has := o.values[name]; has {
			if v = completed(of, v, o.last()+name); of.Check(v, false) == "" {
				out[name] = v
				continue
			}
		}
		v, has := o.chosen[name]
		has = has && of.Check(v, false) == ""
		switch always := o.tells(s, name); {
		case has && (always || !brief || !whole.required()[name]):
			out[name] = v
		case always:
			out[name] = seeded("chosen", o.last(), name).value(of)
		}
	}
	for _, name := range o.entity.IDs() {
		found := memberFor(s, name, o.entity.Name)
		if _, has := out[found]; found != "" && !has {
			if v, why := fromText(s.Member(found), o.params[name]); why == "" {
				out[found] = v
			}
		}
	}
	return out
}

// completed adds the values of the server to a nested object.
func completed(s *Schema, v any, seed string) any {
	switch v := v.(type) {
	case map[string]any:
		if s.Type != "object" || len(s.choices) > 0 {
			return v
		}
		out := maps.Clone(v)
		maps.DeleteFunc(out, func(name string, _ any) bool {
			return len(s.members) > 0 && s.Member(name) == nil && s.extra == nil && !s.Open
		})
		for _, name := range s.Members() {
			of := s.Member(name)
			inner, has := out[name]
			switch {
			case of.WriteOnly:
				delete(out, name)
			case has:
				out[name] = completed(of, inner, seed+"."+name)
			case s.Required[name] || of.ReadOnly:
				out[name] = seeded("chosen", seed, name).value(of)
			}
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			if items := s.Items(); items != nil {
				out[i] = completed(items, out[i], seed+itoa(i))
			}
		}
		return out
	}
	return v
}

// made returns a response generated from its schema alone.
func (m *Mock) made(op *Operation, req *http.Request) any {
	if op.Answer == nil || op.Answer.Schema == nil {
		return nil
	}
	g := seeded("made", op.String())
	g.full = true
	if items, place := itemsOf(op, "", ""); items != nil && pages(op, "") != nil && req != nil {
		from, _ := window(pages(op, ""), req, 1)
		return m.around(op, place, []any{g.value(items)}[min(from, 1):])
	}
	return g.value(op.Answer.Schema)
}

// pageSize is the number of objects per page.
const pageSize = 2

// page returns the response with objects of a collection.
func (m *Mock) page(r *route, params map[string]string, req *http.Request) (any, map[string]string, *refusal) {
	items, place := itemsOf(r.op, r.entity.Name, r.entity.Plural)
	if items == nil {
		return m.made(r.op, req), nil, nil
	}
	items, _ = items.united()
	var all []any
	for _, key := range sorted(m.objects) {
		o := m.objects[key]
		if o.entity != r.entity || slices.ContainsFunc(placeholders(r.op.Path), func(name string) bool {
			return o.params[name] != params[name]
		}) {
			continue
		}
		if items.Type == "object" {
			all = append(all, m.shown(items, o, false))
		}
	}
	from, to := window(pages(r.op, ""), req, len(all))
	return m.around(r.op, place, append([]any{}, all[from:to]...)), nil, nil
}

// window returns the range of items for the requested page.
func window(how members, req *http.Request, all int) (from, to int) {
	to = all
	asked, err := strconv.Atoi(req.URL.Query().Get(text(how.get("parameter"))))
	first, has := how.get("first").(int)
	by := text(how.get("by"))
	if by == "" {
		return 0, all
	}
	if by == "page" && !has {
		first = 1
	}
	if err == nil {
		from = asked - first
	}
	if by == "page" {
		from *= pageSize
	}
	from = min(max(from, 0), all)
	return from, min(from+pageSize, all)
}

// around puts the items of a list into the response, which otherwise has only required members.
func (m *Mock) around(op *Operation, place []string, items []any) any {
	if len(place) == 0 {
		return items
	}
	out, _ := seeded("page", op.Path).value(op.Answer.Schema).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	blank(out)
	in := out
	for _, name := range place[:len(place)-1] {
		inner, ok := in[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
		}
		in[name], in = inner, inner
	}
	in[place[len(place)-1]] = items
	return out
}

// blank clears strings, so that none of them refers to a next page.
func blank(v map[string]any) {
	for name, inner := range v {
		switch inner := inner.(type) {
		case string:
			v[name] = ""
		case map[string]any:
			blank(inner)
		}
	}
}
