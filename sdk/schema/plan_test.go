package schema_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/value"
	. "github.com/tombolo-iac/tombolo/sdk/schema"
)

func TestPlansHaveKnownValuesIfPossible(t *testing.T) {
	fields := map[string]*Schema{
		"name":  {Type: TypeString, Required: true},
		"size":  {Type: TypeInt, Optional: true, Default: 3},
		"home":  {Type: TypeString, Optional: true, DefaultFunc: func() (interface{}, error) { return nil, nil }},
		"given": {Type: TypeString, Optional: true, Computed: true},
		"etag":  {Type: TypeString, Computed: true},
		"arn":   {Type: TypeString, Computed: true, Stable: true},
		"rule": {Type: TypeSet, Optional: true, Elem: &Resource{Schema: map[string]*Schema{
			"port":  {Type: TypeInt, Required: true},
			"proto": {Type: TypeString, Optional: true, Default: "tcp"},
			"rid":   {Type: TypeString, Computed: true},
		}}},
	}
	n := 0
	e := start(t, keeper(fields, func(op string, d *ResourceData) error {
		n++
		var rules []interface{}
		for _, r := range d.Get("rule").(*Set).List() {
			r := r.(map[string]interface{})
			r["rid"] = fmt.Sprintf("r%d", r["port"])
			rules = append(rules, r)
		}
		return errors.Join(d.Set("etag", fmt.Sprint("v", n)), d.Set("arn", "arn"), d.Set("given", "g"),
			d.Set("rule", rules))
	}))
	rule := func(port int64, proto, rid cty.Value) cty.Value {
		return obj(attrs{"port": num(port), "proto": proto, "rid": rid})
	}
	config := attrs{"name": str("a"), "rule": tup(obj(attrs{"port": num(80)}),
		obj(attrs{"port": num(53), "proto": str("udp")}))}

	has(t, e.plan(config), attrs{"id": unknownText, "size": num(3), "home": null, "given": unknownText,
		"etag": unknownText, "arn": unknownText,
		"rule": cty.SetVal([]cty.Value{rule(80, str("tcp"), unknownText), rule(53, str("udp"), unknownText)})})
	e.apply(config)
	rules := cty.SetVal([]cty.Value{rule(80, str("tcp"), str("r80")), rule(53, str("udp"), str("r53"))})
	has(t, e.state, attrs{"id": str("1"), "size": num(3), "home": null, "given": str("g"), "etag": str("v1"),
		"arn": str("arn"), "rule": rules})

	if again := e.plan(config); !again.RawEquals(e.state) {
		t.Errorf("the same configuration asks for a change: %#v", again)
	}
	config["size"] = num(0)
	config["given"] = str("by me")
	has(t, e.plan(config), attrs{"id": str("1"), "size": num(0), "given": str("by me"), "etag": unknownText,
		"arn":  str("arn"),
		"rule": cty.SetVal([]cty.Value{rule(80, str("tcp"), unknownText), rule(53, str("udp"), unknownText)})})
	delete(config, "size")
	config["name"] = unknownText
	has(t, e.plan(config), attrs{"name": unknownText, "size": num(3), "etag": unknownText, "arn": str("arn")})
}

