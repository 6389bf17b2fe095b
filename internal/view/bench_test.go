package view

import (
	"fmt"
	"io"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/tfjson/tfjsontest"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
)

// many returns a plan that updates n objects of terraform_data.
func many(n int) *plan.Plan {
	ty := cty.Object(map[string]cty.Type{"id": cty.String, "input": cty.DynamicPseudoType,
		"output": cty.DynamicPseudoType, "triggers_replace": cty.DynamicPseudoType})
	value := func(i int, text string) plan.Value {
		return plan.Value{Value: cty.ObjectVal(map[string]cty.Value{
			"id": cty.StringVal(fmt.Sprint(i)), "input": cty.StringVal(text), "output": cty.StringVal(text),
			"triggers_replace": cty.NullVal(cty.DynamicPseudoType),
		})}
	}
	p := &plan.Plan{Complete: true}
	for i := range n {
		r := addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "terraform_data", Name: "a"}}
		a := r.Instance(addr.IntKey(i))
		p.Changes = append(p.Changes, &plan.Change{
			Object: addr.Object{Instance: a}, Provider: &addr.AbsProviderConfig{
				Provider: addr.BuiltinProvider("terraform")},
			Action: plan.Update, Type: ty, Before: value(i, "before"), After: value(i, "after"),
		})
	}
	return p
}

func BenchmarkPlanText(b *testing.B) {
	schemas := tfjsontest.Schemas(b)
	for _, n := range []int{1_000, 100_000} {
		p := many(n)
		for _, json := range []bool{false, true} {
			b.Run(fmt.Sprintf("json=%v/%d", json, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					New(Options{Out: io.Discard, JSON: json}).Plan(p, schemas)
				}
			})
		}
	}
}

// BenchmarkPlanTextWithSecrets measures the search for secrets in all values, with one secret and with many.
func BenchmarkPlanTextWithSecrets(b *testing.B) {
	schemas := tfjsontest.Schemas(b)
	p := many(10_000)
	for _, secrets := range []int{0, 1, 10_000} {
		b.Run(fmt.Sprint(secrets), func(b *testing.B) {
			var s Secrets
			for i := range secrets {
				s.Learn(cty.StringVal(fmt.Sprintf("secret %d", i)).Mark(value.Sensitive))
			}
			s.Values()
			for b.Loop() {
				New(Options{Out: io.Discard, Secrets: &s}).Plan(p, schemas)
			}
		})
	}
}

func BenchmarkPlanDocument(b *testing.B) {
	schemas := tfjsontest.Schemas(b)
	for _, n := range []int{1_000, 100_000} {
		p := many(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := tfjson.Plan(io.Discard, p, nil, nil, schemas); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkProgress(b *testing.B) {
	for _, json := range []bool{false, true} {
		b.Run(fmt.Sprintf("json=%v", json), func(b *testing.B) {
			v := New(Options{Out: io.Discard, JSON: json})
			defer v.Close()
			object := many(1).Changes[0].Object
			b.ReportAllocs()
			for b.Loop() {
				v.Send(event.OperationStart{Object: object, Action: plan.Create})
				v.Send(event.OperationDone{Object: object, Action: plan.Create, ID: event.ID{Key: "id", Value: "x"}})
			}
		})
	}
}

func BenchmarkListDifference(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		list := func(step int) cty.Value {
			var vals []cty.Value
			for i := range n {
				vals = append(vals, cty.StringVal(fmt.Sprint(i*step)))
			}
			return cty.TupleVal(append(vals, cty.StringVal("end")))
		}
		before, after := list(1), list(2)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				compareDynamic(sides{before: before, after: after})
			}
		})
	}
}
