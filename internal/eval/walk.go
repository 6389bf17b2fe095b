package eval

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// Inputs are the surroundings of a walk.
type Inputs struct {
	Functions Functions
	// Variables are the values of the root module's variables as given, not converted; missing ones take their default.
	Variables map[string]cty.Value
	// VariableRanges tells where those were written that stand in a file; messages are about that place.
	VariableRanges map[string]hcl.Range
	Workspace      string
	// Cwd is path.cwd.
	Cwd string
	// Applying is terraform.applying.
	Applying bool
	// Importing evaluates import blocks; see ImportOf.
	Importing bool
	// Validating expands nothing: every repeated block and module stands for one instance with unknown keys and values.
	Validating bool
	// Expansions, when set, fixes the instances of every module call beforehand: the whole graph stands before the
	// first node runs.
	Expansions Expansions
	// Lenient makes conditions that do not hold warnings: somebody only wants to see what is there.
	Lenient bool
	// StrictOutputs excepts preconditions of outputs from that: what was seen is recorded without being shown.
	StrictOutputs bool
	// Unchecked leaves check blocks out: what they are to warn of does not happen when somebody only asks for values.
	Unchecked bool
	// Only, when set, chooses the slots that do anything; the choice must be closed over dependencies (see
	// Program.Needed).
	Only map[*Slot]bool
	// Partial means that Only leaves out parts of what is wanted: their conditions are listed as unknown.
	Partial bool
	// Hold says what becomes of what depends on instances that the driver leaves alone.
	Hold Hold
	// InUse are provider configurations that are needed though no block is managed by them: by objects whose blocks are
	// gone.
	InUse map[addr.AbsProviderConfig]bool
	// Secrets, when set, are taken out of the texts of all diagnostics: providers may report what they were given.
	Secrets *value.Secrets
	// StandIns, when set, answer in place of some providers and modules.
	StandIns StandIns
	// Workers bounds how many nodes run at once.
	Workers int
}

// Expansions lists the instance keys of every module call of every module instance.
type Expansions map[addr.ModuleInstance]map[string][]addr.Key

// Driver decides what happens to resources and provider configurations. Its methods are called concurrently, each once
// for a node, when everything that the block refers to has its value. An error fails the node; its text is not shown,
// the diagnostics are.
type Driver interface {
	// Resource must end with a call of Block.Set, unless it fails.
	Resource(n *graph.Node, b *Block) error
	// Provider takes the evaluated configuration of a provider block.
	Provider(i *Instance, s *Slot, config cty.Value) error
	// RootOutput takes the value of an output value of the root module, marks included.
	RootOutput(s *Slot, v cty.Value) error
}

// ErrReported fails a node whose problems are in the walk's diagnostics already.
var ErrReported = errors.New("reported as a diagnostic")

// Walk is one run of a program.
type Walk struct {
	Program *Program
	Inputs  Inputs
	Root    *Instance

	driver Driver
	runner *graph.Runner

	mu        sync.Mutex
	diags     diag.List
	instances map[addr.ModuleInstance]*Instance
	imports   map[addr.AbsResourceInstance]*Import
	checks    checkResults
	heldSlots map[*Slot]bool // what was left out in some module instance

	tablesMu sync.Mutex
	tables   map[*Unit]map[string]function.Function // of modules that call functions of providers; guarded by tablesMu
}

// Instance is one instance of a module in a walk.
type Instance struct {
	Addr addr.ModuleInstance
	Unit *Unit

	walk      *Walk
	parent    *Instance
	rep       Repetition // of the module call, for the arguments
	nodes     []graph.ID
	values    []cty.Value // variables, local values, output values
	resources []*resourceValue
	calls     map[string]*callValue
	replaced  map[string]cty.Value // output values, where nothing of the module is run
	// held has, by slot, the instance because of which the slot is left out; nil in walks that hold nothing. Each is
	// written by the node of its slot alone, before those that wait for it begin.
	held []*addr.AbsResourceInstance
}

