package eval_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// written is a generated function block.
type written struct {
	name   string
	params []string
	types  []string // "" for none
	body   string
}

func (f written) block() string {
	var b strings.Builder
	fmt.Fprintf(&b, "function %q {\n", f.name)
	for i, p := range f.params {
		if f.types[i] == "" {
			fmt.Fprintf(&b, "  parameter %q {}\n", p)
			continue
		}
		fmt.Fprintf(&b, "  parameter %q { type = %s }\n", p, f.types[i])
	}
	fmt.Fprintf(&b, "  result = %s\n}\n", f.body)
	return b.String()
}

// functionGenerator writes functions that call each other.
type functionGenerator struct {
	r       *rand.Rand
	made    []written
	scope   []string // names that can be referred to
	names   int
	written int
}

func (g *functionGenerator) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *functionGenerator) atom() string {
	if len(g.scope) > 0 && g.r.IntN(4) > 0 {
		return g.pick(g.scope...)
	}
	return g.pick(`"x"`, "1", "true", "null", "[]", `{ a = "y" }`, `["l", "m"]`, "2.5")
}

// suitable holds arguments for parameters of each type.
var suitable = map[string][]string{
	"": {"var.unknown", "var.secret", "var.secret.a", "[var.unknown, 1]", `{ a = var.secret }`, `"text"`, `["a", "b"]`,
		"null", "{}", `{ a = "1", b = var.unknown }`, "12", "sensitive(var.unknown)"},
	"any":          {"var.unknown", "var.secret", `{ a = var.secret }`, "null", "true"},
	"string":       {`"text"`, "12", "var.unknown", "var.secret.a", "null", "sensitive(var.unknown)"},
	"list(string)": {`["a", "b"]`, "[var.unknown, 1]", "var.unknown", "[var.secret.a]", "[]"},
	"map(any)":     {`{ a = "1", b = var.unknown }`, "var.secret", "{}", "var.unknown"},
	`object({ a = optional(string, "d") })`: {`{ a = "1", b = var.unknown }`, "{}", "var.secret", "var.unknown", "null",
		"{ a = var.unknown }"},
}

// expr generates an expression. Arguments of functions are simple: a call evaluates all of its arguments, but an
// inlined body only those that it needs.
func (g *functionGenerator) expr(depth int) string {
	if depth == 0 {
		return g.atom()
	}
	e := func() string { return g.expr(depth - 1) }
	within := func(v string, write func() string) string {
		g.scope = append(g.scope, v)
		defer func() { g.scope = g.scope[:len(g.scope)-1] }()
		return write()
	}
	g.names++
	v := fmt.Sprintf("v%d", g.names)
	switch g.r.IntN(17) {
	case 0:
		return fmt.Sprintf("[%s, %s]", e(), e())
	case 1:
		return fmt.Sprintf("{ a = %s, b = %s }", e(), e())
	case 2:
		return fmt.Sprintf(`"<${jsonencode(%s)}>"`, e())
	case 3:
		return fmt.Sprintf("(%s == %s ? jsonencode(%s) : jsonencode(%s))", e(), e(), e(), e())
	case 4:
		return fmt.Sprintf("[for %s in [%s, %s] : %s]", v, e(), e(), within(v, e))
	case 5:
		return fmt.Sprintf("[for %s in flatten([%s]) : %s if %[1]s != null]", v, e(), within(v, e))
	case 6:
		return fmt.Sprintf("{ for k%s, %[1]s in { a = %s, b = %s } : k%[1]s => %s }", v, e(), e(), within(v, e))
	case 7:
		return fmt.Sprintf("try(%s.a, %s[0], %s)", g.atom(), g.atom(), e())
	case 8:
		return fmt.Sprintf("can(tonumber(%s))", e())
	case 9:
		return fmt.Sprintf("merge({ a = %s }, { b = %s })", e(), e())
	case 10:
		return fmt.Sprintf("length([%s, %s])", e(), e())
	case 11:
		return fmt.Sprintf("issensitive(%s)", e())
	case 12:
		return fmt.Sprintf("flatten([%s, [%s]])", e(), e())
	case 13:
		return fmt.Sprintf("[%s, %s][%s == %s ? 0 : 1]", e(), e(), e(), e())
	case 14:
		return fmt.Sprintf("(%s)[*]", e())
	}
	if len(g.made) == 0 {
		return e()
	}
	f := g.made[g.r.IntN(len(g.made))]
	args := make([]string, len(f.params))
	for i := range args {
		args[i] = g.atom()
	}
	return fmt.Sprintf("local::%s(%s)", f.name, strings.Join(args, ", "))
}

