package applying

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// invocations holds the plan's invocations of actions by triggering event.
type invocations struct {
	before map[addr.AbsResourceInstance][]*plan.Invocation
	after  map[addr.AbsResource][][]*plan.Invocation // a list for each instance
	asked  map[addr.AbsResource][]*plan.Invocation   // by action block
	// ending are those on the destruction of an object, before and after it.
	ending map[addr.AbsResourceInstance]*[2][]*plan.Invocation
}

func sortInvocations(list []*plan.Invocation) invocations {
	out := invocations{before: map[addr.AbsResourceInstance][]*plan.Invocation{},
		after: map[addr.AbsResource][][]*plan.Invocation{}, asked: map[addr.AbsResource][]*plan.Invocation{},
		ending: map[addr.AbsResourceInstance]*[2][]*plan.Invocation{}}
	for _, i := range list {
		t := i.Trigger
		switch {
		case t == nil:
			out.asked[i.Action.AbsResource()] = append(out.asked[i.Action.AbsResource()], i)
		case t.Event.OfDestruction():
			both := out.ending[t.Resource]
			if both == nil {
				both = &[2][]*plan.Invocation{}
				out.ending[t.Resource] = both
			}
			n := 1
			if t.Before {
				n = 0
			}
			both[n] = append(both[n], i)
		case t.Before:
			out.before[t.Resource] = append(out.before[t.Resource], i)
		default:
			r := t.Resource.AbsResource()
			lists := out.after[r]
			if n := len(lists) - 1; n >= 0 && lists[n][0].Trigger.Resource == t.Resource {
				lists[n] = append(lists[n], i)
			} else {
				out.after[r] = append(lists, []*plan.Invocation{i})
			}
		}
	}
	return out
}

// atEnd returns the invocations before and after the destruction of an object. A deposed object has none of its own,
// because the replacement's creation triggered its destruction.
func (a *applier) atEnd(o addr.AbsResourceInstance) (before, after []*plan.Invocation) {
	if both := a.invocations.ending[o]; both != nil {
		return both[0], both[1]
	}
	return nil, nil
}

// addActions adds a node for each block whose changes trigger actions afterwards. If a trigger sets on_failure,
// dependents of the block also wait for that node.
func (a *applier) addActions() {
	var gates []graph.Gate
	for r, lists := range a.invocations.after {
		deps := []graph.ID{a.blockNode(r)}
		says := false
		for _, list := range lists {
			for _, i := range list {
				says = says || i.Trigger.OnFailure != ""
				if i.Trigger.Undecided {
					deps = a.mentioned(deps, r)
				}
				if id := a.blockNode(i.Action.AbsResource()); !slices.Contains(deps, id) {
					deps = append(deps, id)
				}
			}
		}
		node := a.walk.Runner().Add(func(n *graph.Node) error {
			n.FanOut(len(lists), func(i int) error { return a.invokeAll(lists[i], cty.NilVal) }, nil)
			return nil
		}, deps...)
		if says {
			gates = append(gates, graph.Gate{Behind: deps[0], Node: node})
		}
	}
	slices.SortFunc(gates, func(a, b graph.Gate) int { return cmp.Compare(a.Behind, b.Behind) })
	a.walk.Runner().AddGates(gates)
}

// mentioned adds the nodes that the triggers of a resource refer to.
func (a *applier) mentioned(deps []graph.ID, r addr.AbsResource) []graph.ID {
	for _, s := range a.prog.ResourceSlot(r.Config()).Late() {
		if id := a.walk.Instance(r.Module).Node(s); !slices.Contains(deps, id) {
			deps = append(deps, id)
		}
	}
	return deps
}

