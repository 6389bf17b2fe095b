package funcs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/iteration"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// writer generates random expressions. Most have a value; some fail, for all or some instances.
type writer struct {
	*rand.Rand
	loops []string // variables of the enclosing loops
	item  bool     // whether there is an iterator
}

func (w *writer) of(list ...string) string { return list[w.IntN(len(list))] }

func (w *writer) text(depth int) string {
	if depth <= 0 || w.IntN(6) == 0 {
		leaves := []string{`each.key`, `each.value.name`, `local.text`, `local.secret`, `"b"`, `local.unknown`, `var.name`,
			`local.object.name`, `tostring(count.index)`, `local.object[each.key]`, `local.none`, `self.id`,
			`thing.one.name`, `local.object.missing`}
		if w.item {
			leaves = append(leaves, `item.key`, `item.value`)
		}
		return w.of(append(leaves, w.loops...)...)
	}
	depth--
	switch w.IntN(14) {
	case 0:
		return fmt.Sprintf(`"${%s}-${%s}"`, w.text(depth), w.of(w.text(depth), w.number(depth)))
	case 1:
		return fmt.Sprintf(`(%s ? %s : %s)`, w.truth(depth), w.text(depth), w.text(depth))
	case 2:
		return fmt.Sprintf(`try(%s, %s)`, w.text(depth), w.text(depth))
	case 3:
		return fmt.Sprintf(`lookup(%s, %s, %s)`, w.table(depth), w.text(depth), w.text(depth))
	case 4:
		return fmt.Sprintf(`lookup(%s, %s)`, w.table(depth), w.text(depth))
	case 5:
		return fmt.Sprintf(`element(%s, %s)`, w.list(depth), w.number(depth))
	case 6:
		return fmt.Sprintf(`%s[%s]`, w.of("local.list", "local.large", "var.list", "local.tuple"), w.number(depth))
	case 7:
		return fmt.Sprintf(`local.map[%s]`, w.text(depth))
	case 8:
		return fmt.Sprintf(`join(",", %s)`, w.list(depth))
	case 9:
		return fmt.Sprintf(`%s(%s)`, w.of("upper", "md5", "tonumber", "nonsensitive", "sensitive", "jsonencode"),
			w.text(depth))
	case 10:
		return fmt.Sprintf(`jsonencode(%s)`, w.of(w.list(depth), w.table(depth), "local.object"))
	case 11:
		list, name := w.list(depth), w.variable()
		return fmt.Sprintf(`"%%{ for %s in %s }${%s},%%{ endfor }"`, name, list, w.inLoop(name, depth, w.text))
	case 12:
		return w.of(`uuid()`, `md5("${timestamp()}${local.text}")`, `file("absent")`, `file("present")`,
			`templatestring(local.template, { a = `+w.text(depth)+` })`)
	}
	return fmt.Sprintf(`(%s)`, w.text(depth))
}

// variable returns a name for the variable of a loop, which may shadow another name.
func (w *writer) variable() string { return w.of("v", "w", "v", "local", "each", "thing") }

func (w *writer) inLoop(name string, depth int, write func(int) string) string {
	before := w.loops
	w.loops = append(slices.Clip(w.loops), name)
	defer func() { w.loops = before }()
	return write(depth)
}

func (w *writer) number(depth int) string {
	if depth <= 0 || w.IntN(4) == 0 {
		return w.of("0", "2", "count.index", "length(each.key)", "local.number", "local.none", "17.5", "-1")
	}
	depth--
	switch w.IntN(5) {
	case 0:
		return fmt.Sprintf("length(%s)", w.of(w.list(depth), w.table(depth), w.text(depth)))
	case 1:
		return fmt.Sprintf("index(%s, %s)", w.list(depth), w.text(depth))
	case 2:
		return fmt.Sprintf("%s %s %s", w.number(depth), w.of("+", "-", "*", "/", "%"), w.number(depth))
	case 3:
		return fmt.Sprintf("(%s ? %s : %s)", w.truth(depth), w.number(depth), w.number(depth))
	}
	return fmt.Sprintf("max(%s, 3)", w.number(depth))
}

