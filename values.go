package tombolo

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/plan"
)

// toCty returns a Go value as one of the language. What encoding/json makes of it decides: structs and maps become
// objects, lists become tuples.
func toCty(v any) (cty.Value, error) {
	if value, ok := v.(cty.Value); ok {
		return value, usable(value)
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

// usable returns the reason why a variable cannot have a value of the calling program; nil if it can.
func usable(v cty.Value) error {
	switch {
	case v == cty.NilVal:
		return errors.New("it is cty.NilVal, which is no value")
	case v.ContainsMarked():
		return errors.New("it has marks; a variable is sensitive when its block says so")
	case !v.IsWhollyKnown():
		return errors.New("it is not fully known")
	}
	return cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type().IsCapsuleType() {
			return false, fmt.Errorf("it holds a %s, which the language has no name for", v.Type().FriendlyName())
		}
		return true, nil
	})
}

// ctyValues returns values of the calling program by name; prefix precedes a name in messages.
func ctyValues(prefix string, values map[string]any) (map[string]cty.Value, diag.List) {
	var diags diag.List
	out := map[string]cty.Value{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, err := toCty(values[name])
		if err != nil {
			diags = diags.Errorf(nil, "Invalid value of the calling program",
				"The value for %s%s set by the calling program cannot be used: %s.", prefix, name, err)
			continue
		}
		out[name] = value
	}
	return out, diags
}

// valuesOf returns the values of variables that a plan was made with. Ephemeral ones are not part of it.
func valuesOf(pl *plan.Plan) config.Values {
	out := config.Values{}
	for name, v := range pl.Variables {
		if v.Value != cty.NilVal {
			out[name] = config.RawValue{Origin: config.FromCaller, Value: v.Value}
		}
	}
	return out
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
	return plan.Value{Value: v}.Decode(into)
}
