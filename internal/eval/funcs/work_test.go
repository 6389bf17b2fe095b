package funcs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/iteration"
)

// bounded returns a scope with limited work.
func bounded(ctx context.Context, dir string, vars map[string]cty.Value) *hcl.EvalContext {
	return &hcl.EvalContext{Functions: Table(Options{BaseDir: dir, Work: NewWork(ctx)}), Variables: vars}
}

func evaluated(t *testing.T, text string, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	t.Helper()
	e, diags := hclsyntax.ParseExpression([]byte(text), "test.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s: %v", text, diags)
	}
	iteration.Guard(e) // like the loader
	return Evaluate(e, ctx)
}

func TestTooLargeValuesAreErrors(t *testing.T) {
	before := limits
	t.Cleanup(func() { limits = before })
	limits.text, limits.parts, limits.elements = 1<<18, 1<<14, 1<<12
	big := cty.StringVal(strings.Repeat("x", 1<<10))
	pieces := make([]cty.Value, 1<<10)
	for i := range pieces {
		pieces[i] = cty.NumberIntVal(int64(i))
	}
	doubled := cty.StringVal("0123456789abcdef")
	for range 15 {
		doubled = cty.ObjectVal(map[string]cty.Value{"a": doubled, "b": doubled})
	}
	ctx := bounded(t.Context(), t.TempDir(), map[string]cty.Value{
		"big": big, "list": cty.ListVal(pieces), "doubled": doubled, "many": cty.TupleVal(func() []cty.Value {
			out := make([]cty.Value, 1<<10)
			for i := range out {
				out[i] = big
			}
			return out
		}()),
	})
	for _, text := range []string{
		`replace(big, "x", big)`,
		`split("", join("", [for i in list : "0123456789abcdefg"]))`,
		`split("0", join("", [for i in list : "00000000000000000"]))`,
		`regexall("", join("", [for i in list : "0123456789abcdefg"]))`,
		`jsondecode("[${join(",", [for i in list : "1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6"])}]")`,
		`yamldecode(join("", [for i in list : "` + strings.Repeat(`- a\n`, 17) + `"]))`,
		`yamldecode("[${join(",", [for i in list : "1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6"])}]")`,
		`csvdecode(join("\n", [for i in list : "1,2\n3,4\n5,6\n7,8\n9,0\n1,2"]))`,
		`regexall("(0)(1)", join("", [for i in list : "01010101010101"]))`,
		`replace(replace(replace(big, "x", "xxxxxxxxxx"), "x", big), "x", big)`,
		`replace(big, "/x/", big)`,
		`replace(big, "/(x)/", "` + strings.Repeat("$1", 500) + `")`,
		`join(big, list)`,
		`join("", many)`,
		`"` + strings.Repeat("${big}", 300) + `"`,
		`"%{ for i in list }${big}%{ endfor }"`,
		`"%{ for i in list }%{ for j in list }%{ for k in list }x%{ endfor }%{ endfor }%{ endfor }"`,
		`[for i in list : [for j in list : [for k in list : k]]]`,
		`[for i in list : "${i}${big}"]`,
		`[for i in list : { a = ["${i}${big}"] }]`,
		`join("", [for i in list : "${i}${big}"])`,
		`length([for i in list : "${i}${big}"])`,
		`"%{ for i in list }${i}${big}%{ endfor }"`,
		`"%{ for i in list }%{ for j in list }${i}${j}%{ endfor }%{ endfor }"`,
		`[for i in list : try([for j in list : [for k in list : k]], 0)]`,
		`{x = doubled}`,
		`jsonencode(doubled)`,
		`yamlencode(doubled)`,
		`jsonencode(many)`,
		`format("%s%s", "` + strings.Repeat("x", 10) + `", join("", [for i in list : big]))`,
		`format("` + strings.Repeat("%99999s", 30) + `"` + strings.Repeat(`, "x"`, 30) + `)`,
		`format("` + strings.Repeat("%[1]s", 300) + `", big)`,
		`formatlist("%s %s", list, big)`,
		`formatlist("%999999s", list)`,
		`indent(100000, "` + strings.Repeat(`\n`, 30) + `")`,
		`bcrypt("x", 31)`,
		`setproduct(list, list, list)`,
	} {
		t.Run(fmt.Sprintf("%.60s", text), func(t *testing.T) {
			var before, after runtime.MemStats
			rounds := workOf(ctx).rounds.Load()
			runtime.ReadMemStats(&before)
			_, diags := evaluated(t, text, ctx)
			runtime.ReadMemStats(&after)
			if !diags.HasErrors() {
				t.Fatal("no error")
			}
			for _, d := range diags {
				if len(d.Detail) > 400 || strings.Contains(d.Detail, "goroutine") {
					t.Errorf("the message is not for people: %.500s", d.Detail)
				}
			}
			// Each round adds a part of the text or an element, so that there are no more rounds than these.
			if rounds = workOf(ctx).rounds.Load() - rounds; rounds > int64(limits.text+limits.parts) {
				t.Errorf("it took %d rounds to see that it is too much", rounds)
			}
			// A round takes a KiB or two, and more under the race detector.
			if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 64+uint64(rounds)>>8 {
				t.Errorf("%d MiB were allocated in %d rounds", got, rounds)
			}
		})
	}
}

