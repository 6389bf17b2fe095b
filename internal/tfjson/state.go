package tfjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/state"
)

// State writes the state document on one line: the output of `show -json`. A nil or empty state results in the document
// without a state.
func State(w io.Writer, s *state.State, schemas Schemas) error {
	out := newStream(w)
	if err := out.state(s, schemas, !bare(s) && len(s.Checks()) > 0); err != nil {
		return err
	}
	return out.end()
}

func (s *stream) state(st *state.State, schemas Schemas, checks bool) error {
	s.open('{')
	s.member("format_version", stateFormat)
	if !bare(st) {
		s.member("terraform_version", state.LanguageVersion)
	}
	if !bare(st) {
		s.key("values")
		s.open('{')
		s.stateOutputs(st)
		s.key("root_module")
		tree := moduleTree(st.Resources(), func(r *state.Resource) addr.ModuleInstance { return r.Addr.Module })
		if err := writeModule(s, tree, func(r *state.Resource) error {
			return s.stateResource(r, schemas)
		}); err != nil {
			return err
		}
		s.close('}')
	}
	if checks {
		s.key("checks")
		s.checks(st.Checks())
	}
	s.close('}')
	return nil
}

// bare reports whether a state holds no values: it is not shown if there are only check results.
func bare(st *state.State) bool { return len(st.Resources()) == 0 && len(st.OutputNames()) == 0 }

func (s *stream) stateOutputs(st *state.State) {
	names := st.OutputNames()
	if len(names) == 0 {
		return
	}
	s.key("outputs")
	s.open('{')
	for _, name := range names {
		o := st.Output(name)
		s.key(name)
		s.open('{')
		s.memberBool("sensitive", o.Sensitive)
		s.key("value")
		s.value(o.Value)
		s.key("type")
		s.typ(o.Value.Type())
		s.close('}')
	}
	s.close('}')
}

// typ writes a type in its JSON form.
func (s *stream) typ(ty cty.Type) {
	b, err := ctyjson.MarshalType(ty)
	if err != nil { // only capsule types have no form
		b = []byte(`"dynamic"`)
	}
	s.rawBytes(b)
}

// modules is a tree of module instances, each with its items.
type modules[T any] struct {
	address  addr.ModuleInstance
	items    []T
	children []*modules[T]
}

// moduleTree groups items by module. Items of one module keep their order; modules are sorted by address.
func moduleTree[T any](items []T, of func(T) addr.ModuleInstance) *modules[T] {
	root := &modules[T]{}
	byAddress := map[addr.ModuleInstance]*modules[T]{addr.RootInstance: root}
	var node func(m addr.ModuleInstance) *modules[T]
	node = func(m addr.ModuleInstance) *modules[T] {
		if n := byAddress[m]; n != nil {
			return n
		}
		n := &modules[T]{address: m}
		byAddress[m] = n
		parent, _, _ := m.Parent()
		p := node(parent)
		p.children = append(p.children, n)
		return n
	}
	for _, item := range items {
		n := node(of(item))
		n.items = append(n.items, item)
	}
	for _, n := range byAddress {
		slices.SortFunc(n.children, func(a, b *modules[T]) int { return a.address.Compare(b.address) })
	}
	return root
}

// writeModule writes a module document with its resources and children.
func writeModule[T any](s *stream, m *modules[T], write func(T) error) error {
	s.open('{')
	if len(m.items) > 0 {
		s.key("resources")
		s.open('[')
		for _, item := range m.items {
			if err := write(item); err != nil {
				return err
			}
		}
		s.close(']')
	}
	s.optional("address", m.address.String())
	if len(m.children) > 0 {
		s.key("child_modules")
		s.open('[')
		for _, c := range m.children {
			if err := writeModule(s, c, write); err != nil {
				return err
			}
		}
		s.close(']')
	}
	s.close('}')
	return nil
}

