package schema_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	. "github.com/tombolo-iac/tombolo/sdk/schema"
)

func everyType() map[string]*Schema {
	return map[string]*Schema{
		"flag": {Type: TypeBool, Optional: true}, "count_": {Type: TypeInt, Optional: true}, "ratio": {
			Type: TypeFloat, Optional: true},
		"name": {Type: TypeString, Optional: true}, "size": {Type: TypeInt, Optional: true, Default: 3},
		"words":  {Type: TypeList, Optional: true, Elem: &Schema{Type: TypeString}},
		"labels": {Type: TypeSet, Optional: true, Elem: &Schema{Type: TypeString}, Set: HashString},
		"tags":   {Type: TypeMap, Optional: true}, "ports": {Type: TypeMap, Optional: true, Elem: &Schema{
			Type: TypeInt}},
		"matrix": {Type: TypeList, Optional: true, Elem: &Schema{Type: TypeList, Elem: &Schema{Type: TypeInt}}},
		"any":    {Type: TypeAny, Optional: true},
		"rule": {Type: TypeList, Optional: true, Elem: &Resource{Schema: map[string]*Schema{
			"port":  {Type: TypeInt, Required: true},
			"hosts": {Type: TypeSet, Optional: true, Elem: &Schema{Type: TypeString}},
		}}},
		"peer": {Type: TypeSet, Optional: true, Elem: &Resource{
			Schema: map[string]*Schema{"name": {Type: TypeString, Optional: true}, "weight": {
				Type: TypeInt, Optional: true}}}},
	}
}

type m = map[string]interface{}
type l = []interface{}

func full() m {
	return m{
		"flag": true, "count_": 7, "ratio": 0.1, "name": "n", "words": []string{"a", ""}, "labels": l{"x", "y", "x"},
		"tags":  map[string]string{"a.b": "c"},
		"ports": m{"http": 80}, "matrix": [][]int{{1, 2}, {}}, "any": m{"a": l{1.5, "x", nil, true}},
		"rule": l{m{"port": 1, "hosts": []string{"h"}}, map[string]int{"port": 2}}, "peer": []m{
			{"name": "p"}, {"weight": 2}},
	}
}

func TestGetReturnsGoValues(t *testing.T) {
	d := TestResourceDataRaw(t, everyType(), full())
	labels := d.Get("labels").(*Set)
	for key, want := range map[string]interface{}{
		"flag": true, "count_": 7, "ratio": 0.1, "name": "n", "size": 3, "words": l{"a", ""}, "words.#": 2,
		"words.0": "a", "words.1": "", "words.2": "",
		"tags": m{"a.b": "c"}, "tags.a.b": "c", "tags.%": 1, "tags.none": "", "ports": m{"http": 80}, "ports.http": 80,
		"matrix": l{l{1, 2}, l{}}, "matrix.0.1": 2, "matrix.1.#": 0,
		"any": m{"a": l{1.5, "x", nil, true}}, "rule.#": 2, "rule.0.port": 1, "rule.1.port": 2, "rule.1.hosts.#": 0,
		"rule.5.port": 0, "peer.#": 2, "labels.#": 2,
		fmt.Sprintf("labels.%d", HashString("x")): "x", fmt.Sprintf("labels.%d", HashString("z")): "",
	} {
		if got := d.Get(key); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %#v, want %#v", key, got, want)
		}
	}
	if labels.Len() != 2 || !labels.Contains("x") || labels.Contains("z") || labels.F == nil {
		t.Errorf("the labels are %#v", labels)
	}
	if hosts := d.Get("rule.0").(m)["hosts"].(*Set); !hosts.Equal(NewSet(nil, l{"h"})) {
		t.Errorf("the hosts are %v", hosts)
	}
	if !d.Get("peer").(*Set).Contains(m{"name": "", "weight": 2}) {
		t.Errorf("the peers are %v", d.Get("peer"))
	}
	empty := TestResourceDataRaw(t, everyType(), nil)
	for key, want := range map[string]interface{}{"flag": false, "count_": 0, "ratio": 0.0, "name": "", "words": l{},
		"tags": m{}, "any": nil, "rule": l{}, "rule.0": m{"port": 0, "hosts": NewSet(nil, nil)}} {
		if got := empty.Get(key); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %#v, want %#v", key, got, want)
		}
		if _, ok := empty.GetOk(key); ok && key != "rule.0" {
			t.Errorf("%s is there", key)
		}
	}
	if v, ok := TestResourceDataRaw(t, everyType(), m{"count_": 0}).GetOkExists("count_"); !ok || v != 0 {
		t.Error("zero was configured")
	}
	if _, ok := empty.GetOkExists("count_"); ok {
		t.Error("nothing was configured")
	}
}

