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

// Store keeps the states of one backend, one for each workspace. Implementations must pass package storetest. Methods
// may be called concurrently.
type Store interface {
	// Workspaces lists the existing workspaces. DefaultWorkspace is always among them, except in services in which each
	// workspace has its own name.
	Workspaces(ctx context.Context) ([]string, error)
	// Workspace returns access to one state, which need not exist yet.
	Workspace(name string) (Workspace, error)
	// DeleteWorkspace removes a workspace and its state. The default workspace cannot be removed.
	DeleteWorkspace(ctx context.Context, name string) error
}

// Workspace is one state in a store.
type Workspace interface {
	Name() string
	// Read returns the newest state without a lock: the last snapshot with the journal applied to it. It writes
	// nothing.
	Read(ctx context.Context) (*Snapshot, error)
	// Lock takes the lock, recovers an interrupted run, and returns the state. It tries once: if another session holds
	// the lock, it returns a *LockedError immediately (Acquire waits).
	Lock(ctx context.Context, req LockRequest) (Session, error)
	// ForceUnlock releases the lock with the given id, which another session holds.
	ForceUnlock(ctx context.Context, id string) error
}

// LockRequest describes who requests a lock, and for which operation.
type LockRequest struct {
	Info LockInfo
	// Unlocked opens a session without the store's shared lock (-lock=false). The journal's own lock is still taken.
	Unlocked bool
	// Damaged allows a session on a stored state that cannot be read, in stores over services; elsewhere it has no
	// effect. Then the snapshot has no state, the operations in the journal stay open, and Replace writes a state.
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

	// OperationWrite is a single write of a run without a lock, in services that require a lock for writes.
	OperationWrite Operation = "write"
	// OperationTest is the lock that the backend inmem holds if its block requests it.
	OperationTest Operation = "test"
)

// LockInfo describes a lock; its JSON form is Terraform's.
type LockInfo struct {
	ID        string
	Operation Operation
	Info      string
	Who       string
	Version   string
	Created   time.Time
	Path      string
}

// UnmarshalJSON implements json.Unmarshaler. It ignores members that another program wrote in a different form, such as
// a time: the others still show who holds the lock, and how to release it.
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
			_ = json.Unmarshal(f.text, f.to) // a field that cannot be decoded keeps its zero value
		}
	}
	return nil
}

// ErrNoWorkspaces means that a store has only one state.
var ErrNoWorkspaces = errors.New("workspaces not supported")

// LockedError means that another session holds the lock. Info is nil if the holder is unknown.
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
	if e.Info.Operation != "" { // not all programs record an operation
		operation = fmt.Sprintf("operation %s, ", e.Info.Operation)
	}
	return fmt.Sprintf("the state is locked by %s%s (%slock id %s)", e.Info.Who, since, operation, e.Info.ID)
}

// Unwrap returns the cause.
func (e *LockedError) Unwrap() error { return e.Err }

// Snapshot is a state as read, with the open operations of an interrupted run.
type Snapshot struct {
	// State is nil if no state was ever stored.
	State *State
	// InFlight lists operations without a result that had begun when a run was interrupted.
	InFlight []InFlight
	// Unfolded lists results that could not be applied to the state, because another tool wrote it in the meantime.
	// They stay in the journal until they are resolved.
	Unfolded []Unfolded
	// Running is a run that was writing during the read, or nil. InFlight then holds its current operations, which are
	// not a problem.
	Running *RunInfo
	// Blank names a state file of zero bytes that was read as an empty state: no file beside it shows that it ever had
	// content.
	Blank string
}

// Session is a held lock on a workspace. Its context ends when the lock is lost; after that every write fails.
type Session interface {
	Context() context.Context
	// Snapshot returns the state as it was when the lock was taken, after recovery, or as last written by this session.
	Snapshot() *Snapshot
	// Begin opens a journal on top of the snapshot. One journal at a time.
	Begin(ctx context.Context, run RunInfo) (Journal, error)
	// Write replaces the whole state. The lineages must match unless one is empty. The serial must be at least the
	// stored one; the stored serial becomes the given one plus one if the content differs. A mismatch is a
	// *ConflictError.
	Write(ctx context.Context, s *State) error
	// Replace is like Write without the comparison of lineage and serial, for `state push -force`.
	Replace(ctx context.Context, s *State) error
	// Resolve ends in-flight operations and unfolded results, named by their tokens, and applies the edits. While a
	// journal is open, it uses that journal. If a token does not exist, it returns an error and changes nothing.
	Resolve(ctx context.Context, tokens []string, edits ...Edit) error
	// Unlock releases the lock. With an open journal it returns an error, but still releases the lock, and the next
	// session recovers the journal.
	Unlock() error
}

