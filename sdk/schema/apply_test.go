package schema_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
	. "github.com/tombolo-iac/tombolo/sdk/schema"
)

var errHalfWay = errors.New("half way")

func partialFields() map[string]*Schema {
	return map[string]*Schema{
		"name":   {Type: TypeString, Optional: true},
		"tags":   {Type: TypeMap, Optional: true},
		"labels": {Type: TypeSet, Optional: true, Elem: &Schema{Type: TypeString}},
		"etag":   {Type: TypeString, Computed: true},
		"rule": {Type: TypeList, Optional: true, Elem: &Resource{Schema: map[string]*Schema{
			"port": {Type: TypeInt, Optional: true}, "text": {Type: TypeString, Optional: true},
		}}},
	}
}

func rules(v ...cty.Value) cty.Value {
	if len(v) == 0 {
		return cty.ListValEmpty(cty.Object(map[string]cty.Type{"port": cty.Number, "text": cty.String}))
	}
	return cty.ListVal(v)
}

func rule(port int64, text string) cty.Value { return obj(attrs{"port": num(port), "text": str(text)}) }

func TestPartialStateHoldsExactlyWhatHappened(t *testing.T) {
	before := attrs{"name": str("a"), "tags": cty.MapVal(attrs{"k.1": str("a"), "l": str("a")}),
		"labels": cty.SetVal([]cty.Value{str("a")}), "rule": tup(rule(1, "a"), rule(2, "a"))}
	after := attrs{"name": str("b"), "tags": cty.MapVal(attrs{"k.1": str("b"), "m": str("b")}),
		"labels": cty.SetVal([]cty.Value{str("b")}), "rule": tup(rule(3, "b"), rule(4, "b"), rule(5, "b"))}
	old := attrs{"name": str("a"), "tags": before["tags"], "labels": before["labels"],
		"rule": rules(rule(1, "a"), rule(2, "a")), "etag": str("old")}
	done := attrs{"name": str("b"), "tags": after["tags"], "labels": after["labels"],
		"rule": rules(rule(3, "b"), rule(4, "b"), rule(5, "b")), "etag": str("new")}
	but := func(base, with attrs) attrs {
		out := attrs{}
		for _, from := range []attrs{base, with} {
			for k, v := range from {
				out[k] = v
			}
		}
		return out
	}
	for name, test := range map[string]struct {
		on     bool
		accept []string
		want   attrs // after a failed update
		create attrs // after a failed creation
	}{
		"off":                  {false, nil, done, done},
		"off, whatever is set": {false, []string{"tags"}, done, done},
		"nothing": {true, nil, old, attrs{"name": null, "tags": null, "labels": null, "rule": rules(),
			"etag": null}},
		"an attribute": {true, []string{"name"}, but(old, attrs{"name": str("b")}), attrs{
			"name": str("b"), "tags": null, "etag": null}},
		"what is computed": {true, []string{"etag"}, but(old, attrs{"etag": str("new")}), attrs{
			"name": null, "etag": str("new")}},
		"a map": {true, []string{"tags"}, but(old, attrs{"tags": after["tags"]}), attrs{
			"tags": after["tags"], "name": null}},
		"a key of it, with a dot": {true, []string{"tags.k.1"},
			but(old, attrs{"tags": cty.MapVal(attrs{"k.1": str("b"), "l": str("a")})}), attrs{
				"tags": cty.MapVal(attrs{"k.1": str("b")})}},
		"a key that is gone": {true, []string{"tags.l"},
			but(old, attrs{"tags": cty.MapVal(attrs{"k.1": str("a")})}), attrs{"tags": null}},
		"a set": {true, []string{"labels"}, but(old, attrs{"labels": after["labels"]}), attrs{
			"labels": after["labels"]}},
		"all blocks": {true, []string{"rule"}, but(old, attrs{"rule": done["rule"]}), attrs{
			"rule": done["rule"]}},
		"a block": {true, []string{"rule.1"},
			but(old, attrs{"rule": rules(rule(1, "a"), rule(4, "b"))}), attrs{"rule": rules()}},
		"inside of a block": {true, []string{"rule.0.port"},
			but(old, attrs{"rule": rules(rule(3, "a"), rule(2, "a"))}), attrs{
				"rule": rules(obj(attrs{"port": num(3), "text": cty.NullVal(cty.String)}))}},
		"a block at the end": {true, []string{"rule.2"},
			but(old, attrs{"rule": rules(rule(1, "a"), rule(2, "a"), rule(5, "b"))}), attrs{"rule": rules()}},
		"several": {true, []string{"name", "rule.0.port", "rule.0.text"},
			but(old, attrs{"name": str("b"), "rule": rules(rule(3, "b"), rule(2, "a"))}), attrs{
				"name": str("b"), "rule": rules(rule(3, "b"))}},
	} {
		for _, op := range []string{"update", "create"} {
			t.Run(name+", "+op, func(t *testing.T) {
				failing := op
				e := start(t, keeper(partialFields(), func(op string, d *ResourceData) error {
					if op != failing {
						return d.Set("etag", "old")
					}
					d.Partial(test.on)
					if err := d.Set("etag", "new"); err != nil {
						return err
					}
					for _, key := range test.accept {
						d.SetPartial(key)
					}
					return errHalfWay
				}))
				want := test.create
				if op == "update" {
					e.apply(before)
					want = test.want
				}
				refused(t, e.tryApply(after), "", "half way")
				has(t, e.state, want)
				has(t, e.state, attrs{"id": str("1")})
			})
		}
	}
}

