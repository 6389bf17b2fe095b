package handler_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

func TestExactNumbersSurviveProgramsThatRound(t *testing.T) {
	f, _ := newToy(t, handler.Options{})
	d := drive(t, f)
	big := cty.MustParseNumberVal("12345678901234567890123.0625")
	ports := cty.ListVal([]cty.Value{
		cty.ObjectVal(map[string]cty.Value{"number": big, "url": cty.NullVal(cty.String)})})
	resp := d.thing("create: floats", map[string]cty.Value{"size": big, "exact": big,
		"any": cty.TupleVal([]cty.Value{big}), "ports": ports})
	if strings.Contains(texts(resp.Diagnostics), "was planned as") {
		t.Fatal(texts(resp.Diagnostics))
	}
	for _, path := range []cty.Path{cty.GetAttrPath("size"), cty.GetAttrPath("exact"), cty.GetAttrPath("any").IndexInt(
		0), cty.GetAttrPath("ports").IndexInt(0).GetAttr("number")} {
		if got, err := path.Apply(resp.State); err != nil || !got.RawEquals(big) {
			t.Errorf("%s: got %#v, %v", value.FormatPath(path), got, err)
		}
	}
}

// planned plans a toy_thing and returns the plan.
func (d driver) planned(prior cty.Value, given map[string]cty.Value) provider.PlanResponse {
	d.t.Helper()
	resp := d.plan("toy_thing", prior, d.config("toy_thing", given))
	if resp.Diagnostics.HasErrors() {
		d.t.Fatal(texts(resp.Diagnostics))
	}
	return resp
}

func TestTheDefaultPlan(t *testing.T) {
	f, _ := newToy(t, handler.Options{})
	d := drive(t, f)
	str, num := cty.StringVal, cty.NumberIntVal
	rule := func(note cty.Value) cty.Value {
		return cty.SetVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"cidr": str("::/0"), "note": note})})
	}
	given := map[string]cty.Value{"name": str("a"), "rule": rule(cty.NullVal(cty.String)), "token": str("write-only")}

	create := d.planned(d.null("toy_thing"), given)
	v := create.Planned
	if v.GetAttr("id").IsKnown() || v.GetAttr("serial").IsKnown() || !v.GetAttr("size").RawEquals(num(1)) ||
		!v.GetAttr("rule").RawEquals(rule(str("none"))) || !v.GetAttr("token").IsNull() || !v.GetAttr("tags").IsNull() {
		t.Errorf("create: got %#v", v)
	}

	prior := v.AsValueMap()
	prior["id"], prior["serial"], prior["do"] = str("1"), num(3), cty.NullVal(cty.String)
	made := cty.ObjectVal(prior)
	if again := d.planned(made, given); !again.Planned.RawEquals(made) || len(again.RequiresReplace) > 0 {
		t.Errorf("no change: got %#v", again.Planned)
	}

	given["size"] = num(2)
	update := d.planned(made, given)
	if v := update.Planned; !v.GetAttr("id").RawEquals(str("1")) || v.GetAttr("serial").IsKnown() ||
		!v.GetAttr("size").RawEquals(num(2)) || len(update.RequiresReplace) > 0 {
		t.Errorf("update: got %#v, replace %v", v, update.RequiresReplace)
	}
	prior["size"] = num(2)
	delete(given, "size")
	if back := d.planned(cty.ObjectVal(prior), given); !back.Planned.GetAttr("size").RawEquals(num(1)) {
		t.Errorf("what is no longer configured goes back to its default: got %#v", back.Planned.GetAttr("size"))
	}

	given["name"] = cty.UnknownVal(cty.String)
	if replace := d.planned(made, given); len(replace.RequiresReplace) != 1 ||
		value.FormatPath(replace.RequiresReplace[0]) != ".name" {
		t.Errorf("force_new: got %v", replace.RequiresReplace)
	}
}

