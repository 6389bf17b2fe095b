// Package applying performs exactly the actions of a plan, in an order that its edges allow, each at most once.
//
// It walks the configuration again, now with known values. The graph is complete before the first node runs: module
// instances come from the plan, and the plan's steps are added as nodes and edges. The node of a block creates and
// updates its instances; destroy steps have their own nodes.
//
// Every provider call is journaled: its intent is durable before the call, and its result before any dependent
// operation begins. Objects that exist only in the state need neither. After the first error of the journal no
// operation begins; operations in flight are finished and recorded.
package applying

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/hook"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Options configures a run.
type Options struct {
	access.Settings
	// Waves limit the changes of objects.
	Waves []Wave
	// Hooks run around the operations on objects; may be nil.
	Hooks *hook.Set
	// Dir is the base of relative names of provisioners; empty means the working directory.
	Dir string
	// ReadAt is stored with each written object as the time of its last read, in seconds since 1970; 0 means that none
	// is stored.
	ReadAt int64
	// RunID is a part of the token of every operation.
	RunID string
	// KeepOutputs keeps the stored values of outputs that are unknown because they refer to objects that do not exist
	// yet.
	KeepOutputs bool
	// LeaveOutputs names root outputs that are not changed in the state.
	LeaveOutputs []string
	// Rest is a sentence about the remaining changes after an interrupt; "" means advice to run apply again.
	Rest string
	// Recorded is called for each operation whose result is durable; it may be nil.
	Recorded func(op string)
	// Lost returns the reason why the state's lock is no longer held; it may be nil.
	Lost func() error
}

func (o Options) lost() error {
	if o.Lost == nil {
		return nil
	}
	return o.Lost()
}

// Counts holds how many objects were added, changed, destroyed and imported and forgotten, and how many actions were
// invoked.
type Counts struct{ Added, Changed, Destroyed, Imported, Forgotten, Invoked int }

// Run applies the plan and records it in the journal. When ctx ends, nothing new starts; calls is the context of
// provider calls.
func Run(ctx, calls context.Context, prog *linking.Program, p *plan.Plan, providers access.Providers,
	journal state.Journal, o Options) (Counts, diag.List) {
	asked := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &applier{
		prog: prog, plan: p, providers: providers, journal: journal, opts: o, stop: cancel, asked: asked,
		until: ctx, waves: newWaves(o.Waves),
		byBlock:     map[addr.AbsResource]map[addr.Key]*plan.Change{},
		invocations: sortInvocations(p.Invocations), actionBlocks: map[addr.AbsResource]*eval.Block{},
		triggering: map[addr.AbsResource]*eval.Block{},
		outputs:    map[string]bool{}, planned: map[string]cty.Value{},
		invoked: map[*plan.Invocation]bool{}, done: map[half]bool{},
	}
	for _, output := range p.Outputs {
		if ctyfast.WhollyKnown(output.After) {
			a.planned[output.Name] = output.After
		}
	}
	if err := journal.Record(p.Refreshed...); err != nil {
		return a.counts, journalBroken(err)
	}
	for _, c := range p.Changes {
		if c.Object.Deposed != "" {
			continue
		}
		r := c.Object.Instance.AbsResource()
		if a.byBlock[r] == nil {
			a.byBlock[r] = map[addr.Key]*plan.Change{}
		}
		a.byBlock[r][c.Object.Instance.Key] = c
	}
	a.unsettled, a.deferred = linking.Select(p.Unsettled), map[string]bool{}
	for _, d := range p.Deferred {
		a.deferred[d.Address] = d.Whole || d.Direct()
	}
	a.walk = eval.NewWalk(prog, a.inputs(), a)
	a.Access = access.New(ctx, calls, a.walk, providers, o.Settings)
	defer func() { a.CloseAll() }() // after a panic in code of the calling program
	a.addSteps()
	a.addActions()
	o.Events.Send(event.Total{Operations: a.total()})
	err := a.walk.Run(ctx)
	_ = a.walk.Report(a.CloseAll())
	a.taintUninvoked()
	a.finish(err == nil)
	if o.Walked != nil {
		o.Walked(a.walk)
	}
	return a.counts, a.problems(err)
}

