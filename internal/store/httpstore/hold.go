package httpstore

import (
	"bytes"
	"context"
	"net/http"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// hold is a held lock. Without an id, the state is not locked.
type hold struct {
	p    *place
	id   string
	body []byte // the lock information as sent

	mu sync.Mutex
	// lenient means that the server grants a lock to its holder again, so that a repeated request for it proves
	// nothing.
	lenient bool
	gone    bool // the lock was released or lost
	// unmatched means that the server refuses conditions although they hold.
	unmatched bool
}

// Write implements remote.Hold. Before it sends the state, it compares the current state and checks the lock. A server
// that sends tags compares once more; with other servers, another run may write in between.
func (h *hold) Write(ctx context.Context, w remote.Write) (string, error) {
	for try := 0; ; try++ {
		tag, written, err := h.compare(ctx, w, try > 0)
		if err != nil || written {
			return version(w.Data), err
		}
		r := h.writing(w, tag)
		a, err := h.p.client.once(ctx, r)
		switch {
		case err == nil && a.ok():
			if w.Was == "" {
				err = h.p.kept(ctx)
			}
			return version(w.Data), err
		case err == nil && a.status == http.StatusPreconditionFailed && r.match != "" && try <= h.p.s.retries:
			// Either the state has changed, which the next look shows, or the server does not accept its own tag.
			h.ignore()
			continue
		case err == nil && a.refused():
			if err := h.Check(ctx); err != nil {
				return "", err
			}
		}
		if err := h.pause(ctx, try, r, a, err); err != nil {
			return "", err
		}
	}
}

// compare checks that the lock is held and that the state is the one to replace, and returns its tag. After an attempt
// with an unknown result, it also reports whether that wrote the state.
func (h *hold) compare(ctx context.Context, w remote.Write, attempted bool) (tag string, written bool, err error) {
	there, tag, err := h.p.fetch(ctx)
	switch {
	case err != nil:
		return "", false, err
	case attempted && bytes.Equal(there.Data, w.Data):
		return tag, true, nil
	case there.Version != w.Was:
		return "", false, remote.ErrChanged
	}
	return tag, false, h.Check(ctx)
}

// writing returns the request that replaces the state with this tag.
func (h *hold) writing(w remote.Write, tag string) request {
	r := request{what: "write", method: h.p.s.update, address: h.p.s.address, body: w.Data}
	if h.id != "" {
		address := *r.address
		query := address.Query()
		query.Set("ID", h.id)
		address.RawQuery = query.Encode()
		r.address = &address
	}
	if !h.ignoring() {
		r.match = tag
	}
	return r
}

// pause waits before another attempt, or returns the reason why there is none.
func (h *hold) pause(ctx context.Context, try int, r request, a *answer, err error) error {
	switch {
	case again(a, err) && try < h.p.s.retries:
		return h.p.client.wait(ctx, try, a)
	case err != nil:
		return err
	}
	return h.p.client.failed(r, a)
}

func (h *hold) ignoring() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unmatched
}

func (h *hold) ignore() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unmatched = true
}

// StartJournal implements remote.Hold.
func (h *hold) StartJournal(context.Context, string, []byte) (string, error) {
	return "", remote.ErrNoJournal
}

// Append implements remote.Hold.
func (h *hold) Append(context.Context, string, int, []byte) error { return remote.ErrNoJournal }

// Check implements remote.Hold. It continues after the caller's context has ended: an abandoned request could arrive
// after the lock was released, and acquire it again.
func (h *hold) Check(ctx context.Context) error {
	if h.id == "" || ctx.Err() != nil {
		return ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	held, err := h.held(ctx)
	if err == nil && !held {
		err = remote.ErrLost
	}
	return err
}

// held requests the lock once more. While the lock is held, the server refuses that and names us as the holder. If the
// server grants it, either the lock was lost, or the server grants it to its holder again; the next request shows
// which. It is called with mu held.
func (h *hold) held(ctx context.Context) (bool, error) {
	if h.gone {
		return false, nil
	}
	r := h.p.asking(h.body)
	a, err := h.p.client.send(ctx, r)
	if err == nil && a.ok() && !h.lenient {
		if a, err = h.p.client.send(ctx, r); err == nil && a.refused() {
			// The lock was free, so this request has acquired it.
			h.gone = true
			if id := holderOf(a).ID; (id == "" || id == h.id) && h.p.s.unlock != nil {
				err = h.p.free(ctx, h.body)
			}
			return false, err
		}
		h.lenient = err == nil && a.ok()
	}
	switch {
	case err != nil:
		return false, err
	case a.ok():
		return true, nil
	case a.refused():
		id := holderOf(a).ID
		h.gone = id != "" && id != h.id
		return !h.gone, nil
	}
	return false, h.p.client.failed(r, a)
}

// Delete implements remote.Hold.
func (h *hold) Delete(ctx context.Context) error {
	r := request{what: "delete", method: http.MethodDelete, address: h.p.s.address}
	a, err := h.p.client.send(ctx, r)
	if err != nil || a.ok() || a.status == http.StatusNotFound {
		return err
	}
	return h.p.client.failed(r, a)
}

// Unlock implements remote.Hold. It does not release a lock of another run, although some servers would allow that.
func (h *hold) Unlock(ctx context.Context) error {
	if h.id == "" || h.p.s.unlock == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r := request{what: "unlock", method: h.p.s.unlockMethod, address: h.p.s.unlock, body: h.body}
	for try := 0; ; try++ {
		held, err := h.held(ctx)
		switch {
		case err != nil:
			return err
		case !held && try > 0: // the first try has released it
			return nil
		case !held:
			return remote.ErrLost
		}
		a, err := h.p.client.once(ctx, r)
		if err == nil && a.ok() {
			h.gone = true
			return nil
		}
		if !again(a, err) || try >= h.p.s.retries {
			if err == nil {
				err = h.p.client.failed(r, a)
			}
			return err
		}
		if err := h.p.client.wait(ctx, try, a); err != nil {
			return err
		}
	}
}
