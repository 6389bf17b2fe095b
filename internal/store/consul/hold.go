package consul

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/state"
)

// Locks are configured as by the other programs. Consul ends a session after twice its time to live without renewal,
// and does not grant its locks again during the delay.
const (
	sessionTTL   = "15s"
	sessionDelay = "5s"
	renewal      = 5 * time.Second
	// lockFlags mark a key as a lock. Clients of Consul refuse to lock keys with other flags.
	lockFlags = 0x2ddccbc058a50c18
	// releaseTimeout limits the release of a lock when the caller's context has ended.
	releaseTimeout = 15 * time.Second
)

// errEnded means that the session does not exist in Consul.
var errEnded = errors.New("the session has ended")

// startSession creates a session.
func (c *client) startSession(ctx context.Context) (id string, _ error) {
	body := []byte(`{"Name":"tombolo","TTL":"` + sessionTTL + `","LockDelay":"` + sessionDelay + `"}`)
	a, err := c.send(ctx, http.MethodPut, "/v1/session/create", nil, body)
	if err != nil {
		return "", fmt.Errorf("create a session for the lock: %w", err)
	}
	var made struct{ ID string }
	if a.status != http.StatusOK || json.Unmarshal(a.body, &made) != nil || made.ID == "" {
		return "", c.failed("create a session for", "the lock", a)
	}
	return made.ID, nil
}

// renewSession keeps a session alive.
func (c *client) renewSession(ctx context.Context, id string) error {
	a, err := c.once(ctx, http.MethodPut, "/v1/session/renew/"+id, nil, nil)
	switch {
	case err != nil:
		return err
	case a.status == http.StatusNotFound:
		return errEnded
	case a.status != http.StatusOK:
		return c.failed("renew", "the session "+id, a)
	}
	return nil
}

// endSession ends a session and releases its locks.
func (c *client) endSession(ctx context.Context, id string) error {
	a, err := c.send(ctx, http.MethodPut, "/v1/session/destroy/"+id, nil, nil)
	if err != nil {
		return fmt.Errorf("end the session %s: %w", id, err)
	}
	if a.status != http.StatusOK {
		return c.failed("end", "the session "+id, a)
	}
	return nil
}

// hold is a held lock. Without a session, the state is not locked.
type hold struct {
	p       *place
	session string
	journal *objects.Journal
	stop    context.CancelFunc
	done    chan struct{} // closed when the session is no longer renewed
	ended   atomic.Bool   // the session does not exist in Consul any longer
}

func (p *place) holding(session string) *hold {
	h := &hold{p: p, session: session}
	h.journal = p.journal.Over(space{client: p.client, guard: h.guard()})
	return h
}

// guard returns the condition of a write: the session holds the lock.
func (h *hold) guard() []operation {
	if h.session == "" {
		return nil
	}
	return []operation{{Verb: "check-session", Key: h.p.lockKey(), Session: h.session}}
}

// ID implements remote.Named: the ID of the lock is the ID of its session, with which others can release it.
func (h *hold) ID() string { return h.session }

// Lock implements remote.Place. The lock and its information are written together.
func (p *place) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	if !p.d.s.lock {
		return p.holding(""), ctx.Err()
	}
	session, err := p.client.startSession(ctx)
	if err != nil {
		return nil, err
	}
	info.ID = session
	body, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	_, err = p.client.commit(ctx, "lock", p.key,
		operation{Verb: "lock", Key: p.lockKey(), Session: session, Flags: lockFlags},
		operation{Verb: "set", Key: p.infoKey(), Value: body})
	if err != nil {
		// The response may have been lost, so that a retry met the lock of the first try.
		there, lookErr := p.client.get(ctx, p.lockKey())
		if lookErr == nil && there != nil && there.Session == session {
			err = nil
		} else {
			p.leave(ctx, session, lookErr != nil)
		}
	}
	if err == nil {
		h := p.holding(session)
		h.keep()
		return h, nil
	}
	if r := (*refused)(nil); !errors.As(err, &r) {
		return nil, err
	}
	holder, err := p.Holder(ctx)
	switch {
	case err != nil:
		return nil, err
	case holder == nil:
		return nil, &state.LockedError{Err: fmt.Errorf("the lock of %s is free, but Consul does not grant it for "+
			"another %s, because the session of its last holder ended without releasing it. Try again later",
			p, sessionDelay)}
	}
	return nil, &state.LockedError{Info: holder}
}

// leave ends a session. If the lock may have been acquired by a request without a response, it first releases that:
// after the end of a session, Consul does not grant its locks for a while.
func (p *place) leave(ctx context.Context, session string, taken bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if taken {
		_ = p.free(ctx, session)
	}
	_ = p.client.endSession(ctx, session) // the session also expires on its own
}

