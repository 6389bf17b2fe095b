package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
)

func put(at, attributes string) Edit {
	return Edit{Put: &PutObject{Addr: instance(at), Object: &Object{Attributes: json.RawMessage(attributes)}}}
}

func addresses(s *State) []string {
	all := []string{}
	for _, r := range s.Resources() {
		for _, k := range r.Keys() {
			i := r.Instances[k]
			if i.Current != nil {
				all = append(all, r.Addr.Instance(k).String())
			}
			for _, d := range i.DeposedKeys() {
				all = append(all, r.Addr.Instance(k).String()+" "+string(d))
			}
		}
	}
	return all
}

func TestStatesDoNotChangeUnderTheirReaders(t *testing.T) {
	var b Builder
	b.Fold(put("t.a[0]", `{"id":"1"}`), put("t.b", `{}`),
		Edit{Output: &SetOutput{Name: "o", Value: &Output{Value: cty.True}}})
	first := b.State()
	want := encode(t, first)
	b.Fold(put("t.a[0]", `{"id":"2"}`), put("t.a[1]", `{}`), Edit{Drop: &DropObject{instance("t.b")}},
		Edit{Output: &SetOutput{Name: "o"}},
		Edit{Depose: &DeposeObject{Instance: instance("t.a[0]").Instance, Key: "00000001"}})
	second := b.State()
	other := first.Builder()
	other.Fold(Edit{Move: &MoveObject{From: instance("t.b").Instance, To: instance("module.m.t.b").Instance}})
	if got := encode(t, first); got != want {
		t.Errorf("the first state changed:\n%s", cmp.Diff(want, got))
	}
	if got, want := addresses(second), []string{"t.a[0] 00000001", "t.a[1]"}; !slices.Equal(got, want) {
		t.Errorf("second: %v, want %v", got, want)
	}
	if got, want := addresses(other.State()), []string{"t.a[0]", "module.m.t.b"}; !slices.Equal(got, want) {
		t.Errorf("other: %v, want %v", got, want)
	}
}

func TestEditsAreFolded(t *testing.T) {
	a := instance("t.a").Instance
	for name, c := range map[string]struct {
		edits []Edit
		want  []string
	}{
		"dropping what is not there": {[]Edit{{Drop: &DropObject{instance("t.a")}}}, []string{}},
		"deposing what is not there": {[]Edit{{Depose: &DeposeObject{Instance: a, Key: "0000000a"}}}, []string{}},
		"moving what is not there": {[]Edit{{Move: &MoveObject{From: a, To: instance("t.b").Instance}}},
			[]string{}},
		"deposing": {
			[]Edit{put("t.a", "{}"), {Depose: &DeposeObject{Instance: a, Key: "0000000a"}}}, []string{"t.a 0000000a"}},
		"deposing back": {
			[]Edit{put("t.a", "{}"), {Depose: &DeposeObject{Instance: a, Key: "0000000a"}},
				{Depose: &DeposeObject{Instance: a, Key: "0000000a", Reverse: true}}}, []string{"t.a"}},
		"deposing back onto a new one": {
			[]Edit{put("t.a", "{}"), {Depose: &DeposeObject{Instance: a, Key: "0000000a"}}, put("t.a", "{}"),
				{Depose: &DeposeObject{Instance: a, Key: "0000000a", Reverse: true}}}, []string{"t.a", "t.a 0000000a"}},
		"dropping a deposed one": {
			[]Edit{put("t.a", "{}"), {Depose: &DeposeObject{Instance: a, Key: "0000000a"}},
				{Drop: &DropObject{addr.Object{Instance: a, Deposed: "0000000a"}}}}, []string{}},
		"moving takes deposed ones along": {
			[]Edit{put("t.a", "{}"), {Depose: &DeposeObject{Instance: a, Key: "0000000a"}}, put("t.a", "{}"),
				{Move: &MoveObject{From: a, To: instance("t.b[0]").Instance}}}, []string{"t.b[0]", "t.b[0] 0000000a"}},
		"the last instance takes all away": {
			[]Edit{put("t.a[0]", "{}"), put("t.a[1]", "{}"), {Drop: &DropObject{instance("t.a[0]")}},
				{Drop: &DropObject{instance("t.a[1]")}}}, []string{}},
	} {
		text, err := EncodeEdits(c.edits)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeEdits(text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		for _, edits := range [][]Edit{c.edits, again} {
			var b Builder
			b.Fold(edits...)
			if got := addresses(b.State()); !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
			}
		}
	}
}

