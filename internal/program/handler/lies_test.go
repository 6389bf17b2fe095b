package handler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// A lie is an answer of the program toy with one random error. Environment variables select the error and the action.
const (
	lieSeed   = "TOY_LIE"
	lieAction = "TOY_LIE_ACTION"
)

// lied returns an answer, with an error if the environment requires one.
func lied(action string, answer any) any {
	seed, err := strconv.ParseUint(os.Getenv(lieSeed), 10, 64)
	if err != nil || os.Getenv(lieAction) != action {
		return answer
	}
	return lie(seed, answer)
}

// lie changes one value in an answer.
func lie(seed uint64, answer any) any {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		panic(err)
	}
	random := rand.New(rand.NewPCG(seed, 7))
	at := random.IntN(places(v))
	return changed(v, &at, random)
}

// places counts a value and all values in it.
func places(v any) int {
	n := 1
	switch v := v.(type) {
	case object:
		for _, e := range v {
			n += places(e)
		}
	case []any:
		for _, e := range v {
			n += places(e)
		}
	}
	return n
}

type nothing struct{}

// changed returns a value with the value at one position replaced; at counts down to that position.
func changed(v any, at *int, random *rand.Rand) any {
	*at--
	if *at < 0 {
		*at = 1 << 30 // change no other position
		return another(v, random)
	}
	switch v := v.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name] = changed(v[name], at, random); v[name] == (nothing{}) {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			if v[i] = changed(v[i], at, random); v[i] == (nothing{}) {
				v[i] = nil
			}
		}
	}
	return v
}

// another returns a replacement for a value.
func another(v any, random *rand.Rand) any {
	switch v := v.(type) {
	case object:
		if random.IntN(2) == 0 {
			v["zz"] = "one too many"
			return v
		}
	case []any:
		if len(v) > 0 && random.IntN(2) == 0 {
			return append(v, v[0])
		}
		if random.IntN(2) == 0 {
			return []any{}
		}
	}
	return []any{nothing{}, nil, "other", "", "a\x00b", json.Number("7"), json.Number("-0.5"), json.Number("1e400"),
		json.Number("123456789012345678901234567890.5"), true, object{}, []any{}, []any{nil}, object{"a": nil},
		object{"value": "x", "type": "string"}, object{"value": 1, "type": []any{"list", "nope"}},
		[]any{"other"}, []any{object{"number": 1, "url": nil}}, strings.Repeat("x", 1<<16)}[random.IntN(19)]
}

// inProcess performs the calls of toy without a program.
type inProcess struct{ t *testing.T }

func (p inProcess) Call(_ context.Context, c handler.Call) (*handler.Answer, error) {
	var req object
	dec := json.NewDecoder(bytes.NewReader(c.Params))
	dec.UseNumber()
	if err := dec.Decode(&req); err != nil {
		p.t.Fatal(err)
	}
	out, err := answer(c.Action, c.Type, req)
	if err != nil {
		return &handler.Answer{Failure: &handler.Failure{State: "it failed", Message: err.Error()}}, nil
	}
	text, err := json.Marshal(lied(c.Action, out))
	if err != nil {
		p.t.Fatal(err)
	}
	return &handler.Answer{Result: text, Program: "toy"}, nil
}

func (inProcess) Prepare(context.Context, func(string)) error { return nil }

func (inProcess) Close() error { return nil }

// answers is the result of a lie.
type answers struct {
	value    cty.Value
	diags    diag.List
	problems []value.PathError // problems that the engine's checks find
	changes  bool              // an object exists that was created
}

