//go:build unix

package external

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
	"github.com/tombolo-iac/tombolo/provider"
)

// world calls a provider as the engine does, for one object.
type world struct {
	t     *testing.T
	p     provider.Provider
	rt    *provider.ResourceType
	state cty.Value
}

func newWorld(t *testing.T, opts Options) *world {
	p := New(opts)
	schema, _ := p.Schema(t.Context())
	rt := schema.Resources[typeResource]
	return &world{t: t, p: p, rt: rt, state: cty.NullVal(rt.Block.ImpliedType())}
}

// plan plans a configuration; nil means destroy.
func (w *world) plan(a attrs) cty.Value {
	w.t.Helper()
	config := cty.NullVal(w.rt.Block.ImpliedType())
	proposed := config
	if a != nil {
		config = a.object(w.rt)
		proposed = config
		if !w.state.IsNull() {
			vals := config.AsValueMap()
			vals["id"], vals["result"] = w.state.GetAttr("id"), w.state.GetAttr("result")
			proposed = cty.ObjectVal(vals)
		}
		if diags := w.p.ValidateResource(w.t.Context(), provider.ValidateResourceRequest{Kind: provider.ManagedResource,
			Type: typeResource, Config: config}); len(diags) > 0 {
			w.t.Fatal(diags.Err())
		}
	}
	resp := w.p.Plan(w.t.Context(), provider.PlanRequest{Type: typeResource, Prior: w.state, Proposed: proposed,
		Config: config, PriorPrivate: []byte("p")})
	if len(resp.Diagnostics) > 0 {
		w.t.Fatal(resp.Diagnostics.Err())
	}
	if !resp.LegacyTypeSystem || len(resp.RequiresReplace) > 0 || string(resp.Private) != "p" {
		w.t.Errorf("plan: got %+v", resp)
	}
	return resp.Planned
}

// apply plans and applies, and stores the result.
func (w *world) apply(ctx context.Context, a attrs) diag.List {
	w.t.Helper()
	planned := w.plan(a)
	config := cty.NullVal(w.rt.Block.ImpliedType())
	if a != nil {
		config = a.object(w.rt)
	}
	resp := w.p.Apply(ctx, provider.ApplyRequest{Type: typeResource, Prior: w.state, Planned: planned, Config: config,
		PlannedPrivate: []byte("p")})
	if !resp.LegacyTypeSystem || string(resp.Private) != "p" {
		w.t.Errorf("apply: got %+v", resp)
	}
	if !resp.State.IsWhollyKnown() {
		w.t.Errorf("apply: unknown values in %#v", resp.State)
	}
	w.state = resp.State
	return resp.Diagnostics
}

func (w *world) mustApply(a attrs) {
	w.t.Helper()
	if diags := w.apply(w.t.Context(), a); len(diags) > 0 {
		w.t.Fatal(diags.Err())
	}
}

func (w *world) read() diag.List {
	w.t.Helper()
	resp := w.p.Read(w.t.Context(), provider.ReadRequest{Type: typeResource, Prior: w.state, Private: []byte("p")})
	if string(resp.Private) != "p" {
		w.t.Errorf("read: got %+v", resp)
	}
	w.state = resp.State
	return resp.Diagnostics
}

func (w *world) mustRead() {
	w.t.Helper()
	if diags := w.read(); len(diags) > 0 {
		w.t.Fatal(diags.Err())
	}
}

func (w *world) expectNoChange(a attrs) {
	w.t.Helper()
	if planned := w.plan(a); !planned.RawEquals(w.state) {
		w.t.Errorf("a change is planned:\nstate   %#v\nplanned %#v", w.state, planned)
	}
}

func (w *world) expect(id string, arguments, result map[string]string) {
	w.t.Helper()
	o := objectOf(w.state)
	if idOf(o) != id || !o.arguments.RawEquals(strs(arguments)) || !o.result.RawEquals(strs(result)) {
		w.t.Errorf("got  %q, %#v, %#v\nwant %q, %v, %v", idOf(o), o.arguments, o.result, id, arguments, result)
	}
}

