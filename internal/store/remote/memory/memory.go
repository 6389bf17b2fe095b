// Package memory is a driver that keeps states in memory, for tests of the shared store. It is also the shortest
// example of a driver.
package memory

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// New returns an empty driver.
func New() remote.Driver { return &driver{places: map[string]*place{}} }

// NewUnfenced returns a driver that accepts every write, as buckets do: its lock has no effect on a run that does not
// check it.
func NewUnfenced() remote.Driver { return &driver{places: map[string]*place{}, unfenced: true} }

type driver struct {
	unfenced bool

	mu     sync.Mutex
	places map[string]*place
}

// Workspaces implements remote.Driver.
func (d *driver) Workspaces(context.Context) (names []string, _ error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, p := range d.places {
		if p.read().Version != "" {
			names = append(names, name)
		}
	}
	return names, nil
}

// Place implements remote.Driver.
func (d *driver) Place(workspace string) (remote.Place, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.places[workspace] == nil {
		d.places[workspace] = &place{name: workspace, unfenced: d.unfenced}
	}
	return d.places[workspace], nil
}

// Close implements remote.Driver.
func (d *driver) Close() error { return nil }

// place is one state. Versions are increasing numbers.
type place struct {
	name     string
	unfenced bool

	mu      sync.Mutex
	count   int // of versions
	content remote.Content
	journal remote.Journal
	holder  *state.LockInfo
}

func (p *place) version() string {
	p.count++
	return strconv.Itoa(p.count)
}

func (p *place) read() remote.Content {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.content
}

// String implements remote.Place.
func (p *place) String() string { return "memory:" + p.name }

// Read implements remote.Place.
func (p *place) Read(ctx context.Context) (remote.Content, error) { return p.read(), ctx.Err() }

// ReadJournal implements remote.Place.
func (p *place) ReadJournal(ctx context.Context) (remote.Journal, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return remote.Journal{Version: p.journal.Version, Chunks: slices.Clone(p.journal.Chunks)}, ctx.Err()
}

// Lock implements remote.Place.
func (p *place) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holder != nil {
		other := *p.holder
		return nil, &state.LockedError{Info: &other}
	}
	p.holder = &info
	return &hold{p: p, id: info.ID}, nil
}

// Unlocked implements remote.Place.
func (p *place) Unlocked(context.Context) (remote.Hold, error) { return &hold{p: p}, nil }

// Holder implements remote.Place.
func (p *place) Holder(ctx context.Context) (*state.LockInfo, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holder == nil {
		return nil, ctx.Err()
	}
	other := *p.holder
	return &other, ctx.Err()
}

// ForceUnlock implements remote.Place.
func (p *place) ForceUnlock(ctx context.Context, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case p.holder == nil:
		return remote.ErrNotLocked
	case p.holder.ID != id:
		return remote.AnotherLock(id, p.holder.ID)
	}
	p.holder = nil
	return nil
}

type hold struct {
	p  *place
	id string // "" without the lock
}

// writable refuses a writer without the lock, unless the place is unfenced. It is called with the place's mu held.
func (h *hold) writable(ctx context.Context) error {
	if h.p.unfenced {
		return ctx.Err()
	}
	return h.held(ctx)
}

// held checks that this hold still has the lock. It is called with the place's mu held.
func (h *hold) held(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if h.id != "" && (h.p.holder == nil || h.p.holder.ID != h.id) {
		return remote.ErrLost
	}
	return nil
}

// Write implements remote.Hold.
func (h *hold) Write(ctx context.Context, w remote.Write) (string, error) {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	if err := h.writable(ctx); err != nil {
		return "", err
	}
	if h.p.content.Version != w.Was {
		return "", remote.ErrChanged
	}
	h.p.content = remote.Content{Data: slices.Clone(w.Data), Version: h.p.version()}
	return h.p.content.Version, nil
}

// StartJournal implements remote.Hold.
func (h *hold) StartJournal(ctx context.Context, was string, first []byte) (string, error) {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	if err := h.writable(ctx); err != nil {
		return "", err
	}
	if h.p.journal.Version != was {
		return "", remote.ErrChanged
	}
	h.p.journal = remote.Journal{Version: h.p.version()}
	if first != nil {
		h.p.journal.Chunks = [][]byte{slices.Clone(first)}
	}
	return h.p.journal.Version, nil
}

// Append implements remote.Hold.
func (h *hold) Append(ctx context.Context, version string, n int, chunk []byte) error {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	if err := h.writable(ctx); err != nil {
		return err
	}
	if h.p.journal.Version != version || len(h.p.journal.Chunks) != n {
		return remote.ErrChanged
	}
	h.p.journal.Chunks = append(h.p.journal.Chunks, slices.Clone(chunk))
	return nil
}

// Check implements remote.Hold.
func (h *hold) Check(ctx context.Context) error {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	return h.held(ctx)
}

// Delete implements remote.Hold.
func (h *hold) Delete(ctx context.Context) error {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	if err := h.writable(ctx); err != nil {
		return err
	}
	h.p.content, h.p.journal = remote.Content{}, remote.Journal{}
	return nil
}

// Unlock implements remote.Hold.
func (h *hold) Unlock(ctx context.Context) error {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	if err := h.held(ctx); err != nil {
		return err
	}
	if h.id != "" {
		h.p.holder = nil
	}
	return nil
}
