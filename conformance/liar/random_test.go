//go:build unix

package liar

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
)

// A random lie changes one random place of a response: a field of any message in it, or of the value that it encodes.
// The seed is part of the lie's name, and the change is written to a file.
const (
	randomPrefix = "random "
	toldFile     = "told"
)

func isRandom(lie string) bool { return strings.HasPrefix(lie, randomPrefix) }

// answersOf are the types of the responses to calls.
var answersOf = map[string]proto.Message{
	"plan": &plugin6.PlanResponse{}, "apply": &plugin6.ApplyResponse{}, "read": &plugin6.ReadResponse{},
	"upgrade": &plugin6.UpgradeStateResponse{}, "upgrade identity": &plugin6.UpgradeIdentityResponse{},
	"move": &plugin6.MoveResponse{}, "import": &plugin6.ImportResponse{}, "data": &plugin6.ReadDataResponse{},
	"open": &plugin6.OpenResponse{}, "renew": &plugin6.RenewResponse{}, "call": &plugin6.CallResponse{},
	"prepare": &plugin6.ValidateProviderResponse{}, "schema": &plugin6.SchemaResponse{},
	"plan action": &plugin6.PlanActionResponse{}, "invoke": &plugin6.ActionEvent{}, "list": &plugin6.ListEvent{},
	"identities": &plugin6.IdentitySchemasResponse{}, "diagnostics": &plugin6.DiagnosticsFirst{},
}

// passing applies the lie in the environment to the responses of streaming calls.
func passing(full bool) func(string, proto.Message) proto.Message {
	lie, where := os.Getenv(lieEnv), os.Getenv(fieldEnv)
	if !full || !isRandom(lie) {
		return nil
	}
	return func(_ string, answer proto.Message) proto.Message { return randomly(lie, where, answer) }
}

// randomly returns a response with a random lie in it, if the lie is for this call.
func randomly(lie, where string, answer proto.Message) proto.Message {
	of, ok := answersOf[where]
	if !ok {
		panic("no answers of " + where)
	}
	if answer.ProtoReflect().Descriptor().FullName() != of.ProtoReflect().Descriptor().FullName() {
		return answer
	}
	h := fnv.New64a()
	h.Write([]byte(lie + where + os.Getenv(sceneEnv)))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	changed := proto.Clone(answer)
	places := placesIn(string(changed.ProtoReflect().Descriptor().Name()), changed.ProtoReflect(), r)
	chosen := places[r.IntN(len(places))]
	description := chosen.at + ": " + chosen.lie()
	if f, err := os.OpenFile(toldFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err == nil {
		fmt.Fprintln(f, description)
		f.Close()
	}
	return changed
}

// A place is a place for a lie. Its function applies the lie and returns the new value.
type place struct {
	at  string
	lie func() string
}

// placesIn returns the places of a message, in the order of its fields.
func placesIn(at string, m protoreflect.Message, r *rand.Rand) (list []place) {
	if v, ok := m.Interface().(*plugin6.DynamicValue); ok {
		return placesInValue(at, v, r)
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		name := at + "." + string(f.Name())
		list = append(list, place{name, func() string { return another(m, f, r) }})
		switch {
		case !m.Has(f):
		case f.IsMap():
			entries := m.Mutable(f).Map()
			var keys []protoreflect.MapKey
			entries.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
				keys = append(keys, k)
				return true
			})
			slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return strings.Compare(a.String(), b.String()) })
			for _, k := range keys {
				if f.MapValue().Message() != nil {
					list = append(list, placesIn(name+"["+k.String()+"]", entries.Mutable(k).Message(), r)...)
				}
			}
		case f.IsList() && f.Message() != nil:
			for j := range m.Get(f).List().Len() {
				list = append(list, placesIn(name+"["+strconv.Itoa(j)+"]", m.Get(f).List().Get(j).Message(), r)...)
			}
		case f.Message() != nil:
			list = append(list, placesIn(name, m.Mutable(f).Message(), r)...)
		}
	}
	return list
}

