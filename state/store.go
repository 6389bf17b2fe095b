package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
)

// DefaultWorkspace is the workspace that always exists.
const DefaultWorkspace = "default"

// Store keeps the states of one backend, one for each workspace. Implementations pass package storetest. Methods may be
// called concurrently.
type Store interface {
	// Workspaces lists the workspaces that exist; DefaultWorkspace is always among them, except for services where
	// each has its own name.
	Workspaces(ctx context.Context) ([]string, error)
	// Workspace returns access to one state, which need not exist yet.
	Workspace(name string) (Workspace, error)
	// DeleteWorkspace removes a workspace and its state. The default workspace cannot be removed.
	DeleteWorkspace(ctx context.Context, name string) error
}

// Workspace is one state in a store.
type Workspace interface {
	Name() string
	// Read returns the newest state without a lock: the last snapshot with the journal applied over it. It writes
	// nothing.
	Read(ctx context.Context) (*Snapshot, error)
	// Lock takes the lock, recovers an interrupted run, and returns the state. It tries once: a lock held by another is
	// a *LockedError at once (see Acquire for waiting).
	Lock(ctx context.Context, req LockRequest) (Session, error)
	// ForceUnlock breaks a lock with the given id, held by another.
	ForceUnlock(ctx context.Context, id string) error
}

// LockRequest describes who requests a lock, and for which operation.
type LockRequest struct {
	Info LockInfo
	// Unlocked opens a session without the store's shared lock (-lock=false). The journal's own lock still holds.
	Unlocked bool
	// Damaged allows a session on a stored state that cannot be read, in stores over services; elsewhere it has no
	// effect. The snapshot has no state then, the operations of the journal stay open, and Replace writes a state.
	Damaged bool
}

// Operation is the kind of run that holds a lock. The names are Terraform's; other programs may write others.
type Operation string

// The operations of this program.
const (
	OperationPlan    Operation = "OperationTypePlan"
	OperationApply   Operation = "OperationTypeApply"
	OperationDestroy Operation = "OperationTypeDestroy"
	OperationRefresh Operation = "OperationTypeRefresh"
	OperationImport  Operation = "OperationTypeImport"
	OperationRecover Operation = "OperationTypeRecover"

	OperationInit            Operation = "init"
	OperationMove            Operation = "state-mv"
	OperationPush            Operation = "state-push"
	OperationRemove          Operation = "state-rm"
	OperationReplaceProvider Operation = "state-replace-provider"
	OperationTaint           Operation = "taint"
	OperationUntaint         Operation = "untaint"
	OperationNewWorkspace    Operation = "workspace-new"
	OperationDeleteWorkspace Operation = "workspace-delete"

	// OperationWrite is a single write of a run without a lock, in services that take states only under one.
	OperationWrite Operation = "write"
	// OperationTest is the lock that the backend inmem holds if its block says so.
	OperationTest Operation = "test"
)

// LockInfo describes a lock to people; its JSON form is Terraform's.
type LockInfo struct {
	ID        string
	Operation Operation
	Info      string
	Who       string
	Version   string
	Created   time.Time
	Path      string
}

// UnmarshalJSON implements json.Unmarshaler. What another program wrote in its own form, such as a time, says
// nothing: the rest still says who holds the lock, and what frees it.
func (i *LockInfo) UnmarshalJSON(text []byte) error {
	var raw struct{ ID, Operation, Info, Who, Version, Created, Path json.RawMessage }
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	for _, f := range []struct {
		text json.RawMessage
		to   any
	}{{raw.ID, &i.ID}, {raw.Operation, &i.Operation}, {raw.Info, &i.Info}, {raw.Who, &i.Who},
		{raw.Version, &i.Version}, {raw.Created, &i.Created}, {raw.Path, &i.Path}} {
		if f.text != nil {
			_ = json.Unmarshal(f.text, f.to) // an unreadable state is not changed
		}
	}
	return nil
}

// ErrNoWorkspaces means that a store has one state and no more.
var ErrNoWorkspaces = errors.New("workspaces not supported")

// LockedError means that another holds the lock. Info is nil when nothing is known of it.
type LockedError struct {
	Info *LockInfo
	Err  error
}

// Error names the holder of the lock.
func (e *LockedError) Error() string {
	if e.Info == nil || e.Info.ID == "" {
		if e.Err != nil {
			return e.Err.Error()
		}
		return "the state is locked by another process"
	}
	since := ""
	if !e.Info.Created.IsZero() {
		since = " since " + e.Info.Created.Format(time.RFC3339)
	}
	operation := ""
	if e.Info.Operation != "" { // not all programs say what they do
		operation = fmt.Sprintf("operation %s, ", e.Info.Operation)
	}
	return fmt.Sprintf("the state is locked by %s%s (%slock id %s)", e.Info.Who, since, operation, e.Info.ID)
}

// Unwrap returns the cause.
func (e *LockedError) Unwrap() error { return e.Err }

