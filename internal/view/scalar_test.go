package view

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

func TestTextsOfAnyDepthAndWithAnyNumberAreShown(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"a": [1, "1e9999999"]}`: true, `{"a": 1e9999999}`: false, `[1e-9999999]`: false,
		strings.Repeat("[", 3_000_000): false, strings.Repeat("[", 3_000_000) + strings.Repeat("]", 3_000_000): false,
	} {
		if _, got := parseEmbedded(cty.StringVal(text)); got != ok {
			t.Errorf("%.40q: read is %t", text, got)
		}
	}
}

// long matches numbers with large exponents.
var long = regexp.MustCompile(`[eE][+-]?\d{4}`)

// FuzzEmbedded parses texts as JSON: every accepted text can be written again, and invalid JSON is not accepted.
func FuzzEmbedded(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, ` [1, "x", null, {"a": true}]\n`, `{"a": 1, "a": "x"}`, `{"a": 1, "a": 2}`, `{"": {}}`,
		`[1e999, -0, 1e-400, 0.10]`, `{"\u00e9": 1, "e\u0301": 2}`, `["\ud800", "\u0000"]`, "[\"\xff\"]",
		"{\"\xff\": 1}", `[1e999999]`, `{} x`, `[`, "\ufeff{}", "\f[]", "\u00a0{}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if long.MatchString(text) {
			return // writing it takes time quadratic in the exponent
		}
		v, ok := parseEmbedded(cty.StringVal(text))
		if !ok {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q is not JSON, but was read as %#v", text, v)
		}
		if written, err := ctyjson.Marshal(v, v.Type()); err != nil || !json.Valid(written) {
			t.Fatalf("%q is read as %#v, which is written as %q, %v", text, v, written, err)
		}
	})
}

// Whole numbers are written without the library, which decides how every number looks.
func TestNumbersLookLikeThoseOfTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		precision := []uint{24, 53, 64, 512}[r.IntN(4)]
		f := new(big.Float).SetPrec(precision).SetInt64((r.Int64() - r.Int64()) >> r.IntN(63))
		if r.IntN(2) == 0 {
			f.SetMantExp(f, r.IntN(90)-70)
		}
		if r.IntN(9) == 0 {
			f.Neg(f)
		}
		if got, want := decimal(f), f.Text('f', -1); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	for _, n := range []int64{math.MinInt64, math.MaxInt64} {
		for _, more := range []int64{-1, 0, 1} {
			f := new(big.Float).SetPrec(512).SetInt64(n)
			f.Add(f, big.NewFloat(float64(more)))
			if got, want := decimal(f), f.Text('f', -1); got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
	}
}
