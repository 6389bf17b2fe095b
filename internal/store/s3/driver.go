package s3

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/state"
)

// driver keeps states in one bucket.
type driver struct {
	s      *settings
	bucket *bucket
	table  *table // nil if none is configured
	// patience is how long a state may differ from its digest.
	patience time.Duration
}

func newDriver(s *settings, cfg aws.Config, o remote.Surroundings) *driver {
	objects, items := s.clients(cfg)
	d := &driver{s: s, patience: digestWait, bucket: &bucket{client: objects, s: s, log: o.Log,
		most: maxObject}}
	// AWS supports conditions. Other services are probed before anything depends on conditions.
	d.bucket.conditions.trusted = aws.ToString(objects.Options().BaseEndpoint) == ""
	if items != nil {
		d.table = &table{client: items, s: s, log: o.Log}
	}
	return d
}

// Workspaces implements remote.Driver. A workspace is an object "<prefix>/<workspace>/<key>".
func (d *driver) Workspaces(ctx context.Context) (names []string, err error) {
	prefix := ""
	if d.s.prefix != "" {
		prefix = d.s.prefix + "/"
	}
	err = d.bucket.list(ctx, prefix, func(key string) {
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok {
			return
		}
		if name, ok := strings.CutSuffix(rest, "/"+d.s.key); ok && name != "" && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	})
	return names, err
}

// Place implements remote.Driver.
func (d *driver) Place(workspace string) (remote.Place, error) {
	key := d.s.key
	if workspace != state.DefaultWorkspace {
		key = workspace + "/" + key
		if d.s.prefix != "" {
			key = d.s.prefix + "/" + key
		}
	}
	p := &place{d: d, key: key}
	p.journal = objects.New(space{d.bucket}, p.folder(), 0)
	return p, nil
}

// Close implements remote.Driver.
func (d *driver) Close() error { return nil }
