// Package history has what former states are to a store that keeps them: a description of what made each, and a way to
// list and read them.
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

// Keep returns how many former states to keep, from the environment or by default. 0 keeps none.
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

// Historian stores former states: it is a workspace of a store, or its place in a service. It decides how many it
// keeps. Methods may be called concurrently.
type Historian interface {
	// List returns the states that are kept, the newest first. The newest is not always the state as it is now: another
	// program may have written since.
	List(ctx context.Context) ([]Former, error)
	// Snapshot returns the bytes of one of them, ErrNoRevision when it is not kept.
	Snapshot(ctx context.Context, id string) ([]byte, error)
}

// Former describes a former state.
type Former struct {
	// ID is that of Snapshot: short, unique within the place, and never used again there.
	ID      string
	Written time.Time
	Serial  uint64
	Lineage string
	Size    int64 // of the state, in bytes
	// Foreign is set when another program wrote it. Then Written may be when it was replaced, and of Serial, Lineage
	// and Revision nothing is known.
	Foreign  bool
	Revision Revision
}

// Revision records who wrote a state, and how.
type Revision struct {
	Run     state.RunInfo
	Who     string
	Version string // of the program
	Commit  string // of the working directory, when it is one of a version control system
	// Counts are the objects that were created, updated and deleted; Addresses some of them, sorted.
	Created, Updated, Deleted int
	Addresses                 []string
}

// maxAddresses are the addresses that a revision names.
const maxAddresses = 50

// Made returns the revision of a change from one state to another. A change without its own command, such as a
// recovery by a plan, is named after the operation of the lock.
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