// NewWalk prepares a run: all nodes of the root module, or of all modules when the expansions are given.
func (p *Program) NewWalk(in Inputs, d Driver) *Walk {
	if in.Workers == 0 {
		in.Workers = 16
	}
	w := &Walk{Program: p, Inputs: in, driver: d, runner: graph.New(in.Workers),
		instances: map[addr.ModuleInstance]*Instance{}}
	w.checks.walk = w
	p.hideMetas(in.Secrets)
	root := p.units[addr.RootModule]
	w.Root = w.instantiate(nil, root, addr.RootInstance, Repetition{})
	return w
}

// Run runs all nodes. When ctx ends, nothing new starts. What went wrong is in Diagnostics.
func (w *Walk) Run(ctx context.Context) error { return w.runner.Run(ctx) }

// Diagnostics returns all problems found so far.
func (w *Walk) Diagnostics() diag.List {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.diags
}

// Report adds diagnostics; with errors among them it gives an error that fails the node.
func (w *Walk) Report(diags diag.List) error {
	if len(diags) == 0 {
		return nil
	}
	diags = slices.Clone(diags) // the caller's list stays as it is
	for i, d := range diags {
		diags[i] = w.hide(nameProviderFunction(d))
	}
	w.mu.Lock()
	w.diags = append(w.diags, diags...)
	w.mu.Unlock()
	if diags.HasErrors() {
		return ErrReported
	}
	return nil
}

// hide takes what is secret out of a diagnostic.
func (w *Walk) hide(d *diag.Diagnostic) *diag.Diagnostic {
	detail, summary := d.Detail, d.Summary
	if !d.Clean {
		detail, summary = w.Inputs.Secrets.Redact(detail), w.Inputs.Secrets.Redact(summary)
	}
	if detail == d.Detail && summary == d.Summary && d.Expression == nil {
		return d
	}
	c := *d
	c.Detail, c.Summary, c.Redact = detail, summary, w.Inputs.Secrets.Redact
	if own := d.Redact; own != nil {
		c.Redact = func(text string) string { return own(w.Inputs.Secrets.Redact(text)) }
	}
	return &c
}

// report reports what went wrong in an instance of a module.
func (i *Instance) report(diags diag.List) error {
	return i.walk.Report(diags.InInstance(i.Addr.String()))
}

// Instance returns a module instance, or nil when there is none (yet).
func (w *Walk) Instance(a addr.ModuleInstance) *Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.instances[a]
}

// Runner returns access to the nodes, for drivers that add edges before Run.
func (w *Walk) Runner() *graph.Runner { return w.runner }

// CallKeys returns the instance keys of a module call, once it has been expanded.
func (i *Instance) CallKeys(call string) []addr.Key { return i.calls[call].keys }

// Node returns the node of a slot.
func (i *Instance) Node(s *Slot) graph.ID { return i.nodes[s.index] }

// Walk returns the run that the instance belongs to.
func (i *Instance) Walk() *Walk { return i.walk }

// Parent returns the calling module instance; nil for the root.
func (i *Instance) Parent() *Instance { return i.parent }

// Repetition returns the key of the module instance and the each value of its call.
func (i *Instance) Repetition() Repetition { return i.rep }

