// Package plan defines plans: the changes, their reasons, and the graph of actions.
//
// A Plan is complete: an apply performs exactly its actions, in an order that its edges allow, and decides nothing
// again. A Plan is immutable once planning has returned it. Write and Decode store it in a file, which only the same
// version of the engine reads; for other tools tombolo.Project writes plans as JSON, text or Markdown.
package plan

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/state"
)

// Mode is the purpose of a plan.
type Mode uint8

// The modes.
const (
	Normal Mode = iota
	Destroy
	RefreshOnly
)

// Action is the kind of change of one object.
type Action uint8

// The actions. Both kinds of replacement are one action, because they are decided and shown as one.
const (
	NoOp Action = iota
	Create
	Read
	Update
	Delete
	DeleteThenCreate
	CreateThenDelete
	Forget
	// ForgetThenCreate replaces an object that is not to be destroyed: the old one leaves the state once the new one
	// exists.
	ForgetThenCreate
)

// String returns a word for logs and intents.
func (a Action) String() string {
	return [...]string{"no-op", "create", "read", "update", "delete", "delete-then-create", "create-then-delete",
		"forget", "forget-then-create"}[a]
}

// IsReplace reports whether the action replaces an object by a new one.
func (a Action) IsReplace() bool { return a == DeleteThenCreate || a.Deposes() }

// Destroys reports whether the action destroys an object.
func (a Action) Destroys() bool { return a == Delete || a == DeleteThenCreate || a == CreateThenDelete }

// Deposes reports whether the action keeps the old object, as a deposed one, until there is a new one.
func (a Action) Deposes() bool { return a == CreateThenDelete || a == ForgetThenCreate }

// Reason is why an action was chosen where that is not obvious. The texts are those of the JSON plan format.
type Reason string

// The reasons.
const (
	NoReason                     Reason = ""
	ReplaceBecauseTainted        Reason = "replace_because_tainted"
	ReplaceByRequest             Reason = "replace_by_request"
	ReplaceByTriggers            Reason = "replace_by_triggers"
	ReplaceBecauseCannotUpdate   Reason = "replace_because_cannot_update"
	DeleteBecauseNoResource      Reason = "delete_because_no_resource_config"
	DeleteBecauseWrongRepetition Reason = "delete_because_wrong_repetition"
	DeleteBecauseCountIndex      Reason = "delete_because_count_index"
	DeleteBecauseEachKey         Reason = "delete_because_each_key"
	DeleteBecauseDisabled        Reason = "delete_because_enabled_false"
	DeleteBecauseNoModule        Reason = "delete_because_no_module"
	DeleteBecauseNoMoveTarget    Reason = "delete_because_no_move_target"
	ReadBecauseConfigUnknown     Reason = "read_because_config_unknown"
	ReadBecauseDependencyPending Reason = "read_because_dependency_pending"
	ReadBecauseCheckNested       Reason = "read_because_check_nested"
)

// Change is the planned change of one object. Before is null for a create, After null for a delete; After may hold
// unknown values.
type Change struct {
	Object   addr.Object
	PrevAddr addr.AbsResourceInstance // where the object was before a move; the same as Object.Instance otherwise
	Provider addr.AbsProviderConfig
	Action   Action
	Reason   Reason

	Before Value
	After  Value
	// Type is the implied type of the schema, needed to encode the values.
	Type          cty.Type
	SchemaVersion int64

	// ReplacePaths are the paths that made an update impossible.
	ReplacePaths []cty.Path
	// Private is the provider's planned private data.
	Private []byte
	// Dependencies of the object, in configuration terms, for the state.
	Dependencies        []addr.ConfigResource
	CreateBeforeDestroy bool
	// SkipDestroy, for the state: the object is never to be destroyed, only forgotten.
	SkipDestroy bool
	// Protected, for the state: the block says prevent_destroy, which is remembered when it is gone.
	Protected bool
	// Unprotected: the state remembers prevent_destroy of the object, which stays, and its block no longer says it.
	Unprotected bool
	// DeposedKey is where the actions that depose keep the old object until it goes.
	DeposedKey addr.DeposedKey

	Importing *Importing
	// NotImported is the object that an optional import did not find, so that it is created.
	NotImported     *Importing
	GeneratedConfig string
	BeforeIdentity  cty.Value // cty.NilVal when the type has none
	AfterIdentity   cty.Value
	// Settled means that the configuration was wholly known, so that the planned value cannot become another one during
	// apply.
	Settled bool
}

