package azure

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
)

// hold is a held lock. Without an id, the state is not locked.
type hold struct {
	p    *place
	id   string
	meta map[string]string // the blob's metadata without the lock

	mu    sync.Mutex
	empty bool // the blob has no content: it exists only for the lock
	gone  bool // the state was deleted; delete its snapshots as well
	kept  bool // a snapshot was made
}

func (a *answer) contentLength() int64 {
	n, _ := strconv.ParseInt(a.header.Get("Content-Length"), 10, 64)
	return n
}

// writeTries limits how often a write reads the state again because its tag has changed.
const writeTries = 5

// Write implements remote.Hold. A blob's tag also changes with its metadata, so a new tag is only a conflict if the
// content differs.
func (h *hold) Write(ctx context.Context, w remote.Write) (string, error) {
	h.p.mu.Lock()
	o := h.p.last
	h.p.mu.Unlock()
	if h.id == "" { // without a lock, other runs may have written or may hold the lock now
		o = nil
	}
	fresh := false
	for try := 1; ; try++ {
		if o == nil || version(o.data) != w.Was && !fresh {
			var err error
			if o, err = h.p.look(ctx); err != nil {
				return "", err
			}
			fresh = true
		}
		if try > 1 && bytes.Equal(o.data, w.Data) { // our write succeeded, but its response was lost
			return version(w.Data), nil
		}
		if version(o.data) != w.Was {
			return "", remote.ErrChanged
		}
		err := h.replace(ctx, o, w.Data)
		if !errors.Is(err, objects.ErrUnmet) {
			return version(w.Data), err
		}
		if try == writeTries {
			return "", remote.ErrChanged
		}
		h.p.remember(nil)
		o, fresh = nil, false
	}
}

// replace replaces the content of a blob that is unchanged since it was read.
func (h *hold) replace(ctx context.Context, o *blob, data []byte) error {
	h.mu.Lock()
	kept := h.kept
	h.mu.Unlock()
	if h.p.b.s.snapshot && o.size > 0 && !kept {
		if err := h.p.b.snapshot(ctx, h.p.key, h.id); err != nil {
			return err
		}
	}
	etag, err := h.p.b.put(ctx, h.p.key, data, o.etag, h.id, o.meta)
	if err != nil {
		return err
	}
	h.p.remember(&blob{data: bytes.Clone(data), etag: etag, size: int64(len(data)), meta: maps.Clone(o.meta)})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.empty, h.kept = len(data) == 0, false
	return nil
}

// StartJournal implements remote.Hold.
func (h *hold) StartJournal(ctx context.Context, was string, first []byte) (string, error) {
	version, err := h.p.journal.Start(ctx, was, first)
	return version, changed(err)
}

// Append implements remote.Hold.
func (h *hold) Append(ctx context.Context, version string, n int, chunk []byte) error {
	return changed(h.p.journal.Add(ctx, version, n, chunk))
}

// changed translates an unmet condition to the contract's error.
func changed(err error) error {
	if errors.Is(err, objects.ErrUnmet) {
		return remote.ErrChanged
	}
	return err
}

// Check implements remote.Hold.
func (h *hold) Check(ctx context.Context) error {
	if h.id == "" {
		return ctx.Err()
	}
	o, err := h.p.b.head(ctx, h.p.key, h.id)
	if errors.Is(err, errUnleased) || err == nil && o == nil {
		return remote.ErrLost
	}
	return err
}

// Unlock implements remote.Hold. It removes a blob that was created for the lock.
func (h *hold) Unlock(ctx context.Context) error {
	if h.id == "" {
		return ctx.Err()
	}
	h.mu.Lock()
	empty, gone := h.empty, h.gone
	h.mu.Unlock()
	if empty {
		// If a response was lost, a missing blob means success: it has no lease.
		o, err := h.p.b.head(ctx, h.p.key, h.id)
		switch {
		case errors.Is(err, errUnleased), err == nil && o == nil:
			return remote.ErrLost
		case err != nil:
			return err
		case o.size == 0:
			err := h.p.b.remove(ctx, h.p.key, h.id, o.etag, gone)
			if errors.Is(err, errUnleased) {
				return remote.ErrLost
			}
			if !errors.Is(err, objects.ErrUnmet) {
				return err
			}
		}
	}
	if _, err := h.p.b.setMeta(ctx, h.p.key, h.id, h.meta); err != nil {
		if errors.Is(err, errUnleased) {
			return remote.ErrLost
		}
		return err
	}
	a, r, err := h.p.b.lease(ctx, h.p.key, "release", h.id)
	switch {
	case err != nil:
		return err
	case a.ok(), a.again && (a.status == http.StatusConflict || missing(a)):
		return nil
	case leaseMissing(a), missing(a):
		return remote.ErrLost
	}
	return h.p.b.refused(r, a)
}

// Delete implements remote.Hold. The blob remains without content while it carries the lock. The journal is removed
// last: while it exists, the state can still be recovered.
func (h *hold) Delete(ctx context.Context) error {
	o, err := h.p.look(ctx)
	if err != nil {
		return err
	}
	switch {
	case o.etag == "" || len(o.data) == 0:
	case h.id == "":
		err = h.p.b.remove(ctx, h.p.key, "", o.etag, true)
	default:
		err = h.replace(ctx, o, nil)
	}
	if err != nil {
		return changed(err)
	}
	h.mu.Lock()
	h.gone = true
	h.mu.Unlock()
	h.p.remember(nil)
	var names []string
	err = h.p.b.list(ctx, h.p.folder, func(name string, _ int64) { names = append(names, name) })
	if err != nil {
		return err
	}
	h.p.journal.Forget()
	errs := make([]error, len(names))
	objects.Each(len(names), func(i int) { errs[i] = h.p.b.remove(ctx, names[i], "", "", false) })
	return errors.Join(errs...)
}
