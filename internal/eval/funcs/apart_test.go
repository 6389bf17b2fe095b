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
)

// TestWhatTakesLongIsAbandoned has work that never ends by itself: the first interrupt ends what takes long, after a
// moment, and the second everything.
func TestWhatTakesLongIsAbandoned(t *testing.T) {
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
						_, ok := apart(w, long, func() int { <-goesOn; return 1 })
						returned <- ok
					}()
					synctest.Wait()
					if interrupts > 0 {
						ask()
					}
					if interrupts > 1 {
						stop()
					} else {
						time.Sleep(2 * lastMoment)
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

func TestAPanicOfACallIsThatOfItsCaller(t *testing.T) {
	defer func() {
		if got := recover(); got != "broken" {
			t.Errorf("got %v", got)
		}
	}()
	apart(NewWork(t.Context()), true, func() int { panic("broken") })
}

// TestEveryFunctionEndsWithItsWork names the functions that are not abandoned, and why each ends all the same.
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

// TestLargeCallsAreAsSmallOnes calls every function with large arguments in both ways.
func TestLargeCallsAreAsSmallOnes(t *testing.T) {
	lower(t)                              // of the product
	const n, every = 300, 29              // of so many calls one is made
	named := regexp.MustCompile(`m\d{7}`) // the library names any one of several unsuitable members
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
