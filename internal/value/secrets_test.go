package value

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestSecretsAreRemovedFromForeignTexts(t *testing.T) {
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

func TestOverlappingSecretsAreRemoved(t *testing.T) {
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

// TestSecretsAddedOneByOneAreSortedRarely searches for each secret before the next one is added: each batch must
// have more secrets than all later ones.
func TestSecretsAddedOneByOneAreSortedRarely(t *testing.T) {
	var s Secrets
	const n = 1000
	total := 0
	for i := range n {
		s.Add(cty.StringVal(fmt.Sprintf("secret %d!", i)), []cty.Path{{}})
		if got := s.Redact(fmt.Sprintf("a secret %d! b", i/2)); got != "a (sensitive value) b" {
			t.Fatalf("after %d: %q", i, got)
		}
		total += len(forms(fmt.Sprintf("secret %d!", i)))
		left := total
		for _, batch := range s.texts.batches {
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

// Secrets are found in values in any form and position; nothing else is replaced, and nonsensitive strings are kept.
func TestSecretsAreFoundInsideOfValues(t *testing.T) {
	const letters = "abcXYZ019 +/=\"\\<&%é\t-_."
	r := rand.New(rand.NewPCG(1, 2))
	random := func(least, most int) string {
		alphabet := []rune(letters)
		b := make([]rune, least+r.IntN(most-least))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(b)
	}
	forms := map[string]func(string) string{
		"plain": func(s string) string { return s },
		"JSON": func(s string) string {
			b, err := json.Marshal(map[string]string{"k": s})
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		},
		"base64":         func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64 for URL": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"query":          url.QueryEscape,
		"path":           url.PathEscape,
	}
	for seed := range 300 {
		var s Secrets
		secret := random(8, 40)
		if len(strings.TrimSpace(secret)) != len(secret) {
			continue
		}
		of := cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal(random(8, 20)), "b": cty.StringVal(secret)})
		s.Learn(of.Mark(Sensitive))
		hide := s.Values()
		before, after := random(0, 9), random(0, 9)
		for name, form := range forms {
			text := form(before + secret + after)
			shown, whole := hide(text)
			if !strings.Contains(shown, Withholding) {
				t.Errorf("seed %d: %s of %q in %q: %q", seed, name, secret, text, shown)
			}
			if !whole && len(shown)-len(Withholding) > len(form(before))+len(form(after))+16 {
				t.Errorf("seed %d: %s of %q in %q: too much is left: %q", seed, name, secret, text, shown)
			}
		}
		if shown, whole := hide(secret); !whole || shown != Withholding {
			t.Errorf("seed %d: the secret %q became %q", seed, secret, shown)
		}
		if text := "nothing of that"; func() string { shown, _ := hide(text); return shown }() != text {
			t.Errorf("seed %d: with %q an innocent text was changed", seed, secret)
		}
		s.Show(cty.ObjectVal(map[string]cty.Value{"b": cty.StringVal(secret)}))
		if shown, whole := s.Values()(secret); whole || shown != secret {
			t.Errorf("seed %d: %q is hidden against the configuration: %q", seed, secret, shown)
		}
		if shown, _ := s.Values()("x" + secret); shown != "x"+secret {
			t.Errorf("seed %d: %q is hidden against the configuration in %q", seed, secret, shown)
		}
	}
}

// Short, common and non-secret strings are not hidden in values.
func TestInnocentPartsOfSecretsAreShown(t *testing.T) {
	var s Secrets
	s.Learn(cty.MapVal(map[string]cty.Value{"username": cty.StringVal("admin"), "mode": cty.StringVal("disabled"),
		"pem": cty.StringVal("-----BEGIN KEY-----\nqwertyuiop\n-----END KEY-----\n")}).Mark(Sensitive))
	hide := s.Values()
	for text, want := range map[string]string{
		"username": "username", "admin": "admin", "is disabled": "is disabled",
		"-----BEGIN KEY-----\nasdfghjkl\n-----END KEY-----":   "-----BEGIN KEY-----\nasdfghjkl\n-----END KEY-----",
		"x-----BEGIN KEY-----\nqwertyuiop\n-----END KEY-----": "x(sensitive value)",
	} {
		if got, _ := hide(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if hide := (&Secrets{}).Values(); hide != nil {
		t.Error("without secrets there is something to hide")
	}
}

func BenchmarkSearchInValues(b *testing.B) {
	const text = "arn:aws:iam::123456789012:role/deployment/eu-central-1/service-account"
	for _, n := range []int{1, 1000, 100000} {
		var s Secrets
		for i := range n {
			s.Learn(cty.StringVal(fmt.Sprintf("secret %x-%d", i*7919, i)).Mark(Sensitive))
		}
		hide := s.Values()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				hide(text)
			}
		})
	}
}

func BenchmarkCollectingSecrets(b *testing.B) {
	for b.Loop() {
		var s Secrets
		for i := range 100000 {
			s.Learn(cty.StringVal(fmt.Sprintf("secret %x-%d", i*7919, i)).Mark(Sensitive))
		}
		s.Values()
	}
}

func BenchmarkSecretsAddedOneByOne(b *testing.B) {
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

// A running search does not see strings that are added to Show later, and many searches do not copy the strings.
func TestSearchesAreNotAffectedByLaterShow(t *testing.T) {
	var s Secrets
	s.Add(cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("first-secret"), "b": cty.StringVal("second-secret")}),
		[]cty.Path{cty.GetAttrPath("a"), cty.GetAttrPath("b")})
	s.ShowTexts("first-secret")
	before := s.Values()
	s.ShowTexts("second-secret")
	after := s.Values()
	for _, c := range []struct {
		search func(string) (string, bool)
		text   string
		hidden bool
	}{{before, "first-secret", false}, {before, "second-secret", true}, {after, "first-secret", false},
		{after, "second-secret", false}} {
		if _, hidden := c.search(c.text); hidden != c.hidden {
			t.Errorf("%s is hidden: %v, want %v", c.text, hidden, c.hidden)
		}
	}
	if n := testing.AllocsPerRun(10, func() { s.Values() }); n > 8 {
		t.Errorf("a search allocates %v times", n)
	}
}
