//go:build unix

package liar

import (
	"context"
	"os"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
)

type diags = diag.List

// A field is a place for a lie: the value in a response.
type field struct {
	name string
	at   func(answer any) **plugin6.DynamicValue // nil for other responses
	kind string                                  // of its content: thing, look, lease, echo
}

func fieldOf[M any](name, kind string, at func(M) **plugin6.DynamicValue) field {
	return field{name: name, kind: kind, at: func(answer any) **plugin6.DynamicValue {
		if m, ok := answer.(M); ok {
			return at(m)
		}
		return nil
	}}
}

// fields are all responses that carry a value.
var fields = []field{
	fieldOf("plan", "thing", func(m *plugin6.PlanResponse) **plugin6.DynamicValue { return &m.Planned }),
	fieldOf("apply", "thing", func(m *plugin6.ApplyResponse) **plugin6.DynamicValue { return &m.State }),
	fieldOf("read", "thing", func(m *plugin6.ReadResponse) **plugin6.DynamicValue { return &m.State }),
	fieldOf("upgrade", "thing", func(m *plugin6.UpgradeStateResponse) **plugin6.DynamicValue { return &m.State }),
	fieldOf("move", "thing", func(m *plugin6.MoveResponse) **plugin6.DynamicValue { return &m.State }),
	fieldOf("import", "thing", func(m *plugin6.ImportResponse) **plugin6.DynamicValue {
		if len(m.Imported) == 0 {
			return nil
		}
		return &m.Imported[0].State
	}),
	fieldOf("data", "look", func(m *plugin6.ReadDataResponse) **plugin6.DynamicValue { return &m.State }),
	fieldOf("open", "lease", func(m *plugin6.OpenResponse) **plugin6.DynamicValue { return &m.Result }),
	fieldOf("call", "echo", func(m *plugin6.CallResponse) **plugin6.DynamicValue { return &m.Result }),
}

// around intercepts the messages between a client and a server.
type around = func(ctx context.Context, path string, req proto.Message, next func(context.Context,
	proto.Message) (proto.Message, error)) (proto.Message, error)

// lying applies the lie in the environment to every response.
func lying(protocol int) around {
	lie, where := os.Getenv(lieEnv), os.Getenv(fieldEnv)
	return func(ctx context.Context, _ string, req proto.Message, next func(context.Context,
		proto.Message) (proto.Message, error)) (proto.Message, error) {
		answer, err := next(ctx, req)
		if err != nil || lie == "" {
			return answer, err
		}
		if isRandom(lie) {
			return randomly(lie, where, answer), nil
		}
		for _, f := range fields {
			if f.name != where {
				continue
			}
			if at := f.at(answer); at != nil {
				if err := tell(lie, f.kind, protocol, at); err != nil {
					panic("the lie " + lie + ": " + err.Error())
				}
			}
		}
		return answer, nil
	}
}

// typeOf returns the type of a field's value.
func typeOf(kind string, protocol int) cty.Type {
	s := schemaOf(protocol == 6)
	switch kind {
	case "thing":
		return s.Resources["liar_thing"].Block.ImpliedType()
	case "look":
		return s.Data["liar_look"].Block.ImpliedType()
	case "lease":
		return s.Ephemeral["liar_lease"].Block.ImpliedType()
	}
	return s.Functions["echo"].Return
}

// tell replaces a value by a lie.
func tell(lie, kind string, protocol int, at **plugin6.DynamicValue) error {
	if raw, ok := rawLies[lie]; ok {
		*at = raw
		return nil
	}
	ty := typeOf(kind, protocol)
	v, err := msgpack.Unmarshal((*at).Msgpack, ty)
	if err != nil {
		return err
	}
	if v.IsNull() && lie != "null" && lie != "unknown" {
		v = object(protocol == 6, "a") // one that should be gone
	}
	v = lies[lie](v)
	b, err := msgpack.Marshal(v, v.Type())
	*at = &plugin6.DynamicValue{Msgpack: b}
	return err
}

// rawLies are messages that do not encode a value.
var rawLies = map[string]*plugin6.DynamicValue{
	"no field":  nil,
	"no bytes":  {},
	"cut":       {Msgpack: []byte{0xdd, 0xff}},
	"a text":    {Msgpack: []byte{0xa1, 'x'}},
	"empty map": {Msgpack: []byte{0x80}},
	"json null": {Json: []byte("null")},
	"json cut":  {Json: []byte(`{"name":`)},
}

