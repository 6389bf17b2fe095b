package eval_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
)

// BenchmarkExpression evaluates one expression in an existing scope: the cost of each instance of a block.
func BenchmarkExpression(b *testing.B) {
	r := fuzzRoom(b, "alpha", "a", "b")
	for _, c := range []struct{ name, text string }{
		{"reference", "var.s"},
		{"attribute of an instance", "lab_thing.some[1].name"},
		{"nested block", `lab_thing.one.device["x"].size`},
		{"template", `"${var.s}-${var.n}"`},
		{"function", `upper(var.s)`},
		{"for", `[for k, v in local.map : k]`},
		{"splat", `lab_thing.some[*].name`},
		{"conditional", `var.n > 2 ? var.s : ""`},
	} {
		expr, diags := hclsyntax.ParseExpression([]byte(c.text), "x", hcl.InitialPos)
		if diags.HasErrors() {
			b.Fatal(diags)
		}
		var refs []addr.Reference
		for _, t := range expr.Variables() {
			if ref, d := addr.ParseReference(t); !d.HasErrors() {
				refs = append(refs, ref)
			}
		}
		ctx := r.walk.Root.Scope(refs)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, diags := expr.Value(ctx); diags.HasErrors() {
					b.Fatal(diags)
				}
			}
		})
	}
}

// BenchmarkScope creates the scope of a block: the cost of each block.
func BenchmarkScope(b *testing.B) {
	r := fuzzRoom(b, "alpha", "a", "b")
	for _, text := range []string{"var.s", "lab_thing.some[1].name",
		"[var.s, var.n, local.map, lab_thing.one.name, lab_thing.some[0].id]"} {
		expr, _ := hclsyntax.ParseExpression([]byte(text), "x", hcl.InitialPos)
		var refs []addr.Reference
		for _, t := range expr.Variables() {
			ref, _ := addr.ParseReference(t)
			refs = append(refs, ref)
		}
		b.Run(fmt.Sprintf("%d references", len(refs)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.walk.Root.Scope(refs)
			}
		})
	}
}

// BenchmarkBody evaluates a block for one more instance: all attributes shared, half of them with each, nested blocks.
func BenchmarkBody(b *testing.B) {
	block := labSchema.Resources["lab_thing"].Block
	for _, c := range []struct{ name, text string }{
		{"shared", "name = \"a\"\nsize = 1\ntags = { a = \"b\" }\nany = [1, 2]\nlist = [\"x\"]\n"},
		{"each", "name = each.key\nsize = 1\ntags = { a = each.key }\nany = [1, each.key]\nlist = [\"x\"]\n"},
		{"blocks",
			"disk {\nlabel = each.key\n}\ndisk {\nsize = 2\n}\nrule {\nport = 1\n}\ndevice \"x\" {\nsize = 1\n}\n"},
		{"dynamic",
			"dynamic \"disk\" {\nfor_each = [1, 2, 3]\ncontent {\nlabel = \"${each.key}${disk.value}\"\n}\n}\n"},
	} {
		file, diags := hclsyntax.ParseConfig([]byte(c.text), "x.tf", hcl.InitialPos)
		if diags.HasErrors() {
			b.Fatal(diags)
		}
		body := blocks.Compile(file.Body, block)
		base := &hcl.EvalContext{Functions: table}
		e, problems := body.Prepare(base)
		if problems.HasErrors() {
			b.Fatal(problems.Err())
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ctx := eval.Repetition{Key: addr.StringKey("k"), Each: cty.True}.Context(base)
				if _, problems := e.Instance(ctx); problems.HasErrors() {
					b.Fatal(problems.Err())
				}
			}
		})
	}
}

// BenchmarkValidate walks a configuration of a thousand separate blocks, like the first step of planning.
func BenchmarkValidate(b *testing.B) {
	var src strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&src, "resource \"lab_thing\" \"r%d\" {\n  name = \"n%d\"\n  size = %d\n}\n", i, i, i)
	}
	r := enter(b, map[string][]byte{"main.tf": []byte(src.String())}, eval.Inputs{})
	b.ReportAllocs()
	for b.Loop() {
		r.run(b, eval.Inputs{Validating: true})
	}
}
