package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/provider"
)

// field is an attribute of a random schema: its text in the manifest, and its values.
type field struct {
	name, apiName, text string
	ty                  cty.Type
	value               func(r *rand.Rand) cty.Value
	nested              []field // of a nested type
}

func randomText(r *rand.Rand) string {
	return []string{"", "a", "ä/ü?", "${x}", "%{y}", "null", "12", "true", "\u2028\n\t\"\\", "日本"}[r.IntN(10)] +
		fmt.Sprint(r.IntN(3))
}

// primitive returns a type and its values.
func primitive(r *rand.Rand) (string, cty.Type, func(*rand.Rand) cty.Value) {
	switch r.IntN(3) {
	case 0:
		return `"string"`, cty.String, func(r *rand.Rand) cty.Value { return cty.StringVal(randomText(r)) }
	case 1:
		return `"number"`, cty.Number, func(r *rand.Rand) cty.Value {
			return cty.MustParseNumberVal([]string{"0", "-1", "0.1", "12345678901234567890123.25", "1e30"}[r.IntN(5)])
		}
	}
	return `"bool"`, cty.Bool, func(r *rand.Rand) cty.Value { return cty.BoolVal(r.IntN(2) == 0) }
}

func anyType(r *rand.Rand, depth int) (string, cty.Type, func(*rand.Rand) cty.Value) {
	if depth == 0 || r.IntN(3) == 0 {
		return primitive(r)
	}
	text, ty, value := anyType(r, depth-1)
	list := func(r *rand.Rand) []cty.Value {
		out := make([]cty.Value, r.IntN(3))
		for i := range out {
			out[i] = value(r)
		}
		return out
	}
	switch r.IntN(4) {
	case 0:
		return `["list", ` + text + `]`, cty.List(ty), func(r *rand.Rand) cty.Value {
			if items := list(r); len(items) > 0 {
				return cty.ListVal(items)
			}
			return cty.ListValEmpty(ty)
		}
	case 1:
		return `["set", ` + text + `]`, cty.Set(ty), func(r *rand.Rand) cty.Value {
			if items := list(r); len(items) > 0 {
				return cty.SetVal(items)
			}
			return cty.SetValEmpty(ty)
		}
	case 2:
		return `["map", ` + text + `]`, cty.Map(ty), func(r *rand.Rand) cty.Value {
			vals := map[string]cty.Value{}
			for _, v := range list(r) {
				vals[randomText(r)] = v
			}
			if len(vals) == 0 {
				return cty.MapValEmpty(ty)
			}
			return cty.MapVal(vals)
		}
	}
	return `["object", {"x": ` + text + `, "y": "string"}]`, cty.Object(map[string]cty.Type{"x": ty, "y": cty.String}),
		func(r *rand.Rand) cty.Value {
			return cty.ObjectVal(map[string]cty.Value{"x": value(r), "y": cty.StringVal(randomText(r))})
		}
}

func randomFields(r *rand.Rand, depth int) (fields []field) {
	for i := range 1 + r.IntN(5) {
		f := field{name: fmt.Sprint("a", i), apiName: fmt.Sprint("a", i)}
		word := ""
		if r.IntN(2) == 0 {
			f.apiName = fmt.Sprint("apiName-", i)
			word = fmt.Sprintf(`, "http": {"name": %q}`, f.apiName)
		}
		if depth > 0 && r.IntN(3) == 0 {
			f.nested = randomFields(r, depth-1)
			mode := []string{"single", "list", "map", "set"}[r.IntN(4)]
			f.text = fmt.Sprintf(`%q: {"optional": true, "nested_type": {"nesting_mode": %q, "attributes": {%s}}%s}`,
				f.name, mode, texts(f.nested), word)
			f.value, f.ty = nestedValue(mode, f.nested)
		} else {
			text, ty, value := anyType(r, 2)
			f.text, f.ty, f.value = fmt.Sprintf(`%q: {"type": %s, "optional": true%s}`, f.name, text, word), ty, value
		}
		fields = append(fields, f)
	}
	return fields
}

func texts(fields []field) string {
	var list []string
	for _, f := range fields {
		list = append(list, f.text)
	}
	return strings.Join(list, ", ")
}

func nestedValue(mode string, fields []field) (func(*rand.Rand) cty.Value, cty.Type) {
	types := map[string]cty.Type{}
	for _, f := range fields {
		types[f.name] = f.ty
	}
	ty := cty.Object(types)
	one := func(r *rand.Rand) cty.Value { return cty.ObjectVal(randomValues(r, fields)) }
	switch mode {
	case "single":
		return one, ty
	case "map":
		return func(r *rand.Rand) cty.Value {
			return cty.MapVal(map[string]cty.Value{"k": one(r), randomText(r): one(r)})
		}, cty.Map(ty)
	case "set":
		return func(r *rand.Rand) cty.Value { return cty.SetVal([]cty.Value{one(r), one(r)}) }, cty.Set(ty)
	}
	return func(r *rand.Rand) cty.Value { return cty.ListVal([]cty.Value{one(r), one(r)}) }, cty.List(ty)
}

