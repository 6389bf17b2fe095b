package view

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// tokenPattern matches the tokens of pairs in texts and values.
var tokenPattern = regexp.MustCompile(`tok\d+x|\b7\d{6}\b`)

// leaves returns the tokens of a value with their paths. Elements of sequences and sets have the path of the
// collection.
func leaves(v cty.Value) map[string]string {
	found := map[string]string{}
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		if !v.IsKnown() || v.IsNull() {
			return false, nil
		}
		text := ""
		switch v.Type() {
		case cty.String:
			text = v.AsString()
		case cty.Number:
			text = v.AsBigFloat().Text('f', -1)
		}
		for _, token := range tokenPattern.FindAllString(text, -1) {
			found[token] = place(path)
		}
		return true, nil
	})
	return found
}

func place(path cty.Path) string {
	var b strings.Builder
	for _, step := range path {
		name := "*"
		switch step := step.(type) {
		case cty.GetAttrStep:
			name = step.Name
		case cty.IndexStep:
			if key, ok := value.StepName(step); ok && strings.HasPrefix(key, "k") {
				name = key
			}
		}
		b.WriteString("/" + name)
	}
	return b.String() + "/"
}

// onlyIn returns the tokens of one value that the other does not have.
func onlyIn(v, other cty.Value) map[string]string {
	out, others := leaves(v), leaves(other)
	for token := range out {
		if _, ok := others[token]; ok {
			delete(out, token)
		}
	}
	return out
}

// inChangedSets returns the tokens of elements of sets that are not in the set on the other side, and those of sets in
// dynamic values with equal numbers of added and removed elements, which are compared by position, like the lists that
// they are in JSON.
func inChangedSets(v, other cty.Value) map[string]bool {
	out := map[string]bool{}
	add := func(v cty.Value) {
		for token := range leaves(v) {
			out[token] = true
		}
	}
	var others []cty.Value
	each := func(v cty.Value, f func(cty.Value)) {
		_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
			if v.IsKnown() && !v.IsNull() && v.Type().IsSetType() {
				f(v)
			}
			return true, nil
		})
	}
	each(other, func(set cty.Value) { others = append(others, set) })
	each(v, func(set cty.Value) {
		if !slices.ContainsFunc(others, func(o cty.Value) bool { return ctyfast.RawEquals(o, set) }) {
			add(set)
		}
	})
	return out
}

// secretPlaces returns the paths of sensitive parts on either side.
func secretPlaces(b *provider.Block, values ...plan.Value) (places []string) {
	for _, v := range values {
		if v.Value == cty.NilVal || v.Value.IsNull() {
			continue
		}
		for _, path := range value.SensitivePaths(b, v.Value, v.Sensitive) {
			places = append(places, place(path))
		}
	}
	return places
}

func under(at string, places []string) bool {
	return slices.ContainsFunc(places, func(p string) bool { return strings.HasPrefix(at, p) })
}

// secretTokens returns the tokens in the sensitive parts of a value.
func secretTokens(b *provider.Block, v plan.Value) map[string]bool {
	out := map[string]bool{}
	if v.Value.IsNull() {
		return out
	}
	for _, path := range value.SensitivePaths(b, v.Value, v.Sensitive) {
		if at, err := path.Apply(v.Value); err == nil {
			for token := range leaves(at) {
				out[token] = true
			}
		}
	}
	return out
}

// pending returns the paths of unknown blocks, whose prior content is not shown.
func pending(b *provider.Block, v cty.Value) (places []string) {
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		if !v.IsKnown() && len(path) > 0 {
			if step, ok := path[0].(cty.GetAttrStep); ok && b.Blocks[step.Name] != nil {
				places = append(places, place(path))
			}
		}
		return true, nil
	})
	return places
}

// unknownPlaces returns the paths of unknown parts.
func unknownPlaces(v cty.Value) (places []string) {
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		if !v.IsKnown() {
			places = append(places, place(path))
		}
		return true, nil
	})
	return places
}

var signed = regexp.MustCompile(`^(?:│ )? *(?:[-+~]|-/\+|\+/-) `)

// shown returns the tokens in a text, and those of them on lines with the sign of a change.
func shown(text string) (all, changed map[string]bool) {
	all, changed = map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(text) {
		for _, token := range tokenPattern.FindAllString(line, -1) {
			all[token] = true
			if signed.MatchString(line) {
				changed[token] = true
			}
		}
	}
	return all, changed
}

