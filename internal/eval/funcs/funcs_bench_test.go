package funcs

import (
	"fmt"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func BenchmarkTable(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Table(Options{Pure: true})
	}
}

func BenchmarkWithheldErrors(b *testing.B) {
	args := []cty.Value{cty.StringVal("%s-%d"), cty.StringVal("x"), cty.NumberIntVal(5)}
	call := func(b *testing.B, f function.Function) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Call(args); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("format", func(b *testing.B) { call(b, withheldErrors(stdlib.FormatFunc)) })
	b.Run("format-of-library", func(b *testing.B) { call(b, stdlib.FormatFunc) })
}

// BenchmarkCall measures calls of functions with arguments of typical size.
func BenchmarkCall(b *testing.B) {
	table := Table(Options{})
	text := cty.StringVal
	tags := cty.MapVal(map[string]cty.Value{"name": text("web"), "env": text("prod"), "team": text("core")})
	for _, bench := range []struct {
		name string
		args []cty.Value
	}{
		{"upper", []cty.Value{text("hello")}},
		{"format", []cty.Value{text("%s-%02d"), text("web"), cty.NumberIntVal(7)}},
		{"merge", []cty.Value{tags, tags}},
		{"lookup", []cty.Value{tags, text("env"), text("")}},
		{"jsonencode", []cty.Value{tags}},
		{"jsondecode", []cty.Value{text(`{"a":[1,2,{"b":null}]}`)}},
		{"regex", []cty.Value{text("([a-z]+)-([0-9]+)"), text("web-07")}},
		{"cidrsubnet", []cty.Value{text("10.0.0.0/8"), cty.NumberIntVal(8), cty.NumberIntVal(3)}},
		{"sha256", []cty.Value{text("hello")}},
	} {
		f := table[bench.name]
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Call(bench.args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLargeArguments measures growth: ten times the elements may take little more than ten times the time.
func BenchmarkLargeArguments(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		strings := make([]cty.Value, n)
		members := make(map[string]cty.Value, n)
		for i := range strings {
			strings[i] = cty.StringVal(fmt.Sprintf("s%07d", i*7919%n))
			members[fmt.Sprintf("k%d", i)] = strings[i]
		}
		list, objects := cty.ListVal(strings), setOfObjects(n)
		for _, bench := range []struct {
			name string
			args []cty.Value
		}{
			{"distinct", []cty.Value{list}},
			{"matchkeys", []cty.Value{list, list, list}},
			{"tolist", []cty.Value{cty.TupleVal(strings)}},
			{"toset", []cty.Value{cty.TupleVal(strings)}},
			{"tomap", []cty.Value{cty.ObjectVal(members)}},
			{"flatten", []cty.Value{cty.TupleVal([]cty.Value{list, list})}},
			{"concat", []cty.Value{list, list}},
			{"merge", []cty.Value{cty.MapVal(members), cty.MapVal(members)}},
			{"keys", []cty.Value{cty.MapVal(members)}},
			{"zipmap", []cty.Value{list, list}},
			{"contains", []cty.Value{list, cty.StringVal("none")}},
			{"join", []cty.Value{cty.StringVal(","), list}},
			{"jsonencode", []cty.Value{list}},
			{"sort", []cty.Value{list}},
			{"setunion", []cty.Value{objects, objects}},
			{"setsubtract", []cty.Value{objects, objects}},
			{"contains", []cty.Value{objects, cty.StringVal("none")}},
			{"tolist", []cty.Value{objects}},
		} {
			f := Table(Options{})[bench.name]
			b.Run(fmt.Sprintf("%s/%d", bench.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := f.Call(bench.args); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func setOfObjects(n int) cty.Value {
	objects := make([]cty.Value, n)
	for i := range objects {
		objects[i] = cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal(fmt.Sprint("s", i)),
			"b": cty.NumberIntVal(int64(i)), "c": cty.True, "d": cty.StringVal("x"), "e": cty.NullVal(cty.String)})
	}
	return cty.SetVal(objects)
}

// TestLargeArgumentsAreNotQuadratic would take minutes if one of these functions compared all pairs of elements.
func TestLargeArgumentsAreNotQuadratic(t *testing.T) {
	const n = 30_000
	elements := make([]cty.Value, n)
	for i := range elements {
		elements[i] = cty.StringVal(fmt.Sprintf("s%d", i))
	}
	list, tuple := cty.ListVal(elements), cty.TupleVal(elements)
	var manySets []cty.Value
	for _, e := range elements[:n/10] {
		manySets = append(manySets, cty.SetVal([]cty.Value{e}))
	}
	table := Table(Options{})
	for name, args := range map[string][]cty.Value{
		"distinct": {list}, "matchkeys": {list, list, list}, "tolist": {tuple}, "concat": {list, list}, "contains": {
			list, cty.StringVal("none")},
		"zipmap": {list, list}, "join": {cty.StringVal(","), list}, "jsonencode": {list}, "flatten": {
			cty.TupleVal([]cty.Value{list, list})}, "toset": {tuple},
		"setunion": manySets, "setintersection": {cty.SetVal(elements), cty.SetVal(elements)}, "coalesce": elements,
	} {
		started := time.Now()
		if _, err := table[name].Call(args); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(started); took > time.Minute {
			t.Errorf("%s of %d elements took %v", name, n, took)
		}
	}
}