// TestTheNextApplyRepairsAPartialUpdate is the documented example of partial state: the tags succeed, the name fails.
func TestTheNextApplyRepairsAPartialUpdate(t *testing.T) {
	works := false
	var changed []string
	update := func(d *ResourceData) error {
		changed = nil
		d.Partial(true)
		if d.HasChange("tags") {
			changed = append(changed, "tags")
			d.SetPartial("tags")
		}
		if d.HasChange("name") {
			changed = append(changed, "name")
			if !works {
				return errHalfWay
			}
			d.SetPartial("name")
		}
		d.Partial(false)
		return nil
	}
	e := start(t, keeper(partialFields(), func(op string, d *ResourceData) error {
		if op == "update" {
			return update(d)
		}
		return nil
	}))
	e.apply(attrs{"name": str("a"), "tags": cty.MapVal(attrs{"k": str("a")})})
	config := attrs{"name": str("b"), "tags": cty.MapVal(attrs{"k": str("b")})}
	refused(t, e.tryApply(config), "", "half way")
	has(t, e.state, attrs{"name": str("a"), "tags": config["tags"]})
	works = true
	e.apply(config)
	if fmt.Sprint(changed) != "[name]" {
		t.Errorf("the second apply changed %v", changed)
	}
	has(t, e.state, config)
	if !e.plan(config).RawEquals(e.state) {
		t.Error("there is something to do still")
	}
}