// another changes a field.
func another(m protoreflect.Message, f protoreflect.FieldDescriptor, r *rand.Rand) string {
	switch {
	case f.IsMap() || f.IsList() && m.Has(f) && r.IntN(2) == 0:
		m.Clear(f)
		return "none"
	case f.IsList():
		list := m.Mutable(f).List()
		if list.Len() > 0 {
			list.Append(list.Get(0))
			return "the first once more"
		}
		list.Append(list.NewElement())
		return "an empty one"
	case m.Has(f) && r.IntN(2) == 0:
		m.Clear(f)
		return "missing"
	case f.Message() != nil:
		m.Set(f, m.NewField(f))
		return "empty"
	}
	switch f.Kind() {
	case protoreflect.BoolKind:
		m.Set(f, protoreflect.ValueOfBool(!m.Get(f).Bool()))
		return "the opposite"
	case protoreflect.StringKind:
		text := []string{"other", "a\nb", "\x1b[2J", "ä", strings.Repeat("x", 70)}[r.IntN(5)]
		m.Set(f, protoreflect.ValueOfString(text))
		return strconv.Quote(text)
	case protoreflect.BytesKind:
		b := [][]byte{{}, []byte("other"), {0xff, 0xfe}, []byte(`"string"`), []byte(`["list","nope"]`)}[r.IntN(5)]
		m.Set(f, protoreflect.ValueOfBytes(b))
		return fmt.Sprintf("bytes %q", b)
	case protoreflect.EnumKind:
		n := []protoreflect.EnumNumber{0, 1, 2, 3, 99}[r.IntN(5)]
		m.Set(f, protoreflect.ValueOfEnum(n))
		return fmt.Sprint("number ", n)
	case protoreflect.Int64Kind:
		n := []int64{-1, 1, 1 << 62}[r.IntN(3)]
		m.Set(f, protoreflect.ValueOfInt64(n))
		return fmt.Sprint("number ", n)
	}
	m.Clear(f)
	return "missing"
}

// placesInValue returns the places in an encoded value.
func placesInValue(at string, v *plugin6.DynamicValue, r *rand.Rand) []place {
	list := []place{{at, func() string {
		v.Msgpack, v.Json = nil, nil
		return "no bytes"
	}}}
	var decoded any
	if err := msgpack.Unmarshal(v.Msgpack, &decoded); err != nil {
		return list
	}
	var visit func(at string, node any, put func(any))
	visit = func(at string, node any, put func(any)) {
		list = append(list, place{at, func() string {
			other, description := anotherNode(node, r)
			put(other)
			var b bytes.Buffer
			e := msgpack.NewEncoder(&b)
			e.SetSortMapKeys(true)
			if err := e.Encode(decoded); err != nil {
				panic(err)
			}
			v.Msgpack = b.Bytes()
			return description
		}})
		switch node := node.(type) {
		case map[string]any:
			var names []string
			for name := range node {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				visit(at+"."+name, node[name], func(other any) { node[name] = other })
			}
		case []any:
			for i := range node {
				visit(at+"["+strconv.Itoa(i)+"]", node[i], func(other any) { node[i] = other })
			}
		}
	}
	visit(at, decoded, func(other any) { decoded = other })
	return list
}

// unknown is the encoding of an unknown value, an extension of the format, with number 0 if it is unrefined and 12 with
// refinements.
type unknown struct{ refined []byte }

func init() {
	for _, id := range []int8{0, 12} {
		msgpack.RegisterExtDecoder(id, unknown{}, func(d *msgpack.Decoder, v reflect.Value, length int) error {
			b := make([]byte, length)
			if id == 0 {
				v.Set(reflect.ValueOf(unknown{}))
				return d.ReadFull(b)
			}
			v.Set(reflect.ValueOf(unknown{b}))
			return d.ReadFull(b)
		})
	}
}

func (u unknown) EncodeMsgpack(e *msgpack.Encoder) error {
	if u.refined == nil {
		_, err := e.Writer().Write([]byte{0xd4, 0, 0})
		return err
	}
	if err := e.EncodeExtHeader(12, len(u.refined)); err != nil {
		return err
	}
	_, err := e.Writer().Write(u.refined)
	return err
}

// anotherNode returns a replacement for a part of a value, and its name.
func anotherNode(node any, r *rand.Rand) (other any, description string) {
	switch node := node.(type) {
	case map[string]any:
		switch names := len(node); {
		case r.IntN(3) == 0:
			more := map[string]any{"zz": "one too many"}
			for name, v := range node {
				more[name] = v
			}
			return more, "a member too many"
		case names > 0 && r.IntN(2) == 0:
			return map[string]any{}, "no members"
		}
	case []any:
		if len(node) > 0 && r.IntN(2) == 0 {
			return append(slices.Clone(node), node[0]), "the first once more"
		}
		return []any{}, "no elements"
	}
	others := []struct {
		node        any
		description string
	}{{nil, "null"}, {unknown{}, "unknown"}, {"other", "another text"}, {"", "an empty text"}, {true, "true"},
		{7, "a number"}, {[]any{}, "an empty list"}, {map[string]any{}, "an empty map"}, {[]any{nil}, "a list of null"},
		{"a\x00b", "a text with NUL"}, {strings.Repeat("y", 1<<16), "a long text"}, {math.Inf(1), "infinity"}}
	o := others[r.IntN(len(others))]
	return o.node, o.description
}

