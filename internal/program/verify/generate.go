package verify

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/providertest"
)

// generated returns changes of a configuration with values that are generated from the schema and its keywords: first
// of one attribute each, and in the end of several. Attributes whose value contains {dir}, {n} or {mock} are left as
// they are, because a path or a name of the test must be there, and so are those that "fixed" lists.
func (t *Trial) generated(r resource, config providertest.Attrs) (out []providertest.Update) {
	g := &generator{m: t.manifest, random: rand.New(rand.NewPCG(t.Seed, uint64(len(r.Type))))}
	block := t.schema.Resources[r.Type].Block
	placed := t.placed(r)
	var names []string
	for _, name := range settableTop(block) {
		if !slices.Contains(r.Fixed, name) && !slices.Contains(placed, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	for i := range t.Generate {
		change := providertest.Attrs{}
		chosen := names[i%len(names) : i%len(names)+1]
		if i >= len(names) && i%4 == 0 {
			chosen = names
		}
		for _, name := range chosen {
			change[name] = g.attribute(block.Attributes[name])
		}
		out = append(out, providertest.Update{Name: describe(block, change), Change: change})
	}
	return out
}

// placed returns the attributes of a configuration whose values contain a place.
func (t *Trial) placed(r resource) (names []string) {
	v := values{dir: mark, mock: mark}
	for name, one := range v.attrs(r.Config, -1) {
		text := fmt.Sprintf("%#v", one)
		if strings.Contains(text, mark) || strings.Contains(text, "-1") {
			names = append(names, name)
		}
	}
	return names
}

// settableTop returns the attributes of a block that a configuration can set, and that get generated values.
func settableTop(block *provider.Block) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(block.Attributes)) {
		if a := block.Attributes[name]; a.Required || a.Optional {
			names = append(names, name)
		}
	}
	return names
}

// describe returns the text that names a change in messages. Secret values are not in it.
func describe(block *provider.Block, change providertest.Attrs) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(change)) {
		a, shown := block.Attributes[name], "(a generated value)"
		if text, err := ctyjson.Marshal(change[name], change[name].Type()); err == nil {
			shown = string(text)
		}
		if a.Sensitive || a.WriteOnly || a.Nested != nil {
			shown = "(a generated value)"
		}
		parts = append(parts, name+" = "+shown)
	}
	return strings.Join(parts, ", ")
}

// generator makes values of types.
type generator struct {
	m      *manifest.Manifest
	random *rand.Rand
}

// attribute returns a value that the keywords of an attribute allow, or the last of many attempts: then the provider
// refuses it.
func (g *generator) attribute(a *provider.Attribute) (v cty.Value) {
	check := g.m.Words(a).Check
	for range 50 {
		switch {
		case a.Optional && g.random.IntN(10) == 0:
			v = cty.NullVal(a.ImpliedType())
		case a.Nested != nil:
			v = g.nested(a)
		default:
			v = g.value(a.Type, check)
		}
		if check == nil || check.Problem(v, false) == "" {
			break
		}
	}
	return v
}

// nested returns a value of an attribute with attributes.
func (g *generator) nested(a *provider.Attribute) cty.Value {
	one := func() cty.Value {
		all := map[string]cty.Value{}
		for _, name := range slices.Sorted(maps.Keys(a.Nested.Attributes)) {
			inner := a.Nested.Attributes[name]
			all[name] = cty.NullVal(inner.ImpliedType())
			if inner.Required || inner.Optional {
				all[name] = g.attribute(inner)
			}
		}
		return cty.ObjectVal(all)
	}
	if a.Nested.Nesting == provider.NestingSingle {
		return one()
	}
	var list []cty.Value
	for range g.random.IntN(4) {
		list = append(list, one())
	}
	return g.collection(a.ImpliedType(), list)
}

// collection returns elements as a value of a type of collections.
func (g *generator) collection(ty cty.Type, list []cty.Value) cty.Value {
	from := cty.TupleVal(list)
	if ty.IsMapType() {
		keyed := map[string]cty.Value{}
		for _, one := range list {
			keyed[g.text()] = one
		}
		from = cty.ObjectVal(keyed)
	}
	v, err := convert.Convert(from, ty)
	if err != nil {
		return cty.NullVal(ty) // elements of any type that differ
	}
	return v
}

