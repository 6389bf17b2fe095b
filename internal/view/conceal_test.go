package view

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/tfjson/tfjsontest"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// leaking generates values of every kind that contain a secret, or a text derived from it.
type leaking struct {
	r      *rand.Rand
	secret string
}

// text returns a string that contains the secret in one of its possible forms.
func (l leaking) text() string {
	s := l.secret
	switch l.r.IntN(8) {
	case 0:
		s = "postgres://admin:" + s + "@db.example.com/x"
	case 1:
		s = "postgres://admin:" + url.QueryEscape(s) + "@db.example.com/x"
	case 2:
		s = base64.StdEncoding.EncodeToString([]byte("admin:" + s))
	case 3:
		auth := map[string]any{"password": s, "port": 1}
		b, err := json.Marshal(map[string]any{"auth": auth, "list": []string{"a", s}})
		if err != nil {
			panic(err)
		}
		s = string(b)
	case 4:
		s = "first line\n  password: " + s + "\nlast line\n"
	case 5:
		s = fmt.Sprintf("%q", s)
	}
	return s
}

// value returns a value with strings of text in it.
func (l leaking) value(depth int) cty.Value {
	kind := l.r.IntN(8)
	if depth == 0 {
		kind = 0
	}
	switch kind {
	case 1:
		return cty.ListVal([]cty.Value{cty.StringVal("plain"), cty.StringVal(l.text())})
	case 2:
		return cty.SetVal([]cty.Value{cty.StringVal("plain"), cty.StringVal(l.text())})
	case 3:
		return cty.MapVal(map[string]cty.Value{l.text(): cty.StringVal(l.text()), "plain": cty.StringVal("x")})
	case 4:
		return cty.ObjectVal(map[string]cty.Value{"a": l.value(depth - 1), "b": cty.NumberIntVal(1)})
	case 5:
		return cty.TupleVal([]cty.Value{l.value(depth - 1), cty.True, l.value(depth - 1)})
	}
	return cty.StringVal(l.text())
}

// A sensitive value is copied, in every form and into every kind of value, to undeclared places: before, after and
// both, in every action, in drift, outputs and the state. No text for people shows it.
func TestCopiesOfSecretsNeverShow(t *testing.T) {
	block := &provider.Block{Attributes: map[string]*provider.Attribute{
		"in": {Type: cty.String, Sensitive: true, Optional: true}, "out": {Type: cty.DynamicPseudoType, Computed: true},
	}}
	p := addr.DefaultProvider("t")
	schemas := tfjson.Schemas{p: {Resources: map[string]*provider.ResourceType{"t_x": {Block: block}}}}
	object := objectAt(t, "t_x.a")
	ty := block.ImpliedType()
	none := plan.Value{Value: cty.NullVal(ty)}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 3))
		secret := "S3c/+\"\\<é" + strings.Repeat("x", r.IntN(20)) + tfjsontest.Canary
		l := leaking{r, secret}
		holder := func() plan.Value {
			v := map[string]cty.Value{"in": cty.StringVal(secret), "out": l.value(3)}
			return plan.Value{Value: cty.ObjectVal(v)}
		}
		out := l.value(2)
		c := &plan.Change{Object: object, Provider: &addr.AbsProviderConfig{Provider: p},
			Action: allFates[r.IntN(len(allFates))], Before: holder(), After: holder(), Type: ty,
			ReplacePaths: []cty.Path{cty.GetAttrPath("out")}}
		switch {
		case c.Action == plan.Create:
			c.Before = none
		case c.Action == plan.Delete || c.Action == plan.Forget:
			c.After = none
		}
		pl := &plan.Plan{Changes: []*plan.Change{c}, Drift: []*plan.Change{c}, Mode: plan.RefreshOnly,
			Outputs: []*plan.OutputChange{{Name: "o", Action: plan.Create, Before: cty.NullVal(out.Type()),
				After: out}}}
		if r.IntN(2) == 0 {
			pl.Mode = plan.Normal
		}
		v := holder().Value
		stored, err := state.NewObject(v, ty, state.Object{})
		if err != nil {
			t.Fatal(err)
		}
		b := (*state.State)(nil).Builder()
		b.Fold(state.Edit{Put: &state.PutObject{Addr: object, Provider: addr.AbsProviderConfig{Provider: p},
			Object: stored}}, state.Edit{Output: &state.SetOutput{Name: "o", Value: &state.Output{Value: out}}})
		var text bytes.Buffer
		view := New(Options{Out: &text, Command: "apply"})
		view.Plan(pl, schemas)
		view.Applied(Ending{Plan: pl, State: b.State()})
		view.Close()
		if err := Markdown(Options{Out: &text}, pl, schemas, 0, ""); err != nil {
			t.Fatal(err)
		}
		for _, show := range []func() error{
			func() error { return State(Options{Out: &text}, withoutOutputs(b.State()), schemas) },
			func() error { return Object(Options{Out: &text}, b.State(), object.Instance, schemas) },
		} {
			if err := show(); err != nil {
				t.Fatal(err)
			}
		}
		text.WriteString(details(t, pl, b.State(), schemas))
		for _, form := range []string{tfjsontest.Canary, base64.StdEncoding.EncodeToString([]byte("admin:" + secret))} {
			if strings.Contains(text.String(), form) {
				t.Fatalf("seed %d, %s: a copy of the secret was written:\n%s", seed, c.Action, text.String())
			}
		}
		if !strings.Contains(text.String(), value.Withholding) {
			t.Fatalf("seed %d: nothing was hidden:\n%s", seed, text.String())
		}
		text.Reset()
		view = New(Options{Out: &text, ShowSensitive: true})
		view.Plan(&plan.Plan{Outputs: []*plan.OutputChange{{Name: "o", Action: plan.Create,
			Before: cty.NullVal(cty.String), After: cty.StringVal(tfjsontest.Canary)}}}, schemas)
		view.Close()
		if !strings.Contains(text.String(), tfjsontest.Canary) {
			t.Fatalf("-show-sensitive hides:\n%s", text.String())
		}
	}
}

// withoutOutputs returns a state without its outputs, which are shown as their authors declare them.
func withoutOutputs(s *state.State) *state.State {
	b := s.Builder()
	for _, name := range s.OutputNames() {
		b.Fold(state.Edit{Output: &state.SetOutput{Name: name}})
	}
	return b.State()
}

// Values declared as nonsensitive are shown, in saved plans as well.
func TestNonsensitiveValuesAreShown(t *testing.T) {
	secret := cty.StringVal("not a secret " + tfjsontest.Canary)
	pl := &plan.Plan{Variables: map[string]plan.Variable{"v": {Value: secret, Sensitive: true}},
		Outputs: []*plan.OutputChange{{Name: "o", Action: plan.Create, Before: cty.NullVal(cty.String), After: secret}}}
	for _, public := range []bool{false, true} {
		if public {
			pl.Nonsensitive = []string{secret.AsString()}
		}
		var text bytes.Buffer
		v := New(Options{Out: &text})
		v.Plan(pl, nil)
		v.Close()
		if strings.Contains(text.String(), tfjsontest.Canary) != public {
			t.Errorf("nonsensitive: %v, and the text is\n%s", public, text.String())
		}
	}
}
