package value

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// CheckIdentity checks an identity in a provider's response: it has the type of the schema, and that of an existing
// object is wholly known. It may be missing.
func CheckIdentity(s *provider.IdentitySchema, v cty.Value, exists bool) []PathError {
	switch {
	case s == nil || v == cty.NilVal || v.IsNull():
		return nil
	case !v.Type().Equals(s.ImpliedType()):
		return []PathError{
			{Problem: fmt.Sprintf("the identity does not have the type of its schema: %s", v.Type().FriendlyName())}}
	case exists && !ctyfast.WhollyKnown(v):
		return []PathError{{Problem: "the identity of an object that exists is not fully known"}}
	}
	return nil
}

// EncodeIdentity returns the form in which the state stores an identity, or nil if there is none.
func EncodeIdentity(s *provider.IdentitySchema, v cty.Value) ([]byte, error) {
	if s == nil || v == cty.NilVal || v.IsNull() {
		return nil, nil
	}
	return ctyjson.Marshal(v, s.ImpliedType())
}

// DecodeIdentity decodes a stored identity of the current version, or returns cty.NilVal if there is none.
func DecodeIdentity(s *provider.IdentitySchema, stored []byte) (cty.Value, error) {
	if s == nil || len(stored) == 0 {
		return cty.NilVal, nil
	}
	return ctyfast.UnmarshalJSON(stored, s.ImpliedType())
}
