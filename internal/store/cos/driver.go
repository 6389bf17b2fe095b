package cos

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/bucket"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
	"github.com/tombolo-iac/tombolo/state"
)

// driver keeps states in one bucket.
type driver struct {
	s      *settings
	client *client
	api    *web.Client
	pause  time.Duration // between tries while another run has the tag
}

func newDriver(s *settings, o remote.Surroundings) *driver {
	plain := web.HTTP(nil)
	sender := web.Client{Kind: "cos", HTTP: plain, Log: o.Log, Clean: s.Clean}
	who := &access{s: s, web: &sender, turn: make(chan struct{}, 1)}
	objects, calls := sender, sender
	objects.Authorize, objects.Renew = who.sign, who.clock.Adopt
	calls.Authorize, calls.Renew = who.signCall, who.clock.Adopt
	return &driver{s: s, client: &client{s: s, Client: &objects}, api: &calls, pause: time.Second}
}

// Workspaces implements remote.Driver. A workspace is an object "<prefix>/<workspace>/<key>".
func (d *driver) Workspaces(ctx context.Context) (names []string, err error) {
	prefix := ""
	if d.s.prefix != "" {
		prefix = d.s.prefix + "/"
	}
	err = d.client.List(ctx, prefix, func(name string) {
		name, ok := strings.CutSuffix(strings.TrimPrefix(name, prefix), "/"+d.s.key)
		if ok && name != "" && name != state.DefaultWorkspace && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	})
	return names, err
}

// Place implements remote.Driver.
func (d *driver) Place(workspace string) (remote.Place, error) {
	folder := d.s.prefix + ".tombolo/" + workspace + "/" + d.s.key + "/"
	if workspace == state.DefaultWorkspace {
		workspace = ""
	}
	name := d.s.object(workspace)
	p := &place{d: d, lock: name + ".tflock", Locked: &bucket.Locked{
		Place: bucket.New(d.client, name, folder, objects.Chained(once{d.client}))}}
	sum := md5.Sum([]byte(d.s.bucket + ":" + p.lock))
	p.tag = hex.EncodeToString(sum[:])
	p.Slot = slot{p}
	return p, nil
}

// Close implements remote.Driver.
func (d *driver) Close() error {
	d.client.HTTP.CloseIdleConnections()
	return nil
}

// place is one state.
type place struct {
	*bucket.Locked
	d    *driver
	lock string // name of the lock object
	tag  string // value of the tag that a run holds while it creates the lock
}

// ReadJournal implements remote.Place.
func (p *place) ReadJournal(ctx context.Context) (remote.Journal, error) {
	versioned, err := p.d.client.versioned(ctx, p.Folder+"probe")
	if err == nil && versioned {
		err = remote.ErrNoJournal
	}
	if err != nil {
		return remote.Journal{}, err
	}
	return p.Locked.ReadJournal(ctx)
}

// Lock implements remote.Place.
func (p *place) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	info.Path = p.lock
	h, err := p.Locked.Lock(ctx, info)
	var locked *state.LockedError
	if errors.As(err, &locked) && locked.Info == nil {
		if info, unread := p.Holder(ctx); unread == nil && info != nil {
			err = &state.LockedError{Info: info}
		}
	}
	if err != nil {
		return nil, err
	}
	return &hold{h, p}, nil
}

// hold is a held lock. It is checked before each write of the state, because the write itself has no condition.
type hold struct {
	remote.Hold
	p *place
}

// Write implements remote.Hold.
func (h *hold) Write(ctx context.Context, w remote.Write) (string, error) {
	if err := h.Check(ctx); err != nil {
		return "", err
	}
	return h.Hold.Write(ctx, w)
}

// Key of the tag that a run holds while it creates a lock, as in the other programs.
const tagKey = "tencentcloud-terraform-lock"

// Unnamed begins the ID of a lock that consists only of the tag: its run ended while it created the lock.
const Unnamed = "tag-"

