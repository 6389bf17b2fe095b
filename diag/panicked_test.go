package diag

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

func outOfRange(list []int, i int) int { return list[i] }

func TestFunctionPanicIsOneSentence(t *testing.T) {
	for _, c := range []struct {
		name string
		call func()
		want string
	}{
		{"by hand", func() { panic("no tea") }, `Call to function "f" failed: it panicked in diag.TestFunctionPanic`},
		{"by the runtime", func() { outOfRange(nil, 3) }, "it panicked in diag.outOfRange (panicked_test.go:"},
	} {
		f := function.New(&function.Spec{Type: function.StaticReturnType(cty.String),
			Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
				c.call()
				return cty.StringVal(""), nil
			}})
		expr, problems := hclsyntax.ParseExpression([]byte("f()"), "x.tf", hcl.InitialPos)
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		_, problems = expr.Value(&hcl.EvalContext{Functions: map[string]function.Function{"f": f}})
		found := List(nil).AppendHCL(problems)
		if len(found) != 1 || !strings.Contains(found[0].Detail, c.want) ||
			strings.Contains(found[0].Detail, "goroutine") {
			t.Errorf("%s: %v", c.name, found)
		}
	}
}
