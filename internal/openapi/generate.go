package openapi

import (
	"encoding/json"
	"hash/fnv"
	"math/big"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
)

// maker generates values of schemas.
type maker struct {
	*rand.Rand
	request bool // values of requests, not of responses
	full    bool // with optional members
	path    []*Schema
}

// seeded returns a maker whose values depend only on the words.
func seeded(words ...string) *maker {
	h := fnv.New64a()
	for _, word := range words {
		_, _ = h.Write([]byte(word + "\x00")) // it never fails
	}
	return &maker{Rand: rand.New(rand.NewPCG(h.Sum64(), 1))}
}

// value returns a value of a schema. It may be invalid if no rule here finds one, such as a string for two patterns.
func (g *maker) value(s *Schema) any {
	if s == nil {
		return "anything"
	}
	if len(s.Enum) > 0 {
		return s.Enum[g.IntN(len(s.Enum))]
	}
	for _, given := range []any{s.Example, s.Default} {
		if scalars[s.Type] != "" && given != nil && g.IntN(3) == 0 && s.Check(given, g.request) == "" {
			return given
		}
	}
	if scalars[s.Type] == "" && (len(g.path) > mostNested || contains(g.path, s)) {
		return g.least(s)
	}
	g.path = append(g.path, s)
	defer func() { g.path = g.path[:len(g.path)-1] }()
	if choices := s.Choices(); len(choices) > 0 && s.Type != "object" && scalars[s.Type] == "" {
		return g.value(choices[0][g.IntN(len(choices[0]))])
	}
	kind := s.Type
	if s.Types != nil {
		kind = s.Types[g.IntN(len(s.Types))]
	}
	switch kind {
	case "boolean":
		return g.IntN(2) == 0
	case "integer", "number":
		return g.number(s)
	case "array":
		return g.array(s)
	case "object":
		return g.object(s)
	}
	return g.text(s)
}

// least returns a value that ends a recursion: null, a scalar, or an empty value.
func (g *maker) least(s *Schema) any {
	alternatives := slices.Concat(s.Choices()...)
	for _, kind := range s.Types {
		alternatives = append(alternatives, &Schema{Type: kind, Limits: s.Limits, Format: s.Format, doc: s.doc})
	}
	switch i := slices.IndexFunc(alternatives, func(o *Schema) bool { return scalars[o.Type] != "" }); {
	case s.Nullable:
		return nil
	case s.Type == "array":
		return []any{}
	case s.Type == "" && i >= 0:
		return g.value(alternatives[i])
	}
	return map[string]any{}
}

func (g *maker) number(s *Schema) json.Number {
	step := number(s.Limits["multipleOf"])
	if step == nil || step.Sign() <= 0 {
		step = big.NewRat(1, 1)
	}
	low, exclusive := number(s.Limits["minimum"]), number(s.Limits["exclusiveMinimum"])
	if low == nil || exclusive != nil && exclusive.Cmp(low) >= 0 {
		low = exclusive
	}
	if high := firstOf(number(s.Limits["maximum"]), number(s.Limits["exclusiveMaximum"])); low == nil && high != nil &&
		high.Cmp(big.NewRat(8, 1)) < 0 {
		low = new(big.Rat).Sub(high, big.NewRat(8, 1))
	}
	if low == nil {
		low = big.NewRat(0, 1)
	}
	quotient := new(big.Rat).Quo(low, step)
	n := new(big.Int).Div(quotient.Num(), quotient.Denom())
	for range 40 {
		n.Add(n, big.NewInt(int64(g.IntN(3))))
		v := new(big.Rat).Mul(new(big.Rat).SetInt(n), step)
		text := json.Number(strings.TrimSuffix(strings.TrimRight(v.FloatString(6), "0"), "."))
		if s.number(text) == "" && (s.Type != "integer" || v.IsInt()) {
			return text
		}
		if n.Cmp(big.NewInt(1<<40)) > 0 {
			break
		}
	}
	return json.Number(low.FloatString(0))
}

func firstOf(list ...*big.Rat) *big.Rat {
	for _, r := range list {
		if r != nil {
			return r
		}
	}
	return nil
}