func TestSetAcceptsOnlyMatchingValues(t *testing.T) {
	type name string
	word, none := "w", (*string)(nil)
	for _, test := range []struct {
		key  string
		v    interface{}
		want interface{} // or the text of an error
		fail bool
	}{
		{"flag", true, true, false}, {"flag", "true", "TypeBool needs a bool, not string", true},
		{"flag", 1, "needs a bool", true},
		{"count_", int64(9), 9, false}, {"count_", uint8(9), 9, false}, {"count_", 9.0, 9, false},
		{"count_", 9.5, "needs an integer", true}, {"count_", "9", "needs an integer, not string", true},
		{"ratio", float32(0.1), 0.1, false}, {"ratio", 2, 2.0, false}, {"ratio", "2", "needs a number", true},
		{"ratio", 1 / zero, "cannot be stored", true},
		{"name", name("x"), "x", false}, {"name", &word, "w", false}, {"name", none, "", false},
		{"name", nil, "", false}, {"name", 5, "TypeString needs a string, not int", true},
		{"name", []byte("x"), "needs a string", true},
		{"words", []string{"a"}, l{"a"}, false},
		{"words", l{"a", 1}, `set "words": at words[1], TypeString needs a string, not int`, true},
		{"words", "a", "TypeList needs a slice, not string", true}, {"words", []*string{&word}, l{"w"}, false},
		{"words", NewSet(nil, l{"a"}), "TypeList needs a slice", true}, {"labels", []string{"x", "x"},
			NewSet(HashString, l{"x"}), false}, {"labels", NewSet(HashString, l{"x"}), NewSet(HashString, l{"x"}),
			false},
		{"labels", l{"x", 1}, "in an element of the set, TypeString needs a string", true},
		{"rule", l{m{"hosts": l{1}}}, `set "rule": at rule[0].hosts, in an element of the set, TypeString`, true},
		{"labels", m{"x": 1}, "TypeSet needs a *Set or a slice", true}, {"tags", map[string]string{"a": "b"},
			m{"a": "b"}, false}, {"tags", map[int]string{1: "b"}, "a map with strings as keys", true},
		{"ports", m{"a": "b"}, "needs an integer", true}, {"rule", l{m{"port": 1, "prt": 2}},
			`there is no "prt". Did you mean "port"?`, true},
		{"rule", l{5}, "needs a map with strings as keys, or a struct", true},
		{"rule", m{"port": 1}, "TypeList needs a slice", true}, {"any", l{1, "a", m{"b": true}},
			l{1.0, "a", m{"b": true}}, false}, {"any", make(chan int), "cannot be stored", true},
		{"rule.0.port", 1, `set "rule"`, true}, {"nmae", 1, `Did you mean "name"?`, true},
		{"id", 1, "an id is a string", true},
	} {
		d := TestResourceDataRaw(t, everyType(), nil)
		err := d.Set(test.key, test.v)
		switch {
		case test.fail && (err == nil || !strings.Contains(err.Error(), test.want.(string))):
			t.Errorf("set %s to %#v: got %v, want %q", test.key, test.v, err, test.want)
		case !test.fail && err != nil:
			t.Errorf("set %s to %#v: %s", test.key, test.v, err)
		case !test.fail && fmt.Sprint(d.Get(test.key)) != fmt.Sprint(test.want):
			t.Errorf("set %s to %#v: it is %#v", test.key, test.v, d.Get(test.key))
		}
	}
}

var zero = 0.0

// TestSettingResultsOfGetChangesNothing passes the results of Get to Set, like a Read of an unchanged object.
func TestSettingResultsOfGetChangesNothing(t *testing.T) {
	configs := map[string]attrs{
		"nothing": {},
		"everything": {"flag": cty.True, "ratio": cty.MustParseNumberVal("0.1"), "name": str("n"),
			"words": cty.ListVal([]cty.Value{str("a")}), "labels": cty.SetVal([]cty.Value{str("b")}),
			"tags": cty.MapVal(attrs{"a": str("b")}), "rule": tup(obj(attrs{"port": num(1)})),
			"peer": tup(obj(attrs{"name": str("p")}), obj(attrs{"name": str("p"), "weight": num(1)}))},
		"zero values": {"flag": cty.False, "count_": num(0), "ratio": num(0), "name": str(""),
			"words": cty.ListValEmpty(cty.String), "labels": cty.SetValEmpty(cty.String),
			"tags": cty.MapValEmpty(cty.String),
			"rule": tup(obj(attrs{"port": num(0), "hosts": cty.SetValEmpty(cty.String)})),
			"peer": tup(obj(attrs{"name": str("")}))},
		"nulls": {"words": cty.ListVal([]cty.Value{cty.NullVal(cty.String)}),
			"tags": cty.MapVal(attrs{"a": cty.NullVal(cty.String)}), "any": null},
		"precise": {"ratio": cty.MustParseNumberVal("0.10000000000000000000000001")},
	}
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			e := start(t, keeper(everyType(), func(op string, d *ResourceData) error {
				for key := range everyType() {
					if key != "any" {
						if err := d.Set(key, d.Get(key)); err != nil {
							return err
						}
					}
				}
				return nil
			}))
			e.apply(config)
			before := e.state
			if diags := e.read(); diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			for key, v := range before.AsValueMap() {
				if now := e.state.GetAttr(key); !now.RawEquals(v) {
					t.Errorf("%s was %#v, is %#v", key, v, now)
				}
			}
		})
	}
}