// action prepares an action block, and performs the actions that were requested by address.
func (a *applier) action(n *graph.Node, b *eval.Block) error {
	exp, diags := b.Expand()
	if err := a.walk.Report(diags); err != nil {
		return err
	}
	values := map[addr.Key]cty.Value{}
	for _, key := range exp.Keys {
		values[key] = cty.EmptyObjectVal
	}
	b.Prepare()
	b.Set(exp, values)
	a.mu.Lock()
	a.actionBlocks[b.Addr()] = b
	a.mu.Unlock()
	asked := a.invocations.asked[b.Addr()]
	n.FanOut(len(asked), func(i int) error { return a.invoke(asked[i], cty.NilVal) }, nil)
	return nil
}

// invokeAll performs invocations one after another, until one fails. caller is the value of their object; cty.NilVal
// means the stored one.
func (a *applier) invokeAll(list []*plan.Invocation, caller cty.Value) error {
	for _, i := range list {
		err := a.invoke(i, caller)
		if err != nil && taints(i) {
			if err := a.taint(i.Trigger.Resource); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// taints reports whether the object that triggers an action is created again if the action fails.
func taints(i *plan.Invocation) bool {
	return i.Trigger != nil && i.Trigger.Event == plan.AfterCreate && i.Trigger.OnFailure == string(config.ActionTaint)
}

// half is one half of a replacement, or a change that has only one: the destruction of an object, or its creation or
// update.
type half struct {
	object      addr.AbsResourceInstance
	destruction bool
}

// complete records that a half is done: the next plan does not repeat it, with what it triggers.
func (a *applier) complete(h half) {
	if len(a.plan.Invocations) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done[h] = true
}

// passed records that an invocation needs no further attention, whatever its result.
func (a *applier) passed(i *plan.Invocation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.invoked[i] = true
}

// uninvoked returns the invocations that a stopped run has left out, and that the next plan does not have, because the
// changes that trigger them are done.
func (a *applier) uninvoked() (list []*plan.Invocation) {
	for _, i := range a.plan.Invocations {
		if t := i.Trigger; t != nil && !t.Before && a.done[half{t.Resource, t.Event.OfDestruction()}] && !a.invoked[i] {
			list = append(list, i)
		}
	}
	return list
}

// taintUninvoked marks the objects for replacement whose actions were left out, if these would have tainted them.
func (a *applier) taintUninvoked() {
	for _, i := range a.uninvoked() {
		if taints(i) {
			_ = a.taint(i.Trigger.Resource) // a broken journal is reported
		}
	}
}

// taint marks an object for replacement by the next plan.
func (a *applier) taint(inst addr.AbsResourceInstance) error {
	o, c := a.journal.Working().Object(addr.Object{Instance: inst}), a.byBlock[inst.AbsResource()][inst.Key]
	if o == nil || o.Status == state.Tainted {
		return nil
	}
	return a.record(state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: inst}, Provider: *c.Provider,
		Object: o.WithStatus(state.Tainted)}})
}

// invoke performs one invocation. Its configuration is evaluated again, unless it is on the destruction of an object.
func (a *applier) invoke(i *plan.Invocation, caller cty.Value) error {
	prov, schema, err := a.provider(i.Provider)
	if err != nil {
		return err
	}
	if i.Trigger != nil && i.Trigger.Event.OfDestruction() {
		if schema.Actions[i.Action.Resource.Type] == nil {
			return a.walk.Report(diag.List{}.Errorf(i.Trigger.Range.Ptr(), "Unsupported action",
				"Provider %s no longer has an action %q, which the plan invokes.", i.Provider.Provider.ForDisplay(),
				i.Action.Resource.Type))
		}
		a.opts.Secrets.Add(i.Config.Value, i.Config.Sensitive)
		return a.performAction(i, prov, schema, i.Config.Value)
	}
	a.mu.Lock()
	b := a.actionBlocks[i.Action.AbsResource()]
	a.mu.Unlock()
	if b == nil {
		return a.walk.Report(diag.List{}.Errorf(nil, "Action not found",
			"The plan invokes %s, which is not part of this run. Make a new plan.", i.Action))
	}
	if holds, err := a.holds(i, caller); err != nil || !holds {
		if err == nil {
			a.passed(i)
		}
		return err
	}
	config, err := a.actionConfiguration(b, i, caller)
	if err != nil {
		return err
	}
	return a.performAction(i, prov, schema, config)
}

