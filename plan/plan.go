// Package plan defines plans: the changes, their reasons, and the graph of actions.
//
// A Plan is complete: an apply performs exactly its actions, in an order that its edges allow, without further
// decisions. A Plan is immutable once planning has returned it. Write and Decode store it in a file, which only the
// same version of the engine can read; for other tools tombolo.Project writes plans as JSON, text or Markdown.
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
	// ForgetThenCreate replaces an object that must not be destroyed: the old one is removed from the state once the
	// new one exists.
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

// Reason is why an action was chosen if that is not obvious. The texts are those of the JSON plan format.
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
	PrevAddr *addr.AbsResourceInstance // the address before a move, otherwise nil
	Provider *addr.AbsProviderConfig   // never nil; the changes of a block share one
	Reason   Reason
	Action   Action
	// CreateBeforeDestroy is the setting of the block, for the state.
	CreateBeforeDestroy bool
	// SkipDestroy, for the state, means that the object must never be destroyed, only forgotten.
	SkipDestroy bool
	// Protected, for the state, means that the block sets prevent_destroy. This is kept when the block is removed.
	Protected bool
	// Unprotected means that the state has prevent_destroy for the object, which is kept, but its block no longer sets
	// it.
	Unprotected bool
	// Settled means that the configuration was wholly known, so that the planned value cannot change during apply.
	Settled bool

	Before Value
	After  Value
	// Type is the implied type of the schema, needed to encode the values.
	Type          cty.Type
	SchemaVersion int64

	// ReplacePaths are the paths that require the replacement.
	ReplacePaths []cty.Path
	// Triggers are the references in replace_triggered_by whose changes are the reason, if that is ReplaceByTriggers.
	Triggers []ReplaceTrigger
	// Private is the provider's planned private data.
	Private []byte
	// Dependencies are those of the object, as configuration addresses, for the state.
	Dependencies []addr.ConfigResource
	// DeposedKey is the key of the old object after an action that deposes it, until it is deleted.
	DeposedKey addr.DeposedKey

	Importing *Importing
	// NotImported is the object that an optional import did not find, which is therefore created.
	NotImported     *Importing
	GeneratedConfig string
	// Identities is nil if the type has no identities.
	Identities *Identities
}

// Identities are those of an object before and after a change; cty.NilVal where there is none.
type Identities struct{ Before, After cty.Value }

// BeforeIdentity returns the identity before the change, or cty.NilVal.
func (c *Change) BeforeIdentity() cty.Value {
	if c.Identities == nil {
		return cty.NilVal
	}
	return c.Identities.Before
}

// AfterIdentity returns the planned identity, which may be unknown, or cty.NilVal.
func (c *Change) AfterIdentity() cty.Value {
	if c.Identities == nil {
		return cty.NilVal
	}
	return c.Identities.After
}

// SetIdentities sets the identities, each of which may be cty.NilVal.
func (c *Change) SetIdentities(before, after cty.Value) {
	if c.Identities = nil; before != cty.NilVal || after != cty.NilVal {
		c.Identities = &Identities{Before: before, After: after}
	}
}

// Importing means that the object is imported rather than created.
type Importing struct {
	ID       string
	Identity cty.Value // cty.NilVal if an id identifies the object
	Unknown  bool
	// Sensitive means that the id or identity comes from a sensitive value.
	Sensitive bool
}

// ByIdentity reports whether an identity rather than an id identifies the object.
func (i *Importing) ByIdentity() bool { return i.ID == "" && i.Identity != cty.NilVal }

// Argument returns the argument of the import block that identifies the object.
func (i *Importing) Argument() string {
	if i.ByIdentity() {
		return "identity"
	}
	return "id"
}

// Found sets the identity that the provider returned for an object that was imported by its identity: it may have more
// attributes.
func (i *Importing) Found(identity cty.Value) {
	if i.ByIdentity() && identity != cty.NilVal && !identity.IsNull() {
		i.Identity = identity
	}
}

// Shown returns the id or identity as it may be shown.
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
	Sensitive       bool      // the current value is sensitive
	BeforeSensitive bool
}

// StepKind is the kind of a step of the action graph.
type StepKind uint8

// The kinds of steps. A Write creates, updates or reads the instances of a block. A Destroy deletes objects that are no
// longer needed or have to be deleted before their replacement is created. A Dispose deletes deposed objects, including
// those of this run. A Join does nothing: it connects many steps with many others, so that the number of edges is a sum
// and not a product.
const (
	Write StepKind = iota + 1
	DestroyStep
	Dispose
	Join
)

// Step is one node of the action graph: all changes of one kind to one resource block of one module instance. Its
// changes are not ordered. The edges are those that deletions need; writes also follow the references of the
// configuration, which the apply evaluates anyway.
type Step struct {
	Kind     StepKind
	Resource addr.AbsResource
	// Changes are indexes into Plan.Changes.
	Changes []int
	// After lists the steps (indexes into Plan.Steps) that must have ended before this one begins.
	After []int
}

