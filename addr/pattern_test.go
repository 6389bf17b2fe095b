package addr_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
)

// randomInstance returns an address of few distinct words, so that patterns often match.
func randomInstance(r *rand.Rand) string {
	word := func(list ...string) string { return list[r.IntN(len(list))] }
	key := func() string { return word("", "", "[0]", "[12]", `["a"]`, `["a.b"]`, `["eu-1"]`, `["]"]`, `["*"]`) }
	var b strings.Builder
	for range r.IntN(4) {
		b.WriteString("module." + word("net", "net2", "app") + key() + ".")
	}
	return b.String() + word("", "", "data.") + word("aws_vpc", "aws_web", "g_web") + "." + word("a", "ab", "main") +
		key()
}

// generalized replaces words and keys of an address by stars. The resulting pattern must match the address.
func generalized(r *rand.Rand, a addr.AbsResourceInstance) string {
	glob := func(s string) string {
		switch i := r.IntN(len(s) + 1); r.IntN(4) {
		case 0:
			return "*"
		case 1:
			return s[:i] + "*"
		case 2:
			return "*" + s[i:]
		}
		return s
	}
	key := func(k addr.Key) string {
		switch text := k.String(); r.IntN(4) {
		case 0:
			return ""
		case 1:
			if text != "" {
				return "[*]"
			}
			return ""
		default:
			if i := strings.IndexByte(text, '-'); i > 0 && r.IntN(2) == 0 {
				return "[" + text[2:i] + "*]"
			}
			return text
		}
	}
	var b strings.Builder
	for _, s := range a.Module.Steps() {
		if r.IntN(3) == 0 {
			if !strings.HasSuffix(b.String(), "**.") {
				b.WriteString("**.")
			}
			continue
		}
		b.WriteString("module." + glob(s.Call) + key(s.Key) + ".")
	}
	if r.IntN(4) == 0 && strings.HasPrefix(b.String(), "module.") && !strings.HasSuffix(b.String(), "**.") {
		return strings.TrimSuffix(b.String(), ".")
	}
	if a.Resource.Mode == addr.Data {
		b.WriteString("data.")
	}
	return b.String() + glob(a.Resource.Type) + "." + glob(a.Resource.Name) + key(a.Key)
}

// expression translates a pattern into a regular expression over addresses, as an independent implementation.
func expression(pattern string) *regexp.Regexp {
	const anyKey = `(\[("([^"\\]|\\.)*"|\d+)\])?`
	var b strings.Builder
	b.WriteString("^")
	rest := pattern
	inModule, resource := false, 0
	for rest != "" {
		if after, ok := strings.CutPrefix(rest, "**."); ok {
			b.WriteString(`(module\.[^.\[]+` + anyKey + `\.)*`)
			rest = after
			continue
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		name := rest[:end]
		rest = rest[end:]
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(name), `\*`, `[^.\["]*`))
		switch {
		case name == "module" && !inModule:
			inModule = true
			b.WriteString(`\.`)
			rest = rest[1:]
			continue
		case name == "data":
			b.WriteString(`\.`)
			rest = rest[1:]
			continue
		case !inModule:
			if resource++; resource == 1 {
				b.WriteString(`\.`)
				rest = rest[1:]
				continue
			}
		}
		if strings.HasPrefix(rest, "[") {
			end := strings.Index(rest, "]")
			if strings.HasPrefix(rest, `["]"]`) {
				end = len(`["]"`)
			}
			switch inside := rest[1:end]; {
			case strings.HasPrefix(inside, `"`) || !strings.Contains(inside, "*"):
				b.WriteString(regexp.QuoteMeta(rest[:end+1]))
			default:
				glob := strings.ReplaceAll(regexp.QuoteMeta(inside), `\*`, `.*`)
				b.WriteString(`\[(` + strings.ReplaceAll(glob, ".*", `\d*`) + `|"` +
					strings.ReplaceAll(glob, ".*", `([^"\\]|\\.)*`) + `")\]`)
			}
			rest = rest[end+1:]
		} else {
			b.WriteString(anyKey)
		}
		if inModule {
			inModule = false
			if rest == "" {
				return regexp.MustCompile(b.String() + `\.`)
			}
			b.WriteString(`\.`)
			rest = rest[1:]
		}
	}
	return regexp.MustCompile(b.String() + "$")
}

