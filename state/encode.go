package state

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// Encode writes the state as a version 4 document, byte for byte in the layout of Terraform. A nil state is written as
// the empty one.
func (s *State) Encode(w io.Writer) error {
	e := &encoder{w: w, indent: true, b: make([]byte, 0, 64<<10+4<<10)}
	e.document(s)
	e.b = append(e.b, '\n')
	e.flush()
	return e.err
}

// encoder appends JSON to b, and writes it to w in large chunks. The first error is kept.
type encoder struct {
	w      io.Writer // if nil, everything stays in b
	b      []byte
	indent bool
	level  int
	err    error
}

func (e *encoder) flush() {
	if e.err == nil && len(e.b) > 0 {
		_, e.err = e.w.Write(e.b)
	}
	e.b = e.b[:0]
}

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// line starts a new line at the current depth.
func (e *encoder) line() {
	if !e.indent {
		return
	}
	e.b = append(e.b, '\n')
	for range e.level {
		e.b = append(e.b, ' ', ' ')
	}
}

// open, item and close write the brackets of an object or array; close leaves an empty pair on one line.
func (e *encoder) open(c byte) {
	e.b = append(e.b, c)
	e.level++
}

func (e *encoder) item() {
	if c := e.b[len(e.b)-1]; c != '{' && c != '[' {
		e.b = append(e.b, ',')
	}
	e.line()
}

func (e *encoder) close(c byte) {
	e.level--
	if last := e.b[len(e.b)-1]; last != '{' && last != '[' {
		e.line()
	}
	e.b = append(e.b, c)
}

// name starts a member.
func (e *encoder) name(n string) {
	e.item()
	e.text(n)
	e.b = append(e.b, ':')
	if e.indent {
		e.b = append(e.b, ' ')
	}
}

func (e *encoder) textMember(name, value string) {
	e.name(name)
	e.text(value)
}

func (e *encoder) intMember(name string, n int64) {
	e.name(name)
	e.b = strconv.AppendInt(e.b, n, 10)
}

func (e *encoder) trueMember(name string, is bool) {
	if is {
		e.name(name)
		e.b = append(e.b, "true"...)
	}
}

const hexDigits = "0123456789abcdef"

// text writes a string like encoding/json, so that documents are equal to Terraform's.
func (e *encoder) text(s string) {
	e.b = append(e.b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x80 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
			i++
			continue
		}
		if c >= 0x80 {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != 0x2028 && r != 0x2029 && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
			e.b = append(e.b, s[start:i]...)
			e.b = append(e.b, `\u`...)
			for shift := 12; shift >= 0; shift -= 4 {
				e.b = append(e.b, hexDigits[r>>shift&15])
			}
			i += size
			start = i
			continue
		}
		e.b = append(e.b, s[start:i]...)
		switch c {
		case '"', '\\':
			e.b = append(e.b, '\\', c)
		case '\b':
			e.b = append(e.b, `\b`...)
		case '\f':
			e.b = append(e.b, `\f`...)
		case '\n':
			e.b = append(e.b, `\n`...)
		case '\r':
			e.b = append(e.b, `\r`...)
		case '\t':
			e.b = append(e.b, `\t`...)
		default:
			e.b = append(e.b, `\u00`...)
			e.b = append(e.b, hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	e.b = append(e.b, s[start:]...)
	e.b = append(e.b, '"')
}

// raw writes a valid JSON value with new indentation.
func (e *encoder) raw(b []byte) {
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		case '"':
			i += e.rawText(b[i:])
			continue
		case '{', '[':
			e.open(c)
			if j := i + 1 + space(b[i+1:]); b[j] != c+2 {
				e.line()
			}
		case '}', ']':
			e.close(c)
		case ',':
			e.b = append(e.b, ',')
			e.line()
		case ':':
			e.b = append(e.b, ':')
			if e.indent {
				e.b = append(e.b, ' ')
			}
		case ' ', '\t', '\n', '\r':
		default:
			e.b = append(e.b, c)
		}
		i++
	}
}

func space(b []byte) int {
	n := 0
	for n < len(b) && (b[n] == ' ' || b[n] == '\t' || b[n] == '\n' || b[n] == '\r') {
		n++
	}
	return n
}

