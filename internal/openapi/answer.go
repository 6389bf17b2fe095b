package openapi

import (
	"slices"
	"strings"
)

// envelopes are the usual names of the response member that contains the object.
var envelopes = []string{"data", "result", "item", "object", "resource", "payload", "response"}

// collections are the usual names of the response member that contains the objects.
var collections = []string{"data", "items", "results", "result", "values", "value", "list", "entries", "records",
	"objects", "content", "resources"}

// inEnvelope returns the name of the member that contains the object, or "" if the whole value is the object.
func inEnvelope(s *Schema, entity string) string {
	if s == nil || s.Type != "object" {
		return ""
	}
	for _, name := range s.Members() {
		if short := snake(name); short == "id" || short == "uuid" || short == entity+"_id" {
			return ""
		}
	}
	is := func(name string) bool {
		inner, _ := s.Member(name).united()
		return inner != nil && inner.Type == "object" && len(inner.members) > 0
	}
	var own []string
	for _, name := range s.Members() {
		if last := entity[strings.LastIndexByte(entity, '_')+1:]; entity != "" && (snake(name) == entity ||
			snake(name) == last) && is(name) {
			own = append(own, name)
		}
	}
	if len(own) == 1 {
		return own[0]
	}
	for _, name := range envelopes {
		if is(name) && len(s.members) <= 5 {
			return name
		}
	}
	return ""
}

// objectOf returns the schema of the object in a response, and the template that finds it; the template is empty for
// the whole body. The schema is nil if the response has no object.
func objectOf(op *Operation, entity string) (*Schema, string) {
	if op == nil || op.Answer == nil || op.Answer.Schema == nil {
		return nil, ""
	}
	s, _ := op.Answer.Schema.united()
	name := inEnvelope(s, entity)
	if name != "" {
		s, _ = s.Member(name).united()
		return s, "${" + at("answer.body", name) + "}"
	}
	if s.Type != "object" {
		return nil, ""
	}
	return s, ""
}

// itemsOf returns the schema of the items in a response and the path of member names to them. The schema is nil if
// there are no items.
func itemsOf(op *Operation, entity, plural string) (items *Schema, place []string) {
	if op == nil || op.Answer == nil || op.Answer.Schema == nil {
		return nil, nil
	}
	s, _ := op.Answer.Schema.united()
	for range 2 {
		if s.Type == "array" {
			return s.Items(), place
		}
		if s.Type != "object" {
			return nil, nil
		}
		if name := itemsIn(s, plural); name != "" {
			return s.Member(name).Items(), append(place, name)
		}
		name := inEnvelope(s, entity)
		if name == "" {
			return nil, nil
		}
		s, _ = s.Member(name).united()
		place = append(place, name)
	}
	return nil, nil
}

// itemsIn returns the member of an object that contains the items, or "".
func itemsIn(s *Schema, plural string) string {
	var arrays []string
	for _, name := range s.Members() {
		if inner := s.Member(name); inner.Type == "array" && inner.Items() != nil {
			arrays = append(arrays, name)
		}
	}
	for _, name := range arrays {
		own := plural != "" && (snake(name) == plural || strings.HasSuffix(plural, "_"+snake(name)))
		if len(arrays) == 1 || own {
			return name
		}
	}
	for _, name := range collections {
		if contains(arrays, name) {
			return name
		}
	}
	return ""
}

// within returns the expression for a path of members in a response body.
func within(place []string) string {
	expr := "answer.body"
	for _, name := range place {
		expr = at(expr, name)
	}
	return expr
}

// memberFor returns the member of an object that has the value of a parameter: the one with the same name, or the id.
func memberFor(s *Schema, param, entity string) string {
	if s == nil {
		return ""
	}
	byName := map[string]string{}
	for _, name := range s.Members() {
		if scalars[s.Member(name).Type] != "" {
			byName[snake(name)] = name
		}
	}
	want := snake(param)
	tries := []string{want}
	last := entity[strings.LastIndexByte(entity, '_')+1:]
	for _, prefix := range []string{entity, last} {
		if rest, ok := strings.CutPrefix(want, prefix+"_"); ok && prefix != "" {
			tries = append(tries, rest)
		}
	}
	if i := strings.LastIndexByte(want, '_'); i >= 0 {
		tries = append(tries, want[i+1:])
	}
	for _, ending := range []string{"id", "uuid", "key", "name", "slug", "number", "code"} {
		if strings.HasSuffix(want, ending) {
			tries = append(tries, ending)
		}
	}
	if strings.HasSuffix(want, "id") || want == entity || want == last {
		tries = append(tries, "id", entity+"_id", last+"_id", "uid", "uuid", "guid")
	}
	if want == entity || want == last || want == "id" {
		tries = append(tries, "name", "slug", "key")
	}
	for _, name := range tries {
		if byName[name] != "" {
			return byName[name]
		}
	}
	return ""
}

