package openapi

import (
	"slices"
	"strings"
)

// Entity is a kind of object with its operations.
type Entity struct {
	Name string // in snake case, singular
	// Plural is the plural name; equal to Name if the document has no other one.
	Plural                             string
	Create, Read, Update, Delete, List *Operation
	// Hinted means that the document names the entity with a hint.
	Hinted bool
	// words are the segments of the path, for longer names.
	words []string
}

var actions = [...]string{"create", "read", "update", "delete", "list"}

// All returns the operations of an entity by purpose.
func (e *Entity) All() map[string]*Operation {
	out := map[string]*Operation{}
	for i, op := range []*Operation{e.Create, e.Read, e.Update, e.Delete, e.List} {
		if op != nil {
			out[actions[i]] = op
		}
	}
	return out
}

// IDs returns the parameters in the path of one object that are not in the path for its creation.
func (e *Entity) IDs() (names []string) {
	of := e.Read
	for _, op := range []*Operation{e.Delete, e.Update} {
		if of == nil || len(placeholders(of.Path)) == 0 && op != nil {
			of = op
		}
	}
	if of == nil {
		return nil
	}
	var parents []string
	if e.Create != nil && e.Create.Method == "POST" {
		parents = placeholders(e.Create.Path)
	}
	for _, name := range placeholders(of.Path) {
		if !contains(parents, name) {
			names = append(names, name)
		}
	}
	return names
}

// paths are the operations by form of path and method.
type paths map[string]map[string]*Operation

// entities groups the operations of a document. It also returns the remaining operations.
func (d *Document) entities(say *Provider) (list []*Entity, rest []*Operation) {
	taken := map[*Operation]bool{}
	list = d.hinted(say, taken)
	all := paths{}
	for _, op := range d.Operations {
		if taken[op] || op.unusable() != "" {
			continue
		}
		if all[form(op.Path)] == nil {
			all[form(op.Path)] = map[string]*Operation{}
		}
		all[form(op.Path)][op.Method] = op
	}
	for _, at := range sorted(all) {
		for _, e := range all.around(at) {
			e.align()
			for _, op := range e.All() {
				taken[op] = true
			}
			list = append(list, e)
		}
	}
	for _, op := range d.Operations {
		if !taken[op] {
			rest = append(rest, op)
		}
	}
	named(list)
	return list, rest
}

// align renames the parameters in the paths of all operations to those in the path of one object.
func (e *Entity) align() {
	item := itemOf(e)
	names := placeholders(item.Path)
	for _, op := range e.All() {
		if own := placeholders(op.Path); len(own) <= len(names) && strings.HasPrefix(form(item.Path)+"/",
			form(op.Path)+"/") {
			op.rename(own, names[:len(own)])
		}
	}
}

// rename changes the names of parameters in the path. It does nothing if two parameters have the same name.
func (o *Operation) rename(from, to []string) {
	before, after := map[string]bool{}, map[string]bool{}
	for i, name := range from {
		before[name], after[to[i]] = true, true
	}
	if slices.Equal(from, to) || len(before) < len(from) || len(after) < len(to) {
		return
	}
	if o.written == "" {
		o.written = o.Path
	}
	var path strings.Builder
	rest := o.Path
	params := make([]*Param, len(from))
	for i, name := range from {
		before, after, _ := strings.Cut(rest, "{"+name+"}")
		path.WriteString(before + "{" + to[i] + "}")
		rest, params[i] = after, o.param("path", name)
	}
	o.Path = path.String() + rest
	for i, param := range params {
		param.Name = to[i]
	}
}

// around returns the entity whose objects have paths of this form, if there is one.
func (p paths) around(at string) []*Entity {
	here := p[at]
	e := &Entity{Read: here["GET"], Delete: here["DELETE"]}
	collection, isItem := strings.CutSuffix(at, "/{}")
	if !isItem {
		return p.single(at)
	}
	above := p[collection]
	e.Create, e.List = above["POST"], above["GET"]
	switch {
	case here["PATCH"] != nil && here["PATCH"].Body != nil && here["PATCH"].Body.Kind != "":
		e.Update = here["PATCH"]
	case here["PUT"] != nil:
		e.Update = here["PUT"]
	case above["PUT"] != nil && above["PUT"].Body != nil && e.Create != nil:
		e.Update = above["PUT"]
	case here["POST"] != nil && here["POST"].Body != nil && here["POST"].Body.Kind != "" && e.Read != nil:
		e.Update = here["POST"]
	}
	if e.Create == nil && here["PUT"] != nil && (e.Read != nil || e.Delete != nil) {
		e.Create = here["PUT"]
	}
	if e.Create == nil || e.Read == nil && e.Delete == nil && e.Update == nil {
		return nil
	}
	e.words = words(collection)
	return []*Entity{e}
}

