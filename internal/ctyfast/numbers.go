package ctyfast

import (
	"errors"
	"math/big"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/set"
)

// maxBits bounds numbers as the text of a configuration does: that of 1e99999 fits. The digits of 1e-9999999, which are
// needed wherever it is shown, stored, or put into a set, take hours to write down.
const maxBits = 332_200

// ErrTooLong is the error that TooLong finds.
var ErrTooLong = errors.New(
	"a number has an exponent of more than 5 digits, and would take longer to write down than anyone waits")

// TooLong reports whether a value has a number in it that nobody can write down.
func TooLong(v cty.Value) bool {
	ty, raw := reached(v)
	return anyNumber(ty, raw, func(n *big.Float) bool {
		exponent := n.MantExp(nil) // 0 of infinities
		return exponent > maxBits || exponent < -maxBits
	})
}

// Infinite reports whether a value has a number in it that no state, plan or JSON can hold.
func Infinite(v cty.Value) bool {
	ty, raw := reached(v)
	return anyNumber(ty, raw, (*big.Float).IsInf)
}

// reached opens a value; one that lies in memory in another way than expected has nothing in it.
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