// value returns a value of a type. check may be nil.
func (g *generator) value(ty cty.Type, check *manifest.Check) cty.Value {
	if check != nil {
		if v := g.listed(ty, check); v != cty.NilVal {
			return v
		}
	}
	switch {
	case ty == cty.String:
		return cty.StringVal(g.string(check))
	case ty == cty.Number:
		return g.number(check)
	case ty == cty.Bool:
		return cty.BoolVal(g.random.IntN(2) == 0)
	case ty.IsCollectionType():
		var list []cty.Value
		for range g.random.IntN(4) {
			list = append(list, g.value(ty.ElementType(), nil))
		}
		return g.collection(ty, list)
	case ty.IsObjectType():
		all := map[string]cty.Value{}
		for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) {
			all[name] = g.value(ty.AttributeType(name), nil)
		}
		return cty.ObjectVal(all)
	case ty.IsTupleType():
		var list []cty.Value
		for _, inner := range ty.TupleElementTypes() {
			list = append(list, g.value(inner, nil))
		}
		return cty.TupleVal(list)
	}
	return g.value([]cty.Type{cty.String, cty.Number, cty.Bool}[g.random.IntN(3)], nil) // of any type
}

// listed returns one of the values that the keywords list, or cty.NilVal if they list none.
func (g *generator) listed(ty cty.Type, check *manifest.Check) cty.Value {
	enum := check.Keywords().Enum
	if enum == nil || len(enum.Values) == 0 {
		return cty.NilVal
	}
	v, err := convert.Convert(cty.StringVal(fmt.Sprint(enum.Values[g.random.IntN(len(enum.Values))])), ty)
	if err != nil {
		return cty.NilVal
	}
	return v
}

// texts are strings that programs often damage: they look like something else, or need care when they are quoted.
var texts = []string{"", " ", "a b", "007", "1e3", "true", "null", "-", "--help", "a\nb", "a\r\nb", "\ttab\t",
	"trailing ",
	"'single'", `"double"`, `back\slash`, "$HOME `id` $(id)", "%s %d", "a=b&c", "<b>&amp;</b>", "é", "日本語", "😀",
	"{\"a\": 1}", "${x}", "#comment", "*", "~", "a,b;c", strings.Repeat("long ", 100)}

func (g *generator) text() string {
	return texts[g.random.IntN(len(texts))] + fmt.Sprint(g.random.IntN(1000))
}

// string returns a string that satisfies the pattern or the length of the keywords, if possible.
func (g *generator) string(check *manifest.Check) string {
	plain := texts[g.random.IntN(len(texts))]
	if check == nil {
		return plain
	}
	keywords := check.Keywords()
	if keywords.Pattern != nil {
		if re, err := syntax.Parse(keywords.Pattern.String(), syntax.Perl); err == nil {
			var b strings.Builder
			g.matching(&b, re.Simplify())
			return b.String()
		}
	}
	runes := []rune(plain)
	if least := keywords.MinLength; least != nil {
		for len(runes) < *least {
			runes = append(runes, 'x')
		}
	}
	if most := keywords.MaxLength; most != nil && len(runes) > *most {
		runes = runes[:*most]
	}
	return string(runes)
}

// matching appends a text that matches a regular expression.
func (g *generator) matching(b *strings.Builder, re *syntax.Regexp) {
	repeat := func(least, most int) {
		if most < 0 {
			most = least + 4
		}
		for range least + g.random.IntN(most-least+1) {
			g.matching(b, re.Sub[0])
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			at := g.random.IntN(len(re.Rune)/2) * 2
			b.WriteRune(re.Rune[at] + rune(g.random.IntN(min(int(re.Rune[at+1]-re.Rune[at]), 100)+1)))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte("aZ09 -_/."[g.random.IntN(9)])
	case syntax.OpStar:
		repeat(0, -1)
	case syntax.OpPlus:
		repeat(1, -1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(re.Min, re.Max)
	case syntax.OpAlternate:
		g.matching(b, re.Sub[g.random.IntN(len(re.Sub))])
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			g.matching(b, sub)
		}
	}
}

// number returns a number within the limits of the keywords.
func (g *generator) number(check *manifest.Check) cty.Value {
	usual := []float64{0, 1, -1, 2, 10, 80, 255, 256, 65535, 65536, math.MaxInt32, math.MaxInt32 + 1, 1 << 53, 0.1,
		-0.5, 1e15}
	low, high := math.Inf(-1), math.Inf(1)
	if check != nil {
		if limit := check.Keywords().Minimum; limit != nil {
			low, _ = limit.Float64()
		}
		if limit := check.Keywords().Maximum; limit != nil {
			high, _ = limit.Float64()
		}
	}
	fitting := slices.DeleteFunc(usual, func(f float64) bool { return f < low || f > high })
	for _, edge := range []float64{low, high} {
		if !math.IsInf(edge, 0) {
			fitting = append(fitting, edge)
		}
	}
	return cty.NumberFloatVal(fitting[g.random.IntN(len(fitting))])
}