func (w *writer) truth(depth int) string {
	if depth <= 0 {
		return w.of(`each.key == "a"`, `local.yes`, `var.list != null`, "true")
	}
	depth--
	switch w.IntN(5) {
	case 0:
		return fmt.Sprintf("contains(%s, %s)", w.list(depth), w.of(w.text(depth), w.number(depth)))
	case 1:
		return fmt.Sprintf("can(%s)", w.text(depth))
	case 2:
		return fmt.Sprintf("%s == %s", w.text(depth), w.text(depth))
	case 3:
		return fmt.Sprintf("(%s %s %s)", w.truth(depth), w.of("&&", "||"), w.truth(depth))
	}
	return fmt.Sprintf("!%s", w.truth(depth))
}

func (w *writer) list(depth int) string {
	if depth <= 0 || w.IntN(4) == 0 {
		leaves := []string{"local.list", "local.set", "local.tuple", "local.large", "var.list", "local.secrets",
			"local.somesecret", "local.unknowns", "each.value.list", "[]", "local.none", "thing.many[*].name",
			"local.unknown"}
		return w.of(append(leaves, w.loops...)...)
	}
	depth--
	switch w.IntN(7) {
	case 0:
		return fmt.Sprintf("[%s, %s]", w.text(depth), w.of(w.text(depth), w.number(depth)))
	case 1:
		return fmt.Sprintf("concat(%s, %s)", w.list(depth), w.list(depth))
	case 2:
		list, name := w.list(depth), w.variable()
		return fmt.Sprintf("[for %s in %s : %s]", name, list, w.inLoop(name, depth, w.text))
	case 3:
		list, name := w.list(depth), w.variable()
		return fmt.Sprintf("[for k, %s in %s : k if %s]", name, list, w.inLoop(name, depth, w.truth))
	case 4:
		return fmt.Sprintf("%s(%s)", w.of("keys", "values"), w.table(depth))
	case 5:
		return fmt.Sprintf("%s(%s)", w.of("toset", "tolist", "distinct", "flatten", "reverse"), w.list(depth))
	}
	return fmt.Sprintf("(%s ? %s : %s)", w.truth(depth), w.list(depth), w.list(depth))
}

func (w *writer) table(depth int) string {
	if depth <= 0 || w.IntN(3) == 0 {
		return w.of("local.map", "local.object", "local.largemap", "local.secretmap", "each.value", "{}", "local.none")
	}
	depth--
	switch w.IntN(4) {
	case 0:
		return fmt.Sprintf("{ a = %s, (%s) = %s }", w.text(depth), w.text(depth), w.text(depth))
	case 1:
		return fmt.Sprintf("merge(%s, %s)", w.table(depth), w.table(depth))
	case 2:
		list, name := w.list(depth), w.variable()
		return fmt.Sprintf("{ for %s in %s : %s => %s... }", name, list, w.inLoop(name, depth, w.text), w.inLoop(name,
			depth, w.text))
	}
	return fmt.Sprintf("tomap(%s)", w.table(depth))
}

// module returns the values of an instance of a module. Modules with odd numbers share their large list.
func module(n int, common cty.Value) map[string]cty.Value {
	texts := func(list ...string) []cty.Value {
		out := make([]cty.Value, len(list))
		for i, s := range list {
			out[i] = cty.StringVal(s)
		}
		return out
	}
	table := func(n int) map[string]cty.Value {
		out := map[string]cty.Value{"a": cty.StringVal("in a"), "b": cty.StringVal("in b")}
		for i := range n {
			out[fmt.Sprintf("k%d", i)] = cty.StringVal("v")
		}
		return out
	}
	secret := cty.StringVal("hidden text").Mark(value.Sensitive)
	list := common
	if n%2 == 0 {
		list = cty.ListVal(append(texts("x", "b"), texts(strings.Fields(strings.Repeat("y ", 20+n))...)...))
	}
	return map[string]cty.Value{
		"local": cty.ObjectVal(map[string]cty.Value{
			"text": cty.StringVal("some text"), "secret": secret, "unknown": cty.UnknownVal(cty.String),
			"none": cty.NullVal(cty.DynamicPseudoType), "number": cty.NumberIntVal(1), "yes": cty.True,
			"template": cty.StringVal("${a} and ${a}"),
			"list":     cty.ListVal(texts("a", "b", "c", "a")), "set": cty.SetVal(texts("a", "b")),
			"tuple":   cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.NumberIntVal(2), cty.StringVal("b")}),
			"secrets": cty.ListVal(texts("a", "c")).Mark(value.Sensitive), "large": list,
			"somesecret": cty.ListVal([]cty.Value{cty.StringVal("a"), secret}),
			"unknowns":   cty.ListVal([]cty.Value{cty.StringVal("a"), cty.UnknownVal(cty.String)}),
			"object": cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("o"), "a": cty.StringVal("oa"),
				"s": secret}),
			"map": cty.MapVal(table(0)), "largemap": cty.MapVal(table(30)),
			"secretmap": cty.MapVal(map[string]cty.Value{"a": secret, "b": cty.StringVal("plain")}),
		}),
		"var":   cty.ObjectVal(map[string]cty.Value{"list": list, "name": cty.StringVal(fmt.Sprint("module ", n))}),
		"thing": cty.ObjectVal(map[string]cty.Value{"one": named("t"), "many": cty.TupleVal([]cty.Value{named("t0")})}),
	}
}

