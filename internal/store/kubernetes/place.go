package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
)

// Limits of a state: its size, its number of secrets, and how often it is read while another run writes it.
const (
	maxState  = 1 << 30
	maxParts  = 256
	readTries = 5
)

// stateKey is the key of a secret that contains the state or a part of it.
const stateKey = "tfstate"

// place is one state.
type place struct {
	d         *driver
	client    *client
	workspace string
	name      string // of the first secret
	journal   *objects.Journal
	spare     *objects.Journal // a copy of the state while it is written to several secrets

	mu   sync.Mutex
	torn bool // the last read found a partly written state
}

// String implements remote.Place.
func (p *place) String() string { return "kubernetes:" + p.d.s.namespace + "/" + p.name }

// Distinct implements remote.Distinct: the same secret in another cluster is another state.
func (p *place) Distinct() string { return p.client.base.String() + " " + p.String() }

// partName returns the name of the secret with part n of the state; the first is 0.
func (p *place) partName(n int) string {
	if n == 0 {
		return p.name
	}
	return fmt.Sprintf("%s-part-%d", p.name, n)
}

// parts returns the secrets of the state. Further ones only follow a full one.
func (p *place) parts(ctx context.Context) (all []*secret, _ error) {
	for n := range maxParts {
		one, err := p.client.get(ctx, p.partName(n))
		if err != nil || one == nil {
			return all, err
		}
		if all = append(all, one); len(one.Data[stateKey]) < maxSecret {
			return all, nil
		}
	}
	return nil, fmt.Errorf("the state %s is in more than %d secrets, the limit for a state", p, maxParts)
}

// stored is a state as last read.
type stored struct {
	parts []*secret
	remote.Content
	torn bool // the state comes from the copy: a run ended while it wrote the parts
}

// look reads the state. Another run may write it meanwhile.
func (p *place) look(ctx context.Context) (*stored, error) {
	var failed error
	for range readTries {
		parts, err := p.parts(ctx)
		if err != nil {
			return nil, err
		}
		s := &stored{parts: parts}
		var zipped []byte
		for _, one := range parts {
			zipped = append(zipped, one.Data[stateKey]...)
		}
		if len(zipped) == 0 {
			return s, nil
		}
		data, err := remote.Unzip(zipped, maxState)
		if err == nil {
			s.Content = remote.Content{Data: data, Version: version(data)}
			return s, nil
		}
		failed = err
		copied, err := p.spare.Read(ctx)
		if err != nil {
			return nil, err
		}
		if len(copied.Chunks) == 1 {
			if data, err = remote.Unzip(copied.Chunks[0], maxState); err == nil {
				s.Content, s.torn = remote.Content{Data: data, Version: version(data)}, true
				return s, nil
			}
		}
	}
	return nil, fmt.Errorf("the state %s cannot be uncompressed: %w. Restore its secrets from a backup", p, failed)
}

