package openapi_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/openapi"
)

// author generates random documents.
type author struct {
	*rand.Rand
	models []string
	newer  bool // OpenAPI 3.1
}

func pick[T any](a *author, list ...T) T { return list[a.IntN(len(list))] }

func (a *author) chance(percent int) bool { return a.IntN(100) < percent }

// name returns one of a few names, to cause conflicts: keywords of the language, names that are equal in snake case,
// special characters.
func (a *author) name() string {
	return pick(a, "id", "name", "count", "provider", "for_each", "displayName", "display_name", "DisplayName", "URL",
		"@type", "x-y", "1st", "data", "items", "next", "tags", "ümlaut", "$ref2", "a.b", "teamId", "team_id",
		"result", "lifecycle",
		"version", "${x}", "%{y}", "__", "")
}

// schema generates a schema; deep limits the nesting.
func (a *author) schema(deep int) any {
	if a.chance(15) && len(a.models) > 0 {
		return map[string]any{"$ref": "#/components/schemas/" + pick(a, a.models...)}
	}
	s := map[string]any{}
	for word, v := range map[string]any{"readOnly": true, "writeOnly": true, "deprecated": true,
		"description": "A ${b} thing.", "default": pick[any](a, nil, "x", 3, true),
		"format":  pick(a, "date-time", "password", "int64", "uri", "odd"),
		"pattern": pick(a, "^a+$", "(?=x)", "["), "minLength": a.IntN(3), "maxItems": 4, "minimum": 1.5,
		"exclusiveMinimum": true,
		"multipleOf":       pick(a, 0, 2), "enum": []any{"a", 1, nil}, "x-speakeasy-name-override": a.name(),
		"x-speakeasy-ignore": true, "uniqueItems": true} {
		if a.chance(6) {
			s[word] = v
		}
	}
	if a.newer && a.chance(10) {
		s["exclusiveMinimum"] = 1
	}
	kind := pick(a, "string", "integer", "number", "boolean", "array", "object", "object", "any", "all", "one", "types")
	if deep == 0 && (kind == "array" || kind == "object" || kind == "all" || kind == "one") {
		kind = "string"
	}
	switch kind {
	case "any":
	case "all":
		s["allOf"] = []any{a.schema(deep - 1), a.schema(deep - 1)}
	case "one":
		other := pick[any](a, a.schema(deep-1), map[string]any{"type": "null"})
		s[pick(a, "oneOf", "anyOf")] = []any{a.schema(deep - 1), other}
	case "types":
		if a.newer {
			s["type"] = pick(a, []any{"string", "null"}, []any{"string", "integer"}, []any{"object", "null"})
		}
	case "array":
		if s["type"] = "array"; a.chance(95) {
			s["items"] = a.schema(deep - 1)
		}
	case "object":
		return a.object(s, deep)
	default:
		s["type"] = kind
	}
	return s
}

func (a *author) object(s map[string]any, deep int) map[string]any {
	members, required := map[string]any{}, []any{}
	for range a.IntN(5) {
		name := a.name()
		if members[name] = a.schema(max(deep-1, 0)); a.chance(40) {
			required = append(required, name)
		}
	}
	s["type"], s["properties"], s["required"] = "object", members, required
	if a.chance(15) {
		s["additionalProperties"] = pick[any](a, true, false, a.schema(max(deep-1, 0)))
	}
	return s
}

func (a *author) content(s any) map[string]any {
	return map[string]any{"content": map[string]any{pick(a, "application/json", "application/json", "application/json",
		"application/merge-patch+json", "application/x-www-form-urlencoded", "text/plain", "*/*",
		"application/vnd.x+json"): map[string]any{"schema": s}}}
}

// model generates an object that usually has an id.
func (a *author) model() any {
	if a.chance(30) {
		return a.schema(3)
	}
	s := a.object(map[string]any{}, 3)
	if a.chance(80) {
		id := map[string]any{"type": pick(a, "string", "integer"), "readOnly": a.chance(60)}
		s["properties"].(map[string]any)["id"] = id
	}
	return s
}

func (a *author) document() []byte {
	models := map[string]any{}
	a.models = []string{"A", "B", "C"}
	for _, name := range a.models {
		models[name] = a.object(map[string]any{}, 2)
	}
	paths := map[string]any{}
	for range 1 + a.IntN(4) {
		at := pick(a, "/teams", "/v1/teams", "/teams/{teamId}/members", "/count", "/a/{x}/{y}/b", "/teams.json",
			"/p-q/")
		param := pick(a, "id", "teamId", "team", "name", "X-y", "key")
		s := a.model()
		envelope := func() any {
			return pick[any](a, s, s, map[string]any{"type": "object", "properties": map[string]any{"data": s}})
		}
		array := map[string]any{"type": "array", "items": s}
		list := pick[any](a, array, map[string]any{"type": "object", "properties": map[string]any{
			"items": array, "next": map[string]any{"type": "string"}}})
		paths[at] = a.operations(map[string]any{"get": list, "post": envelope()}, envelope)
		paths[at+"/{"+param+"}"] = a.operations(map[string]any{"get": envelope(), "put": envelope(),
			"patch":  envelope(),
			"delete": nil, "post": envelope()}, envelope)
	}
	version := "3.0.3"
	if a.newer {
		version = "3.1.0"
	}
	server := pick(a, "/", "https://x.example.com/${a}", "https://{r}.example.com")
	text, err := json.Marshal(map[string]any{"openapi": version, "paths": paths,
		"info":       map[string]any{"title": pick(a, "The 3 Shop", "", "API")},
		"servers":    []any{map[string]any{"url": server}},
		"components": map[string]any{"schemas": models}})
	if err != nil {
		panic(err)
	}
	return text
}

func (a *author) operations(answers map[string]any, body func() any) map[string]any {
	out := map[string]any{}
	for method, answer := range answers {
		if a.chance(25) {
			continue
		}
		success := map[string]any{"description": ""}
		if answer != nil && a.chance(90) {
			success = a.content(answer)
		}
		if a.chance(10) {
			success["headers"] = map[string]any{pick(a, "Location", "Link"): map[string]any{}}
		}
		op := map[string]any{"responses": map[string]any{pick(a, "200", "201", "202", "2XX", "default"): success}}
		if method != "get" && method != "delete" && a.chance(90) {
			op["requestBody"] = a.content(body())
		}
		if a.chance(40) {
			op["parameters"] = []any{map[string]any{"name": a.name(), "in": pick(a, "query", "header", "cookie"),
				"required": a.chance(40), "schema": a.schema(1)}}
		}
		out[method] = op
	}
	return out
}

// TestRandomDocumentsBecomeSoundProviders converts random, unusual documents. The manifest must always be valid, and
// every operation must be in the report.
func TestRandomDocumentsBecomeSoundProviders(t *testing.T) {
	n := 400
	if testing.Short() {
		n = 50
	}
	resources := 0
	for seed := range n {
		a := &author{Rand: rand.New(rand.NewPCG(uint64(seed), 7)), newer: seed%2 == 0}
		text := a.document()
		file := filepath.Join(t.TempDir(), "spec.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := openapi.Load(file)
		if err != nil {
			t.Fatalf("seed %d: %s\n%s", seed, err, text)
		}
		p := openapi.Map(d, openapi.Options{})
		if resources += p.Resources(); p.Resources()+p.DataSources() == 0 {
			continue
		}
		if sound(t, d, p); t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, text)
		}
	}
	if resources < n/4 {
		t.Errorf("%d documents have only %d resources: the generator is too wild to prove anything", n, resources)
	}
}
