package remote

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
)

// List implements history.Historian, if the place does.
func (w *workspace) List(ctx context.Context) ([]history.Former, error) {
	h, ok := w.place.(history.Historian)
	if !ok {
		return nil, history.ErrNoHistory
	}
	ctx, cancel := progress.Within(ctx, w.o.Timeout)
	defer cancel()
	all, err := h.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the former states of %s: %w", w.place, err)
	}
	return all, nil
}

// Snapshot implements history.Historian, if the place does.
func (w *workspace) Snapshot(ctx context.Context, id string) ([]byte, error) {
	h, ok := w.place.(history.Historian)
	if !ok {
		return nil, history.ErrNoHistory
	}
	ctx, cancel := progress.Within(ctx, w.o.Timeout)
	defer cancel()
	data, err := h.Snapshot(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read a former state of %s: %w", w.place, err)
	}
	if data, _, err = w.o.Cipher.Open(ctx, data); err != nil {
		return nil, fmt.Errorf("a former state of %s cannot be used: %w", w.place, err)
	}
	return data, nil
}
