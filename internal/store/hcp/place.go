package hcp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
	"github.com/tombolo-iac/tombolo/state"
)

// place is a workspace of the service.
type place struct {
	d      *driver
	client *client
	name   string
}

// title returns the names of organization and workspace, which Terraform also uses as the ID of the lock.
func (p *place) title() string { return p.d.s.organization + "/" + p.name }

// String implements remote.Place.
func (p *place) String() string { return p.d.s.host + "/" + p.title() }

// ReadJournal implements remote.Place.
func (p *place) ReadJournal(context.Context) (remote.Journal, error) {
	return remote.Journal{}, remote.ErrNoJournal
}

// Read implements remote.Place.
func (p *place) Read(ctx context.Context) (remote.Content, error) {
	w, err := p.show(ctx)
	if err != nil || w == nil {
		return remote.Content{}, err
	}
	v, err := p.current(ctx, w)
	if err != nil || v == nil {
		return remote.Content{}, err
	}
	data, err := p.download(ctx, v)
	if err != nil {
		return remote.Content{}, err
	}
	if len(data) == 0 { // a person may have stored an empty state
		return remote.Content{Version: v.ID}, nil
	}
	p.d.know(v.ID, factsOf(data, v.Attributes.Serial))
	return remote.Content{Data: data, Version: v.ID}, nil
}

// factsOf returns the facts of a content. For an encrypted state, its envelope contains lineage and serial.
func factsOf(data []byte, serial uint64) *facts {
	f := &facts{serial: serial, digest: sha256.Sum256(data)}
	var head struct {
		Lineage string
		Serial  *uint64
	}
	if json.Unmarshal(data, &head) == nil {
		if f.lineage = head.Lineage; head.Serial != nil {
			f.serial = *head.Serial
		}
	}
	return f
}

// download returns the content of a state version.
func (p *place) download(ctx context.Context, v *version) ([]byte, error) {
	what := "read the state of " + p.title()
	if v.Attributes.Download == "" {
		return nil, fmt.Errorf("%s: the state version %s has no content: status %q. Another program may have been "+
			"interrupted while it uploaded the state. Try again, or choose an older version as the current one in "+
			"the service", what, v.ID, web.Short(v.Attributes.Status))
	}
	r, next := request{what: what, method: http.MethodGet, most: p.client.most}, v.Attributes.Download
	for hop := 0; ; hop++ {
		var err error
		if r.address, err = p.client.content(ctx, r.address, next); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		a, err := p.client.send(ctx, r)
		switch {
		case err != nil:
			return nil, err
		case a.status == http.StatusNoContent:
			return nil, nil
		case a.status == http.StatusOK:
			return a.body, nil
		case a.status/100 != 3 || a.to == "" || hop == maxHops:
			return nil, p.client.failed(r, a)
		}
		next = a.to // some servers redirect to a bucket
	}
}

// maxHops is the maximum number of redirections to a content.
const maxHops = 5

// note is a lock's record of its holder, stored as the reason that the service displays. It is JSON, with the ID first.
type note struct {
	ID        string
	Operation state.Operation
	Who       string
	Created   time.Time
	Info      string `json:",omitempty"`
}

// ours begins the reason of locks of Tombolo.
const ours = "Locked by Tombolo: "

func reasonOf(info state.LockInfo) string {
	body, err := json.Marshal(note{info.ID, info.Operation, info.Who, info.Created, info.Info})
	if err != nil {
		return ours + info.ID
	}
	return ours + string(body)
}

// noted matches the ID in a reason that was cut off.
var noted = regex.Lazy(`^\{"ID":"([^"\\]+)"`)

// holder returns the holder of a workspace's lock, or nil if it is free. If another program holds it, or if the server
// does not describe the holder, the ID of the lock is the title of the workspace.
func (p *place) holder(w *workspace) *state.LockInfo {
	if w == nil || !w.Attributes.Locked {
		return nil
	}
	info := &state.LockInfo{ID: p.title(), Who: w.user, Path: p.String()}
	rest, own := strings.CutPrefix(w.Attributes.LockedReason, ours)
	if !own {
		info.Info = web.Short(w.Attributes.LockedReason)
		return info
	}
	var n note
	if json.Unmarshal([]byte(rest), &n) == nil && n.ID != "" {
		info.ID, info.Operation, info.Who, info.Created, info.Info = n.ID, n.Operation, n.Who, n.Created, n.Info
	} else if found := noted().FindStringSubmatch(rest); found != nil {
		info.ID = found[1]
	}
	return info
}