func TestForceNewChangesRequireReplacement(t *testing.T) {
	fields := map[string]*Schema{
		"name": {Type: TypeString, Optional: true, ForceNew: true},
		"size": {Type: TypeInt, Optional: true},
		"disk": {Type: TypeList, Optional: true, Elem: &Resource{Schema: map[string]*Schema{
			"kind": {Type: TypeString, Optional: true, ForceNew: true}, "label": {Type: TypeString, Optional: true},
		}}},
		"port": {Type: TypeSet, Optional: true, Elem: &Resource{
			Schema: map[string]*Schema{"n": {Type: TypeInt, Optional: true, ForceNew: true}}}},
		"tags": {Type: TypeMap, Optional: true, ForceNew: true},
		"etag": {Type: TypeString, Computed: true},
	}
	disk := func(kind, label string) cty.Value { return obj(attrs{"kind": str(kind), "label": str(label)}) }
	before := attrs{"name": str("a"), "disk": tup(disk("ssd", "x")), "port": tup(obj(attrs{"n": num(1)})),
		"tags": cty.MapVal(attrs{"a": str("b")})}
	for name, test := range map[string]struct {
		change        attrs
		want, without []string // without Update
	}{
		"nothing":      {attrs{}, nil, nil},
		"in place":     {attrs{"size": num(1)}, nil, []string{".size"}},
		"an attribute": {attrs{"name": str("b")}, []string{".name"}, []string{".name"}},
		"one unknown":  {attrs{"name": unknownText}, []string{".name"}, []string{".name"}},
		"one less":     {attrs{"name": null}, []string{".name"}, []string{".name"}},
		"in a block":   {attrs{"disk": tup(disk("hdd", "x"))}, []string{".disk[0].kind"}, []string{".disk[0].kind"}},
		"beside it":    {attrs{"disk": tup(disk("ssd", "y"))}, nil, []string{".disk[0].label"}},
		"a block more": {attrs{"disk": tup(disk("ssd", "x"), disk("ssd", "y"))}, []string{".disk[1]"}, []string{
			".disk[1]"}},
		"no block": {attrs{"disk": tup()}, []string{".disk[0]"}, []string{".disk[0]"}},
		"in a set": {attrs{"port": tup(obj(attrs{"n": num(2)}))}, []string{".port"}, []string{".port"}},
		"a key of many": {attrs{"tags": cty.MapVal(attrs{"a": str("b"), "c": str("d")})}, []string{".tags"}, []string{
			".tags"}},
	} {
		for _, updates := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, update %t", name, updates), func(t *testing.T) {
				r := keeper(fields, nil)
				want := test.want
				if !updates {
					r.Update, want = nil, test.without
				}
				e := start(t, r)
				e.apply(before)
				config := attrs{}
				for _, from := range []attrs{before, test.change} {
					for k, v := range from {
						config[k] = v
					}
				}
				e.plan(config)
				var got []string
				for _, p := range e.replace {
					got = append(got, value.FormatPath(p))
				}
				if strings.Join(got, " ") != strings.Join(want, " ") {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
	}
}

// custom returns an engine with a type whose CustomizeDiff is the given function.
func custom(t *testing.T, diff func(d *ResourceDiff) error) *engine {
	r := keeper(map[string]*Schema{
		"name":  {Type: TypeString, Optional: true},
		"size":  {Type: TypeInt, Optional: true},
		"title": {Type: TypeString, Optional: true, Computed: true},
		"etag":  {Type: TypeString, Computed: true},
		"arn":   {Type: TypeString, Computed: true, Stable: true},
		"tags":  {Type: TypeMap, Optional: true},
	}, func(op string, d *ResourceData) error {
		var errs []error
		for _, k := range []string{"title", "etag", "arn"} {
			if d.IsUnknown(k) {
				errs = append(errs, d.Set(k, op+"d"))
			}
		}
		return errors.Join(errs...)
	})
	r.CustomizeDiff = func(_ context.Context, d *ResourceDiff, _ interface{}) error { return diff(d) }
	return start(t, r)
}

func TestCustomizeDiffCompletesPlans(t *testing.T) {
	e := custom(t, func(d *ResourceDiff) error {
		if d.Id() == "" {
			return d.SetNew("title", "new "+d.Get("name").(string))
		}
		if d.HasChange("name") {
			was, is := d.GetChange("name")
			if err := d.SetNew("title", fmt.Sprintf("%s, then %s", was, is)); err != nil {
				return err
			}
			return d.SetNewComputed("arn")
		}
		if d.HasChange("size") {
			if err := d.ForceNew("size"); err != nil {
				return err
			}
			if d.Get("size") == 7 {
				return d.Clear("size")
			}
		}
		return nil
	})
	has(t, e.plan(attrs{"name": str("a")}), attrs{"title": str("new a"), "etag": unknownText})
	e.apply(attrs{"name": str("a")})
	has(t, e.state, attrs{"title": str("new a"), "etag": str("created"), "arn": str("created")})
	has(t, e.plan(attrs{"name": str("b")}), attrs{"title": str("a, then b"), "etag": unknownText, "arn": unknownText})
	e.apply(attrs{"name": str("b")})
	has(t, e.state, attrs{"title": str("a, then b"), "etag": str("updated"), "arn": str("updated")})
	e.plan(attrs{"name": str("b"), "size": num(1)})
	if len(e.replace) != 1 || value.FormatPath(e.replace[0]) != ".size" {
		t.Errorf("replaces %v", e.replace)
	}
	e.plan(attrs{"name": str("b"), "size": num(7)})
	if len(e.replace) != 0 {
		t.Errorf("replaces %v although it was cleared", e.replace)
	}
}

func TestMistakesWhilePlanningAreErrorsAtTheirPlaces(t *testing.T) {
	for name, test := range map[string]struct {
		diff   func(d *ResourceDiff) error
		config attrs
		path   string
		want   string
	}{
		"an error": {func(d *ResourceDiff) error { return errors.New("not like this") }, attrs{}, "",
			"not like this"},
		"an unknown value": {func(d *ResourceDiff) error { d.Get("name"); return nil }, attrs{"name": unknownText},
			".name", `needs "name" now, but it is known only after apply`},
		"GetOk of one": {func(d *ResourceDiff) error { d.GetOk("name"); return nil }, attrs{"name": unknownText},
			".name", "known only after apply"},
		"GetChange of one": {func(d *ResourceDiff) error { d.GetChange("name"); return nil }, attrs{
			"name": unknownText}, ".name", "known only after apply"},
		"one in a map": {func(d *ResourceDiff) error { d.Get("tags"); return nil }, attrs{
			"tags": cty.MapVal(attrs{"a": unknownText})}, `.tags["a"]`, "known only after apply"},
		"a key of one": {func(d *ResourceDiff) error { d.Get("tags.a"); return nil }, attrs{
			"tags": cty.MapVal(attrs{"a": unknownText})}, `.tags["a"]`, "known only after apply"},
		"what is computed": {func(d *ResourceDiff) error { d.Get("etag"); return nil }, attrs{}, ".etag",
			"known only after apply"},
		"decoding one": {func(d *ResourceDiff) error {
			_, err := Decode[struct {
				N string `tombolo:"name"`
			}](d)
			return err
		}, attrs{"name": unknownText}, "", "name is known only after apply"},
		"an unknown key": {func(d *ResourceDiff) error { d.Get("nam"); return nil }, attrs{}, "",
			`there is no "nam". Did you mean "name"?`},
		"set an unknown key": {func(d *ResourceDiff) error { _ = d.SetNew("titel", 1); return nil }, attrs{}, "",
			`Did you mean "title"?`},
		"set a wrong type": {func(d *ResourceDiff) error { _ = d.SetNew("title", 1); return nil }, attrs{},
			".title", "TypeString needs a string, not int"},
		"set what is given": {func(d *ResourceDiff) error { return d.SetNew("title", "b") }, attrs{
			"title": str("a")}, "", "it is configured"},
		"set what is not ours": {func(d *ResourceDiff) error { return d.SetNew("name", "b") }, attrs{}, "",
			"not Computed"},
		"replace for nothing": {func(d *ResourceDiff) error { return d.ForceNew("nam") }, attrs{}, "",
			`there is no "nam"`},
		"a panic": {func(d *ResourceDiff) error { return errors.New(fmt.Sprint([]string{}[len(d.Id())])) },
			attrs{}, "", "panicked in schema_test."},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, custom(t, test.diff).tryPlan(test.config).Diagnostics, test.path, test.want)
		})
	}
}