// Deleter is a session that can delete its workspace and end: no other run can change the state between the caller's
// read and the deletion. The lock is also released after an error. Operations that are still open are an error.
type Deleter interface{ Delete() error }

// Identified is a Session that returns the id of its lock: a service may have chosen another one than was requested.
type Identified interface{ LockID() string }

// Creator is a session that can create its workspace before a state is stored, in stores in which a workspace is only
// its state.
type Creator interface{ Create() error }

// RunInfo describes a run for readers of its journal.
type RunInfo struct {
	ID      string
	Command string
	Started time.Time
}

// Action is the action of an operation on an object.
type Action string

// The actions. ActionInvoke is the invocation of an action, whose address is in place of an object's. ActionProvision
// covers the provisioners of an object: the object is in the state and, if it was created, tainted until they have
// ended. ActionMove is the move of an object to another state: both states have an operation for it, with a Handover.
// ActionHook covers the hooks of the project that run after an operation on the object; Planned holds the data to run
// them again.
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
	// ID is unique within the run; with the run's id it forms the token of the operation.
	ID       string
	Object   addr.Object
	Action   Action
	Provider addr.AbsProviderConfig
	// Planned is the planned value as JSON without unknown values, to help people find the object.
	Planned json.RawMessage
	// Dependencies are those that the object will be stored with: as long as it is unknown whether the object exists,
	// they must be kept, even if its block is removed. Older journals have none.
	Dependencies []addr.ConfigResource
	Started      time.Time
}

// Token identifies an operation globally: programs receive it, and the command `recover` accepts it.
func Token(run RunInfo, op string) string { return run.ID + "/" + op }

// InFlight is an operation without a result.
type InFlight struct {
	Intent
	Run RunInfo
	// Partial is the object as far as it was known when the run ended, or nil.
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

// Token names the operation, or the record if the edits belong to no operation.
func (u Unfolded) Token() string { return Token(u.Run, u.Op) }

// ConflictError means that a state was not written because it conflicts with the stored one: another lineage, a newer
// serial, or a write of another program since the state was read.
type ConflictError struct{ Found, Expected, Advice string }

// Error names both sides and what to do.
func (e *ConflictError) Error() string {
	msg := "the stored state is not the expected one: found " + e.Found + ", expected " + e.Expected
	if e.Advice != "" {
		msg += ". " + e.Advice
	}
	return msg
}

// SavedError means that the results of a run could not be stored in their place, and where they were saved instead.
// Nothing is lost: the next session of the same workspace folds them in.
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

// ReadError means that the lock was taken, but the state could not be read. The lock was released.
type ReadError struct{ Err error }

// Error returns what failed.
func (e *ReadError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// Journal records a run durably. Methods may be called concurrently; those that write to disk share one sync. After any
// error the journal is broken: start no new operation, record the results of those in flight, and Close.
type Journal interface {
	// Intent records the start of an operation; durable when it returns.
	Intent(i Intent) error
	// Partial records an early result; durable when it returns.
	Partial(op string, o *Object) error
	// Result ends an operation with its edits; durable when it returns. The edits are folded into Working. It also
	// works on a broken journal, as long as there is a place left to write to.
	Result(op string, edits ...Edit) error
	// Record appends edits that no external effect depends on: they are ordered before all later records, and durable
	// with the next record that is, or at Close.
	Record(edits ...Edit) error
	// Working returns the builder of the current state.
	Working() *Builder
	// Checkpoint writes a snapshot now.
	Checkpoint(ctx context.Context) error
	// Err returns the first error that broke the journal.
	Err() error
	// Close writes the final snapshot if anything changed, or if nothing was ever stored, and ends the journal;
	// operations without a result stay in flight. If the snapshot cannot be written, the error is a *SavedError.
	Close(ctx context.Context) error
}

// Fits returns a *ConflictError unless the new state has the lineage of the stored one, which may be nil, and a serial
// that is not older.
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

// CheckWorkspaceName returns an error for an invalid workspace name.
func CheckWorkspaceName(name string) error {
	if name == "" || name == "." || name == ".." || url.PathEscape(name) != name {
		return fmt.Errorf("the workspace name %q is not allowed: it must be usable in a URL and as the name of a "+
			"folder", name)
	}
	return nil
}

// longestPause is the maximum time between two attempts to lock. Terraform's is up to 16 seconds: with many waiting
// runs, the lock is then free most of the time.
const longestPause = 4 * time.Second

// firstPause is the time before the second attempt. Runs of one program hold a lock for less than a tenth of a second.
const firstPause = 50 * time.Millisecond

// Acquire locks a workspace, waiting up to timeout for another holder: first for firstPause, then twice as long each
// time, up to longestPause. It also waits for an unknown holder, which may not have written its LockInfo yet, or just
// released the lock. waiting, which may be nil, is called once before the first wait.
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
