package remote

import (
	"context"
	"errors"
	"time"
)

// Historian is a Place that keeps former states. How many it keeps is the backend's matter. Methods may be called
// concurrently.
type Historian interface {
	// List returns the states that are kept, the newest first. The newest is not always the state as it is now: another
	// program may have written since.
	List(ctx context.Context) ([]Former, error)
	// Snapshot returns the bytes of one of them, ErrNoRevision when it is not kept.
	Snapshot(ctx context.Context, id string) ([]byte, error)
}

// Former is a state that was written once.
type Former struct {
	// ID is that of Snapshot: short, unique within the place, and never used again there.
	ID      string
	Written time.Time
	Serial  uint64
	Lineage string
	Size    int64
	// Foreign is set when another program wrote it. Then Written may be when it was replaced, and of Serial, Lineage
	// and Revision nothing is known.
	Foreign  bool
	Revision Revision
}

// ErrNoRevision says that a former state is not kept, or not any more.
var ErrNoRevision = errors.New("there is no such revision of the state")
