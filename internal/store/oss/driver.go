package oss

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/bucket"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
	"github.com/tombolo-iac/tombolo/state"
)

// driver keeps states in one bucket.
type driver struct {
	s     *settings
	store store
}

func newDriver(s *settings, o remote.Surroundings) *driver {
	clock, plain := &web.Clock{}, web.HTTP(nil)
	who := newAccess(s, clock.Now)
	sender := func(sign func(context.Context, *http.Request, []byte) error) *web.Client {
		return &web.Client{Kind: "oss", HTTP: plain, Log: o.Log, Clean: s.Clean, Authorize: sign, Renew: clock.Adopt}
	}
	d := &driver{s: s, store: store{client: &client{s, sender(who.sign)}, seen: &sync.Map{}, patience: digestWait}}
	if s.table != "" {
		d.store.table = &table{s, sender(who.signRow)}
	}
	return d
}

// Workspaces implements remote.Driver. A workspace is an object "<prefix>/<workspace>/<key>".
func (d *driver) Workspaces(ctx context.Context) (names []string, err error) {
	prefix := d.s.prefix + "/"
	err = d.store.List(ctx, prefix, func(name string) {
		name, ok := strings.CutSuffix(strings.TrimPrefix(name, prefix), "/"+d.s.key)
		if ok && name != "" && name != state.DefaultWorkspace && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	})
	return names, err
}

// Place implements remote.Driver. The journal is outside the prefix, because the other programs take every folder below
// that for a workspace.
func (d *driver) Place(workspace string) (remote.Place, error) {
	folder := d.s.prefix + ".tombolo/" + workspace + "/" + d.s.key + "/"
	if workspace == state.DefaultWorkspace {
		workspace = ""
	}
	name := d.s.object(workspace)
	p := &bucket.Locked{Place: bucket.New(d.store, name, folder, objects.Chained(once{d.store.client})),
		None: "the state has no lock, because tablestore_table is not set"}
	if d.store.table != nil {
		p.Slot = slot{d.store.table, d.store.table.id(name)}
	}
	return p, nil
}

// Close implements remote.Driver.
func (d *driver) Close() error {
	d.store.HTTP.CloseIdleConnections()
	return nil
}

func isUnmet(err error) bool { return errors.Is(err, objects.ErrUnmet) }