// situations are calls in which toy can lie. All earlier calls are correct.
var situations = map[string]func(d driver, lying func()) answers{
	"plan": func(d driver, lying func()) answers {
		config := d.config("toy_fixed", map[string]cty.Value{"text": cty.StringVal("x")})
		lying()
		resp := d.plan("toy_fixed", d.null("toy_fixed"), config)
		return answers{value: resp.Planned, diags: resp.Diagnostics, problems: value.CheckPlan(
			d.s.Resources["toy_fixed"].Block, d.null("toy_fixed"), config, resp.Planned)}
	},
	"create": func(d driver, lying func()) answers {
		config := d.much("a", 1)
		planned := d.plan("toy_thing", d.null("toy_thing"), config).Planned
		lying()
		return d.applied(d.null("toy_thing"), planned, config)
	},
	"update": func(d driver, lying func()) answers {
		prior := d.made()
		config := d.much("a", 2)
		planned := d.plan("toy_thing", prior, config).Planned
		lying()
		return d.applied(prior, planned, config)
	},
	"read": func(d driver, lying func()) answers {
		prior := d.made()
		lying()
		resp := d.p.Read(d.t.Context(), provider.ReadRequest{Type: "toy_thing", Prior: prior})
		return answers{value: resp.State, diags: resp.Diagnostics,
			problems: value.CheckRefreshed(d.s.Resources["toy_thing"].Block, resp.State)}
	},
	"import": func(d driver, lying func()) answers {
		lying()
		resp := d.p.Import(d.t.Context(), provider.ImportRequest{Type: "toy_fixed", ID: "1"})
		t := answers{diags: resp.Diagnostics}
		for _, o := range resp.Imported {
			t.value = o.State
			t.problems = value.CheckRefreshed(d.s.Resources["toy_fixed"].Block, o.State)
		}
		return t
	},
	"upgrade": func(d driver, lying func()) answers {
		lying()
		resp := d.p.UpgradeState(d.t.Context(), provider.UpgradeStateRequest{Type: "toy_fixed", Version: 0,
			Stored: provider.StoredObject{JSON: []byte(`{"id": "1", "txt": "x"}`)}})
		return answers{value: resp.State, diags: resp.Diagnostics,
			problems: value.CheckRefreshed(d.s.Resources["toy_fixed"].Block, resp.State)}
	},
	"data": func(d driver, lying func()) answers {
		config := cty.ObjectVal(map[string]cty.Value{"text": cty.StringVal("x"), "times": cty.NumberIntVal(2),
			"out": cty.NullVal(cty.List(cty.String))})
		lying()
		resp := d.p.ReadData(d.t.Context(), provider.ReadDataRequest{Type: "toy_echo", Config: config})
		return answers{value: resp.State, diags: resp.Diagnostics,
			problems: value.CheckData(d.s.Data["toy_echo"].Block, resp.State)}
	},
	"open": func(d driver, lying func()) answers {
		config := cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("n"), "key": cty.NullVal(cty.String)})
		lying()
		resp := d.p.OpenEphemeral(d.t.Context(), provider.OpenEphemeralRequest{Type: "toy_lease", Config: config})
		return answers{value: resp.Result, diags: resp.Diagnostics,
			problems: value.CheckOpened(d.s.Ephemeral["toy_lease"].Block, config, resp.Result)}
	},
	"list": func(d driver, lying func()) answers {
		d.made()
		config := d.s.Lists["toy_thing"].Block.EmptyValue()
		lying()
		resp := d.p.List(d.t.Context(), provider.ListRequest{Type: "toy_thing", Config: config, Limit: 5,
			IncludeObject: true})
		t := answers{diags: resp.Diagnostics}
		rt := d.s.Resources["toy_thing"]
		for _, one := range resp.Results {
			t.value = one.Object
			t.problems = append(t.problems, value.CheckRefreshed(rt.Block, one.Object)...)
			if !one.Identity.IsWhollyKnown() || !one.Identity.Type().Equals(rt.Identity.ImpliedType()) {
				t.problems = append(t.problems, value.PathError{Problem: fmt.Sprintf("%#v", one.Identity)})
			}
		}
		return t
	},
	"invoke": func(d driver, lying func()) answers {
		lying()
		resp := d.p.InvokeAction(d.t.Context(), provider.InvokeActionRequest{Type: "toy_ring", Config: bell(nil)})
		t := answers{value: cty.True, diags: resp.Diagnostics}
		if resp.Lost {
			t.problems = []value.PathError{{Problem: "the action is lost, and its answer is there"}}
		}
		return t
	},
	"call": func(d driver, lying func()) answers {
		lying()
		v, err := d.p.CallFunction(d.t.Context(), "slug", []cty.Value{cty.StringVal("A b")})
		if err != nil {
			return answers{diags: diag.FromError("call", err)}
		}
		t := answers{value: v, problems: value.CheckKnown(v)}
		if !v.Type().Equals(cty.String) {
			t.problems = append(t.problems, value.PathError{Problem: fmt.Sprintf("%#v", v)})
		}
		return t
	},
}

// much returns the configuration of an object with many possible errors.
func (d driver) much(name string, size int64) cty.Value {
	port := func(n int64) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"number": cty.NumberIntVal(n), "url": cty.NullVal(cty.String)})
	}
	return d.config("toy_thing", map[string]cty.Value{
		"name": cty.StringVal(name), "size": cty.NumberIntVal(size), "exact": cty.MustParseNumberVal("0.1"),
		"tags":   cty.MapVal(map[string]cty.Value{"env": cty.StringVal("test"), "none": cty.NullVal(cty.String)}),
		"labels": cty.SetVal([]cty.Value{cty.StringVal("x"), cty.StringVal("y")}),
		"any":    cty.TupleVal([]cty.Value{cty.True}), "secret": cty.StringVal("hush"),
		"token": cty.StringVal("written"),
		"ports": cty.ListVal([]cty.Value{port(80), port(443)}),
		"rule": cty.SetVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"cidr": cty.StringVal("::/0"),
			"note": cty.NullVal(cty.String)})}),
	})
}

