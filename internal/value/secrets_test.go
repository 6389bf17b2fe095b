package value

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestSecretsAreTakenOutOfTextsFromOutside(t *testing.T) {
	var s Secrets
	v := cty.ObjectVal(map[string]cty.Value{
		"password": cty.StringVal("hunter2").Mark(Sensitive), "plain": cty.StringVal("visible"),
		"short": cty.StringVal("abc"),
		"key":   cty.MapVal(map[string]cty.Value{"pem": cty.StringVal("first line\nsecond line")}),
	})
	s.Add(v, []cty.Path{cty.GetAttrPath("password"), cty.GetAttrPath("short"), cty.GetAttrPath("key"),
		cty.GetAttrPath("nosuch")})
	for in, want := range map[string]string{
		"debug: {\"password\":\"hunter2\"}": "debug: {\"password\":\"(sensitive value)\"}",
		"visible abc":                       "visible abc",
		"> second line":                     "> (sensitive value)",
	} {
		if got := s.Redact(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := (*Secrets)(nil).Redact("x"); got != "x" {
		t.Errorf("no secrets at all changed a text to %q", got)
	}
}

func TestSecretsAreFoundInQuotes(t *testing.T) {
	const secret = "a\"b\\c<é>\t!"
	var s Secrets
	s.Add(cty.StringVal(secret), []cty.Path{{}})
	html, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, quoted := range []string{secret, strconv.Quote(secret), strconv.QuoteToASCII(secret), string(html),
		`"a\"b\\c<é>\t!"`} {
		if got := strings.Trim(s.Redact(quoted), `"`); got != "(sensitive value)" {
			t.Errorf("of %s is left %s", quoted, got)
		}
	}
}

func TestKeysOfSecretMapsAreSecrets(t *testing.T) {
	var s Secrets
	of := func(key string) cty.Value {
		return cty.MapVal(map[string]cty.Value{key: cty.StringVal("value of " + key)})
	}
	s.Add(cty.ObjectVal(map[string]cty.Value{"m": cty.ListVal([]cty.Value{of("deep key")}), "open": of("open key")}),
		[]cty.Path{cty.GetAttrPath("m")})
	s.Learn(cty.ObjectVal(map[string]cty.Value{"m": of("learned key").Mark(Ephemeral), "open": of("plain key"),
		"few": cty.StringVal("letters").Mark(Sensitive), "number": cty.NumberIntVal(31415926).Mark(Sensitive)}))
	const in = "deep key, open key, learned key, plain key, letters, 31415926"
	const want = "(sensitive value), open key, (sensitive value), plain key, letters, (sensitive value)"
	if got := s.Redact(in); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNothingIsLeftOfSecretsThatOverlap(t *testing.T) {
	var s Secrets
	for _, text := range []string{"abcd-efgh", "efgh-ijkl", "abcd", "ijkl-", "-ijkl-mnop"} {
		s.Add(cty.StringVal(text), []cty.Path{{}})
		s.Redact("searched between")
	}
	for in, want := range map[string]string{
		"x abcd-efgh-ijkl-mnop y": "x (sensitive value) y",
		"abcdabcd":                "(sensitive value)(sensitive value)",
		"abc abcde":               "abc (sensitive value)e",
		"é abcd é":                "é (sensitive value) é",
		"":                        "",
	} {
		if got := s.Redact(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// TestSecretsThatComeOneByOneAreSortedAFewTimes checks how secrets are kept when each is looked for before the next
// one comes: each batch has to have more of them than all that follow.
func TestSecretsThatComeOneByOneAreSortedAFewTimes(t *testing.T) {
	var s Secrets
	const n = 1000
	for i := range n {
		s.Add(cty.StringVal(fmt.Sprintf("secret %d!", i)), []cty.Path{{}})
		if got := s.Redact(fmt.Sprintf("a secret %d! b", i/2)); got != "a (sensitive value) b" {
			t.Fatalf("after %d: %q", i, got)
		}
		left := i + 1
		for _, batch := range s.batches {
			size := len(batch.All())
			if left -= size; size <= left {
				t.Fatalf("after %d: a batch of %d before %d others", i, size, left)
			}
		}
		if left != 0 {
			t.Fatalf("after %d: batches and secrets differ by %d", i, left)
		}
	}
}

func BenchmarkSecretsThatComeOneByOne(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				var s Secrets
				for i := range n {
					s.Add(cty.StringVal(fmt.Sprintf("the secret with number %d", i)), []cty.Path{{}})
					s.Redact("a message of a provider without any secret in it")
				}
			}
		})
	}
}