// callTag creates, finds or deletes the tag.
func (p *place) callTag(ctx context.Context, what, action string, out any) (code string, _ error) {
	err := call{"tag", action, what, "the tag " + tagKey + "=" + p.tag}.do(ctx, p.d.api, p.d.s,
		map[string]string{"TagKey": tagKey, "TagValue": p.tag}, out)
	if problem := (*refused)(nil); errors.As(err, &problem) {
		code = problem.Code
	}
	switch {
	case strings.HasPrefix(code, "AuthFailure"), strings.HasPrefix(code, "UnauthorizedOperation"):
		err = fmt.Errorf("%w. Allow tag:CreateTag, tag:DescribeTags and tag:DeleteTag to these credentials", err)
	case code != "" && !strings.HasPrefix(code, "ResourceInUse") && !strings.HasPrefix(code, "ResourceNotFound"):
	case code != "":
		return code, nil
	}
	return "", err
}

// tagged reports whether a run is creating the lock.
func (p *place) tagged(ctx context.Context) (bool, error) {
	var out struct {
		Tags []struct{ TagKey, TagValue string }
	}
	_, err := p.callTag(ctx, "look for", "DescribeTags", &out)
	for _, t := range out.Tags {
		if t.TagKey == tagKey && t.TagValue == p.tag {
			return true, err
		}
	}
	return false, err
}

// untag deletes the tag. A missing tag is not an error.
func (p *place) untag(ctx context.Context) error {
	_, err := p.callTag(ctx, "delete", "DeleteTag", nil)
	return err
}

// Holder implements remote.Place.
func (p *place) Holder(ctx context.Context) (*state.LockInfo, error) {
	info, err := p.Locked.Holder(ctx)
	if err != nil || info != nil {
		return info, err
	}
	there, err := p.tagged(ctx)
	if err != nil || !there {
		return nil, err
	}
	return &state.LockInfo{ID: Unnamed + p.tag, Path: p.lock}, nil
}

// ForceUnlock implements remote.Place. The ID may also be the one that the other programs use, the digest of the lock
// object. It deletes the tag as well, because the run that created it may have ended.
func (p *place) ForceUnlock(ctx context.Context, id string) error {
	there, err := p.Slot.Look(ctx)
	if err != nil {
		return err
	}
	sum := [md5.Size]byte{}
	if there != nil {
		sum = md5.Sum([]byte(there.Raw))
	}
	switch {
	case there == nil && id == Unnamed+p.tag:
	case there != nil && id == hex.EncodeToString(sum[:]):
		err = p.Slot.Remove(ctx, there)
	default:
		err = p.Locked.ForceUnlock(ctx, id)
	}
	if err != nil {
		return err
	}
	return p.untag(ctx)
}

// slot is the lock object. The run that has the tag creates it.
type slot struct{ p *place }

// Look implements bucket.Slot.
func (s slot) Look(ctx context.Context) (*bucket.Found, error) {
	data, etag, err := s.p.d.client.get(ctx, s.p.lock)
	if err != nil || etag == "" {
		return nil, err
	}
	return bucket.ParseLock(string(data), etag), nil
}

// Put implements bucket.Slot.
func (s slot) Put(ctx context.Context, raw string) error {
	p := s.p
	code, err := p.callTag(ctx, "create", "CreateTag", nil)
	if err != nil {
		return err
	}
	if code != "" {
		select { // another run is creating the lock, or ended while doing so
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(p.d.pause/2 + rand.N(p.d.pause)):
			return objects.ErrUnmet
		}
	}
	there, err := s.Look(ctx)
	if err == nil && there != nil {
		err = objects.ErrUnmet
	}
	if err == nil {
		_, err = p.d.client.put(ctx, p.lock, []byte(raw), true)
	}
	// An interrupted run deletes its tag as well.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), bucket.Leaving)
	defer cancel()
	return errors.Join(err, p.untag(last))
}

// Remove implements bucket.Slot. The service has no condition for it; the caller has just checked the object.
func (s slot) Remove(ctx context.Context, _ *bucket.Found) error {
	return s.p.d.client.Remove(ctx, s.p.lock)
}