// instantiate makes the nodes of a module instance. Dependencies within the module come first in topo order.
func (w *Walk) instantiate(parent *Instance, u *Unit, a addr.ModuleInstance, rep Repetition) *Instance {
	i := &Instance{
		Addr: a, Unit: u, walk: w, parent: parent, rep: rep,
		nodes: make([]graph.ID, len(u.slots)), values: make([]cty.Value, len(u.slots)),
		resources: make([]*resourceValue, len(u.slots)), calls: map[string]*callValue{},
	}
	if w.Inputs.Hold != HoldNothing {
		i.held = make([]*addr.AbsResourceInstance, len(u.slots))
	}
	i.standIn()
	w.mu.Lock()
	w.instances[a] = i
	w.mu.Unlock()
	for _, s := range u.slots {
		switch s.Kind {
		case SlotResource:
			i.resources[s.index] = &resourceValue{slot: s}
		case SlotCall:
			i.calls[s.Name] = newCallValue(s, u.calls[s.Name], w.Inputs.Validating)
		}
	}
	preset := w.Inputs.Expansions
	for _, n := range u.topo {
		s := u.slots[n]
		i.nodes[n] = w.runner.Add(i.task(s), i.dependencies(s)...)
	}
	if preset != nil {
		for _, s := range u.slots {
			if s.Kind == SlotCall {
				// Arguments may refer to any slot of this module, so children come after all of its nodes. Everything
				// inside waits for the call's node, which only fills in what each and count are.
				for _, key := range preset[a][s.Name] {
					i.child(s, key)
				}
				i.connectChildren(s)
			}
		}
	}
	if closer, ok := w.driver.(Closer); ok {
		for _, s := range u.slots {
			if s.Kind == SlotResource && s.Resource.Addr.Mode == addr.Ephemeral {
				i.trackUsers(s, closer)
			}
		}
	}
	return i
}

// child makes one instance of a called module.
func (i *Instance) child(s *Slot, key addr.Key) *Instance {
	call := i.calls[s.Name]
	c := i.walk.instantiate(i, call.unit, i.Addr.Child(s.Name, key), Repetition{Key: key})
	call.keys = append(call.keys, key)
	call.children[key] = c
	return c
}

// task returns the work of a slot, unless it is held.
func (i *Instance) task(s *Slot) graph.Task {
	if i.held == nil {
		return i.work(s)
	}
	return i.unlessHeld(s, i.work(s))
}

// work returns the work of a slot.
func (i *Instance) work(s *Slot) graph.Task {
	if only := i.walk.Inputs.Only; only != nil && !only[s] {
		return func(*graph.Node) error {
			i.values[s.index] = cty.DynamicVal
			return nil
		}
	}
	if i.replaced != nil {
		return func(*graph.Node) error { return i.evalReplaced(s) }
	}
	switch s.Kind {
	case SlotVariable:
		return func(*graph.Node) error { return i.evalVariable(s) }
	case SlotLocal:
		return func(*graph.Node) error { return i.evalLocal(s) }
	case SlotOutput:
		return func(*graph.Node) error { return i.evalOutput(s) }
	case SlotCall:
		return func(*graph.Node) error { return i.expandCall(s) }
	case SlotProvider:
		return func(*graph.Node) error { return i.evalProvider(s) }
	case SlotResource:
		return func(n *graph.Node) error { return i.walk.driver.Resource(n, &Block{Instance: i, Slot: s}) }
	case SlotCheck:
		if i.walk.Inputs.Unchecked {
			break
		}
		return func(*graph.Node) error { return i.evalCheck(s) }
	case SlotImport:
		return func(*graph.Node) error { return i.evalImport(s) }
	}
	return func(*graph.Node) error { return nil } // CallOutput, CallClose: barriers
}

// settle stores the value of a slot. What is secret in it is kept out of all that is reported.
func (i *Instance) settle(s *Slot, v cty.Value) {
	i.walk.Inputs.Secrets.Learn(v)
	i.values[s.index] = v
}

func (i *Instance) evalLocal(s *Slot) error {
	if d := s.faulty(s.Local.Expr); d != nil {
		return i.report(d)
	}
	ctx := i.Scope(s.refs)
	v, hclDiags := funcs.Evaluate(s.Local.Expr, ctx)
	if hclDiags.HasErrors() {
		v = cty.DynamicVal
	}
	i.settle(s, v)
	return i.report(diag.List(nil).AppendHCL(hclDiags))
}