// rawText writes the string literal that b starts with and returns its length. Terraform escapes <, > and & everywhere.
func (e *encoder) rawText(b []byte) int {
	start := 0
	for i := 1; ; i++ {
		switch c := b[i]; {
		case c == '"':
			e.b = append(e.b, b[start:i+1]...)
			return i + 1
		case c == '\\':
			i++
		case c == '<' || c == '>' || c == '&':
			e.b = append(e.b, b[start:i]...)
			e.b = append(e.b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			start = i + 1
		case c == 0xe2 && i+2 < len(b) && b[i+1] == 0x80 && b[i+2]&^1 == 0xa8: // U+2028 and U+2029
			e.b = append(e.b, b[start:i]...)
			e.b = append(e.b, `\u202`...)
			e.b = append(e.b, hexDigits[b[i+2]&15])
			i += 2
			start = i + 1
		}
	}
}

func (e *encoder) document(s *State) {
	if s == nil {
		s = &State{}
	}
	e.open('{')
	e.intMember("version", FormatVersion)
	e.textMember("terraform_version", LanguageVersion)
	e.name("serial")
	e.b = strconv.AppendUint(e.b, s.Serial, 10)
	e.textMember("lineage", s.Lineage)
	e.name("outputs")
	e.open('{')
	for _, name := range s.OutputNames() {
		e.name(name)
		e.output(name, s.outputs[name])
	}
	e.close('}')
	e.name("resources")
	e.open('[')
	for _, r := range fileOrder(s) {
		e.item()
		e.resource(r)
	}
	e.close(']')
	e.name("check_results")
	e.checks(s.checks)
	e.close('}')
}

// fileOrder returns the resources in the order of Terraform's files: by the texts of module, mode, type and name. (That
// puts module.a[10] before module.a[2], unlike the order of addresses.)
func fileOrder(s *State) []*Resource {
	return slices.SortedFunc(maps.Values(s.resources), func(a, b *Resource) int {
		return cmp.Or(cmp.Compare(a.Addr.Module.String(), b.Addr.Module.String()),
			a.Addr.Resource.Compare(b.Addr.Resource))
	})
}

// fileKeys returns the keys in the order of Terraform's files: no key, strings, numbers.
func fileKeys(r *Resource) []addr.Key {
	rank := func(k addr.Key) int {
		if _, ok := k.Int(); ok {
			return 1
		}
		return 0
	}
	return slices.SortedFunc(maps.Keys(r.Instances), func(a, b addr.Key) int {
		return cmp.Or(rank(a)-rank(b), a.Compare(b))
	})
}

func (e *encoder) output(name string, o *Output) {
	value, err := ctyfast.MarshalJSON(o.Value, o.Value.Type())
	if err != nil {
		e.fail(fmt.Errorf("output %s: %w", name, err))
		return
	}
	typ, err := ctyjson.MarshalType(o.Value.Type())
	if err != nil {
		e.fail(fmt.Errorf("output %s: %w", name, err))
		return
	}
	e.open('{')
	e.name("value")
	e.raw(value)
	e.name("type")
	e.raw(typ)
	e.trueMember("sensitive", o.Sensitive)
	e.close('}')
}

// head writes the members that identify the resource and its provider.
func (e *encoder) head(a addr.AbsResource, p addr.AbsProviderConfig) {
	if !a.Module.IsRoot() {
		e.textMember("module", a.Module.String())
	}
	e.textMember("mode", a.Resource.Mode.String())
	e.textMember("type", a.Resource.Type)
	e.textMember("name", a.Resource.Name)
	if p != (addr.AbsProviderConfig{}) {
		e.textMember("provider", p.String())
	}
}

func (e *encoder) resource(r *Resource) {
	e.open('{')
	if r.ownedByInstances() {
		r = r.withOwners()
	}
	e.head(r.Addr, r.Provider)
	e.name("instances")
	e.open('[')
	for _, key := range fileKeys(r) {
		i := r.Instances[key]
		if i.Current != nil {
			e.item()
			e.object(r, key, "", i.Current)
		}
		for _, k := range i.DeposedKeys() {
			e.item()
			e.object(r, key, k, i.Deposed[k])
		}
		if e.w != nil && len(e.b) > 64<<10 {
			last := e.b[len(e.b)-1] // item and close need the previous byte
			e.b = e.b[:len(e.b)-1]
			e.flush()
			e.b = append(e.b, last)
		}
	}
	e.close(']')
	e.close('}')
}

func (e *encoder) key(key addr.Key) {
	if n, ok := key.Int(); ok {
		e.intMember("index_key", int64(n))
	} else if text, ok := key.Str(); ok {
		e.textMember("index_key", text)
	}
}

func (e *encoder) object(r *Resource, key addr.Key, deposed addr.DeposedKey, o *Object) {
	e.open('{')
	e.key(key)
	if o.Status == Tainted {
		e.textMember("status", "tainted")
	}
	if deposed != "" {
		e.textMember("deposed", string(deposed))
	}
	e.intMember("schema_version", o.SchemaVersion)
	e.attributes(r, key, o)
	e.name("sensitive_attributes")
	e.open('[')
	for _, p := range o.Sensitive {
		e.item()
		e.path(p)
	}
	e.close(']')
	if o.Identity != nil {
		e.intMember("identity_schema_version", o.IdentityVersion)
		e.name("identity")
		e.value(r, key, o.Identity, false)
	}
	if len(o.Private) > 0 {
		e.name("private")
		e.b = append(e.b, '"')
		e.b = base64.StdEncoding.AppendEncode(e.b, o.Private)
		e.b = append(e.b, '"')
	}
	e.dependencies(o.Dependencies)
	e.trueMember("create_before_destroy", o.CreateBeforeDestroy)
	if o.Provider != nil && *o.Provider != r.Provider {
		e.textMember("provider", o.Provider.String())
	}
	e.trueMember("skip_destroy", o.SkipDestroy)
	e.trueMember(protectedField, o.Protected)
	if o.ReadAt > 0 {
		e.intMember(readAtField, o.ReadAt)
	}
	e.close('}')
}

func (e *encoder) attributes(r *Resource, key addr.Key, o *Object) {
	switch {
	case o.Attributes != nil:
		e.name("attributes")
		e.value(r, key, o.Attributes, o.cache() != nil)
	case o.Flat != nil:
		e.name("attributes_flat")
		e.open('{')
		for _, name := range slices.Sorted(maps.Keys(o.Flat)) {
			e.textMember(name, o.Flat[name])
		}
		e.close('}')
	default:
		e.name("attributes")
		e.b = append(e.b, "{}"...)
	}
}

// value writes raw JSON from outside of the package, after a check unless it was already checked: one invalid object
// must not make the whole state unreadable.
func (e *encoder) value(r *Resource, key addr.Key, raw json.RawMessage, checked bool) {
	if !checked && !json.Valid(raw) {
		e.fail(fmt.Errorf("the attributes of %s are not valid JSON", r.Addr.Instance(key)))
		return
	}
	if !checked {
		raw = bytes.TrimSpace(raw)
	}
	e.raw(raw)
}

func (e *encoder) path(p cty.Path) {
	raw, err := EncodePath(p)
	if err != nil {
		e.fail(err)
		return
	}
	e.raw(raw)
}

func (e *encoder) checks(checks []CheckResult) {
	if len(checks) == 0 {
		e.b = append(e.b, "null"...)
		return
	}
	e.open('[')
	for _, c := range checks {
		e.item()
		e.open('{')
		e.textMember("object_kind", c.Kind)
		e.textMember("config_addr", c.ConfigAddr)
		e.textMember("status", c.Status)
		e.name("objects")
		if len(c.Objects) == 0 {
			e.b = append(e.b, "null"...)
		} else {
			e.checked(c.Objects)
		}
		e.close('}')
	}
	e.close(']')
}

func (e *encoder) checked(objects []CheckedObject) {
	e.open('[')
	for _, o := range objects {
		e.item()
		e.open('{')
		e.textMember("object_addr", o.Addr)
		e.textMember("status", o.Status)
		if len(o.Failures) > 0 {
			e.name("failure_messages")
			e.open('[')
			for _, f := range o.Failures {
				e.item()
				e.text(f)
			}
			e.close(']')
		}
		e.close('}')
	}
	e.close(']')
}

func (e *encoder) dependencies(deps []addr.ConfigResource) {
	if len(deps) == 0 {
		return
	}
	e.name("dependencies")
	e.open('[')
	for _, d := range deps {
		e.item()
		e.text(d.String())
	}
	e.close(']')
}
