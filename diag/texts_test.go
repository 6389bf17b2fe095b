package diag

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// manySecrets returns a value with n secrets.
func manySecrets(n int) cty.Value {
	elements := make([]cty.Value, n)
	for i := range elements {
		elements[i] = cty.StringVal(fmt.Sprintf("the secret with number %d", i))
	}
	return cty.ListVal(elements).Mark("secret")
}

// instances returns problems of many instances of one block, each with its own scope around the common value.
func instances(n int, common cty.Value) (list hcl.Diagnostics) {
	base := &hcl.EvalContext{Variables: map[string]cty.Value{
		"var": cty.ObjectVal(map[string]cty.Value{"list": common})}}
	for i := range n {
		ctx := base.NewChild()
		ctx.Variables = map[string]cty.Value{
			"each": cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(fmt.Sprint(i))})}
		list = append(list, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Wrong",
			Detail: fmt.Sprintf("Not the secret with number %d, please.", i), EvalContext: ctx})
	}
	return list
}

func TestInstancesAndBlocksShareSecrets(t *testing.T) {
	common := manySecrets(100)
	seen := map[*texts]bool{}
	for range 2 { // blocks
		for _, d := range instances(3, common) {
			s := secretsOf(d.EvalContext)
			if len(s) != 1 || len(s[0].order().All()) != 100 {
				t.Fatalf("got %d collections of secrets", len(s))
			}
			seen[s[0]] = true
		}
	}
	if len(seen) != 1 {
		t.Errorf("the secrets were gathered %d times", len(seen))
	}
}

// TestSecretsOfInstancesAreCollectedOnce counts the allocations for problems of many instances after all secrets were
// collected.
func TestSecretsOfInstancesAreCollectedOnce(t *testing.T) {
	cost := func(secrets int) float64 {
		list := instances(20, manySecrets(secrets))
		List(nil).AppendHCL(list)
		return testing.AllocsPerRun(5, func() { List(nil).AppendHCL(list) })
	}
	if few, many := cost(50), cost(5000); many > few+20 {
		t.Errorf("%v allocations with few secrets, %v with many", few, many)
	}
}

func TestSecretsOfChangedValuesAreCollected(t *testing.T) {
	for _, within := range []bool{false, true} {
		for i := range 50 { // memory is used again
			var elements []cty.Value
			for j := range 20 {
				elements = append(elements, cty.StringVal(fmt.Sprintf("number %d of %d", j, i)))
			}
			v := cty.ListVal(elements)
			if within {
				v = v.Mark("secret")
			}
			s := secretsOf(&hcl.EvalContext{Variables: map[string]cty.Value{"v": v}})
			if want := fmt.Sprintf("number 7 of %d", i); s.has(want) != within {
				t.Fatalf("round %d: within a secret %v, known %v", i, within, s.has(want))
			}
		}
	}
}

// FuzzSearchEqualsSeparateSearches compares the search with a separate search for each secret.
func FuzzSearchEqualsSeparateSearches(f *testing.F) {
	f.Add("a,aa,aaa,ab,abc,b", "aaabcabx")
	f.Add("password,passwords,sword,words in", "the passwords in passwor")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, list, text string) {
		found := newGathering()
		for _, secret := range strings.Split(list, ",") {
			found.gather(cty.StringVal(secret).Mark("secret"), false)
		}
		s := secrets(found.all())
		known := slices.Clone(found.own.order().All())
		for i := range len(text) {
			want := 0
			for _, secret := range known {
				if strings.HasPrefix(text[i:], secret) {
					want = max(want, len(secret))
				}
			}
			if got := s.beginning(text[i:]); got != want {
				t.Fatalf("%q begins with %d bytes of %q, got %d", text[i:], want, known, got)
			}
		}
		hidden := s.hide(text)
		for _, secret := range known {
			if len(secret) >= anywhere && !strings.Contains(withheld, secret) &&
				strings.Contains(strings.ReplaceAll(hidden, withheld, "\x00"), secret) {
				t.Errorf("%q is left in %q", secret, hidden)
			}
		}
	})
}

func BenchmarkManyInstancesWithManySecrets(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		List(nil).AppendHCL(instances(1000, manySecrets(5000)))
	}
}