// Variable is the value of a root input variable as it was set (nil Value: not set). Ephemeral values are not kept:
// Given reports that one other than null was set.
type Variable struct {
	Value     cty.Value
	Sensitive bool
	Ephemeral bool
	Given     bool
}

// Check returns an error for an inconsistent plan, such as one that was changed after planning.
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

// check returns an error if the step refers to a change or step that the plan does not have.
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

// checkOrder returns an error for steps in a cycle.
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

// CheckEphemeral returns errors unless exactly the ephemeral variables that the plan was made with are set again: their
// values are not stored. ranges, which may be nil, holds the positions of values.
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

	// Base is the stored state that the plan was made from; or nil. Refreshed holds the edits of the refresh: refreshed
	// objects, data sources, moves. Base with Refreshed folded in is the prior state.
	Base      *state.State
	Refreshed []state.Edit

	Changes []*Change
	Drift   []*Change
	Outputs []*OutputChange
	Steps   []Step
	// Invocations are the actions to invoke; those of one object are in order.
	Invocations []*Invocation
	// Invoke holds the actions of a plan that only invokes actions.
	Invoke []addr.Target
	// Expansions lists the instance keys of every module call of every module instance, so that the apply does not
	// evaluate them again.
	Expansions map[addr.ModuleInstance]map[string][]addr.Key
	Checks     []state.CheckResult

	Targets      []addr.Target
	Except       []addr.Target // exclusions of -exclude, with all dependents; excludes Targets
	ForceReplace []addr.AbsResourceInstance
	Relevant     []RelevantAttribute
	// Unsettled lists interrupted creations with an unknown result. The plan does not touch them, nor anything that
	// depends on them; LeftOut lists all of these.
	Unsettled []addr.Target
	LeftOut   []LeftOut
	// Deferred lists, in a plan that may defer, what later plans have to plan because too much is unknown now.
	Deferred []Deferral
	// Interrupted lists the tokens of the operations that were in flight when the plan was made. The plan ignores all
	// others, even if the configuration now has another address for an object.
	Interrupted []string

	// Unrefreshed means that the plan used the stored objects without reading the real ones.
	Unrefreshed bool
	// Unread lists the instances whose real objects were not read by a minimal refresh because they have no changes
	// according to the state; UnreadBySetting those that the project excludes from reading.
	Unread, UnreadBySetting []addr.AbsResourceInstance

	// Errored plans are shown but cannot be applied. Complete is false if a target or deferral left something out.
	Errored  bool
	Complete bool

	// FunctionResults are hashes of the results of functions that read files; the apply checks them again.
	FunctionResults map[string]string
	// Nonsensitive lists the strings that come from secrets, but that the configuration declares nonsensitive.
	Nonsensitive []string
}

// LeftOut is a part of the configuration, or an object, that the plan does not touch although it may have to change.
type LeftOut struct {
	// Address is that of an instance, a block, a module call or an output value ("output.name").
	Address string
	Reason  LeftOutReason
	// Because is the instance that the plan must not touch; it may be the address itself.
	Because addr.AbsResourceInstance
}

// LeftOutReason is the reason why a plan leaves something out.
type LeftOutReason string

// The reasons. An unsettled object is left out itself, a dependent depends on one, and a needed object is kept because
// an object that is left out depends on it.
const (
	LeftOutUnsettled LeftOutReason = "excluded"
	LeftOutDependent LeftOutReason = "depends_on"
	LeftOutNeeded    LeftOutReason = "needed_by"
)

// Why returns the reason in words.
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

// Prior returns the state that the changes start from.
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
		if c.PrevAddr != nil || c.Importing != nil {
			return true
		}
	}
	if len(p.Invocations) > 0 {
		return true
	}
	for _, o := range p.Outputs {
		unseen := p.Mode == RefreshOnly && o.Action == Create && !ctyfast.WhollyKnown(o.After)
		if o.Action != NoOp && !unseen { // a new output that depends on missing objects is not stored
			return true
		}
	}
	return p.Mode == RefreshOnly && slices.ContainsFunc(p.Refreshed, p.changesObject)
}

// changesObject reports whether an edit changes a managed object in the state. As in Terraform, a new address alone is
// not a change, nor is a new schema version.
func (p *Plan) changesObject(e state.Edit) bool {
	switch {
	case e.Put != nil:
		return e.Put.Addr.Instance.Resource.Mode == addr.Managed && !p.onlyUpgrades(e.Put)
	case e.Drop != nil:
		return e.Drop.Addr.Instance.Resource.Mode == addr.Managed
	}
	return false
}

// onlyUpgrades reports whether an object is stored again only because its schema has a new version, or because its
// provider changed it while upgrading it to the same version.
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

// Summary holds the numbers of changes by kind.
type Summary struct{ Add, Change, Destroy, Import, Forget, Invoke int }

// Summary counts the changes: a replacement is one addition and one destruction.
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