// A pattern made from an address matches it, and matches the same addresses as its regular expression.
func TestPatternsMatchAsExpressionsDo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	matched := 0
	for range 4_000 {
		text := randomInstance(r)
		a, diags := addr.ParseInstance(text)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		pattern := generalized(r, a)
		if !addr.IsPattern(pattern) {
			continue
		}
		p, err := addr.ParsePattern(pattern)
		if err != nil {
			t.Fatalf("%s of %s: %v", pattern, text, err)
		}
		if !p.Matches(a) || !p.MatchesConfig(a.Config()) {
			t.Fatalf("%s does not match %s", pattern, text)
		}
		want := expression(pattern)
		for range 10 {
			other := randomInstance(r)
			b, _ := addr.ParseInstance(other)
			if got := p.Matches(b); got != want.MatchString(other) {
				t.Fatalf("%s matches %s: %v, the expression %s says otherwise", pattern, other, got, want)
			} else if got {
				matched++
				if !p.MatchesConfig(b.Config()) {
					t.Fatalf("%s matches %s, but not its block", pattern, other)
				}
			}
			block := b.Config()
			if got := p.Covers(block); got != (p.MatchesConfig(block) && !strings.Contains(pattern, "[")) {
				t.Fatalf("%s covers %s: %v", pattern, block, got)
			} else if got && !p.Matches(b) {
				t.Fatalf("%s covers %s, and does not match %s", pattern, block, other)
			}
		}
		again, diags := addr.ParseSelector(pattern)
		if diags.HasErrors() || again.String() != pattern || again.IsModule() {
			t.Fatalf("%s is read as %+v: %v", pattern, again, diags)
		}
	}
	if matched < 500 {
		t.Errorf("only %d matches", matched)
	}
}

func TestWrongPatterns(t *testing.T) {
	for text, want := range map[string]string{
		"*":              "A resource has a type and a name",
		"module.*.":      "A resource has a type and a name",
		"**":             "After ** comes a module or a resource",
		"module.**":      "comes the name of a module call",
		"module.a.**":    "After ** comes",
		"module.a**.b.c": "** matches whole modules",
		"a.b*.c.d":       "A resource has a type and a name",
		"a.b[x]*":        "needs quotes",
		"a*.b[x]":        "needs quotes",
		"a*.b[*":         "A bracket is not closed",
		`a*.b["x]`:       "A bracket is not closed",
		"a*.b[]":         "expected a key or a pattern",
		"a*.b[0]c":       "After the brackets comes a dot",
		"**[0].a.b":      "cannot have brackets",
		"a*[0].b":        "Brackets can only follow",
		"1*.b":           "is not a name",
		"a*.b\xff":       "not valid UTF-8",
	} {
		if _, diags := addr.ParseSelector(text); !diags.HasErrors() || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%s: %v", text, diags)
		}
	}
	// Quoted stars are ordinary keys.
	if target, diags := addr.ParseSelector(`a.b["*"]`); diags.HasErrors() || target.Key != addr.StringKey("*") {
		t.Errorf("%+v %v", target, diags)
	}
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"a*.b", "**.module.x[*].a.*[eu-*]", `a*.b["\"]"]`} {
		f.Add(s)
	}
	a, _ := addr.ParseInstance(`module.x["a"].a.b[1]`)
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := addr.ParsePattern(s); err == nil && p.Matches(a) && !p.MatchesConfig(a.Config()) {
			t.Errorf("%q matches an instance, but not its block", s)
		}
	})
}
