package funcs

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/value"
)

// lower lowers the limits for a test.
func lower(t *testing.T) {
	before := limits
	t.Cleanup(func() { limits = before })
	limits.text, limits.parts, limits.elements, limits.product, limits.patience = 1<<18, 1<<14, 1<<12, 1<<10, 1<<14
}

func numbers(n int) cty.Value {
	list := make([]cty.Value, n)
	for i := range list {
		list[i] = cty.NumberIntVal(int64(i))
	}
	return cty.ListVal(list)
}

func TestTemporaryElementsAreNotCounted(t *testing.T) {
	lower(t)
	ctx := bounded(t.Context(), t.TempDir(), map[string]cty.Value{"list": numbers(100), "short": numbers(10),
		"long": cty.StringVal(strings.Repeat("x", 4000))})
	for text, fine := range map[string]bool{
		// 10 000 temporary elements
		`[for i in list : length([for j in list : j])]`:                              true,
		`[for i in short : length(flatten([for j in short : [for k in list : k]]))]`: true,
		// 500 000 bytes of temporary texts, half of which would be too much
		`[for i in list : length([for j in list : "${i} and ${j} in a text of fifty bytes or some more"])]`:           true,
		`length("%{ for i in list }${length("%{ for j in list }${i}, ${j}, some more text%{ endfor }")}%{ endfor }")`: true,
		// each has one part of 4 000 bytes
		`"%{ for i in list }${long}%{ endfor }"`:                            false,
		`"%{ for i in short }${long}%{ endfor }"`:                           true,
		`[for i in list : length("%{ for j in short }${long}%{ endfor }")]`: true,
		// 4 000 elements at a time
		`length(flatten([for i in list : [for j in slice(list, 0, 39) : j]]))`:                     true,
		`length(flatten([for i in list : [for j in slice(list, 0, 42) : j]]))`:                     false,
		`[for i in list : { a = [for j in list : j] }]`:                                            false,
		`[for i in list : length(flatten([for j in list : [for k in list : k]]))]`:                 false,
		`[for i in list : list if length([for j in list : j]) == 0]`:                               true,
		`[for i in list : try([for j in list : j][0], [for j in list : j])]`:                       true,
		`length([for i in [for j in list : [for k in slice(list, 0, 35) : k]] : i])`:               true,
		`{ for i in list : "k${i}" => length([for j in list : [for k in slice(list, 0, 5) : k]])}`: true,
	} {
		_, diags := evaluated(t, text, ctx)
		if diags.HasErrors() == fine {
			t.Errorf("%s: %v", text, diags)
		}
	}
}

// inJSON parses a JSON document as an expression.
func inJSON(t *testing.T, text string) hcl.Expression {
	t.Helper()
	e, diags := json.ParseExpression([]byte(text), "test.tf.json")
	if diags.HasErrors() {
		t.Fatalf("%s: %v", text, diags)
	}
	return e
}

func TestMeteredJSONIsUnchanged(t *testing.T) {
	vars := map[string]cty.Value{
		"a": cty.StringVal("A"), "u": cty.UnknownVal(cty.String),
		"s": cty.ListVal([]cty.Value{cty.StringVal("x")}).Mark(value.Sensitive), "n": cty.NullVal(cty.String),
	}
	ctx := bounded(t.Context(), t.TempDir(), vars)
	bare := &hcl.EvalContext{Functions: Table(Options{BaseDir: t.TempDir()}), Variables: vars}
	for _, text := range []string{
		`1`, `null`, `true`, `""`, `"x"`, `"${a}"`, `"x${a}y"`, `"${[for x in s : x]}"`,
		`"%{ for x in [1, 2] }${x},%{ endfor }"`, `["${a}", 1, ["${u}"]]`, `[]`, `{}`,
		`{"${a}": "${a}", "b": {"c": ["${a}"]}}`, `{"${u}": 1, "b": "${nope}"}`, `{"${n}": 1}`, `{"${[]}": 1}`,
		`{"a": 1, "a": 2}`, `{"${a}": 1, "A": 2}`, `"${"`, `"${nope}"`,
		`{"a": "${", "b": "${a}"}`, `"${tonumber(a)}"`, `"${[for x in [1] : tonumber(a)]}"`, `"$${a}"`,
		`"\u0041${a}\n"`,
	} {
		e := inJSON(t, text)
		got, gotDiags := Evaluate(e, ctx)
		want, wantDiags := e.Value(bare)
		if !got.RawEquals(want) || gotDiags.Error() != wantDiags.Error() {
			t.Errorf("%s: got %#v %v, want %#v %v", text, got, gotDiags, want, wantDiags)
		}
		for i, d := range gotDiags {
			if i < len(wantDiags) && (d.Subject == nil) != (wantDiags[i].Subject == nil) {
				t.Errorf("%s: at %v, want %v", text, d.Subject, wantDiags[i].Subject)
			}
		}
	}
}