// function generates one more function. Only functions that no others call have types: within "try", a conversion that
// fails before the body is evaluated differs from one that fails in it.
func (g *functionGenerator) function(typed bool) written {
	f := written{name: fmt.Sprintf("f%d", len(g.made))}
	for i := range 1 + g.r.IntN(3) {
		f.params = append(f.params, fmt.Sprintf("p%d", i))
		f.types = append(f.types, "")
		if typed {
			f.types[i] = g.pick(slices.Sorted(maps.Keys(suitable))...)
		}
	}
	g.scope = nil
	for _, p := range f.params {
		g.scope = append(g.scope, "param."+p)
	}
	f.body = g.expr(2 + g.r.IntN(2))
	return f
}

var (
	callOf  = regexp.MustCompile(`local::(f\d+)\(`)
	paramOf = regexp.MustCompile(`param\.p\d+`)
	boundAs = regexp.MustCompile(`\bk?v\d+\b`)
)

// inline returns the body of a function with its parameters replaced by arguments, and calls replaced by the bodies of
// the functions.
func (g *functionGenerator) inline(name string, args []string) string {
	var f written
	for _, made := range g.made {
		if made.name == name {
			f = made
		}
	}
	g.written++
	body := boundAs.ReplaceAllString(f.body, fmt.Sprintf("${0}_%d", g.written)) // to keep names distinct
	byName := map[string]string{}
	for i, p := range f.params {
		byName["param."+p] = "(" + args[i] + ")"
	}
	body = paramOf.ReplaceAllStringFunc(body, func(p string) string { return byName[p] })
	for {
		at := callOf.FindStringSubmatchIndex(body)
		if at == nil {
			return "(" + body + ")"
		}
		list, end := arguments(body[at[1]:])
		body = body[:at[0]] + g.inline(body[at[2]:at[3]], list) + body[at[1]+end:]
	}
}

// arguments splits the text after an opening parenthesis at the commas between the arguments; end is the index after
// the closing one. No argument has brackets or commas in a string.
func arguments(text string) (list []string, end int) {
	depth, start := 0, 0
	for i, c := range text {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				return append(list, text[start:i]), i + 1
			}
			depth--
		case ',':
			if depth == 0 {
				list, start = append(list, text[start:i]), i+1
			}
		}
	}
	return list, len(text)
}

// A function call has the same result as its body with the arguments in place of the parameters: the same value, with
// the same unknown parts and marks, or an error.
func TestFunctionCallsEqualTheirInlinedBodies(t *testing.T) {
	values, failures, unknown, secret := 0, 0, 0, 0
	for seed := range uint64(150) {
		g := &functionGenerator{r: rand.New(rand.NewPCG(seed, 1))}
		for range 3 + g.r.IntN(4) {
			g.made = append(g.made, g.function(false))
		}
		top := g.function(true)
		g.made = append(g.made, top)
		var src strings.Builder
		src.WriteString("variable \"unknown\" {}\n" +
			"variable \"secret\" {\n  default = { a = \"s\" }\n  sensitive = true\n}\nlocals {\n")
		var args, converted []string
		var child, given strings.Builder // a module whose variables convert the arguments like parameters
		for i := range top.params {
			arg := g.pick(suitable[top.types[i]]...)
			if g.r.IntN(12) == 0 {
				arg = g.pick(suitable[""]...)
			}
			fmt.Fprintf(&src, "  a%d = %s\n", i, arg)
			args = append(args, fmt.Sprintf("local.a%d", i))
			converted = append(converted, args[i])
			if top.types[i] != "" {
				fmt.Fprintf(&child, "variable \"v%d\" { type = %s }\noutput \"v%[1]d\" { value = var.v%[1]d }\n", i,
					top.types[i])
				fmt.Fprintf(&given, "  v%d = local.a%[1]d\n", i)
				converted[i] = fmt.Sprintf("module.c.v%d", i)
			}
		}
		src.WriteString("}\nmodule \"c\" {\n  source = \"./c\"\n" + given.String() + "}\n")
		for _, f := range g.made {
			src.WriteString(f.block())
		}
		fmt.Fprintf(&src, "output \"call\" {\n  sensitive = true\n  value = local::%s(%s)\n}\n", top.name,
			strings.Join(args, ", "))
		fmt.Fprintf(&src, "output \"inline\" {\n  sensitive = true\n  value = [[%s], %s][1]\n}\n",
			strings.Join(converted, ", "), g.inline(top.name, converted)) // a call evaluates all of its arguments
		r := enter(t, map[string][]byte{"main.tombolo": []byte(src.String()),
			"c/main.tf": []byte(child.String())}, eval.Inputs{
			Variables: map[string]cty.Value{"unknown": cty.UnknownVal(cty.DynamicPseudoType)}})
		call, called := r.outputs["call"]
		inline, inlined := r.outputs["inline"]
		if called != inlined || called && show(call) != show(inline) {
			t.Fatalf("seed %d: the call gives %s, the body %s\n%v\n%s", seed, shown(call, called),
				shown(inline, inlined), r.diags.Err(), src.String())
		}
		if !called {
			failures++
			continue
		}
		values++
		bare, _ := call.Unmark() // the output is declared to be sensitive
		if !bare.IsWhollyKnown() {
			unknown++
		}
		if value.HasDeepSensitive(bare) {
			secret++
		}
	}
	if values < 60 || failures < 5 || unknown < 20 || secret < 5 {
		t.Errorf("the generator is too one-sided: %d values, %d with something unknown, %d with something sensitive, "+
			"%d failures", values, unknown, secret, failures)
	}
}