// Importing means that the object is taken over rather than created.
type Importing struct {
	ID       string
	Identity cty.Value // cty.NilVal when an id names the object
	Unknown  bool
	// Sensitive means that the id or identity comes from a sensitive value.
	Sensitive bool
}

// ByIdentity reports whether an identity names the object.
func (i *Importing) ByIdentity() bool { return i.ID == "" && i.Identity != cty.NilVal }

// Argument returns the argument of the import block that names the object.
func (i *Importing) Argument() string {
	if i.ByIdentity() {
		return "identity"
	}
	return "id"
}

// Found sets the provider's identity of an object that was found by its identity: it may have more attributes.
func (i *Importing) Found(identity cty.Value) {
	if i.ByIdentity() && identity != cty.NilVal && !identity.IsNull() {
		i.Identity = identity
	}
}

// Shown returns the id or identity as people may see it.
func (i *Importing) Shown() string {
	switch {
	case i.Sensitive:
		return "(sensitive value)"
	case i.ByIdentity():
		return state.IdentityText(i.Identity)
	}
	return i.ID
}

// OutputChange is the planned change of a root output value.
type OutputChange struct {
	Name            string
	Action          Action
	Before, After   cty.Value // unmarked; After may hold unknown values; null when absent
	Sensitive       bool      // now
	BeforeSensitive bool
}

// StepKind is the kind of a step of the action graph.
type StepKind uint8

// The kinds of steps. A Write creates, updates or reads the instances of a block; a Destroy deletes objects that are no
// longer wanted or have to go before their replacement; a Dispose deletes deposed objects, those of this run included.
// A Join does nothing: it connects many steps with many others, so that their edges are a sum and not a product.
const (
	Write StepKind = iota + 1
	DestroyStep
	Dispose
	Join
)

// Step is one node of the action graph: all changes of one kind to one resource block of one module instance. Its
// changes have no order among each other. The edges are those that deletions need; writes also follow the references of
// the configuration, which applying evaluates anyway.
type Step struct {
	Kind     StepKind
	Resource addr.AbsResource
	// Changes are indices into Plan.Changes.
	Changes []int
	// After lists the steps (indices into Plan.Steps) that must have ended before this one begins.
	After []int
}

// Variable is the value of a root input variable as the caller gave it (nil Value: not given). Ephemeral values are not
// kept: Given reports that there was one other than null.
type Variable struct {
	Value     cty.Value
	Sensitive bool
	Ephemeral bool
	Given     bool
}

// Check returns an error for a plan whose parts do not fit together: one that was changed since it was made.
func (p *Plan) Check() error {
	for i, c := range p.Changes {
		if c == nil {
			return fmt.Errorf("the change at the index %d is nil", i)
		}
	}
	for i, c := range p.Invocations {
		if c == nil {
			return fmt.Errorf("the invocation at the index %d is nil", i)
		}
	}
	for i, o := range p.Outputs {
		if o == nil {
			return fmt.Errorf("the output at the index %d is nil", i)
		}
	}
	for i, s := range p.Steps {
		if err := s.check(i, len(p.Steps), len(p.Changes)); err != nil {
			return err
		}
	}
	return checkOrder(p.Steps)
}

// check returns an error for a step that names something that the plan does not have.
func (s Step) check(self, steps, changes int) error {
	for _, i := range s.After {
		if i < 0 || i >= steps || i == self {
			return fmt.Errorf("step %d waits for step %d, which does not exist", self, i)
		}
	}
	for _, i := range s.Changes {
		if i < 0 || i >= changes {
			return fmt.Errorf("step %d has change %d, which does not exist", self, i)
		}
	}
	if s.Kind < Write || s.Kind > Join {
		return fmt.Errorf("step %d is of unknown kind %d", self, s.Kind)
	}
	return nil
}

