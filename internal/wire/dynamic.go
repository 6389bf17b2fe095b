package wire

import (
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/provider"
)

// encodeValue encodes a value of a type. cty.NilVal is encoded as null.
func encodeValue(v cty.Value, ty cty.Type) (*plugin6.DynamicValue, error) {
	if v == cty.NilVal {
		v = cty.NullVal(ty)
	}
	b, err := guarded(func() ([]byte, error) { return ctyfast.MarshalMsgpack(v, ty) })
	if err != nil {
		return nil, describePath(err)
	}
	return &plugin6.DynamicValue{Msgpack: b}, nil
}

// empty reports whether a value was not sent, or sent without content.
func empty(m *plugin6.DynamicValue) bool { return len(m.GetMsgpack()) == 0 && len(m.GetJson()) == 0 }

// errNothing means that a response lacks a value whose absence must not be taken for null.
var errNothing = errors.New("there is none")

// decodeValue decodes a value of a type. A value that was not sent, or sent without content, is null; calls for which
// that would be wrong check empty first.
func decodeValue(m *plugin6.DynamicValue, ty cty.Type) (cty.Value, error) {
	switch {
	case len(m.GetMsgpack()) > 0:
		if err := checkMsgpack(m.Msgpack); err != nil {
			return cty.NilVal, err
		}
		v, err := conforming(m.Msgpack, ty, ctyfast.UnmarshalMsgpack)
		if err != nil {
			if what := mismatch(m.Msgpack, ty); what != "" {
				return cty.NilVal, errors.New(what)
			}
		}
		return v, err
	case len(m.GetJson()) > 0:
		if err := checkJSON(m.Json); err != nil {
			return cty.NilVal, err
		}
		return conforming(m.Json, ty, ctyjson.Unmarshal)
	}
	return cty.NullVal(ty), nil
}

// conforming calls a decoder and checks the type of its result: the decoders accept an empty map for any object, and a
// number of any size.
func conforming(data []byte, ty cty.Type, decode func([]byte, cty.Type) (cty.Value, error)) (cty.Value, error) {
	v, err := guarded(func() (cty.Value, error) {
		if err := provider.CheckNumbers(data, ty, decode); err != nil {
			return cty.NilVal, err
		}
		return decode(data, ty)
	})
	if err != nil {
		return cty.NilVal, describePath(err)
	}
	if got := v.Type(); !got.Equals(ty) {
		if errs := got.TestConformance(ty); len(errs) > 0 {
			return cty.NilVal, describePath(errs[0])
		}
	}
	return v, nil
}

// guarded converts a panic of the value library to an error: it panics on contradictory values, such as a list with
// different types or contradictory bounds, which a peer may send.
func guarded[T any](f func() (T, error)) (out T, err error) {
	defer func() {
		if r := recover(); r != nil {
			var zero T
			out, err = zero, fmt.Errorf("contradictory value: %v", r)
		}
	}()
	return f()
}

// describePath adds the path of an error to its text.
func describePath(err error) error {
	var at cty.PathError
	if errors.As(err, &at) && len(at.Path) > 0 {
		return fmt.Errorf("%s: %w", pathText(at.Path), err)
	}
	return err
}

// encodeType and decodeType convert types to and from JSON.
func encodeType(ty cty.Type) ([]byte, error) {
	if ty == cty.NilType {
		return nil, errors.New("there is no type")
	}
	return guarded(ty.MarshalJSON)
}

func decodeType(b []byte) (cty.Type, error) {
	if len(b) == 0 {
		return cty.NilType, errors.New("there is no type")
	}
	if err := checkJSON(b); err != nil {
		return cty.NilType, err
	}
	return guarded(func() (ty cty.Type, err error) {
		err = ty.UnmarshalJSON(b)
		return ty, err
	})
}
