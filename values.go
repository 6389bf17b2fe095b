package tombolo

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
)

// toCty converts a Go value to a value of the language, by the rules of encoding/json: structs and maps become objects,
// lists become tuples. A cty.Value within maps with string keys, lists, pointers and interfaces is kept.
func toCty(v any) (cty.Value, error) {
	found, err := inspect(reflect.ValueOf(v), "", 0)
	if err != nil {
		return cty.NilVal, err
	}
	if found {
		return mixedToCty(reflect.ValueOf(v), "")
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

var (
	ctyValue      = reflect.TypeFor[cty.Value]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// inspect reports whether a value holds a cty.Value, which encoding/json would encode as {}, and refuses strings that
// encoding/json would change. Values with their own marshalling methods are not inspected.
func inspect(v reflect.Value, path string, depth int) (found bool, err error) {
	const deepest = 1000 // encoding/json reports cyclic values
	switch {
	case !v.IsValid() || depth > deepest:
		return false, nil
	case v.Type() == ctyValue:
		return true, nil
	case v.Type().Implements(jsonMarshaler) || v.Type().Implements(textMarshaler):
		return false, nil
	}
	if v.Kind() == reflect.String && !utf8.ValidString(v.String()) {
		return false, fmt.Errorf("%sthe text %q is not valid UTF-8", at(path), v.String())
	}
	for path, part := range parts(v, path) {
		in, err := inspect(part, path, depth+1)
		switch {
		case err != nil:
			return false, err
		case in && v.Kind() == reflect.Struct:
			return false, fmt.Errorf("%sa struct cannot hold a cty.Value: use a map[string]any", at(path))
		}
		found = found || in
	}
	return found, nil
}

// parts returns the parts of a value that encoding/json encodes, each with its path.
func parts(v reflect.Value, path string) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			yield(path, v.Elem())
		case reflect.Slice, reflect.Array:
			bytes := v.Type().Elem().Kind() == reflect.Uint8 // encoded as base64
			for i := 0; !bytes && i < v.Len() && yield(fmt.Sprintf("%s[%d]", path, i), v.Index(i)); i++ {
			}
		case reflect.Map:
			entries := v.MapRange()
			for entries.Next() && yield(path, entries.Key()) &&
				yield(path+"."+fmt.Sprint(entries.Key()), entries.Value()) {
			}
		case reflect.Struct:
			for _, field := range reflect.VisibleFields(v.Type()) {
				seen := len(field.Index) == 1 && (field.IsExported() || field.Anonymous)
				if seen && field.Tag.Get("json") != "-" && !yield(path+"."+field.Name, v.FieldByIndex(field.Index)) {
					return
				}
			}
		}
	}
}

// at returns the prefix of a message about a part of a value.
func at(path string) string {
	if path == "" {
		return ""
	}
	return "at " + path + ": "
}

// mixedToCty converts a value that holds a cty.Value at any depth.
func mixedToCty(v reflect.Value, path string) (cty.Value, error) {
	if found, err := inspect(v, path, 0); err != nil || !found {
		if err != nil || !v.IsValid() {
			return cty.NullVal(cty.DynamicPseudoType), err
		}
		return toCty(v.Interface())
	}
	switch {
	case v.Type() == ctyValue:
		value := v.Interface().(cty.Value)
		if err := usable(value); err != nil {
			return cty.NilVal, fmt.Errorf("%s%w", at(path), err)
		}
		return value, nil
	case v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface:
		return mixedToCty(v.Elem(), path)
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		fields := map[string]cty.Value{}
		for entries := v.MapRange(); entries.Next(); {
			name := entries.Key().String()
			value, err := mixedToCty(entries.Value(), path+"."+name)
			if err != nil {
				return cty.NilVal, err
			}
			fields[name] = value
		}
		return cty.ObjectVal(fields), nil
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		var items []cty.Value
		for i := range v.Len() {
			value, err := mixedToCty(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			if err != nil {
				return cty.NilVal, err
			}
			items = append(items, value)
		}
		return cty.TupleVal(items), nil
	}
	return cty.NilVal, fmt.Errorf("%sa %s cannot hold a cty.Value: use a map[string]any", at(path), v.Type())
}

// usable returns the reason why a value of the calling program cannot be used for a variable, or nil.
func usable(v cty.Value) error {
	switch {
	case v == cty.NilVal:
		return errors.New("it is cty.NilVal, which is not a value")
	case v.ContainsMarked():
		return errors.New("it has marks; to make a variable sensitive, set that in its block")
	case !v.IsWhollyKnown():
		return errors.New("it is not fully known")
	}
	return cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type().IsCapsuleType() {
			return false, fmt.Errorf("it contains a %s, which is not a type of the language", v.Type().FriendlyName())
		}
		return true, nil
	})
}

// ctyValues converts values of the calling program; prefix precedes names in messages.
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

// valuesOf returns the variables of a plan, without ephemeral ones.
func valuesOf(pl *plan.Plan) config.Values {
	out := config.Values{}
	for name, v := range pl.Variables {
		if v.Value != cty.NilVal {
			out[name] = config.RawValue{Origin: config.FromCaller, Value: v.Value}
		}
	}
	return out
}

// errUnknown means that a value is not known before an apply.
var errUnknown = errors.New("the value is known only after apply")

// fromCty stores a value of the language in the variable that into points to. Only a plan.Value keeps which parts are
// sensitive.
func fromCty(v cty.Value, into any) error {
	if to := reflect.ValueOf(into); to.Kind() != reflect.Pointer || to.IsNil() {
		return fmt.Errorf("into is %T: it must be a pointer to a variable", into)
	}
	unmarked, secret := engine.Unmark(v)
	switch to := into.(type) {
	case *cty.Value:
		*to = unmarked
		return nil
	case *plan.Value:
		*to = plan.Value{Value: unmarked, Sensitive: secret}
		return nil
	}
	if !unmarked.IsWhollyKnown() {
		return errUnknown
	}
	return plan.Value{Value: unmarked}.Decode(into)
}