// applier is the state of one run. It is the walk's driver.
type applier struct {
	*access.Access

	prog      *linking.Program
	plan      *plan.Plan
	providers access.Providers
	journal   state.Journal
	opts      Options
	stop      context.CancelFunc
	walk      *eval.Walk
	byBlock   map[addr.AbsResource]map[addr.Key]*plan.Change
	asked     context.Context // ends when the run is asked to stop
	until     context.Context // when it ends, nothing new starts
	waves     []*wave
	unsettled *linking.Selection   // interrupted creations, which the plan does not touch
	deferred  map[string]bool      // addresses that the plan defers, true for those that are not dependents
	planned   map[string]cty.Value // root outputs that were known in the plan, unmarked

	invocations invocations

	mu           sync.Mutex // guards the fields below
	counts       Counts
	actionBlocks map[addr.AbsResource]*eval.Block // action blocks whose nodes have run
	triggering   map[addr.AbsResource]*eval.Block // the resources with triggers whose nodes run or have run
	invoked      map[*plan.Invocation]bool        // what was invoked, whatever the result, or is not wanted
	done         map[half]bool
	ops          int
	outputs      map[string]bool // root outputs that were evaluated
	broken       bool
}

// holding returns how to treat blocks that depend on instances that the plan does not touch, as in planning.
func (a *applier) holding() eval.Hold {
	switch {
	case len(a.deferred) > 0:
		return eval.HoldDependents
	case a.unsettled == nil || a.plan.Mode == plan.Destroy:
		return eval.HoldNothing
	case a.plan.Mode == plan.RefreshOnly:
		return eval.HoldOutputs
	}
	return eval.HoldDependents
}

// isUnsettled reports whether an instance has an unsettled creation. Such an instance may still be planned, to be
// imported.
func (a *applier) isUnsettled(inst addr.AbsResourceInstance, c *plan.Change) bool {
	return c == nil && a.unsettled.Contains(inst)
}

// addSteps adds the plan's destroy steps as nodes, and all of its edges.
func (a *applier) addSteps() {
	r := a.walk.Runner()
	ids := make([]graph.ID, len(a.plan.Steps))
	for i, s := range a.plan.Steps {
		if s.Kind == plan.Write {
			ids[i] = a.blockNode(s.Resource)
			continue
		}
		deps := []graph.ID{}
		for _, c := range s.Changes {
			deps = a.providerNode(deps, *a.plan.Changes[c].Provider)
			before, after := a.atEnd(a.plan.Changes[c].Object.Instance)
			for _, i := range slices.Concat(before, after) {
				deps = a.providerNode(deps, i.Provider)
			}
		}
		ids[i] = r.Add(func(n *graph.Node) error {
			a.forEachInstance(n, len(s.Changes), func(i int) addr.AbsResourceInstance {
				return a.plan.Changes[s.Changes[i]].Object.Instance
			}, func(i int) error {
				return a.remove(a.plan.Changes[s.Changes[i]], s.Kind == plan.Dispose)
			}, nil)
			return nil
		}, deps...)
	}
	for i, s := range a.plan.Steps {
		for _, before := range s.After {
			r.Depend(ids[i], ids[before])
		}
	}
}

// blockNode returns the node of a block that the plan writes.
func (a *applier) blockNode(r addr.AbsResource) graph.ID {
	slot := a.prog.ResourceSlot(r.Config())
	inst := a.walk.Instance(r.Module)
	if slot == nil || inst == nil {
		panic("applying: the plan writes " + r.String() + ", which the configuration does not have")
	}
	return inst.Node(slot)
}

// total counts the operations of the plan.
func (a *applier) total() int {
	n := len(a.plan.Invocations)
	for _, s := range a.plan.Steps {
		n += len(s.Changes)
	}
	return n
}

// finish records the removal of root outputs and data sources, and the results of checks.
func (a *applier) finish(complete bool) {
	var edits []state.Edit
	left := len(a.plan.LeftOut)+len(a.plan.Deferred) > 0 && a.plan.Mode == plan.Destroy
	if complete && !a.plan.Partial() && !left {
		for _, name := range a.plan.Prior().OutputNames() {
			if !a.outputs[name] && (a.plan.Mode == plan.Destroy || a.prog.Config.Root.Outputs[name] == nil) {
				edits = append(edits, state.Edit{Output: &state.SetOutput{Name: name}})
			}
		}
	}
	if a.plan.Mode == plan.Destroy && !a.plan.Partial() && !left {
		edits = append(edits, a.dropData()...)
	}
	results := a.checkResults()
	if len(results) > 0 || len(a.journal.Working().State().Checks()) > 0 {
		edits = append(edits, state.Edit{Checks: &state.SetChecks{Results: results}})
	}
	if len(edits) > 0 {
		a.record(edits...)
	}
}

