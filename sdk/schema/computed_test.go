package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
	. "github.com/tombolo-iac/tombolo/sdk/schema"
)

// computedBlocks are fields with blocks that the provider fills in; stable ones do not change in an update.
func computedBlocks(stable bool) map[string]*Schema {
	part := func() *Resource {
		return &Resource{Schema: map[string]*Schema{"port": {Type: TypeInt, Optional: true, Computed: true},
			"rid": {Type: TypeString, Computed: true}}}
	}
	return map[string]*Schema{
		"name": {Type: TypeString, Required: true},
		"rule": {Type: TypeList, Optional: true, Computed: true, ConfigMode: SchemaConfigModeBlock, Stable: stable,
			Elem: part()},
		"tag": {Type: TypeSet, Optional: true, Computed: true, ConfigMode: SchemaConfigModeBlock, Stable: stable,
			Elem: part()},
	}
}

func TestComputedBlocksAreFilledIn(t *testing.T) {
	for _, stable := range []bool{false, true} {
		t.Run(fmt.Sprintf("stable %t", stable), func(t *testing.T) {
			n := 0
			e := start(t, keeper(computedBlocks(stable), func(op string, d *ResourceData) error {
				if op == "read" || op == "delete" {
					return nil
				}
				n++
				rules := []interface{}{}
				for _, r := range d.Get("rule").([]interface{}) {
					r := r.(map[string]interface{})
					r["rid"] = "written"
					rules = append(rules, r)
				}
				if d.GetRawConfig().GetAttr("rule").LengthInt() == 0 {
					rules = append(rules[:0], map[string]interface{}{"port": n, "rid": "made"})
				}
				return d.Set("rule", rules)
			}))
			rule := func(port int64, rid string) cty.Value {
				return cty.ListVal([]cty.Value{obj(attrs{"port": num(port), "rid": str(rid)})})
			}
			rules := e.rt.Block.Blocks["rule"].ImpliedType()
			none := e.rt.Block.Blocks["tag"].EmptyValue()
			first := attrs{"name": str("a")}
			has(t, e.plan(first), attrs{"rule": cty.UnknownVal(rules), "tag": cty.UnknownVal(none.Type())})
			e.apply(first)
			has(t, e.state, attrs{"rule": rule(1, "made"), "tag": none})
			if again := e.plan(first); !again.RawEquals(e.state) {
				t.Errorf("the same configuration asks for a change: %#v", again)
			}

			want := cty.UnknownVal(rules)
			if stable {
				want = rule(1, "made")
			}
			has(t, e.plan(attrs{"name": str("b")}), attrs{"rule": want})
			if !stable {
				e.apply(attrs{"name": str("b")})
				has(t, e.state, attrs{"rule": rule(2, "made"), "tag": none})
			}

			written := attrs{"name": str("b"), "rule": tup(obj(attrs{"port": num(80)}))}
			has(t, e.plan(written), attrs{"rule": cty.ListVal([]cty.Value{obj(attrs{"port": num(80),
				"rid": unknownText})})})
			e.apply(written)
			has(t, e.state, attrs{"rule": rule(80, "written")})
		})
	}
}

func TestComputedBlocksAreRequiredInOlderEngines(t *testing.T) {
	e := start(t, keeper(computedBlocks(false), nil))
	config := e.config(attrs{"name": str("a"), "rule": tup(obj(attrs{"port": num(80)}))})
	diags := e.p.Plan(t.Context(), provider.PlanRequest{Type: typ, Prior: e.null(), Config: config,
		Proposed: value.Propose(e.rt.Block, e.null(), config)}).Diagnostics
	if err := diags.Err(); err == nil || !strings.Contains(err.Error(), "tag") ||
		strings.Contains(err.Error(), "rule") {
		t.Errorf("a plan without tags ends with %v", err)
	}
}
