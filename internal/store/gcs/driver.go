package gcs

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/state"
)

// Suffixes of object names.
const (
	stateSuffix   = ".tfstate"
	lockSuffix    = ".tflock"
	journalSuffix = ".tombolo/"
)

// driver keeps states in one bucket.
type driver struct {
	s      *settings
	bucket *bucket
}

func newDriver(s *settings, o remote.Surroundings) *driver {
	return &driver{s: s, bucket: &bucket{client: newClient(s, scopeStorage, o.Log), name: s.bucket}}
}

// Workspaces implements remote.Driver. A workspace is an object "<prefix>/<workspace>.tfstate".
func (d *driver) Workspaces(ctx context.Context) (names []string, err error) {
	err = d.bucket.list(ctx, d.s.folder, url.Values{"delimiter": {"/"}}, func(o described) {
		name, ok := strings.CutSuffix(strings.TrimPrefix(o.Name, d.s.folder), stateSuffix)
		if ok && name != "" && name != state.DefaultWorkspace && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	})
	return names, err
}

// Place implements remote.Driver.
func (d *driver) Place(workspace string) (remote.Place, error) {
	base := d.s.folder + workspace
	return &place{bucket: d.bucket, state: base + stateSuffix, lock: base + lockSuffix, folder: base + journalSuffix,
		journal: objects.New(space{d.bucket}, base+journalSuffix, 0)}, nil
}

// Close implements remote.Driver.
func (d *driver) Close() error {
	d.bucket.HTTP.CloseIdleConnections()
	return nil
}

// place is one state.
type place struct {
	bucket      *bucket
	state, lock string // names of objects
	folder      string // prefix of the journal's objects
	journal     *objects.Journal
}

// String implements remote.Place.
func (p *place) String() string { return p.bucket.url(p.state) }

// Read implements remote.Place.
func (p *place) Read(ctx context.Context) (remote.Content, error) {
	o, err := p.bucket.get(ctx, p.state, "", sealed)
	if err != nil || o == nil {
		return remote.Content{}, err
	}
	return remote.Content{Data: o.data, Version: o.generation}, nil
}

// ReadJournal implements remote.Place.
func (p *place) ReadJournal(ctx context.Context) (remote.Journal, error) { return p.journal.Read(ctx) }

// Unlocked implements remote.Place.
func (p *place) Unlocked(context.Context) (remote.Hold, error) { return &hold{p: p}, nil }

// hold is a held lock. Without a generation, the state is not locked.
type hold struct {
	p          *place
	generation string
}

// Write implements remote.Hold.
func (h *hold) Write(ctx context.Context, w remote.Write) (string, error) {
	version, err := h.p.bucket.put(ctx, h.p.state, w.Data, revision(w), w.Was, sealed)
	if errors.Is(err, objects.ErrUnmet) {
		err = remote.ErrChanged
	}
	return version, err
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
	if h.generation == "" {
		return ctx.Err()
	}
	there, err := h.p.bucket.describe(ctx, h.p.lock)
	if err == nil && (there == nil || there.Generation != h.generation) {
		err = remote.ErrLost
	}
	return err
}

// Unlock implements remote.Hold.
func (h *hold) Unlock(ctx context.Context) error {
	if h.generation == "" {
		return ctx.Err()
	}
	was, err := h.p.bucket.remove(ctx, h.p.lock, h.generation)
	if err == nil && !was || errors.Is(err, objects.ErrUnmet) {
		err = remote.ErrLost
	}
	return err
}

// Delete implements remote.Hold. The journal is removed last: while it exists, the state can still be recovered.
func (h *hold) Delete(ctx context.Context) error {
	b := h.p.bucket
	if _, err := b.remove(ctx, h.p.state, ""); err != nil {
		return err
	}
	var names []string
	if err := b.list(ctx, h.p.folder, nil, func(o described) { names = append(names, o.Name) }); err != nil {
		return err
	}
	h.p.journal.Forget()
	errs := make([]error, len(names))
	objects.Each(len(names), func(i int) { _, errs[i] = b.remove(ctx, names[i], "") })
	return errors.Join(errs...)
}