// dropData removes the data sources after everything was destroyed. Until then provider configurations could refer to
// them.
func (a *applier) dropData() (edits []state.Edit) {
	for _, r := range a.journal.Working().State().Resources() {
		if r.Addr.Resource.Mode != addr.Data {
			continue
		}
		for _, key := range r.Keys() {
			edits = append(edits, state.Edit{
				Drop: &state.DropObject{Addr: addr.Object{Instance: r.Addr.Instance(key)}}})
		}
	}
	return edits
}

// checkResults merges the results of this walk with those in the plan: nothing has changed since a refresh-only plan,
// an object without instances still has none, and the result of anything else that this walk did not check is unknown.
func (a *applier) checkResults() []state.CheckResult {
	if a.plan.Mode == plan.RefreshOnly {
		return a.plan.Checks
	}
	results := a.walk.CheckResults()
	if a.plan.Mode == plan.Destroy {
		return results
	}
	at := map[[2]string]int{}
	for i, r := range results {
		at[[2]string{r.Kind, r.ConfigAddr}] = i
	}
	for _, planned := range a.plan.Checks {
		i, ok := at[[2]string{planned.Kind, planned.ConfigAddr}]
		if !ok {
			continue
		}
		r := &results[i]
		if len(r.Objects) == 0 && len(planned.Objects) == 0 {
			r.Status = planned.Status
		}
		judged := map[string]bool{}
		for _, o := range r.Objects {
			judged[o.Addr] = true
		}
		for _, o := range planned.Objects {
			if judged[o.Addr] {
				continue
			}
			r.Objects = append(r.Objects, state.CheckedObject{Addr: o.Addr, Status: "unknown"})
			if r.Status == "pass" {
				r.Status = "unknown"
			}
		}
	}
	return results
}

// Provider implements eval.Driver.
func (a *applier) Provider(s *linking.Slot, key addr.Key, config cty.Value) error {
	a.Configure(s, key, config)
	return nil
}

// RootOutput implements eval.Driver: it records the value immediately, so that later errors do not affect it. As in
// Terraform, a value that was known and shown in the plan is used: with functions like try, an expression may have
// another value when everything is known.
func (a *applier) RootOutput(s *linking.Slot, v cty.Value) error {
	a.mu.Lock()
	a.outputs[s.Name] = true
	a.mu.Unlock()
	if value.HasDeepEphemeral(v) || slices.Contains(a.opts.LeaveOutputs, s.Name) {
		return nil
	}
	if problem := s.Storable(v); problem != nil {
		return a.walk.Report(problem)
	}
	unmarked, _ := v.UnmarkDeep()
	if known, ok := a.planned[s.Name]; ok {
		unmarked = known
	}
	set := &state.SetOutput{Name: s.Name}
	if !unmarked.IsNull() {
		switch {
		case !ctyfast.WhollyKnown(unmarked) && a.opts.KeepOutputs:
			return nil
		case !ctyfast.WhollyKnown(unmarked) && (a.plan.Partial() || a.plan.Mode == plan.RefreshOnly):
			unmarked = cty.UnknownAsNull(unmarked) // from excluded or missing instances
		case !ctyfast.WhollyKnown(unmarked):
			return a.walk.Report(diag.List{}.Errorf(s.Output.Range.Ptr(), "Output value not known", "The value of "+
				"output %q is still unknown after apply. This is a bug in a provider or in the engine. The state "+
				"keeps the previous value.", s.Name))
		}
		set.Value = &state.Output{Value: unmarked, Sensitive: s.Output.Sensitive}
	}
	old := a.journal.Working().Output(s.Name)
	if old != nil && set.Value != nil && old.Sensitive == set.Value.Sensitive &&
		ctyfast.RawEquals(old.Value, set.Value.Value) || old == nil && set.Value == nil {
		return nil
	}
	return a.record(state.Edit{Output: set})
}