// holds evaluates the condition of the trigger that invokes an action, if it was unknown in the plan. Before a change,
// the old values are used for parts of the object that are unknown until the change.
func (a *applier) holds(i *plan.Invocation, caller cty.Value) (bool, error) {
	t := i.Trigger
	if t == nil || !t.Undecided {
		return true, nil
	}
	a.mu.Lock()
	b := a.triggering[t.Resource.AbsResource()]
	a.mu.Unlock()
	if b == nil || t.Block >= len(b.Config().ActionTriggers) {
		return false, a.walk.Report(diag.List{}.Errorf(t.Range.Ptr(), "Action not found",
			"The plan invokes %s for %s, but the configuration of this run has no such trigger. Make a new plan.",
			i.Action, t.Resource))
	}
	objects := []cty.Value{caller}
	if c := a.byBlock[t.Resource.AbsResource()][t.Resource.Key]; caller == cty.NilVal {
		stored, err := a.storedCaller(t.Resource)
		if err != nil {
			return false, err
		}
		objects[0] = stored
	} else if c != nil && t.Event == plan.BeforeUpdate {
		objects = append(objects, value.MarkAt(c.Before.Value, value.Sensitive, c.Before.Sensitive))
	}
	for _, object := range objects {
		v, diags := b.Holds(t.Resource.Key, t.Block, object)
		if err := a.walk.Report(diags); err != nil {
			return false, err
		}
		if v.IsKnown() {
			return v.True(), nil
		}
	}
	return false, a.walk.Report(diag.List{}.Errorf(b.Config().ActionTriggers[t.Block].Condition.Range().Ptr(),
		"Condition must be known", "The condition decides whether %s is invoked for %s, and uses values that are not "+
			"known before the change. Use other values, or an event after the change.", i.Action, t.Resource))
}

// actionConfiguration evaluates the configuration of an action, with its object if it refers to its caller.
func (a *applier) actionConfiguration(b *eval.Block, i *plan.Invocation, caller cty.Value) (config cty.Value,
	err error) {
	if len(b.Slot.CalledBy) == 0 {
		config, _, err = a.configuration(b, i.Action.Key)
		return config, err
	}
	inst := i.Caller
	if i.Trigger != nil {
		inst = i.Trigger.Resource
	}
	if caller == cty.NilVal {
		if caller, err = a.storedCaller(inst); err != nil {
			return cty.DynamicVal, err
		}
	}
	marked, err := b.EvaluateFor(i.Action.Key, caller)
	if err != nil {
		return cty.DynamicVal, err
	}
	if unmarked, _ := marked.UnmarkDeep(); !ctyfast.WhollyKnown(unmarked) {
		return cty.DynamicVal, a.walk.Report(diag.List{}.Errorf(b.Config().DeclRange.Ptr(),
			"Action configuration unknown during apply", "%s is to be invoked before the change of %s, and its "+
				"configuration uses values of that object which are known only after the change. Use other values, "+
				"or an event after the change.", i.Action, inst).InAddress(i.Action.String()))
	}
	config, _, err = a.known(b, i.Action.Key, marked)
	return config, err
}

// storedCaller returns the value of an object as currently stored, with marks.
func (a *applier) storedCaller(inst addr.AbsResourceInstance) (cty.Value, error) {
	o, slot := a.journal.Working().Object(addr.Object{Instance: inst}), a.prog.ResourceSlot(inst.Config())
	if o == nil || slot == nil || slot.Type == nil {
		return cty.DynamicVal, a.walk.Report(diag.List{}.Errorf(nil, "Object not found",
			"The plan invokes an action for %s, which does not exist. Make a new plan.", inst))
	}
	v, err := o.Value(slot.Type.Block.ImpliedType())
	if err != nil {
		return cty.DynamicVal, a.walk.Report(diag.FromError("Cannot read "+inst.String(), err))
	}
	return value.MarkSensitive(v, value.SensitivePaths(slot.Type.Block, v, o.Sensitive)), nil
}

