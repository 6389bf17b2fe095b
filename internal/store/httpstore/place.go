package httpstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// place is the state.
type place struct {
	s      *settings
	client *client
}

// String implements remote.Place.
func (p *place) String() string { return p.s.name }

// version returns the digest of a state: the protocol has no version.
func version(data []byte) string {
	if len(data) == 0 {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// fetch returns the state and its tag, if the server sends one.
func (p *place) fetch(ctx context.Context) (c remote.Content, etag string, err error) {
	r := request{what: "read", method: http.MethodGet, address: p.s.address, most: p.client.most}
	a, err := p.client.send(ctx, r)
	switch {
	case err != nil:
		return c, "", err
	case a.status == http.StatusNoContent, a.status == http.StatusNotFound,
		a.status == http.StatusOK && len(a.body) == 0:
		return c, "", nil
	case a.status != http.StatusOK:
		return c, "", p.client.failed(r, a)
	}
	return remote.Content{Data: a.body, Version: version(a.body)}, a.etag, nil
}

// kept checks that the server has stored the first state: some servers accept every request without storing anything.
func (p *place) kept(ctx context.Context) error {
	if there, _, err := p.fetch(ctx); err != nil || there.Data != nil {
		return nil // if it cannot be read now, trust the response to the write
	}
	return &problem{text: fmt.Sprintf("write %s: the server accepted the state, but does not return it. Check the "+
		"address and the server: it must store what it receives", p.s.name)}
}

// Read implements remote.Place.
func (p *place) Read(ctx context.Context) (remote.Content, error) {
	c, _, err := p.fetch(ctx)
	return c, err
}

// ReadJournal implements remote.Place.
func (p *place) ReadJournal(context.Context) (remote.Journal, error) {
	return remote.Journal{}, remote.ErrNoJournal
}

// Unlocked implements remote.Place.
func (p *place) Unlocked(context.Context) (remote.Hold, error) { return &hold{p: p}, nil }

// asking returns a request for the lock.
func (p *place) asking(body []byte) request {
	return request{what: "lock", method: p.s.lockMethod, address: p.s.lock, body: body}
}

// looking is the operation of a lock that is only acquired to find its holder.
const looking state.Operation = "read the lock"

// A lock that is only acquired to find its holder is soon released.
const (
	lookTries = 10
	lookPause = 200 * time.Millisecond
)

// Lock implements remote.Place. Without lock_address there is no lock, as in Terraform.
func (p *place) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	if p.s.lock == nil {
		return &hold{p: p}, ctx.Err()
	}
	body, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	h := &hold{p: p, id: info.ID, body: body}
	for try := 1; ; try++ {
		r := p.asking(body)
		a, err := p.client.send(ctx, r)
		switch {
		case err != nil:
			p.leave(ctx, info.ID, body)
			return nil, err
		case a.ok():
			return h, nil
		case !a.refused():
			p.leave(ctx, info.ID, body)
			return nil, p.client.failed(r, a)
		}
		holder := holderOf(a)
		switch {
		case holder.ID == info.ID: // the response to the first try was lost
			return h, nil
		case holder.Operation == looking && try < lookTries:
			if err := pause(ctx, lookPause); err != nil {
				return nil, err
			}
			continue
		case holder.ID == "":
			return nil, &state.LockedError{Err: fmt.Errorf("the state %s is locked. The server does not report who "+
				"holds the lock%s",
				p, p.description(a))}
		}
		return nil, &state.LockedError{Info: &holder}
	}
}

// description returns the server's own message.
func (p *place) description(a *answer) string {
	if text := message(a.body); text != "" {
		return ": " + p.s.clean(text)
	}
	return ""
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// holderOf returns the lock holder that a refusal describes. Without an ID, nothing is known.
func holderOf(a *answer) state.LockInfo {
	var info state.LockInfo
	_ = json.Unmarshal(a.body, &info) // ignore information that cannot be read
	return info
}

// releaseTimeout limits the check and the release of a lock when the caller's context has ended.
const releaseTimeout = 15 * time.Second

// leave releases a lock that may have been acquired by a request without a response.
func (p *place) leave(ctx context.Context, id string, body []byte) {
	if p.s.unlock == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	a, err := p.client.once(ctx, p.asking(body))
	if err == nil && (a.ok() || a.refused() && holderOf(a).ID == id) {
		_ = p.free(ctx, body)
	}
}

// free releases a held lock. If a retry is refused, an earlier try has released it.
func (p *place) free(ctx context.Context, body []byte) error {
	r := request{what: "unlock", method: p.s.unlockMethod, address: p.s.unlock, body: body}
	for try := 0; ; try++ {
		a, err := p.client.once(ctx, r)
		switch {
		case err == nil && a.ok(), err == nil && try > 0 && !again(a, nil):
			return nil
		case !again(a, err) || try >= p.s.retries:
			if err == nil {
				err = p.client.failed(r, a)
			}
			return err
		}
		if err := p.client.wait(ctx, try, a); err != nil {
			return err
		}
	}
}

// HolderTakesTheLock implements remote.Probing.
func (p *place) HolderTakesTheLock() {}

// Holder implements remote.Place. The protocol has no query for it, so Holder briefly acquires the lock.
func (p *place) Holder(ctx context.Context) (*state.LockInfo, error) {
	if p.s.lock == nil || p.s.unlock == nil {
		return nil, ctx.Err()
	}
	id := uuid.NewString()
	body, err := json.Marshal(state.LockInfo{ID: id, Operation: looking, Created: time.Now().UTC(), Path: p.String()})
	if err != nil {
		return nil, err
	}
	r := p.asking(body)
	a, err := p.client.send(ctx, r)
	switch {
	case err != nil:
		p.leave(ctx, id, body)
		return nil, err
	case a.ok(), a.refused() && holderOf(a).ID == id:
		// An interrupted run releases it as well.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		return nil, p.free(ctx, body)
	case a.refused():
		info := holderOf(a)
		if info.Operation == looking { // GitLab repeats the request, except for the ID, the user and the time
			info.Operation = ""
		}
		return &info, nil
	}
	p.leave(ctx, id, body)
	return nil, p.client.failed(r, a)
}

// ForceUnlock implements remote.Place. It sends only the ID, which the server should compare once more.
func (p *place) ForceUnlock(ctx context.Context, id string) error {
	if p.s.lock == nil || p.s.unlock == nil {
		return errors.New("the state has no lock to release: lock_address and unlock_address must be set")
	}
	holder, err := p.Holder(ctx)
	switch {
	case err != nil:
		return err
	case holder == nil:
		return remote.ErrNotLocked
	case holder.ID != "" && holder.ID != id:
		return remote.AnotherLock(id, holder.ID)
	}
	body, err := json.Marshal(map[string]string{"ID": id})
	if err != nil {
		return err
	}
	return p.free(ctx, body)
}