// randomValues returns values for some of the attributes.
func randomValues(r *rand.Rand, fields []field) map[string]cty.Value {
	vals := map[string]cty.Value{}
	for _, f := range fields {
		vals[f.name] = cty.NullVal(f.ty)
		if r.IntN(4) > 0 {
			vals[f.name] = f.value(r)
		}
	}
	return vals
}

// wanted returns the object that an API should have for a configuration. The test computes it independently.
func wanted(t *testing.T, fields []field, v cty.Value) map[string]any {
	out := map[string]any{}
	for _, f := range fields {
		given := v.GetAttr(f.name)
		if given.IsNull() {
			continue
		}
		if f.nested == nil {
			out[f.apiName] = plain(t, given)
			continue
		}
		switch {
		case given.Type().IsObjectType():
			out[f.apiName] = wanted(t, f.nested, given)
		case given.Type().IsMapType():
			inner := map[string]any{}
			for name, e := range given.AsValueMap() {
				inner[name] = wanted(t, f.nested, e)
			}
			out[f.apiName] = inner
		default:
			list := []any{}
			for _, e := range given.AsValueSlice() {
				list = append(list, wanted(t, f.nested, e))
			}
			out[f.apiName] = list
		}
	}
	return out
}

// plain returns a value as the API decodes it.
func plain(t *testing.T, v cty.Value) any {
	t.Helper()
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, text)
}

func decoded(t *testing.T, text []byte) (out any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return rounded(out)
}

// rounded replaces each number in a value with a text, which is the same for equal numbers.
func rounded(v any) any {
	switch v := v.(type) {
	case json.Number:
		return cty.MustParseNumberVal(v.String()).AsBigFloat().Text('f', -1)
	case []any:
		for i := range v {
			v[i] = rounded(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = rounded(v[name])
		}
	}
	return v
}

// TestRandomSchemas creates, changes and deletes random objects of random types. After each step the server has exactly
// the configured object, a refresh finds no change, and an import returns the same object.
func TestRandomSchemas(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		fields := randomFields(r, 2)
		method := []string{"PUT", "PATCH"}[seed%2]
		s := newThings(t)
		s.plain = true
		l := begin(t, fmt.Sprintf(`{
  "protocol": 1, "name": "inv",
  "http": {"url": "${env.URL}/v1", "auth": {"bearer": %q}},
  "schema": {"provider": {}, "resource_schemas": {"inv_thing": {
    "import": "id", "attributes": {"id": {"type": "string", "computed": true, "stable": true}, %s},
    "http": {"create": {"path": "/things"}, "read": {"path": "/things/${self.id}"},
      "update": {"method": %q, "path": "/things/${self.id}"}, "delete": {"path": "/things/${self.id}"}}}}}
}`, bearer, texts(fields), method), nil, "URL="+s.URL)
		var at provider.ApplyResponse
		for step := range 5 {
			config := randomValues(r, fields)
			next := l.apply(context.Background(), "inv_thing", at, config)
			if next.Diagnostics.HasErrors() {
				t.Fatalf("seed %d, step %d: %s", seed, step, text(next.Diagnostics))
			}
			at = next
			id := at.State.GetAttr("id").AsString()
			stored, err := json.Marshal(s.objects[id])
			if err != nil {
				t.Fatal(err)
			}
			want := rounded(wanted(t, fields, at.State))
			if diff := cmp.Diff(unordered(want), unordered(decoded(t, stored))); diff != "" {
				t.Fatalf("seed %d, step %d, %s: the server has something else:\n%s\n%s", seed, step, method, diff,
					strings.Join(s.seen[max(0, len(s.seen)-2):], "\n"))
			}
			read := l.read(context.Background(), "inv_thing", at)
			if read.Diagnostics.HasErrors() || !read.State.RawEquals(at.State) {
				t.Fatalf("seed %d, step %d: a refresh finds a change: %s\n%#v\n%#v", seed, step, text(read.Diagnostics),
					at.State, read.State)
			}
			l.imports(seed, id, at.State)
		}
		gone := l.apply(context.Background(), "inv_thing", at, nil)
		if gone.Diagnostics.HasErrors() || len(s.objects) > 0 {
			t.Errorf("seed %d: %s, %d objects are left", seed, text(gone.Diagnostics), len(s.objects))
		}
	}
}

// unordered sorts arrays, because those of sets have no order.
func unordered(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = unordered(v[i])
		}
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	case map[string]any:
		for name := range v {
			v[name] = unordered(v[name])
		}
	}
	return v
}

// imports checks that an import returns an object unchanged.
func (l *life) imports(seed uint64, id string, want cty.Value) {
	l.t.Helper()
	resp := l.p.Import(context.Background(), provider.ImportRequest{Type: "inv_thing", ID: id})
	if resp.Diagnostics.HasErrors() {
		l.t.Fatal(text(resp.Diagnostics))
	}
	one := resp.Imported[0]
	read := l.read(context.Background(), "inv_thing", provider.ApplyResponse{State: one.State, Private: one.Private,
		Identity: one.Identity})
	if read.Diagnostics.HasErrors() || !read.State.RawEquals(want) {
		l.t.Fatalf("seed %d: an import finds something else: %s\n%#v\n%#v", seed, text(read.Diagnostics), want,
			read.State)
	}
}