// record appends edits that no external effect depends on.
func (a *applier) record(edits ...state.Edit) error {
	err := a.journal.Record(edits...)
	if err := a.unstorable(err, edits...); err != nil {
		return err
	}
	if err != nil {
		return a.breakdown(err)
	}
	return nil
}

// unstorable reports a value that cannot be stored as an error of its object or output: the journal is not broken. The
// operation that returned the value stays in flight.
func (a *applier) unstorable(err error, edits ...state.Edit) error {
	encoding := (*state.EncodingError)(nil)
	if !errors.As(err, &encoding) {
		return nil
	}
	d := &diag.Diagnostic{Severity: diag.Error, Summary: "Value cannot be stored",
		Detail: fmt.Sprintf("The state cannot hold the new value: %s.", encoding.Err)}
	for _, e := range edits {
		switch {
		case e.Put != nil:
			d.Address = e.Put.Addr.String()
			d.Detail += " The object exists."
			d.Advice = diag.Advise("Find its ID, then run \"%s\".", diag.Recover(e.Put.Addr.Instance, "--adopt", "ID"))
		case e.Output != nil:
			d.Address = "output." + e.Output.Name
		}
	}
	return a.walk.Report(diag.List{d})
}

// breakdown reports a failure of the journal once, and prevents further operations.
func (a *applier) breakdown(err error) error {
	a.stop()
	a.mu.Lock()
	first := !a.broken
	a.broken = true
	a.mu.Unlock()
	if first {
		return a.walk.Report(journalBroken(err))
	}
	return eval.ErrReported
}

func journalBroken(err error) diag.List {
	return diag.List{}.Errorf(nil, "Cannot record the results",
		"Writing the state's journal failed: %s. No new operation is started; running operations are finished and "+
			"saved if possible.", err).Because(err).
		Advise("Fix the cause (free space, check the disk, the connection or the permissions), then run \"%s\" again.",
			diag.Run("apply"))
}

// provider returns a configured provider, or an error that was reported.
func (a *applier) provider(cfg addr.AbsProviderConfig) (provider.Provider, *provider.Schema, error) {
	inst, err := a.Configured(cfg)
	if err != nil {
		return nil, nil, err
	}
	schema, err := a.Schema(cfg.Provider)
	return inst, schema, err
}

// providerOf returns the provider of an instance, or its mock.
func (a *applier) providerOf(inst addr.AbsResourceInstance, cfg addr.AbsProviderConfig) (provider.Provider,
	*provider.Schema, error) {
	prov, schema, err := a.provider(cfg)
	return a.Traced(inst, cfg, a.walk.Inputs.ProviderOf(inst, cfg, access.Untraced(prov))), schema, err
}

// Resource implements eval.Driver: it performs the planned changes and returns the values.
func (a *applier) Resource(n *graph.Node, b *eval.Block) error {
	switch b.Config().Addr.Mode {
	case addr.Action:
		return a.action(n, b)
	case addr.List:
		return nil // a query, which is not part of a plan
	}
	changes := a.byBlock[b.Addr()]
	exp, diags := b.Expand()
	if err := a.walk.Report(diags); err != nil {
		return err
	}
	if len(b.Config().ActionTriggers) > 0 {
		a.mu.Lock()
		a.triggering[b.Addr()] = b
		a.mu.Unlock()
	}
	active := false
	for _, c := range changes {
		active = active || c.Action != plan.NoOp && c.Action != plan.Delete && c.Action != plan.Forget
	}
	if b.Config().Addr.Mode == addr.Ephemeral || active && a.plan.Mode == plan.Normal {
		b.Prepare()
	}
	keys := exp.Keys
	if a.plan.Mode == plan.RefreshOnly {
		keys = a.withOrphans(b, exp)
	}
	for _, key := range exp.Keys {
		inst := b.Addr().Instance(key)
		if a.isUnsettled(inst, changes[key]) {
			b.Hold(inst)
		}
		if a.isDeferred(inst) {
			b.HoldDeferred(inst)
		}
	}
	values := make([]cty.Value, len(keys))
	inst := func(i int) addr.AbsResourceInstance { return b.Addr().Instance(keys[i]) }
	a.forEachInstance(n, len(keys), inst, func(i int) error {
		end := a.Object("apply object", inst(i))
		v, err := a.instance(b, keys[i], changes[keys[i]])
		end(err)
		values[i] = v
		return err
	}, func() error {
		byKey := make(map[addr.Key]cty.Value, len(values))
		for i, key := range keys {
			if values[i] != cty.NilVal { // otherwise it does not exist, or is excluded
				byKey[key] = values[i]
			}
		}
		b.Set(exp, byKey)
		return nil
	})
	return nil
}

