package handler

import (
	"context"
	"fmt"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
)

// Caller sends calls to a program and returns its answers. There is one implementation for each mode of a manifest.
// Calls may be made concurrently; the handler respects the concurrency limit of the manifest.
//
// An error means that the call did not finish. If the answer is nil, no program has run; otherwise a program has run
// and may have changed something, and the answer holds its output so far. A program that ended with a failure has
// answered; see Answer.Failure. Errors of types of this package or of package program are explained to the user, with
// advice; other errors are shown unchanged.
type Caller interface {
	Call(ctx context.Context, c Call) (*Answer, error)
	// Prepare installs the program's dependencies, and reports progress. It is called before every call and does not
	// count towards the call's time limit. An error means that the call cannot be made. The context ends the wait.
	Prepare(ctx context.Context, say func(line string)) error
	// Close ends running programs. It may be called twice.
	Close() error
}

// Call is one call of an action.
type Call struct {
	Action string
	// Type is the resource type, or the function of the action call, or "" for calls of the provider as a whole.
	Type string
	// Params is a JSON object.
	Params []byte
	// Silent means that the program need not print an answer.
	Silent bool
	// Intent is the engine's token for an operation that changes something; see provider.ApplyRequest.
	Intent string
	// Record returns data that is stored beside an answer that outlives this process. It may be nil.
	Record func() []byte
	// Hide returns a text of the call, such as its output, without secrets. Callers of this package do not need it, as
	// their answers are redacted; others may show a text themselves. It must not be called after the call.
	Hide func(text []byte) string
	// Line is called with each line of the program's standard error, and Progress with other reports of progress. None
	// of the three is nil.
	Line     func(line string)
	Progress func(message string, fraction float64)
}

// Answer is the answer of a program.
type Answer struct {
	// Result is the output. With a failure it may be partial or empty.
	Result []byte
	// Failure describes how the call failed, or is nil if it did not.
	Failure *Failure
	// Program is the name of the program in messages.
	Program string
	// Held means that another process that the program started still has its output open.
	Held bool
}

// Failure describes how a call failed.
type Failure struct {
	// State is how the program ended, as a clause: "it ended with exit status 3".
	State string
	// Message is the program's message for users: the end of its standard error.
	Message string
	// Advice explains what the author can do about a failure of this kind. It may be "".
	Advice string
	// Killed means that the program was killed, so that its result is unknown.
	Killed bool
	// Temporary means that the program asks for a retry.
	Temporary bool
	// Missing means that the program does not implement the action.
	Missing bool
}

// NotReadyError means that a program could not be started for a reason that the user can fix. Nothing was run.
type NotReadyError struct {
	Summary, Detail string
	// Advice is the advice that follows Detail, or nil.
	Advice *diag.Advice
	// Ours means that the texts contain no output of a program.
	Ours bool
}

// Error returns summary and detail.
func (e *NotReadyError) Error() string { return e.Summary + ": " + e.Detail }

// TimeoutError is the cause with which the context of a call ends after the time limit in the manifest.
type TimeoutError struct {
	Action  string
	Timeout time.Duration
	// Usual means that the manifest sets no limit, and that this is the one of modules.
	Usual bool
}

// Error returns a text with the limit.
func (e *TimeoutError) Error() string {
	if e.Usual {
		return fmt.Sprintf("the timeout of %s for calls of a module has passed; \"timeouts\" of the type in the "+
			"manifest can set another", e.Timeout)
	}
	return fmt.Sprintf("the timeout of %s that the manifest sets for %s has passed", e.Timeout, e.Action)
}
