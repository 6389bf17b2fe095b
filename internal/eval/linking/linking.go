// Package linking prepares a configuration: it compiles the body of every block against its schema, resolves every
// reference, and orders the work. Nothing is evaluated yet; package eval does that, with the Program that New returns.
//
// The unit of work is the slot: one variable, local value, output value, module call, provider configuration, resource
// block or check of a module. New reports cycles, and stores problems of parts of a slot, such as unknown names, for
// the walk that evaluates them (Slot.Faulty). Program.Needs alone defines which slot waits for which. A Program is
// immutable and may be walked many times, even concurrently.
//
//	prog, diags := linking.New(cfg, schemas)
//	slot := prog.ResourceSlot(a)
package linking

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/provider"
)

// Program is a prepared configuration: every slot with its dependencies. It is immutable, except for the record of
// reported warnings, and may be walked many times, even concurrently.
type Program struct {
	Config  *config.Config
	Schemas Schemas

	units     map[addr.Module]*Unit
	providers map[addr.AbsProviderConfig]*Slot
	order     []*Unit // sorted with parents before children
	removed   removals
	total     int
	// dependents holds the reversed edges; only programs with ephemeral resources have them.
	dependents [][]int

	mu       sync.Mutex             // guards the fields below
	reported map[addr.Provider]bool // the providers whose schema warnings were reported
}

// Schemas returns the schemas of providers. The engine's provider pool implements it.
type Schemas interface {
	Schema(p addr.Provider) (*provider.Schema, diag.List)
}

// Unit is one module of the tree with its slots. The maps hold slot indexes by name.
type Unit struct {
	Module *config.Module
	Parent *Unit
	Calls  map[string]*Unit // the called modules
	// Order holds the indexes of all slots, dependencies first.
	Order []int

	Variables   map[string]int
	Locals      map[string]int
	Outputs     map[string]int
	CallSlots   map[string]int
	CallOutputs map[[2]string]int // by call and output
	Closes      map[string]int
	Resources   map[addr.Resource]int

	// Called are the local names of the providers whose functions the module calls.
	Called []string
	// Declared are the module's declarations with types resolved by provider schemas.
	Declared *config.Declared

	slots     []*Slot
	providers map[addr.LocalProviderConfig]int
	base      int // number of the first slot in the whole program
	metas     map[addr.Provider]*Meta
}

// Provider returns the slot of a provider block by its local name, or nil.
func (u *Unit) Provider(name addr.LocalProviderConfig) *Slot {
	if i, ok := u.providers[name]; ok {
		return u.slots[i]
	}
	return nil
}

// Slots returns the slots of a module.
func (u *Unit) Slots() []*Slot { return u.slots }

// Units returns all modules, parents before children.
func (p *Program) Units() []*Unit { return p.order }

// Unit returns the slots of a module, or nil.
func (p *Program) Unit(m addr.Module) *Unit { return p.units[m] }

// ResourceSlot returns the slot of a resource block, or nil.
func (p *Program) ResourceSlot(r addr.ConfigResource) *Slot {
	u := p.units[r.Module]
	if u == nil {
		return nil
	}
	if i, ok := u.Resources[r.Resource]; ok {
		return u.slots[i]
	}
	return nil
}

// New prepares a configuration: it compiles the bodies against the schemas, resolves every reference, and reports
// dependency cycles. Problems of single expressions, such as unknown names, are reported by the walks that evaluate
// them: a validating walk reports all.
func New(cfg *config.Config, schemas Schemas) (*Program, diag.List) {
	p := &Program{Config: cfg, Schemas: schemas, units: map[addr.Module]*Unit{},
		providers: map[addr.AbsProviderConfig]*Slot{}, reported: map[addr.Provider]bool{}}
	diags := cfg.CheckCalls().Extend(cfg.CheckUnpassed()).Extend(deprecatedRootOutputs(cfg.Root))
	typed, more := cfg.Typed(p.resourceType)
	diags = diags.Extend(more)
	for _, m := range cfg.SortedModules() {
		p.addUnit(m, typed[m])
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
	p.checkInstances()
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
				s.Users, s.Kept = p.usersOf(s)
			}
		}
	}
	return p, diags
}

