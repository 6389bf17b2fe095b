package tombolo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// toCty returns a Go value as one of the language. What encoding/json makes of it decides: structs and maps become
// objects, lists become tuples.
func toCty(v any) (cty.Value, error) {
	if value, ok := v.(cty.Value); ok {
		if value == cty.NilVal {
			return value, errors.New("it is cty.NilVal, which is no value")
		}
		return value, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return cty.NilVal, err
	}
	ty, err := ctyjson.ImpliedType(text)
	if err != nil {
		return cty.NilVal, err
	}
	return ctyjson.Unmarshal(text, ty)
}

// fromCty stores a value of the language in what into points to. Marks do not count.
func fromCty(v cty.Value, into any) error {
	v, _ = v.UnmarkDeep()
	if to, ok := into.(*cty.Value); ok {
		*to = v
		return nil
	}
	if !v.IsWhollyKnown() {
		return errors.New("the value is not known yet")
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("a value of the type %s: %w", v.Type().FriendlyName(), err)
	}
	return nil
}