// version returns the digest of a state: the version of a secret also changes with its labels.
func version(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Read implements remote.Place.
func (p *place) Read(ctx context.Context) (remote.Content, error) {
	s, err := p.look(ctx)
	if err != nil {
		return remote.Content{}, err
	}
	p.mu.Lock()
	p.torn = s.torn
	p.mu.Unlock()
	return s.Content, nil
}

// ReadJournal implements remote.Place.
func (p *place) ReadJournal(ctx context.Context) (remote.Journal, error) { return p.journal.Read(ctx) }

// Unlocked implements remote.Place.
func (p *place) Unlocked(context.Context) (remote.Hold, error) { return &hold{p: p}, nil }

// labels returns the labels by which the other programs find the secrets.
func (p *place) labels() map[string]string {
	all := map[string]string{labelState: "true", labelSuffix: p.d.s.suffix, labelWorkspace: p.workspace,
		labelManager: "terraform"}
	maps.Copy(all, p.d.s.labels)
	return all
}

// write replaces the state. The first secret is written before all others, so only one of two runs succeeds. Missing
// secrets are created first, empty, so that all later writes replace versions that were read.
func (p *place) write(ctx context.Context, was *stored, zipped []byte) error {
	if len(zipped) > maxParts*maxSecret {
		return fmt.Errorf("the state %s is too large for %d secrets", p, maxParts)
	}
	count := max(1, (len(zipped)+maxSecret-1)/maxSecret)
	several := max(count, len(was.parts)) > 1
	if several {
		if err := p.replaceSpare(ctx, zipped); err != nil {
			return err
		}
	}
	parts := was.parts
	for n := max(1, len(parts)); n < count; n++ {
		if err := p.makePart(ctx, n); err != nil {
			return err
		}
		one, err := p.client.get(ctx, p.partName(n))
		if err != nil || one == nil {
			return errors.Join(err, objects.ErrUnmet)
		}
		if len(parts) == 0 {
			parts = []*secret{nil}
		}
		parts = append(parts, one)
	}
	if len(parts) == 0 {
		parts = []*secret{nil}
	}
	for n, one := range parts {
		piece := zipped[:min(maxSecret, len(zipped))]
		zipped = zipped[len(piece):]
		err := error(nil)
		if n > 0 && n >= count {
			err = p.client.remove(ctx, p.client.secrets()+"/"+p.partName(n), one.Metadata.ResourceVersion)
		} else {
			err = p.putPart(ctx, n, one, piece)
		}
		if err != nil && n > 0 {
			return &remote.UnfinishedError{Err: err} // the first secret is already written
		} else if err != nil {
			return err
		}
	}
	if several {
		p.endSpare(ctx)
	}
	return nil
}

// makePart creates an empty secret if it does not exist.
func (p *place) makePart(ctx context.Context, n int) error {
	err := p.putPart(ctx, n, nil, nil)
	if errors.Is(err, objects.ErrUnmet) {
		return nil
	}
	return err
}

// putPart replaces the version of a secret that was read.
func (p *place) putPart(ctx context.Context, n int, was *secret, piece []byte) error {
	s := &secret{Type: "Opaque", Metadata: metadata{Name: p.partName(n), Labels: p.labels(),
		Annotations: map[string]string{"encoding": "gzip"}}}
	if was != nil {
		s.all, s.Metadata.ResourceVersion = was.all, was.Metadata.ResourceVersion
		if meta, ok := s.all["metadata"].(map[string]any); ok {
			labels, _ := meta["labels"].(map[string]any)
			if labels == nil {
				labels = map[string]any{}
			}
			for name, value := range s.Metadata.Labels {
				labels[name] = value
			}
			meta["labels"] = labels
		}
		s.Data = maps.Clone(was.Data)
	}
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	s.Data[stateKey] = piece
	_, err := p.client.put(ctx, s)
	return err
}

// replaceSpare replaces the copy of the state.
func (p *place) replaceSpare(ctx context.Context, zipped []byte) error {
	now, err := p.spare.Read(ctx)
	if err == nil {
		_, err = p.spare.Start(ctx, now.Version, zipped)
	}
	return err
}

// endSpare removes the copy after the state is written. A copy that remains is only read if the state cannot be read.
func (p *place) endSpare(ctx context.Context) {
	now, err := p.spare.Read(ctx)
	if err == nil && len(now.Chunks) > 0 {
		_, _ = p.spare.Start(ctx, now.Version, nil)
	}
}

// repair rewrites the parts of a state that a run has only partly written, because the other programs cannot read such
// a state.
func (p *place) repair(ctx context.Context) error {
	p.mu.Lock()
	torn := p.torn
	p.mu.Unlock()
	if !torn {
		return nil
	}
	s, err := p.look(ctx)
	if err != nil || !s.torn {
		return err
	}
	zipped, err := remote.Zip(s.Data)
	if err != nil {
		return err
	}
	if err = p.write(ctx, s, zipped); errors.Is(err, objects.ErrUnmet) {
		err = nil // another run writes it
	}
	return err
}
