package linking

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/provider"
)

// SlotKind is the kind of block that a slot represents.
type SlotKind uint8

// The kinds of slots. A Call expands a module call; a CallOutput is one output value of all instances of the called
// module; a CallClose represents everything in it.
const (
	SlotVariable SlotKind = iota + 1
	SlotLocal
	SlotOutput
	SlotCall
	SlotCallOutput
	SlotCallClose
	SlotProvider
	SlotResource
	SlotCheck
	SlotImport
)

// Slot is one configuration object of a module, with its references.
type Slot struct {
	Kind SlotKind
	Name string

	Variable *config.Variable
	Local    *config.Local
	Output   *config.Output
	Call     *config.ModuleCall
	Provider *config.ProviderConfig
	Resource *config.Resource
	Check    *config.Check
	Import   *config.Import

	// Index is the number of the slot within its module.
	Index int
	// Refs holds the references of the slot's expressions, from which scopes are built.
	Refs []addr.Reference

	// Arg is the argument of the module call for a variable, or nil; ArgRefs holds its references in the calling
	// module.
	Arg     hcl.Expression
	ArgRefs []addr.Reference

	// Body is the body of a resource, data source or provider block; nil if its schema is unknown. Type is the resource
	// type.
	Body *blocks.Body
	Type *provider.ResourceType
	// Provisioners are those of a resource, compiled, in the order of the source.
	Provisioners []*Provisioner
	// ProviderConfig is the configuration that manages a resource; ProviderSlot is the index of its block in
	// ProviderUnit, or -1.
	ProviderConfig addr.AbsProviderConfig
	ProviderUnit   *Unit
	ProviderSlot   int
	// KeyedBy is the call of this module, or of one around it, that passes one of several provider instances; nil if
	// the resource names the instance itself.
	KeyedBy *config.PassedProvider
	// Used reports whether a provider configuration manages any block. Errors in an unused one are not reported, unless
	// stored objects need it (eval.Inputs).
	Used bool

	// Users holds, for an ephemeral resource, the slots that may use its value. Kept reports whether a provider's
	// configuration is one of them: then the resource stays open until the end.
	Users []*Slot
	Kept  bool

	// CreateBeforeDestroy is the setting of the block, or true if a dependent sets it.
	CreateBeforeDestroy bool

	// Direct are the resource slots of the module that the slot's own expressions refer to; Explicit are the slots in
	// depends_on.
	Direct   []int
	Explicit []int

	// GuardRefs are the references of prevent_destroy and destroy.
	GuardRefs []addr.Reference
	// LateRefs holds the references of the triggers of a resource: conditions and keys of actions. They are evaluated
	// after the resource is planned, or by the apply if they are unknown then.
	LateRefs []addr.Reference

	// CalledBy are the resources whose triggers invoke an action that refers to its caller; empty for actions without
	// caller.
	CalledBy []*Slot

	unit  *Unit
	text  string // the address of a resource, for sorting
	deps  []int  // dependencies in the same module
	guard []int  // slots of the same module that prevent_destroy and destroy refer to
	late  []int  // slots of LateRefs and of the actions of triggers; the slot does not wait for them
	outer []int  // of a variable: the slots of the calling module that its argument refers to
	meta  *Meta

	faults   map[any]diag.List // problems of its parts before evaluation; see Faulty
	warnings diag.List         // problems that New reports
	imports  []int             // of a resource: program-wide numbers of slots that import its instances

	resourceDeps []addr.ConfigResource // the resources that the slot depends on, nearest first
	importDeps   []addr.ConfigResource // those of the import blocks for the resource
}

// Addr returns the address of the slot for messages.
func (s *Slot) Addr() string {
	prefix := ""
	if !s.unit.Module.Path.IsRoot() {
		prefix = s.unit.Module.Path.String() + "."
	}
	switch s.Kind {
	case SlotVariable:
		return prefix + "var." + s.Name
	case SlotLocal:
		return prefix + "local." + s.Name
	case SlotOutput:
		return prefix + "output." + s.Name
	case SlotCall:
		return prefix + "module." + s.Name + " (expand)"
	case SlotCallClose:
		return prefix + "module." + s.Name + " (close)"
	case SlotCallOutput:
		return prefix + "module." + s.Call.Name + "." + s.Name
	case SlotProvider:
		return s.ConfiguredAs().String()
	case SlotCheck:
		return prefix + "check." + s.Name
	case SlotImport:
		return s.Name + " (import)"
	}
	return prefix + s.Name
}