func named(name string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name)})
}

// instance returns a child scope for an instance of a block.
func instance(in *hcl.EvalContext, n int, key string) *hcl.EvalContext {
	ctx := in.NewChild()
	ctx.Variables = map[string]cty.Value{
		"each": cty.ObjectVal(map[string]cty.Value{
			"key": cty.StringVal(key), "value": cty.ObjectVal(map[string]cty.Value{
				"name": cty.StringVal("name of " + key), "list": cty.ListVal([]cty.Value{cty.StringVal(key)})})}),
		"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(int64(n))}),
	}
	if n%2 == 0 {
		return ctx
	}
	ctx = ctx.NewChild()
	ctx.Variables = map[string]cty.Value{"self": cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("id-" + key)})}
	AfterApply(ctx)
	return ctx
}

// described returns all visible parts of problems as text.
func described(diags hcl.Diagnostics) string {
	var b strings.Builder
	for _, d := range diags {
		fmt.Fprintf(&b, "%d %s: %s at %v in %v", d.Severity, d.Summary, d.Detail, d.Subject, d.Context)
		if d.Expression != nil && d.EvalContext != nil {
			for _, t := range d.Expression.Variables() {
				v, problems := t.TraverseAbs(d.EvalContext)
				fmt.Fprintf(&b, " %s = %#v (%d)", t.RootName(), v, len(problems))
			}
		}
		b.WriteString("\n")
	}
	return addresses.ReplaceAllString(b.String(), "")
}

var addresses = regexp.MustCompile("0x[0-9a-f]+")

// TestSharingChangesNothing evaluates expressions for instances of a block in instances of a module, and compares the
// results with the library's.
func TestSharingChangesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "present"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	valid, shared := 0, 0
	for seed := range uint64(1000) {
		w := &writer{Rand: rand.New(rand.NewPCG(seed, 1)), item: seed%3 == 0}
		text := []func(int) string{w.text, w.list, w.table, w.truth, w.number}[seed%5](1 + w.IntN(4))
		parse := func() hclsyntax.Expression {
			e, diags := hclsyntax.ParseExpression([]byte(text), "test.tf", hcl.InitialPos)
			if diags.HasErrors() {
				t.Fatalf("%s: %v", text, diags)
			}
			iteration.Guard(e)
			return e
		}
		ours, theirs := parse(), parse()
		if strings.Contains(fmt.Sprintf("%T", Metered(ours)), "share") {
			shared++
		}
		work := NewWork(t.Context())
		with := Table(Options{BaseDir: dir, Pure: true, Work: work})
		without := Table(Options{BaseDir: dir, Pure: true})
		common := numbered(40)
		for n := range 5 {
			vars := module(n, common)
			in := Share(&hcl.EvalContext{Variables: vars, Functions: with})
			plain := &hcl.EvalContext{Variables: module(n, common), Functions: without}
			for i, key := range []string{"a", "b", "k1", "absent"} {
				mine, other := instance(in, i, key), instance(plain, i, key)
				if w.item {
					mine, other = iterated(mine, i), iterated(other, i)
				}
				got, gotDiags := Evaluate(ours, mine)
				want, wantDiags := theirs.Value(other)
				if a, b := described(gotDiags), described(wantDiags); a != b {
					t.Fatalf("seed %d: %s\nin module %d for %s: shared\n%snot shared\n%s", seed, text, n, key, a, b)
				}
				if wantDiags.HasErrors() {
					continue
				}
				valid++
				if !ctyfast.RawEquals(got, want) {
					t.Fatalf("seed %d: %s\nin module %d for %s: shared\n%#v\nnot shared\n%#v", seed, text, n, key, got,
						want)
				}
			}
		}
	}
	if valid < 3500 || shared < 80 {
		t.Errorf("only %d of all evaluations had a value, and %d expressions were shared as a whole", valid, shared)
	}
}

