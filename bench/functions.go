package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs/funcstest"
)

// Each function of the language is called with arguments of a size and of ten times that size. Linear work then takes
// ten times as long, and slightly more with sorting; quadratic work takes a hundred times as long.
const (
	steeper   = 10
	tooSteep  = 45
	shortCall = 300 * time.Millisecond // differences below are noise
)

// growth holds the durations of a call.
type growth struct {
	name        string
	small, many time.Duration
	what        string
}

func (g growth) steep() bool {
	return g.many > shortCall && g.many > tooSteep*max(g.small, shortCall/tooSteep/2)
}

// functions measures all functions, and fails if the time of one grows more than linearly.
func functions(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("functions", flag.ContinueOnError)
	flags.SetOutput(stderr)
	n := flags.Int("n", 1000, "`size` of the smaller arguments")
	only := flags.String("only", "", "`name` of one function")
	if err := flags.Parse(args); err != nil {
		return err
	}
	table := funcs.Table(funcs.Options{Work: funcs.NewWork(ctx)})
	calls, steep := 0, 0
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if strings.Contains(name, "\x00") || strings.Contains(name, "::") || *only != "" && name != *only ||
			name == "bcrypt" { // which is intentionally slow
			continue
		}
		size := *n
		if slices.Contains(products, name) {
			size /= steeper
		}
		small, many := funcstest.Arguments(table[name], size), funcstest.Arguments(table[name], steeper*size)
		for i := range small {
			if err := ctx.Err(); err != nil {
				return err
			}
			calls++
			g := growth{name: name, small: timed(table, name, small[i]), what: kinds(small[i])}
			if g.small > 10*shortCall {
				g.many = 2 * tooSteep * g.small // too slow to measure
			} else {
				g.many = timed(table, name, enlarged(name, many[i], small[i]))
			}
			if g.steep() {
				steep++
				fmt.Fprintf(stdout, "%s: %v, then %v, of %s\n", g.name, g.small, g.many, g.what)
			}
		}
	}
	fmt.Fprintf(stdout, "%d calls; the time of %d grows faster than their arguments\n", calls, steep)
	if steep > 0 {
		return errors.New("functions take more time than their arguments explain")
	}
	return nil
}

// products names functions whose time is proportional to the product of the sizes of two arguments: a search, in every
// program that guarantees a bound, and a function that returns the product.
var products = []string{"regex", "regexall", "setproduct"}

// enlarged returns the larger arguments of a call, for one of products with the first one as it was.
func enlarged(name string, args, smaller []cty.Value) []cty.Value {
	if len(args) < 2 || !slices.Contains(products, name) {
		return args
	}
	return append([]cty.Value{smaller[0]}, args[1:]...)
}

// timed returns the shortest CPU time of three calls, as in an expression of a configuration.
func timed(table map[string]function.Function, name string, args []cty.Value) time.Duration {
	vars := map[string]cty.Value{}
	names := make([]string, len(args))
	for i, arg := range args {
		names[i] = fmt.Sprintf("a%d", i)
		vars[names[i]] = arg
	}
	text := name + "(" + strings.Join(names, ", ") + ")"
	e, diags := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		panic(diags)
	}
	least := time.Duration(math.MaxInt64)
	for range 3 {
		began := ownCPU()
		funcs.Evaluate(e, &hcl.EvalContext{Functions: table, Variables: vars})
		least = min(least, ownCPU()-began)
		if least < time.Millisecond || least > 10*shortCall {
			break
		}
	}
	return least
}

// kinds describes arguments.
func kinds(args []cty.Value) string {
	var list []string
	for _, arg := range args[:min(len(args), 3)] {
		text := arg.Type().FriendlyName()
		if arg.Type() == cty.String {
			text = fmt.Sprintf("%.12q", arg.AsString())
		}
		list = append(list, text)
	}
	if len(args) > 3 {
		list = append(list, fmt.Sprintf("%d arguments", len(args)))
	}
	return strings.Join(list, ", ")
}
