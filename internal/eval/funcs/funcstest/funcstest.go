// Package funcstest generates large arguments for functions of the language from their signatures, so that tests and
// benchmarks find slow functions without knowing what they do.
//
//	for _, args := range funcstest.Arguments(f, 1000) {
//		v, err := f.Call(args)
//	}
package funcstest

import (
	"fmt"
	"math"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Arguments returns lists of arguments for a function: each parameter alone has size n, in every shape of its type, and
// all of them together; a variadic parameter gets two arguments, and many. The lists for two sizes have the same shapes
// in the same order.
func Arguments(f function.Function, n int) (list [][]cty.Value) {
	params, variadic := f.Params(), f.VarParam()
	for _, times := range []int{0, 2, many(n)} {
		if variadic == nil && times > 0 {
			break
		}
		types := make([]cty.Type, 0, len(params)+times)
		for _, p := range params {
			types = append(types, p.Type)
		}
		for range times {
			types = append(types, variadic.Type)
		}
		list = append(list, arguments(types, len(params)+min(times, 2), n)...)
	}
	return list
}

// arguments varies each of the first types alone, and all of them together.
func arguments(types []cty.Type, varied, n int) (list [][]cty.Value) {
	size := n
	if len(types) > varied { // many arguments with a total size of n
		size = n / len(types)
	}
	few := make([]cty.Value, len(types))
	for i, ty := range types {
		few[i] = shapes(ty, 2)[0]
	}
	for i := range varied {
		for _, v := range shapes(types[i], size) {
			args := append([]cty.Value(nil), few...)
			args[i] = v
			list = append(list, args)
		}
	}
	for shape := range 32 {
		args := make([]cty.Value, len(types))
		known := map[cty.Type][]cty.Value{}
		for i, ty := range types {
			if known[ty] == nil {
				known[ty] = shapes(ty, size)
			}
			args[i] = known[ty][shape%len(known[ty])]
		}
		list = append(list, args)
	}
	return list
}

// many is the number of arguments with that many elements each that have n elements together.
func many(n int) int { return int(math.Sqrt(float64(n))) }

// shapes returns values of size n for a parameter's type.
func shapes(ty cty.Type, n int) []cty.Value {
	switch ty {
	case cty.String:
		return texts(n)
	case cty.Number:
		return []cty.Value{cty.NumberIntVal(2), cty.NumberIntVal(int64(n)), cty.NumberIntVal(0),
			cty.NumberFloatVal(0.5)}
	case cty.Bool:
		return []cty.Value{cty.True}
	}
	return append(collections(n), append(texts(n), cty.NumberIntVal(int64(n)))...)
}

// texts returns texts of n words.
func texts(n int) []cty.Value {
	lines := func(first, repeated, last string) cty.Value {
		return cty.StringVal(first + strings.Repeat(repeated, n) + last)
	}
	return []cty.Value{lines("", "x", ""), lines("", "word ", ""), lines("", "\n", ""), lines("", "a: b\n", "."),
		lines("[", "1,", "1]"), lines("[", `{"a":"b"},`, "1]"), lines("a,b\n", "1,2\n", ""), lines("", "- a\n", ""),
		lines("", "QUJD", ""), lines("", "%41", ""), lines("", "Abc", ""), cty.StringVal("/(x|w)(o?)/"),
		cty.StringVal("x"), cty.StringVal(""), cty.StringVal("10.0.0.0/8"), cty.StringVal("%s and %v"),
		cty.StringVal("2026-01-01T00:00:00Z"), cty.StringVal("UTF-8")}
}

// collections returns collections that hold n texts or numbers.
func collections(n int) []cty.Value {
	texts, same, numbers, truths := make([]cty.Value, n), make([]cty.Value, n), make([]cty.Value, n),
		make([]cty.Value, n)
	members := make(map[string]cty.Value, n)
	for i := range n {
		texts[i] = cty.StringVal(fmt.Sprintf("k%07d", (i*7919)%(10*n)))
		same[i], numbers[i], truths[i] = cty.StringVal("same"), cty.NumberIntVal(int64(i)), cty.True
		members[fmt.Sprintf("m%07d", i)] = texts[i]
	}
	side := max(many(n), 1)
	rows := make([]cty.Value, side)
	lists, tuples, objects, sets := map[string]cty.Value{}, map[string]cty.Value{}, make([]cty.Value, side),
		make([]cty.Value, side)
	for i := range side {
		row := texts[i*side%n : min(i*side%n+side, n)]
		key := fmt.Sprintf("r%07d", i)
		rows[i], lists[key], tuples[key], sets[i] = cty.ListVal(row), cty.ListVal(texts[:side]),
			cty.TupleVal(texts[:side]), cty.SetVal(row)
		objects[i] = cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key), "row": cty.TupleVal(row)})
	}
	return []cty.Value{cty.ListVal(texts), cty.ListVal(same), cty.ListVal(numbers), cty.ListVal(truths),
		cty.SetVal(texts), cty.SetVal(numbers), cty.TupleVal(texts), cty.TupleVal(truths), cty.MapVal(members),
		cty.ObjectVal(members), cty.ListVal(rows), cty.TupleVal(rows), cty.SetVal(sets), cty.ListVal(sets),
		cty.MapVal(lists), cty.ObjectVal(tuples), cty.TupleVal(objects)}
}