func TestCustomizeDiffReportsUnknownValues(t *testing.T) {
	e := custom(t, func(d *ResourceDiff) error {
		v, known := d.GetKnown("name")
		if known || v != "" || d.NewValueKnown("name") || !d.IsUnknown("name") || !d.HasChange("name") {
			return errors.New("the name is taken for known")
		}
		if v, known := d.GetKnown("size"); !known || v != 2 || d.IsUnknown("size") {
			return errors.New("the size is taken for unknown")
		}
		if d.Get("tags.%") != 1 || d.IsUnknown("tags.b") {
			return errors.New("the tags are not known")
		}
		return nil
	})
	e.plan(attrs{"name": unknownText, "size": num(2), "tags": cty.MapVal(attrs{"a": unknownText})})
}

func TestEquivalentValuesAreNoChange(t *testing.T) {
	lower := func(v interface{}) string { return strings.ToLower(v.(string)) }
	fold := func(_, was, is string, _ *ResourceData) bool { return strings.EqualFold(was, is) }
	var keys []string
	fields := map[string]*Schema{
		"form": {Type: TypeString, Optional: true, StateFunc: lower},
		"fold": {Type: TypeString, Optional: true, DiffSuppressFunc: fold},
		"count_": {Type: TypeInt, Optional: true, DiffSuppressFunc: func(_, was, is string, d *ResourceData) bool {
			return was == "10" && is == "11" && d.Id() == "1"
		}},
		"words": {Type: TypeList, Optional: true, Elem: &Schema{Type: TypeString}, DiffSuppressFunc: fold},
		"tags": {Type: TypeMap, Optional: true, DiffSuppressFunc: func(k, was, is string, d *ResourceData) bool {
			keys = append(keys, k)
			return k == "tags.%" || k == "tags.system"
		}},
		"rule": {Type: TypeList, Optional: true, Elem: &Resource{
			Schema: map[string]*Schema{
				"name": {Type: TypeString, Optional: true, DiffSuppressFunc: func(k, was, is string,
					d *ResourceData) bool {
					keys = append(keys, k)
					return strings.EqualFold(was, is)
				}}}}},
	}
	before := attrs{"form": str("A"), "fold": str("A"), "count_": num(10),
		"words": cty.ListVal([]cty.Value{str("A"), str("b")}),
		"tags":  cty.MapVal(attrs{"own": str("x"), "system": str("y")}), "rule": tup(obj(attrs{"name": str("A")}))}
	e := start(t, keeper(fields, func(op string, d *ResourceData) error {
		switch op {
		case "create": // the spelling of the remote system
			return errors.Join(d.Set("form", "a"), d.Set("fold", "a"))
		case "read":
			return d.Set("form", "a")
		}
		return nil
	}))
	e.apply(before)
	has(t, e.state, before)
	if diags := e.read(); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	has(t, e.state, attrs{"form": str("A")})

	has(t, e.plan(attrs{"form": str("a"), "fold": str("a"), "count_": num(11),
		"words": cty.ListVal([]cty.Value{str("a"), str("B")}),
		"tags":  cty.MapVal(attrs{"own": str("x")}), "rule": tup(obj(attrs{"name": str("a")}))}), attrs{
		"form": str("A"), "fold": str("A"), "count_": num(10), "words": before["words"], "tags": before["tags"],
		"rule": cty.ListVal([]cty.Value{obj(attrs{"name": str("A")})}),
	})
	has(t, e.plan(attrs{"form": str("b"), "fold": str("b"), "tags": cty.MapVal(attrs{"own": str("z")})}), attrs{
		"form": str("b"), "fold": str("b"), "count_": null, "tags": cty.MapVal(attrs{"own": str("z")}),
	})
	if all := strings.Join(keys, " "); !strings.Contains(all, "tags.own") || !strings.Contains(all, "rule.0.name") {
		t.Errorf("asked of %s", all)
	}
}

