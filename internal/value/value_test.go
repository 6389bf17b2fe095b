package value

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// Short forms for tables of schemas and values.

type attrs = map[string]*provider.Attribute

func required(ty cty.Type) *provider.Attribute { return &provider.Attribute{Type: ty, Required: true} }
func optional(ty cty.Type) *provider.Attribute { return &provider.Attribute{Type: ty, Optional: true} }
func computed(ty cty.Type) *provider.Attribute { return &provider.Attribute{Type: ty, Computed: true} }
func either(ty cty.Type) *provider.Attribute {
	return &provider.Attribute{Type: ty, Optional: true, Computed: true}
}
func writeOnly(ty cty.Type) *provider.Attribute {
	return &provider.Attribute{Type: ty, Optional: true, WriteOnly: true}
}
func sensitive(a *provider.Attribute) *provider.Attribute { a.Sensitive = true; return a }

// nested returns an optional nested attribute; nestedEither one that the provider may also set.
func nested(n provider.Nesting, a attrs) *provider.Attribute {
	return &provider.Attribute{Optional: true, Nested: &provider.NestedObject{Nesting: n, Attributes: a}}
}
func nestedEither(n provider.Nesting, a attrs) *provider.Attribute {
	at := nested(n, a)
	at.Computed = true
	return at
}

func block(a attrs) *provider.Block { return &provider.Block{Attributes: a} }

// withBlocks returns a block that has only nested blocks, under the name "b".
func withBlocks(n provider.Nesting, a attrs) *provider.Block {
	nb := &provider.NestedBlock{Nesting: n}
	nb.Attributes = a
	return &provider.Block{Blocks: map[string]*provider.NestedBlock{"b": nb}}
}

func object(kv ...any) cty.Value {
	vals := map[string]cty.Value{}
	for i := 0; i < len(kv); i += 2 {
		vals[kv[i].(string)] = val(kv[i+1])
	}
	return cty.ObjectVal(vals)
}

func mapping(kv ...any) cty.Value {
	return cty.MapVal(object(kv...).AsValueMap())
}

func val(v any) cty.Value {
	switch v := v.(type) {
	case string:
		return cty.StringVal(v)
	case int:
		return cty.NumberIntVal(int64(v))
	case bool:
		return cty.BoolVal(v)
	case cty.Value:
		return v
	}
	panic("val: unexpected type")
}

func vals(in []any) []cty.Value {
	out := make([]cty.Value, len(in))
	for i, v := range in {
		out[i] = val(v)
	}
	return out
}

func list(v ...any) cty.Value  { return cty.ListVal(vals(v)) }
func set(v ...any) cty.Value   { return cty.SetVal(vals(v)) }
func tuple(v ...any) cty.Value { return cty.TupleVal(vals(v)) }

var (
	nullS    = cty.NullVal(cty.String)
	nullN    = cty.NullVal(cty.Number)
	unknownS = cty.UnknownVal(cty.String)
)

// orNull returns a null object for the zero value, which tables omit.
func orNull(b *provider.Block, v cty.Value) cty.Value {
	if v == cty.NilVal {
		return cty.NullVal(b.ImpliedType())
	}
	return v
}

func wantValue(t *testing.T, got, want cty.Value) {
	t.Helper()
	if !got.RawEquals(want) {
		t.Errorf("differs at %v\n got %#v\nwant %#v", formatAll(Diff(got, want)), got, want)
	}
}

// wantErrors compares the problems, each as "path: problem", with the expected ones.
func wantErrors(t *testing.T, got []PathError, want ...string) {
	t.Helper()
	ok := len(got) == len(want)
	for i := range got {
		ok = ok && got[i].Error() == want[i]
	}
	if !ok {
		t.Errorf("got problems:")
		for _, e := range got {
			t.Errorf("  %s", e)
		}
		t.Errorf("want:")
		for _, w := range want {
			t.Errorf("  %s", w)
		}
	}
}