// performAction performs the call and records it in the journal. It is an operation like any other, but leaves nothing
// in the state: if its response is lost, it stays in flight until the next run has reported it.
func (a *applier) performAction(i *plan.Invocation, prov provider.Provider, schema *provider.Schema,
	config cty.Value) error {
	of := access.Of{Provider: i.Provider.Provider, Object: addr.Object{Instance: i.Action}}
	turn, err := a.Enter(of)
	if err != nil {
		return err
	}
	defer turn.Leave()
	op := ""
	if !schema.StateOnly {
		var planned []byte
		block := schema.Actions[i.Action.Resource.Type].Block
		if planned, err = ctyfast.MarshalJSON(value.NullWriteOnly(block, config), i.Type); err != nil {
			return a.walk.Report(diag.FromError("Cannot record the configuration of "+i.Action.String(), err))
		}
		op = a.operationID()
		if err := a.journal.Intent(state.Intent{ID: op, Object: addr.Object{Instance: i.Action},
			Action: state.ActionInvoke, Provider: i.Provider, Planned: planned,
			Started: time.Now().UTC()}); err != nil {
			return a.breakdown(err)
		}
	}
	a.passed(i)
	a.opts.Events.Send(event.ActionStart{Invocation: i})
	resp := prov.InvokeAction(a.Calls, provider.InvokeActionRequest{Type: i.Action.Resource.Type, Config: config,
		Client: access.Client, Progress: func(message string) {
			a.opts.Events.Send(event.ActionProgress{Invocation: i, Message: a.opts.Secrets.Redact(message)})
		}})
	turn.Answered(resp.Diagnostics)
	failure := ""
	for _, d := range resp.Diagnostics {
		if d.Severity == diag.Error && failure == "" {
			failure = a.opts.Secrets.Redact(strings.TrimSuffix(fmt.Sprintf("%s: %s", d.Summary, d.Detail), ": "))
		}
	}
	a.opts.Events.Send(event.ActionDone{Invocation: i, Error: failure})
	if !resp.Lost && op != "" {
		if err := a.result(op); err != nil {
			return err
		}
	}
	diags := invocationProblems(i, resp.Diagnostics)
	if a.continuesOnFailure(i) {
		diags = asWarnings(diags)
	}
	if err := a.walk.Report(diags); err != nil {
		return err
	}
	if failure == "" {
		a.count(func(c *Counts) { c.Invoked++ })
	}
	return nil
}

// continuesOnFailure reports whether a failure of an invocation is only a warning: if its trigger says so, or if it is
// on the destruction of an object while everything is destroyed.
func (a *applier) continuesOnFailure(i *plan.Invocation) bool {
	t := i.Trigger
	return t != nil && (t.OnFailure == string(config.ActionContinue) ||
		t.Event.OfDestruction() && a.plan.Mode == plan.Destroy)
}

func asWarnings(diags diag.List) diag.List {
	for _, d := range diags { // copies the provider's diagnostics
		d.Severity = diag.Warning
	}
	return diags
}

// invocationProblems returns the problems of a provider's response, located at the trigger of the action.
func invocationProblems(i *plan.Invocation, diags diag.List) diag.List {
	out := make(diag.List, 0, len(diags))
	for _, d := range diags {
		moved := *d
		if d.Severity == diag.Error {
			moved.Summary = "Error when invoking action"
			moved.Detail = strings.TrimSuffix(d.Summary+": "+d.Detail, ": ")
		}
		if moved.Path = nil; i.Trigger != nil {
			moved.Subject, moved.Within = i.Trigger.Range.Ptr(), i.Trigger.Resource.String()
		}
		out = append(out, &moved)
	}
	return out
}
