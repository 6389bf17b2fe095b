// Package addr holds addresses, which name objects, and references, which mention them in expressions.
//
// There are two families. Configuration addresses (Module, ConfigResource) name module calls and blocks in files,
// without instance keys. Instance addresses (ModuleInstance, AbsResource, AbsResourceInstance) name their instances:
// one for each element of count and for_each.
//
// All types are small immutable values, comparable with == and usable as map keys. Module paths keep their canonical
// text, so that comparing, hashing and printing them costs one string.
//
//	r, diags := addr.ParseInstance(`module.net["eu"].terraform_data.a[0]`)
//	r.Module.String()   // module.net["eu"]
package addr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Mode distinguishes managed resources from data and ephemeral ones. All three are "resources" in documentation.
// Actions and lists are not resources, but have addresses like them.
type Mode uint8

// The modes.
const (
	Managed Mode = iota + 1
	Data
	Ephemeral
	Action
	List
)

// String returns the word of the state format: managed, data, ephemeral. States have no actions or lists.
func (m Mode) String() string {
	switch m {
	case Managed:
		return "managed"
	case Data:
		return "data"
	case Ephemeral:
		return "ephemeral"
	case Action:
		return "action"
	case List:
		return "list"
	}
	return "invalid"
}

// Resource names a resource block within its module.
type Resource struct {
	Mode Mode
	Type string
	Name string
}

// String returns `type.name`, with a prefix for all but managed resources.
func (r Resource) String() string {
	switch r.Mode {
	case Data:
		return "data." + r.Type + "." + r.Name
	case Ephemeral:
		return "ephemeral." + r.Type + "." + r.Name
	case Action:
		return "action." + r.Type + "." + r.Name
	case List:
		return "list." + r.Type + "." + r.Name
	}
	return r.Type + "." + r.Name
}

// Compare orders resources by mode, type and name, as the state file does.
func (r Resource) Compare(o Resource) int {
	if r.Mode != o.Mode {
		// Terraform's state lists data resources before managed ones ("data" < "managed").
		return strings.Compare(r.Mode.String(), o.Mode.String())
	}
	if c := strings.Compare(r.Type, o.Type); c != 0 {
		return c
	}
	return strings.Compare(r.Name, o.Name)
}

// ConfigResource names a resource block anywhere in the configuration.
type ConfigResource struct {
	Module   Module
	Resource Resource
}

// String returns the address without any instance keys.
func (r ConfigResource) String() string {
	if r.Module.IsRoot() {
		return r.Resource.String()
	}
	return r.Module.String() + "." + r.Resource.String()
}

// Compare compares by module, then by resource.
func (r ConfigResource) Compare(o ConfigResource) int {
	if c := r.Module.Compare(o.Module); c != 0 {
		return c
	}
	return r.Resource.Compare(o.Resource)
}

// AbsResource names all instances of a resource block in one module instance.
type AbsResource struct {
	Module   ModuleInstance
	Resource Resource
}

// String returns the address with the keys of its modules.
func (r AbsResource) String() string {
	if r.Module.IsRoot() {
		return r.Resource.String()
	}
	return r.Module.String() + "." + r.Resource.String()
}

// Config returns the block that the resource comes from.
func (r AbsResource) Config() ConfigResource {
	return ConfigResource{Module: r.Module.Config(), Resource: r.Resource}
}

// Instance names one instance.
func (r AbsResource) Instance(key Key) AbsResourceInstance {
	return AbsResourceInstance{Module: r.Module, Resource: r.Resource, Key: key}
}

// Compare compares by module instance, then like Resource.Compare.
func (r AbsResource) Compare(o AbsResource) int {
	if c := r.Module.Compare(o.Module); c != 0 {
		return c
	}
	return r.Resource.Compare(o.Resource)
}

// AbsResourceInstance names one instance of a resource, the unit of plan and state.
type AbsResourceInstance struct {
	Module   ModuleInstance
	Resource Resource
	Key      Key
}

// String returns the full address.
func (r AbsResourceInstance) String() string {
	return r.AbsResource().String() + r.Key.String()
}

// AbsResource returns the address without the key.
func (r AbsResourceInstance) AbsResource() AbsResource {
	return AbsResource{Module: r.Module, Resource: r.Resource}
}

// Config returns the block that the instance comes from.
func (r AbsResourceInstance) Config() ConfigResource { return r.AbsResource().Config() }

// Compare compares by module instance, resource and key.
func (r AbsResourceInstance) Compare(o AbsResourceInstance) int {
	if c := r.AbsResource().Compare(o.AbsResource()); c != 0 {
		return c
	}
	return r.Key.Compare(o.Key)
}

// DeposedKey identifies a replaced object of an instance that is not deleted yet: eight hex digits. The empty key means
// the current object.
type DeposedKey string

// Object names one object of an instance: the current one or a deposed one.
type Object struct {
	Instance AbsResourceInstance
	Deposed  DeposedKey
}

// String returns `ADDRESS` or `ADDRESS (deposed object KEY)`.
func (o Object) String() string {
	if o.Deposed == "" {
		return o.Instance.String()
	}
	return o.Instance.String() + " (deposed object " + string(o.Deposed) + ")"
}

// Key is an instance key: none, a whole number (count) or a string (for_each). The zero value is NoKey.
type Key struct {
	kind keyKind
	num  int
	str  string
}

type keyKind uint8

const (
	noKey keyKind = iota
	intKey
	stringKey
)

// NoKey is the key of an instance of a block without count or for_each.
var NoKey = Key{}

// IntKey returns the key of a count element.
func IntKey(n int) Key { return Key{kind: intKey, num: n} }

// StringKey returns the key of a for_each element.
func StringKey(s string) Key { return Key{kind: stringKey, str: s} }

// IsNone reports whether there is no key.
func (k Key) IsNone() bool { return k.kind == noKey }

// Int returns the number and true for a count key.
func (k Key) Int() (int, bool) { return k.num, k.kind == intKey }

// Str returns the text and true for a for_each key.
func (k Key) Str() (string, bool) { return k.str, k.kind == stringKey }

// String returns the key as it appears in an address: nothing, [0] or ["a"].
func (k Key) String() string {
	switch k.kind {
	case intKey:
		return "[" + strconv.Itoa(k.num) + "]"
	case stringKey:
		return `[` + quote(k.str) + `]`
	}
	return ""
}

// Compare sorts no key first, then numbers, then strings, as in the state file.
func (k Key) Compare(o Key) int {
	if k.kind != o.kind {
		return int(k.kind) - int(o.kind)
	}
	if k.kind == intKey {
		return k.num - o.num
	}
	return strings.Compare(k.str, o.str)
}

// quote returns s as a string literal of the language, with unprintable characters escaped and template starts doubled.
func quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case (r == '$' || r == '%') && strings.HasPrefix(s[i+1:], "{"):
			b.WriteRune(r)
			b.WriteRune(r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