func shown(v cty.Value, ok bool) string {
	if !ok {
		return "an error"
	}
	return show(v)
}

// typeGenerator generates types, with and without names.
type typeGenerator struct {
	r     *rand.Rand
	names []string
	out   map[string]writtenType // definitions by name
}

// writtenType is a type without names, and a value of the type.
type writtenType struct{ plain, value string }

func (g *typeGenerator) pick(list ...string) string { return list[g.r.IntN(len(list))] }

// write returns a type with names, and the same type without.
func (g *typeGenerator) write(depth int) (named string, without writtenType) {
	if len(g.names) > 0 && g.r.IntN(3) == 0 {
		name := g.pick(g.names...)
		return name, g.out[name]
	}
	if depth == 0 {
		word := g.pick("string", "number", "bool", "any")
		value := map[string]string{"string": g.pick(`"s"`, "5", "true"), "number": g.pick(`"5"`, "7"), "bool": "true",
			"any": g.pick(`"s"`, "7", "null")}
		return word, writtenType{word, value[word]}
	}
	n1, t1 := g.write(depth - 1)
	switch kind := g.pick("list", "set", "map", "object", "object", "tuple"); kind {
	case "object":
		return g.object(depth)
	case "tuple":
		n2, t2 := g.write(depth - 1)
		return "tuple([" + n1 + ", " + n2 + "])", writtenType{"tuple([" + t1.plain + ", " + t2.plain + "])",
			"[" + t1.value + ", " + t2.value + "]"}
	case "map":
		return "map(" + n1 + ")", writtenType{"map(" + t1.plain + ")", g.pick("{}", "{ k = "+t1.value+" }")}
	default:
		return kind + "(" + n1 + ")", writtenType{kind + "(" + t1.plain + ")", g.pick("[]", "["+t1.value+"]")}
	}
}

func (g *typeGenerator) object(depth int) (string, writtenType) {
	var named, plain, values []string
	for _, attr := range []string{"a", "b", "c"}[:1+g.r.IntN(3)] {
		n, t := g.write(depth - 1)
		p := t.plain
		switch form := g.r.IntN(3); {
		case form == 0:
			n, p = "optional("+n+")", "optional("+p+")"
		case form == 1 && t.value != "null":
			n, p = "optional("+n+", "+t.value+")", "optional("+p+", "+t.value+")"
		}
		named, plain = append(named, attr+" = "+n), append(plain, attr+" = "+p)
		if !strings.HasPrefix(p, "optional") || g.r.IntN(2) == 0 {
			values = append(values, attr+" = "+t.value)
		}
	}
	object := func(list []string) string { return "object({ " + strings.Join(list, ", ") + " })" }
	return object(named), writtenType{object(plain), "{ " + strings.Join(values, ", ") + " }"}
}