// TestBlocksMayBeUnknownAsAWhole plans with dynamic blocks over an object that does not exist yet.
func TestBlocksMayBeUnknownAsAWhole(t *testing.T) {
	r := keeper(map[string]*Schema{
		"rule": {Type: TypeList, Optional: true, MinItems: 2, Elem: &Resource{Schema: map[string]*Schema{
			"port": {Type: TypeInt, Optional: true, ForceNew: true, Default: 1, DiffSuppressFunc: func(_, _, _ string,
				_ *ResourceData) bool {
				return false
			}},
			"rid": {Type: TypeString, Computed: true},
		}}},
		"peer": {Type: TypeSet, Optional: true, Elem: &Resource{
			Schema: map[string]*Schema{"port": {Type: TypeInt, Optional: true, Default: 1}}}},
		"note": {Type: TypeString, Optional: true, ConflictsWith: []string{"rule"}, AtLeastOneOf: []string{
			"rule", "peer"}},
	}, nil)
	r.CustomizeDiff = func(_ context.Context, d *ResourceDiff, _ interface{}) error {
		if _, known := d.GetKnown("rule"); known || !d.HasChange("rule") || d.Get("rule.0.port") == 0 {
			return errors.New("the rules are taken for known")
		}
		return nil
	}
	e := start(t, r)
	block := e.rt.Block
	unknown := attrs{"rule": cty.UnknownVal(block.Blocks["rule"].ImpliedType()),
		"peer": cty.UnknownVal(block.Blocks["peer"].ImpliedType())}
	if diags := e.validate(unknown); len(diags) > 0 {
		t.Error(diags.Err())
	}
	refused(t, e.tryPlan(unknown).Diagnostics, ".rule[0].port", "known only after apply")
	r.CustomizeDiff = nil
	e = start(t, r)
	has(t, e.plan(unknown), unknown)
	e.apply(attrs{"rule": tup(obj(attrs{"port": num(5)}), obj(attrs{}))})
	has(t, e.plan(unknown), unknown)
	if len(e.replace) != 1 {
		t.Errorf("replaces %v", e.replace)
	}
	half := attrs{"rule": tup(obj(attrs{"port": unknownNumber}), obj(attrs{}))}
	if diags := e.validate(half); len(diags) > 0 {
		t.Error(diags.Err())
	}
	e.plan(half)
}