// addUnit adds the slots of a module in a stable order.
func (p *Program) addUnit(m *config.Module, declared *config.Declared) {
	u := &Unit{
		Module: m, Calls: map[string]*Unit{}, Declared: declared,
		Variables: map[string]int{}, Locals: map[string]int{}, Outputs: map[string]int{}, CallSlots: map[string]int{},
		CallOutputs: map[[2]string]int{}, Closes: map[string]int{}, providers: map[addr.LocalProviderConfig]int{},
		Resources: map[addr.Resource]int{}, base: p.total,
	}
	if m.Parent != nil {
		u.Parent = p.units[m.Parent.Path]
		u.Parent.Calls[m.Call.Name] = u
	}
	for _, v := range m.SortedVariables() {
		u.Variables[v.Name] = u.add(&Slot{Kind: SlotVariable, Name: v.Name, Variable: declared.Variables[v.Name]})
	}
	for _, l := range m.SortedLocals() {
		u.Locals[l.Name] = u.add(&Slot{Kind: SlotLocal, Name: l.Name, Local: l})
	}
	for _, c := range m.SortedProviderConfigs() {
		if !c.Proxy {
			i := u.add(&Slot{Kind: SlotProvider, Name: c.Addr().String(), Provider: c})
			u.providers[c.Addr()] = i
			p.providers[addr.AbsProviderConfig{Module: m.Path, Provider: c.Provider, Alias: c.Alias}] = u.slots[i]
		}
	}
	for _, r := range m.SortedResources() {
		u.Resources[r.Addr] = u.add(&Slot{Kind: SlotResource, Name: r.Addr.String(), Resource: r, ProviderSlot: -1,
			text: r.ConfigAddr().String()})
	}
	for _, c := range m.SortedCalls() {
		u.CallSlots[c.Name] = u.add(&Slot{Kind: SlotCall, Name: c.Name, Call: c})
		u.Closes[c.Name] = u.add(&Slot{Kind: SlotCallClose, Name: c.Name, Call: c})
		if child := m.Children[c.Name]; child != nil {
			for _, o := range child.SortedOutputs() {
				u.CallOutputs[[2]string{c.Name, o.Name}] = u.add(&Slot{Kind: SlotCallOutput, Name: o.Name, Call: c,
					Output: o})
			}
		}
	}
	for _, o := range m.SortedOutputs() {
		u.Outputs[o.Name] = u.add(&Slot{Kind: SlotOutput, Name: o.Name, Output: declared.Outputs[o.Name]})
	}
	for _, c := range m.SortedChecks() {
		u.add(&Slot{Kind: SlotCheck, Name: c.Name, Check: c})
	}
	for _, i := range m.Imports {
		u.add(&Slot{Kind: SlotImport, Name: i.To.String(), Import: i})
	}
	p.total += len(u.slots)
	p.units[m.Path] = u
	p.order = append(p.order, u)
}

func (u *Unit) add(s *Slot) int {
	s.unit, s.Index = u, len(u.slots)
	u.slots = append(u.slots, s)
	return s.Index
}

// bySlotNumber returns a slot by its number in the whole program.
func (p *Program) bySlotNumber(n int) *Slot {
	i := sort.Search(len(p.order), func(i int) bool { return p.order[i].base > n }) - 1
	for len(p.order[i].slots) == 0 { // empty modules have the same base as their successor
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
			// it only passes the module's output on
			if s := p.bySlotNumber(n); s.Kind != SlotCallOutput {
				names = append(names, s.Addr())
				members = append(members, s)
			}
		}
		sort.Strings(names)
		d := &diag.Diagnostic{Severity: diag.Error, Summary: "Cycle: " + strings.Join(names, ", "),
			Detail: "These objects refer to each other in a cycle, so none of them can be evaluated first. Remove " +
				"one of the references."}
		d.Subject, d.Detail = cycleReferences(members, names, d.Detail)
		diags = append(diags, d)
	}
	return diags
}

// cycleReferences returns the references between the members of a cycle: the range of the first, and a detail that
// lists all.
func cycleReferences(members []*Slot, names []string, detail string) (first *hcl.Range, with string) {
	slices.SortFunc(members, func(a, b *Slot) int { return strings.Compare(a.Addr(), b.Addr()) })
	var lines []string
	for _, s := range members {
		refs, from := s.Refs, s.unit
		if len(s.ArgRefs) > 0 {
			refs, from = s.ArgRefs, s.unit.Parent
		}
		for _, ref := range refs {
			to := ref.String()
			if !from.Module.Path.IsRoot() {
				to = from.Module.Path.String() + "." + to
			}
			meant := func(n string) bool {
				n = strings.Replace(n, ".output.", ".", 1) // as in a reference from outside
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
