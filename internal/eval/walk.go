package eval

import (
	"context"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
)

// Walk is one evaluation of a program.
type Walk struct {
	Program *linking.Program
	Inputs  Inputs
	Root    *Instance

	driver    Driver
	runner    *graph.Runner
	arguments arguments

	mu        sync.Mutex
	diags     diag.List
	instances map[addr.ModuleInstance]*Instance
	imports   map[addr.AbsResourceInstance]*Import
	checks    checkResults
	heldSlots map[*linking.Slot]bool // held slots

	tablesMu sync.Mutex
	// for modules with provider functions or their own functions; guarded by tablesMu
	tables, looseTables map[*linking.Unit]map[string]function.Function
}

// Instance is one instance of a module in a walk.
type Instance struct {
	Addr addr.ModuleInstance
	Unit *linking.Unit

	walk      *Walk
	parent    *Instance
	rep       Repetition // of the module call, for the arguments
	nodes     []graph.ID
	values    []cty.Value // variables, local values, output values
	resources []*resourceValue
	calls     map[string]*callValue
	replaced  map[string]cty.Value // output values of a replaced module
	// held holds, by slot, the cause why the slot is excluded; nil in walks without held slots. Only
	// the node of the slot writes its entry, before its dependents begin.
	held []*Cause
	// providers holds, by slot, the evaluated instances of provider blocks.
	providers []*Expansion
	// passed are the keys of those instances of provider blocks that the call passes.
	passed map[*config.PassedProvider]addr.Key
}

// NewWalk prepares a run: all nodes of the root module, or of all modules if the expansions are given.
func NewWalk(p *linking.Program, in Inputs, d Driver) *Walk {
	if in.Workers == 0 {
		in.Workers = 16
	}
	w := &Walk{Program: p, Inputs: in, driver: d, runner: graph.New(in.Workers),
		instances: map[addr.ModuleInstance]*Instance{}}
	w.checks.walk = w
	p.HideMetas(in.Secrets)
	root := p.Unit(addr.RootModule)
	w.Root = w.instantiate(nil, root, addr.RootInstance, Repetition{})
	return w
}

// Run runs all nodes. When ctx ends, nothing new starts. The problems are in Diagnostics.
func (w *Walk) Run(ctx context.Context) error {
	if w.Inputs.Validating {
		w.checkFunctions()
	}
	return w.runner.Run(ctx)
}

// Diagnostics returns all problems found so far.
func (w *Walk) Diagnostics() diag.List {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.diags
}

