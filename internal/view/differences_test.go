package view

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// atTerminal returns the text of a plan that changes the attribute v of an object, as a terminal shows it.
func atTerminal(before, after cty.Value, o Options) string {
	ty := cty.Object(map[string]cty.Type{"v": cty.DynamicPseudoType})
	of := func(v cty.Value) plan.Value {
		return plan.Value{Value: cty.ObjectVal(map[string]cty.Value{"v": v})}
	}
	at := addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "t_x", Name: "a"}}.Instance(addr.NoKey)
	p := addr.DefaultProvider("t")
	block := &provider.Block{Attributes: map[string]*provider.Attribute{"v": {Type: after.Type(), Optional: true}}}
	var out bytes.Buffer
	o.Out = &out
	v := New(o)
	v.Plan(&plan.Plan{Changes: []*plan.Change{{Object: addr.Object{Instance: at}, Type: ty,
		Provider: &addr.AbsProviderConfig{Provider: p}, Action: plan.Update, Before: of(before), After: of(after)}}},
		tfjson.Schemas{p: {Resources: map[string]*provider.ResourceType{"t_x": {Block: block}}}})
	v.Close()
	return out.String()
}

func terminal() (columns, rows int) { return 80, 24 }

var (
	excerptAt   = regexp.MustCompile(`# at character (\d+) of (\d+)`)
	excerptSide = regexp.MustCompile(`^ *([-+]) (\.\.\.)?(".*")(\.\.\.)?$`)
)

// Applying the excerpts of two long lines to the old one yields the new one.
func TestExcerptsGiveTheNewText(t *testing.T) {
	excerpts := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		words := make([]string, 30+r.IntN(60))
		for i := range words {
			words[i] = []string{"alpha", "\"q\"", "ü", "--flag=1", "日本", "x\\y", "${z}"}[r.IntN(7)]
		}
		before := strings.Join(words, " ")
		for range 1 + r.IntN(3) {
			words[r.IntN(len(words))] = fmt.Sprintf("new%d", r.IntN(9))
		}
		after := strings.Join(words, " ")
		text := atTerminal(cty.StringVal(before), cty.StringVal(after), Options{Size: terminal})
		if before == after || !strings.Contains(text, "excerpts(") {
			continue
		}
		excerpts++
		runes, got, at, from := []rune(before), "", 0, 0
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if m := excerptAt.FindStringSubmatch(line); m != nil {
				from, _ = strconv.Atoi(m[1])
				from--
				continue
			}
			m := excerptSide.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			part, err := strconv.Unquote(m[3])
			if err != nil {
				t.Fatalf("seed %d: %v in %s", seed, err, line)
			}
			if m[1] == "+" {
				got += part
				continue
			}
			size := len([]rune(part))
			if from+size > len(runes) || string(runes[from:from+size]) != part {
				t.Fatalf("seed %d: %q does not stand at character %d of %q", seed, part, from, before)
			}
			got += string(runes[at:from])
			at = from + size
		}
		if got += string(runes[at:]); got != after {
			t.Fatalf("seed %d: the excerpts give %q, want %q\n%s", seed, got, after, text)
		}
	}
	if excerpts < 100 {
		t.Errorf("only %d texts were shown by excerpts", excerpts)
	}
}

// The texts of long, reordered and similar values on terminals and in logs.
func TestDifferencesForPeople(t *testing.T) {
	long := strings.Repeat("sudo apt-get install -y package && ", 5)
	object := func(name string, port int64) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name), "port": cty.NumberIntVal(port),
			"proto": cty.StringVal("tcp")})
	}
	list := func(names ...string) cty.Value {
		vals := make([]cty.Value, len(names))
		for i, n := range names {
			vals[i] = cty.StringVal(n)
		}
		return cty.ListVal(vals)
	}
	numbered := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %d\n", i)
		}
		return b.String()
	}
	var text strings.Builder
	for _, c := range []struct {
		what          string
		before, after cty.Value
	}{
		{"a word of a long line", cty.StringVal(long + "nginx=1.18 && " + long),
			cty.StringVal(long + "nginx=1.20 && " + long)},
		{"a list in another order", list("a", "b", "c"), list("c", "a", "b")},
		{"elements of a set that change",
			cty.SetVal([]cty.Value{object("http", 80), object("ssh", 22), object("dns", 53)}),
			cty.SetVal([]cty.Value{object("http", 8080), object("ssh", 22), object("ldap", 389)})},
		{"a text of many lines", cty.NullVal(cty.String), cty.StringVal(numbered(70))},
		{"a line of many characters", cty.NullVal(cty.String), cty.StringVal(strings.Repeat(long, 20))},
	} {
		for _, o := range []Options{{Size: terminal}, {Size: terminal, Full: true}} {
			_, block, _ := strings.Cut(atTerminal(c.before, c.after, o), "  ~ resource")
			block, _, _ = strings.Cut(block, "\nPlan:")
			fmt.Fprintf(&text, "== %s, full: %v\n  ~ resource%s", c.what, o.Full, block)
		}
	}
	golden(t, filepath.Join("testdata", "people.txt"), text.String())
}