const (
	ring = `resource "liar_thing" "a" {
  name = "a"
  NEST
  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.liar_ring.a]
    }
  }
}
action "liar_ring" "a" {
  config {
    text = "loud"
  }
}
`
	known = object1 + `import {
  to       = liar_thing.a
  identity = {
    name = "a"
  }
}
`
	find = `list "liar_thing" "a" {
  provider         = liar
  include_resource = true
}
`
)

// randomScenes are the scenes of random lies.
var randomScenes = slices.Concat(scenes, []scene{
	{"update with an identity", "apply", []step{{object1, "apply"}, {object2, "plan -out=p"}}, step{"", "apply p"}},
	{"import by identity", "import", nil, step{known, "apply"}},
	{"upgrade of an identity", "upgrade identity", []step{{object1, "apply"}}, step{"", "apply"}},
	{"renew", "renew", nil, step{lease, "apply"}},
	{"close", "diagnostics", nil, step{lease, "apply"}},
	{"prepare", "prepare", nil, step{object1 + "provider \"liar\" {\n  name = \"n\"\n}\n", "apply"}},
	{"schema", "schema", []step{{object1, "apply"}}, step{"", "apply"}},
	{"schema of identities", "identities", []step{{object1, "apply"}}, step{"", "apply"}},
	{"plan an action", "plan action", nil, step{ring, "apply"}},
	{"invoke", "invoke", nil, step{ring, "apply"}},
	{"find", "list", nil, step{object1, "query"}},
})

// randomCases returns the cases of some seeds.
func randomCases(from, to int) (list []lieCase) {
	for seed := from; seed < to; seed++ {
		for _, s := range randomScenes {
			lie := randomPrefix + strconv.Itoa(seed)
			list = append(list, lieCase{s, lie, 6 - seed%2, false}) // alternating versions of the protocol
		}
	}
	return list
}

// A peer is a program whose verdicts on random lies are stored.
type peer struct {
	version string // the first line of its version output
	env     string // the variable with its path
	file    string // of its verdicts
	reasons string // for our different verdicts
	knows   func(scene) bool
}

var (
	// newTerraform is the first version with identities, lists and actions.
	newTerraform = peer{"Terraform v1.15.9", "TOMBOLO_TERRAFORM_NEW", "random.json", "random_reasons.json",
		func(scene) bool { return true }}
	newTofu = peer{"OpenTofu v1.12.6", "TOMBOLO_TOFU", "random_tofu.json", "random_tofu_reasons.json", inTofu}
)

// inTofu reports whether OpenTofu supports the features of a scene.
func inTofu(s scene) bool {
	return s.field != "plan action" && s.field != "invoke" && s.field != "list"
}

// TestRandomLiesMeetTheSameVerdict compares the verdicts of both programs on random lies, as
// TestEveryLieMeetsTheSameVerdict does, with the stored verdicts of a newer terraform. TOMBOLO_LIAR_SEEDS=0-20 selects
// the seeds; with TOMBOLO_LIAR=fill or =live the program in TOMBOLO_TERRAFORM_NEW is run.
func TestRandomLiesMeetTheSameVerdict(t *testing.T) { newTerraform.compare(t) }

// TestRandomLiesMeetTheSameVerdictAsInOpenTofu does the same with the program in TOMBOLO_TOFU.
func TestRandomLiesMeetTheSameVerdictAsInOpenTofu(t *testing.T) { newTofu.compare(t) }

func (p peer) compare(t *testing.T) {
	mode := os.Getenv("TOMBOLO_LIAR")
	tr := trial{mode: mode, file: p.file, stored: map[string]verdict{}, reasons: map[string]string{}}
	read(t, tr.file, &tr.stored)
	read(t, p.reasons, &tr.reasons)
	from, to := 0, 1
	if mode == "all" {
		to = 2000
	}
	if seeds := os.Getenv("TOMBOLO_LIAR_SEEDS"); seeds != "" {
		if _, err := fmt.Sscanf(seeds, "%d-%d", &from, &to); err != nil || from > to {
			t.Fatalf("TOMBOLO_LIAR_SEEDS is %q, which is no range such as 0-20", seeds)
		}
	}
	if mode == "fill" || mode == "live" {
		tr.theirs = os.Getenv(p.env)
		out, err := exec.Command(tr.theirs, "version").Output()
		if first, _, _ := strings.Cut(string(out), "\n"); err != nil || strings.TrimSpace(first) != p.version {
			t.Skipf("needs %s, its path in %s", p.version, p.env)
		}
	}
	list := slices.DeleteFunc(randomCases(from, to), func(c lieCase) bool { return !p.knows(c.scene) })
	if mode != "fill" {
		list = slices.DeleteFunc(list, func(c lieCase) bool { _, known := tr.stored[c.name()]; return !known })
	}
	if mode == "" && testing.Short() {
		list = list[:min(8, len(list))]
	}
	tr.compare(t, list)
}