// nextPlaces are the usual response members with the address of the next page.
const nextPlaces = "next links/next _links/next paging/next pagination/next meta/next _links/next/href " +
	"links/next/href next_page_uri links/pages/next @odata.nextLink nextLink next_url next_page_url"

// pages returns how to find the next page, or nil if the document does not describe it.
func pages(op *Operation, items string) members {
	out := members{{"items", "${" + items + "}"}}
	if op.Answer.Headers["link"] {
		return append(out, member{"link", true})
	}
	s := op.Answer.Schema
	for _, place := range strings.Fields(nextPlaces) {
		inner, expr := inside(s, strings.Split(place, "/"))
		address := []string{"", "uri", "url", "uri-reference"}
		if inner != nil && inner.Type == "string" && contains(address, inner.Format) {
			return append(out, member{"next", "${try(" + expr + ", null)}"})
		}
	}
	if parameter, expr := token(op, s); parameter != "" {
		return append(out, member{"token", "${try(" + expr + ", null)}"}, member{"parameter", parameter})
	}
	for _, by := range []string{"page", "offset"} {
		for _, name := range []string{by, "page_number", "pageNumber", "page[number]", "page[offset]", "skip",
			"start"} {
			param := op.param("query", name)
			number := name == by || by == "page" && strings.Contains(strings.ToLower(name), "number")
			counts := by == "offset" && (name == "skip" || name == "start" || name == "page[offset]")
			if param == nil || scalars[param.Schema.Type] != "number" || !number && !counts {
				continue
			}
			out = append(out, member{"by", by}, member{"parameter", name})
			if first := firstPage(param.Schema); first >= 0 {
				out.add("first", first)
			}
			return out
		}
	}
	return nil
}

// firstPage returns the first value of a page parameter, or -1 if the document does not describe it.
func firstPage(s *Schema) int {
	for _, v := range []any{s.Default, s.Limits["minimum"]} {
		if n := number(v); n != nil && n.IsInt() && n.Sign() >= 0 && n.Num().IsInt64() && n.Num().Int64() < 1000 {
			return int(n.Num().Int64())
		}
	}
	return -1
}

// inside returns the schema and the expression of a member at a path.
func inside(s *Schema, place []string) (*Schema, string) {
	for _, name := range place {
		if s = s.Member(name); s == nil {
			return nil, ""
		}
	}
	return s, within(place)
}

// token returns the page parameter and the response member with its next value.
func token(op *Operation, s *Schema) (parameter, expr string) {
	for _, param := range op.Params {
		name := snake(param.Name)
		if param.In != "query" || !contains([]string{"cursor", "page_token", "next_token", "next_cursor",
			"after", "continuation_token", "page_cursor", "start_cursor", "pagination_token",
			"next_page_token", "continue", "marker", "from_token", "page"}, name) ||
			param.Schema.Type != "string" && param.Schema.Type != "" {
			continue
		}
		for _, around := range [][]string{nil, {"meta"}, {"pagination"}, {"paging"}, {"cursor"}, {"page_info"},
			{"response_metadata"}, {"metadata"}} {
			place, _ := inside(s, around)
			for _, member := range place.Members() {
				if contains([]string{"next_" + name, name, "next_cursor", "next_page_token", "next_token",
					"next", "end_cursor", "continuation_token", "next_page", "next_marker", "next_after"},
					snake(member)) &&
					place.Member(member).Type == "string" {
					_, expr := inside(s, append(slices.Clone(around), member))
					return param.Name, expr
				}
			}
		}
	}
	return "", ""
}
