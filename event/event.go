// Package event defines the events of a run. They are the only channel from the engine to its output: the engine sends
// events to a Sink, which may be a function. The command line's display and JSON lines are made of them alone.
//
//	sink := event.Func(func(e event.Event) {
//		switch e := e.(type) {
//		case event.OperationStart:
//			log.Println(e.Action, e.Object)
//		case event.OperationDone:
//			log.Println(e.Object, e.ID.Value, e.Failed)
//		}
//	})
//
// Events never carry sensitive values: an identifying value is left out if the configuration or schema marks it.
package event

import (
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Sink receives events. Send may be called concurrently and must return soon.
type Sink interface{ Send(Event) }

// Discard is a Sink that drops everything.
var Discard Sink = discard{}

type discard struct{}

func (discard) Send(Event) {}

// Func is a function that serves as a Sink.
type Func func(Event)

// Send calls the function.
func (f Func) Send(e Event) { f(e) }

// Event is one of the types of this package.
type Event interface{ event() }

// ID names an object to a person by one of its attributes, usually id or name. Both parts are empty when nothing fits.
type ID struct{ Key, Value string }

// RefreshStart and RefreshDone frame the reading of a managed object.
type RefreshStart struct {
	Object addr.Object
	ID     ID
}

// RefreshDone ends RefreshStart.
type RefreshDone struct {
	Object addr.Object
	ID     ID
}

// OperationStart begins a create, update, delete or data read: Action is never a replacement here, but its halves.
type OperationStart struct {
	Object   addr.Object
	Action   plan.Action
	ID       ID
	Started  time.Time
	Planning bool // a data source read while planning
}

// OperationDone ends OperationStart; Failed when errors were reported.
type OperationDone struct {
	Object   addr.Object
	Action   plan.Action
	ID       ID
	Elapsed  time.Duration
	Failed   bool
	Planning bool
}

// ImportPrepare begins the import of an existing object during a plan, before the object is read.
type ImportPrepare struct {
	Object addr.Object
	ID     ID
}

// ImportStart and ImportDone frame the import of an object during an apply.
type ImportStart struct {
	Object addr.Object
	ID     ID
}

// ImportDone ends ImportStart.
type ImportDone struct {
	Object addr.Object
	ID     ID
}

// ActionStart begins the invocation of an action.
type ActionStart struct{ Invocation *plan.Invocation }

// ActionProgress is a message of the provider about a running action.
type ActionProgress struct {
	Invocation *plan.Invocation
	Message    string
}

// ActionDone ends ActionStart; Error is the message of a failure, or empty.
type ActionDone struct {
	Invocation *plan.Invocation
	Error      string
}

// ListStart begins a search for objects; List has no objects yet.
type ListStart struct{ List *plan.List }

// ListFound is one object that a search found. Each comes before ListDone.
type ListFound struct {
	List   *plan.List
	Object *plan.Listed
}

// ListDone ends ListStart, unless the search failed.
type ListDone struct{ List *plan.List }

// EphemeralOp is an operation on an ephemeral object, which is not an action of a plan.
type EphemeralOp string

// The operations of ephemeral objects.
const (
	Open  EphemeralOp = "open"
	Renew EphemeralOp = "renew"
	Close EphemeralOp = "close"
)

// EphemeralStart begins an operation of an ephemeral object.
type EphemeralStart struct {
	Object  addr.Object
	Op      EphemeralOp
	Started time.Time
}

// EphemeralDone ends EphemeralStart; Failed when errors were reported.
type EphemeralDone struct {
	Object  addr.Object
	Op      EphemeralOp
	Elapsed time.Duration
	Failed  bool
}

// ProvisionStart, ProvisionOutput and ProvisionDone follow a provisioner.
type ProvisionStart struct {
	Object addr.Object
	Type   string
}

// ProvisionOutput is one line that a provisioner printed.
type ProvisionOutput struct {
	Object addr.Object
	Type   string
	Line   string
}

// ProvisionDone ends ProvisionStart.
type ProvisionDone struct {
	Object addr.Object
	Type   string
	Failed bool
}

// ProgramOutput is one line that a program behind a provider printed to its standard error, or a hook of the project.
// Object is zero where only the program is known; Label names it, or Hook the hook.
type ProgramOutput struct {
	Object addr.Object
	Label  string
	Hook   string
	Line   string
	// Fleeting lines matter only while the program runs, and are not part of the log.
	Fleeting bool
}

// Progress is a message of a provider about a running operation.
type Progress struct {
	Object   addr.Object
	Message  string
	Fraction float64 // 0 to 1; negative when unknown
}

// Waiting means that a call for an object is held back, until WaitingDone. Why says in a few words what for. After a
// failed call, Attempt is the number of the next one, of Attempts at most, which begins after For; otherwise it is 0.
type Waiting struct {
	Object            addr.Object
	Why               string
	For               time.Duration
	Attempt, Attempts int
}

// WaitingDone ends Waiting.
type WaitingDone struct{ Object addr.Object }

// Total is how many operations a run has in all, once that is known.
type Total struct{ Operations int }

// LockWaiting means that the run waits for a lock that another one holds. Info is empty if it is not known who that is,
// but never nil in a run of package tombolo.
type LockWaiting struct{ Info *state.LockInfo }

// Stopping means that an interrupt was taken: InFlight operations are awaited, or with Now abandoned and journaled.
type Stopping struct {
	InFlight []addr.Object
	Now      bool
}

func (RefreshStart) event()    {}
func (RefreshDone) event()     {}
func (OperationStart) event()  {}
func (OperationDone) event()   {}
func (ImportPrepare) event()   {}
func (ImportStart) event()     {}
func (ImportDone) event()      {}
func (ActionStart) event()     {}
func (ActionProgress) event()  {}
func (ActionDone) event()      {}
func (ListStart) event()       {}
func (ListFound) event()       {}
func (ListDone) event()        {}
func (EphemeralStart) event()  {}
func (EphemeralDone) event()   {}
func (ProvisionStart) event()  {}
func (ProvisionOutput) event() {}
func (ProvisionDone) event()   {}
func (ProgramOutput) event()   {}
func (Progress) event()        {}
func (Waiting) event()         {}
func (WaitingDone) event()     {}
func (Total) event()           {}
func (LockWaiting) event()     {}
func (Stopping) event()        {}