// notes returns the folder where the example programs keep their objects, and an environment that names it.
func notes(t *testing.T) (dir string, opts Options) {
	dir = t.TempDir()
	return dir, Options{Env: append(os.Environ(), "NOTES="+dir)}
}

func readLog(t *testing.T, dir, id string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(string(b), id, "ID")), "\n")
}

func TestResourceLifecycle(t *testing.T) {
	for name, test := range map[string]struct {
		needs []string
		attrs attrs
	}{
		"in bash": {[]string{"bash", "jq"}, attrs{"program": cty.StringVal(testdata(t, "note.sh"))}},
		"in python": {[]string{"python3"}, attrs{"program": cty.StringVal(testdata(t, "note.py")),
			"interpreter": cty.StringVal("python3")}},
	} {
		t.Run(name, func(t *testing.T) {
			needs(t, test.needs...)
			dir, opts := notes(t)
			w := newWorld(t, opts)
			with := func(text string) attrs {
				a := attrs{"arguments": strs(map[string]string{"text": text})}
				for k, v := range test.attrs {
					a[k] = v
				}
				return a
			}

			w.mustApply(with("hello"))
			id := idOf(objectOf(w.state))
			if !strings.HasPrefix(id, "note-") {
				t.Fatalf("got id %q", id)
			}
			w.expect(id, map[string]string{"text": "hello"}, map[string]string{"bytes": "5"})
			w.mustRead()
			w.expectNoChange(with("hello"))

			if err := os.WriteFile(filepath.Join(dir, id+".txt"), []byte("drift"), 0o600); err != nil {
				t.Fatal(err)
			}
			w.mustRead()
			w.expect(id, map[string]string{"text": "drift"}, map[string]string{"bytes": "5"})

			w.mustApply(with("hello <world>"))
			w.expect(id, map[string]string{"text": "hello <world>"}, map[string]string{"bytes": "13"})
			w.expectNoChange(with("hello <world>"))

			w.mustApply(nil)
			if !w.state.IsNull() {
				t.Errorf("destroyed, but is %#v", w.state)
			}
			if _, err := os.Stat(filepath.Join(dir, id+".txt")); err == nil {
				t.Error("the file is still there")
			}
			want := []string{
				`create {"arguments":{"text":"hello"}}`,
				`read {"arguments":{"text":"hello"},"id":"ID"}`,
				`read {"arguments":{"text":"hello"},"id":"ID"}`,
				`update {"arguments":{"text":"hello <world>"},"id":"ID","old_arguments":{"text":"drift"}}`,
				`delete {"arguments":{"text":"hello <world>"},"id":"ID","old_arguments":{"text":"hello <world>"}}`,
			}
			if diff := cmp.Diff(want, readLog(t, dir, id)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestResourceThatIsGoneIsRemoved(t *testing.T) {
	needs(t, "bash", "jq")
	dir, opts := notes(t)
	w := newWorld(t, opts)
	w.mustApply(attrs{"program": cty.StringVal(testdata(t, "note.sh")), "arguments": strs(map[string]string{
		"text": "x"})})
	if err := os.Remove(filepath.Join(dir, idOf(objectOf(w.state))+".txt")); err != nil {
		t.Fatal(err)
	}
	w.mustRead()
	if !w.state.IsNull() {
		t.Errorf("got %#v", w.state)
	}

	for _, out := range []string{`null`, `{"id":null}`, `{"id":""}`, `{"id":"","arguments":{},"result":{}}`} {
		w := newWorld(t, Options{})
		w.state = printing(t, out).object(w.rt)
		w.mustRead()
		if !w.state.IsNull() {
			t.Errorf("%s: got %#v", out, w.state)
		}
	}
}

// printing returns the configuration of a program that prints the same for every action, and creates its object.
func printing(t *testing.T, out string) attrs {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	return attrs{"program": tuple("sh", "-c", `cat "$0"`, file), "id": cty.StringVal("7"), "result": strs(nil),
		"arguments": strs(nil)}
}

func configOf(a attrs) attrs { return attrs{"program": a["program"]} }

func TestResourceAcceptsTheProgramsAnswer(t *testing.T) {
	const out = `{"id":"8","arguments":{"a":"B","drop":null},"result":{"c":"d"},"more":[1]}`
	w := newWorld(t, Options{})
	config := configOf(printing(t, out))
	config["arguments"] = strs(map[string]string{"a": "b"})
	want := func() {
		t.Helper()
		w.expect("8", map[string]string{"a": "B"}, map[string]string{"c": "d"})
	}
	w.mustApply(config)
	want()
	w.mustRead()
	want()
	if planned := w.plan(config); planned.GetAttr("result").IsKnown() || !planned.GetAttr("arguments").RawEquals(
		config["arguments"]) {
		t.Errorf("other arguments than configured are not planned to change: %#v", planned)
	}
	w.mustApply(config)
	want()
}

func TestResourceRefusesBadAnswers(t *testing.T) {
	tests := map[string]struct{ out, err string }{
		"nothing":      {``, "unexpected end of JSON input"},
		"text":         {`done`, "invalid character 'd' looking for beginning of value"},
		"array":        {`[]`, "an object was expected, not an array"},
		"no id":        {`{"arguments":{},"result":{}}`, `there is no "id".`},
		"no arguments": {`{"id":"8","result":{}}`, `there is no "arguments".`},
		"no result":    {`{"id":"8","arguments":{}}`, `there is no "result".`},
		"a result misspelt": {`{"id":"8","arguments":{},"results":{}}`,
			`there is no "result". Did you mean "results"?`},
		"a number as id": {`{"id":8,"arguments":{},"result":{}}`, `"id" must be a string, not a number`},
		"null arguments": {`{"id":"8","arguments":null,"result":{}}`,
			`"arguments" must be an object of strings, not null`},
		"array arguments": {`{"id":"8","arguments":[],"result":{}}`,
			`"arguments" must be an object of strings, not an array`},
		"a number in result": {`{"id":"8","arguments":{},"result":{"a":"x","b":1}}`,
			`"b" in "result" must be a string, not a number`},
		"an object in arguments": {`{"id":"8","arguments":{"a":{}},"result":{}}`,
			`"a" in "arguments" must be a string, not an object`},
		"a member twice": {`{"id":"8","id":"9","arguments":{},"result":{}}`,
			`an object has two members named "id"`},
		"an argument twice": {`{"id":"8","arguments":{"a":"1","a":"2"},"result":{}}`,
			`an object has two members named "a"`},
		"a letter in upper case": {`{"ID":"8","arguments":{},"result":{}}`, `there is no "id". Did you mean "ID"?`},
		"something behind": {`{"id":"8","arguments":{},"result":{}} done`,
			"invalid character 'd' after top-level value"},
	}
	sh := lookPath(t, "sh")
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			lines := []string{"Program: " + sh, "Result Error: " + test.err, "Output: " + test.out}
			if test.out == "" {
				lines[2] = "Output: (nothing)"
			}
			a := printing(t, test.out)
			for _, action := range []string{"read", "update"} {
				w := newWorld(t, Options{})
				w.state = a.object(w.rt)
				before := w.state
				var diags diag.List
				if action == "read" {
					diags = w.read()
				} else {
					diags = w.apply(t.Context(), configOf(a))
				}
				expectProblem(t, diags, sumResults, lines, "should "+action+" the object")
				if !w.state.RawEquals(before) {
					t.Errorf("%s changed the state to %#v", action, w.state)
				}
			}
		})
	}
	for _, out := range []string{`null`, `{"id":null,"arguments":{},"result":{}}`, `{"id":""}`} {
		w := newWorld(t, Options{})
		diags := w.apply(t.Context(), configOf(printing(t, out)))
		expectProblem(t, diags, sumResults, nil, `there is no "id" of the new object`)
		if !w.state.IsNull() {
			t.Errorf("create: %s: stored %#v", out, w.state)
		}
		w.state = printing(t, out).object(w.rt)
		diags = w.apply(t.Context(), configOf(printing(t, out)))
		expectProblem(t, diags, sumResults, nil, `there is no "id" of the updated object`)
		if w.state.IsNull() {
			t.Errorf("update: %s: removed", out)
		}
	}
}

func TestResourceCreatedWithAnInvalidAnswerIsStored(t *testing.T) {
	tests := map[string]struct{ out, id string }{
		"no result":          {`{"id":"8","arguments":{"x":"y"}}`, "8"},
		"a number in result": {`{"id":"8","arguments":{},"result":{"a":1}}`, "8"},
		"something behind":   {`{"id":"8","arguments":{},"result":{}} done`, "8"},
		"a number as id":     {`{"id":8,"arguments":{},"result":{}}`, "8"},
		"a line before":      {"made 8\n" + `{"id":"8","arguments":{},"result":{}}`, "8"},
		"a log before":       {`{"id":"request 1"}` + "\n{\n" + `"id":8,"result":{}}` + "\n", "8"},
		"a log behind":       {`{"id":"8","result":{}}` + "\n" + `{"id":"request 1"}`, "8"},
		"only an id, late":   {"done\n" + `{"id":"8"}`, "8"},
		"nothing":            {``, ""},
		"a boolean as id":    {`{"id":true,"arguments":{},"result":{}}`, ""},
		"no id":              {`{"arguments":{},"result":{}}`, ""},
		"null":               {`null`, ""},
		"text":               {`created 8`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			config := configOf(printing(t, test.out))
			config["arguments"] = strs(map[string]string{"a": "b"})
			diags := w.apply(t.Context(), config)
			if test.id == "" {
				expectProblem(t, diags, sumResults, nil, "The program may already have changed something")
				if !w.state.IsNull() {
					t.Errorf("stored %#v", w.state)
				}
				return
			}
			expectProblem(t, diags, sumResults, nil, `The object is recorded with the id "8"`)
			w.expect(test.id, map[string]string{"a": "b"}, map[string]string{})
		})
	}
}

func TestResourceKeepsItsStateWhenTheProgramFails(t *testing.T) {
	argv := append(tuple(programtest.Argv("fail", "3", "quota exceeded\n")...).AsValueSlice(), cty.StringVal("x"))
	config := attrs{"program": cty.TupleVal(argv), "arguments": strs(map[string]string{"a": "new"})}
	lines := []string{"Program: " + programtest.Argv("")[0], "Error Message: quota exceeded", "State: exit status 3"}

	w := newWorld(t, Options{})
	expectProblem(t, w.apply(t.Context(), config), sumExecution, lines, "should create the object")
	if !w.state.IsNull() {
		t.Errorf("create stored %#v", w.state)
	}

	old := attrs{"program": config["program"], "id": cty.StringVal("7"), "arguments": strs(map[string]string{
		"a": "old"}), "result": strs(nil)}.object(w.rt)
	for action, do := range map[string]func() diag.List{
		"read":   w.read,
		"update": func() diag.List { return w.apply(t.Context(), config) },
		"delete": func() diag.List { return w.apply(t.Context(), nil) },
	} {
		w.state = old
		expectProblem(t, do(), sumExecution, lines, "should "+action+" the object")
		if !w.state.RawEquals(old) {
			t.Errorf("%s changed the state to %#v", action, w.state)
		}
	}
}

func TestResourcePlans(t *testing.T) {
	w := newWorld(t, Options{})
	str, unknown := cty.StringVal, cty.UnknownVal(cty.Map(cty.String))
	null := cty.NullVal(cty.DynamicPseudoType)
	args := func(v string) cty.Value { return strs(map[string]string{"a": v}) }
	state := attrs{"program": str("p"), "id": str("7"), "arguments": args("1"),
		"result": strs(map[string]string{"r": "s"})}
	prior := state.object(w.rt)
	tests := map[string]struct {
		prior  cty.Value
		config attrs
		want   attrs
	}{
		"create": {cty.NullVal(prior.Type()), attrs{"program": str("p"), "arguments": args("1")},
			attrs{"program": str("p"), "interpreter": null, "arguments": args("1"), "id": cty.UnknownVal(cty.String),
				"result": unknown}},
		"create with an unknown program": {cty.NullVal(prior.Type()), attrs{"program": cty.DynamicVal,
			"arguments": unknown},
			attrs{"program": cty.DynamicVal, "arguments": unknown, "id": cty.UnknownVal(cty.String),
				"result": unknown}},
		"no change": {prior, attrs{"program": str("p"), "arguments": args("1")}, state},
		"no change but for a null argument": {prior,
			attrs{"program": str("p"), "arguments": cty.MapVal(map[string]cty.Value{
				"a": str("1"), "b": cty.NullVal(cty.String)})}, state},
		"other arguments": {prior, attrs{"program": str("p"), "arguments": args("2")},
			attrs{"program": str("p"), "id": str("7"), "arguments": args("2"), "result": unknown}},
		"no arguments": {prior, attrs{"program": str("p")},
			attrs{"program": str("p"), "id": str("7"), "result": unknown}},
		"unknown arguments": {prior, attrs{"program": str("p"), "arguments": unknown},
			attrs{"program": str("p"), "id": str("7"), "arguments": unknown, "result": unknown}},
		"another program": {prior, attrs{"program": tuple("q"), "interpreter": str("sh"), "arguments": args("1")},
			attrs{"program": tuple("q"), "interpreter": str("sh"), "id": str("7"), "arguments": args("1"),
				"result": state["result"]}},
		"another program and other arguments": {prior, attrs{"program": str("q"), "arguments": args("2")},
			attrs{"program": str("q"), "id": str("7"), "arguments": args("2"), "result": unknown}},
		"imported by a bare id": {attrs{"id": str("7")}.object(w.rt), attrs{"program": str("p")},
			attrs{"program": str("p"), "id": str("7"), "result": unknown}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w.state = test.prior
			if got, want := w.plan(test.config), test.want.object(w.rt); !got.RawEquals(want) {
				t.Errorf("got\n%#v\nwant\n%#v", got, want)
			}
		})
	}
}