// checkDifference checks a text that shows the change of a value. Hidden paths are those of secrets.
func checkDifference(t *testing.T, p *pairs, what, text string, before, after cty.Value, hidden []string) {
	t.Helper()
	all, changed := shown(text)
	for _, side := range []map[string]string{onlyIn(before, after), onlyIn(after, before)} {
		for token, at := range side {
			if !all[token] && !under(at, hidden) {
				t.Errorf("%s: %s at %s changes and is not shown", what, token, at)
			}
		}
	}
	was, is := leaves(before), leaves(after)
	loose := inChangedSets(before, after)
	for token, at := range was {
		free := loose[token] || p.disordered[token] || under(at, hidden)
		if is[token] == at && changed[token] && !free && !inJSON(before, token) {
			t.Errorf("%s: %s at %s stays and is shown as changed", what, token, at)
		}
	}
	if t.Failed() {
		t.Logf("before %#v\nafter %#v\nhidden %q\n%s", before, after, hidden, text)
	}
}

// inJSON reports whether a token is in a JSON text that may have changed elsewhere, in which case one line may contain
// both changes.
func inJSON(v cty.Value, token string) bool {
	found := false
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if isText(v) && strings.Contains(v.AsString(), token) && v.AsString() != token {
			found = true
		}
		return !found, nil
	})
	return found
}

var renderedActions = []plan.Action{
	plan.Update, plan.Update, plan.Create, plan.Delete, plan.DeleteThenCreate, plan.CreateThenDelete, plan.Forget,
	plan.NoOp, plan.Read,
}

// renderPair generates a pair and checks every text that shows it.
func renderPair(t *testing.T, data []byte) {
	p := newPairs(data)
	p.known = p.one(4)
	action := renderedActions[p.n(len(renderedActions))]
	b := p.block(2, true)
	before := plan.Value{Value: p.object(b)}
	after := plan.Value{Value: p.changed(b, before.Value)}
	before.Sensitive, after.Sensitive = p.paths(before.Value), p.paths(after.Value)
	replace := p.paths(before.Value)
	stored := before
	ty := b.ImpliedType()
	none := plan.Value{Value: cty.NullVal(ty)}
	switch action {
	case plan.Create, plan.Read:
		before = none
	case plan.Delete, plan.Forget:
		after = none
	case plan.NoOp:
		after = before
	}
	source := addr.DefaultProvider("t")
	schemas := tfjson.Schemas{source: {Resources: map[string]*provider.ResourceType{"t_x": {Block: b}}}}
	object := objectAt(t, "t_x.a")
	change := &plan.Change{
		Object: object, PrevAddr: new(objectAt(t, "t_x.old").Instance), Action: action,
		Provider: &addr.AbsProviderConfig{Provider: source},
		Before:   before, After: after, Type: ty, ReplacePaths: replace,
	}
	// A value that is secret on only one side may be shown for the other side.
	secret, open := map[string]bool{}, map[string]bool{}
	for _, v := range []plan.Value{before, after} {
		own := secretTokens(b, v)
		for token := range leaves(v.Value) {
			if own[token] {
				secret[token] = true
			} else {
				open[token] = true
			}
		}
	}
	quiet := func(what, text string) {
		t.Helper()
		all, _ := shown(text)
		for token := range secret {
			if all[token] && !open[token] {
				t.Errorf("%s: the secret %s is shown:\n%s", what, token, text)
			}
		}
	}
	hidden := append(secretPlaces(b, before, after), pending(b, after.Value)...)
	for _, mode := range []plan.Mode{plan.Normal, plan.RefreshOnly} {
		pl := &plan.Plan{Mode: mode, Changes: []*plan.Change{change}}
		if mode == plan.RefreshOnly {
			pl = &plan.Plan{Mode: mode, Drift: []*plan.Change{change}}
		}
		what := fmt.Sprintf("%s, mode %d", action, mode)
		terminal := func() (int, int) { return 80, 24 }
		for _, o := range []Options{{}, {Size: terminal}, {Color: true, Size: terminal}, {JSON: true}} {
			var out bytes.Buffer
			o.Out = &out
			view := New(o)
			view.Plan(pl, schemas)
			view.Close()
			quiet(what, out.String())
			// A forgotten object is unchanged, so nothing of it is shown as removed.
			if !o.JSON && !o.Color && action != plan.Forget && (mode == plan.Normal || action == plan.Update) {
				left := hidden
				if o.Size != nil { // the present value of an unknown one is abbreviated
					left = append(slices.Clip(hidden), unknownPlaces(after.Value)...)
				}
				checkDifference(t, p, what, out.String(), before.Value, after.Value, left)
			}
		}
	}
	renderStored(t, b, stored, schemas, object)
}

