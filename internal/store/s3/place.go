package s3

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
)

// place is one state.
type place struct {
	d       *driver
	key     string
	journal *objects.Journal
}

// String implements remote.Place.
func (p *place) String() string { return p.d.bucket.name(p.key) }

// folder returns the prefix of objects that only Tombolo uses.
func (p *place) folder() string { return p.key + ".tombolo/" }

// lockKey returns the key of the lock object.
func (p *place) lockKey() string { return p.key + ".tflock" }

// item returns the ID of the lock item.
func (p *place) item() string { return p.d.s.bucket + "/" + p.key }

// replacedDigest is the metadata entry of a state with the digest of the state that it replaced.
const replacedDigest = "tombolo-replaced-md5"

// While a run writes, a state may briefly differ from its digest. Other programs wait as long.
const (
	digestWait  = 10 * time.Second
	digestPause = time.Second
)

// Read implements remote.Place.
func (p *place) Read(ctx context.Context) (remote.Content, error) {
	for began := time.Now(); ; {
		o, want, err := p.readBoth(ctx)
		if err != nil {
			return remote.Content{}, err
		}
		var c remote.Content
		if o != nil {
			c = remote.Content{Data: o.data, Version: o.etag}
		}
		got := digest(c.Data)
		// A writer that ended between the writes of state and digest has left the old digest in the metadata.
		if want == "" || want == got || o != nil && o.meta[replacedDigest] == want {
			return c, nil
		}
		if time.Since(began) > p.d.patience {
			return remote.Content{}, p.badDigest(got, want)
		}
		select {
		case <-ctx.Done():
			return remote.Content{}, ctx.Err()
		case <-time.After(min(digestPause, p.d.patience/4)):
		}
	}
}

// readBoth returns the state and its expected digest, or "" if that is unknown.
func (p *place) readBoth(ctx context.Context) (o *stored, want string, err error) {
	var wg sync.WaitGroup
	wg.Go(func() { o, err = p.d.bucket.get(ctx, p.key) })
	if p.d.table != nil {
		var digestErr error
		want, digestErr = p.d.table.text(ctx, p.item()+digestSuffix, itemDigest)
		if digestErr != nil { // as others do: a user who may read states may lack permission for the table
			p.d.bucket.log("s3: the digest of %s cannot be read, so it is not checked: %v", p, digestErr)
		}
	}
	wg.Wait()
	return o, want, err
}

func (p *place) badDigest(got, want string) error {
	found := "it has the digest " + got
	if got == "" {
		found = "it does not exist"
	}
	return fmt.Errorf("%s is not the last state that was written: %s, but the item %s of the table %s has %s. Either "+
		"another program wrote the state, or a run ended between the two writes. Check the state and its older "+
		"versions. If it is the right one, delete that item, or set its attribute %s to the digest found", p, found,
		p.item()+digestSuffix, p.d.s.table, want, itemDigest)
}

// ReadJournal implements remote.Place.
func (p *place) ReadJournal(ctx context.Context) (remote.Journal, error) { return p.journal.Read(ctx) }

// Unlocked implements remote.Place.
func (p *place) Unlocked(context.Context) (remote.Hold, error) { return &hold{p: p}, nil }

// ready ensures that it is known whether the service supports conditions.
func (p *place) ready(ctx context.Context) error {
	return p.d.bucket.probe(ctx, p.folder()+"probe")
}