func TestForceNewAppliesAtEveryDepth(t *testing.T) {
	attrs := `"attributes": {"k": {"type": "string", "required": true, "force_new": true}, "v": {"type": "string", ` +
		`"optional": true}}`
	f, _ := newProgram(t, `{"protocol": 1, "name": "p", "command": ["x"], "schema": {"resource_schemas": {"p_t": {
	  "attributes": {
	    "l": {"optional": true, "nested_type": {"nesting_mode": "list", `+attrs+`}},
	    "m": {"optional": true, "nested_type": {"nesting_mode": "map", `+attrs+`}},
	    "o": {"optional": true, "nested_type": {"nesting_mode": "single", `+attrs+`}},
	    "c": {"type": "string", "optional": true, "computed": true, "force_new": true},
	    "x": {"type": "string", "optional": true}},
	  "block_types": {"s": {"nesting_mode": "set", "block": {`+attrs+`}}}}}}}`, handler.Options{})
	d := drive(t, f)
	obj := func(k, v string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"k": cty.StringVal(k), "v": cty.StringVal(v)})
	}
	list, set := cty.ListVal, cty.SetVal
	prior := d.config("p_t", map[string]cty.Value{
		"l": list([]cty.Value{obj("a", "1")}), "m": cty.MapVal(map[string]cty.Value{"x": obj("a", "1")}),
		"o": obj("a", "1"), "s": set([]cty.Value{obj("a", "1"), obj("b", "2")}), "c": cty.StringVal("kept"),
	})
	for name, tt := range map[string]struct {
		attr string
		v    cty.Value
		want string
	}{
		"list, other attribute": {"l", list([]cty.Value{obj("a", "2")}), ""},
		"list":                  {"l", list([]cty.Value{obj("b", "1")}), ".l[0].k"},
		"list, longer":          {"l", list([]cty.Value{obj("a", "1"), obj("b", "1")}), ".l[1].k"},
		"list, gone":            {"l", cty.NullVal(prior.GetAttr("l").Type()), ".l[0].k"},
		"map":                   {"m", cty.MapVal(map[string]cty.Value{"x": obj("b", "1")}), `.m["x"].k`},
		"map, other key":        {"m", cty.MapVal(map[string]cty.Value{"y": obj("a", "1")}), `.m["x"].k .m["y"].k`},
		"single":                {"o", obj("b", "1"), ".o.k"},
		"single, gone":          {"o", cty.NullVal(prior.GetAttr("o").Type()), ".o.k"},
		"set, other attribute":  {"s", set([]cty.Value{obj("a", "9"), obj("b", "2")}), ""},
		"set":                   {"s", set([]cty.Value{obj("a", "1"), obj("c", "2")}), ".s"},
		"set, smaller":          {"s", set([]cty.Value{obj("a", "1")}), ".s"},
		"computed, configured":  {"c", cty.StringVal("other"), ".c"},
		"computed, unset":       {"x", cty.StringVal("changed"), ""},
	} {
		config := prior.AsValueMap()
		config["c"] = cty.NullVal(cty.String)
		config[tt.attr] = tt.v
		resp := d.plan("p_t", prior, cty.ObjectVal(config))
		if resp.Diagnostics.HasErrors() {
			t.Fatal(texts(resp.Diagnostics))
		}
		value.SortPaths(resp.RequiresReplace)
		got := ""
		for _, p := range resp.RequiresReplace {
			got += " " + value.FormatPath(p)
		}
		if strings.TrimSpace(got) != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
		if _, invalid := value.FilterReplacePaths(d.s.Resources["p_t"].Block, prior, resp.Planned,
			resp.RequiresReplace); len(invalid) > 0 {
			t.Errorf("%s: the path %s does not exist", name, value.FormatPath(invalid[0]))
		}
	}
}

func TestUpgradeGetsTheStoredObjectAsItIs(t *testing.T) {
	f, _ := newToy(t, handler.Options{})
	d := drive(t, f)
	resp := d.p.UpgradeState(t.Context(), provider.UpgradeStateRequest{Type: "toy_fixed", Version: 0,
		Stored: provider.StoredObject{JSON: []byte(`{"id":"7","txt":"old"}`)}})
	want := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("7"), "text": cty.StringVal("old"),
		"twice": cty.StringVal("oldold")})
	if resp.Diagnostics.HasErrors() || !resp.State.RawEquals(want) {
		t.Errorf("got %#v %s", resp.State, texts(resp.Diagnostics))
	}
}