// checkOrder returns an error for steps that wait for each other.
func checkOrder(steps []Step) error {
	waits, followers := make([]int, len(steps)), make([][]int, len(steps))
	var ready []int
	for i, s := range steps {
		for _, before := range s.After {
			followers[before] = append(followers[before], i)
		}
		if waits[i] = len(s.After); waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	done := 0
	for ; done < len(ready); done++ {
		for _, i := range followers[ready[done]] {
			if waits[i]--; waits[i] == 0 {
				ready = append(ready, i)
			}
		}
	}
	if done < len(steps) {
		return fmt.Errorf("%d steps wait for each other", len(steps)-done)
	}
	return nil
}

// CheckEphemeral refuses to apply the plan with other ephemeral variables than it was made with: their values are not
// stored, so each must be set again, and no other. ranges, which may be nil, holds the places of values.
func (p *Plan) CheckEphemeral(values map[string]cty.Value, ranges map[string]hcl.Range) diag.List {
	var diags diag.List
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		v := p.Variables[name]
		value, given := values[name]
		switch {
		case !v.Ephemeral:
		case v.Given && !given:
			diags = diags.Errorf(nil, "No value for required variable",
				"The plan was made with a value of the ephemeral input variable %q, which a plan does not keep. Set "+
					"the variable again, with -var, in a variables file or as TF_VAR_%[1]s.", name)
		case !v.Given && given && !value.IsNull():
			var at *hcl.Range
			if r, ok := ranges[name]; ok {
				at = &r
			}
			diags = diags.Errorf(at, "Ephemeral variable was not set during planning",
				"The plan was made without a value of the ephemeral input variable %q, so it cannot be applied with "+
					"one. Remove the value, or make a new plan.", name)
		}
	}
	return diags
}

// Plan is the result of planning.
type Plan struct {
	Mode      Mode
	Created   time.Time
	Workspace string

	Variables map[string]Variable
	// Config holds the source files, so that a saved plan is applied with the configuration it was made from. Keys are
	// as in config ranges.
	Config map[string][]byte

	// Base is the stored state that the plan was made from; nil if there was none. Refreshed holds the edits of the
	// refresh: refreshed objects, data sources, moves. Base with Refreshed folded in is the prior state.
	Base      *state.State
	Refreshed []state.Edit

	Changes []*Change
	Drift   []*Change
	Outputs []*OutputChange
	Steps   []Step
	// Invocations are the actions to invoke, each list of one object in its order.
	Invocations []*Invocation
	// Invoke names actions that the plan is for alone: nothing else happens.
	Invoke []addr.Target
	// Expansions lists the instance keys of every module call of every module instance: apply does not find them out
	// again.
	Expansions map[addr.ModuleInstance]map[string][]addr.Key
	Checks     []state.CheckResult

	Targets      []addr.Target
	Except       []addr.Target // exclusions of -exclude, with all dependents; never together with Targets
	ForceReplace []addr.AbsResourceInstance
	Relevant     []RelevantAttribute
	// Unsettled lists interrupted creations with an unknown result. The plan leaves them alone, with everything that
	// depends on them; LeftOut lists all of these.
	Unsettled []addr.Target
	LeftOut   []LeftOut
	// Interrupted lists the tokens of the operations that were in flight when the plan was made. It takes no account of
	// any other, whatever address the configuration has for it by now.
	Interrupted []string

	// Unrefreshed means that the plan relied on the stored objects without looking at the world.
	Unrefreshed bool
	// Unread lists the instances whose real objects were not read: with a minimal refresh because, as far as is stored,
	// they do not change; and those of UnreadBySetting, because the project says that they are not to be read.
	Unread, UnreadBySetting []addr.AbsResourceInstance

	// Errored plans are shown but cannot be applied. Complete is false when a target or deferral left something out.
	Errored  bool
	Complete bool

	// FunctionResults are hashes of the results of functions that look at files, checked again during apply.
	FunctionResults map[string]string
	// Nonsensitive lists the strings that the configuration calls so, though they come from secrets.
	Nonsensitive []string
}

// LeftOut is a part of the configuration, or an object, that the plan leaves as it is though it may have to change.
type LeftOut struct {
	// Address is that of an instance, a block, a module call or an output value ("output.name").
	Address string
	Reason  LeftOutReason
	// Because is the instance that the plan was told to leave alone: it may be the address itself.
	Because addr.AbsResourceInstance
}