func TestResourceWithoutArgumentsStaysAsItIs(t *testing.T) {
	config := configOf(printing(t, `{"id":"8","arguments":{},"result":{}}`))
	w := newWorld(t, Options{})
	w.mustApply(config)
	w.expect("8", map[string]string{}, map[string]string{})
	w.expectNoChange(config)
}

func TestResourceTakesOverAnotherProgramWithoutRunningIt(t *testing.T) {
	w := newWorld(t, Options{})
	w.state = attrs{"program": cty.StringVal("gone"), "id": cty.StringVal("7"), "arguments": strs(map[string]string{
		"a": "1"}), "result": strs(nil)}.object(w.rt)
	w.state = cty.ObjectVal(func() map[string]cty.Value {
		vals := w.state.AsValueMap()
		vals["result"] = strs(map[string]string{"r": "s"})
		return vals
	}())
	w.mustApply(attrs{"program": cty.StringVal("gone too"), "arguments": strs(map[string]string{"a": "1"})})
	w.expect("7", map[string]string{"a": "1"}, map[string]string{"r": "s"})
	if got := w.state.GetAttr("program"); !got.RawEquals(cty.StringVal("gone too")) {
		t.Errorf("the program in the state is %#v", got)
	}
}

func TestResourceReportsThatTheProgramIsFromTheState(t *testing.T) {
	w := newWorld(t, Options{})
	w.state = attrs{"program": cty.StringVal("no-such-program"), "id": cty.StringVal("7"),
		"result": strs(map[string]string{})}.object(w.rt)
	expectProblem(t, w.read(), sumLookup, nil, "apply with -refresh=false")
	expectProblem(t, w.apply(t.Context(), nil), sumLookup, nil, "should delete the object", "apply with -refresh=false")

	// A program that its interpreter cannot find may have moved; one that reports its own failure has not.
	t.Chdir(t.TempDir())
	script(t, "here.sh", "exit 3\n")
	for name, moved := range map[string]bool{"./here.sh": false, "./gone.sh": true} {
		w.state = attrs{"interpreter": cty.StringVal("sh"), "program": cty.StringVal(name), "id": cty.StringVal("7"),
			"result": strs(map[string]string{})}.object(w.rt)
		diags := w.apply(t.Context(), nil)
		expectProblem(t, diags, sumExecution, nil, "with which the object was last applied")
		if got := strings.Contains(diags[0].Detail, "-refresh=false"); got != moved {
			t.Errorf("%s: that it may have moved is said: %v, want %v:\n%s", name, got, moved, diags[0].Detail)
		}
	}
}