func TestCallbackResultsAreStored(t *testing.T) {
	fields := map[string]*Schema{
		"name": {Type: TypeString, Optional: true}, "size": {Type: TypeInt, Optional: true}, "etag": {
			Type: TypeString, Computed: true},
	}
	config := attrs{"name": str("b")}
	type result struct {
		state attrs // nil: no object
		words []string
		path  string
	}
	for name, test := range map[string]struct {
		on     func(d *ResourceData) error
		create result
		update result
	}{
		"an error": {
			func(d *ResourceData) error { return errHalfWay },
			result{state: attrs{"id": str("1"), "name": str("b"), "etag": null}, words: []string{"half way"}},
			result{state: attrs{"name": str("b"), "etag": str("old")}, words: []string{"half way"}},
		},
		"an error and no id": {
			func(d *ResourceData) error { d.SetId(""); return errHalfWay },
			result{words: []string{"half way"}},
			result{words: []string{"half way"}},
		},
		"no id": {
			func(d *ResourceData) error { d.SetId(""); return nil },
			result{words: []string{"Nothing was created", "without calling SetId"}},
			result{words: []string{"The object is gone"}},
		},
		"a panic": {
			func(d *ResourceData) error { _ = d.Set("etag", "new"); panic("oh no") },
			result{state: attrs{"id": str("1"), "name": str("b"), "etag": str("new")}, words: []string{
				"panicked in schema_test.", "apply_test.go", "an object of type demo_thing", "oh no"}},
			result{state: attrs{"name": str("a"), "etag": str("new")}, words: []string{"panicked in schema_test.",
				"oh no"}},
		},
		"a panic in partial mode": {
			func(d *ResourceData) error {
				d.Partial(true)
				_ = d.Set("etag", "new")
				d.SetPartial("name")
				panic(errHalfWay)
			},
			result{state: attrs{"name": str("b"), "etag": null}, words: []string{"half way"}},
			result{state: attrs{"name": str("b"), "etag": str("old")}, words: []string{"half way"}},
		},
		"a panic of the runtime": {
			func(d *ResourceData) error { _ = d.Get("name").(int); return nil },
			result{state: attrs{"name": str("b")}, words: []string{"panicked in schema_test.", "interface conversion"}},
			result{state: attrs{"name": str("a")}, words: []string{"interface conversion"}},
		},
		"a wrong type, returned": {
			func(d *ResourceData) error { return d.Set("size", "many") },
			result{state: attrs{"name": str("b"), "size": null}, words: []string{
				"TypeInt needs an integer, not string"}, path: ".size"},
			result{state: attrs{"name": str("b")}, words: []string{"TypeInt needs an integer, not string"},
				path: ".size"},
		},
		"a wrong type, dropped": {
			func(d *ResourceData) error { _ = d.Set("size", "many"); return nil },
			result{state: attrs{"name": str("b"), "size": null}, words: []string{"TypeInt needs an integer, not string",
				"bug in the provider"}, path: ".size"},
			result{state: attrs{"name": str("b")}, words: []string{"TypeInt needs"}, path: ".size"},
		},
		"an unknown key": {
			func(d *ResourceData) error { _ = d.Set("siez", 1); return nil },
			result{state: attrs{"name": str("b")}, words: []string{`"siez"`, `Did you mean "size"?`}},
			result{state: attrs{"name": str("b")}, words: []string{`"siez"`}},
		},
		"another value than planned": {
			func(d *ResourceData) error { return d.Set("name", "c") },
			result{state: attrs{"name": str("c")}, words: []string{"Result differs from the plan", "was planned as",
				"DiffSuppressFunc"}, path: ".name"},
			result{state: attrs{"name": str("c")}, words: []string{"Result differs from the plan"}, path: ".name"},
		},
		"a value where none was planned": {
			func(d *ResourceData) error { return d.Set("size", 4) },
			result{state: attrs{"size": num(4)}, words: []string{"was planned as null"}, path: ".size"},
			result{state: attrs{"size": num(4)}, words: []string{"was planned as null"}, path: ".size"},
		},
		"partial mode to the end": {
			func(d *ResourceData) error { d.Partial(true); return nil },
			result{state: attrs{"id": str("1"), "name": null}, words: []string{"Not everything was recorded",
				"Partial(false)"}},
			result{state: attrs{"name": str("a")}, words: []string{"Not everything was recorded"}},
		},
		"zero where nothing was planned": {
			func(d *ResourceData) error { return errors.Join(d.Set("size", 0), d.Set("etag", "")) },
			result{state: attrs{"id": str("1"), "size": null, "etag": str("")}},
			result{state: attrs{"size": null, "etag": str("")}},
		},
	} {
		for op, want := range map[string]result{"create": test.create, "update": test.update} {
			t.Run(name+", "+op, func(t *testing.T) {
				e := start(t, keeper(fields, func(now string, d *ResourceData) error {
					if now != op {
						return d.Set("etag", "old")
					}
					return test.on(d)
				}))
				if op == "update" {
					e.apply(attrs{"name": str("a")})
				}
				diags := e.tryApply(config)
				if want.words == nil && diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				if want.words != nil {
					refused(t, diags, want.path, want.words...)
				}
				if want.state == nil {
					if !e.state.IsNull() {
						t.Errorf("stored: %#v", e.state)
					}
					return
				}
				has(t, e.state, want.state)
			})
		}
	}
}

