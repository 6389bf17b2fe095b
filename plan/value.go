package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Value is an object or output value with the paths of its sensitive parts. The value itself has no marks.
//
// Printing a Value, or a struct that holds one, shows no secrets: see String.
type Value struct {
	Value     cty.Value
	Sensitive []cty.Path
}

// Decode stores the value in the variable that into points to: a cty.Value, an any (string, json.Number, bool, []any,
// map[string]any or nil), or any type that encoding/json can decode the value into. As in encoding/json, null does not
// change strings, numbers, bools and structs. Unknown values become null, except in a cty.Value. Sensitive values are
// stored in clear text.
func (v Value) Decode(into any) error {
	if to, ok := into.(*cty.Value); ok {
		*to = v.Value
		return nil
	}
	if v.Value == cty.NilVal {
		return errors.New("there is no value")
	}
	known, err := cty.Transform(v.Value, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if !v.IsKnown() {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		return err
	}
	text, err := ctyjson.Marshal(known, known.Type())
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("a value of the type %s: %w", known.Type().FriendlyName(), err)
	}
	return nil
}

// String returns the value on one line, for logs: "(sensitive value)" and "(known after apply)" replace sensitive and
// unknown values.
func (v Value) String() string {
	var b strings.Builder
	printValue(&b, v.Value, nil, cty.NewPathSet(v.Sensitive...))
	return b.String()
}

// GoString returns String(), because the fields of a Value show sensitive values.
func (v Value) GoString() string { return v.String() }

// String returns the value on one line, for logs; see Value.String.
func (v Variable) String() string { return textOf(v.Value, v.Sensitive || v.Ephemeral) }

// GoString returns String().
func (v Variable) GoString() string { return v.String() }

// String returns the change on one line, for logs; see Value.String.
func (c OutputChange) String() string {
	return fmt.Sprintf("%s %s: %s -> %s", c.Action, c.Name, textOf(c.Before, c.BeforeSensitive),
		textOf(c.After, c.Sensitive))
}

// GoString returns String().
func (c OutputChange) GoString() string { return c.String() }

// textOf returns the text of a value that is wholly sensitive or not sensitive.
func textOf(v cty.Value, sensitive bool) string {
	out := Value{Value: v}
	if sensitive {
		out.Sensitive = []cty.Path{nil}
	}
	return out.String()
}

// printValue writes the part of a value at a path.
func printValue(b *strings.Builder, v cty.Value, path cty.Path, hidden cty.PathSet) {
	switch {
	case hidden.Has(path):
		b.WriteString("(sensitive value)")
		return
	case v == cty.NilVal:
		b.WriteString("(no value)")
		return
	case !v.IsKnown():
		b.WriteString("(known after apply)")
		return
	case v.IsNull():
		b.WriteString("null")
		return
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		b.WriteString(strconv.Quote(v.AsString()))
	case ty == cty.Number:
		b.WriteString(v.AsBigFloat().Text('f', -1))
	case ty == cty.Bool:
		b.WriteString(strconv.FormatBool(v.True()))
	case ty.IsMapType(), ty.IsObjectType():
		printElements(b, "{}", v, path, hidden)
	case v.CanIterateElements():
		printElements(b, "[]", v, path, hidden)
	default:
		b.WriteString("(" + ty.FriendlyName() + ")")
	}
}

// printElements writes the elements or attributes of a value between two brackets.
func printElements(b *strings.Builder, brackets string, v cty.Value, path cty.Path, hidden cty.PathSet) {
	ty := v.Type()
	b.WriteByte(brackets[0])
	first := true
	for key, element := range v.Elements() {
		if !first {
			b.WriteString(", ")
		}
		first = false
		if brackets == "{}" {
			b.WriteString(key.AsString() + " = ")
		}
		at := path.Index(key)
		if ty.IsObjectType() {
			at = path.GetAttr(key.AsString())
		}
		printValue(b, element, at, hidden)
	}
	b.WriteByte(brackets[1])
}