// Snapshot is a state as read, with the open operations of an interrupted run.
type Snapshot struct {
	// State is nil when nothing was ever stored.
	State *State
	// InFlight lists operations that had begun when a run was killed and whose outcome is unknown.
	InFlight []InFlight
	// Unfolded lists results that could not be applied over the state, because another tool wrote it since. Nothing is
	// discarded: they stay in the journal until they are resolved.
	Unfolded []Unfolded
	// Running is a run that was writing during the read; nil if there was none. InFlight are then its current
	// operations, which is not a problem.
	Running *RunInfo
	// Blank names a state file of zero bytes that was taken for an empty state: no file beside it shows that it ever
	// had more.
	Blank string
}

// Session is a held lock on a workspace. Its context ends when the lock is lost; every write fails from then on.
type Session interface {
	Context() context.Context
	// Snapshot is the state as it was when the lock was taken, after recovery, or as last written by this session.
	Snapshot() *Snapshot
	// Begin opens a journal on top of the snapshot. One journal at a time.
	Begin(ctx context.Context, run RunInfo) (Journal, error)
	// Write replaces the whole state at once. The lineage must match unless either has none; the serial must be at
	// least the stored one, and becomes one more than the given one when the content differs. A mismatch is a
	// *ConflictError.
	Write(ctx context.Context, s *State) error
	// Replace is Write without comparing lineage and serial, for `state push -force`.
	Replace(ctx context.Context, s *State) error
	// Resolve ends in-flight operations and unfolded results, named by their tokens, with the edits that this takes.
	// While a journal is open it goes through that journal. A token that names nothing is an error, and then nothing
	// happens.
	Resolve(ctx context.Context, tokens []string, edits ...Edit) error
	// Unlock releases the lock. It is an error to unlock with an open journal; the lock is still released, and the next
	// session recovers the journal.
	Unlock() error
}

// Deleter is a session that can remove its workspace with all that belongs to it, and end: no other run gets between
// the caller's read of the state and its removal. The lock is also released after an error. Operations that are still
// open are an error.
type Deleter interface{ Delete() error }

// Identified is a Session that knows the id of its lock: a service may have chosen another one than was asked for.
type Identified interface{ LockID() string }

// Creator is a session that can make its workspace exist when nothing is stored in it yet, where a workspace is nothing
// but its state.
type Creator interface{ Create() error }

// RunInfo describes a run for readers of its journal.
type RunInfo struct {
	ID      string
	Command string
	Started time.Time
}

// Action is the action of an operation on an object.
type Action string

// The actions. ActionInvoke is the invocation of an action, whose address the object is. ActionProvision covers the
// provisioners of an object: it is in the state, and as a creation it is tainted until they have ended. ActionMove is
// the move of an object to another state: both have an operation for it, which a Handover describes. ActionHook covers
// the hooks of the project that run after an operation on the object; Planned holds what they need to run again.
const (
	ActionCreate    Action = "create"
	ActionUpdate    Action = "update"
	ActionDelete    Action = "delete"
	ActionRead      Action = "read"
	ActionProvision Action = "provision"
	ActionInvoke    Action = "invoke"
	ActionMove      Action = "move"
	ActionHook      Action = "hook"
)

// Intent announces an operation that may change something outside the process.
type Intent struct {
	// ID is unique within the run; with the run's id it is the token of the operation.
	ID       string
	Object   addr.Object
	Action   Action
	Provider addr.AbsProviderConfig
	// Planned is the planned value as JSON, unknown values left out; for people who have to find the object.
	Planned json.RawMessage
	// Dependencies are those that the object will be stored with: while it is not known whether it exists, they have to
	// stay, even if its block is gone. Older journals have none.
	Dependencies []addr.ConfigResource
	Started      time.Time
}

// Token identifies an operation globally: programs receive it, and `recover` accepts it.
func Token(run RunInfo, op string) string { return run.ID + "/" + op }

// InFlight is an operation without a result.
type InFlight struct {
	Intent
	Run RunInfo
	// Partial is the object as far as it was known when the run ended; nil when nothing was.
	Partial *Object
}

// Token names the operation.
func (f InFlight) Token() string { return Token(f.Run, f.ID) }

// Unfolded is a result that does not fit the current state.
type Unfolded struct {
	Op    string
	Run   RunInfo
	Edits []Edit
	Why   string
}

// Token names the operation, or the record for edits that belong to none.
func (u Unfolded) Token() string { return Token(u.Run, u.Op) }

// ConflictError means that a state cannot be written because of what is stored: another lineage, a newer serial, or
// something that another program wrote since the state was read. Nothing was changed.
type ConflictError struct{ Found, Expected, Advice string }

// Error returns both sides and what to do.
func (e *ConflictError) Error() string {
	msg := "the stored state is not the expected one: found " + e.Found + ", expected " + e.Expected
	if e.Advice != "" {
		msg += ". " + e.Advice
	}
	return msg
}

// SavedError means that a run could not be stored as it should, and where it was saved instead. Nothing is lost: the
// next session of the same workspace folds it in.
type SavedError struct {
	Where []string
	Err   error
	// Then is the action to take first if the next session does not find the results by itself.
	Then string
}

