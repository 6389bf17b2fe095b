package view

import (
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view/live"
	"github.com/tombolo-iac/tombolo/plan"
)

// triggered writes the actions that a change triggers.
func (w *planWriter) triggered(a addr.AbsResourceInstance) {
	var lists [2][]*plan.Invocation
	for _, i := range w.invocations[a] {
		if i.Trigger.Before {
			lists[0] = append(lists[0], i)
		} else {
			lists[1] = append(lists[1], i)
		}
	}
	for n, when := range []string{"before", "after"} {
		if len(lists[n]) == 0 {
			continue
		}
		w.WriteString("\n    # Actions to be invoked " + when + " this change in order:\n")
		for _, i := range lists[n] {
			if i.Trigger.Undecided {
				w.WriteString("    # (if the condition of its trigger holds, which is known after apply)\n")
			}
			w.invocation(i)
		}
	}
}

// invocation writes an action with its configuration.
func (w *planWriter) invocation(i *plan.Invocation) {
	b := blockOf(w.schemas, i.Provider.Provider, i.Action.Resource)
	if b == nil {
		b = blockFromType(i.Type)
	}
	secrets := tfjson.InvocationSecrets(i, w.schemas)
	if w.o.ShowSensitive {
		secrets = nil
	}
	w.WriteString("    action " + quoted(i.Action.Resource.Type) + " " + quoted(i.Action.Resource.Name) + " {\n")
	w.WriteString("        config {\n")
	n := compareBlock(b, objectSides(cty.NullVal(i.Type), i.Config.Value, nil, secrets), nil)
	n.settle()
	w.renderer.block(n, 2, true)
	w.WriteString("\n    }\n")
}

// settle marks everything in the block as unchanged.
func (n *blockNode) settle() {
	for _, a := range n.attributes {
		a.settle()
	}
	for i, g := range n.groups {
		n.groups[i].pendingOp = same
		for _, b := range g.blocks {
			b.op = same
			b.settle()
		}
	}
}

func (n *node) settle() {
	n.op, n.before = same, n.after
	for _, c := range n.children {
		c.settle()
	}
}

// invoked writes the actions that were selected by address.
func (w *planWriter) invoked(list []*plan.Invocation) {
	first := true
	for _, i := range slices.SortedStableFunc(slices.Values(list), plan.CompareInvocations) {
		if i.Trigger != nil {
			continue
		}
		if first {
			w.WriteString("\n" + w.o.title() + " will invoke the following action(s):\n")
			first = false
		}
		w.WriteByte('\n')
		by := ""
		if i.Caller != (addr.AbsResourceInstance{}) {
			by = " (called from " + i.Caller.String() + ")"
		}
		w.headline("%s will be invoked%s", clean(i.Action.String()), clean(by))
		w.invocation(i)
	}
}

// byTrigger sorts invocations by the object whose change triggers them.
func byTrigger(list []*plan.Invocation) map[addr.AbsResourceInstance][]*plan.Invocation {
	out := map[addr.AbsResourceInstance][]*plan.Invocation{}
	for _, i := range slices.SortedStableFunc(slices.Values(list), plan.CompareInvocations) {
		if i.Trigger != nil {
			out[i.Trigger.Resource] = append(out[i.Trigger.Resource], i)
		}
	}
	return out
}

// invocationKey returns the key of an invocation's task on the live display.
func invocationKey(i *plan.Invocation) string {
	key := "invoke " + i.Action.String() + " by " + i.By()
	if i.Trigger != nil {
		key += fmt.Sprintf(" %s %d %d", i.Trigger.Event, i.Trigger.Block, i.Trigger.Index)
	}
	return key
}

// invocationText returns the address of an action and the object that triggers it.
func invocationText(i *plan.Invocation) string {
	if i.Trigger == nil && i.Caller != (addr.AbsResourceInstance{}) {
		return fmt.Sprintf("%s (called from %s)", clean(i.Action.String()), clean(i.By()))
	}
	return fmt.Sprintf("%s (triggered by %s)", clean(i.Action.String()), clean(i.By()))
}

// action shows an event of an action, and reports whether e was one.
func (t *text) action(e event.Event) bool {
	switch e := e.(type) {
	case event.ActionStart:
		if t.live != nil {
			t.live.Start(invocationKey(e.Invocation), live.Task{
				Sign: " ", Name: cleanLine(e.Invocation.Action.String()),
				Verb: "invoking"})
			return true
		}
		t.line("Action started: " + invocationText(e.Invocation))
	case event.ActionProgress:
		if t.live != nil {
			t.live.Say(invocationKey(e.Invocation), cleanLine(e.Message))
			return true
		}
		t.line("Action " + invocationText(e.Invocation) + ": " + cleanLine(e.Message))
	case event.ActionDone:
		line := "Action complete: " + invocationText(e.Invocation)
		if e.Error != "" {
			line = "Action errored: " + invocationText(e.Invocation)
		}
		t.countAction(e)
		if t.live != nil {
			t.live.End(invocationKey(e.Invocation), t.in(bold, line))
			return true
		}
		t.line(line)
	default:
		return false
	}
	return true
}

