package azure

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/state"
)

// driver keeps states in one container.
type driver struct {
	s     *settings
	blobs *blobs
}

// Workspaces implements remote.Driver. A blob without content is not a state: it was created for the lock.
func (d *driver) Workspaces(ctx context.Context) (names []string, err error) {
	prefix := d.s.key + "env:"
	err = d.blobs.list(ctx, prefix, func(name string, size int64) {
		if name = strings.TrimPrefix(name, prefix); name != "" && size > 0 && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	})
	return names, err
}

// Place implements remote.Driver.
func (d *driver) Place(workspace string) (remote.Place, error) {
	key := d.s.key
	if workspace != state.DefaultWorkspace {
		key += "env:" + workspace
	}
	p := &place{b: d.blobs, key: key, folder: d.s.key + ".tombolo/" + workspace + "/"}
	p.journal = objects.New(space{d.blobs}, p.folder, 0)
	return p, nil
}

// Close implements remote.Driver.
func (d *driver) Close() error {
	d.blobs.http.CloseIdleConnections()
	return nil
}

// place is one state.
type place struct {
	b       *blobs
	key     string
	folder  string // of the journal's blobs
	journal *objects.Journal

	mu   sync.Mutex
	last *blob // the state as last read or written, with its content; nil if unknown
}

// String implements remote.Place.
func (p *place) String() string { return p.b.name(p.key) }

// version identifies a content. Tags of blobs cannot, because they also change with the lock.
func version(data []byte) string {
	if len(data) == 0 {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// look reads the state. A result without a tag means that the blob does not exist.
func (p *place) look(ctx context.Context) (*blob, error) {
	o, err := p.b.get(ctx, p.key)
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &blob{}
	}
	p.remember(o)
	return o, nil
}

func (p *place) remember(o *blob) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = o
}

// Read implements remote.Place. A blob without content is not a state: it was created for the lock.
func (p *place) Read(ctx context.Context) (remote.Content, error) {
	o, err := p.look(ctx)
	if err != nil || len(o.data) == 0 {
		return remote.Content{}, err
	}
	return remote.Content{Data: o.data, Version: version(o.data)}, nil
}

// ReadJournal implements remote.Place.
func (p *place) ReadJournal(ctx context.Context) (remote.Journal, error) { return p.journal.Read(ctx) }

// Unlocked implements remote.Place.
func (p *place) Unlocked(context.Context) (remote.Hold, error) { return &hold{p: p}, nil }

const (
	// lockMeta is the metadata entry that describes the lock holder.
	lockMeta = "terraformlockid"
	// Unnamed is the ID of a lease without information: its run ended before it recorded itself as the holder.
	Unnamed = "lease-without-lock-information"
	// lockTries limits the retries of locking when the lock disappears while its holder is read.
	lockTries = 5
	// releaseTimeout limits the release of a lock that was only partly acquired.
	releaseTimeout = 10 * time.Second
)

// Lock implements remote.Place. A lease needs a blob, so an empty one is created if there is none.
func (p *place) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	body, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	took, err := p.take(ctx, info.ID)
	var h *hold
	if err == nil {
		h, err = p.sign(ctx, info.ID, body)
	}
	if err != nil {
		if took {
			err = errors.Join(err, p.leave(ctx, info.ID))
		}
		return nil, err
	}
	return h, nil
}

// take acquires the lease. It reports whether it may have been acquired.
func (p *place) take(ctx context.Context, id string) (bool, error) {
	for try := 1; ; try++ {
		a, r, err := p.b.lease(ctx, p.key, "acquire", id)
		switch {
		case err != nil:
			return true, err
		case a.ok():
			return true, nil
		case missing(a) && try < lockTries:
			if _, err := p.b.put(ctx, p.key, nil, "", "", nil); err != nil && !errors.Is(err, objects.ErrUnmet) {
				return false, err
			}
		case leaseMissing(a):
			info, err := p.Holder(ctx)
			if err != nil {
				return false, err
			}
			if info != nil || try == lockTries {
				return false, &state.LockedError{Info: info}
			}
		default:
			return false, p.b.refused(r, a)
		}
	}
}

// sign records the lock holder in the blob's metadata.
func (p *place) sign(ctx context.Context, id string, info []byte) (*hold, error) {
	o, err := p.b.head(ctx, p.key, id)
	if err == nil && o == nil {
		err = errUnleased
	}
	if err != nil {
		return nil, taken(err)
	}
	h := &hold{p: p, id: id, meta: o.meta, empty: o.size == 0}
	delete(h.meta, lockMeta)
	meta := maps.Clone(h.meta)
	meta[lockMeta] = base64.StdEncoding.EncodeToString(info)
	if _, err = p.b.setMeta(ctx, p.key, id, meta); err != nil {
		return nil, taken(err)
	}
	p.remember(nil)
	return h, nil
}

func taken(err error) error {
	if errors.Is(err, errUnleased) {
		return errors.New("another run has just released the lock. Try again")
	}
	return err
}

// leave releases a partly acquired lock, even if the caller's context has ended.
func (p *place) leave(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	o, err := p.b.head(ctx, p.key, id)
	if err != nil || o == nil {
		return nil // the lease is not ours, or the release fails for the same reason as the lock
	}
	delete(o.meta, lockMeta)
	return (&hold{p: p, id: id, meta: o.meta, empty: o.size == 0}).Unlock(ctx)
}

// Holder implements remote.Place.
func (p *place) Holder(ctx context.Context) (*state.LockInfo, error) {
	o, err := p.b.head(ctx, p.key, "")
	if err != nil || o == nil || !o.leased {
		return nil, err
	}
	return holder(o), nil
}

// holder returns the holder of a blob's lease.
func holder(o *blob) *state.LockInfo {
	var info state.LockInfo
	raw, err := base64.StdEncoding.DecodeString(o.meta[lockMeta])
	if err != nil || json.Unmarshal(raw, &info) != nil || info.ID == "" {
		return &state.LockInfo{ID: Unnamed}
	}
	return &info
}

// ForceUnlock implements remote.Place. A lock with another id is kept.
func (p *place) ForceUnlock(ctx context.Context, id string) error {
	o, err := p.b.head(ctx, p.key, "")
	if err != nil {
		return err
	}
	if o == nil || !o.leased {
		return remote.ErrNotLocked
	}
	info := holder(o)
	if info.ID != id {
		return remote.AnotherLock(id, info.ID)
	}
	if id == Unnamed {
		return p.breakLease(ctx)
	}
	delete(o.meta, lockMeta)
	err = (&hold{p: p, id: id, meta: o.meta, empty: o.size == 0}).Unlock(ctx)
	if errors.Is(err, remote.ErrLost) {
		// The lease ID differs from the metadata: the blob was copied, or its lease was broken.
		if o, err = p.b.head(ctx, p.key, ""); err == nil && o != nil && o.leased && holder(o).ID == id {
			return p.breakLease(ctx)
		}
	}
	return err
}

// breakLease ends a lease whose id is unknown.
func (p *place) breakLease(ctx context.Context) error {
	a, r, err := p.b.lease(ctx, p.key, "break", "")
	if err == nil && !a.ok() && !a.again {
		err = p.b.refused(r, a)
	}
	return err
}
