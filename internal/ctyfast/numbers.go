package ctyfast

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/set"
)

// maxBits and minBits limit numbers like the configuration parser: 1e99999 and 1e-9999 are allowed. Formatting a
// number, which is needed to show it, to store it, or to put it into a set, takes quadratic time for negative
// exponents: seconds for 1e-99999, hours for 1e-9999999.
const (
	maxBits = 332_200
	minBits = -33_300
)

// ErrTooLong is the error for a number that TooLong reports.
var ErrTooLong = errors.New(
	"a number has an exponent of more than 5 digits, or of more than 4 below zero, and takes too long to write")

// MaxDigits limits the digits of a string that is converted to a number: parsing takes quadratic time, which is minutes
// for some millions.
const MaxDigits = 100_000

// ErrManyDigits is the error for a string with more consecutive digits.
var ErrManyDigits = fmt.Errorf("a number has more than %d digits", MaxDigits)

// fewDigits returns an error for a text that takes too long to parse as a number.
func fewDigits(text string) error {
	switch {
	case len(text) <= 2*MaxDigits || !strings.ContainsAny(text[:1], "+-.0123456789"):
		return nil
	case strings.Trim(text, "+-.0123456789eE") == "":
		return ErrManyDigits
	}
	return errors.New("a number is required")
}

// TooLong reports whether a value contains a number that takes too long to format.
func TooLong(v cty.Value) bool {
	ty, raw := reached(v)
	return anyNumber(ty, raw, long)
}

func long(n *big.Float) bool {
	exponent := n.MantExp(nil) // 0 for infinities
	return exponent > maxBits || exponent < minBits
}

// Unstorable reports whether a value contains a number that states, plans and JSON cannot represent: an infinite one,
// or one that is TooLong.
func Unstorable(v cty.Value) bool {
	ty, raw := reached(v)
	return anyNumber(ty, raw, func(n *big.Float) bool { return n.IsInf() || long(n) })
}

// reached returns the content of a value, or nil for an unexpected memory layout.
func reached(v cty.Value) (cty.Type, any) {
	if !inside {
		return v.Type(), nil
	}
	return open(v)
}

func anyNumber(ty cty.Type, raw any, is func(*big.Float) bool) bool {
	switch x := raw.(type) {
	case nil, string, bool:
		return false
	case *big.Float:
		return is(x)
	case []any:
		in := innerOf(ty)
		for i, e := range x {
			if anyNumber(in.element(i), e, is) {
				return true
			}
		}
		return false
	case map[string]any:
		in := innerOf(ty)
		for k, e := range x {
			if anyNumber(in.member(k), e, is) {
				return true
			}
		}
		return false
	case set.Set[any]:
		ety := ty.ElementType()
		for _, bucket := range buckets(x) {
			for _, e := range bucket {
				if anyNumber(ety, e, is) {
					return true
				}
			}
		}
		return false
	}
	if v := closed(ty, raw); v.IsMarked() {
		v, _ = v.Unmark()
		_, raw := open(v)
		return anyNumber(ty, raw, is)
	}
	return false // unknown or encapsulated
}