// Report adds diagnostics; if there are errors among them, it returns an error that fails the node.
func (w *Walk) Report(diags diag.List) error {
	if len(diags) == 0 {
		return nil
	}
	diags = diag.List{}.Extend(diags) // do not change the caller's list
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

// hide removes secrets from a diagnostic.
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

// report reports problems in an instance of a module.
func (i *Instance) report(diags diag.List) error {
	return i.walk.Report(diags.InInstance(i.Addr.String()))
}

// Instance returns a module instance, or nil if it does not exist (yet).
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
func (i *Instance) Node(s *linking.Slot) graph.ID { return i.nodes[s.Index] }

// Walk returns the run that the instance belongs to.
func (i *Instance) Walk() *Walk { return i.walk }

// Parent returns the calling module instance, or nil for the root.
func (i *Instance) Parent() *Instance { return i.parent }

// Repetition returns the key of the module instance and the each value of its call.
func (i *Instance) Repetition() Repetition { return i.rep }

// instantiate creates the nodes of a module instance. Within the module, dependencies come first.
func (w *Walk) instantiate(parent *Instance, u *linking.Unit, a addr.ModuleInstance, rep Repetition) *Instance {
	i := &Instance{
		Addr: a, Unit: u, walk: w, parent: parent, rep: rep,
		nodes: make([]graph.ID, len(u.Slots())), values: make([]cty.Value, len(u.Slots())),
		resources: make([]*resourceValue, len(u.Slots())), calls: map[string]*callValue{},
		providers: make([]*Expansion, len(u.Slots())),
	}
	if w.Inputs.Hold != HoldNothing {
		i.held = make([]*Cause, len(u.Slots()))
	}
	i.standIn()
	w.mu.Lock()
	w.instances[a] = i
	w.mu.Unlock()
	for _, s := range u.Slots() {
		switch s.Kind {
		case linking.SlotResource:
			i.resources[s.Index] = &resourceValue{slot: s}
		case linking.SlotCall:
			i.calls[s.Name] = newCallValue(s, u.Calls[s.Name], w.Inputs.Validating)
		}
	}
	preset := w.Inputs.Expansions
	for _, n := range u.Order {
		s := u.Slots()[n]
		i.nodes[n] = w.runner.Add(i.task(s), i.dependencies(s)...)
	}
	if preset != nil {
		for _, s := range u.Slots() {
			if s.Kind == linking.SlotCall {
				// Arguments may refer to any slot of this module, so children come after all of its nodes. Everything
				// in the module waits for the call's node, which only fills in the values of each and count.
				for _, key := range preset[a][s.Name] {
					i.child(s, key)
				}
				i.connectChildren(s)
			}
		}
	}
	if closer, ok := w.driver.(Closer); ok {
		for _, s := range u.Slots() {
			if s.Kind == linking.SlotResource && s.Resource.Addr.Mode == addr.Ephemeral {
				i.trackUsers(s, closer)
			}
		}
	}
	return i
}

// child creates one instance of a called module.
func (i *Instance) child(s *linking.Slot, key addr.Key) *Instance {
	call := i.calls[s.Name]
	c := i.walk.instantiate(i, call.unit, i.Addr.Child(s.Name, key), Repetition{Key: key})
	call.keys = append(call.keys, key)
	call.children[key] = c
	return c
}

// task returns the work of a slot, or a no-op if it is held.
func (i *Instance) task(s *linking.Slot) graph.Task {
	if i.held == nil {
		return i.work(s)
	}
	return i.unlessHeld(s, i.work(s))
}

// work returns the evaluation of a slot.
func (i *Instance) work(s *linking.Slot) graph.Task {
	if only := i.walk.Inputs.Only; only != nil && !only[s] {
		return func(*graph.Node) error {
			i.values[s.Index] = cty.DynamicVal
			return nil
		}
	}
	if i.replaced != nil {
		return func(*graph.Node) error { return i.evalReplaced(s) }
	}
	switch s.Kind {
	case linking.SlotVariable:
		return func(*graph.Node) error { return i.evalVariable(s) }
	case linking.SlotLocal:
		return func(*graph.Node) error { return i.evalLocal(s) }
	case linking.SlotOutput:
		return func(*graph.Node) error { return i.evalOutput(s) }
	case linking.SlotCall:
		return func(*graph.Node) error { return i.expandCall(s) }
	case linking.SlotProvider:
		return func(*graph.Node) error { return i.evalProvider(s) }
	case linking.SlotResource:
		return func(n *graph.Node) error { return i.walk.driver.Resource(n, &Block{Instance: i, Slot: s}) }
	case linking.SlotCheck:
		if i.walk.Inputs.Unchecked {
			break
		}
		return func(*graph.Node) error { return i.evalCheck(s) }
	case linking.SlotImport:
		return func(*graph.Node) error { return i.evalImport(s) }
	}
	return func(*graph.Node) error { return nil } // CallOutput, CallClose: barriers
}

// settle stores the value of a slot. Its secrets are removed from all diagnostics.
func (i *Instance) settle(s *linking.Slot, v cty.Value) {
	if s.Kind == linking.SlotOutput {
		i.walk.Inputs.Secrets.LearnOutput(v)
	} else {
		i.walk.Inputs.Secrets.LearnDerived(v)
	}
	i.values[s.Index] = v
}

func (i *Instance) evalLocal(s *linking.Slot) error {
	if d := s.Faulty(s.Local.Expr); d != nil {
		return i.report(d)
	}
	ctx := i.Scope(s.Refs)
	v, hclDiags := funcs.Evaluate(s.Local.Expr, ctx)
	if hclDiags.HasErrors() {
		v = cty.DynamicVal
	}
	i.settle(s, v)
	return i.report(diag.List(nil).AppendHCL(hclDiags))
}

func (i *Instance) evalProvider(s *linking.Slot) error {
	if s.Body == nil {
		return nil
	}
	exp := Expansion{Mode: Single, Keys: []addr.Key{addr.NoKey}}
	ctx := i.walk.loosely(i.Scope(s.Refs), i.Unit)
	unused := !s.Used && !i.walk.Inputs.InUse[s.ConfiguredAs()]
	if s.Provider.ForEach != nil {
		var diags diag.List
		exp, diags = i.expansion(s, Repeats{ForEach: s.Provider.ForEach}, ctx)
		if unused && diags.HasErrors() {
			return nil // as in Terraform, which does not check it
		}
		if err := i.report(diags); err != nil {
			return err
		}
		if exp.Deferred() {
			i.holdWhole(s)
			return nil
		}
	}
	i.walk.mu.Lock()
	i.providers[s.Index] = &exp
	i.walk.mu.Unlock()
	var failed error
	for _, key := range exp.Keys {
		if err := i.configure(s, key, exp.Repetition(key).Context(ctx), unused); err != nil {
			failed = err
		}
	}
	return failed
}

// configure evaluates one instance of a provider block.
func (i *Instance) configure(s *linking.Slot, key addr.Key, ctx *hcl.EvalContext, unused bool) error {
	if s.Provider.Mock {
		return i.walk.driver.Provider(s, key, cty.EmptyObjectVal)
	}
	v, diags := cty.DynamicVal, s.Faulty(s.Body)
	if diags == nil {
		v, diags = i.evalBody(s.Body, ctx)
	}
	if unused && diags.HasErrors() {
		return nil
	}
	if err := i.report(diags); err != nil {
		return err
	}
	return i.walk.driver.Provider(s, key, v)
}

// evalBody evaluates a body without repetition.
func (i *Instance) evalBody(b *blocks.Body, ctx *hcl.EvalContext) (cty.Value, diag.List) {
	e, diags := b.Prepare(ctx)
	v, more := e.Instance(ctx)
	return v, diags.Extend(more)
}

// expandCall evaluates count, for_each or enabled of a module call and creates its instances, or completes them if
// expansions are preset.
func (i *Instance) expandCall(s *linking.Slot) error {
	call := i.calls[s.Name]
	if call.unit == nil {
		return ErrReported
	}
	exp, diags := i.expansion(s, Repeats{s.Call.Count, s.Call.ForEach, s.Call.Enabled}, i.Scope(s.Refs))
	if err := i.report(diags.Extend(s.Faulty(linking.PartDependsOn))); err != nil {
		return err
	}
	if exp.Deferred() {
		i.holdWhole(s)
		return nil
	}
	call.mode, call.expanded = exp.Mode, true
	if i.walk.Inputs.Expansions == nil {
		for _, key := range exp.Keys {
			i.child(s, key).rep = exp.Repetition(key)
		}
		i.connectChildren(s)
	} else {
		for _, key := range call.keys {
			call.children[key].rep = exp.Repetition(key)
		}
	}
	return i.report(i.pass(s))
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

// Graph returns the nodes of the walk with their dependencies, after the walk has expanded everything; node returns the
// node of a resource block, or -1.
func (w *Walk) Graph() (n int, edges [][]int, node func(addr.AbsResource) int) {
	base := map[*Instance]int{}
	for _, i := range w.instances {
		base[i] = n
		n += len(i.Unit.Slots())
	}
	edges = make([][]int, n)
	for _, i := range w.instances {
		for _, s := range i.Unit.Slots() {
			edges[base[i]+s.Index] = w.waits(i, s, base)
		}
	}
	return n, edges, func(r addr.AbsResource) int {
		i := w.instances[r.Module]
		if i == nil {
			return -1
		}
		slot, ok := i.Unit.Resources[r.Resource]
		if !ok {
			return -1
		}
		return base[i] + slot
	}
}

// Outputs visits the output values of all module instances except the root's, after a run, without ephemeral ones.
func (w *Walk) Outputs(visit func(i *Instance, s *linking.Slot, null bool)) {
	for _, i := range w.instances {
		if i.parent == nil {
			continue
		}
		for _, slot := range i.Unit.Outputs {
			if s := i.Unit.Slots()[slot]; !s.Output.Ephemeral {
				v, _ := i.values[slot].Unmark()
				visit(i, s, v.IsKnown() && v.IsNull())
			}
		}
	}
}

// Expansion returns the instances of a block if it has been expanded.
func (w *Walk) Expansion(a addr.AbsResource) (Expansion, bool) {
	i := w.Instance(a.Module)
	if i == nil {
		return Expansion{}, false
	}
	slot, ok := i.Unit.Resources[a.Resource]
	if !ok || i.resources[slot].byKey == nil {
		return Expansion{}, false
	}
	return i.resources[slot].exp, true
}
