package handler

import (
	"context"
	"fmt"
	"time"
)

// Caller sends calls to a program and returns its answers. There is one implementation for each mode of a manifest.
// Calls may be made concurrently; the handler keeps to the manifest's concurrency.
//
// An error means that the call did not finish. Without an answer, no program has run; with one, a program has run and
// may have changed something, and the answer holds its output until then. A program that ended with a failure has
// answered; see Answer.Failure. Errors of a type of this package or of package program are explained to the user, with
// advice; any other one is shown as it is.
type Caller interface {
	Call(ctx context.Context, c Call) (*Answer, error)
	// Prepare installs what the program needs, and reports progress. It is called before every call, whose time limit
	// has not begun then; an error means that the call cannot be made. The context ends the wait for it.
	Prepare(ctx context.Context, say func(line string)) error
	// Close ends what is running. It may be called twice.
	Close() error
}

// Call is one call of an action.
type Call struct {
	Action string
	// Type is the resource type, or the function of the action call; empty where the provider as a whole is meant.
	Type string
	// Params is a JSON object.
	Params []byte
	// Silent is set where a program need not print anything.
	Silent bool
	// Intent is the engine's token of an operation that changes something; see provider.ApplyRequest.
	Intent string
	// Record is stored beside an answer that outlives this process; may be nil.
	Record func() []byte
	// Line gets each line of the program's standard error, and Progress other reports of progress. Neither is nil.
	Line     func(line string)
	Progress func(message string, fraction float64)
}

// Answer is the answer of a program.
type Answer struct {
	// Result is the result that it wrote. With a failure it may be partial or empty.
	Result []byte
	// Failure is how the call failed; nil when it did not.
	Failure *Failure
	// Program is the name of the program, for messages.
	Program string
	// Held is set when something that the program started still holds its output open.
	Held bool
}

// Failure is how a call failed.
type Failure struct {
	// State is how it ended, as a clause: "it ended with exit status 3".
	State string
	// Message is the program's message for people: the end of its standard error.
	Message string
	// Advice explains what the author can do about a failure of this kind; may be empty.
	Advice string
	// Killed is set if the program was killed, so that its result is unknown.
	Killed bool
	// Temporary is set when the program asks to try again.
	Temporary bool
	// Missing is set when the program does not know the action.
	Missing bool
}

// NotReadyError means that a program could not be started for a reason that a person can do something about. Nothing
// was run.
type NotReadyError struct {
	Summary, Detail string
	// Ours means that no program wrote any part of the texts.
	Ours bool
}

// Error joins both.
func (e *NotReadyError) Error() string { return e.Summary + ": " + e.Detail }

// TimeoutError is the cause with which the context of a call ends at the timeout that the manifest sets.
type TimeoutError struct {
	Action  string
	Timeout time.Duration
}

// Error names the limit.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the timeout of %s that the manifest sets for %s has passed", e.Timeout, e.Action)
}
