package tfjsontest

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// build returns a value of a type from its parts in a document: the known parts and the map of unknown ones.
func build(t testing.TB, ty cty.Type, v any, present bool, unknown any) cty.Value {
	t.Helper()
	switch {
	case unknown == true:
		return cty.UnknownVal(ty)
	case v == nil && object(unknown) == nil && list(unknown) == nil:
		return cty.NullVal(ty)
	case v == nil && present:
		return cty.NullVal(ty)
	case ty == cty.DynamicPseudoType:
		return buildDynamic(t, v, unknown)
	}
	switch {
	case ty.IsObjectType():
		vals := map[string]cty.Value{}
		for name, aty := range ty.AttributeTypes() {
			m, ok := object(v)[name]
			vals[name] = build(t, aty, m, ok, object(unknown)[name])
		}
		return cty.ObjectVal(vals)
	case ty.IsMapType():
		vals := map[string]cty.Value{}
		for name, m := range object(v) {
			vals[name] = build(t, ty.ElementType(), m, true, object(unknown)[name])
		}
		for name, u := range object(unknown) {
			if u == true {
				vals[name] = cty.UnknownVal(ty.ElementType())
			}
		}
		if len(vals) == 0 {
			return cty.MapValEmpty(ty.ElementType())
		}
		return cty.MapVal(vals)
	case ty.IsTupleType():
		var vals []cty.Value
		for i, m := range list(v) {
			vals = append(vals, build(t, ty.TupleElementType(i), m, true, at(unknown, i)))
		}
		return cty.TupleVal(vals)
	case ty.IsCollectionType():
		return buildElements(t, ty, v, unknown)
	}
	raw, _ := json.Marshal(v)
	out, err := ctyjson.Unmarshal(raw, ty)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func at(unknown any, i int) any {
	if l := list(unknown); i < len(l) {
		return l[i]
	}
	return nil
}

func buildElements(t testing.TB, ty cty.Type, v, unknown any) cty.Value {
	t.Helper()
	var vals []cty.Value
	for i, m := range list(v) {
		vals = append(vals, build(t, ty.ElementType(), m, true, at(unknown, i)))
	}
	switch {
	case len(vals) == 0 && ty.IsSetType():
		return cty.SetValEmpty(ty.ElementType())
	case len(vals) == 0:
		return cty.ListValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetVal(vals)
	}
	return cty.ListVal(vals)
}

func buildDynamic(t testing.TB, v, unknown any) cty.Value {
	t.Helper()
	switch v := v.(type) {
	case []any:
		vals := []cty.Value{}
		for i, m := range v {
			vals = append(vals, build(t, cty.DynamicPseudoType, m, true, at(unknown, i)))
		}
		return cty.TupleVal(vals)
	case map[string]any:
		vals := map[string]cty.Value{}
		for name, m := range v {
			vals[name] = build(t, cty.DynamicPseudoType, m, true, object(unknown)[name])
		}
		for name, u := range object(unknown) {
			if _, ok := v[name]; !ok && u == true {
				vals[name] = cty.DynamicVal
			}
		}
		return cty.ObjectVal(vals)
	}
	return implied(t, v)
}

// implied returns the value of JSON without a type.
func implied(t testing.TB, v any) cty.Value {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	ty, err := ctyjson.ImpliedType(raw)
	if err != nil {
		t.Fatal(err)
	}
	out, err := ctyjson.Unmarshal(raw, ty)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// path converts the steps of a path: names become attributes, even for map keys.
func path(steps []any) cty.Path {
	var p cty.Path
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			p = p.GetAttr(s)
		case json.Number:
			n, _ := strconv.Atoi(s.String())
			p = p.IndexInt(n)
		}
	}
	return p
}

// secretPaths returns the paths at which a document of sensitive parts is true.
func secretPaths(ty cty.Type, v any) []cty.Path {
	var paths []cty.Path
	var walk func(ty cty.Type, v any, at cty.Path)
	walk = func(ty cty.Type, v any, at cty.Path) {
		switch v := v.(type) {
		case bool:
			if v {
				paths = append(paths, at.Copy())
			}
		case []any:
			for i, m := range v {
				walk(cty.DynamicPseudoType, m, at.IndexInt(i))
			}
		case map[string]any:
			for name, m := range v {
				if ty.IsMapType() {
					walk(ty.ElementType(), m, at.IndexString(name))
				} else {
					walk(cty.DynamicPseudoType, m, at.GetAttr(name))
				}
			}
		}
	}
	walk(ty, v, nil)
	return paths
}