// refuse returns an error if the runs of a workspace belong to the service.
func (p *place) refuse(w *workspace) error {
	mode := w.Attributes.ExecutionMode
	if mode == "" || mode == localMode || p.d.s.forced {
		return nil
	}
	return fmt.Errorf("the workspace %s has the execution mode %q: plans and applies run in the service, with its "+
		"variables, credentials and policies, and this program does not start them there. To run on this machine, "+
		"with its variables, change the execution mode of the workspace to \"local\" in its settings, or set the "+
		"variable TF_FORCE_LOCAL_BACKEND=1 for this run only. Commands that only read or edit the state work without "+
		"that",
		p.title(), web.Short(mode))
}

// runs reports whether an operation is one that the service would perform as its own run.
func runs(o state.Operation) bool { return strings.HasPrefix(string(o), "OperationType") }

// Unlocked implements remote.Place. The service only accepts states under a lock, so each write acquires the lock
// briefly if it is free.
func (p *place) Unlocked(ctx context.Context) (remote.Hold, error) {
	w, err := p.show(ctx)
	if err == nil && w == nil { // the token may not read it: do not plan as if there were no objects
		w, err = p.make(ctx)
	}
	if err == nil {
		err = p.refuse(w)
	}
	if err != nil {
		return nil, err
	}
	return &hold{p: p}, nil
}

// lockTries limits how often locking is tried again because others acquire and release the lock meanwhile.
const lockTries = 8

// releaseTimeout limits the check and the release of a lock when the caller's context has ended.
const releaseTimeout = 15 * time.Second

// Lock implements remote.Place. It creates a missing workspace, because only workspaces can be locked.
func (p *place) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	w, err := p.show(ctx)
	if err == nil && w == nil {
		w, err = p.make(ctx)
	}
	if err == nil && runs(info.Operation) {
		err = p.refuse(w)
	}
	if err != nil {
		return nil, err
	}
	if there := p.holder(w); there != nil && there.ID != info.ID {
		return nil, &state.LockedError{Info: there}
	}
	h, err := p.take(ctx, w, info)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// take locks a workspace that was free when it was last read.
func (p *place) take(ctx context.Context, w *workspace, info state.LockInfo) (*hold, error) {
	reason := reasonOf(info)
	body, err := json.Marshal(object{"reason": reason, "data": object{"attributes": object{"reason": reason}}})
	if err != nil {
		return nil, err
	}
	r := request{what: "lock the workspace " + p.title(), method: http.MethodPost, body: body,
		path: "workspaces/" + url.PathEscape(w.ID) + "/actions/lock"}
	for try := 1; ; try++ {
		a, err := p.client.once(ctx, r)
		if err == nil && a.ok() {
			var s shown
			if p.client.decode(r, a, &s) == nil && s.Data.Attributes.LockedReason == reason {
				return &hold{p: p, id: info.ID}, nil
			}
			if h, err := p.confirm(ctx, w, info); h != nil || err != nil {
				return h, err
			}
			if try < lockTries {
				continue
			}
		}
		if h, err := p.settle(ctx, info, try, r, a, err); h != nil || err != nil {
			return h, err
		}
	}
}

// settle determines the lock holder after an attempt whose response does not report it. If another attempt may acquire
// the lock, it waits and returns neither a hold nor an error. If it returns an error, it releases the lock, which the
// attempt may have acquired, unless another run is known to hold it.
func (p *place) settle(ctx context.Context, info state.LockInfo, try int, r request, a *answer, err error) (*hold,
	error) {
	unsure := func(err error) (*hold, error) {
		p.leave(ctx, info.ID)
		return nil, err
	}
	conflict := err == nil && a.status == http.StatusConflict
	if !conflict && !passing(a, err) {
		return unsure(p.because(r, a, err))
	}
	w, lookErr := p.show(ctx)
	if lookErr != nil {
		return unsure(lookErr)
	}
	there := p.holder(w)
	switch {
	case there != nil && there.ID == info.ID: // the response was lost
		return &hold{p: p, id: info.ID}, nil
	case there != nil:
		return nil, &state.LockedError{Info: there}
	case try >= lockTries && conflict:
		return nil, &state.LockedError{Err: fmt.Errorf("other runs keep taking and releasing the lock of %s", p)}
	case try >= lockTries:
		return unsure(p.because(r, a, err))
	case conflict:
		return nil, nil
	}
	if err := p.client.pause(ctx, try-1, a); err != nil {
		return unsure(err)
	}
	return nil, nil
}

