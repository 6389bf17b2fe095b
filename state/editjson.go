package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
)

// The JSON form of edits, intents and single objects, which journals and plan files hold. Objects have the form of the
// state file.

// EncodeEdits returns edits as a JSON array on one line.
func EncodeEdits(edits []Edit) ([]byte, error) {
	e := &encoder{}
	e.open('[')
	for _, edit := range edits {
		e.item()
		e.edit(edit)
	}
	e.close(']')
	return e.b, unencodable(e.err)
}

// EncodingError means that a value cannot be encoded: the cause is the value, not the storage.
type EncodingError struct{ Err error }

// Error describes the value that cannot be encoded.
func (e *EncodingError) Error() string { return "the value cannot be stored: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *EncodingError) Unwrap() error { return e.Err }

func unencodable(err error) error {
	if err == nil {
		return nil
	}
	return &EncodingError{err}
}

// DecodeEdits decodes the output of EncodeEdits.
func DecodeEdits(b []byte) (edits []Edit, err error) {
	d := newPartDecoder(b)
	return edits, d.whole(d.array(func(int) error {
		edit, err := d.edit()
		edits = append(edits, edit)
		return err
	}))
}

// MarshalJSON returns the edit in the form of EncodeEdits.
func (edit Edit) MarshalJSON() ([]byte, error) {
	e := &encoder{}
	e.edit(edit)
	return e.b, e.err
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (edit *Edit) UnmarshalJSON(b []byte) (err error) {
	d := newPartDecoder(b)
	*edit, err = d.edit()
	return d.whole(err)
}

// EncodeIntent returns an intent as JSON on one line.
func EncodeIntent(i Intent) ([]byte, error) {
	e := &encoder{}
	e.open('{')
	e.textMember("id", i.ID)
	e.name("object")
	e.place(i.Object)
	e.textMember("action", string(i.Action))
	if i.Provider != (addr.AbsProviderConfig{}) {
		e.textMember("provider", i.Provider.String())
	}
	if len(i.Planned) > 0 {
		e.name("planned")
		e.value(&Resource{Addr: i.Object.Instance.AbsResource()}, i.Object.Instance.Key, i.Planned, false)
	}
	if !i.Started.IsZero() {
		e.textMember("started", i.Started.Format(time.RFC3339Nano))
	}
	e.dependencies(i.Dependencies)
	e.close('}')
	return e.b, e.err
}

var intentFields = []string{"id", "object", "action", "provider", "planned", "started", "dependencies"}

// DecodeIntent decodes the output of EncodeIntent.
func DecodeIntent(b []byte) (i Intent, err error) {
	d := newPartDecoder(b)
	d.actions = true
	return i, d.whole(d.fields(intentFields, func(n int) (err error) {
		switch n {
		case 0:
			i.ID, err = d.text()
		case 1:
			var p place
			p, err = d.place(false)
			i.Object = p.object()
		case 2:
			var action string
			action, err = d.text()
			i.Action = Action(action)
		case 3:
			i.Provider, err = intern(d, &d.providers, parseProvider)
		case 4:
			i.Planned, err = d.raw(nil)
		case 5:
			i.Started, err = d.time()
		case 6:
			i.Dependencies, err = d.dependencies()
		}
		return err
	}, nil))
}

// EncodeObject returns one object as JSON on one line.
func EncodeObject(o *Object) ([]byte, error) {
	e := &encoder{}
	e.object(&Resource{}, addr.NoKey, "", o)
	return e.b, e.err
}

// DecodeObject decodes the output of EncodeObject.
func DecodeObject(b []byte) (*Object, error) {
	d := newPartDecoder(b)
	_, _, o, err := d.readObject()
	if err = d.whole(err); err != nil {
		return nil, err
	}
	return o, nil
}

func newPartDecoder(b []byte) *decoder {
	return &decoder{scanner: newBytesScanner(b), resource: -1, instance: -1}
}

// whole converts the result of decoding a value to that of decoding the whole text, after which nothing may follow.
func (d *decoder) whole(err error) error {
	if err == nil {
		err = d.finish()
	}
	var at *scanError
	if errors.As(err, &at) {
		return fmt.Errorf("at byte %d: %s", at.offset, at.msg)
	}
	return err
}

// place encodes the address of an object.
func (e *encoder) place(o addr.Object) {
	e.open('{')
	e.placeMembers(o, addr.AbsProviderConfig{})
	e.close('}')
}

func (e *encoder) placeMembers(o addr.Object, p addr.AbsProviderConfig) {
	e.head(o.Instance.AbsResource(), p)
	e.key(o.Instance.Key)
	if o.Deposed != "" {
		e.textMember("deposed", string(o.Deposed))
	}
}

func (e *encoder) edit(edit Edit) {
	e.open('{')
	switch {
	case edit.Put != nil:
		r := &Resource{Addr: edit.Put.Addr.Instance.AbsResource(), Provider: edit.Put.Provider}
		e.name("put")
		e.open('{')
		e.head(r.Addr, r.Provider)
		e.name("object")
		if edit.Put.Object == nil {
			e.fail(fmt.Errorf("put %s: no object", edit.Put.Addr))
		} else {
			e.object(r, edit.Put.Addr.Instance.Key, edit.Put.Addr.Deposed, edit.Put.Object)
		}
		e.close('}')
	case edit.Drop != nil:
		e.name("drop")
		e.place(edit.Drop.Addr)
	case edit.Depose != nil:
		e.name("depose")
		e.open('{')
		e.placeMembers(addr.Object{Instance: edit.Depose.Instance, Deposed: edit.Depose.Key}, addr.AbsProviderConfig{})
		e.trueMember("reverse", edit.Depose.Reverse)
		e.close('}')
	case edit.Move != nil:
		e.name("move")
		e.open('{')
		e.name("from")
		e.place(addr.Object{Instance: edit.Move.From})
		e.name("to")
		e.place(addr.Object{Instance: edit.Move.To})
		e.close('}')
	case edit.Output != nil:
		e.name("output")
		e.open('{')
		e.textMember("name", edit.Output.Name)
		if edit.Output.Value != nil {
			e.name("set")
			e.output(edit.Output.Name, edit.Output.Value)
		}
		e.close('}')
	case edit.Checks != nil:
		e.name("checks")
		e.checks(edit.Checks.Results)
	case edit.Seen != nil:
		e.name("seen")
		e.open('{')
		e.placeMembers(edit.Seen.Addr, addr.AbsProviderConfig{})
		e.intMember("at", edit.Seen.At)
		e.close('}')
	default:
		e.fail(fmt.Errorf("an edit without content"))
	}
	e.close('}')
}

var editFields = []string{"put", "drop", "depose", "move", "output", "checks", "seen"}

func (d *decoder) edit() (Edit, error) {
	var edit Edit
	at, kinds := d.offset(), 0
	err := d.fields(editFields, func(i int) error {
		kinds++
		switch i {
		case 0:
			p, err := d.place(true)
			edit.Put = &PutObject{Addr: p.object(), Provider: p.provider, Object: p.stored}
			return err
		case 1:
			p, err := d.place(false)
			edit.Drop = &DropObject{p.object()}
			return err
		case 2:
			p, err := d.place(false)
			edit.Depose = &DeposeObject{Instance: p.instance(), Key: p.deposed, Reverse: p.reverse}
			return err
		case 3:
			edit.Move = &MoveObject{}
			return d.move(edit.Move)
		case 4:
			edit.Output = &SetOutput{}
			return d.setOutput(edit.Output)
		case 6:
			p, err := d.place(false)
			edit.Seen = &SeenObject{Addr: p.object(), At: p.at}
			return err
		}
		results, err := d.checks()
		edit.Checks = &SetChecks{results}
		return err
	}, nil)
	if err == nil && kinds != 1 {
		err = &scanError{at, fmt.Sprintf("an edit has exactly one content, not %d", kinds)}
	}
	return edit, err
}

func (d *decoder) move(m *MoveObject) error {
	return d.fields([]string{"from", "to"}, func(i int) error {
		p, err := d.place(false)
		if i == 0 {
			m.From = p.instance()
		} else {
			m.To = p.instance()
		}
		return err
	}, nil)
}

func (d *decoder) setOutput(o *SetOutput) error {
	return d.fields([]string{"name", "set"}, func(i int) (err error) {
		if i == 0 {
			o.Name, err = d.text()
		} else {
			o.Value, err = d.output()
		}
		return err
	}, nil)
}

// place is the address of an object, with further members of some edits.
type place struct {
	resource addr.AbsResource
	key      addr.Key
	deposed  addr.DeposedKey
	provider addr.AbsProviderConfig
	reverse  bool
	at       int64
	stored   *Object
}

func (p place) instance() addr.AbsResourceInstance { return p.resource.Instance(p.key) }
func (p place) object() addr.Object                { return addr.Object{Instance: p.instance(), Deposed: p.deposed} }

var placeFields = []string{"module", "mode", "type", "name", "provider", "index_key", "deposed", "reverse", "object",
	"at"}

func (d *decoder) place(withObject bool) (p place, err error) {
	at := d.offset()
	r := &Resource{}
	err = d.fields(placeFields, func(i int) (err error) {
		switch i {
		case 5:
			p.key, err = d.key()
		case 6:
			p.deposed, err = d.deposedKey()
		case 7:
			p.reverse, err = d.bool()
		case 8:
			p.key, p.deposed, p.stored, err = d.readObject()
		case 9:
			p.at, err = d.natural()
		default:
			err = d.resourceHead(r, i)
		}
		return err
	}, nil)
	p.resource, p.provider = r.Addr, r.Provider
	if err == nil && (r.Addr.Resource.Mode == 0 || r.Addr.Resource.Type == "" || r.Addr.Resource.Name == "" ||
		withObject && p.stored == nil) {
		err = &scanError{at, "the address of an object is incomplete"}
	}
	return p, err
}

func (d *decoder) time() (t time.Time, err error) {
	raw, err := d.raw(nil)
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(raw, &t)
}
