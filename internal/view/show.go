package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/state"
)

// State writes a state as text: the output of `show` without a plan file.
func State(o Options, s *state.State, schemas tfjson.Schemas) error {
	if s.IsEmpty() {
		_, err := io.WriteString(o.Out, "The state file is empty. No resources are represented.\n")
		return err
	}
	w := newStateWriter(o, s, schemas)
	resources := s.Resources()
	children := map[addr.ModuleInstance][]addr.ModuleInstance{}
	of := map[addr.ModuleInstance][]*state.Resource{}
	for _, r := range resources {
		for m := r.Addr.Module; !m.IsRoot() && of[m] == nil; {
			of[m] = []*state.Resource{}
			parent, _, _ := m.Parent()
			children[parent] = append(children[parent], m)
			m = parent
		}
		of[r.Addr.Module] = append(of[r.Addr.Module], r)
	}
	if err := w.module(addr.RootInstance, of, children); err != nil {
		return err
	}
	w.outputs(s)
	_, err := w.WriteTo(o.Out)
	return err
}

// Object writes one instance as text: the output of `state show ADDRESS`. Deposed objects are left out.
func Object(o Options, s *state.State, a addr.AbsResourceInstance, schemas tfjson.Schemas) error {
	r := s.Resource(a.AbsResource())
	current := s.Object(addr.Object{Instance: a})
	if r == nil || current == nil {
		return fmt.Errorf("the state has no object %s", a)
	}
	w := newStateWriter(o, s, schemas)
	if err := w.object(r, addr.Object{Instance: a}, current); err != nil {
		return err
	}
	_, err := w.WriteTo(o.Out)
	return err
}

type stateWriter struct {
	renderer
	o       Options
	schemas tfjson.Schemas
}

func newStateWriter(o Options, s *state.State, schemas tfjson.Schemas) stateWriter {
	o.Secrets = cmp.Or(o.Secrets, &Secrets{})
	o.learnState(s, schemas)
	return stateWriter{renderer: renderer{style: style{o.Color}, hide: o.concealing()}, o: o, schemas: schemas}
}

// module writes the resources of a module instance, and after them those of the modules that it calls.
func (w *stateWriter) module(m addr.ModuleInstance, of map[addr.ModuleInstance][]*state.Resource,
	children map[addr.ModuleInstance][]addr.ModuleInstance) error {
	for i, r := range of[m] {
		if i > 0 {
			w.WriteByte('\n')
		}
		if err := w.resource(r); err != nil {
			return err
		}
		if w.Len() > 64<<10 {
			if _, err := w.WriteTo(w.o.Out); err != nil {
				return err
			}
		}
	}
	below := children[m]
	slices.SortFunc(below, addr.ModuleInstance.Compare)
	for _, c := range below {
		if len(of[m]) > 0 {
			w.WriteString("\n\n")
		}
		if err := w.module(c, of, children); err != nil {
			return err
		}
	}
	return nil
}

// resource writes all objects of a resource, separated by empty lines.
func (w *stateWriter) resource(r *state.Resource) error {
	first := true
	write := func(a addr.Object, o *state.Object) error {
		if !first {
			w.WriteByte('\n')
		}
		first = false
		return w.object(r, a, o)
	}
	for _, key := range r.Keys() {
		instance := r.Instances[key]
		a := r.Addr.Instance(key)
		if instance.Current != nil {
			if err := write(addr.Object{Instance: a}, instance.Current); err != nil {
				return err
			}
		}
		for _, deposed := range instance.DeposedKeys() {
			if err := write(addr.Object{Instance: a, Deposed: deposed}, instance.Deposed[deposed]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *stateWriter) object(r *state.Resource, a addr.Object, o *state.Object) error {
	p := r.Provider.Provider
	if o.Provider != nil {
		p = o.Provider.Provider
	}
	block := blockOf(w.schemas, p, r.Addr.Resource)
	if block == nil {
		return fmt.Errorf("%s: the provider %s has no schema for %s", a.Instance, p.ForDisplay(), r.Addr.Resource.Type)
	}
	v, err := o.Value(block.ImpliedType())
	if err != nil {
		return fmt.Errorf("%s: the stored object does not fit the schema: %w", a.Instance, err)
	}
	w.WriteString("# " + clean(a.Instance.String()) + ":")
	switch {
	case a.Deposed != "":
		w.WriteString(" (deposed object " + clean(string(a.Deposed)) + ")")
	case o.Status == state.Tainted:
		w.WriteString(" (tainted)")
	}
	w.WriteByte('\n')
	res := r.Addr.Resource
	w.WriteString(blockWord(res.Mode) + " " + quoted(res.Type) + " " + quoted(res.Name) + " {\n")
	secrets := w.o.secrets(v, o.Sensitive, block)
	w.block(compareBlock(block, sides{before: v, after: v, hadSecret: secrets, secret: secrets}, nil), 0, true)
	w.WriteByte('\n')
	return nil
}

// outputs writes the root output values at the end of a state.
func (w *stateWriter) outputs(s *state.State) {
	names := s.OutputNames()
	if len(names) == 0 {
		return
	}
	w.WriteString("\n\nOutputs:\n\n")
	for _, name := range names {
		w.output(name, s.Output(name))
		w.WriteByte('\n')
	}
}

// output writes a root output value, without a line end.
func (w *stateWriter) output(name string, o *state.Output) {
	w.WriteString(memberName(name) + " = ")
	if o.Sensitive && !w.o.ShowSensitive {
		w.WriteString("(sensitive value)")
		return
	}
	w.value(compare(o.Value.Type(), sides{before: o.Value, after: o.Value}), 0, how{all: true})
}