func TestMeteredResultsAreUnchanged(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.tftpl"), []byte("%{ for x in xs ~}\n<${x}>%{ endfor }"),
		0o644); err != nil {
		t.Fatal(err)
	}
	ctx := bounded(t.Context(), dir, map[string]cty.Value{"a": cty.StringVal("A"), "u": cty.UnknownVal(cty.String)})
	bare := &hcl.EvalContext{Functions: Table(Options{BaseDir: dir}), Variables: ctx.Variables}
	for _, text := range []string{
		`"${a}"`, `"${a}-${a}"`, `"x${u}"`, `"${sensitive(a)}-b"`, `"${null}x"`, `"${[]}x"`,
		`[for x in [1, 2] : x + 1]`, `{for k, v in {a = 1} : v => k...}`,
		`[for x in [1, 2, 3] : x if x != 2]`, `[for x in [[1], [2]] : [for y in x : [for z in x : "${y}${z}"]]]`,
		`"%{ for x in ["a", "b"] }${x},%{ endfor }"`,
		`"%{ if a == "A" }yes%{ else }no%{ endif }"`, `[{a = 1}, {a = 2}][*].a`, `(a == "A") ? [a] : []`,
		`{"${a}" = 1, (a) = 2}`, `{a = 1}`, `-(1 + 2) * 3`, `[1, 2][0]`,
		`try([for x in 1 : x], "none")`, `can([for x in 1 : x])`, `[for x in [1] : nope]`, `[for x in null : x]`,
		`templatefile("t.tftpl", {xs = ["p", "q"]})`,
		`replace("aXbX", "X", "yy")`, `replace("abc", "/(b)/", "<$1>")`, `join("-", ["a", "b"], ["c"])`,
		`format("%5.1f|%s", 1.25, a)`, `formatlist("%s-%s", ["a", "b"], "c")`,
		`indent(2, "a\nb")`, `yamldecode("a: [1, 2]")`, `jsonencode({a = [1]})`, `work("x")`, `nope.x`,
		`[for x in sensitive([1, 2]) : [for y in sensitive([x]) : "${y}-${x}"]]`,
	} {
		got, gotDiags := evaluated(t, text, ctx)
		e, _ := hclsyntax.ParseExpression([]byte(text), "test.tf", hcl.InitialPos)
		want, wantDiags := e.Value(bare)
		if !got.RawEquals(want) || gotDiags.Error() != wantDiags.Error() {
			t.Errorf("%s: got %#v %v, want %#v %v", text, got, gotDiags, want, wantDiags)
		}
	}
}

func TestWorkEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	sparse := filepath.Join(dir, "sparse")
	if err := os.WriteFile(sparse, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 1<<42); err != nil {
		t.Skip("needs a file system with files of four terabytes: ", err)
	}
	var numbers []cty.Value
	for i := range 1 << 10 {
		numbers = append(numbers, cty.NumberIntVal(int64(i)))
	}
	for _, text := range []string{
		`[for i in list : [for j in list : [for k in list : [for l in list : l if l < 0]]]]`,
		`filesha256("sparse")`,
		`bcrypt("x", 20)`,
	} {
		t.Run(text, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			timer := time.AfterFunc(20*time.Millisecond, cancel)
			defer timer.Stop()
			_, diags := evaluated(t, text, bounded(ctx, dir, map[string]cty.Value{"list": cty.ListVal(numbers)}))
			if !diags.HasErrors() || !strings.Contains(diags.Error(), ErrStopped.Error()) {
				t.Errorf("got %v", diags)
			}
		})
	}
}

func TestShortLoopsCount(t *testing.T) {
	w := NewWork(t.Context())
	ctx := &hcl.EvalContext{Functions: Table(Options{Work: w})}
	for range 3 {
		if _, diags := evaluated(t, `[for x in [1, 2] : [for y in [1, 2, 3] : y]]`, ctx); diags.HasErrors() {
			t.Fatal(diags)
		}
	}
	if got := w.rounds.Load(); got != 3*(2+2*3) {
		t.Errorf("%d rounds are counted", got)
	}
	w.rounds.Store(maxRounds)
	if _, diags := evaluated(t, `[for x in [1] : x]`, ctx); !diags.HasErrors() {
		t.Error("a short loop is not bounded")
	}
}

// Each call of a function defined in a configuration counts as work: functions that call each other twice would
// otherwise run forever.
func TestCallsOfDefinedFunctionsAreCounted(t *testing.T) {
	w := NewWork(t.Context())
	ctx := &hcl.EvalContext{Functions: Table(Options{Work: w})}
	e := hcl.StaticExpr(cty.True, hcl.Range{})
	if _, diags := EvaluateCalled(e, ctx); diags.HasErrors() || w.rounds.Load() != callSteps {
		t.Errorf("%d rounds are counted: %v", w.rounds.Load(), diags)
	}
	w.rounds.Store(maxRounds)
	if _, diags := EvaluateCalled(e, ctx); !diags.HasErrors() || !strings.Contains(diags.Error(), "calls of") {
		t.Errorf("no limit: %v", diags)
	}
}

// TestFilesThatAreReadAreCounted reads a file in a walk that has reached the limit for files.
func TestFilesThatAreReadAreCounted(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`filesha256("f")`, `file("f")`, `filebase64("f")`} {
		w := NewWork(t.Context())
		ctx := &hcl.EvalContext{Functions: Table(Options{BaseDir: dir, Work: w})}
		if _, diags := evaluated(t, text, ctx); diags.HasErrors() || w.rounds.Load() < 1<<10 {
			t.Errorf("%s: %d rounds, %v", text, w.rounds.Load(), diags)
		}
		w.rounds.Store(maxRounds)
		if _, diags := evaluated(t, text, ctx); !diags.HasErrors() || !strings.Contains(diags.Error(), "1024 GiB") {
			t.Errorf("%s: %v", text, diags)
		}
	}
}
