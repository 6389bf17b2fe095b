package funcs

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs/funcstest"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// TestLongCallsAreAbandoned runs work that never ends by itself: the first interrupt ends long calls after a grace
// period, and the second all calls.
func TestLongCallsAreAbandoned(t *testing.T) {
	for _, long := range []bool{true, false} {
		for _, interrupts := range []int{0, 1, 2} {
			t.Run(fmt.Sprintf("long %t, %d interrupts", long, interrupts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					asked, ask := context.WithCancel(t.Context())
					ctx, stop := context.WithCancel(t.Context())
					defer ask()
					defer stop()
					w := NewWorkWithGrace(asked, ctx)
					goesOn, returned := make(chan struct{}), make(chan bool, 1)
					go func() {
						_, ok := interruptible(w, long, func() int { <-goesOn; return 1 })
						returned <- ok
					}()
					synctest.Wait()
					if interrupts > 0 {
						ask()
					}
					if interrupts > 1 {
						stop()
					} else {
						time.Sleep(2 * gracePeriod)
					}
					synctest.Wait()
					ended := interrupts == 2 || long && interrupts == 1
					select {
					case ok := <-returned:
						if ok || !ended {
							t.Errorf("it has returned, with a result: %t", ok)
						}
					default:
						if ended {
							t.Error("it goes on")
						}
					}
					close(goesOn)
					if synctest.Wait(); !ended && !<-returned {
						t.Error("the result is lost")
					}
				})
			})
		}
	}
}

func TestPanicOfACallReachesItsCaller(t *testing.T) {
	defer func() {
		if got := recover(); got != "broken" {
			t.Errorf("got %v", got)
		}
	}()
	interruptible(NewWork(t.Context()), true, func() int { panic("broken") })
}

// TestEveryFunctionEndsWithItsWork lists the functions that are not abandoned, and why each ends anyway.
func TestEveryFunctionEndsWithItsWork(t *testing.T) {
	others := map[string]string{
		"try": "evaluates expressions", "can": "evaluates expressions", "convert": "reads its second argument",
		"templatefile": "evaluates a template", "templatestring": "evaluates a template",
		"bcrypt": "is abandoned by itself", "fileset": "looks before each folder",
		"file": "looks before each read", "filebase64": "looks before each read", "filemd5": "looks before each read",
		"filesha1": "looks before each read", "filesha256": "looks before each read",
		"filesha512": "looks before each read", "filebase64sha256": "looks before each read",
		"filebase64sha512": "looks before each read", "fileexists": "looks at one file",
		"abspath": "computes with a path", "basename": "computes with a path", "dirname": "computes with a path",
		"pathexpand": "computes with a path", "nonsensitive": "takes off one mark",
		"timestamp": "has no arguments", "plantimestamp": "has no arguments", "uuid": "has no arguments",
	}
	table := Table(Options{})
	for _, name := range slices.Sorted(maps.Keys(table)) {
		plain := strings.TrimPrefix(name, "core::")
		if _, known := others[plain]; known == abandonable(name) {
			t.Errorf("%s is abandoned: %t", name, !known)
		}
	}
}

// TestTypeNamesAreNotCalls uses every function's name in a type argument of convert: the preparation of calls must
// not change the type.
func TestTypeNamesAreNotCalls(t *testing.T) {
	plain := Table(Options{})
	scope := &hcl.EvalContext{Functions: Table(Options{Work: NewWork(t.Context())})}
	types := []string{"string", "any", "list(string)", "set(any)", "map(list(string))", "tuple([list(string)])",
		"object({ a = optional(map(string), {}), b = set(string) })", "list(nothing)"}
	for name := range plain {
		if !strings.HasPrefix(name, "core::") {
			types = append(types, name+"(string)", "list("+name+"(any))")
		}
	}
	for _, ty := range types {
		for _, name := range []string{"convert", "core::convert"} {
			for _, v := range []string{`"a"`, `["a"]`, `{ a = ["b"] }`, `[for x in ["a"] : [upper(x)]]`} {
				text := name + "(" + v + ", " + ty + ")"
				e, diags := hclsyntax.ParseExpression([]byte(text), "test.tf", hcl.InitialPos)
				if diags.HasErrors() {
					t.Fatal(diags)
				}
				want, wantDiags := e.Value(&hcl.EvalContext{Functions: plain})
				for _, e := range []hcl.Expression{e, Metered(e)} {
					got, gotDiags := Evaluate(e, scope)
					if !got.RawEquals(want) || gotDiags.Error() != wantDiags.Error() {
						t.Errorf("%s: %#v %v, want %#v %v", text, got, gotDiags, want, wantDiags)
					}
				}
			}
		}
	}
}

