package customdiff_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/sdk/schema"
	. "github.com/tombolo-iac/tombolo/sdk/schema/customdiff"
)

func TestPlansAreCustomized(t *testing.T) {
	shrinks := func(_ context.Context, was, is, _ interface{}) bool { return is.(int) < was.(int) }
	big := func(_ context.Context, v, _ interface{}) bool { return v.(int) > 9 }
	is := func(answer bool) ResourceConditionFunc {
		return func(context.Context, *schema.ResourceDiff, interface{}) bool { return answer }
	}
	refuse := func(text string) schema.CustomizeDiffFunc {
		return func(context.Context, *schema.ResourceDiff, interface{}) error { return errors.New(text) }
	}
	for name, test := range map[string]struct {
		diff     schema.CustomizeDiffFunc
		was, is  cty.Value
		replaces bool
		unknown  bool
		err      string
	}{
		"smaller": {diff: ForceNewIfChange("size", shrinks), was: cty.NumberIntVal(5),
			is: cty.NumberIntVal(4), replaces: true},
		"larger": {diff: ForceNewIfChange("size", shrinks), was: cty.NumberIntVal(5),
			is: cty.NumberIntVal(6)},
		"the same": {diff: ForceNewIf("size", is(true)), was: cty.NumberIntVal(5), is: cty.NumberIntVal(5)},
		"unknown": {diff: ForceNewIfChange("size", shrinks), was: cty.NumberIntVal(5),
			is: cty.UnknownVal(cty.Number)},
		"new": {diff: ForceNewIf("size", is(true)), is: cty.NumberIntVal(5), unknown: true},
		"computed": {diff: ComputedIf("arn", is(true)), was: cty.NumberIntVal(5), is: cty.NumberIntVal(6),
			unknown: true},
		"not computed": {diff: ComputedIf("arn", is(false)), was: cty.NumberIntVal(5), is: cty.NumberIntVal(6)},
		"computed when big": {diff: IfValue("size", big, ComputedIf("arn", is(true))), was: cty.NumberIntVal(5),
			is: cty.NumberIntVal(10), unknown: true},
		"all errors":      {diff: All(refuse("one"), refuse("two")), is: cty.NumberIntVal(1), err: "one\ntwo"},
		"the first error": {diff: Sequence(refuse("one"), refuse("two")), is: cty.NumberIntVal(1), err: "one"},
		"on a change": {diff: IfValueChange("size", shrinks, refuse("no")), was: cty.NumberIntVal(5),
			is: cty.NumberIntVal(4), err: "no"},
		"a change that is": {diff: ValidateChange("size", func(_ context.Context, was, is, _ interface{}) error {
			return fmt.Errorf("%v to %v", was, is)
		}), was: cty.NumberIntVal(5), is: cty.NumberIntVal(4), err: "5 to 4"},
		"a value that is": {diff: ValidateValue("size", func(_ context.Context, v, _ interface{}) error {
			return fmt.Errorf("is %v", v)
		}), is: cty.NumberIntVal(4), err: "is 4"},
		"one that is not yet": {diff: ValidateValue("size", func(_ context.Context, v, _ interface{}) error {
			return fmt.Errorf("is %v", v)
		}), is: cty.UnknownVal(cty.Number), unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			nop := func(*schema.ResourceData, interface{}) error { return nil }
			p := schema.New(&schema.Provider{ResourcesMap: map[string]*schema.Resource{"demo_thing": {
				Schema: map[string]*schema.Schema{
					"size": {Type: schema.TypeInt, Optional: true}, "arn": {Type: schema.TypeString, Computed: true,
						Stable: true},
				},
				Create: nop, Read: nop, Update: nop, Delete: nop, CustomizeDiff: test.diff,
			}}})
			desc, _ := p.Schema(t.Context())
			block := desc.Resources["demo_thing"].Block
			object := func(size, arn, id cty.Value) cty.Value {
				return cty.ObjectVal(map[string]cty.Value{"size": size, "arn": arn, "id": id})
			}
			prior := cty.NullVal(block.ImpliedType())
			if test.was != cty.NilVal {
				prior = object(test.was, cty.StringVal("arn"), cty.StringVal("1"))
			}
			config := object(test.is, cty.NullVal(cty.String), cty.NullVal(cty.String))
			resp := p.Plan(t.Context(), provider.PlanRequest{Type: "demo_thing", Prior: prior, Config: config,
				Proposed: value.Propose(block, prior, config)})
			if test.err != "" {
				if len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Summary != test.err {
					t.Errorf("got %v, want %q", resp.Diagnostics.Err(), test.err)
				}
				return
			}
			if resp.Diagnostics.HasErrors() {
				t.Fatal(resp.Diagnostics.Err())
			}
			if got := len(resp.RequiresReplace) > 0; got != test.replaces {
				t.Errorf("replaces: %t", got)
			}
			if got := !resp.Planned.GetAttr("arn").IsKnown(); got != test.unknown {
				t.Errorf("the arn is unknown: %t", got)
			}
		})
	}
}
