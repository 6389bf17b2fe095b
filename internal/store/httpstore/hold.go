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
	body []byte // the lock information as it was sent

	mu sync.Mutex
	// lenient means that the server gives a lock to its holder once more, so that asking for it says nothing.
	lenient bool
	gone    bool // it was given back, or lost
	// unmatched means that the server refuses conditions that hold.
	unmatched bool
}

// Write implements remote.Hold. Before the state is sent, what stands there is compared, and the lock; where the server
// gives tags it compares once more. Elsewhere another may come between.
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
			// Either the state is another one now, which the next look finds, or the tag is none to the server.
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
// whose result is not known, it also reports whether the state was written.
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

// writing returns the request that writes a state over the one with a tag.
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

// pause waits before another attempt, or returns why there is none.
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

// Check implements remote.Hold. It continues when the caller does not wait any more: a request that is given up may
// arrive after the lock was released, and take it for nobody.
func (h *hold) Check(ctx context.Context) error {
	if h.id == "" || ctx.Err() != nil {
		return ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer cancel()
	held, err := h.held(ctx)
	if err == nil && !held {
		err = remote.ErrLost
	}
	return err
}

// held asks for the lock once more. It is refused in the holder's own name while it is held; a server that gives it
// has either lost it, or gives it to its holder as often as that one asks, which the next request shows. Called with
// mu held.
func (h *hold) held(ctx context.Context) (bool, error) {
	if h.gone {
		return false, nil
	}
	r := h.p.asking(h.body)
	a, err := h.p.client.send(ctx, r)
	if err == nil && a.ok() && !h.lenient {
		if a, err = h.p.client.send(ctx, r); err == nil && a.refused() {
			// Nobody had it, and so we have taken it.
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

// Unlock implements remote.Hold. A lock of another is left alone, which servers do not all see to.
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
		case !held && try > 0: // the try before has freed it
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