func TestDecodeEditsRefusesIncompleteEdits(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `[{}]`, `[{"put":{"mode":"managed","type":"t","name":"a"}}]`, `[{"drop":{"type":"t","name":"a"}}]`,
		`[{"drop":{"mode":"managed","type":"t","name":"a"},"checks":null}]`,
		`[{"drop":{"mode":"managed","type":"t","name":"a"}}`,
		`[] x`, `[{"output":{"name":"o","set":{}}}]`,
	} {
		if edits, err := DecodeEdits([]byte(text)); err == nil {
			t.Errorf("%s was taken for %+v", text, edits)
		}
	}
	if _, err := EncodeEdits([]Edit{{}}); err == nil {
		t.Error("an edit without content was written")
	}
	if _, err := EncodeEdits([]Edit{{Put: &PutObject{Addr: instance("t.a")}}}); err == nil {
		t.Error("a put without an object was written")
	}
}

func TestIntentsAndObjectsSurviveEncoding(t *testing.T) {
	provider, _ := addr.ParseAbsProviderConfig(`module.m.provider["h.example/ns/t"].west`)
	want := Intent{ID: "1", Object: addr.Object{Instance: instance(`module.m["ü"].data.t.x["k\n"]`).Instance,
		Deposed: "0000beef"}, Action: "delete",
		Provider: provider, Planned: json.RawMessage(`{"a":[1,2]}`), Started: time.Date(2026, 1, 2, 3, 4, 5, 6,
			time.UTC), Dependencies: []addr.ConfigResource{instance("module.m.t.y").Instance.Config()}}
	text, err := EncodeIntent(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeIntent(text)
	if err != nil || got.ID != want.ID || got.Object != want.Object || got.Action != want.Action ||
		got.Provider != want.Provider ||
		string(got.Planned) != string(want.Planned) || !got.Started.Equal(want.Started) ||
		!slices.Equal(got.Dependencies, want.Dependencies) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
	want.Dependencies = nil // as in journals of earlier versions
	if text, err = EncodeIntent(want); err != nil || bytes.Contains(text, []byte("dependencies")) {
		t.Errorf("%v: %s", err, text)
	}
	if got, err = DecodeIntent(text); err != nil || got.Object != want.Object || got.Dependencies != nil {
		t.Errorf("%v: %+v", err, got)
	}
	o := &Object{Status: Tainted, SchemaVersion: 3, Attributes: json.RawMessage(`{"id":"x"}`), Sensitive: []cty.Path{
		cty.GetAttrPath("id")},
		Private: []byte{0, 255}, CreateBeforeDestroy: true, Identity: json.RawMessage(`{"i":1}`), IdentityVersion: 2,
		SkipDestroy: true, Protected: true, ReadAt: 1700000000,
		Provider: &provider, Dependencies: []addr.ConfigResource{instance("module.m.t.y").Instance.Config()}}
	text, err = EncodeObject(o)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := DecodeObject(text); err != nil || !sameObject(back, o) {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestPathsSurviveEncoding(t *testing.T) {
	for _, p := range []cty.Path{
		{},
		cty.GetAttrPath("a").IndexInt(3).GetAttr("b").IndexString("k<"),
		{cty.IndexStep{Key: cty.ObjectVal(map[string]cty.Value{"x": cty.True})}},
	} {
		text, err := EncodePath(p)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParsePath(text); err != nil || !back.Equals(p) {
			t.Errorf("%s: %v, %#v", text, err, back)
		}
	}
	for _, text := range []string{`{}`, `[{"type":"get_attr"}]`, `[{"type":"index","value":1}]`,
		`[{"type":"up","value":"x"}]`} {
		if p, err := ParsePath([]byte(text)); err == nil {
			t.Errorf("%s was taken for %#v", text, p)
		}
	}
}

func TestValueIsDecodedOnceForItsOwnAttributes(t *testing.T) {
	ty := cty.Object(map[string]cty.Type{"id": cty.String})
	o, err := NewObject(cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("1")}), ty, Object{SchemaVersion: 2})
	if err != nil {
		t.Fatal(err)
	}
	changed := *o
	changed.Attributes = json.RawMessage(`{"id":"2"}`)
	for object, want := range map[*Object]string{o: "1", &changed: "2", o.WithStatus(Tainted): "1"} {
		v, err := object.Value(ty)
		if err != nil || v.GetAttr("id").AsString() != want {
			t.Errorf("got %#v, %v, want %s", v, err, want)
		}
	}
	if _, err := o.Value(cty.List(cty.String)); err == nil {
		t.Error("an object was decoded as a list")
	}
	// The JSON library panics on this one.
	odd := &Object{Attributes: json.RawMessage(`[]`)}
	if _, err := odd.Value(cty.Tuple([]cty.Type{cty.String})); err == nil {
		t.Error("an empty list was decoded as a tuple of one")
	}
}

func TestSameContentSeesEveryField(t *testing.T) {
	text := func(name string) *State { return decodeFile(t, "testdata/"+name) }
	a, b := text("terraform.tfstate"), text("terraform.tfstate")
	b.Serial, b.Lineage, b.TerraformVersion = 99, "other", "0.0.1"
	if !a.SameContent(b) || !(*State)(nil).SameContent(&State{Serial: 3}) {
		t.Error("serial, lineage or version count as content")
	}
	whole := encode(t, a)
	for _, change := range [][2]string{
		{`"x\u003c`, `"y\u003c`}, {`"sensitive": true`, `"sensitive": false`}, {`"status": "tainted",`, ""},
		{`"schema_version": 2`, `"schema_version": 3`},
		{`"aGVsbG8="`, `"aGVsbG9v"`}, {`"t.z",`, ""}, {`"create_before_destroy": true`,
			`"create_before_destroy": false`}, {`"tags.%": "0"`, `"tags.%": "1"`},
		{`"0000ffff"`, `"0000fffe"`}, {`"value": "list"`, `"value": "lost"`},
		{`"status": "unknown"`, `"status": "pass"`}, {`"name": "empty"`, `"name": "void"`},
	} {
		changed := strings.Replace(whole, change[0], change[1], 1)
		if changed == whole {
			t.Fatalf("%s is not in the file", change[0])
		}
		if a.SameContent(decodeText(t, changed)) {
			t.Errorf("%s -> %s is not noticed", change[0], change[1])
		}
	}
}

func TestResourcesComeInTheOrderOfAddresses(t *testing.T) {
	var b Builder
	want := []string{"data.t.z", "t.a", `module.a.t.a`, `module.a[2].t.a`, `module.a[10].t.a`, `module.a["x"].t.a`,
		"module.b.t.a", "module.a.module.b.t.a"}
	for _, a := range slices.Backward(want) {
		b.Fold(put(a, "{}"))
	}
	if got := addresses(b.State()); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// contested is a workspace whose lock becomes free after some attempts.
type contested struct {
	Workspace
	busy  int
	tries []time.Time
	err   error
}

func (c *contested) Lock(context.Context, LockRequest) (Session, error) {
	c.tries = append(c.tries, time.Now())
	if len(c.tries) > c.busy {
		return struct{ Session }{}, nil
	}
	return nil, c.err
}

func TestAcquireWaitsLongerEachTimeUpToABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &contested{busy: 9, err: &LockedError{Info: &LockInfo{ID: "x"}}}
		start, reports := time.Now(), 0
		if _, err := Acquire(t.Context(), c, LockRequest{}, time.Minute, func(*LockedError) { reports++ }); err != nil {
			t.Fatal(err)
		}
		var at []int64
		for _, try := range c.tries {
			at = append(at, try.Sub(start).Milliseconds())
		}
		want := []int64{0, 50, 150, 350, 750, 1550, 3150, 6350, 10350, 14350}
		if !slices.Equal(at, want) || reports != 1 {
			t.Errorf("tries at %v, want %v; reported %d times", at, want, reports)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := &contested{busy: 100, err: &LockedError{Info: &LockInfo{ID: "x"}}}
		start := time.Now()
		_, err := Acquire(t.Context(), c, LockRequest{}, 10*time.Second, nil)
		var locked *LockedError
		if !errors.As(err, &locked) || time.Since(start) != 10*time.Second {
			t.Errorf("gave up after %v with %v", time.Since(start), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := &contested{busy: 100, err: &LockedError{Info: &LockInfo{ID: "x"}}}
		ctx, end := context.WithTimeout(t.Context(), 10*time.Second)
		defer end()
		_, err := Acquire(ctx, c, LockRequest{}, time.Minute, nil)
		if locked := (*LockedError)(nil); !errors.As(err, &locked) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the context ended: got %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := &contested{busy: 1, err: &LockedError{}} // between taking the lock and writing its holder
		if _, err := Acquire(t.Context(), c, LockRequest{}, time.Minute, nil); err != nil || len(c.tries) != 2 {
			t.Errorf("a holder that has not said yet who it is: %d tries, %v", len(c.tries), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := &contested{busy: 100, err: errors.New("disk full")}
		if _, err := Acquire(t.Context(), c, LockRequest{}, time.Minute, nil); err == nil || len(c.tries) != 1 {
			t.Errorf("waited for something that is no lock: %d tries, %v", len(c.tries), err)
		}
	})
}

// LockInfo is decoded, and the lock can be released, whatever form another program uses for the other members.
func TestHoldersAreReadInAnyForm(t *testing.T) {
	for text, want := range map[string]LockInfo{
		`{"ID":"a","Created":"yesterday","Who":"me"}`:        {ID: "a", Who: "me"},
		`{"Created":1700000000,"ID":"a","Who":"me"}`:         {ID: "a", Who: "me"},
		`{"Created":"","Who":"me","ID":"a"}`:                 {ID: "a", Who: "me"},
		`{"Created":null,"Who":"me","ID":"a","Info":{}}`:     {ID: "a", Who: "me"},
		`{"Created":"10000-01-01T00:00:00Z","ID":"a"}`:       {ID: "a"},
		`{"Who":7,"ID":"a","Operation":[],"Unknown":"more"}`: {ID: "a"},
		`{"ID":7}`: {},
	} {
		var got LockInfo
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		locked := (&LockedError{Info: &got}).Error()
		if strings.Contains(locked, "0001") || got.ID != "" && !strings.Contains(locked, got.ID) {
			t.Errorf("%s: %s", text, locked)
		}
	}
	var got LockInfo
	if err := json.Unmarshal([]byte(`"locked"`), &got); err == nil {
		t.Errorf("a text is %+v", got)
	}
}

// TestOlderVersionsReadObjectsOfTerraformData checks that no stored block is one that older versions refuse.
func TestOlderVersionsReadObjectsOfTerraformData(t *testing.T) {
	vals := map[string]cty.Value{"id": cty.StringVal("i"), "input": cty.NullVal(cty.DynamicPseudoType),
		"output": cty.StringVal("o"), "triggers_replace": cty.NullVal(cty.DynamicPseudoType)}
	block := cty.Object(map[string]cty.Type{"version": cty.Number})
	ty := cty.Object(map[string]cty.Type{"id": cty.String, "input": cty.DynamicPseudoType,
		"output": cty.DynamicPseudoType, "triggers_replace": cty.DynamicPseudoType, "store": block})
	for _, store := range []cty.Value{cty.NullVal(block), cty.ObjectVal(map[string]cty.Value{"version": cty.Zero})} {
		vals["store"] = store
		o, err := NewObject(cty.ObjectVal(vals), ty, Object{}, "store")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Contains(string(o.Attributes), "store"), !store.IsNull(); got != want {
			t.Errorf("%s: the block is there: %t, want %t", o.Attributes, got, want)
		}
		if v, err := o.Value(ty); err != nil || !v.RawEquals(cty.ObjectVal(vals)) {
			t.Errorf("%s: read as %#v, %v", o.Attributes, v, err)
		}
	}
	other := cty.Object(map[string]cty.Type{"id": cty.String, "store": block})
	o, err := NewObject(cty.ObjectVal(map[string]cty.Value{"id": vals["id"], "store": cty.NullVal(block)}), other,
		Object{})
	if err != nil || !strings.Contains(string(o.Attributes), `"store":null`) {
		t.Errorf("an object of another type: %s, %v", o.Attributes, err)
	}
}