// hasObjects reports whether a slot is a resource. Actions and lists are declared like them, but nothing depends on
// their results.
func (s *Slot) hasObjects() bool {
	return s.Kind == SlotResource && s.Resource.Addr.Mode != addr.Action && s.Resource.Addr.Mode != addr.List
}

// ConfigAddr returns the address of a resource slot.
func (s *Slot) ConfigAddr() addr.ConfigResource { return s.Resource.ConfigAddr() }

// Unit returns the module of the slot.
func (s *Slot) Unit() *Unit { return s.unit }

// ResourceDeps returns the resources that the slot depends on, directly or indirectly, sorted for the state.
func (s *Slot) ResourceDeps() []addr.ConfigResource { return s.resourceDeps }

// ImportDeps returns the resources that the import blocks for a resource depend on. An imported object without changes
// depends on them, too.
func (s *Slot) ImportDeps() []addr.ConfigResource { return s.importDeps }

// fault records the problems of a part of a slot. Warnings do not prevent its evaluation.
func (s *Slot) fault(part any, diags diag.List) {
	for _, d := range diags {
		if d.Severity == diag.Warning && part == PartTriggers {
			continue // it has no value
		}
		if d.Severity == diag.Warning {
			s.warnings = append(s.warnings, d)
			continue
		}
		if s.faults == nil {
			s.faults = map[any]diag.List{}
		}
		s.faults[part] = append(s.faults[part], d)
	}
}

// Faulty returns the problems of a part of a slot that were found before evaluation: unresolved references. A part is
// an expression, a Body, or one of the values below; its evaluation returns these problems instead.
func (s *Slot) Faulty(parts ...any) diag.List {
	if s.faults == nil {
		return nil
	}
	var diags diag.List
	for _, part := range parts {
		diags = diags.Extend(s.faults[part])
	}
	return diags
}

// Part is a part of a slot that is not an expression; see Slot.Faulty.
type Part string

// The parts of slots that are not expressions.
const (
	PartDependsOn   Part = "depends_on"
	PartTriggers    Part = "replace_triggered_by"
	PartValidations Part = "validation"
)

// Checkable reports whether a slot has its own conditions, and its kind among check results.
func (s *Slot) Checkable() (kind string, ok bool) {
	switch s.Kind {
	case SlotResource:
		return "resource", len(s.Resource.Preconditions)+len(s.Resource.Postconditions) > 0
	case SlotOutput:
		return "output", len(s.Output.Preconditions) > 0
	case SlotVariable:
		return "var", len(s.Variable.Validations) > 0
	case SlotCheck:
		return "check", true
	}
	return "", false
}

// PassesEphemeral reports whether the expression of an output value refers to an ephemeral output value of a called
// module, directly or through local values. While validating, those have no marks, but in a later walk they do.
func (s *Slot) PassesEphemeral() bool {
	u, seen, queue := s.unit, map[*Slot]bool{s: true}, []*Slot{s}
	for len(queue) > 0 {
		s, queue = queue[0], queue[1:]
		for _, n := range s.deps {
			d := u.slots[n]
			if d.Kind == SlotCallOutput && d.Output.Ephemeral {
				return true
			}
			if d.Kind == SlotLocal && !seen[d] {
				seen[d] = true
				queue = append(queue, d)
			}
		}
	}
	return false
}

// Storable returns an error for a value of a root output that a state cannot hold.
func (s *Slot) Storable(v cty.Value) diag.List {
	rng := s.Output.Expr.Range()
	if ctyfast.TooDeep(v) {
		return diag.List(nil).Errorf(&rng, "Value nested too deep",
			"The value of the output %q is nested more than %d levels deep, which a state cannot store. Use a "+
				"flatter structure, or convert it to a string with jsonencode.", s.Name, ctyfast.MaxDepth)
	}
	if !ctyfast.Unstorable(v) {
		return nil
	}
	return diag.List(nil).Errorf(&rng, "Number cannot be stored", "The value of the output %q is or contains a "+
		"number that is infinite or has an exponent of more than 5 digits (4 below zero), which a state cannot store. "+
		"Use a condition that returns another value.", s.Name)
}

// ConfiguredAs returns the address of a provider block's configuration, without an instance key.
func (s *Slot) ConfiguredAs() addr.AbsProviderConfig {
	return addr.AbsProviderConfig{Module: s.unit.Module.Path, Provider: s.Provider.Provider, Alias: s.Provider.Alias}
}
