package remote

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Historian is a Place that keeps former states, or a workspace of the store, whose place may. How many it keeps is the
// backend's matter. Methods may be called concurrently.
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

// ErrNoRevision means that a former state is not kept, or not any more.
var ErrNoRevision = errors.New("there is no such revision of the state")

// ErrNoHistory means that a backend keeps no former states.
var ErrNoHistory = errors.New("the backend keeps no former states")

// List implements Historian, where the place does.
func (w *workspace) List(ctx context.Context) ([]Former, error) {
	h, ok := w.place.(Historian)
	if !ok {
		return nil, ErrNoHistory
	}
	ctx, cancel := context.WithTimeout(ctx, w.o.Timeout)
	defer cancel()
	all, err := h.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the former states of %s: %w", w.place, err)
	}
	return all, nil
}

// Snapshot implements Historian, where the place does.
func (w *workspace) Snapshot(ctx context.Context, id string) ([]byte, error) {
	h, ok := w.place.(Historian)
	if !ok {
		return nil, ErrNoHistory
	}
	ctx, cancel := context.WithTimeout(ctx, w.o.Timeout)
	defer cancel()
	data, err := h.Snapshot(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read a former state of %s: %w", w.place, err)
	}
	return data, nil
}