// TestLargeCallsEqualDirectCalls calls every function with large arguments with and without a separate goroutine.
func TestLargeCallsEqualDirectCalls(t *testing.T) {
	lower(t)                              // lowers the limit of products
	const n, every = 300, 29              // one in so many calls is made
	named := regexp.MustCompile(`m\d{7}`) // the library names an arbitrary unsuitable member
	work, apartFrom := 0, Table(Options{Work: NewWork(t.Context())})
	plain := Table(Options{})
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		if strings.HasPrefix(name, "core::") || !abandonable(name) {
			continue
		}
		for i, args := range funcstest.Arguments(plain[name], n) {
			if i%every != len(name) {
				continue
			}
			vars := map[string]cty.Value{"list": cty.TupleVal(args)}
			names := make([]string, len(args))
			for j, arg := range args {
				names[j] = fmt.Sprintf("a%d", j)
				vars[names[j]] = arg
			}
			for _, text := range []string{name + "(" + strings.Join(names, ", ") + ")", name + "(list...)"} {
				e, diags := hclsyntax.ParseExpression([]byte(text), "test.tf", hcl.InitialPos)
				if diags.HasErrors() {
					t.Fatal(diags)
				}
				got, gotDiags := Evaluate(e, &hcl.EvalContext{Functions: apartFrom, Variables: vars})
				want, wantDiags := e.Value(&hcl.EvalContext{Functions: plain, Variables: vars})
				work++
				if !ctyfast.RawEquals(got, want) || named.ReplaceAllString(gotDiags.Error(), "") !=
					named.ReplaceAllString(wantDiags.Error(), "") {
					t.Errorf("%.60s, arguments %d: got %.300v %v\nwant %.300v %v", text, i, got.GoString(), gotDiags,
						want.GoString(), wantDiags)
				}
			}
		}
	}
	if work < 100 {
		t.Errorf("only %d calls", work)
	}
}

// TestALoopOverALongSetIsAbandoned calls a function that does not return in the first round: an interrupt ends the
// loop, and there is no second round.
func TestALoopOverALongSetIsAbandoned(t *testing.T) {
	before := limits
	t.Cleanup(func() { limits = before })
	limits.set = 3
	set := cty.SetVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b"), cty.StringVal("c")})
	for _, text := range []string{`[for v in set : wait(v)]`, `{for k, v in set : wait(v) => k}`,
		`[for v in set : v if wait(v) != ""]`, `[for i in [1] : [for v in set : wait(v)]]`,
		`[for v in set : [for w in set : wait(w)]]`} {
		synctest.Test(t, func(t *testing.T) {
			asked, ask := context.WithCancel(t.Context())
			defer ask()
			goesOn, calls := make(chan struct{}), 0
			ctx := bounded(t.Context(), t.TempDir(), map[string]cty.Value{"set": set})
			ctx.Functions[workName] = NewWorkWithGrace(asked, t.Context()).function()
			ctx.Functions["wait"] = textFunc("v", func(text string, _ cty.Value) (string, error) {
				calls++
				<-goesOn
				return text, nil
			})
			returned := make(chan hcl.Diagnostics, 1)
			go func() {
				_, diags := evaluated(t, text, ctx)
				returned <- diags
			}()
			synctest.Wait()
			ask()
			time.Sleep(2 * gracePeriod)
			synctest.Wait()
			select {
			case diags := <-returned:
				if !diags.HasErrors() || diags[0].Summary != "Operation canceled" {
					t.Errorf("%s: %v", text, diags)
				}
			default:
				t.Errorf("%s goes on", text)
			}
			close(goesOn)
			if synctest.Wait(); calls != 1 {
				t.Errorf("%s: %d rounds", text, calls)
			}
		})
	}
}

// TestLongSetsEqualDirectReads reads sets with and without a separate goroutine.
func TestLongSetsEqualDirectReads(t *testing.T) {
	before := limits
	t.Cleanup(func() { limits = before })
	object := func(name string) cty.Value { return cty.ObjectVal(map[string]cty.Value{"n": cty.StringVal(name)}) }
	texts := cty.SetVal([]cty.Value{cty.StringVal("b"), cty.StringVal("a"), cty.StringVal("c")})
	objects := cty.SetVal([]cty.Value{object("y"), object("x"), cty.UnknownVal(object("").Type())})
	for _, set := range []cty.Value{texts, objects, texts.Mark(value.Sensitive), objects.Mark(value.Sensitive)} {
		for _, text := range []string{`[for v in set : v]`, `[for k, v in set : k if k != "b"]`, `set[*].n`, `set[*]`,
			`{for k, v in set : jsonencode(v) => k}`, `{for v in set : 1 => v}`, `{for v in set : "x" => v...}`,
			`[for v in set : [for w in set : w]]`, `"%{ for k, v in set }${k}${v}%{ endfor }"`, `[for v in set : v.n]`} {
			var values []cty.Value
			var problems []string
			for _, limits.set = range []int{1, 1 << 20} {
				v, diags := evaluated(t, text, bounded(t.Context(), "", map[string]cty.Value{"set": set}))
				values, problems = append(values, v), append(problems, diags.Error())
			}
			if !ctyfast.RawEquals(values[0], values[1]) || problems[0] != problems[1] {
				t.Errorf("%s of %#v:\n%#v %s\n%#v %s", text, set, values[0], problems[0], values[1], problems[1])
			}
		}
	}
}