// free releases the lock of a session. If the request is refused, an earlier try has released it.
func (p *place) free(ctx context.Context, session string) error {
	ops := []operation{{Verb: "check-session", Key: p.lockKey(), Session: session},
		{Verb: "delete", Key: p.infoKey()}, {Verb: "delete", Key: p.lockKey()}}
	body, err := prepare(ops)
	if err != nil {
		return err
	}
	pause := p.client.wait
	for try := 0; ; try++ {
		a, err := p.client.once(ctx, http.MethodPut, "/v1/txn", nil, body)
		if err == nil {
			_, err = p.client.committed("unlock", p.key, ops, a)
		}
		switch {
		case err == nil, try > 0 && errors.Is(err, remote.ErrLost):
			return nil
		case errors.Is(err, remote.ErrLost), try == retries, ctx.Err() != nil:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// keep renews the session until the lock is released or the driver is closed.
func (h *hold) keep() {
	ctx, stop := context.WithCancel(h.p.d.open)
	h.stop, h.done = stop, make(chan struct{})
	go func() {
		defer close(h.done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(renewal):
			}
			limited, cancel := context.WithTimeout(ctx, 2*renewal)
			err := h.p.client.renewSession(limited, h.session)
			cancel()
			if errors.Is(err, errEnded) {
				h.ended.Store(true)
				return
			}
		}
	}()
}

// Write implements remote.Hold. A state that is too large for one key is stored in parts, which are written before the
// key refers to them. The former parts are removed in the same transaction.
func (h *hold) Write(ctx context.Context, w remote.Write) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	at, err := number(w.Was)
	if err != nil {
		return "", err
	}
	was, err := h.p.keptAs(ctx, w.Was)
	if err != nil {
		return "", err
	}
	value := w.Data
	if h.p.d.s.gzip {
		if value, err = remote.Zip(value); err != nil {
			return "", err
		}
	}
	now := link{}
	if len(value) > inOne {
		if now, err = h.split(ctx, w.Data, value, was); err != nil {
			return "", err
		}
		if value, err = json.Marshal(now); err != nil {
			return "", err
		}
	}
	ops := append(h.guard(), operation{Verb: "cas", Key: h.p.key, Value: value, Index: at})
	if was.Hash != "" && was.Hash != now.Hash {
		ops = append(ops, operation{Verb: "delete-tree", Key: h.p.folder(was.Hash)})
	}
	pairs, err := h.p.client.commit(ctx, "write", h.p.key, ops...)
	if err != nil {
		return "", err
	}
	version, err := index(pairs, h.p.key)
	if err == nil {
		h.p.remember(now, version)
	}
	return version, err
}

// split writes the parts of a state. The digest always covers the uncompressed state.
func (h *hold) split(ctx context.Context, data, value []byte, was link) (link, error) {
	l := link{Hash: digest(data)}
	for n := 0; len(value) > 0; n++ {
		part := value[:min(maxValue, len(value))]
		key := fmt.Sprintf("%s%d", h.p.folder(l.Hash), n)
		if l.Hash != was.Hash { // otherwise the parts already exist
			if err := h.p.client.put(ctx, key, part); err != nil {
				return l, err
			}
		}
		l.Chunks, value = append(l.Chunks, key), value[len(part):]
	}
	if l.Hash == was.Hash {
		l.Chunks = was.Chunks
	}
	return l, nil
}

// StartJournal implements remote.Hold.
func (h *hold) StartJournal(ctx context.Context, was string, first []byte) (string, error) {
	return h.journal.Start(ctx, was, first)
}

// Append implements remote.Hold.
func (h *hold) Append(ctx context.Context, version string, n int, chunk []byte) error {
	return h.journal.Add(ctx, version, n, chunk)
}

// Check implements remote.Hold.
func (h *hold) Check(ctx context.Context) error {
	if h.session == "" || ctx.Err() != nil {
		return ctx.Err()
	}
	if h.ended.Load() {
		return remote.ErrLost
	}
	lock, err := h.p.client.get(ctx, h.p.lockKey())
	if err == nil && (lock == nil || lock.Session != h.session) {
		err = remote.ErrLost
	}
	return err
}

// Delete implements remote.Hold.
func (h *hold) Delete(ctx context.Context) error {
	there, err := h.p.client.get(ctx, h.p.key)
	if err != nil {
		return err
	}
	ops := slices.Concat(h.guard(), []operation{{Verb: "delete-tree", Key: h.p.own()}})
	if there != nil {
		ops = append(ops, operation{Verb: "delete", Key: h.p.key})
		if l := linked(there.Value); l.Hash != "" {
			ops = append(ops, operation{Verb: "delete-tree", Key: h.p.folder(l.Hash)})
		}
	}
	h.journal.Forget()
	h.p.remember(link{}, "")
	_, err = h.p.client.commit(ctx, "delete", h.p.key, ops...)
	return err
}

// Unlock implements remote.Hold.
func (h *hold) Unlock(ctx context.Context) error {
	if h.session == "" || ctx.Err() != nil {
		return ctx.Err()
	}
	if err := h.p.free(ctx, h.session); err != nil {
		return err
	}
	h.stop()
	<-h.done
	_ = h.p.client.endSession(ctx, h.session) // the session has no lock, and expires on its own
	return nil
}
