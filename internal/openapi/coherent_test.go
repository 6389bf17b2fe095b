package openapi_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type object = map[string]any

func typed(kind string) object { return object{"type": kind} }

func entry(name, in, kind string) object {
	return object{"name": name, "in": in, "required": in == "path", "schema": typed(kind)}
}

func responds(status string, schema any) object {
	answer := object{"description": ""}
	if schema != nil {
		answer["content"] = object{"application/json": object{"schema": schema}}
	}
	return object{"responses": object{status: answer}}
}

func with(op object, name string, v any) object {
	op[name] = v
	return op
}

// body returns an object schema. The names of required members begin with "!".
func body(members object) object {
	required := []any{}
	out := object{}
	for name, v := range members {
		plain := strings.TrimPrefix(name, "!")
		if out[plain] = v; plain != name {
			required = append(required, plain)
		}
	}
	return object{"type": "object", "properties": out, "required": required}
}

// coherent generates a document of an API whose operations fit together, in one of many styles: its provider must pass
// all of its tests.
func (a *author) coherent() object {
	paths := object{}
	a.named(paths)
	a.numbered(paths)
	a.only(paths)
	deep := any(object{"type": "object", "properties": object{"size": typed(pick(a, "integer", "boolean", "number"))},
		"required": []any{"size"}})
	for range 5 + a.IntN(4) {
		list := any(object{"type": "array", "items": deep})
		deep = body(object{"!size": typed("integer"), "!in": pick(a, deep, list)})
	}
	paths["/deep/{x}"] = object{"get": responds("200", body(object{"!deep": deep})), "parameters": []any{
		entry("x", "path", "string")}}
	paths["/deep/{x}.{kind}"] = object{"get": responds("200", typed("string")), "parameters": []any{
		entry("x", "path", "string"), entry("kind", "path", pick(a, "string", "integer"))}}
	return object{"openapi": "3.1.0", "info": object{"title": "Coherent", "version": "1"}, "paths": paths,
		"servers": []any{object{"url": "https://c.example.com"}}}
}

// numbered adds objects whose ids the server chooses, with a data source for an id that only looks like the same.
func (a *author) numbered(paths object) {
	id := pick(a, typed("integer"), typed("string"), object{"type": "string", "format": "uuid"})
	sent := object{"!name": typed("string"), "note": typed("string")}
	full := object{"!id": id, "!name": typed("string"), "note": typed("string"), "made": typed("string"),
		"!kind": object{"type": "string", "enum": []any{"thing", "other"}}}
	if a.chance(50) {
		delete(full, "made")
		full["!made"] = typed("string")
	}
	thing := body(full)
	created, read := any(thing), any(thing)
	switch a.IntN(5) {
	case 0: // a value that only the creation tells
		more := object{"secret": typed("string"), "!token": typed("string")}
		for name, v := range full {
			more[name] = v
		}
		created = body(more)
		sent["secret"] = typed("string")
	case 1: // one of several kinds
		created = object{"anyOf": []any{thing, body(object{"!id": id, "!kind": object{"type": "string",
			"enum": []any{"other"}}})}}
		full["!kind"] = object{"type": "string", "enum": []any{"thing"}}
		thing = body(full)
		read = thing
	case 2: // members that only a read always has
		created = body(object{"!id": id, "name": typed("string"), "kind": typed("string"), "made": typed("string"),
			"note": typed("string")})
	case 3: // an object, or what remains of it
		read = object{"anyOf": []any{thing, body(object{"!id": id, "deleted": typed("boolean")})}}
	}
	other := pick(a, "id", "thing", "idOrName")
	param := with(entry("id", "path", "string"), "schema", id)
	send := object{"content": object{"application/json": object{"schema": body(sent)}}, "required": true}
	at, parents := "/things", []any{}
	if a.chance(40) {
		at, parents = "/teams/{team}/things", []any{entry("team", "path", pick(a, "string", "integer"))}
	}
	collection := object{"post": with(responds("201", created), "requestBody", send), "parameters": parents,
		"get": responds("200", object{"type": "array", "items": thing})}
	paths[at] = collection
	item := object{"get": responds("200", read), "parameters": append(parents, param)}
	if a.chance(70) {
		item["patch"] = with(responds("200", read), "requestBody", send)
	}
	paths[at+"/{id}"] = item
	if other == "id" {
		item["delete"] = responds("204", nil)
		return
	}
	paths[at+"/{"+other+"}"] = object{"delete": responds("204", nil), "parameters": append(parents,
		with(entry(other, "path", "string"), "schema", id))}
}

// named adds objects whose names users choose.
func (a *author) named(paths object) {
	shown := body(object{"!name": typed("string"), "size": typed("integer")})
	send := object{"content": object{"application/json": object{"schema": body(object{"size": typed("integer")})}}}
	team := entry("team", "path", "string")
	if a.chance(70) {
		paths["/teams/{team}/keys"] = object{"get": responds("200", object{"type": "array", "items": shown}),
			"parameters": []any{team}}
	}
	put := with(responds("200", shown), "requestBody", send)
	if a.chance(50) { // one request is stricter than the others
		put["parameters"] = []any{entry("team", "path", "integer")}
	}
	paths["/teams/{team}/keys/{name}"] = object{"get": responds("200", shown), "put": put,
		"delete": responds("204", nil), "parameters": []any{team, entry("name", "path", "string")}}
}

// only adds a path of one object, and one with a list that a PUT changes as a whole.
func (a *author) only(paths object) {
	shown := body(object{"!limit": typed("integer")})
	send := object{"content": object{"application/json": object{"schema": shown}}, "required": true}
	paths["/limit"] = object{"get": responds("200", shown), "put": with(responds("200", shown), "requestBody", send)}
	if a.chance(60) {
		paths["/limit"].(object)["delete"] = responds("204", nil)
	}
	page := with(responds("200", object{"type": "array", "items": shown}), "parameters",
		[]any{with(entry("page", "query", "integer"), "required", a.chance(50))})
	paths["/events"] = object{"get": page}
	paths["/news"] = object{"get": page, "put": responds("200", nil)}
}

// TestProvidersOfCoherentDocumentsPassTheirTests runs the generated tests of providers from random documents. No
// check may fail: a resource that cannot pass must not be mapped or tested.
func TestProvidersOfCoherentDocumentsPassTheirTests(t *testing.T) {
	n := 40
	if testing.Short() {
		n = 10
	}
	total := 0
	for seed := range n {
		a := &author{Rand: rand.New(rand.NewPCG(uint64(seed), 11))}
		text, err := json.Marshal(a.coherent())
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "spec.json")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			passed, wrong := lives(t, file, uint64(seed))
			if total += passed; len(wrong) > 0 {
				t.Errorf("%s\n%s", strings.Join(wrong, "\n"), text)
			}
		})
	}
	if total < 15*n {
		t.Errorf("%d documents had only %d checks: too few of the objects are tested", n, total)
	}
}