// made creates a thing.
func (d driver) made() cty.Value {
	d.t.Helper()
	resp := d.apply(d.t.Context(), "toy_thing", d.null("toy_thing"), d.much("a", 1))
	if resp.Diagnostics.HasErrors() {
		d.t.Fatal(resp.Diagnostics.Err())
	}
	return resp.State
}

func (d driver) applied(prior, planned, config cty.Value) answers {
	resp := d.p.Apply(d.t.Context(), provider.ApplyRequest{Type: "toy_thing", Prior: prior, Planned: planned,
		Config: config})
	block := d.s.Resources["toy_thing"].Block
	return answers{value: resp.State, diags: resp.Diagnostics, changes: true, problems: slices.Concat(
		value.CheckApplied(block, planned, resp.State), value.CheckKnown(resp.State),
		value.CheckWriteOnly(block, resp.State))}
}

// lying returns a driver whose calls use a given transport, and a function that starts the lies.
func lying(t *testing.T, way, action string, seed uint64) (driver, func()) {
	t.Setenv("TOY_DIR", t.TempDir())
	t.Setenv(lieAction, action)
	t.Setenv(lieSeed, "")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv, _ := json.Marshal([]string{exe})
	m, diags := manifest.Parse([]byte(sprintManifest(string(argv))), "m.json", t.TempDir())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	env := append(os.Environ(), lieSeed+"="+fmt.Sprint(seed))
	var caller handler.Caller
	switch s := (handler.Surroundings{Env: env, Grace: time.Second}); way {
	case "one-shot":
		caller = handler.NewOneShot(m, s)
	case "session":
		s.Env = append(s.Env, "TOY_SESSION=1")
		m.Mode = manifest.Session
		caller = handler.NewCaller(m, s)
	default:
		caller = inProcess{t}
	}
	d := drive(t, func(context.Context) (provider.Provider, error) {
		return handler.New(m, caller, handler.Options{}), nil
	})
	return d, func() { t.Setenv(lieSeed, fmt.Sprint(seed)) }
}

// TestLiesOfProgramsDoNotReachTheEngine runs a program whose answers contain one random error. Each answer is either
// refused or passes the checks to which the engine subjects every provider; conformance/liar compares these with
// Terraform's. Objects that were created are never forgotten.
func TestLiesOfProgramsDoNotReachTheEngine(t *testing.T) {
	refused, accepted := 0, 0
	for _, action := range slices.Sorted(maps.Keys(situations)) {
		t.Run(action, func(t *testing.T) {
			for seed := range uint64(80) {
				d, begin := lying(t, "in process", action, seed)
				got := situations[action](d, begin)
				if got.diags.HasErrors() {
					refused++
					if got.changes && got.value != cty.NilVal && got.value.IsNull() { // cty.NilVal means unknown
						t.Errorf("seed %d: the object is forgotten: %s", seed, texts(got.diags))
					}
					continue
				}
				accepted++
				for _, p := range got.problems {
					t.Errorf("seed %d: the answer was accepted: %s", seed, p.Error())
				}
			}
		})
	}
	if refused < 60 || accepted < 60 {
		t.Errorf("%d lies were refused and %d accepted: the test has no power", refused, accepted)
	}
}

// TestLiesHaveTheSameResultOverEachTransport sends some lies in process, with a process for each call, and in
// sessions.
func TestLiesHaveTheSameResultOverEachTransport(t *testing.T) {
	for _, action := range slices.Sorted(maps.Keys(situations)) {
		t.Run(action, func(t *testing.T) {
			for seed := range uint64(2) {
				verdicts := map[string]string{}
				for _, way := range []string{"in process", "one-shot", "session"} {
					d, begin := lying(t, way, action, seed)
					got := situations[action](d, begin)
					verdict := "nobody knows"
					if got.value != cty.NilVal {
						verdict = "nothing"
						if !got.value.IsNull() {
							verdict = "a value"
						}
					}
					if got.diags.HasErrors() {
						verdict += ", refused: " + got.diags[0].Summary
					}
					verdicts[way] = verdict
				}
				for way, verdict := range verdicts {
					if verdict != verdicts["in process"] {
						t.Errorf("seed %d: %s: %s; in process: %s", seed, way, verdict, verdicts["in process"])
					}
				}
			}
		})
	}
}