func TestThePlanOfTheProgramIsMergedIntoTheDefault(t *testing.T) {
	f, _ := newToy(t, handler.Options{})
	d := drive(t, f)
	config := d.config("toy_fixed", map[string]cty.Value{"text": cty.StringVal("ab")})
	resp := d.plan("toy_fixed", d.null("toy_fixed"), config)
	if v := resp.Planned; resp.Diagnostics.HasErrors() || v.GetAttr("twice").AsString() != "abab" ||
		v.GetAttr("id").IsKnown() {
		t.Errorf("got %#v %s", resp.Planned, texts(resp.Diagnostics))
	}
	resp = d.plan("toy_fixed", d.null("toy_fixed"), d.config("toy_fixed", map[string]cty.Value{
		"text": cty.UnknownVal(cty.String)}))
	if v := resp.Planned; resp.Diagnostics.HasErrors() || v.GetAttr("twice").IsKnown() || v.GetAttr("text").IsKnown() {
		t.Errorf("unknown: got %#v %s", resp.Planned, texts(resp.Diagnostics))
	}
}

func TestRequestsContainTheProviderBlockAndSecretsOnlyInStandardInput(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	f, _ := newToy(t, handler.Options{}, "TOY_LOG="+log)
	d := drive(t, f)
	diags := d.p.Configure(t.Context(), provider.ConfigureRequest{
		Config: cty.ObjectVal(map[string]cty.Value{"prefix": cty.NullVal(cty.String),
			"password": cty.StringVal("hush hush")})}).Diagnostics
	if diags.HasErrors() {
		t.Fatal(texts(diags))
	}
	d.thing("x", map[string]cty.Value{"exact": cty.MustParseNumberVal("1e30")})
	lines, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`create toy_thing {"type":"toy_thing","provider":{"password":"hush hush","prefix":"toy"},`,
		`"exact":"1000000000000000000000000000000"`, `"planned_unknown":{"id":true,"serial":true}`, `"deadline":"`} {
		if !strings.Contains(string(lines), want) {
			t.Errorf("want %s in\n%s", want, lines)
		}
	}
}

func TestPlansOfProgramsAreValidated(t *testing.T) {
	m, diags := manifest.Parse([]byte(sprintManifest(`["x"]`)), "m.json", "/pkg")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	for answer, want := range map[string]string{
		`{}`:                                   "",
		`{"planned": {"id": "known already"}}`: "",
		`{"planned": {"twice": null}, "planned_unknown": {"id": true}}`: "",
		`{"replace": [["text"]]}`:             ".text",
		`{"replace": [["txt"]]}`:              `! Did you mean "text"?`,
		`{"replace": "text"}`:                 `! "replace" must be an array of paths`,
		`{"planned": {"text": "other"}}`:      `! planned.text: planned "other"`,
		`{"planned_unknown": {"text": true}}`: "! planned.text: planned (known after apply)",
		`{"planned": {"txt": "x"}}`:           `! Did you mean "text"?`,
		`{"planned": {"twice": 5}}`:           "! planned.twice: a string was expected",
		`null`:                                "! only read and import",
		`{"diagnostics": [{"severity": "warning", "summary": "Hm"}], "private": 7}`: "",
	} {
		p := handler.New(m, saying{text: answer}, handler.Options{})
		d := driver{t, p, m.Schema}
		str := cty.StringVal
		prior := cty.ObjectVal(map[string]cty.Value{"id": str("1"), "text": str("old"), "twice": str("oldold")})
		// toy_fixed has no update, so without paths from the program every change would replace it.
		m.Type(provider.ManagedResource, "toy_fixed").Implements = []string{"create", "update", "plan"}
		resp := d.plan("toy_fixed", prior, d.config("toy_fixed", map[string]cty.Value{"text": str("new")}))
		problem, bad := strings.CutPrefix(want, "! ")
		got := ""
		for _, path := range resp.RequiresReplace {
			got += value.FormatPath(path)
		}
		if bad != resp.Diagnostics.HasErrors() || bad && !strings.Contains(texts(resp.Diagnostics), problem) || !bad &&
			got != want {
			t.Errorf("%s: got %q %#v\n%s", answer, got, resp.Planned, texts(resp.Diagnostics))
		}
	}
}