// lies are invalid values, by name.
var lies = map[string]func(cty.Value) cty.Value{
	"null":     func(v cty.Value) cty.Value { return cty.NullVal(v.Type()) },
	"unknown":  func(v cty.Value) cty.Value { return cty.UnknownVal(v.Type()) },
	"the same": func(v cty.Value) cty.Value { return v },
	"attribute too few": func(v cty.Value) cty.Value {
		vals := v.AsValueMap()
		delete(vals, oneOf(vals, "opt", "text"))
		return objectVal(vals)
	},
	"attribute too many": func(v cty.Value) cty.Value { return with(v, "foreign", cty.StringVal("x")) },
	"number for text": func(v cty.Value) cty.Value {
		return with(v, oneOf(v.AsValueMap(), "opt", "text"), cty.NumberIntVal(1))
	},
	"list for text": func(v cty.Value) cty.Value {
		return with(v, oneOf(v.AsValueMap(), "opt", "text"), cty.ListVal([]cty.Value{cty.StringVal("x")}))
	},
	"inner unknown":       setting("text", cty.UnknownVal(cty.String)),
	"inner other":         setting("text", cty.StringVal("other")),
	"inner null":          setting("text", cty.NullVal(cty.String)),
	"name other":          setting("name", cty.StringVal("other")),
	"name null":           setting("name", cty.NullVal(cty.String)),
	"name unknown":        setting("name", cty.UnknownVal(cty.String)),
	"opt other":           setting("opt", cty.StringVal("other")),
	"opt null":            setting("opt", cty.NullVal(cty.String)),
	"opt unknown":         setting("opt", cty.UnknownVal(cty.String)),
	"note other":          setting("note", cty.StringVal("other")),
	"note null":           setting("note", cty.NullVal(cty.String)),
	"note unknown":        setting("note", cty.UnknownVal(cty.String)),
	"id other":            setting("id", cty.StringVal("other")),
	"id null":             setting("id", cty.NullVal(cty.String)),
	"id unknown":          setting("id", cty.UnknownVal(cty.String)),
	"secret other":        setting("secret", cty.StringVal("other")),
	"write-only set":      setting("wo", cty.StringVal("written")),
	"write-only unknown":  setting("wo", cty.UnknownVal(cty.String)),
	"item write-only set": inElement("item", "wo", cty.StringVal("written")),
	"item key other":      inElement("item", "key", cty.StringVal("other")),
	"item made unknown":   inElement("item", "made", cty.UnknownVal(cty.String)),
	"items none":          members("item", 0),
	"items two":           members("item", 2),
	"items null":          setting("item", cty.NullVal(cty.List(itemType))),
	"items unknown":       setting("item", cty.UnknownVal(cty.List(itemType))),
	"item null":           setting("item", cty.ListVal([]cty.Value{cty.NullVal(itemType)})),
	"item unknown":        setting("item", cty.ListVal([]cty.Value{cty.UnknownVal(itemType)})),
	"tags none":           members("tag", 0),
	"tags two":            members("tag", 2),
	"tag key other":       inElement("tag", "key", cty.StringVal("other")),
	"nest write-only set": inElement("nest", "wo", cty.StringVal("written")),
	"nest key other":      inElement("nest", "key", cty.StringVal("other")),
	"nests none":          members("nest", 0),
	"nests two":           members("nest", 2),
	"nests null":          setting("nest", cty.NullVal(cty.List(nestType))),
	"nests unknown":       setting("nest", cty.UnknownVal(cty.List(nestType))),
}

var (
	itemType = cty.Object(map[string]cty.Type{"key": cty.String, "made": cty.String, "wo": cty.String})
	nestType = cty.Object(map[string]cty.Type{"key": cty.String, "wo": cty.String})
)

// fits reports whether a lie applies to a kind of value.
func fits(lie, kind string, protocol int) bool {
	if _, raw := rawLies[lie]; raw {
		return true
	}
	ty := typeOf(kind, protocol)
	for name, of := range map[string][]string{
		"text": {"inner unknown", "inner other", "inner null"}, "name": {"name other", "name null", "name unknown"},
		"opt": {"opt other", "opt null", "opt unknown"}, "note": {"note other", "note null", "note unknown"},
		"id": {"id other", "id null", "id unknown"}, "secret": {"secret other"}, "wo": {
			"write-only set", "write-only unknown"},
		"item": {"item write-only set", "item key other", "item made unknown", "items none", "items two", "items null",
			"items unknown", "item null", "item unknown"},
		"tag":  {"tags none", "tags two", "tag key other"},
		"nest": {"nest write-only set", "nest key other", "nests none", "nests two", "nests null", "nests unknown"},
	} {
		if slices.Contains(of, lie) {
			return ty.HasAttribute(name)
		}
	}
	return true
}

func oneOf(vals map[string]cty.Value, names ...string) string {
	for _, name := range names {
		if _, ok := vals[name]; ok {
			return name
		}
	}
	panic("no such attribute")
}

func objectVal(vals map[string]cty.Value) cty.Value {
	if len(vals) == 0 {
		return cty.EmptyObjectVal
	}
	return cty.ObjectVal(vals)
}

func setting(name string, to cty.Value) func(cty.Value) cty.Value {
	return func(v cty.Value) cty.Value { return with(v, name, to) }
}

// inElement changes an attribute of the first element of a collection.
func inElement(collection, name string, to cty.Value) func(cty.Value) cty.Value {
	return func(v cty.Value) cty.Value {
		c := v.GetAttr(collection)
		if c.IsNull() || !c.IsKnown() || c.LengthInt() == 0 {
			return v
		}
		list := c.AsValueSlice()
		list[0] = with(list[0], name, to)
		return with(v, collection, collectionVal(c.Type(), list))
	}
}

// members changes the number of elements of a collection.
func members(collection string, n int) func(cty.Value) cty.Value {
	return func(v cty.Value) cty.Value {
		c := v.GetAttr(collection)
		ety := c.Type().ElementType()
		vals := map[string]cty.Value{}
		for name := range ety.AttributeTypes() {
			vals[name] = cty.NullVal(cty.String)
		}
		var list []cty.Value
		for i := range n {
			vals["key"] = cty.StringVal(string(rune('k' + i)))
			list = append(list, cty.ObjectVal(vals))
		}
		return with(v, collection, collectionVal(c.Type(), list))
	}
}

func collectionVal(ty cty.Type, list []cty.Value) cty.Value {
	switch {
	case len(list) == 0 && ty.IsSetType():
		return cty.SetValEmpty(ty.ElementType())
	case len(list) == 0:
		return cty.ListValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetVal(list)
	}
	return cty.ListVal(list)
}