// iterated returns the scope of a content block of a dynamic block.
func iterated(in *hcl.EvalContext, n int) *hcl.EvalContext {
	ctx := in.NewChild()
	ctx.Variables = map[string]cty.Value{"item": cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal("k1"),
		"value": cty.StringVal(fmt.Sprint("item ", n))})}
	return ctx
}

func numbered(n int) cty.Value {
	list := make([]cty.Value, n)
	for i := range list {
		list[i] = cty.StringVal(fmt.Sprint("k", i))
	}
	return cty.ListVal(list)
}

// counted returns a scope with a function "count_calls" that counts its calls and returns its argument.
func counted(t *testing.T, dir string, calls *int) *hcl.EvalContext {
	ctx := bounded(t.Context(), dir, map[string]cty.Value{"local": cty.ObjectVal(map[string]cty.Value{
		"list": numbered(20), "text": cty.StringVal("t")})})
	ctx.Functions["count_calls"] = function.New(&function.Spec{
		Params: []function.Parameter{param("v", cty.DynamicPseudoType)},
		Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			*calls++
			return args[0], nil
		},
	})
	return Share(ctx)
}

func TestSharedPartsAreEvaluatedOnceOnDemand(t *testing.T) {
	for text, want := range map[string]int{
		`"${each.key}/${length(count_calls(local.list))}"`:                      1,
		`[for v in local.list : "${v}${each.key}${count_calls(local.text)}"]`:   1,
		`[for v in local.list : count_calls(v)][0] == each.key`:                 20,
		`try(each.key, count_calls(local.list))`:                                0,
		`try(each.key.none, count_calls(local.text))`:                           1,
		`[for v in local.list : count_calls(local.text) if v == each.key]`:      0,
		`can(each.key) || count_calls(local.text) == "t"`:                       1, // the library evaluates both
		`[each.key, [for local in ["x", "y"] : count_calls(local)]]`:            2,
		`[each.key, try(tonumber(count_calls(local.text)), 1)]`:                 1,
		`try([each.key, tonumber(count_calls(local.text))], 1)`:                 4, // failures are not cached
		`templatestring(local.text, { a = count_calls(each.key) })`:             4,
		`{ (each.key) = count_calls(local.list), b = count_calls(local.list) }`: 2,
	} {
		calls := 0
		ctx := counted(t, t.TempDir(), &calls)
		e, diags := hclsyntax.ParseExpression([]byte(text), "test.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		iteration.Guard(e)
		for i, key := range []string{"a", "b", "c", "d"} {
			if _, diags := Evaluate(e, instance(ctx, 2*i, key)); diags.HasErrors() {
				t.Errorf("%s: %v", text, diags)
			}
		}
		if calls != want {
			t.Errorf("%s: %d calls for four instances, expected %d", text, calls, want)
		}
	}
}

// TestChangingResultsAreNotShared: the results of functions such as uuid differ each time, even in a template, and so
// may the content of a file after an operation.
func TestChangingResultsAreNotShared(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("id.tftpl", "${uuid()}")
	calls := 0
	ctx := counted(t, dir, &calls)
	for text, late := range map[string]bool{
		`uuid()`: false, `"${each.key == "" ? "" : "x"}${upper(uuid())}"`: false, `templatefile("id.tftpl", {})`: false,
		`bcrypt(local.text, 4)`: false, `upper(file("changing"))`: true, `[for v in ["x"] : filemd5("changing")]`: true,
	} {
		e, diags := hclsyntax.ParseExpression([]byte(text), "test.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		var before []cty.Value
		for i := range 5 {
			write("changing", fmt.Sprint(i))
			n := 0
			if late {
				n = 1 // instance then adds self
			}
			v, diags := Evaluate(e, instance(ctx, n, "a"))
			if diags.HasErrors() {
				t.Fatalf("%s: %v", text, diags)
			}
			if slices.ContainsFunc(before, v.RawEquals) {
				t.Errorf("%s gave %#v twice", text, v)
			}
			before = append(before, v)
		}
	}
}