func TestLoopsInJSONAreMetered(t *testing.T) {
	lower(t)
	ctx, cancel := context.WithCancel(t.Context())
	scope := bounded(ctx, t.TempDir(), map[string]cty.Value{"list": numbers(1000)})
	const endless = `[for i in list : 0 if [for j in list : 0 if [for k in list : 0 if [for l in list : l] == 0] == ` +
		`0] == 0]`
	for _, text := range []string{`"${[for i in list : [for j in list : j]]}"`,
		`{"a": ["${[for i in list : [for j in list : j]]}"]}`,
		`{"${length([for i in list : [for j in list : j]])}": 1}`} {
		if _, diags := Evaluate(inJSON(t, text), scope); !diags.HasErrors() || !strings.Contains(diags.Error(),
			"limit") {
			t.Errorf("%s: %v", text, diags)
		}
	}
	work := workOf(scope)
	done := make(chan hcl.Diagnostics)
	go func() {
		_, diags := Evaluate(inJSON(t, `"${`+endless+`}"`), scope)
		done <- diags
	}()
	for work.rounds.Load() < 1<<14 {
		runtime.Gosched()
	}
	cancel()
	if diags := <-done; !diags.HasErrors() || !strings.Contains(diags.Error(), ErrStopped.Error()) {
		t.Errorf("got %v", diags)
	}
}

// TestFirstInterruptEndsLongExpressions interrupts work: short expressions continue, and endless ones stop.
func TestFirstInterruptEndsLongExpressions(t *testing.T) {
	lower(t)
	asked, ask := context.WithCancel(t.Context())
	ask()
	ctx := &hcl.EvalContext{Functions: Table(Options{BaseDir: t.TempDir(), Work: NewWorkWithGrace(asked, t.Context())}),
		Variables: map[string]cty.Value{"list": numbers(1000)}}
	if _, diags := evaluated(t, `[for i in list : length([for j in slice(list, 0, 10) : j])]`, ctx); diags.HasErrors() {
		t.Error(diags)
	}
	for _, text := range []string{`[for i in list : [for j in list : [for k in list : [for l in list : l if l < 0]]]]`,
		`bcrypt("x", 20)`} {
		if _, diags := evaluated(t, text, ctx); !diags.HasErrors() || !strings.Contains(diags.Error(),
			ErrStopped.Error()) {
			t.Errorf("%s: %v", text, diags)
		}
	}
}

