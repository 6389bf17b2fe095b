// Package eval turns the static module tree into values: it finds the references of every block once, orders the work
// by them, expands modules, and evaluates variables, local values, output values and the bodies of blocks.
//
// It knows what the language means and nothing of plans or states. What happens to a resource is decided by a Driver:
// internal/planning plans it, internal/applying applies it, and both hand its value back with SetResource.
//
// The unit of work is the slot: one variable, local value, output value, module call, provider configuration, resource
// block or check of a module. Program holds what is known of all slots before anything runs: New reports cycles, and
// keeps what is wrong with single parts of a slot, such as unknown names, for the walk that comes to them. Walk runs
// the slots: one node for each slot of each module instance, on the ready queue of internal/graph. By the time a node
// runs, all that it refers to has its value, which is computed once and shared. A walk that is Validating expands
// nothing, takes every variable and object for unknown, and finds all mistakes of the configuration together.
//
//	prog, diags := eval.New(cfg, schemas)
//	walk := prog.NewWalk(inputs, driver)
//	walk.Run(ctx)
package eval

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/provider"
)

// Program is a configuration made ready for running: every slot with its dependencies. It is immutable and may be
// walked many times.
type Program struct {
	Config  *config.Config
	Schemas Schemas

	units     map[addr.Module]*Unit
	providers map[addr.AbsProviderConfig]*Slot
	order     []*Unit // parents before children
	reported  map[addr.Provider]bool
	removed   removals
	total     int
	// dependents are the edges turned around; only programs with ephemeral resources have them.
	dependents [][]int
}

// Schemas has the schema of a provider. The engine's provider pool implements it.
type Schemas interface {
	Schema(p addr.Provider) (*provider.Schema, diag.List)
}

// SlotKind tells what a slot is.
type SlotKind uint8

// The kinds of slots. A Call expands a module call; a CallOutput stands for one output value over all instances of the
// called module; a CallClose for everything inside of it.
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

// Slot is one configuration object of a module, with what it refers to.
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

	unit  *Unit
	index int
	text  string // the address of a resource, for sorting
	deps  []int  // slots of the same module
	outer []int  // slots of the calling module (variables: the argument's references; all others: none)

	faults   map[any]diag.List // what is wrong with a part of it before anything runs; see faulty
	warnings diag.List         // what the references of the slot call for; New reports it
	refs     []addr.Reference  // what the slot's expressions mention, for making scopes
	argRefs  []addr.Reference  // of a variable: what its argument mentions, in the calling module
	arg      hcl.Expression    // of a variable: the argument of the module call, nil when there is none

	Body *Body // of resources, data sources and provider blocks; nil when the schema is not known
	Type *provider.ResourceType
	// Provisioners are those of a resource, compiled, in the order in which they stand there.
	Provisioners []*Provisioner
	meta         *Meta
	// ProviderConfig is the configuration that manages a resource; ProviderSlot its block, or -1.
	ProviderConfig addr.AbsProviderConfig
	// Used tells of the block of a provider configuration that some block of the configuration is managed by it. What
	// is wrong with one that nothing uses keeps nobody from working (Inputs.InUse).
	Used         bool
	providerUnit *Unit
	providerSlot int
	imports      []int // of a resource: slots of the root module that import some of its instances

	users []*Slot // of an ephemeral resource: what may use its value
	kept  bool    // of an ephemeral resource: it stays open until the end

	// CreateBeforeDestroy is what the block says, or what a dependent that says so forces on it.
	CreateBeforeDestroy bool

	// resourceDeps are the resources that the slot depends on, nearest first; direct the ones that its own expressions
	// or depends_on mention.
	resourceDeps []addr.ConfigResource
	importDeps   []addr.ConfigResource // of the import blocks for the resource
	direct       []int
	explicit     []int // named in depends_on, or through a module call's depends_on
}

// Unit is one module of the tree with its slots.
type Unit struct {
	Module *config.Module
	parent *Unit
	calls  map[string]*Unit

	slots     []*Slot
	topo      []int // indices of slots, dependencies first
	variables map[string]int
	locals    map[string]int
	outputs   map[string]int
	callSlots map[string]int
	outSlots  map[[2]string]int // call, output
	closes    map[string]int
	providers map[addr.LocalProviderConfig]int
	resources map[addr.Resource]int

	base   int      // number of the first slot in the whole program
	called []string // local names of providers whose functions the module calls
	metas  map[addr.Provider]*Meta
}