// renderStored shows a state with an object, and checks that all of it is shown, nothing as changed, and no secret.
func renderStored(t *testing.T, b *provider.Block, v plan.Value, schemas tfjson.Schemas, object addr.Object) {
	t.Helper()
	source := addr.AbsProviderConfig{Provider: addr.DefaultProvider("t")}
	stored, err := state.NewObject(v.Value, b.ImpliedType(), state.Object{Sensitive: v.Sensitive})
	if err != nil {
		t.Fatal(err)
	}
	builder := (*state.State)(nil).Builder()
	builder.Fold(state.Edit{Put: &state.PutObject{Addr: object, Provider: source, Object: stored}})
	var whole, single bytes.Buffer
	if err := State(Options{Out: &whole}, builder.State(), schemas); err != nil {
		t.Fatal(err)
	}
	if err := Object(Options{Out: &single}, builder.State(), object.Instance, schemas); err != nil {
		t.Fatal(err)
	}
	hidden, secrets := secretPlaces(b, v), secretTokens(b, v)
	for _, text := range []string{whole.String(), single.String()} {
		all, changed := shown(text)
		for token, at := range leaves(v.Value) {
			switch {
			case secrets[token] && all[token]:
				t.Errorf("show: the secret %s is shown:\n%s", token, text)
			case !all[token] && !under(at, hidden):
				t.Errorf("show: %s at %s is not shown:\n%s", token, at, text)
			case changed[token]:
				t.Errorf("show: %s at %s is shown as changed:\n%s", token, at, text)
			}
		}
	}
}

// renderOutputs shows values of any type as outputs, in a plan and in a state.
func renderOutputs(t *testing.T, data []byte) {
	p := newPairs(data)
	p.known = p.one(4)
	before := p.value(p.typ(3, true))
	after := p.mutate(cty.DynamicPseudoType, before)
	sensitive := p.one(8)
	change := &plan.OutputChange{Name: "o", Action: plan.Update, Before: before, After: after, Sensitive: sensitive}
	var out bytes.Buffer
	view := New(Options{Out: &out})
	view.Plan(&plan.Plan{Outputs: []*plan.OutputChange{change}}, nil)
	view.Close()
	var hidden []string
	if sensitive {
		hidden = []string{"/"}
		if tokenPattern.MatchString(out.String()) {
			t.Errorf("a sensitive output is shown:\n%s", out.String())
		}
	}
	checkDifference(t, p, "output", out.String(), before, after, hidden)

	builder := (*state.State)(nil).Builder()
	output := &state.Output{Value: before, Sensitive: sensitive}
	builder.Fold(state.Edit{Output: &state.SetOutput{Name: "o", Value: output}})
	var stored bytes.Buffer
	if err := Outputs(Options{Out: &stored}, builder.State()); err != nil {
		t.Fatal(err)
	}
	if err := State(Options{Out: &stored}, builder.State(), nil); err != nil {
		t.Fatal(err)
	}
	for token := range leaves(before) {
		if strings.Contains(stored.String(), token) == sensitive {
			t.Errorf("%s, sensitive: %t:\n%s", token, sensitive, stored.String())
		}
	}
}

// bytesOf returns the bytes of a seed.
func bytesOf(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, seed))
	data := make([]byte, 64+r.IntN(1500))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func TestEveryPairOfValuesIsRendered(t *testing.T) {
	for seed := range uint64(600) {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) {
			renderPair(t, bytesOf(seed))
			renderOutputs(t, bytesOf(seed+1<<32))
		}) {
			return
		}
	}
}

func FuzzRendering(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(bytesOf(seed)[:60])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		renderPair(t, data)
		renderOutputs(t, data)
	})
}

// A reader who applies the text of a difference to the old value gets the new one, and finds nothing in it that is the
// same: for values of all types, with and without a schema, as terminals and as logs show them.
func TestShownDifferencesGiveTheNewValue(t *testing.T) {
	read := 0
	for seed := range uint64(3000) {
		p := newPairs(bytesOf(seed))
		p.known, p.rich = true, true
		ty := p.typ(3, true)
		before := p.value(ty)
		after := p.mutate(ty, before)
		if before.IsNull() || after.IsNull() {
			continue
		}
		n := compare(ty, sides{before: before, after: after})
		if equal := agree(plainOf(ty, before), plainOf(ty, after)); equal != (n.op == same) {
			t.Fatalf("seed %d: the operation is %d, and the values are equal: %v\nbefore %#v\nafter  %#v", seed, n.op,
				equal, before, after)
		}
		if n.op == same {
			continue
		}
		read++
		for _, brief := range []bool{false, true} {
			w := renderer{brief: brief}
			w.value(n, 0, how{})
			r := &reading{text: w.String()}
			var got any
			err := r.try(func() {
				if got = r.changed(0, plainOf(ty, before)); r.rest() != "" {
					r.fail("%q is left", r.rest())
				}
			})
			if err == nil && !agree(got, plainOf(ty, after)) {
				err = fmt.Errorf("the text gives %#v", got)
			}
			if err != nil {
				t.Fatalf("seed %d, terminal %v: %v\nbefore %#v\nafter  %#v\n%s", seed, brief, err, before, after,
					w.String())
			}
		}
	}
	if read < 1000 {
		t.Errorf("only %d differences were read", read)
	}
}
