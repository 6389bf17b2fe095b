package plan

import (
	"cmp"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
)

// Invocation is one invocation of an action.
type Invocation struct {
	Action   addr.AbsResourceInstance
	Provider addr.AbsProviderConfig
	// Config is its configuration, which may hold unknown values; Type is the implied type of the schema.
	Config Value
	Type   cty.Type
	// Trigger is nil if the action is invoked by its address.
	Trigger *ActionTrigger
	// Caller is then the object that the action refers to as its caller, or the zero value.
	Caller addr.AbsResourceInstance
}

// ActionTrigger is why an action is invoked: a change of an object.
type ActionTrigger struct {
	Resource addr.AbsResourceInstance
	// Event is a word of the JSON plan format, such as AfterCreate.
	Event  ActionEvent
	Before bool // the change
	// Block is the number of the action_trigger block in its lifecycle block, Index that of the action in its list.
	Block, Index int
	// OnFailure is halt, taint or continue; empty if the trigger does not set it.
	OnFailure string
	// Undecided means that the condition of the trigger is unknown: the apply evaluates it, and invokes the action only
	// if it is true.
	Undecided bool
	// Range is the position of the action in that list.
	Range hcl.Range
}

// ActionEvent is the event that triggers an action.
type ActionEvent string

// The events.
const (
	BeforeCreate ActionEvent = "BeforeCreate"
	AfterCreate  ActionEvent = "AfterCreate"
	BeforeUpdate ActionEvent = "BeforeUpdate"
	AfterUpdate  ActionEvent = "AfterUpdate"

	BeforeDestroy ActionEvent = "BeforeDestroy"
	AfterDestroy  ActionEvent = "AfterDestroy"
)

// OfDestruction reports whether the event is about the destruction of an object.
func (e ActionEvent) OfDestruction() bool { return e == BeforeDestroy || e == AfterDestroy }

// By returns the trigger of the action, in words.
func (i *Invocation) By() string {
	switch {
	case i.Trigger == nil && i.Caller != (addr.AbsResourceInstance{}):
		return i.Caller.String()
	case i.Trigger == nil:
		return "CLI"
	}
	return i.Trigger.Resource.String()
}

// CompareInvocations compares invocations in document order: by object, then by the order in which they happen there.
func CompareInvocations(a, b *Invocation) int {
	switch {
	case a.Trigger == nil && b.Trigger == nil:
		return cmp.Or(a.Action.Compare(b.Action), a.Caller.Compare(b.Caller))
	case a.Trigger == nil:
		return 1
	case b.Trigger == nil:
		return -1
	}
	before := func(i *Invocation) int {
		if i.Trigger.Before {
			return 0
		}
		return 1
	}
	return cmp.Or(a.Trigger.Resource.Compare(b.Trigger.Resource), cmp.Compare(before(a), before(b)),
		cmp.Compare(a.Trigger.Block, b.Trigger.Block), cmp.Compare(a.Trigger.Event, b.Trigger.Event),
		cmp.Compare(a.Trigger.Index, b.Trigger.Index))
}

type jsonInvocation struct {
	Action   string       `json:"action"`
	Provider string       `json:"provider"`
	Type     int          `json:"type"`
	Config   jsonValue    `json:"config"`
	Trigger  *jsonTrigger `json:"trigger,omitempty"`
	Caller   string       `json:"caller,omitempty"`
}

type jsonTrigger struct {
	Resource string      `json:"resource"`
	Event    ActionEvent `json:"event"`
	Before   bool        `json:"before,omitempty"`
	Block    int         `json:"block"`
	Index    int         `json:"index"`
	Failure  string      `json:"on_failure,omitempty"`
	Open     bool        `json:"undecided,omitempty"`
	Range    hcl.Range   `json:"range"`
}

func (e *encoder) invocation(i *Invocation) jsonInvocation {
	j := jsonInvocation{Action: i.Action.String(), Provider: i.Provider.String(), Type: e.typ(i.Type),
		Config: jsonValue{e.value(i.Config.Value, i.Type), e.paths(i.Config.Sensitive)}}
	if i.Caller != (addr.AbsResourceInstance{}) {
		j.Caller = i.Caller.String()
	}
	if t := i.Trigger; t != nil {
		j.Trigger = &jsonTrigger{Resource: t.Resource.String(), Event: t.Event, Before: t.Before, Block: t.Block,
			Index: t.Index, Failure: t.OnFailure, Open: t.Undecided, Range: t.Range}
	}
	return j
}

func (d *decoder) invocation(j *jsonInvocation) *Invocation {
	i := &Invocation{Action: d.instance(j.Action), Provider: *d.provider(j.Provider)}
	ty, ok := d.typ(j.Type, j.Action)
	if !ok {
		return i
	}
	i.Type, i.Config = ty, Value{d.value(j.Config.Value, ty), d.paths(j.Config.Sensitive)}
	if i.Config.Value == cty.NilVal {
		d.lack(j.Action)
	}
	if j.Caller != "" {
		i.Caller = d.instance(j.Caller)
	}
	if t := j.Trigger; t != nil {
		i.Trigger = &ActionTrigger{Resource: d.instance(t.Resource), Event: t.Event, Before: t.Before, Block: t.Block,
			Index: t.Index, OnFailure: t.Failure, Undecided: t.Open, Range: t.Range}
	}
	return i
}