// Slots returns the slots of a module.
func (u *Unit) Slots() []*Slot { return u.slots }

// Unit returns the slots of a module, or nil.
func (p *Program) Unit(m addr.Module) *Unit { return p.units[m] }

// ResourceSlot finds the slot of a resource block, or nil.
func (p *Program) ResourceSlot(r addr.ConfigResource) *Slot {
	u := p.units[r.Module]
	if u == nil {
		return nil
	}
	if i, ok := u.resources[r.Resource]; ok {
		return u.slots[i]
	}
	return nil
}

// New prepares a configuration: compiles the bodies against the schemas, resolves every reference, reports dependency
// cycles. What is wrong with single expressions, such as unknown names, is reported by the walks that come to them: a
// validating walk finds all of it.
func New(cfg *config.Config, schemas Schemas) (*Program, diag.List) {
	p := &Program{Config: cfg, Schemas: schemas, units: map[addr.Module]*Unit{},
		providers: map[addr.AbsProviderConfig]*Slot{}, reported: map[addr.Provider]bool{}}
	diags := cfg.CheckCalls().Extend(cfg.CheckUnpassed())
	for _, m := range cfg.SortedModules() {
		p.addUnit(m)
	}
	p.findProviderCalls(cfg.Files)
	for _, u := range p.order {
		diags = diags.Extend(p.compile(u))
	}
	p.compileRemoved()
	diags = diags.Extend(p.compileImports())
	for _, u := range p.order {
		p.link(u)
		for _, s := range u.slots {
			diags = diags.Extend(s.warnings)
		}
	}
	if diags.HasErrors() {
		return p, diags
	}
	if cycles := p.cycles(); cycles.HasErrors() {
		return p, diags.Extend(cycles)
	}
	for _, u := range p.order {
		p.sort(u)
	}
	p.findResourceDeps()
	p.propagateCreateBeforeDestroy()
	for _, u := range p.order {
		for _, s := range u.slots {
			if s.Kind == SlotResource && s.Resource.Addr.Mode == addr.Ephemeral {
				s.users, s.kept = p.usersOf(s)
			}
		}
	}
	return p, diags
}

// addUnit makes the slots of a module in a stable order.
func (p *Program) addUnit(m *config.Module) {
	u := &Unit{
		Module: m, calls: map[string]*Unit{},
		variables: map[string]int{}, locals: map[string]int{}, outputs: map[string]int{}, callSlots: map[string]int{},
		outSlots: map[[2]string]int{}, closes: map[string]int{}, providers: map[addr.LocalProviderConfig]int{},
		resources: map[addr.Resource]int{}, base: p.total,
	}
	if m.Parent != nil {
		u.parent = p.units[m.Parent.Path]
		u.parent.calls[m.Call.Name] = u
	}
	for _, v := range m.SortedVariables() {
		u.variables[v.Name] = u.add(&Slot{Kind: SlotVariable, Name: v.Name, Variable: v})
	}
	for _, l := range m.SortedLocals() {
		u.locals[l.Name] = u.add(&Slot{Kind: SlotLocal, Name: l.Name, Local: l})
	}
	for _, c := range m.SortedProviderConfigs() {
		if !c.Proxy {
			i := u.add(&Slot{Kind: SlotProvider, Name: c.Addr().String(), Provider: c})
			u.providers[c.Addr()] = i
			p.providers[addr.AbsProviderConfig{Module: m.Path, Provider: c.Provider, Alias: c.Alias}] = u.slots[i]
		}
	}
	for _, r := range m.SortedResources() {
		u.resources[r.Addr] = u.add(&Slot{Kind: SlotResource, Name: r.Addr.String(), Resource: r, providerSlot: -1,
			text: r.ConfigAddr().String()})
	}
	for _, c := range m.SortedCalls() {
		u.callSlots[c.Name] = u.add(&Slot{Kind: SlotCall, Name: c.Name, Call: c})
		u.closes[c.Name] = u.add(&Slot{Kind: SlotCallClose, Name: c.Name, Call: c})
		if child := m.Children[c.Name]; child != nil {
			for _, o := range child.SortedOutputs() {
				u.outSlots[[2]string{c.Name, o.Name}] = u.add(&Slot{Kind: SlotCallOutput, Name: o.Name, Call: c,
					Output: o})
			}
		}
	}
	for _, o := range m.SortedOutputs() {
		u.outputs[o.Name] = u.add(&Slot{Kind: SlotOutput, Name: o.Name, Output: o})
	}
	for _, c := range m.SortedChecks() {
		u.add(&Slot{Kind: SlotCheck, Name: c.Name, Check: c})
	}
	if m.Path.IsRoot() {
		for _, i := range m.Imports {
			u.add(&Slot{Kind: SlotImport, Name: i.To.String(), Import: i})
		}
	}
	p.total += len(u.slots)
	p.units[m.Path] = u
	p.order = append(p.order, u)
}