// confirm checks whether the server returns the reason of a lock that it has just granted. If it does not, locks have
// no IDs. The hold is nil if the lock is already lost: a delayed request of an earlier run has released it.
func (p *place) confirm(ctx context.Context, w *workspace, info state.LockInfo) (*hold, error) {
	now, err := p.show(ctx)
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		_ = p.release(ctx, w, "unlock") // whatever its ID is, the lock was granted to us
		return nil, err
	}
	there := p.holder(now)
	if there == nil {
		return nil, nil
	}
	return &hold{p: p, id: there.ID}, nil
}

// leave releases a lock that may have been acquired by a request without a response. If the service cannot be reached,
// the next run reports the lock.
func (p *place) leave(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_ = p.free(ctx, id)
}

// free releases the lock with this ID. It returns ErrLost if that lock is not held.
func (p *place) free(ctx context.Context, id string) error {
	for try := 0; ; try++ {
		w, err := p.show(ctx)
		if err != nil {
			return err
		}
		there := p.holder(w)
		switch {
		case (there == nil || there.ID != id) && try > 0: // the first try has released it
			return nil
		case there == nil || there.ID != id:
			return remote.ErrLost
		}
		r := p.unlocking(w, "unlock")
		a, err := p.client.once(ctx, r)
		switch {
		case err == nil && a.ok():
			return nil
		case err == nil && a.status == http.StatusConflict && try < lockTries:
			// The server may be waiting for the content of a state version that will not arrive any more.
			if try > 0 && id != p.title() && p.release(ctx, w, "force-unlock") == nil {
				return nil
			}
		case !passing(a, err) || try >= retries:
			return p.because(r, a, err)
		}
		if err := p.client.pause(ctx, try, a); err != nil {
			return err
		}
	}
}

// unlocking returns a request that releases the lock.
func (p *place) unlocking(w *workspace, action string) request {
	return request{what: "unlock the workspace " + p.title(), method: http.MethodPost,
		path: "workspaces/" + url.PathEscape(w.ID) + "/actions/" + action}
}

// release releases a lock without retries.
func (p *place) release(ctx context.Context, w *workspace, action string) error {
	r := p.unlocking(w, action)
	a, err := p.client.once(ctx, r)
	if err == nil && a.ok() {
		return nil
	}
	return p.because(r, a, err)
}

// Holder implements remote.Place.
func (p *place) Holder(ctx context.Context) (*state.LockInfo, error) {
	w, err := p.show(ctx)
	if err != nil {
		return nil, err
	}
	return p.holder(w), nil
}

// ForceUnlock implements remote.Place. It accepts the ID of a lock and, as Terraform does, the title of the workspace.
// A user who may not force an unlock can still release a lock of the same user.
func (p *place) ForceUnlock(ctx context.Context, id string) error {
	w, err := p.show(ctx)
	there := p.holder(w)
	switch {
	case err != nil:
		return err
	case there == nil:
		return remote.ErrNotLocked
	case id != there.ID && id != p.title():
		return remote.AnotherLock(id, there.ID)
	}
	for try := 0; ; try++ {
		err := p.release(ctx, w, "force-unlock")
		if err != nil {
			if other := p.release(ctx, w, "unlock"); other == nil {
				return nil
			}
			now, lookErr := p.show(ctx)
			if left := p.holder(now); lookErr == nil && (left == nil || left.ID != there.ID) {
				return nil // a response was lost
			}
		}
		if err == nil || !passing(nil, err) || try >= retries {
			return err
		}
		if err := p.client.pause(ctx, try, nil); err != nil {
			return err
		}
	}
}
