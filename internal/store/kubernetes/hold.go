package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/state"
)

// infoKey is the annotation of a lease that describes the lock holder.
const infoKey = "app.terraform.io/lock-info"

const (
	// lockTries limits how often locking is tried again because the lease has changed meanwhile.
	lockTries = 8
	// releaseTimeout limits the release of a lock when the caller's context has ended.
	releaseTimeout = 15 * time.Second
)

// lease holds the relevant parts of the lock.
type lease struct {
	Metadata metadata
	Spec     struct{ HolderIdentity *string }

	all map[string]any // as sent by the server
}

// holder returns the lock holder, or nil if the lock is free.
func (l *lease) holder() *state.LockInfo {
	if l == nil || l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" {
		return nil
	}
	var info state.LockInfo
	if json.Unmarshal([]byte(l.Metadata.Annotations[infoKey]), &info) != nil || info.ID != *l.Spec.HolderIdentity {
		info = state.LockInfo{ID: *l.Spec.HolderIdentity} // the rest is unknown
	}
	return &info
}

// heldBy reports whether the lock has this ID.
func (l *lease) heldBy(id string) bool { return l.holder() != nil && l.holder().ID == id }

func (p *place) leaseName() string { return "lock-" + p.name }
func (p *place) leasePath() string { return p.client.leases() + "/" + p.leaseName() }

// lease returns the lock, or nil if it never existed.
func (p *place) lease(ctx context.Context) (*lease, error) {
	a, err := p.client.send(ctx, http.MethodGet, p.leasePath(), nil, nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the lease %s: %w", p.leaseName(), err)
	case a.missing():
		return nil, nil
	case a.status != http.StatusOK:
		return nil, p.client.failed("read", "the lease "+p.leaseName(), a)
	}
	l := &lease{}
	if l.all, err = decode(a, l); err != nil || l.Metadata.ResourceVersion == "" {
		return nil, fmt.Errorf("read the lease %s: the server at %s is not Kubernetes. Check the address",
			p.leaseName(), p.client.base.Host)
	}
	return l, nil
}

// part returns a nested object, and creates it if it is missing.
func part(of map[string]any, name string) map[string]any {
	inner, ok := of[name].(map[string]any)
	if !ok {
		inner = map[string]any{}
		of[name] = inner
	}
	return inner
}

// set writes the lock holder, or none for "", if the lease has not changed since it was read.
func (p *place) set(ctx context.Context, was *lease, id, about string) error {
	method, path, all := http.MethodPut, p.leasePath(), map[string]any{}
	if was == nil {
		method, path = http.MethodPost, p.client.leases()
		all["apiVersion"], all["kind"] = "coordination.k8s.io/v1", "Lease"
		all["metadata"] = map[string]any{"name": p.leaseName(), "namespace": p.d.s.namespace, "labels": p.labels()}
	} else {
		all = was.all
	}
	notes := part(part(all, "metadata"), "annotations")
	if id == "" {
		delete(part(all, "spec"), "holderIdentity")
		delete(notes, infoKey)
	} else {
		part(all, "spec")["holderIdentity"] = id
		notes[infoKey] = about
	}
	a, err := p.client.send(ctx, method, path, nil, all)
	switch {
	case err != nil:
		return fmt.Errorf("write the lease %s: %w", p.leaseName(), err)
	case a.status == http.StatusConflict, a.status == http.StatusNotFound && was != nil:
		return objects.ErrUnmet
	case a.status != http.StatusOK && a.status != http.StatusCreated:
		return p.client.failed("write", "the lease "+p.leaseName(), a)
	}
	return nil
}

// Lock implements remote.Place.
func (p *place) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	about, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		there, err := p.lease(ctx)
		switch {
		case err != nil:
			if try > 1 {
				p.leave(ctx, info.ID)
			}
			return nil, err
		case there.heldBy(info.ID) && try > 1: // the retried request met its own effect
			return &hold{p: p, id: info.ID}, nil
		case there.holder() != nil:
			return nil, &state.LockedError{Info: there.holder()}
		}
		err = p.set(ctx, there, info.ID, string(about))
		switch {
		case err == nil:
			return &hold{p: p, id: info.ID}, nil
		case !errors.Is(err, objects.ErrUnmet):
			p.leave(ctx, info.ID)
			return nil, err
		case try == lockTries:
			return nil, &state.LockedError{Err: fmt.Errorf("other runs keep taking and releasing the lock of %s", p)}
		}
	}
}