func TestFilesetEndsWhereLinksLeadBack(t *testing.T) {
	lower(t)
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} { // 2^40 paths, as deep as the system follows links
		if err := os.Symlink(".", filepath.Join(dir, name)); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
	}
	for _, pattern := range []string{"**", "**/x", "*/*/*/*/*/*/*/*/*/*/*/*/*/*/x"} {
		_, diags := evaluated(t, fmt.Sprintf("fileset(%q, %q)", dir, pattern), bounded(t.Context(), dir, nil))
		if !diags.HasErrors() || !strings.Contains(diags.Error(), "limit") {
			t.Errorf("%s: %v", pattern, diags)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	limits.elements = 1 << 30
	bounded := bounded(ctx, dir, nil)
	cancel()
	if _, err := glob(filepath.Join(dir, "**"), workOf(bounded)); err != ErrStopped {
		t.Errorf("got %v", err)
	}
}

// large returns arguments of a type that are as large as the limits allow, and large numbers.
func large(ty cty.Type) []cty.Value {
	text := cty.StringVal(strings.Repeat("x", 1<<12))
	switch {
	case ty == cty.String:
		return []cty.Value{text, cty.StringVal(strings.Repeat("%s${x}\n", 1<<9)),
			cty.StringVal(strings.Repeat("[", 1<<12)), cty.StringVal("%999999999d"), cty.StringVal("10.0.0.0/8")}
	case ty == cty.Number:
		return []cty.Value{cty.NumberIntVal(1 << 40), cty.NumberIntVal(100000), cty.MustParseNumberVal("1e2000"),
			cty.NumberIntVal(-1), cty.NumberIntVal(2)}
	case ty == cty.Bool:
		return []cty.Value{cty.True}
	}
	texts, sets := make([]cty.Value, 1<<5), make([]cty.Value, 1<<3)
	for i := range texts {
		texts[i] = cty.StringVal(fmt.Sprintf("%04000d", i))
	}
	members := map[string]cty.Value{}
	for i, v := range texts[:len(sets)] {
		sets[i], members[fmt.Sprint("k", i)] = cty.SetVal(texts[i:i+2]), v
	}
	return []cty.Value{cty.ListVal(texts), cty.SetVal(texts), numbers(1 << 8), cty.ListVal(sets), cty.MapVal(members),
		cty.ObjectVal(members), cty.TupleVal(texts), text}
}

// TestFunctionsHaveBoundedResults calls every function of the table with large arguments of its parameter types, and
// all operators. The result is within the limits or an error, and the amount of memory is bounded.
func TestFunctionsHaveBoundedResults(t *testing.T) {
	lower(t)
	table := Table(Options{BaseDir: t.TempDir(), Work: NewWork(t.Context())})
	delete(table, workName)
	choices := map[cty.Type][]cty.Value{}
	for _, ty := range []cty.Type{cty.String, cty.Number, cty.Bool, cty.DynamicPseudoType} {
		choices[ty] = large(ty)
	}
	calls := 0
	for _, name := range slices.Sorted(maps.Keys(table)) {
		f := table[name]
		params := f.Params()
		if v := f.VarParam(); v != nil {
			params = append(slices.Clip(params), *v, *v)
		}
		if strings.HasPrefix(name, "core::") || name == "bcrypt" {
			continue // an alias; bcrypt is bounded by its cost, see TestTooLargeValuesAreErrors
		}
		for round := range 5 {
			for turn := range max(1, len(params)) {
				args := make([]cty.Value, len(params))
				for i, p := range params {
					choice := choices[cty.DynamicPseudoType] // collections, too
					if p.Type.IsPrimitiveType() {
						choice = choices[p.Type]
					}
					args[i] = choice[(round+i*turn)%len(choice)]
				}
				calls++
				asksForLittle(t, fmt.Sprintf("%s, round %d, turn %d", name, round, turn), func() (cty.Value, error) {
					return f.Call(args)
				})
			}
		}
	}
	if calls < 500 {
		t.Errorf("only %d calls", calls)
	}
	for _, op := range []*hclsyntax.Operation{hclsyntax.OpAdd, hclsyntax.OpSubtract, hclsyntax.OpMultiply,
		hclsyntax.OpDivide, hclsyntax.OpModulo, hclsyntax.OpEqual, hclsyntax.OpGreaterThan} {
		for _, a := range choices[cty.Number] {
			for _, b := range choices[cty.Number] {
				asksForLittle(t, fmt.Sprintf("operator %v of %#v and %#v", op.Type, a, b), func() (cty.Value, error) {
					return op.Impl.Call([]cty.Value{a, b})
				})
			}
		}
	}
}

func asksForLittle(t *testing.T, what string, call func() (cty.Value, error)) {
	t.Helper()
	const most = 96 << 20 // of memory
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	v, err := call()
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > most {
		t.Errorf("%s: %d MiB were allocated", what, got>>20)
	}
	if err == nil {
		err = CheckSize(v)
	}
	if err != nil && strings.Contains(err.Error(), "goroutine") {
		t.Errorf("%s: the message is not for people: %.300s", what, err)
	}
}

// TestTemplateTextIsNotCopied checks that a template allocates little more than its result.
func TestTemplateTextIsNotCopied(t *testing.T) {
	const length = 1 << 22
	half := cty.StringVal(strings.Repeat("x", length/2))
	secret := cty.StringVal(strings.Repeat("y", length/2)).Mark(value.Sensitive)
	ctx := bounded(t.Context(), t.TempDir(), map[string]cty.Value{"a": half, "b": secret})
	for _, text := range []string{`"${a}${a}"`, `"${a}${b}"`, `"${a}, then ${upper(b)}"`} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, diags := evaluated(t, text, ctx)
		runtime.ReadMemStats(&after)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		bare, marks := v.Unmark()
		_, hidden := marks[value.Sensitive]
		if n := len(bare.AsString()); n < length || hidden != strings.Contains(text, "b") {
			t.Errorf("%s: %d bytes, sensitive: %t", text, n, hidden)
		}
		made := after.TotalAlloc - before.TotalAlloc
		if bound := uint64(length * 3 / 2); !strings.Contains(text, "upper") && made > bound {
			t.Errorf("%s: %d bytes were allocated for a text of %d, more than %d", text, made, length, bound)
		}
	}
}

