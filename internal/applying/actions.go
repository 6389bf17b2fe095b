package applying

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// invocations are the plan's invocations of actions, by what they wait for.
type invocations struct {
	before map[addr.AbsResourceInstance][]*plan.Invocation
	after  map[addr.AbsResource][][]*plan.Invocation // a list for each instance
	asked  map[addr.AbsResource][]*plan.Invocation   // by the block of the action
}

func sortInvocations(list []*plan.Invocation) invocations {
	out := invocations{before: map[addr.AbsResourceInstance][]*plan.Invocation{},
		after: map[addr.AbsResource][][]*plan.Invocation{}, asked: map[addr.AbsResource][]*plan.Invocation{}}
	for _, i := range list {
		t := i.Trigger
		switch {
		case t == nil:
			out.asked[i.Action.AbsResource()] = append(out.asked[i.Action.AbsResource()], i)
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

// addActions adds a node for each block whose changes trigger actions afterwards.
func (a *applier) addActions() {
	for r, lists := range a.invocations.after {
		deps := []graph.ID{a.blockNode(r)}
		for _, list := range lists {
			for _, i := range list {
				if id := a.blockNode(i.Action.AbsResource()); !slices.Contains(deps, id) {
					deps = append(deps, id)
				}
			}
		}
		a.walk.Runner().Add(func(n *graph.Node) error {
			n.Fan(len(lists), func(i int) error { return a.invokeAll(lists[i]) }, nil)
			return nil
		}, deps...)
	}
}

// action makes an action block ready, and performs what was asked for by its address.
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
	n.Fan(len(asked), func(i int) error { return a.invoke(asked[i]) }, nil)
	return nil
}

// invokeAll performs invocations one after the other, up to the first that fails.
func (a *applier) invokeAll(list []*plan.Invocation) error {
	for _, i := range list {
		if err := a.invoke(i); err != nil {
			return err
		}
	}
	return nil
}

// invoke performs one invocation with the journal around it. It is an operation like any other, but leaves nothing in
// the state: when its answer is lost it stays in flight, until the next run has told of it.
func (a *applier) invoke(i *plan.Invocation) error {
	a.mu.Lock()
	b := a.actionBlocks[i.Action.AbsResource()]
	a.mu.Unlock()
	if b == nil {
		return a.walk.Report(diag.List{}.Errorf(nil, "Action is not there",
			"The plan invokes %s, which this run leaves out. Make a new plan.", i.Action))
	}
	prov, schema, err := a.provider(i.Provider)
	if err != nil {
		return err
	}
	config, _, err := a.configuration(b, i.Action.Key)
	if err != nil {
		return err
	}
	release, err := a.Slot()
	if err != nil {
		return err
	}
	defer release()
	op := ""
	if !schema.StateOnly {
		var planned []byte
		if planned, err = ctyfast.MarshalJSON(value.NullWriteOnly(b.Slot.Type.Block, config), i.Type); err != nil {
			return a.walk.Report(diag.FromError("Cannot note the configuration of "+i.Action.String(), err))
		}
		op = a.operationID()
		if err := a.journal.Intent(state.Intent{ID: op, Object: addr.Object{Instance: i.Action},
			Action: state.ActionInvoke, Provider: i.Provider, Planned: planned,
			Started: time.Now().UTC()}); err != nil {
			return a.breakdown(err)
		}
	}
	a.opts.Events.Send(event.ActionStart{Invocation: i})
	resp := prov.InvokeAction(a.Calls, provider.InvokeActionRequest{Type: i.Action.Resource.Type, Config: config,
		Client: access.Client, Progress: func(message string) {
			a.opts.Events.Send(event.ActionProgress{Invocation: i, Message: a.opts.Secrets.Redact(message)})
		}})
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
	if err := a.walk.Report(invocationProblems(i, resp.Diagnostics)); err != nil {
		return err
	}
	a.count(func(c *Counts) { c.Invoked++ })
	return nil
}

// invocationProblems returns what a provider answered with the place where the action is triggered.
func invocationProblems(i *plan.Invocation, diags diag.List) diag.List {
	out := make(diag.List, 0, len(diags))
	for _, d := range diags {
		moved := *d
		if d.Severity == diag.Error {
			moved.Summary = "Error when invoking action"
			moved.Detail = strings.TrimSuffix(d.Summary+": "+d.Detail, ": ")
		}
		if moved.Path = nil; i.Trigger != nil {
			moved.Subject = i.Trigger.Range.Ptr()
		}
		out = append(out, &moved)
	}
	return out
}
