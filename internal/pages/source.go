package pages

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Place is a directory with a backend: the working directory, or a unit of a stack. Its methods may be called
// concurrently. They take no lock and change nothing.
type Place interface {
	// Name is the name of the unit, or "" for the working directory.
	Name() string
	// Where describes the backend, without secrets.
	Where() string
	// Selected is the name of the selected workspace.
	Selected() string
	// Workspaces lists the workspaces.
	Workspaces(ctx context.Context) ([]string, error)
	// Read reads the state of a workspace with the journal.
	Read(ctx context.Context, workspace string) (Reading, error)
	// History returns the former states of a workspace, or history.ErrNoHistory.
	History(ctx context.Context, workspace string) (history.Historian, error)
	// Schemas returns the schemas for a state, as far as they are available. problem is a text for people if some are
	// not.
	Schemas(ctx context.Context, s *state.State) (schemas tfjson.Schemas, problem string)
	// View returns the names of the program, without secrets.
	View() view.Options
}

// Reading is the result of reading a workspace.
type Reading struct {
	// Snapshot is not nil; its State is nil if there is none.
	Snapshot *state.Snapshot
	// Holder is the holder of the lock, or nil if it is free. Unknown is why it is not known, or "".
	Holder  *state.LockInfo
	Unknown string
}

// Plans are the saved plans of a folder.
type Plans interface {
	// Folder is the name of the folder for people.
	Folder() string
	// List returns the files that may be plans, newest first.
	List(ctx context.Context) ([]PlanFile, error)
	// Open reads a plan. The name is one of List; any other is fs.ErrNotExist.
	Open(ctx context.Context, name string) (*Plan, error)
}

// PlanFile is a file in a folder of plans.
type PlanFile struct {
	Name     string
	Size     int64
	Modified time.Time
}

// Plan is a saved plan.
type Plan struct {
	PlanFile
	// Hash identifies the content of the file, as "sha256:...".
	Hash    string
	Plan    *plan.Plan
	Schemas tfjson.Schemas
	View    view.Options
}

// Right is a right of a server beyond reading.
type Right string

// The rights.
const (
	Approve Right = "approve" // apply saved plans
	Check   Right = "drift"   // read all real objects
)

// Run is an apply or another run that a page shows. A list has runs without Log and Operations.
type Run struct {
	// ID is unique and fits into a URL.
	ID string
	// Title says in a few words what the run does, such as the plan that it applies.
	Title string
	// By is who started it.
	By      string
	Started time.Time
	// Ended is zero while it runs.
	Ended  time.Time
	Failed bool
	// Log is the text of the run, without secrets.
	Log        string
	Operations []Operation
}

// Operation is an operation of a run on one object.
type Operation struct {
	Address, Action string
	Started         time.Time
	Elapsed         time.Duration
	Ended, Failed   bool
}

// Runs are the runs that a server knows and can start. Methods may be called concurrently.
type Runs interface {
	// List returns the newest runs, newest first.
	List(ctx context.Context) ([]Run, error)
	// Run returns a run, or nil if there is none with this ID.
	Run(ctx context.Context, id string) (*Run, error)
	// Version changes whenever the result of List, or of Run with this ID, changes.
	Version(ctx context.Context, id string) (string, error)
	// Approve starts the apply of a saved plan if its file still has this hash, and returns the ID of the run. It
	// returns a *RefusedError if it cannot be started.
	Approve(ctx context.Context, plan, hash, by string) (id string, err error)
	// Check starts a check for drift, as Approve starts an apply.
	Check(ctx context.Context, by string) (id string, err error)
}

// RefusedError means that a run was not started.
type RefusedError struct{ Why string }

// Error returns why.
func (e *RefusedError) Error() string { return e.Why }

// Drift returns the last report of drift.
type Drift interface {
	// Last returns the document of drift -json and the time when it was made. A nil document means that there is none.
	Last(ctx context.Context) (document []byte, made time.Time, err error)
}

// driftDocument is the document of drift -json.
type driftDocument struct {
	FormatVersion string            `json:"format_version"`
	Objects       int               `json:"objects"`
	Drifted       []driftObject     `json:"drifted"`
	Accepted      []driftObject     `json:"accepted"`
	Unused        []driftAcceptance `json:"unused"`
}

type driftObject struct {
	Address     string           `json:"address"`
	Gone        bool             `json:"gone"`
	Differences []difference     `json:"differences"`
	Acceptance  *driftAcceptance `json:"acceptance"`
}

type difference struct {
	Path      string          `json:"path"`
	Before    json.RawMessage `json:"before"`
	After     json.RawMessage `json:"after"`
	Sensitive bool            `json:"sensitive"`
}

type driftAcceptance struct {
	Objects string `json:"objects"`
	Reason  string `json:"reason"`
	Until   string `json:"until"`
}
