package claims

import (
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
)

// Scope is a set of names in a state: instances of resources, whether they exist or not, and root output values. It is
// comparable; the zero value contains nothing.
type Scope struct {
	kind kind
	text string
}

type kind string

// The kinds of scopes. They are part of the stored form.
const (
	everything kind = "everything"
	module     kind = "module"   // a module instance and what is in it
	modules    kind = "modules"  // all instances of a module and what is in them
	resources  kind = "config"   // all instances of a resource in all instances of its module
	resource   kind = "resource" // all instances of a resource in one instance of its module
	instance   kind = "instance" // one instance, with its deposed objects
	output     kind = "output"   // a root output value
)

// Everything returns the scope of all names.
func Everything() Scope { return Scope{kind: everything} }

// Module returns the scope of a module instance and everything in it.
func Module(m addr.ModuleInstance) Scope {
	if m.IsRoot() {
		return Everything()
	}
	return Scope{module, m.String()}
}

// Modules returns the scope of all instances of a module and everything in them.
func Modules(m addr.Module) Scope {
	if m.IsRoot() {
		return Everything()
	}
	return Scope{modules, m.String()}
}

// Config returns the scope of all instances of a resource in all instances of its module.
func Config(r addr.ConfigResource) Scope { return Scope{resources, r.String()} }

// Resource returns the scope of all instances of a resource in one instance of its module.
func Resource(r addr.AbsResource) Scope { return Scope{resource, r.String()} }

// Instance returns the scope of one instance and its deposed objects.
func Instance(i addr.AbsResourceInstance) Scope { return Scope{instance, i.String()} }

// Output returns the scope of a root output value.
func Output(name string) Scope { return Scope{output, name} }

// String describes the scope in messages.
func (s Scope) String() string {
	switch s.kind {
	case everything:
		return "the whole state"
	case module:
		return "everything in " + s.text
	case modules:
		return "everything in all instances of " + s.text
	case resources:
		return "all instances of " + s.text
	case resource:
		return "all instances of " + s.text
	case output:
		return "output." + s.text
	}
	return s.text
}

// MarshalText returns the stored form.
func (s Scope) MarshalText() ([]byte, error) {
	if s.kind == everything {
		return []byte(everything), nil
	}
	return []byte(string(s.kind) + ":" + s.text), nil
}

// UnmarshalText reads the stored form. It returns an error for a form of another version of the program: what such a
// scope contains is unknown.
func (s *Scope) UnmarshalText(b []byte) error {
	before, text, _ := strings.Cut(string(b), ":")
	read := Scope{kind(before), text}
	if _, err := read.parse(); err != nil {
		return fmt.Errorf("the claim %q cannot be read: %w", b, err)
	}
	*s = read
	return nil
}

// step is one element of the path to a name. With any set, it stands for all keys.
type step struct {
	call string
	key  addr.Key
	any  bool
}

// path is a scope in a form for comparisons: the modules, then the resource if there is one, then its key.
type path struct {
	steps    []step
	resource addr.Resource // zero: everything in the module
	key      addr.Key
	any      bool // all keys of the resource
	output   string
	all      bool
}

// parse returns the path of a scope, or an error if the scope is not valid.
func (s Scope) parse() (p path, err error) {
	switch s.kind {
	case everything:
		if s.text != "" {
			return p, fmt.Errorf("unexpected %q", s.text)
		}
		return path{all: true}, nil
	case output:
		if s.text == "" {
			return p, fmt.Errorf("an output value needs a name")
		}
		return path{output: s.text}, nil
	case resources:
		r, diags := addr.ParseConfigResource(s.text)
		if err := diags.Err(); err != nil {
			return p, err
		}
		if r.String() != s.text { // it has keys
			return p, fmt.Errorf("it is not the address of a block")
		}
		return path{steps: anySteps(r.Module), resource: r.Resource, any: true}, nil
	case instance:
		i, diags := addr.ParseInstance(s.text)
		if err := diags.Err(); err != nil {
			return p, err
		}
		return path{steps: steps(i.Module), resource: i.Resource, key: i.Key}, nil
	case module, modules, resource:
		t, diags := addr.ParseTarget(s.text)
		if err := diags.Err(); err != nil {
			return p, err
		}
		if t.HasKey || t.IsModule() != (s.kind != resource) {
			return p, fmt.Errorf("it is not the address of a %s", s.kind)
		}
		if s.kind == modules {
			return path{steps: anySteps(t.Module.Config())}, nil
		}
		return path{steps: steps(t.Module), resource: t.Resource, any: s.kind == resource}, nil
	}
	return p, fmt.Errorf("its kind %q is unknown to this version of the program", s.kind)
}

func steps(m addr.ModuleInstance) (list []step) {
	for _, s := range m.Steps() {
		list = append(list, step{call: s.Call, key: s.Key})
	}
	return list
}

func anySteps(m addr.Module) (list []step) {
	for _, call := range m.Calls() {
		list = append(list, step{call: call, any: true})
	}
	return list
}

// Overlaps reports whether a name is in both scopes.
func (s Scope) Overlaps(o Scope) bool {
	if s == (Scope{}) || o == (Scope{}) {
		return false
	}
	return s.path().overlaps(o.path())
}

// path returns the path of a valid scope. Scopes are made by the functions of this package or were parsed before.
func (s Scope) path() path {
	p, err := s.parse()
	if err != nil {
		panic("claims: invalid scope: " + err.Error())
	}
	return p
}

func (p path) overlaps(o path) bool {
	switch {
	case p.all || o.all:
		return true
	case p.output != "" || o.output != "":
		return p.output == o.output
	}
	for i := range min(len(p.steps), len(o.steps)) {
		a, b := p.steps[i], o.steps[i]
		if a.call != b.call || !a.any && !b.any && a.key != b.key {
			return false
		}
	}
	wholeP, wholeO := p.resource == addr.Resource{}, o.resource == addr.Resource{}
	switch {
	case wholeP && wholeO: // one module contains the other
		return true
	case wholeP:
		return len(p.steps) <= len(o.steps)
	case wholeO:
		return len(o.steps) <= len(p.steps)
	}
	return len(p.steps) == len(o.steps) && p.resource == o.resource && (p.any || o.any || p.key == o.key)
}

// Contains reports whether all names of another scope are in this one.
func (s Scope) Contains(o Scope) bool {
	if s == (Scope{}) || o == (Scope{}) {
		return o == (Scope{})
	}
	p, q := s.path(), o.path()
	switch {
	case p.all:
		return true
	case q.all || p.output != "" || q.output != "":
		return p.output == q.output && !q.all
	case len(p.steps) > len(q.steps):
		return false
	}
	for i, a := range p.steps {
		if b := q.steps[i]; a.call != b.call || !a.any && (b.any || a.key != b.key) {
			return false
		}
	}
	if (p.resource == addr.Resource{}) {
		return true
	}
	return len(p.steps) == len(q.steps) && p.resource == q.resource && (p.any || !q.any && p.key == q.key)
}

// config returns the resource of a scope without keys, or "" for scopes of modules, outputs and everything.
func (s Scope) config() string {
	if s.kind != instance && s.kind != resource && s.kind != resources {
		return ""
	}
	var b strings.Builder
	quoted, depth := false, 0
	for i := 0; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			depth++
		case c == ']':
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// single reports whether a scope is one instance or one output value, so that it overlaps only itself and wider scopes.
func (s Scope) single() bool { return s.kind == instance || s.kind == output }