func TestChangesAreReported(t *testing.T) {
	e := start(t, keeper(everyType(), func(op string, d *ResourceData) error {
		if op != "update" {
			if op == "create" && (!d.IsNewResource() || !d.HasChange("name") || d.HasChange("flag")) {
				t.Error("changes of a new object")
			}
			return nil
		}
		for key, want := range map[string]bool{"name": true, "count_": true, "flag": false, "words": true,
			"words.0": false, "words.1": true, "words.#": true, "rule": true, "rule.0.port": false,
			"rule.0.hosts": true, "peer": false, "id": false} {
			if got := d.HasChange(key); got != want {
				t.Errorf("%s has changed: %t", key, got)
			}
		}
		if was, is := d.GetChange("words"); fmt.Sprint(was, is) != "[a] [a b]" {
			t.Errorf("words were %v, are %v", was, is)
		}
		if !d.HasChanges("flag", "name") || d.HasChanges("flag", "peer") || !d.HasChangesExcept("name") ||
			d.HasChangesExcept("name", "count_", "words", "rule") || !d.HasChangeExcept("name") {
			t.Error("several changes at once")
		}
		if d.IsNewResource() || d.GetRawState().GetAttr("name").AsString() != "a" ||
			d.GetRawPlan().GetAttr("name").AsString() != "b" || !d.GetRawConfig().GetAttr("size").IsNull() {
			t.Error("the raw values are wrong")
		}
		if v, diags := d.GetRawConfigAt(cty.GetAttrPath("words").IndexInt(1)); diags.HasErrors() ||
			v.AsString() != "b" {
			t.Error("a part of the configuration is wrong")
		}
		if _, diags := d.GetRawConfigAt(cty.GetAttrPath("wrds")); !diags.HasErrors() {
			t.Error("there is no such part")
		}
		_ = d.Set("name", "b")
		return nil
	}))
	list := func(words ...string) cty.Value {
		vals := []cty.Value{}
		for _, w := range words {
			vals = append(vals, str(w))
		}
		return cty.ListVal(vals)
	}
	peers := tup(obj(attrs{"name": str("p")}))
	e.apply(attrs{"name": str("a"), "words": list("a"), "rule": tup(obj(attrs{"port": num(1)})), "peer": peers})
	e.apply(attrs{"name": str("b"), "count_": num(0), "words": list("a", "b"),
		"rule": tup(obj(attrs{"port": num(1), "hosts": cty.SetVal([]cty.Value{str("h")})})), "peer": peers})
}

type typedRule struct {
	Port  int16    `tombolo:"port"`
	Hosts []string `tombolo:"hosts"`
}

type typedCommon struct {
	Name *string `tombolo:"name"`
	Flag bool    `tombolo:"flag"`
}

type typed struct {
	typedCommon
	ID     string                    `tombolo:"id"`
	Count  int                       `tombolo:"count_"`
	Ratio  float32                   `tombolo:"ratio"`
	Words  []string                  `tombolo:"words"`
	Labels []string                  `tombolo:"labels"`
	Tags   map[string]string         `tombolo:"tags"`
	Ports  map[string]uint16         `tombolo:"ports"`
	Rules  []typedRule               `tombolo:"rule"`
	Peers  []*map[string]interface{} `tombolo:"-"`
	Matrix [][]int                   `tombolo:"matrix"`
	Any    interface{}               `tombolo:"any"`
	Raw    cty.Value                 `tombolo:"size"`
	Other  time.Time
}