func TestReadReturnsTheCurrentObject(t *testing.T) {
	fields := map[string]*Schema{
		"name": {Type: TypeString, Optional: true}, "size": {Type: TypeInt, Optional: true}, "count_": {
			Type: TypeInt, Computed: true}, "must": {Type: TypeString, Required: true},
	}
	config := attrs{"name": str("a"), "must": str("")}
	for name, test := range map[string]struct {
		exists func(d *ResourceData, _ interface{}) (bool, error)
		read   func(d *ResourceData) error
		want   attrs
		words  string
	}{
		"nothing new": {nil, func(d *ResourceData) error { return nil }, attrs{"name": str("a"), "size": null}, ""},
		"other values": {nil, func(d *ResourceData) error { return errors.Join(d.Set("name", "b"), d.Set("size", 1)) },
			attrs{"name": str("b"), "size": num(1)}, ""},
		"zero": {nil, func(d *ResourceData) error {
			return errors.Join(d.Set("name", ""), d.Set("size", 0), d.Set("count_", 0))
		}, attrs{"name": str(""), "size": null, "count_": num(0)}, ""},
		"nil": {nil, func(d *ResourceData) error {
			return errors.Join(d.Set("name", nil), d.Set("size", (*int)(nil)))
		}, attrs{"name": null, "size": null}, ""},
		"it is gone": {nil, func(d *ResourceData) error { d.SetId(""); return nil }, nil, ""},
		"it does not exist": {func(*ResourceData, interface{}) (bool, error) { return false, nil },
			func(d *ResourceData) error { panic("read") }, nil, ""},
		"it exists": {func(d *ResourceData, _ interface{}) (bool, error) { return d.Id() == "1", nil },
			func(d *ResourceData) error { return d.Set("name", "c") }, attrs{"name": str("c")}, ""},
		"nobody knows": {func(*ResourceData, interface{}) (bool, error) { return false, errHalfWay },
			func(d *ResourceData) error { panic("read") }, attrs{"name": str("a")}, "half way"},
		"an error": {nil, func(d *ResourceData) error { _ = d.Set("name", "b"); return errHalfWay }, attrs{
			"name": str("a")}, "half way"},
		"a panic": {nil, func(d *ResourceData) error { _ = d.Set("name", "b"); panic("oh no") }, attrs{
			"name": str("a")}, "oh no"},
		"a mistake, dropped": {nil, func(d *ResourceData) error { _ = d.Set("name", 1); return nil }, attrs{
			"name": str("a")}, "needs a string"},
		"a new name for itself": {nil, func(d *ResourceData) error { d.SetId("2"); return nil }, attrs{"id": str("2")},
			""},
	} {
		t.Run(name, func(t *testing.T) {
			r := keeper(fields, func(op string, d *ResourceData) error {
				if op == "read" {
					return test.read(d)
				}
				return nil
			})
			r.Exists = test.exists
			e := start(t, r)
			e.apply(config)
			diags := e.read()
			if failed := diags.HasErrors(); failed != (test.words != "") || failed &&
				!strings.Contains(diags.Err().Error(), test.words) {
				t.Fatalf("got %v, want %q", diags.Err(), test.words)
			}
			if test.want == nil {
				if !e.state.IsNull() {
					t.Errorf("found %#v", e.state)
				}
				return
			}
			has(t, e.state, test.want)
		})
	}
}

func TestFailedDeleteKeepsTheObject(t *testing.T) {
	for name, test := range map[string]struct {
		on   func(d *ResourceData) error
		want attrs
	}{
		"done":             {func(d *ResourceData) error { return nil }, nil},
		"failed":           {func(d *ResourceData) error { return errHalfWay }, attrs{"name": str("a")}},
		"failed, but gone": {func(d *ResourceData) error { d.SetId(""); return errHalfWay }, nil},
		"half done": {func(d *ResourceData) error { _ = d.Set("name", ""); return errHalfWay }, attrs{
			"name": str("")}},
		"panicked": {func(d *ResourceData) error { panic("oh no") }, attrs{"name": str("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			e := start(t, keeper(partialFields(), func(op string, d *ResourceData) error {
				if op == "delete" {
					return test.on(d)
				}
				return nil
			}))
			e.apply(attrs{"name": str("a")})
			if diags := e.destroy(); diags.HasErrors() == (name == "done") {
				t.Errorf("diagnostics: %v", diags.Err())
			}
			if test.want == nil {
				if !e.state.IsNull() {
					t.Errorf("there is %#v", e.state)
				}
				return
			}
			has(t, e.state, test.want)
		})
	}
}