func TestResourceAppliesValuesKnownAtApply(t *testing.T) {
	w := newWorld(t, Options{})
	config := configOf(printing(t, `{"id":"8","arguments":{},"result":{}}`))
	planned := w.plan(attrs{"program": cty.DynamicVal, "arguments": cty.UnknownVal(cty.Map(cty.String))})
	resp := w.p.Apply(t.Context(), provider.ApplyRequest{Type: typeResource, Prior: w.state, Planned: planned,
		Config: config.object(w.rt)})
	if len(resp.Diagnostics) > 0 {
		t.Fatal(resp.Diagnostics.Err())
	}
	want := attrs{"program": config["program"], "id": cty.StringVal("8"), "arguments": strs(map[string]string{}),
		"result": strs(map[string]string{})}
	if !resp.State.RawEquals(want.object(w.rt)) {
		t.Errorf("got %#v", resp.State)
	}
}

func TestResourceDeleteIgnoresTheOutput(t *testing.T) {
	for name, program := range map[string]cty.Value{
		"text": printing(t, "removed")["program"],
		"too much": tuple("sh", "-c", `exec "$0" "$1" "$2"`, programtest.Argv("")[0], "programtest:flood",
			"104857600"),
		"held back by a child":  tuple("sh", "-c", `sleep 120 & exit 0`),
		"without reading stdin": tuple("sh", "-c", `exec <&-`),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			w.state = attrs{"program": program, "id": cty.StringVal("7")}.object(w.rt)
			begin := time.Now()
			w.mustApply(nil)
			if !w.state.IsNull() {
				t.Errorf("got %#v", w.state)
			}
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestStoredObjectsAreReadBack(t *testing.T) {
	w := newWorld(t, Options{})
	stored := `{"program":{"value":["sh","x"],"type":["tuple",["string","string"]]},"interpreter":null,"id":"7","arguments":{"a":"b"},"result":{}}`
	resp := w.p.UpgradeState(t.Context(), provider.UpgradeStateRequest{
		Type: typeResource, Stored: provider.StoredObject{JSON: []byte(stored)}})
	want := attrs{"program": tuple("sh", "x"), "id": cty.StringVal("7"), "arguments": strs(map[string]string{"a": "b"}),
		"result": strs(map[string]string{})}
	if len(resp.Diagnostics) > 0 || !resp.State.RawEquals(want.object(w.rt)) {
		t.Errorf("got %#v, %v", resp.State, resp.Diagnostics.Err())
	}
}

// Whatever a program prints: no panic, and accepted output has an ID.
func FuzzReadAnswer(f *testing.F) {
	for _, s := range []string{
		`{"id":"7","arguments":{"a":"b"},"result":{}}`, `null`, `{"id":null}`, `{"id":"7","id":"8"}`,
		`{"id":"7","arguments":{"a":{"b":1}}}`, `{"id":"7"} x`,
		`{"id":"7","program":["p",null],"interpreter":"i","arguments":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := readAnswer(in)
		if err == nil && a.gone != (a.id == "") {
			t.Errorf("%q: gone is %v with id %q", in, a.gone, a.id)
		}
		if err == nil && !a.gone {
			if salvageID(in) != a.id {
				t.Errorf("%q: the id is %q, or is it %q?", in, a.id, salvageID(in))
			}
			object{program: cty.StringVal("p"), interpreter: cty.NullVal(cty.String)}.with(a).value()
		}
		if id, long, err := readImportID(string(in)); err == nil && long && (id.id == "" || id.program == cty.NilVal) {
			t.Errorf("%q: imported as %+v", in, id)
		}
	})
}