// stateResource writes all objects of a resource.
func (s *stream) stateResource(r *state.Resource, schemas Schemas) error {
	for _, key := range r.Keys() {
		instance := r.Instances[key]
		if instance.Current != nil {
			if err := s.stateObject(r, key, "", instance.Current, schemas); err != nil {
				return err
			}
		}
		for _, deposed := range instance.DeposedKeys() {
			if err := s.stateObject(r, key, deposed, instance.Deposed[deposed], schemas); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stream) stateObject(r *state.Resource, key addr.Key, deposed addr.DeposedKey, o *state.Object,
	schemas Schemas) error {
	instance := r.Addr.Instance(key)
	p := r.Provider.Provider
	if o.Provider != nil {
		p = o.Provider.Provider
	}
	rt := schemas.ResourceType(p, r.Addr.Resource)
	if rt == nil {
		return fmt.Errorf("%s: the provider %s has no schema for %s", instance, p.ForDisplay(), r.Addr.Resource.Type)
	}
	v, err := o.Value(rt.Block.ImpliedType())
	if err != nil {
		return fmt.Errorf("%s: the stored object does not fit the schema: %w", instance, err)
	}
	s.open('{')
	s.resourceHead(instance, p)
	version := o.SchemaVersion
	if deposed != "" {
		version = 0 // the value that readers of the document expect
	}
	s.memberInt("schema_version", version)
	s.objectValues(v, SecretsOf(v, o.Sensitive, rt.Block))
	if o.Identity != nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, o.Identity); err != nil {
			return fmt.Errorf("%s: the stored identity cannot be read as JSON: %w", instance, err)
		}
		s.memberInt("identity_schema_version", o.IdentityVersion)
		s.key("identity")
		s.rawBytes(compact.Bytes())
	}
	if len(o.Dependencies) > 0 {
		s.key("depends_on")
		s.open('[')
		for _, d := range o.Dependencies {
			s.str(d.String())
		}
		s.close(']')
	}
	if o.Status == state.Tainted {
		s.memberBool("tainted", true)
	}
	s.optional("deposed_key", string(deposed))
	s.close('}')
	return nil
}

// resourceHead writes the members that identify an instance.
func (s *stream) resourceHead(a addr.AbsResourceInstance, p addr.Provider) {
	s.member("address", a.String())
	s.resourceParts(a)
	s.member("provider_name", p.String())
}

func (s *stream) resourceParts(a addr.AbsResourceInstance) {
	s.member("mode", a.Resource.Mode.String())
	s.member("type", a.Resource.Type)
	s.member("name", a.Resource.Name)
	s.instanceKey("index", a.Key)
}

// instanceKey writes an instance key, if there is one.
func (s *stream) instanceKey(name string, k addr.Key) {
	if n, ok := k.Int(); ok {
		s.memberInt(name, int64(n))
	} else if text, ok := k.Str(); ok {
		s.member(name, text)
	}
}

// objectValues writes the members values (omitted if nothing is known) and sensitive_values.
func (s *stream) objectValues(v cty.Value, secrets *Secrets) {
	if v.IsKnown() && !v.IsNull() && anyKnown(v) {
		s.key("values")
		s.open('{')
		s.knownMembers(v)
		s.close('}')
	}
	s.key("sensitive_values")
	s.secrets(v, secrets)
}

func anyKnown(v cty.Value) bool {
	for name := range v.Type().AttributeTypes() {
		if v.GetAttr(name).IsKnown() {
			return true
		}
	}
	return false
}

// Outputs writes all root output values, indented: the output of `output -json`.
func Outputs(w io.Writer, st *state.State) error {
	var b bytes.Buffer
	s := newStream(&b)
	s.open('{')
	for _, name := range st.OutputNames() {
		o := st.Output(name)
		s.key(name)
		s.open('{')
		s.memberBool("sensitive", o.Sensitive)
		s.key("type")
		s.typ(o.Value.Type())
		s.key("value")
		s.value(o.Value)
		s.close('}')
	}
	s.close('}')
	return writeIndented(w, s, &b)
}

func writeIndented(w io.Writer, s *stream, b *bytes.Buffer) error {
	if err := s.end(); err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, b.Bytes(), "", "  "); err != nil {
		return fmt.Errorf("indent a document: %w", err)
	}
	_, err := w.Write(indented.Bytes())
	return err
}

// OutputValue writes one value on one line: the output of `output -json NAME`.
func OutputValue(w io.Writer, o *state.Output) error {
	s := newStream(w)
	s.value(o.Value)
	return s.end()
}

// Type writes the JSON form of a type.
func Type(w io.Writer, ty cty.Type) error {
	s := newStream(w)
	s.typ(ty)
	return s.w.Flush()
}

// Value writes the known parts of a value, as documents contain them.
func Value(w io.Writer, v cty.Value) error {
	s := newStream(w)
	s.value(v)
	return s.w.Flush()
}