func (i *Instance) evalProvider(s *Slot) error {
	if s.Body == nil {
		return nil
	}
	if s.Provider.Mock {
		return i.walk.driver.Provider(i, s, cty.EmptyObjectVal)
	}
	v, diags := cty.DynamicVal, s.faulty(s.Body)
	if diags == nil {
		v, diags = i.evalBody(s.Body, i.walk.loosely(i.Scope(s.refs), i.Unit))
	}
	if !s.Used && !i.walk.Inputs.InUse[s.ConfiguredAs()] && diags.HasErrors() {
		return nil // as in Terraform, which does not look at it
	}
	if err := i.report(diags); err != nil {
		return err
	}
	return i.walk.driver.Provider(i, s, v)
}

// ConfiguredAs returns the address of the configuration that a provider block makes.
func (s *Slot) ConfiguredAs() addr.AbsProviderConfig {
	return addr.AbsProviderConfig{Module: s.unit.Module.Path, Provider: s.Provider.Provider, Alias: s.Provider.Alias}
}

// evalBody evaluates a body that has no repetition.
func (i *Instance) evalBody(b *Body, ctx *hcl.EvalContext) (cty.Value, diag.List) {
	e, diags := b.Prepare(ctx)
	v, more := e.Instance(ctx)
	return v, diags.Extend(more)
}

// expandCall evaluates count or for_each of a module call and makes, or in a walk with preset expansions completes, its
// instances.
func (i *Instance) expandCall(s *Slot) error {
	call := i.calls[s.Name]
	if call.unit == nil {
		return ErrReported
	}
	exp, diags := i.expansion(s, s.Call.Count, s.Call.ForEach, i.Scope(s.refs))
	if err := i.report(diags.Extend(s.faulty(partDependsOn))); err != nil {
		return err
	}
	call.mode = exp.Mode
	if i.walk.Inputs.Expansions == nil {
		for _, key := range exp.Keys {
			i.child(s, key).rep = exp.Repetition(key)
		}
		i.connectChildren(s)
		return nil
	}
	for _, key := range call.keys {
		call.children[key].rep = exp.Repetition(key)
	}
	return nil
}

// Needed returns the slots that are needed for some of them: the closure over dependencies. A module that nothing
// needed is in does not expand, so that nobody asks how often it is called.
func (p *Program) Needed(want func(*Slot) bool) map[*Slot]bool {
	wanted := map[*Slot]bool{}
	for _, u := range p.order {
		for _, s := range u.slots {
			if want(s) {
				wanted[s] = true
			}
		}
	}
	return p.closed(wanted)
}

// closed returns some slots with all that they depend on.
func (p *Program) closed(want map[*Slot]bool) map[*Slot]bool {
	out := make(map[*Slot]bool, len(want))
	stack := make([]*Slot, 0, len(want))
	for s := range want {
		out[s] = true
		stack = append(stack, s)
	}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, e := range p.edges(s) {
			if d := p.bySlotNumber(e); !out[d] {
				out[d] = true
				stack = append(stack, d)
			}
		}
	}
	return out
}

// Expansions returns the instances of all module calls after a run.
func (w *Walk) Expansions() Expansions {
	out := Expansions{}
	for a, i := range w.instances {
		calls := map[string][]addr.Key{}
		for name, c := range i.calls {
			calls[name] = c.keys
		}
		out[a] = calls
	}
	return out
}

// Instances returns all module instances after a run.
func (w *Walk) Instances() map[addr.ModuleInstance]*Instance { return w.instances }

// Graph returns the nodes of the walk and what each waits for, after the walk has expanded everything; node finds the
// one of a resource block, or -1.
func (w *Walk) Graph() (n int, edges [][]int, node func(addr.AbsResource) int) {
	base := map[*Instance]int{}
	for _, i := range w.instances {
		base[i] = n
		n += len(i.Unit.slots)
	}
	edges = make([][]int, n)
	for _, i := range w.instances {
		for _, s := range i.Unit.slots {
			edges[base[i]+s.index] = w.waits(i, s, base)
		}
	}
	return n, edges, func(r addr.AbsResource) int {
		i := w.instances[r.Module]
		if i == nil {
			return -1
		}
		slot, ok := i.Unit.resources[r.Resource]
		if !ok {
			return -1
		}
		return base[i] + slot
	}
}
