package funcs

import (
	"testing"

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
