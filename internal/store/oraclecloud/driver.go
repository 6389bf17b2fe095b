package oraclecloud

import (
	"context"
	"path"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/bucket"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
	"github.com/tombolo-iac/tombolo/state"
)

// driver keeps states in one bucket.
type driver struct {
	s      *settings
	client *client
}

func newDriver(s *settings, o remote.Surroundings) *driver {
	who := newAccess(s)
	return &driver{s: s, client: &client{s, who, &web.Client{Kind: "oci", HTTP: web.HTTP(s.trust()), Log: o.Log,
		Clean: s.Clean, Authorize: who.sign, Renew: who.clock.Adopt}}}
}

// Workspaces implements remote.Driver. A workspace is an object "<prefix>/<workspace>/<key>".
func (d *driver) Workspaces(ctx context.Context) (names []string, err error) {
	prefix := d.s.prefix + "/"
	err = d.client.List(ctx, prefix, func(name string) {
		name, ok := strings.CutSuffix(strings.TrimPrefix(name, prefix), "/"+d.s.key)
		if ok && name != "" && name != state.DefaultWorkspace && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	})
	return names, err
}

// layout returns the name of a state's object, and the folder of its journal. The journal is outside the folder of
// workspaces, where other programs may take it for a workspace.
func layout(s *settings, workspace string) (object, folder string) {
	if workspace == state.DefaultWorkspace {
		return s.key, s.key + ".tombolo/"
	}
	return path.Join(s.prefix, workspace, s.key), s.prefix + ".tombolo/" + workspace + "/" + s.key + "/"
}

// Place implements remote.Driver.
func (d *driver) Place(workspace string) (remote.Place, error) {
	name, folder := layout(d.s, workspace)
	p := bucket.New(d.client, name, folder, d.client)
	return &bucket.Locked{Place: p, Slot: slot{d.client, name + ".lock"}}, nil
}

// Close implements remote.Driver.
func (d *driver) Close() error {
	d.client.HTTP.CloseIdleConnections()
	return nil
}