func TestStructsRepresentObjects(t *testing.T) {
	d := TestResourceDataRaw(t, everyType(), full())
	v, err := Decode[typed](d)
	if err != nil {
		t.Fatal(err)
	}
	name := "n"
	want := typed{
		typedCommon: typedCommon{Name: &name, Flag: true}, Count: 7, Ratio: 0.1, Words: []string{"a", ""},
		Labels: []string{"x", "y"}, Tags: map[string]string{"a.b": "c"},
		Ports: map[string]uint16{"http": 80}, Rules: []typedRule{{1, []string{"h"}}, {2, nil}}, Matrix: [][]int{
			{1, 2}, {}}, Any: m{"a": l{1.5, "x", nil, true}}, Raw: num(3),
	}
	want.Raw = v.Raw
	if !v.Raw.RawEquals(num(3)) || !reflect.DeepEqual(v, want) {
		t.Errorf("got  %#v\nwant %#v", v, want)
	}
	v.Words, v.ID, v.Name = []string{"z"}, "7", nil
	type less struct {
		ID    string      `tombolo:"id"`
		Words []string    `tombolo:"words"`
		Name  *string     `tombolo:"name"`
		Rules []typedRule `tombolo:"rule"`
	}
	if err := d.Encode(less{v.ID, v.Words, v.Name, v.Rules}); err != nil {
		t.Fatal(err)
	}
	if d.Id() != "7" || fmt.Sprint(d.Get("words")) != "[z]" || d.Get("name") != "" || d.Get("rule.1.port") != 2 {
		t.Errorf("encoded %v", d.State())
	}
	for what, err := range map[string]error{
		`the schema has no "nmae". Did you mean`: tryDecode[struct {
			N string `tombolo:"nmae"`
		}](d),
		"count_ is of TypeInt, which does not fit into string": tryDecode[struct {
			N string `tombolo:"count_"`
		}](d),
		"matrix[0] is of TypeList, which does not fit into int": tryDecode[struct {
			N []int `tombolo:"matrix"`
		}](d),
		"has no fields with tags": tryDecode[struct{ N []int }](d),
		"is not exported": tryDecode[struct {
			n []int `tombolo:"words"`
		}](d),
		"a pointer to a struct": d.Decode(v),
		"expected a struct":     d.Encode("x"),
		`the schema has no such attribute`: d.Encode(struct {
			N string `tombolo:"nmae"`
		}{}),
	} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want %q", err, what)
		}
	}
	big := TestResourceDataRaw(t, everyType(), m{"count_": 300})
	if err := tryDecode[struct {
		C tiny `tombolo:"count_"`
	}](big); err == nil || !strings.Contains(err.Error(), "count_ is 300, which does not fit") {
		t.Errorf("got %v", err)
	}
}

type tiny int8

func tryDecode[T any](d Decoder) error {
	_, err := Decode[T](d)
	return err
}

func TestSetsAreSets(t *testing.T) {
	a, b := NewSet(HashString, l{"a", "b", "b"}), NewSet(HashString, l{"b", "c"})
	if a.Len() != 2 || a.Union(b).Len() != 3 || !a.Intersection(b).Equal(NewSet(HashString, l{"b"})) ||
		!a.Difference(b).Equal(NewSet(HashString, l{"a"})) {
		t.Error("the set operations are wrong")
	}
	a.Remove("b")
	if a.Contains("b") || a.Equal(b) || a.Equal("a") || !a.HashEqual(NewSet(HashString, l{"a"})) {
		t.Error("removing or comparing is wrong")
	}
	var none *Set
	var zero Set
	zero.Add(1)
	zero.Add(2)
	if none.Len() != 0 || len(none.List()) != 0 || zero.Len() != 2 || HashInt(1) != HashString("1") {
		t.Error("empty sets")
	}
	// Elements with equal concatenated texts are different elements.
	tricky := NewSet(nil, l{m{"a": "b", "c": ""}, m{"a": "bc", "": ""}, l{"a", "b"}, l{"ab"}, l{l{"a"}, "b"}, "1", 1,
		true, "true", nil, "", NewSet(nil, l{"a"})})
	if tricky.Len() != 12 {
		t.Errorf("of twelve elements, %d are left", tricky.Len())
	}
}

// FuzzKeys gets any key: the result is a value, or the callback ends with a diagnostic.
func FuzzKeys(f *testing.F) {
	for _, key := range []string{"rule.0.port", "rule.#", "labels.123", "tags.a.b", "matrix.0.1",
		"rule.99999999999999999999", "any.a", "peer.1.name", ".", "", "#", "rule..port", "id.0", "words.-1"} {
		f.Add(key)
	}
	d := TestResourceDataRaw(f, everyType(), full())
	f.Fuzz(func(t *testing.T, key string) {
		defer func() {
			if r := recover(); r != nil && !strings.Contains(fmt.Sprint(r), "Unknown attribute") {
				t.Fatalf("%q: %v", key, r)
			}
		}()
		d.Get(key)
		d.HasChange(key)
		d.IsUnknown(key)
	})
}
