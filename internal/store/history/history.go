// Package history describes former states and how stores list and read them.
package history

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/state"
)

// Variable is the environment variable that sets how many former states of each workspace a store keeps.
const Variable = "TOMBOLO_STATE_HISTORY"

// Keep returns how many former states to keep: the value of the environment variable, or usual. 0 means none.
func Keep(getenv func(string) string, usual int) (int, error) {
	v := getenv(Variable)
	if v == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0,
			fmt.Errorf("the environment variable %s is %q. Expected the number of former states to keep for each "+
				"workspace; 0 keeps none", Variable, v)
	}
	return n, nil
}

// Historian stores former states. It is a workspace of a store, or its place in a service. It decides how many states
// it keeps. Its methods may be called concurrently.
type Historian interface {
	// List returns the former states, newest first. The newest is not always the current state: another program may
	// have written since.
	List(ctx context.Context) ([]Former, error)
	// Snapshot returns the bytes of a former state, or ErrNoRevision if it is not kept.
	Snapshot(ctx context.Context, id string) ([]byte, error)
}

// Former describes a former state.
type Former struct {
	// ID is the argument of Snapshot: short, unique within the place, and never reused there.
	ID      string
	Written time.Time
	Serial  uint64
	Lineage string
	Size    int64 // of the state, in bytes
	// Foreign means that another program wrote the state. Then Written may be the time when it was replaced, and
	// Serial, Lineage and Revision are unknown.
	Foreign  bool
	Revision Revision
}

// Revision records who wrote a state and how.
type Revision struct {
	Run     state.RunInfo
	Who     string
	Version string // of the program
	Commit  string // of the working directory, if it is under version control
	// Numbers of objects that were created, updated and deleted. Addresses lists some of them, sorted.
	Created, Updated, Deleted int
	Addresses                 []string
}

// maxAddresses is the maximum number of addresses in a revision.
const maxAddresses = 50

// Made returns the revision of a change from one state to another. A change without its own command, such as the
// recovery of an earlier run by a plan, is named after the operation of the lock.
func (r Revision) Made(operation state.Operation, before, after *state.State) Revision {
	if r.Run.Command == "" {
		word, ours := strings.CutPrefix(string(operation), "OperationType")
		if ours {
			word = strings.ToLower(word)
		}
		r.Run.Command = word
	}
	for _, c := range state.Changes(before, after) {
		switch c.Action {
		case state.ActionCreate:
			r.Created++
		case state.ActionDelete:
			r.Deleted++
		default:
			r.Updated++
		}
		if len(r.Addresses) < maxAddresses {
			r.Addresses = append(r.Addresses, c.Addr.String())
		}
	}
	return r
}

// ErrNoRevision means that a former state is not stored.
var ErrNoRevision = errors.New("there is no such revision of the state")

// ErrNoHistory means that a store keeps no former states.
var ErrNoHistory = errors.New("the backend does not keep former states")
