package funcs

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// call calls a function with string arguments.
func call(t *testing.T, table map[string]function.Function, name string, args ...string) (cty.Value, error) {
	t.Helper()
	f, found := table[name]
	if !found {
		t.Fatalf("no function %s", name)
	}
	values := make([]cty.Value, len(args))
	for i, arg := range args {
		values[i] = cty.StringVal(arg)
	}
	return f.Call(values)
}

func TestPureTableLeavesChangingResultsUnknown(t *testing.T) {
	table := Table(Options{Pure: true})
	for name, args := range map[string][]string{"timestamp": nil, "uuid": nil, "bcrypt": {"x"}} {
		got, err := call(t, table, name, args...)
		if err != nil || got.IsKnown() || got.Type() != cty.String {
			t.Errorf("%s gives %#v, %v; want an unknown string", name, got, err)
		}
	}
}

func TestImpureTableReturnsResults(t *testing.T) {
	table := Table(Options{})
	for name, pattern := range map[string]string{
		"timestamp": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`,
		"uuid":      `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`,
	} {
		got, err := call(t, table, name)
		if err != nil || !regexp.MustCompile(pattern).MatchString(got.AsString()) {
			t.Errorf("%s gives %#v, %v; want a match of %s", name, got, err, pattern)
		}
	}
}

func TestPlanTimestampIsTimeOfPlanOrUnknown(t *testing.T) {
	at := time.Date(2025, 1, 2, 3, 4, 5, 600, time.FixedZone("", 3600))
	got, err := call(t, Table(Options{PlanTime: at}), "plantimestamp")
	if want := cty.StringVal("2025-01-02T02:04:05Z"); err != nil || !got.RawEquals(want) {
		t.Errorf("got %#v, %v; want %#v", got, err, want)
	}
	got, err = call(t, Table(Options{}), "plantimestamp")
	if want := cty.UnknownVal(cty.String).RefineNotNull(); err != nil || !got.RawEquals(want) {
		t.Errorf("without a time: got %#v, %v; want %#v", got, err, want)
	}
}

func TestConsoleHasTypeAndNoPlanTimestamp(t *testing.T) {
	console, ordinary := Table(Options{ConsoleMode: true}), Table(Options{})
	for _, prefix := range []string{"", "core::"} {
		if !has(console, prefix+"type") || has(console, prefix+"plantimestamp") {
			t.Errorf("console: want %stype and no %splantimestamp", prefix, prefix)
		}
		if has(ordinary, prefix+"type") || !has(ordinary, prefix+"plantimestamp") {
			t.Errorf("elsewhere: want %splantimestamp and no %stype", prefix, prefix)
		}
	}
}

func TestDescribedTypeIsRecognisedOnlyAsWhole(t *testing.T) {
	ctx := &hcl.EvalContext{Functions: Table(Options{ConsoleMode: true})}
	whole, _ := evaluate(`type([1])`, ctx)
	if text, ok := DescribedType(whole); !ok || text != "tuple([\n    number,\n])" {
		t.Errorf("got %q, %v", text, ok)
	}
	part, _ := evaluate(`[type([1])]`, ctx)
	if _, ok := DescribedType(part); ok || !ContainsDescribedType(part) {
		t.Error("a call of type inside an expression is not told from one that is the whole")
	}
	if plain, _ := evaluate(`"number"`, ctx); ContainsDescribedType(plain) {
		t.Error("a string is taken for a type")
	}
}

func TestTypeString(t *testing.T) {
	object := cty.Object(map[string]cty.Type{"b": cty.List(cty.String), "a": cty.EmptyTuple})
	for want, ty := range map[string]cty.Type{
		"string":                                cty.String,
		"dynamic":                               cty.DynamicPseudoType,
		"map(list(set(bool)))":                  cty.Map(cty.List(cty.Set(cty.Bool))),
		"object({})":                            cty.EmptyObject,
		"list(\n    object({}),\n)":             cty.List(cty.EmptyObject),
		"list(list(\n    tuple([]),\n))":        cty.List(cty.List(cty.EmptyTuple)),
		"tuple([\n    string,\n    number,\n])": cty.Tuple([]cty.Type{cty.String, cty.Number}),
		"object({\n    a: tuple([]),\n    b: list(string),\n})": object,
		"object({\n    x: map(\n        object({\n            a: tuple([]),\n            b: list(string),\n        " +
			"}),\n    ),\n})": cty.Object(map[string]cty.Type{"x": cty.Map(object)}),
	} {
		if got := TypeString(ty); got != want {
			t.Errorf("%#v: got\n%s\nwant\n%s", ty, got, want)
		}
	}
}

func TestRelativePathsStartAtBaseDir(t *testing.T) {
	dir, home := writeFixture(t)
	table := Table(Options{BaseDir: filepath.Join(dir, "sub"), Home: home})
	for expression, want := range map[string]string{
		`file("b.txt")`:                     `"b"`,
		`file("../hello.txt")`:              `"Hello, World!"`,
		`file("~/home.txt")`:                `"home"`,
		`fileexists("hello.txt")`:           `false`,
		`fileset(".", "**")`:                `["b.txt","deep/c.md"]`,
		`abspath("x")`:                      `"` + filepath.Join(dir, "sub", "x") + `"`,
		`pathexpand("~/x")`:                 `"` + filepath.Join(home, "x") + `"`,
		`templatefile("../bool.tftpl", {})`: `true`,
	} {
		got, diags := evaluate("jsonencode("+expression+")", &hcl.EvalContext{Functions: table})
		if diags.HasErrors() || got.AsString() != want {
			t.Errorf("%s gives %#v %v, want %s", expression, got, diags, want)
		}
	}
}

func TestTablesDoNotShareMaps(t *testing.T) {
	first := Table(Options{})
	delete(first, "upper")
	first["lower"] = first["max"]
	second := Table(Options{})
	if got, err := call(t, second, "lower", "A"); !has(second, "upper") || err != nil || got.AsString() != "a" {
		t.Errorf("a change of one table shows in another: %#v, %v", got, err)
	}
}

func TestFileRecordRefusesChangedResults(t *testing.T) {
	dir, home := writeFixture(t)
	planned := NewFileRecord(nil)
	calls := map[string]string{
		"file":             `file("hello.txt")`,
		"filebase64":       `filebase64("hello.txt")`,
		"fileexists":       `fileexists("new.txt")`,
		"fileset":          `fileset(".", "new*")`,
		"filesha256":       `filesha256("hello.txt")`,
		"filebase64sha512": `filebase64sha512("hello.txt")`,
		"templatefile":     `templatefile("hello.txt", {a = sensitive(1)})`,
	}
	evaluateAll := func(record *FileRecord) map[string]string {
		ctx := &hcl.EvalContext{Functions: Table(Options{BaseDir: dir, Home: home, Files: record})}
		failures := map[string]string{}
		for name, expression := range calls {
			if _, diags := evaluate(expression, ctx); diags.HasErrors() {
				failures[name] = diags[0].Detail
			}
		}
		return failures
	}
	for _, round := range []string{"first", "again"} {
		if failures := evaluateAll(planned); len(failures) > 0 {
			t.Fatalf("%s while planning: %v", round, failures)
		}
	}
	applied := NewFileRecord(planned.Results())
	if failures := evaluateAll(applied); len(failures) > 0 {
		t.Fatalf("nothing changed: %v", failures)
	}
	for _, name := range []string{"hello.txt", "new.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("changed"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	failures := evaluateAll(NewFileRecord(planned.Results()))
	for name := range calls {
		if !strings.Contains(failures[name], "inconsistent result") {
			t.Errorf("%s: want an inconsistent result, got %q", name, failures[name])
		}
	}
}

func TestFileRecordLetsNewAndUnknownCallsPass(t *testing.T) {
	record := NewFileRecord(map[string]string{})
	arg := []cty.Value{cty.StringVal("a")}
	unknown := []cty.Value{cty.UnknownVal(cty.String)}
	for _, step := range []struct {
		name   string
		args   []cty.Value
		result cty.Value
		fails  bool
	}{
		{"f", arg, cty.StringVal("1"), false},
		{"f", arg, cty.StringVal("1").Mark("secret"), false},
		{"f", arg, cty.UnknownVal(cty.String), false},
		{"f", arg, cty.StringVal("2"), true},
		{"f", arg, cty.NumberIntVal(1), true},
		{"g", arg, cty.StringVal("2"), false},
		{"f", append(arg, arg...), cty.StringVal("2"), false},
		{"f", unknown, cty.StringVal("1"), false},
		{"f", unknown, cty.StringVal("2"), false},
	} {
		err := record.Check(step.name, step.args, step.result)
		if (err != nil) != step.fails {
			t.Errorf("%s(%#v) = %#v: %v", step.name, step.args, step.result, err)
		}
	}
	if got := len(record.Results()); got != 3 {
		t.Errorf("%d results recorded, want 3", got)
	}
}

func TestFileRecordIsSafeForConcurrentUse(t *testing.T) {
	dir, home := writeFixture(t)
	record := NewFileRecord(nil)
	table := Table(Options{BaseDir: dir, Home: home, Files: record})
	var workers sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		workers.Go(func() {
			ctx := &hcl.EvalContext{Functions: table}
			for range 50 {
				_, diags := evaluate(
					`[file("hello.txt"), templatefile("funcs.tftpl", {name = "x"}), try(file("nope"), 1)]`, ctx)
				if diags.HasErrors() {
					errs[i] = diags
				}
				record.Results()
			}
		})
	}
	workers.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(2, len(record.Results())); diff != "" {
		t.Errorf("recorded results (-want +got):\n%s", diff)
	}
}