// Error returns what happened, where the results are, and what to do.
func (e *SavedError) Error() string {
	if e.Then != "" {
		return fmt.Sprintf("the state could not be brought up to date: %s. The results of this run are in %s. %s",
			e.Err, strings.Join(e.Where, " and "), e.Then)
	}
	return fmt.Sprintf("the state could not be brought up to date: %s. Nothing is lost: the results of this run are "+
		"in %s. Remove the cause (free space, check the disk or the connection), then run any command that locks the "+
		"state, such as plan: it recovers them",
		e.Err, strings.Join(e.Where, " and "))
}

// Unwrap returns the cause.
func (e *SavedError) Unwrap() error { return e.Err }

// RecoverError means that results in the journal of an interrupted run could not be written to the state. They stay in
// the journal.
type RecoverError struct{ Err error }

// Error returns what failed.
func (e *RecoverError) Error() string { return "recover an interrupted run: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *RecoverError) Unwrap() error { return e.Err }

// ReadError means that the lock was free, and taken, but what it guards could not be read. The lock is released again.
type ReadError struct{ Err error }

// Error returns what failed.
func (e *ReadError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// Journal records a run durably. Methods may be called concurrently; those that wait for the disk share one sync. After
// any error the journal is broken: start nothing new, record the operations in flight, and Close.
type Journal interface {
	// Intent is durable when it returns.
	Intent(i Intent) error
	// Partial records an early result; durable when it returns.
	Partial(op string, o *Object) error
	// Result ends an operation with the edits that it caused; durable when it returns. The edits are folded into
	// Working. It works on a broken journal too, as long as there is any place left to write to.
	Result(op string, edits ...Edit) error
	// Record appends edits that no outside effect depends on: ordered before everything later, durable with the next
	// record that waits, or at Close.
	Record(edits ...Edit) error
	// Working is the state so far.
	Working() *Builder
	// Checkpoint writes a snapshot now.
	Checkpoint(ctx context.Context) error
	// Err is the first error that broke the journal.
	Err() error
	// Close writes the final snapshot when anything changed, or when nothing was ever stored, and ends the journal;
	// operations without a result stay behind as in flight. When the snapshot cannot be written it is a *SavedError.
	Close(ctx context.Context) error
}

// Fits compares lineage and serial of a new state with those of the stored one, which may be nil: it is a
// *ConflictError when the new one is no later version of it.
func Fits(old, st *State) error {
	switch {
	case old == nil:
		return nil
	case old.Lineage != "" && st.Lineage != "" && old.Lineage != st.Lineage:
		return &ConflictError{Found: fmt.Sprintf("lineage %q", old.Lineage), Expected: fmt.Sprintf("lineage %q",
			st.Lineage),
			Advice: "The two states are not versions of the same state"}
	case st.Serial < old.Serial:
		return &ConflictError{Found: fmt.Sprintf("serial %d", old.Serial),
			Expected: fmt.Sprintf("at most serial %d", st.Serial),
			Advice:   "The stored state is newer than the one to be written"}
	}
	return nil
}

// CheckWorkspaceName refuses names that no workspace can have.
func CheckWorkspaceName(name string) error {
	if name == "" || name == "." || name == ".." || url.PathEscape(name) != name {
		return fmt.Errorf("the workspace name %q is not allowed: it must be usable in a URL and as the name of a "+
			"folder", name)
	}
	return nil
}

// longestPause is the longest time between two tries for a lock. Terraform goes up to 16 seconds: where many wait, the
// lock is then free most of the time.
const longestPause = 4 * time.Second

// firstPause is the time before the second try. Runs of one program hold a lock for less than a tenth of a second.
const firstPause = 50 * time.Millisecond

// Acquire locks a workspace, waiting up to timeout for another holder: first for firstPause, then twice as long each
// time, up to longestPause. A holder of whom nothing is known is waited for as well: it may not have written yet who it
// is, or no longer hold the lock. waiting is called once when there is something to wait for; it may be nil.
func Acquire(ctx context.Context, ws Workspace, req LockRequest, timeout time.Duration, waiting func(*LockedError)) (
	Session, error) {
	deadline := time.Now().Add(timeout)
	pause := firstPause
	for {
		session, err := ws.Lock(ctx, req)
		locked, ok := asLocked(err)
		if err == nil && session == nil {
			return nil, errNoSession
		}
		if err == nil || !ok || !time.Now().Before(deadline) {
			return session, err
		}
		if waiting != nil {
			waiting(locked)
			waiting = nil
		}
		timer := time.NewTimer(min(pause, time.Until(deadline)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		case <-timer.C:
		}
		pause = min(2*pause, longestPause)
	}
}

var errNoSession = errors.New("the store answered with neither a session nor an error; this is a bug in the store")

func asLocked(err error) (*LockedError, bool) {
	var locked *LockedError
	ok := errors.As(err, &locked)
	return locked, ok
}
