package consul

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/state"
)

// maxState is the maximum size of a state.
const maxState = 1 << 30

// readTries limits how often a state is read again because another run has removed its parts.
const readTries = 5

// place is one state.
type place struct {
	d       *driver
	client  *client
	key     string // of the state
	base    string // prefix of other keys
	journal *objects.Journal

	mu   sync.Mutex
	seen link // link to the state as last read or written
	at   string
}

// link is the value of the key of a state that is stored in parts.
type link struct {
	Hash   string   `json:"current-hash"`
	Chunks []string `json:"chunks"`
}

// String implements remote.Place.
func (p *place) String() string { return "consul:" + p.key }

// Distinct implements remote.Distinct: the same key in another datacenter is another state.
func (p *place) Distinct() string {
	s := p.client.s
	return s.address.String() + s.socket + "?" + s.query.Encode() + " " + p.key
}

// own returns the prefix of keys that only Tombolo uses.
func (p *place) own() string { return p.base + "/.tombolo/" }

func (p *place) lockKey() string { return p.base + "/.lock" }
func (p *place) infoKey() string { return p.base + "/.lockinfo" }

// linked returns the link in a value. A link without a hash means that the value is the state itself.
func (p *place) folder(hash string) string { return p.base + "/tfstate." + hash + "/" }

// remember records how the state is stored.
func linked(value []byte) (l link) {
	if len(value) == 0 || value[0] != '{' || !bytes.Contains(value, []byte(`"current-hash"`)) {
		return l
	}
	if json.Unmarshal(value, &l) != nil {
		return link{}
	}
	return l
}

// remember notes how the state is kept.
func (p *place) remember(l link, version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen, p.at = l, version
}

// keptAs returns how a version of the state is stored.
func (p *place) keptAs(ctx context.Context, version string) (link, error) {
	p.mu.Lock()
	l, at := p.seen, p.at
	p.mu.Unlock()
	if at == version || version == "" {
		return l, nil
	}
	there, err := p.client.get(ctx, p.key)
	if err != nil || there == nil {
		return link{}, err
	}
	return linked(there.Value), nil
}

// Read implements remote.Place.
func (p *place) Read(ctx context.Context) (remote.Content, error) {
	for try := 1; ; try++ {
		there, err := p.client.get(ctx, p.key)
		if err != nil {
			return remote.Content{}, err
		}
		if there == nil {
			p.remember(link{}, "")
			return remote.Content{}, nil
		}
		version := strconv.FormatUint(there.ModifyIndex, 10)
		l := linked(there.Value)
		data, gone, err := p.payload(ctx, there.Value, l)
		if err != nil {
			return remote.Content{}, err
		}
		if gone == "" {
			p.remember(l, version)
			return remote.Content{Data: data, Version: version}, nil
		}
		if try == readTries {
			return remote.Content{}, fmt.Errorf("the state %s is stored in parts, and the part %s is missing. "+
				"Restore it, or an older state", p, gone)
		}
	}
}

// payload returns the state, or the name of a missing part.
func (p *place) payload(ctx context.Context, value []byte, l link) (data []byte, gone string, _ error) {
	if l.Hash != "" {
		if len(l.Chunks) > maxState/maxValue {
			return nil, "", fmt.Errorf("the state %s is larger than %d bytes, the limit for a state", p, maxState)
		}
		parts, errs := make([]*pair, len(l.Chunks)), make([]error, len(l.Chunks))
		objects.Each(len(parts), func(i int) { parts[i], errs[i] = p.client.get(ctx, l.Chunks[i]) })
		if err := errors.Join(errs...); err != nil {
			return nil, "", err
		}
		value = nil
		for i, part := range parts {
			if part == nil {
				return nil, l.Chunks[i], nil
			}
			value = append(value, part.Value...)
		}
	}
	if len(value) > 0 && value[0] == 0x1f {
		var err error
		if value, err = remote.Unzip(value, maxState); err != nil {
			return nil, "", fmt.Errorf("the state %s cannot be uncompressed: %w. Restore an older state", p, err)
		}
	}
	if l.Hash != "" && digest(value) != l.Hash {
		return nil, "", fmt.Errorf("the state %s is stored in parts, whose digest is %[3]s instead of %[2]s. Restore "+
			"an older state", p, l.Hash, digest(value))
	}
	return value, "", nil
}

func digest(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// ReadJournal implements remote.Place.
func (p *place) ReadJournal(ctx context.Context) (remote.Journal, error) { return p.journal.Read(ctx) }

// Unlocked implements remote.Place.
func (p *place) Unlocked(context.Context) (remote.Hold, error) { return p.holding(""), nil }

// Holder implements remote.Place.
func (p *place) Holder(ctx context.Context) (*state.LockInfo, error) {
	const tries = 3
	for try := 1; ; try++ {
		lock, err := p.client.get(ctx, p.lockKey())
		if err != nil || lock == nil || lock.Session == "" {
			return nil, err
		}
		about, err := p.client.get(ctx, p.infoKey())
		if err != nil {
			return nil, err
		}
		var info state.LockInfo
		if about != nil {
			_ = json.Unmarshal(about.Value, &info) // ignore information that cannot be read
		}
		if info.ID == lock.Session {
			return &info, nil
		}
		if try == tries { // only the session is known
			return &state.LockInfo{ID: lock.Session}, nil
		}
	}
}

// ForceUnlock implements remote.Place. It also ends the session, so that the holder stops renewing it.
func (p *place) ForceUnlock(ctx context.Context, id string) error {
	lock, err := p.client.get(ctx, p.lockKey())
	switch {
	case err != nil:
		return err
	case lock == nil || lock.Session == "":
		return remote.ErrNotLocked
	case lock.Session != id:
		return remote.AnotherLock(id, lock.Session)
	}
	if err := p.free(ctx, id); err != nil {
		if errors.Is(err, remote.ErrLost) {
			return remote.ErrTaken
		}
		return err
	}
	return p.client.endSession(ctx, id)
}
