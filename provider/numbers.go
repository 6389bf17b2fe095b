package provider

import (
	"errors"

	"github.com/zclconf/go-cty/cty"
)

// maxNumberBits limits the exponent of numbers in received data: 1e9999 still fits. The digits of 1e-99999, which are
// needed to show or store it, take a second to write, and those of 1e99999999 minutes.
const maxNumberBits = 40_000

var (
	errLongNumber = errors.New(
		"a number has an exponent of more than four digits, and would take too long to write")
	errInfinite = errors.New("a number is infinite, which cannot be stored in a state or plan")
)

// CheckNumbers returns an error for data with numbers that take too long to write. Call it before the decoder, since a
// set formats its elements; most data, in any encoding, is only searched for exponents and possible infinities.
func CheckNumbers(data []byte, ty cty.Type, decode func([]byte, cty.Type) (cty.Value, error)) error {
	if !hasLongExponent(data) && !hasInfinity(data) {
		return nil
	}
	v, err := decode(data, withoutSets(ty))
	if err != nil {
		return err
	}
	return cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		switch {
		case v.Type() != cty.Number || v.IsNull():
			return true, nil
		case v.IsKnown():
			if v.AsBigFloat().IsInf() {
				return false, path.NewError(errInfinite)
			}
			if isLong(v) {
				return false, path.NewError(errLongNumber)
			}
			return true, nil
		}
		low, _ := v.Range().NumberLowerBound()
		high, _ := v.Range().NumberUpperBound()
		if low.IsKnown() && isLong(low) || high.IsKnown() && isLong(high) {
			return false, path.NewError(errLongNumber)
		}
		return true, nil
	})
}

// withoutSets returns the type with lists in place of sets.
func withoutSets(ty cty.Type) cty.Type {
	switch {
	case ty.IsListType() || ty.IsSetType():
		return cty.List(withoutSets(ty.ElementType()))
	case ty.IsMapType():
		return cty.Map(withoutSets(ty.ElementType()))
	case ty.IsTupleType():
		types := make([]cty.Type, ty.Length())
		for i, element := range ty.TupleElementTypes() {
			types[i] = withoutSets(element)
		}
		return cty.Tuple(types)
	case ty.IsObjectType():
		types := make(map[string]cty.Type, len(ty.AttributeTypes()))
		for name, attribute := range ty.AttributeTypes() {
			types[name] = withoutSets(attribute)
		}
		return cty.Object(types)
	}
	return ty
}

func isLong(v cty.Value) bool {
	n := v.AsBigFloat()
	exponent := n.MantExp(nil) // 0 for infinities
	return exponent > maxNumberBits || exponent < -maxNumberBits
}

// hasLongExponent searches for a digit or point, the letter of a decimal or binary exponent, an optional sign, and five
// digits.
func hasLongExponent(text []byte) bool {
	isDigit := func(c byte) bool { return '0' <= c && c <= '9' }
	for i := 1; i+5 < len(text); i++ {
		if c := text[i] | 0x20; c != 'e' && c != 'p' || !isDigit(text[i-1]) && text[i-1] != '.' {
			continue
		}
		rest := text[i+1:]
		if rest[0] == '+' || rest[0] == '-' {
			rest = rest[1:]
		}
		n := 0
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
		if n >= 5 {
			return true
		}
	}
	return false
}

// hasInfinity searches for a possible infinite number: a short text that spells it, after a quote, a sign or the length
// byte of msgpack, or the bytes of a float.
func hasInfinity(data []byte) bool {
	for i, c := range data {
		rest := data[i+1:]
		switch {
		case len(rest) < 3:
			return false
		case c == '"' || c == '+' || c == '-' || c == 3 || c == 0xa3:
			if (rest[0] == 'i' || rest[0] == 'I') && rest[1] == 'n' && rest[2] == 'f' {
				return true
			}
		case c == 0xca || c == 0xcb:
			if rest[0]&0x7f == 0x7f && (c == 0xca && rest[1] == 0x80 || c == 0xcb && rest[1] == 0xf0) {
				return true
			}
		}
	}
	return false
}