// TestDoublingsAreMeasuredOnce measures values that contain the same value twice, forty levels deep: visiting all parts
// would never end.
func TestDoublingsAreMeasuredOnce(t *testing.T) {
	list, object := cty.TupleVal([]cty.Value{cty.StringVal("x"), cty.True}), cty.EmptyObjectVal
	for range 20 {
		list = cty.TupleVal([]cty.Value{list, list.Mark(value.Sensitive)})
		object = cty.ObjectVal(map[string]cty.Value{"a": object, "b": object, "c": cty.StringVal("y")})
	}
	before := limits
	t.Cleanup(func() { limits = before })
	for _, v := range []cty.Value{list, object} {
		for _, large := range []bool{false, true} {
			limits.parts, limits.text = 1<<23, 1<<23
			if large {
				limits.parts = 1 << 20
			}
			s := size{parts: limits.parts, text: limits.text}
			err := s.take(v)
			if (err != nil) != large {
				t.Errorf("%s: %v", v.Type().FriendlyName(), err)
			}
			if s.visits > 2*manyVisits {
				t.Errorf("%s: %d visits", v.Type().FriendlyName(), s.visits)
			}
			if parts := limits.parts - s.parts; !large && parts < 1<<21 {
				t.Errorf("%s: only %d parts are counted", v.Type().FriendlyName(), parts)
			}
		}
	}
	limits.parts, limits.text = 1<<23, 1<<20-1
	if err := CheckSize(list); err == nil || !strings.Contains(err.Error(), "text would be longer") {
		t.Errorf("texts that are reached in many ways: %v", err)
	}
}

// TestRepeatedTextIsNotCopied uses a long text in each round of a template: no round copies it, and the limit ends
// the loop before all rounds.
func TestRepeatedTextIsNotCopied(t *testing.T) {
	lower(t)
	ctx := bounded(t.Context(), t.TempDir(), map[string]cty.Value{"list": numbers(4000),
		"long": cty.StringVal(strings.Repeat("x", 1<<15))})
	for _, text := range []string{`"%{ for i in list }${long}%{ endfor }"`,
		`[for i in list : "%{ for j in [1] }${long}%{ endfor }"]`} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, diags := evaluated(t, text, ctx)
		runtime.ReadMemStats(&after)
		if !diags.HasErrors() {
			t.Errorf("%s: no error", text)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 8<<20 {
			t.Errorf("%s: %d MB were allocated", text, made>>20)
		}
	}
}
