package moving

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// Declared provides the addresses in the expanded configuration.
type Declared interface {
	// Modules returns the instances of a module.
	Modules(m addr.Module) []addr.ModuleInstance
	HasModule(m addr.ModuleInstance) bool
	// HasInstance reports whether a block declares an instance.
	HasInstance(a addr.AbsResourceInstance) bool
}

// Check returns errors for invalid moved blocks: the same address twice, two moves for one object, cycles, and objects
// that were not moved because they are still declared.
func (r *Result) Check(d Declared) diag.List {
	c := &checker{r: r, declared: d, from: map[site]seen{}, to: map[site]seen{},
		modules: map[addr.Module][]addr.ModuleInstance{}}
	for _, s := range r.statements {
		if s.implied {
			continue
		}
		instances, ok := c.modules[s.from.decl]
		if !ok {
			instances = d.Modules(s.from.decl)
			c.modules[s.from.decl] = instances
		}
		for _, m := range instances {
			c.statement(s, m)
		}
	}
	for _, s := range r.misfits {
		c.diags = c.diags.Errorf(&s.rng, "Resource mode mismatch",
			"%s and %s are of different kinds: a managed resource cannot become a data source, or a data source a "+
				"managed resource. The move would lose the object.",
			s.from.in(addr.RootInstance), s.to.in(addr.RootInstance))
	}
	if c.diags.HasErrors() {
		return c.diags
	}
	for _, cycle := range r.cycles {
		slices.SortStableFunc(cycle, func(a, b *statement) int {
			if c := strings.Compare(a.rng.Filename, b.rng.Filename); c != 0 {
				return c
			}
			return a.rng.Start.Byte - b.rng.Start.Byte
		})
		var list strings.Builder
		for _, s := range cycle {
			fmt.Fprintf(&list, "\n  - %s: %s to %s", position(s.rng), s.from.in(addr.RootInstance),
				s.to.in(addr.RootInstance))
		}
		c.diags = c.diags.Errorf(nil, "Cyclic dependency in move statements",
			"These moved blocks form a cycle, so there is no final address for an object:%s\n\nA chain of moves must "+
				"end at an address that no other block moves. Nothing was moved.",
			list.String())
	}
	return c.diags
}

// seen is the other end of a statement, to find two statements about the same address.
type seen struct {
	other string
	rng   hcl.Range
}

// site is an address in a statement: all instances at it, or the one without a key. These differ, so that a chain may
// move the only instance within a block and then the block.
type site struct {
	address string
	whole   bool
}

type checker struct {
	r        *Result
	declared Declared
	from, to map[site]seen
	modules  map[addr.Module][]addr.ModuleInstance
	diags    diag.List
}

func (c *checker) statement(s *statement, m addr.ModuleInstance) {
	from, to := s.from.in(m), s.to.in(m)
	if from == to {
		c.diags = c.diags.Errorf(&s.rng, "Redundant move statement",
			"This block moves %s to its own address, so it has no effect. Remove the block.", from)
		return
	}
	for _, e := range []end{s.from, s.to} {
		if p := c.foreign(e); p != "" {
			c.diags = c.diags.Errorf(&s.rng, "Cross-package move statement",
				"%s belongs to the external module package %q. A moved block can only name objects of its own package.",
				e.in(m), p)
		}
	}
	fromPlace, toPlace := site{from, s.from.whole}, site{to, s.to.whole}
	if other, ok := c.from[fromPlace]; ok && other.other != to {
		c.diags = c.diags.Errorf(&s.rng, "Ambiguous move statements",
			"The block at %s moves %s to %s, but this one moves it to %s. An object can only move to one address.",
			position(other.rng), from, other.other, to)
	} else {
		c.from[fromPlace] = seen{to, s.rng}
	}
	if other, ok := c.to[toPlace]; ok && other.other != from {
		c.diags = c.diags.Errorf(&s.rng, "Ambiguous move statements",
			"The block at %s moves %s to %s, but this one moves %s there. Only one object can move to an address.",
			position(other.rng), other.other, to, from)
	} else {
		c.to[toPlace] = seen{from, s.rng}
	}
	if twin, ok := otherKind(s.to.key); ok && config.IsOwn(s.rng.Filename) && !s.to.isModule() {
		a := addr.AbsResourceInstance{Module: m.Join(s.to.steps), Resource: s.to.resource, Key: s.to.key}
		meant := a
		meant.Key = twin
		if _, moved := c.r.From[a]; moved && !c.declared.HasInstance(a) && c.declared.HasInstance(meant) {
			c.diags = c.diags.Extend(wrongKey(config.Endpoint{Range: s.rng}, to, meant.String(), twin))
			return
		}
	}
	if what, where := c.exists(s.from, m); what != "" {
		c.diags = c.diags.Errorf(&s.rng, "Moved object still exists",
			"This block moves %s, but that %s is still declared at %s. Declare it as %s instead, or remove the moved "+
				"block.", from, what, position(where), to)
	}
}

// foreign returns the source of the package of an end's module, if it is not the package of the statement.
func (c *checker) foreign(e end) string {
	inner := e.steps
	if e.isModule() {
		inner = inner[:len(inner)-1] // the call is part of the calling module
	}
	m := e.decl
	for _, s := range inner {
		block := c.r.packages(m)
		if block == nil {
			return ""
		}
		if call := block.Calls[s.Call]; call != nil && call.Kind != config.SourceLocal {
			return call.Source
		}
		m = m.Child(s.Call)
	}
	return ""
}

// exists returns the declared object at an address, and the range of its declaration.
func (c *checker) exists(e end, m addr.ModuleInstance) (what string, where hcl.Range) {
	inner := e.steps
	if e.isModule() {
		inner = inner[:len(inner)-1]
	}
	container := m.Join(inner)
	if !c.declared.HasModule(container) {
		return "", where
	}
	block := c.r.packages(container.Config())
	if e.isModule() {
		last := e.steps[len(e.steps)-1]
		call := block.Calls[last.Call]
		switch {
		case call == nil:
		case e.whole:
			return "module call", call.Range
		case c.declared.HasModule(container.Child(last.Call, last.Key)):
			return "module instance", repetition(call.Count, call.ForEach, call.Range)
		}
		return "", where
	}
	res := block.Resources[e.resource]
	switch {
	case res == nil:
	case e.whole:
		return "resource", res.DeclRange
	case c.declared.HasInstance(addr.AbsResourceInstance{Module: container, Resource: e.resource, Key: e.key}):
		return "resource instance", repetition(res.Count, res.ForEach, res.DeclRange)
	}
	return "", where
}

// repetition returns the range of the argument that determines the instances.
func repetition(count, forEach hcl.Expression, otherwise hcl.Range) hcl.Range {
	switch {
	case count != nil:
		return count.Range()
	case forEach != nil:
		return forEach.Range()
	}
	return otherwise
}

func position(r hcl.Range) string {
	return fmt.Sprintf("%s:%d,%d", r.Filename, r.Start.Line, r.Start.Column)
}