// single returns the entity of a path that stands for one object, such as settings.
func (p paths) single(at string) []*Entity {
	here := p[at]
	_, hasItems := p[at+"/{}"]
	if here["PUT"] == nil || here["GET"] == nil || here["POST"] != nil || hasItems {
		return nil
	}
	return []*Entity{{Create: here["PUT"], Read: here["GET"], Update: here["PUT"], Delete: here["DELETE"],
		words: words(at)}}
}

// named sets the names of entities: each is unique and as short as possible.
func named(list []*Entity) {
	short := map[string]int{}
	for _, e := range list {
		if !e.Hinted {
			e.shorten(1)
		}
		short[e.Name]++
	}
	for n := 2; n < 8; n++ {
		again := map[string]int{}
		for _, e := range list {
			if short[e.Name] > 1 && !e.Hinted {
				e.shorten(n)
			}
			again[e.Name]++
		}
		short = again
	}
	used := names{}
	for _, e := range list {
		e.Name = used.take(e.Name)
	}
}

// shorten makes a name of the last n words of the path.
func (e *Entity) shorten(n int) {
	all := e.words
	if len(all) == 0 {
		all = []string{"object"}
	}
	all = all[max(0, len(all)-n):]
	var out []string
	for i, word := range all {
		if word = singular(word); i > 0 && strings.HasPrefix(word, out[i-1]+"_") {
			word = strings.TrimPrefix(word, out[i-1]+"_")
		}
		out = append(out, word)
	}
	e.Name = strings.Join(out, "_")
	e.Plural = strings.Join(append(slices.Clone(out[:len(out)-1]), all[len(all)-1]), "_")
}

// hinted returns the entities that the document names with hints.
func (d *Document) hinted(say *Provider, taken map[*Operation]bool) (list []*Entity) {
	byName := map[string]*Entity{}
	for _, op := range d.Operations {
		given, ok := op.Hints[hintPrefix+"entity-operation"]
		if !ok || op.unusable() != "" {
			continue
		}
		for _, hint := range entityOperations(given) {
			name, does, _ := strings.Cut(hint, "#")
			does, order, _ := strings.Cut(does, "#")
			name = snake(name)
			if order != "" && order != "1" {
				say.list(op, "the hint "+hintPrefix+"entity-operation makes it a further request of "+hint)
				taken[op] = true
				continue
			}
			e := byName[name]
			if e == nil {
				e = &Entity{Name: name, Plural: name, Hinted: true}
				byName[name] = e
				list = append(list, e)
			}
			taken[op] = true
			e.assign(does, op, say)
		}
	}
	return slices.DeleteFunc(list, func(e *Entity) bool {
		if e.Create != nil {
			return false
		}
		for _, op := range e.All() {
			delete(taken, op) // a read operation can also become a data source
			op.Hints[hintPrefix+"entity"] = e.Name
		}
		return true
	})
}

func (e *Entity) assign(does string, op *Operation, say *Provider) {
	for _, one := range strings.Split(does, ",") {
		var place **Operation
		switch strings.TrimSpace(one) {
		case "create":
			place = &e.Create
		case "read", "get":
			place = &e.Read
		case "update":
			place = &e.Update
		case "delete":
			place = &e.Delete
		case "list":
			place = &e.List
		}
		switch {
		case place == nil:
			say.list(op, "its hint names an action that is not known: "+one)
		case *place != nil:
			say.list(op, "its hint makes it a second "+one+" of "+e.Name)
		default:
			*place = op
		}
	}
}

// entityOperations returns the values of the hint, which is a string, a list, or an object with a member per kind of
// type.
func entityOperations(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			out = append(out, entityOperations(one)...)
		}
	case map[string]any:
		out = entityOperations(v["terraform-resource"])
		for _, one := range entityOperations(v["terraform-datasource"]) {
			if !contains(out, one) {
				out = append(out, one)
			}
		}
	}
	return out
}

// unusable returns the reason why an operation cannot be mapped to anything, or "".
func (o *Operation) unusable() string {
	switch {
	case flag(o.Hints[hintPrefix+"ignore"]):
		return "the hint " + hintPrefix + "ignore leaves it out"
	case o.Method == "HEAD" || o.Method == "OPTIONS" || o.Method == "TRACE":
		return "requests with " + o.Method + " say nothing of objects"
	case strings.ContainsAny(o.Path, "#?"):
		return "its path has a query or a fragment, which are no part of paths"
	case o.Elsewhere:
		return "it has a server of its own, and a manifest has one server"
	}
	for _, p := range o.Params {
		if p.In == "cookie" && p.Required {
			return "it needs the cookie " + p.Name
		}
	}
	return ""
}