func TestWriteOnlyValuesAreReadAndNeverStored(t *testing.T) {
	var got []interface{}
	e := start(t, keeper(map[string]*Schema{
		"password":         {Type: TypeString, Optional: true, WriteOnly: true, ValidateFunc: notEmpty},
		"password_version": {Type: TypeInt, Optional: true},
		"login": {Type: TypeList, Optional: true, MaxItems: 1, Elem: &Resource{Schema: map[string]*Schema{
			"user": {Type: TypeString, Required: true}, "secret": {Type: TypeString, Optional: true, WriteOnly: true},
		}}},
	}, func(op string, d *ResourceData) error {
		got = append(got, op, d.Get("password"), d.Get("login.0.secret"), d.HasChange("password"))
		return nil
	}))
	config := attrs{"password": str("hush"), "login": tup(obj(attrs{"user": str("eve"), "secret": str("quiet")}))}
	e.apply(config)
	config["password_version"] = num(2)
	e.apply(config)
	e.destroy()
	if want := "[create hush quiet false update hush quiet false delete   false]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	refused(t, e.validate(attrs{"password": str("")}), ".password", "password is empty")
	set := start(t, keeper(map[string]*Schema{"password": {Type: TypeString, Optional: true, WriteOnly: true}},
		func(_ string, d *ResourceData) error {
			return d.Set("password", "x")
		}))
	refused(t, set.tryApply(attrs{}), "", "write-only")
}

func TestProvidersAreNotConfiguredWithUnknownValues(t *testing.T) {
	p := New(&Provider{
		Schema: map[string]*Schema{
			"url":   {Type: TypeString, Required: true},
			"tries": {Type: TypeInt, Optional: true, DefaultFunc: EnvDefaultFunc("TOMBOLO_TEST_TRIES", 3)},
			"token": {Type: TypeString, Required: true, DefaultFunc: EnvDefaultFunc("TOMBOLO_TEST_TOKEN", nil)},
		},
		ConfigureContextFunc: func(_ context.Context, d *ResourceData) (interface{}, diag.Diagnostics) {
			if d.Get("tries") != 5 {
				return nil, diag.Errorf("tries: %v", d.Get("tries"))
			}
			return d.Get("url"), nil
		},
	})
	schema, _ := p.Schema(t.Context())
	configure := func(url cty.Value) diag.List {
		config := object(t, schema.Provider, attrs{"url": url})
		return p.ValidateConfig(t.Context(), provider.ValidateConfigRequest{Config: config}).Diagnostics.
			Extend(p.Configure(t.Context(), provider.ConfigureRequest{Config: config}).Diagnostics)
	}
	t.Setenv("TOMBOLO_TEST_TRIES", "5")
	if diags := configure(str("x")); len(diags) != 2 || diags[0].Summary != "Missing required argument" {
		t.Errorf("without a token: %v", diags.Err())
	}
	t.Setenv("TOMBOLO_TEST_TOKEN", "t")
	refused(t, configure(unknownText), ".url", "known only after apply")
	if diags := configure(str("x")); len(diags) > 0 {
		t.Error(diags.Err())
	}
	t.Setenv("TOMBOLO_TEST_TRIES", "many")
	refused(t, p.Configure(t.Context(), provider.ConfigureRequest{
		Config: object(t, schema.Provider, attrs{"url": str("x")})}).Diagnostics, ".tries", "TypeInt needs an integer")
}

// TestMessagesShowNoSecrets plants a secret that is only marked in the configuration.
func TestMessagesShowNoSecrets(t *testing.T) {
	e := start(t, keeper(partialFields(), func(_ string, d *ResourceData) error {
		return d.Set("name", "tops3cret too")
	}))
	diags := e.tryApply(attrs{"name": str("tops3cret")})
	refused(t, diags, ".name", "Result differs from the plan")
	if text := diags.Err().Error(); strings.Contains(text, "tops3cret") {
		t.Errorf("told: %s", text)
	}
}

func TestNewObjectsAreRecordedWhenTheyGetAnId(t *testing.T) {
	var early []cty.Value
	e := start(t, keeper(partialFields(), func(_ string, d *ResourceData) error {
		if len(early) != 1 {
			t.Error("the engine does not know of the object yet")
		}
		return d.Set("etag", "v1")
	}))
	config := e.config(attrs{"name": str("a")})
	resp := e.p.Apply(t.Context(), provider.ApplyRequest{
		Type: typ, Prior: e.state, Config: config, Planned: e.plan(attrs{"name": str("a")}),
		Partial: func(state cty.Value, _ []byte) { early = append(early, state) },
	})
	if resp.Diagnostics.HasErrors() || len(early) != 1 {
		t.Fatalf("told %d times: %v", len(early), resp.Diagnostics.Err())
	}
	has(t, early[0], attrs{"id": str("1"), "name": str("a"), "etag": null})
	has(t, resp.State, attrs{"id": str("1"), "name": str("a"), "etag": str("v1")})
}
