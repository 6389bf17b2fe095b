// Package event defines the events of a run. The engine reports progress and results only as events, which it sends to
// a Sink. The command line's display and its JSON lines are made from them.
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
// Events never carry sensitive values: an ID is empty if the configuration or schema marks its value as sensitive.
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

// ID identifies an object to a person by one of its attributes, usually id or name. Both parts are empty if there is no
// suitable attribute.
type ID struct{ Key, Value string }

// RefreshStart and RefreshDone surround the read of a managed object.
type RefreshStart struct {
	Object addr.Object
	ID     ID
}

// RefreshDone follows RefreshStart.
type RefreshDone struct {
	Object addr.Object
	ID     ID
}

// OperationStart begins a create, update, delete or data read. Action is never a replacement: its two halves are
// reported separately.
type OperationStart struct {
	Object   addr.Object
	Action   plan.Action
	ID       ID
	Started  time.Time
	Planning bool // a data source read while planning
}

// OperationDone follows OperationStart; Failed is true if there were errors.
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

// ImportStart and ImportDone surround the import of an object during an apply.
type ImportStart struct {
	Object addr.Object
	ID     ID
}

// ImportDone follows ImportStart.
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

// ActionDone follows ActionStart; Error is the message of a failure, or empty.
type ActionDone struct {
	Invocation *plan.Invocation
	Error      string
}

// ListStart begins a search for objects; List has no objects yet.
type ListStart struct{ List *plan.List }

// ListFound reports an object that a search found, before ListDone.
type ListFound struct {
	List   *plan.List
	Object *plan.Listed
}

// ListDone follows ListStart, unless the search failed.
type ListDone struct{ List *plan.List }

// EphemeralOp is an operation on an ephemeral object, which is not part of a plan.
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

// EphemeralDone follows EphemeralStart; Failed is true if there were errors.
type EphemeralDone struct {
	Object  addr.Object
	Op      EphemeralOp
	Elapsed time.Duration
	Failed  bool
}

// ProvisionStart, ProvisionOutput and ProvisionDone report the run of a provisioner.
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

// ProvisionDone follows ProvisionStart.
type ProvisionDone struct {
	Object addr.Object
	Type   string
	Failed bool
}

// ProgramOutput is a line that the program of a provider, or a hook of the project, wrote to its standard error. Object
// is zero if only the program is known: then Label or Hook names it.
type ProgramOutput struct {
	Object addr.Object
	Label  string
	Hook   string
	Line   string
	// Fleeting lines are only useful while the program runs, and are not logged.
	Fleeting bool
}

// Progress is a message of a provider about a running operation.
type Progress struct {
	Object   addr.Object
	Message  string
	Fraction float64 // 0 to 1; negative when unknown
}

// Waiting means that a call for an object is delayed until WaitingDone. Why is the reason in a few words. After a
// failed call, Attempt is the number of the next attempt, of at most Attempts, which begins after For; otherwise
// Attempt is 0.
type Waiting struct {
	Object            addr.Object
	Why               string
	For               time.Duration
	Attempt, Attempts int
}

// WaitingDone follows Waiting.
type WaitingDone struct{ Object addr.Object }

// Total is the number of operations of a run, sent when it is known.
type Total struct{ Operations int }

// LockWaiting means that the run waits for a lock that another run holds. Info is empty if the holder is unknown, but
// never nil in a run of package tombolo.
type LockWaiting struct{ Info *state.LockInfo }

// Stopping means that the run received an interrupt: InFlight operations are awaited or, if Now is set, abandoned and
// recorded in the journal.
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
