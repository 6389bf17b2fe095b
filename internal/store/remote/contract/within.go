package contract

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Scratch separates checks from the content of a store: all names of workspaces, including the default one, get a
// prefix.
type Scratch struct {
	prefix string

	mu    sync.Mutex // guards the fields below
	names map[string]bool
}

// NewScratch returns a Scratch. If the prefix is "", names do not change, and the Scratch only records which workspaces
// were used.
func NewScratch(prefix string) *Scratch { return &Scratch{prefix: prefix, names: map[string]bool{}} }

// Within returns a driver whose workspaces are those with the prefix.
func (s *Scratch) Within(d remote.Driver) remote.Driver { return &within{d, s} }

// Clear deletes all workspaces that were used, even if they are locked.
func (s *Scratch) Clear(ctx context.Context, d remote.Driver) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		err = errors.Join(err, remove(ctx, d, name))
		delete(s.names, name)
	}
	return err
}

func remove(ctx context.Context, d remote.Driver, name string) error {
	p, err := d.Place(name)
	if err != nil {
		return err
	}
	holder, err := p.Holder(ctx)
	if err != nil {
		return err
	}
	if holder != nil {
		if err := p.ForceUnlock(ctx, holder.ID); err != nil {
			return err
		}
	}
	h, err := p.Unlocked(ctx)
	if err != nil {
		return err
	}
	return h.Delete(ctx)
}

type within struct {
	remote.Driver
	s *Scratch
}

// Workspaces implements remote.Driver.
func (d *within) Workspaces(ctx context.Context) (names []string, err error) {
	all, err := d.Driver.Workspaces(ctx)
	for _, name := range all {
		if rest, ok := strings.CutPrefix(name, d.s.prefix); ok {
			names = append(names, rest)
		}
	}
	return names, err
}

// Place implements remote.Driver.
func (d *within) Place(workspace string) (remote.Place, error) {
	name := d.s.prefix + workspace
	d.s.mu.Lock()
	d.s.names[name] = true
	d.s.mu.Unlock()
	return d.Driver.Place(name)
}