// leave releases a lock that may have been acquired by a request without a response.
func (p *place) leave(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_ = p.free(ctx, id) // if it cannot be reached, the next run reports the lock
}

// free releases the lock with this ID.
func (p *place) free(ctx context.Context, id string) error {
	for try := 1; ; try++ {
		there, err := p.lease(ctx)
		switch {
		case err != nil:
			return err
		case !there.heldBy(id) && try > 1 && there.holder() == nil: // the first try has released it
			return nil
		case !there.heldBy(id):
			return remote.ErrLost
		}
		if err := p.set(ctx, there, "", ""); !errors.Is(err, objects.ErrUnmet) || try == lockTries {
			return err
		}
	}
}

// Holder implements remote.Place.
func (p *place) Holder(ctx context.Context) (*state.LockInfo, error) {
	there, err := p.lease(ctx)
	return there.holder(), err
}

// ForceUnlock implements remote.Place.
func (p *place) ForceUnlock(ctx context.Context, id string) error {
	holder, err := p.Holder(ctx)
	switch {
	case err != nil:
		return err
	case holder == nil:
		return remote.ErrNotLocked
	case holder.ID != id:
		return remote.AnotherLock(id, holder.ID)
	}
	if err := p.free(ctx, id); !errors.Is(err, remote.ErrLost) {
		return err
	}
	return remote.ErrTaken
}

// hold is a held lock. Without an id, the state is not locked.
type hold struct {
	p       *place
	id      string
	deleted bool // the workspace was deleted
}

// Write implements remote.Hold.
func (h *hold) Write(ctx context.Context, w remote.Write) (string, error) {
	zipped, err := remote.Zip(w.Data)
	if err != nil {
		return "", err
	}
	for try := 1; ; try++ {
		was, err := h.p.look(ctx)
		if err != nil {
			return "", err
		}
		if was.Version == version(w.Data) && !was.torn && (try > 1 || was.Version == w.Was) {
			return was.Version, nil // the first try has written it
		}
		if was.Version != w.Was && !(was.torn && was.Version == version(w.Data)) {
			return "", remote.ErrChanged
		}
		err = h.p.write(ctx, was, zipped)
		switch {
		case err == nil:
			return version(w.Data), nil
		case !errors.Is(err, objects.ErrUnmet):
			return "", err
		case try == lockTries:
			return "", remote.ErrChanged
		}
	}
}

// StartJournal implements remote.Hold.
func (h *hold) StartJournal(ctx context.Context, was string, first []byte) (string, error) {
	return h.p.journal.Start(ctx, was, first)
}

// Append implements remote.Hold.
func (h *hold) Append(ctx context.Context, version string, n int, chunk []byte) error {
	return h.p.journal.Add(ctx, version, n, chunk)
}

// Check implements remote.Hold.
func (h *hold) Check(ctx context.Context) error {
	if h.id == "" || ctx.Err() != nil {
		return ctx.Err()
	}
	there, err := h.p.lease(ctx)
	if err == nil && !there.heldBy(h.id) {
		err = remote.ErrLost
	}
	return err
}

// Delete implements remote.Hold. The journal is removed last: while it exists, the state can still be recovered.
func (h *hold) Delete(ctx context.Context) error {
	state, err := h.p.client.list(ctx, labelState+"=true,"+labelSuffix+"="+h.p.d.s.suffix+","+labelWorkspace+"="+
		h.p.workspace)
	if err != nil {
		return err
	}
	own, err := h.p.client.list(ctx, labelOwn+"="+label(h.p.name))
	if err != nil {
		return err
	}
	h.p.journal.Forget()
	h.p.spare.Forget()
	for _, one := range append(state, own...) {
		if err := h.p.client.remove(ctx, h.p.client.secrets()+"/"+one.Name, ""); err != nil {
			return err
		}
	}
	h.deleted = true
	return nil
}

// Unlock implements remote.Hold. If the workspace was deleted, it deletes the lease as well.
func (h *hold) Unlock(ctx context.Context) error {
	if h.id == "" || ctx.Err() != nil {
		return ctx.Err()
	}
	if err := h.p.repair(ctx); err != nil {
		return err
	}
	if err := h.p.free(ctx, h.id); err != nil || !h.deleted {
		return err
	}
	there, err := h.p.lease(ctx)
	if err != nil || there == nil || there.holder() != nil {
		return nil // the lock is released: ignore the error
	}
	_ = h.p.client.remove(ctx, h.p.leasePath(), there.Metadata.ResourceVersion)
	return nil
}
