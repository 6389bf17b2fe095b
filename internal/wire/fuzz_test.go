package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/internal/wire/plugin5"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
)

func FuzzDecodeSchema(f *testing.F) {
	for seed := range uint64(6) {
		for _, v := range versions {
			m := must(encodeSchema(newRandom(seed).schema(v), v))
			f.Add(must(proto.Marshal(v.ofSix(m))), v.number == 5)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, five bool) {
		v := versions[6]
		if five {
			v = versions[5]
		}
		m := v.newSchema()
		if proto.Unmarshal(data, m) != nil {
			return
		}
		s, errs := decodeSchema(v.sixOf(m), nil)
		if len(errs) > 0 {
			return
		}
		_ = s.Provider.ImpliedType()
		for _, rt := range s.Resources {
			if _, err := guarded(func() (any, error) { return rt.Block.ImpliedType(), nil }); err != nil {
				t.Fatal(err)
			}
		}
		again, err := encodeSchema(s, v)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		b := must(proto.Marshal(v.ofSix(again)))
		back := v.newSchema()
		if err := proto.Unmarshal(b, back); err != nil {
			t.Fatal(err)
		}
		s2, errs := decodeSchema(v.sixOf(back), nil)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if diff := cmp.Diff(s, s2, same); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzDecodeProblems(f *testing.F) {
	for seed := range uint64(6) {
		f.Add(must(proto.Marshal(&plugin6.DiagnosticsFirst{
			Diagnostics: encodeDiagnostics(newRandom(seed).problems())})))
	}
	f.Add(must(proto.Marshal(&plugin6.DiagnosticsFirst{Diagnostics: []*plugin6.Diagnostic{{Detail: "only a detail"},
		{}}})))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m plugin6.DiagnosticsFirst
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		list := decodeDiagnostics(m.GetDiagnostics())
		for _, d := range list {
			_ = d.Error()
			_ = pathText(d.Path)
			if d.Summary == "" {
				t.Fatalf("a problem without a summary: %s", d.Detail)
			}
		}
		if diff := cmp.Diff(list, decodeDiagnostics(encodeDiagnostics(list)), same); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestInvalidSchemasAreRefused(t *testing.T) {
	str := []byte(`"string"`)
	attr := func(a *plugin6.Attribute) *plugin6.SchemaResponse {
		return &plugin6.SchemaResponse{Resources: map[string]*plugin6.Schema{
			"t": {Block: &plugin6.Block{Attributes: []*plugin6.Attribute{a}}}}}
	}
	block := func(b ...*plugin6.NestedBlock) *plugin6.SchemaResponse {
		return &plugin6.SchemaResponse{
			Provider: &plugin6.Schema{Block: &plugin6.Block{Blocks: b, Attributes: []*plugin6.Attribute{
				{Name: "a", Type: str, Optional: true}}}}}
	}
	deep := &plugin6.NestedBlock{Name: "b", Nesting: plugin6.NestingMode_NESTING_LIST}
	for range 300 {
		deep = &plugin6.NestedBlock{Name: "b", Nesting: plugin6.NestingMode_NESTING_LIST, Block: &plugin6.Block{
			Blocks: []*plugin6.NestedBlock{deep}}}
	}
	deepAttr := &plugin6.Attribute{Name: "a", Type: str, Optional: true}
	for range 300 {
		deepAttr = &plugin6.Attribute{Name: "a", Optional: true, Nested: &plugin6.NestedAttributes{
			Nesting: plugin6.NestingMode_NESTING_SINGLE, Attributes: []*plugin6.Attribute{deepAttr}}}
	}
	for name, m := range map[string]*plugin6.SchemaResponse{
		"no type": attr(&plugin6.Attribute{Name: "a", Optional: true}),
		"no name": attr(&plugin6.Attribute{Type: str, Optional: true}), "type that is none": attr(&plugin6.Attribute{
			Name: "a", Optional: true, Type: []byte(`"x"`)}),
		"cut type": attr(&plugin6.Attribute{Name: "a", Optional: true, Type: []byte(`["list"`)}),
		"both": attr(&plugin6.Attribute{Name: "a", Optional: true, Type: str,
			Nested: &plugin6.NestedAttributes{}}),
		"nesting": attr(&plugin6.Attribute{Name: "a", Optional: true, Nested: &plugin6.NestedAttributes{
			Nesting: 77}}),
		"group": attr(&plugin6.Attribute{Name: "a", Optional: true, Nested: &plugin6.NestedAttributes{
			Nesting: 5}}),
		"no nesting": block(&plugin6.NestedBlock{Name: "b"}), "name of an attribute": block(&plugin6.NestedBlock{
			Name: "a", Nesting: 1}),
		"twice":    block(&plugin6.NestedBlock{Name: "b", Nesting: 1}, &plugin6.NestedBlock{Name: "b", Nesting: 1}),
		"negative": block(&plugin6.NestedBlock{Name: "b", Nesting: 2, MaxItems: -1}),
		"deep":     block(deep), "deep attributes": attr(deepAttr), "function without a type": {
			Functions: map[string]*plugin6.Function{"f": {}}}, "nil block": block(nil),
		"set by nobody": attr(&plugin6.Attribute{Name: "a", Type: str}), "required and optional": attr(
			&plugin6.Attribute{Name: "a", Type: str, Required: true, Optional: true}),
		"required and computed": attr(&plugin6.Attribute{Name: "a", Type: str, Required: true, Computed: true}),
		"more than allowed":     block(&plugin6.NestedBlock{Name: "b", Nesting: 2, MinItems: 3, MaxItems: 2}),
		"computed and demanded": block(&plugin6.NestedBlock{Name: "b", Nesting: 2, MinItems: 1,
			Block: &plugin6.Block{Computed: true}}),
		"computed group": block(&plugin6.NestedBlock{Name: "b", Nesting: 5, Block: &plugin6.Block{Computed: true}}),
		"optional in computed": block(&plugin6.NestedBlock{Name: "b", Nesting: 2, Block: &plugin6.Block{
			Computed: true, Attributes: []*plugin6.Attribute{{Name: "a", Type: str, Optional: true}}}}),
		"written in computed": block(&plugin6.NestedBlock{Name: "b", Nesting: 2, Block: &plugin6.Block{
			Computed: true, Blocks: []*plugin6.NestedBlock{{Name: "c", Nesting: 2}}}}),
		"nested, set by nobody": attr(&plugin6.Attribute{Name: "a", Optional: true, Nested: &plugin6.NestedAttributes{
			Nesting: 1, Attributes: []*plugin6.Attribute{{Name: "b", Type: str}}}}),
		"no provider":            {Resources: map[string]*plugin6.Schema{"t": {}}},
		"function":               {Functions: map[string]*plugin6.Function{"a b": called()}},
		"function without name":  {Functions: map[string]*plugin6.Function{"": called()}},
		"parameter":              {Functions: map[string]*plugin6.Function{"f": called("a", "1b")}},
		"parameter without name": {Functions: map[string]*plugin6.Function{"f": called("")}},
		"two parameters":         {Functions: map[string]*plugin6.Function{"f": called("a", "b", "a")}},
		"variadic parameter":     {Functions: map[string]*plugin6.Function{"f": variadic("a\n")}},
		"variadic like another":  {Functions: map[string]*plugin6.Function{"f": variadic("a", "a")}},
		"version":                {Resources: map[string]*plugin6.Schema{"t": {Version: -1}}},
	} {
		if m.Provider == nil && name != "no provider" {
			m.Provider = &plugin6.Schema{}
		}
		if s, errs := decodeSchema(m, nil); len(errs) != 1 {
			t.Errorf("%s: got %v, %v", name, s, errs)
		}
	}
	if s, errs := decodeSchema(&plugin6.SchemaResponse{Provider: &plugin6.Schema{}}, map[string]*plugin6.IdentitySchema{
		"t": {Version: -1}}); len(errs) == 0 {
		t.Errorf("version of an identity: got %v", s)
	}
	five := &plugin5.Block{}
	for range 300 {
		five = &plugin5.Block{Blocks: []*plugin5.NestedBlock{{Name: "b", Nesting: 2, Block: five}}}
	}
	if _, errs := decodeSchema(schemaFromFive(&plugin5.SchemaResponse{Provider: &plugin5.Schema{Block: five}}),
		nil); len(errs) == 0 {
		t.Error("deep blocks of version 5 are accepted")
	}
}

// called returns a function with parameters of the given names.
func called(names ...string) *plugin6.Function {
	f := &plugin6.Function{Return: &plugin6.Function_Return{Type: []byte(`"string"`)}}
	for _, name := range names {
		f.Parameters = append(f.Parameters, &plugin6.Function_Parameter{Name: name, Type: []byte(`"string"`)})
	}
	return f
}

// variadic returns a function with an additional variadic parameter.
func variadic(last string, names ...string) *plugin6.Function {
	f := called(names...)
	f.VariadicParameter = &plugin6.Function_Parameter{Name: last, Type: []byte(`"string"`)}
	return f
}
