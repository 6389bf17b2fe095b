// Package runs is the queue of runs that workers take: its tables in a PostgreSQL database, and every change of them.
// The command line submits, approves and cancels runs; package worker claims and performs them.
//
//	q, err := runs.Open(ctx, os.Getenv)
//	ids, err := q.Submit(ctx, []runs.Request{{Repository: "...", Commit: "...", Directory: "live/app"}})
//
// A run is a row. Its epoch says whose it is: a worker writes to a run only with the epoch that it claimed, and whoever
// takes a run from a worker raises the epoch first. Jobs of River carry only the number of a run and its epoch, so that
// a job which is delivered twice, late or by mistake changes nothing. The package writes them with SQL, in the same
// transaction as the run, and so the command line needs no part of River.
//
// A worker is alive while it holds its advisory lock, which ends with its connection. Nothing depends on clocks.
package runs

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/regex"
)

// Status is the status of a run.
type Status string

// The statuses of runs.
const (
	Blocked   Status = "blocked"   // it waits for other runs
	Waiting   Status = "waiting"   // for a worker
	Planning  Status = "planning"  // at a worker
	Planned   Status = "planned"   // its plan waits for approval
	Applying  Status = "applying"  // at a worker
	Done      Status = "done"      // it has succeeded
	Failed    Status = "failed"    // it ended with errors
	Cancelled Status = "cancelled" // by somebody
	Skipped   Status = "skipped"   // a run that it waited for did not succeed
)

// Ended reports whether a run with the status never changes again.
func (s Status) Ended() bool { return slices.Contains([]Status{Done, Failed, Cancelled, Skipped}, s) }

// Phase is the part of a run that the next worker performs.
type Phase string

// The phases of runs.
const (
	Plan  Phase = "plan"
	Apply Phase = "apply"
)

// Request describes a run. All of it comes from outside: Check says whether it is well formed, and a worker has its own
// list of what it accepts.
type Request struct {
	// Repository is the address of the Git repository, without credentials, and Commit the full name of a commit.
	Repository, Commit string
	// Directory is relative to the root of the repository, with slashes; "." is the root.
	Directory string
	// Workspace is the workspace of the state, or empty for the default one. Unit is the name of a unit if Directory is
	// the root of a stack; then Workspace is empty.
	Workspace, Unit string
	// LockDigest is the SHA-256 of the lock file of the root module in this commit, or empty if there is none.
	LockDigest string

	Destroy, RefreshOnly bool
	Targets, Replace     []string // addresses

	// PlanOnly means that the plan is never applied; Auto means that it is applied without approval.
	PlanOnly, Auto bool

	Queue string
	// Accounts are names with limits, such as those of accounts at providers.
	Accounts []string
	// After are runs that must succeed first: positions in the list that is submitted, each before this one.
	After     []int
	Submitter string
}

// Run is a run and how it stands.
type Run struct {
	ID int64
	Request
	After []int64 // runs that must succeed first

	Status Status
	Phase  Phase
	Epoch  int64
	// Attempt counts the workers that had it, from 1.
	Attempt int
	// Recovering means that an apply was interrupted, so that the run plans again.
	Recovering bool
	Worker     int64 // the last one
	WorkerName string
	Cancel     Cancel
	// Changes means that the plan has changes. PlanDigest is the SHA-256 of the plan file, and PlanText is the plan for
	// people. Only Get returns the text.
	Changes              bool
	PlanDigest, PlanText string
	Approver             string
	// Problem is the reason why the run did not succeed or has to wait.
	Problem string
	// Lines is the number of lines of its log.
	Lines                     int64
	Submitted, Started, Ended time.Time
}

// Cancel is how urgently a run shall end.
type Cancel int

// The steps of a cancellation.
const (
	Continue Cancel = iota
	Stop            // finish the operations in flight, as after the first Ctrl-C
	Force           // abort the operations in flight, as after the second
)

// Limits of what a request may contain.
const (
	maxText  = 1024
	maxItems = 256
	// MaxPlan is the maximum size of a plan file in bytes.
	MaxPlan = 256 << 20
	// MaxAttempts is how many workers may have a run: one that ends its workers must not end all of them.
	MaxAttempts = 20
	// planAttempts is how often a plan is made that fails for a reason outside of the configuration.
	planAttempts = 3
)

var (
	commitName = regex.Lazy(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	queueName  = regex.Lazy(`^[a-z0-9]+([_-][a-z0-9]+)*$`)
	digest     = regex.Lazy(`^([0-9a-f]{64})?$`)
)

// ErrQueueName describes the names of queues and accounts.
var ErrQueueName = errors.New(`expected at most 64 small letters and digits, with single "-" or "_" between them`)

// CheckName returns an error if a text is not the name of a queue or account.
func CheckName(name string) error {
	if len(name) > 64 || !queueName().MatchString(name) {
		return fmt.Errorf("the name %q is not valid: %w", name, ErrQueueName)
	}
	return nil
}

// Check returns an error if a request is not well formed.
func (r *Request) Check() error {
	switch dir := r.Directory; {
	case !commitName().MatchString(r.Commit):
		return fmt.Errorf("the commit %q is not the full name of a commit: expected 40 or 64 hexadecimal digits",
			r.Commit)
	case dir == "" || path.IsAbs(dir) || path.Clean(dir) != dir || dir == ".." || strings.HasPrefix(dir, "../") ||
		strings.ContainsAny(dir, "\\:"):
		return fmt.Errorf("the directory %q is not valid: expected a path inside of the repository, with slashes", dir)
	case !digest().MatchString(r.LockDigest):
		return fmt.Errorf("the digest of the lock file %q is not valid: expected 64 hexadecimal digits", r.LockDigest)
	case r.Unit != "" && r.Workspace != "":
		return errors.New("a unit has the workspace of its block: the run must not name another one")
	case r.Unit != "" && (r.RefreshOnly || len(r.Targets)+len(r.Replace) > 0):
		return errors.New("a unit is planned as a whole: the run must not choose addresses or refresh only")
	case r.Destroy && r.RefreshOnly:
		return errors.New("a run cannot destroy and refresh only")
	case r.PlanOnly && r.Auto:
		return errors.New("a run that only plans cannot apply without approval")
	case len(r.Targets)+len(r.Replace)+len(r.Accounts) > maxItems:
		return fmt.Errorf("the run has more than %d addresses and accounts", maxItems)
	}
	texts := slices.Concat([]string{r.Repository, r.Directory, r.Workspace, r.Unit, r.Submitter}, r.Targets, r.Replace)
	for _, text := range texts {
		if len(text) > maxText || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			return fmt.Errorf("the text %.80q has control characters or more than %d bytes", text, maxText)
		}
	}
	if strings.HasPrefix(r.Unit, "-") || strings.HasPrefix(r.Workspace, "-") || r.Repository == "" {
		return errors.New("the run names no repository, or a unit or workspace that begins with a hyphen")
	}
	if strings.ContainsAny(r.Unit, `*?[\`) {
		return fmt.Errorf("the unit %q is a pattern: expected the name of one unit", r.Unit)
	}
	for _, name := range append([]string{r.Queue}, r.Accounts...) {
		if err := CheckName(name); err != nil {
			return err
		}
	}
	return nil
}

// Where returns the name of what a run is about, for people.
func (r *Request) Where() string {
	switch {
	case r.Unit != "":
		return r.Unit
	case r.Workspace != "":
		return r.Directory + "@" + r.Workspace
	}
	return r.Directory
}