// invoked counts a completed action.
func (c *counts) invoked(e event.ActionDone) {
	c.invoke++
	if e.Error != "" {
		c.failed++
	}
}

// actionName is an action's address and its parts.
type actionName struct {
	Addr            string `json:"addr"`
	Module          string `json:"module"`
	Action          string `json:"action"`
	ImpliedProvider string `json:"implied_provider"`
	ActionType      string `json:"action_type"`
	ActionName      string `json:"action_name"`
	ActionKey       any    `json:"action_key"`
}

func actionOf(a addr.AbsResourceInstance) actionName {
	r := resourceOf(a)
	return actionName{Addr: r.Addr, Module: r.Module, Action: r.Resource, ImpliedProvider: r.ImpliedProvider,
		ActionType: r.ResourceType, ActionName: r.ResourceName, ActionKey: r.ResourceKey}
}

// invocationLine is the payload of planned_action_invocation.
type invocationLine struct {
	Action    actionName   `json:"action_addr"`
	Lifecycle *triggerLine `json:"lifecycle_trigger,omitempty"`
	Invoke    *struct{}    `json:"action_trigger,omitempty"`
}

type triggerLine struct {
	Resource resource         `json:"triggering_resource"`
	Event    plan.ActionEvent `json:"triggering_event"`
	Block    int              `json:"action_trigger_block_index"`
	Index    int              `json:"actions_list_index"`
	Failure  string           `json:"on_failure,omitempty"`
}

// invocations writes a line for each action to be invoked.
func (l *lines) invocations(list []*plan.Invocation) {
	for _, i := range slices.SortedStableFunc(slices.Values(list), plan.CompareInvocations) {
		line := invocationLine{Action: actionOf(i.Action)}
		if t := i.Trigger; t != nil {
			line.Lifecycle = &triggerLine{resourceOf(t.Resource), t.Event, t.Block, t.Index, t.OnFailure}
		} else {
			line.Invoke = &struct{}{}
		}
		l.info("planned action invocation: "+i.Action.String(), "planned_action_invocation", "invocation", line)
	}
}

// actionHook is the payload of an action's events.
type actionHook struct {
	Action    actionName     `json:"action"`
	Message   string         `json:"message,omitempty"`
	Error     string         `json:"error,omitempty"`
	Lifecycle *lifecycleHook `json:"lifecycle,omitempty"`
	Invoke    *struct{}      `json:"invoke,omitempty"`
}

type lifecycleHook struct {
	Resource resource         `json:"resource"`
	Block    int              `json:"trigger_index"`
	Index    int              `json:"actions_index"`
	Event    plan.ActionEvent `json:"trigger_event"`
	Failure  string           `json:"on_failure,omitempty"`
}

// action writes an event of an action as a line, and reports whether e was one.
func (l *lines) action(e event.Event) bool {
	var i *plan.Invocation
	var kind, message string
	var h actionHook
	switch e := e.(type) {
	case event.ActionStart:
		i, kind, message = e.Invocation, "action_start", "Action started: "+e.Invocation.Action.String()
	case event.ActionProgress:
		i, kind, message = e.Invocation, "action_progress", e.Invocation.Action.String()+" - "+e.Message
		h.Message = e.Message
	case event.ActionDone:
		i, kind, message = e.Invocation, "action_complete", "Action complete: "+e.Invocation.Action.String()
		if e.Error != "" {
			kind, message = "action_errored", "Action errored: "+e.Invocation.Action.String()+" - "+e.Error
			h.Error = e.Error
		}
		l.mu.Lock()
		l.done.invoked(e)
		l.mu.Unlock()
	default:
		return false
	}
	h.Action = actionOf(i.Action)
	if t := i.Trigger; t != nil {
		h.Lifecycle = &lifecycleHook{resourceOf(t.Resource), t.Block, t.Index, t.Event, t.OnFailure}
		where := fmt.Sprintf("%s (%d): ", t.Resource, t.Block)
		if kind == "action_start" {
			where = fmt.Sprintf("%s.trigger[%d]: ", t.Resource, t.Block)
		}
		message = where + message
	} else {
		h.Invoke = &struct{}{}
	}
	l.info(message, kind, "hook", h)
	return true
}