// A named type behaves like its definition: values and defaults of optional attributes are the same, and errors have
// the same words at the same position.
func TestNamedTypesEqualTheirDefinitions(t *testing.T) {
	fits, problems := 0, 0
	for seed := range uint64(150) {
		g := &typeGenerator{r: rand.New(rand.NewPCG(seed, 2)), out: map[string]writtenType{}}
		var child, named, plain strings.Builder
		both := func(format string, n, p string) {
			fmt.Fprintf(&named, format, n)
			fmt.Fprintf(&plain, format, p)
		}
		wrong := seed%3 == 0 // some values are invalid
		value := func(t writtenType) string {
			if wrong && g.r.IntN(3) == 0 {
				return g.pick(`"s"`, "7", "[]", "{}", "null", "[{}]", "{ a = [] }", `{ a = "1", b = [{ a = true }] }`)
			}
			return t.value
		}
		for i := range 2 { // the types of a called module
			n, t := g.write(2)
			fmt.Fprintf(&child, "type \"t%d\" { definition = %s }\n", i, n)
			name := fmt.Sprintf("type.t%d", i)
			g.out[name], g.names = t, append(g.names, name)
		}
		for i, name := range g.names {
			g.names[i] = "module.m" + strings.TrimPrefix(name, "type")
			g.out[g.names[i]] = g.out[name]
		}
		both("module \"m\" {\n  source = \"./m\"\n}\n%s", "", "")
		for i := range 4 {
			n, t := g.write(2)
			both("%s\n", fmt.Sprintf("type \"own%d\" { definition = %s }", i, n), "")
			name := fmt.Sprintf("type.own%d", i)
			g.out[name], g.names = t, append(g.names, name)
		}
		both("variable \"unknown\" {}\n%s", "", "")
		for i := range 4 {
			n, t := g.write(1)
			both(fmt.Sprintf("variable \"v%d\" {\n  type = %%s\n  default = %s\n}\n", i, value(t)), n, t.plain)
			both(fmt.Sprintf("output \"v%d\" {\n  value = var.v%[1]d\n}\n%%s", i), "", "")
			n, t = g.write(1)
			both(fmt.Sprintf("output \"o%d\" {\n  type = %%s\n  value = %s\n}\n", i, value(t)), n, t.plain)
			n, t = g.write(1)
			convert := "output \"%s%d\" {\n  value = [convert(%s,\n    %%s),\n    1]\n}\n"
			both(fmt.Sprintf(convert, "c", i, value(t)), n, t.plain)
			both(fmt.Sprintf(convert, "u", i, "var.unknown"), n, t.plain)
		}
		run := func(src string) []string {
			r := enter(t, map[string][]byte{"main.tombolo": []byte(src), "m/main.tombolo": []byte(child.String())},
				eval.Inputs{Variables: map[string]cty.Value{"unknown": cty.UnknownVal(cty.DynamicPseudoType)}})
			got := wordsOf(r)
			for _, line := range got {
				if strings.Contains(line, " = ") && !strings.HasPrefix(line, "main.tombolo") {
					fits++
				} else {
					problems++
				}
			}
			return got
		}
		if diff := cmp.Diff(run(plain.String()), run(named.String())); diff != "" {
			t.Fatalf("seed %d (-written out +named):\n%s\n%s\n%s", seed, diff, child.String(), named.String())
		}
	}
	if fits < 200 || problems < 50 {
		t.Errorf("the generator is too one-sided: %d values fit, %d problems", fits, problems)
	}
}

var inValue = regexp.MustCompile(`(?s): (attribute|element) ".*`)

// wordsOf lists the outputs of a configuration with their types, and its diagnostics.
func wordsOf(r *evaluation) (lines []string) {
	for name, v := range r.outputs {
		bare, _ := v.UnmarkDeep()
		lines = append(lines, fmt.Sprintf("%s = %s of %#v", name, show(v), bare.Type()))
	}
	for _, d := range r.diags {
		at := ""
		if d.Subject != nil {
			at = fmt.Sprintf("%s:%d:%d", d.Subject.Filename, d.Subject.Start.Line, d.Subject.Start.Column)
		}
		detail := inValue.ReplaceAllString(d.Detail, "") // the library names an arbitrary one of several invalid ones
		lines = append(lines, fmt.Sprintf("%s: %s; %s", at, d.Summary, detail))
	}
	slices.Sort(lines)
	return lines
}