// withOrphans returns the instances of a block, including existing ones that are no longer in the configuration.
func (a *applier) withOrphans(b *eval.Block, exp eval.Expansion) []addr.Key {
	keys := slices.Clip(exp.Keys)
	if stored := a.journal.Working().State().Resource(b.Addr()); stored != nil && b.Config().Addr.Mode == addr.Managed {
		for _, key := range stored.Keys() {
			if stored.Instances[key].Current != nil && !exp.Has(key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// instance performs the plan for one instance and returns its value, with marks.
func (a *applier) instance(b *eval.Block, key addr.Key, c *plan.Change) (cty.Value, error) {
	if b.Config().Addr.Mode == addr.Ephemeral {
		if a.isDeferred(b.Addr().Instance(key)) {
			return cty.DynamicVal, nil
		}
		return a.openEphemeral(b, key)
	}
	if c == nil {
		return a.stored(b, key)
	}
	if c.Importing != nil {
		a.reportImport(c)
	}
	switch c.Action {
	case plan.NoOp:
		return value.MarkAt(c.After.Value, value.Sensitive, c.After.Sensitive),
			a.walk.Report(b.Recheck(key, c.After.Value))
	case plan.Delete, plan.Forget:
		// During a destroy, provider configurations still refer to the old values.
		return value.MarkAt(c.Before.Value, value.Sensitive, c.Before.Sensitive), nil
	case plan.Read:
		return a.read(b, key, c)
	}
	return a.write(b, key, c)
}

// reportImport reports an import. The object is already in the state: the refreshed object was recorded first.
func (a *applier) reportImport(c *plan.Change) {
	id := event.ID{Key: c.Importing.Argument(), Value: c.Importing.Shown()}
	a.opts.Events.Send(event.ImportStart{Object: c.Object, ID: id})
	a.opts.Events.Send(event.ImportDone{Object: c.Object, ID: id})
	a.count(func(n *Counts) { n.Imported++ })
}

// isDeferred reports whether the plan defers an instance itself, and not only because of another one.
func (a *applier) isDeferred(inst addr.AbsResourceInstance) bool {
	return len(a.deferred) > 0 && a.deferred[inst.String()]
}

// stored returns the value of an instance that is not in the plan: a data source that was read while planning.
func (a *applier) stored(b *eval.Block, key addr.Key) (cty.Value, error) {
	inst := b.Addr().Instance(key)
	o := a.journal.Working().Object(addr.Object{Instance: inst})
	if o == nil {
		if a.plan.Partial() || a.unsettled.Contains(inst) || a.plan.Mode == plan.RefreshOnly ||
			a.isDeferred(inst) {
			return cty.NilVal, nil
		}
		if a.plan.Mode != plan.Normal {
			return cty.DynamicVal, nil
		}
		return cty.DynamicVal, a.walk.Report(diag.List{}.Errorf(b.Config().DeclRange.Ptr(),
			"Instance is not in the plan",
			"The configuration now declares %s, which is not in the plan: count or for_each has a different result "+
				"than during planning. Make a new plan.", inst))
	}
	v, err := o.Value(b.Slot.Type.Block.ImpliedType())
	if err != nil {
		return cty.DynamicVal, a.walk.Report(diag.FromError("Cannot read the stored object "+inst.String(), err))
	}
	return value.MarkSensitive(v, value.SensitivePaths(b.Slot.Type.Block, v, o.Sensitive)), nil
}

// operation sends events before and after one call.
func (a *applier) operation(o addr.Object, action plan.Action, id event.ID, f func() (event.ID, bool)) {
	started := time.Now()
	a.opts.Events.Send(event.OperationStart{Object: o, Action: action, ID: id, Started: started})
	after, ok := f()
	if after.Key == "" {
		after = id
	}
	a.opts.Events.Send(event.OperationDone{Object: o, Action: action, ID: after, Elapsed: time.Since(started),
		Failed: !ok})
}

func (a *applier) count(f func(c *Counts)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(&a.counts)
}