// LeftOutReason is why a plan leaves something out.
type LeftOutReason string

// The reasons. An unsettled object is left alone itself, a dependent depends on one, and a needed object is kept
// because an object that is left alone depends on it.
const (
	LeftOutUnsettled LeftOutReason = "excluded"
	LeftOutDependent LeftOutReason = "depends_on"
	LeftOutNeeded    LeftOutReason = "needed_by"
)

// Why returns the reason in a few words.
func (l LeftOut) Why() string {
	switch l.Reason {
	case LeftOutDependent:
		return "depends on " + l.Because.String()
	case LeftOutNeeded:
		return "kept for " + l.Because.String()
	}
	return "left unchanged"
}

// RelevantAttribute is an attribute of an object that contributed to the plan.
type RelevantAttribute struct {
	Resource addr.AbsResourceInstance
	Path     cty.Path
}

// Prior is the state that the plan's changes start from.
func (p *Plan) Prior() *state.State {
	b := p.Base.Builder()
	b.Fold(p.Refreshed...)
	return b.State()
}

// Partial reports whether the plan is limited to a part of the configuration.
func (p *Plan) Partial() bool { return len(p.Targets) > 0 || len(p.Except) > 0 || len(p.Invoke) > 0 }

// Applyable reports whether applying would do anything.
func (p *Plan) Applyable() bool {
	if p.Errored {
		return false
	}
	for _, c := range p.Changes {
		if c.Action != NoOp {
			return true
		}
		if c.PrevAddr != c.Object.Instance || c.Importing != nil {
			return true
		}
	}
	if len(p.Invocations) > 0 {
		return true
	}
	for _, o := range p.Outputs {
		unseen := p.Mode == RefreshOnly && o.Action == Create && !ctyfast.WhollyKnown(o.After)
		if o.Action != NoOp && !unseen { // a new output of what does not exist yet is nothing to store
			return true
		}
	}
	return p.Mode == RefreshOnly && slices.ContainsFunc(p.Refreshed, p.changesObject)
}

// changesObject reports whether an edit changes a managed object in the state. A new address alone does not count, nor
// does the current version of the schema, as in Terraform.
func (p *Plan) changesObject(e state.Edit) bool {
	switch {
	case e.Put != nil:
		return e.Put.Addr.Instance.Resource.Mode == addr.Managed && !p.onlyUpgrades(e.Put)
	case e.Drop != nil:
		return e.Drop.Addr.Instance.Resource.Mode == addr.Managed
	}
	return false
}

// onlyUpgrades reports whether an object is stored again because its schema has another version now, or because its
// provider changed it when it brought it to the version that it had, and for no other reason.
func (p *Plan) onlyUpgrades(put *state.PutObject) bool {
	if p.Base == nil {
		return false
	}
	old, now := p.Base.Object(put.Addr), put.Object
	if old == nil || old.SchemaVersion == now.SchemaVersion &&
		(bytes.Equal(old.Attributes, now.Attributes) || !bytes.Equal(old.Private, now.Private) ||
			!bytes.Equal(old.Identity, now.Identity)) {
		return false
	}
	return old.CreateBeforeDestroy == now.CreateBeforeDestroy && old.SkipDestroy == now.SkipDestroy &&
		old.Protected == now.Protected &&
		slices.Equal(old.Dependencies, now.Dependencies) &&
		!slices.ContainsFunc(p.Drift, func(c *Change) bool { return c.Object == put.Addr })
}

// Summary counts what apply would do.
type Summary struct{ Add, Change, Destroy, Import, Forget, Invoke int }

// Summary counts the changes as people do: a replacement is one addition and one destruction.
func (p *Plan) Summary() Summary {
	s := Summary{Invoke: len(p.Invocations)}
	for _, c := range p.Changes {
		if c.Importing != nil {
			s.Import++
		}
		if c.Object.Instance.Resource.Mode != addr.Managed {
			continue
		}
		switch c.Action {
		case Create:
			s.Add++
		case Update:
			s.Change++
		case Delete:
			s.Destroy++
		case DeleteThenCreate, CreateThenDelete:
			s.Add++
			s.Destroy++
		case Forget:
			s.Forget++
		case ForgetThenCreate:
			s.Add++
			s.Forget++
		}
	}
	return s
}