func (u *Unit) add(s *Slot) int {
	s.unit, s.index = u, len(u.slots)
	u.slots = append(u.slots, s)
	return s.index
}

// Addr names the slot for people.
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
		return prefix + s.Name + " (import)"
	}
	return prefix + s.Name
}

// ConfigAddr is the address of a resource slot.
func (s *Slot) ConfigAddr() addr.ConfigResource { return s.Resource.ConfigAddr() }

// Unit returns the module of the slot.
func (s *Slot) Unit() *Unit { return s.unit }

// ResourceDeps returns the resources that the slot depends on, through whatever lies between, sorted for the state.
func (s *Slot) ResourceDeps() []addr.ConfigResource { return s.resourceDeps }

// ImportDeps returns the resources that the import blocks for a resource depend on. As long as an object is left as it
// was found, it depends on them too.
func (s *Slot) ImportDeps() []addr.ConfigResource { return s.importDeps }

// bySlotNumber finds a slot by its number in the whole program.
func (p *Program) bySlotNumber(n int) *Slot {
	i := sort.Search(len(p.order), func(i int) bool { return p.order[i].base > n }) - 1
	for len(p.order[i].slots) == 0 { // empty modules share a base with their successor
		i--
	}
	return p.order[i].slots[n-p.order[i].base]
}

// cycles reports every group of slots that depend on each other.
func (p *Program) cycles() diag.List {
	var diags diag.List
	groups := graph.Cycles(p.total, func(n int) []int { return p.edges(p.bySlotNumber(n)) })
	for _, g := range groups {
		names := make([]string, 0, len(g))
		var members []*Slot
		for _, n := range g {
			// it only passes on what the output of the module gives
			if s := p.bySlotNumber(n); s.Kind != SlotCallOutput {
				names = append(names, s.Addr())
				members = append(members, s)
			}
		}
		sort.Strings(names)
		d := &diag.Diagnostic{Severity: diag.Error, Summary: "Cycle: " + strings.Join(names, ", "),
			Detail: "These objects refer to each other in a ring, so none of them can be evaluated first. Remove one " +
				"of the references."}
		d.Subject, d.Detail = ring(members, names, d.Detail)
		diags = append(diags, d)
	}
	return diags
}

// ring finds the references by which members of a cycle refer to each other: the place of the first, and a detail that
// lists them.
func ring(members []*Slot, names []string, detail string) (first *hcl.Range, with string) {
	slices.SortFunc(members, func(a, b *Slot) int { return strings.Compare(a.Addr(), b.Addr()) })
	var lines []string
	for _, s := range members {
		refs, from := s.refs, s.unit
		if len(s.argRefs) > 0 {
			refs, from = s.argRefs, s.unit.parent
		}
		for _, ref := range refs {
			to := ref.String()
			if !from.Module.Path.IsRoot() {
				to = from.Module.Path.String() + "." + to
			}
			meant := func(n string) bool {
				n = strings.Replace(n, ".output.", ".", 1) // as a reference from outside has it
				return n == to || strings.HasPrefix(n, to+".") || strings.HasPrefix(n, to+" (")
			}
			if !slices.ContainsFunc(names, meant) {
				continue
			}
			if first == nil {
				first = ref.Range.Ptr()
			}
			line := fmt.Sprintf("  %s:%d: %s refers to %s", ref.Range.Filename, ref.Range.Start.Line, s.Addr(), to)
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	const most = 20
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("  and %d more", len(lines)-most))
	}
	if len(lines) > 0 {
		detail += "\n\n" + strings.Join(lines, "\n")
	}
	return first, detail
}