// count returns a valid number of elements, at least the usual number.
func count(s *Schema, least, most string, usual int) int {
	n := usual
	if limit := number(s.Limits[least]); limit != nil && limit.IsInt() && limit.Cmp(big.NewRat(100, 1)) < 0 {
		n = max(n, int(limit.Num().Int64()))
	}
	if limit := number(s.Limits[most]); limit != nil && limit.IsInt() && limit.Cmp(big.NewRat(int64(n), 1)) < 0 {
		n = int(limit.Num().Int64())
	}
	return n
}

func (g *maker) array(s *Schema) any {
	out := []any{}
	seen := map[string]bool{}
	for range 3 * count(s, "minItems", "maxItems", 1+g.IntN(2)) {
		if v := g.value(s.Items()); !seen[compact(v)] && len(out) < count(s, "minItems", "maxItems", 2) {
			out = append(out, v)
			seen[compact(v)] = flag(s.Limits["uniqueItems"])
		}
	}
	return out
}

func (g *maker) object(s *Schema) any {
	out := map[string]any{}
	if len(s.choices) > 0 && s.Varied() { // one of the alternatives, and the common members
		if one, ok := g.value(s.Choices()[0][0]).(map[string]any); ok {
			out = one
		}
	}
	for _, name := range s.Members() {
		m := s.Member(name)
		if g.request && m.ReadOnly || !g.request && m.WriteOnly || !g.full && !s.Required[name] ||
			g.full && !s.Required[name] && contains(g.path, m) || hinted(m, "ignore") {
			continue
		}
		out[name] = g.value(m)
	}
	if extra := s.Extra(); extra != nil && len(s.members) == 0 {
		out["key-"+itoa(g.IntN(9))] = g.value(extra)
	}
	return out
}

// text returns a string with the format, pattern and length of the schema.
func (g *maker) text(s *Schema) string {
	if pattern := text(s.Limits["pattern"]); pattern != "" {
		if re, err := syntax.Parse(pattern, syntax.Perl); err == nil {
			for range 30 {
				var b strings.Builder
				g.match(re.Simplify(), &b)
				if s.text(b.String()) == "" {
					return b.String()
				}
			}
		}
	}
	switch n := itoa(g.IntN(90) + 10); s.Format {
	case "date-time":
		return "2024-01-02T03:04:" + itoa(g.IntN(50)+10) + "Z"
	case "date":
		return "2024-01-" + itoa(g.IntN(19)+10)
	case "email":
		return "a" + n + "@example.com"
	case "uri", "url":
		return "https://example.com/" + n
	case "uuid":
		return "00000000-0000-4000-8000-0000000000" + n
	case "ipv4":
		return "10.0.0." + n
	case "ipv6":
		return "2001:db8::" + n
	case "hostname":
		return "host" + n + ".example.com"
	case "duration":
		return "PT" + n + "S"
	}
	out := "text" + itoa(g.IntN(900)+100)
	n := count(s, "minLength", "maxLength", len(out))
	return (out + strings.Repeat("x", 100))[len(out)-min(len(out), n) : max(len(out), n)]
}

// match writes a string that matches a pattern.
func (g *maker) match(re *syntax.Regexp, b *strings.Builder) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			i := 2 * g.IntN(len(re.Rune)/2)
			low, high := re.Rune[i], min(re.Rune[i+1], max(re.Rune[i], 'z'))
			b.WriteRune(low + rune(g.IntN(int(high-low)+1)))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteRune('a' + rune(g.IntN(26)))
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			g.match(sub, b)
		}
	case syntax.OpAlternate:
		g.match(re.Sub[g.IntN(len(re.Sub))], b)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		n := g.IntN(6)
		if re.Op == syntax.OpPlus {
			n++
		} else if re.Op == syntax.OpQuest {
			n %= 2
		}
		for range n {
			g.match(re.Sub[0], b)
		}
	}
}

// other returns a value that differs from the given one, or false if none was found.
func (g *maker) other(s *Schema, than any) (any, bool) {
	for range 20 {
		if v := g.value(s); compact(v) != compact(than) && s.Check(v, true) == "" {
			return v, true
		}
	}
	return nil, false
}
