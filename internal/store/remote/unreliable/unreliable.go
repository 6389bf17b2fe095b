// Package unreliable makes a driver fail as networks and services do, depending on a seed: requests and responses get
// lost, requests arrive twice or late, and sometimes all calls fail for a while.
package unreliable

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// ErrNetwork is the error of calls whose result is unknown.
var ErrNetwork = errors.New("the connection was reset")

// Network injects faults into calls. Its methods may be called concurrently.
type Network struct {
	// Before, if set, is called before each call, one at a time: it simulates other programs.
	Before func()
	before sync.Mutex

	mu   sync.Mutex
	rand *rand.Rand
	rate float64  // fraction of calls with a fault
	down int      // number of following calls that fail
	late []func() // requests that have not arrived yet
	dead bool
}

// NewNetwork returns a Network in which the given fraction of calls has a fault.
func NewNetwork(seed uint64, rate float64) *Network {
	return &Network{rand: rand.New(rand.NewPCG(seed, 1)), rate: rate}
}

// Kill makes all later calls fail, because the process behind this network is gone. Delayed requests still arrive.
func (n *Network) Kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = true
}

// Arrive delivers all delayed requests, or some of them.
func (n *Network) Arrive(all bool) {
	n.mu.Lock()
	late := n.late
	if !all && len(late) > 0 {
		late = late[:n.rand.IntN(len(late))+1]
	}
	n.late = n.late[len(late):]
	n.mu.Unlock()
	for _, request := range late {
		request()
	}
}

type outcome int

const (
	fine outcome = iota
	lostRequest
	lostAnswer
	twice
	late
)

func (n *Network) outcome() outcome {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.dead:
		return lostRequest
	case n.down > 0:
		n.down--
		return lostRequest
	case n.rand.Float64() >= n.rate:
		return fine
	}
	if n.rand.IntN(12) == 0 {
		n.down = 1 + n.rand.IntN(12)
		return lostRequest
	}
	return lostRequest + outcome(n.rand.IntN(4))
}

func (n *Network) others() {
	if n.Before == nil {
		return
	}
	n.before.Lock()
	defer n.before.Unlock()
	n.Before()
}

// call performs one call of a driver, subject to a fault.
func call[T any](n *Network, do func() (T, error)) (T, error) {
	var none T
	n.others()
	switch n.outcome() {
	case lostRequest:
		return none, ErrNetwork
	case lostAnswer:
		_, _ = do()
		return none, ErrNetwork
	case twice: // a client that retries because the first response was lost
		_, _ = do()
		return do()
	case late:
		n.mu.Lock()
		n.late = append(n.late, func() { _, _ = do() })
		n.mu.Unlock()
		return none, ErrNetwork
	}
	return do()
}

// Over returns a driver behind a network.
func Over(d remote.Driver, n *Network) remote.Driver { return &driver{d, n} }

type driver struct {
	remote.Driver
	n *Network
}

// Workspaces implements remote.Driver.
func (d *driver) Workspaces(ctx context.Context) ([]string, error) {
	return call(d.n, func() ([]string, error) { return d.Driver.Workspaces(ctx) })
}

// Place implements remote.Driver.
func (d *driver) Place(workspace string) (remote.Place, error) {
	p, err := d.Driver.Place(workspace)
	return &place{p, d.n}, err
}

type place struct {
	remote.Place
	n *Network
}

// Read implements remote.Place.
func (p *place) Read(ctx context.Context) (remote.Content, error) {
	return call(p.n, func() (remote.Content, error) { return p.Place.Read(ctx) })
}

// ReadJournal implements remote.Place.
func (p *place) ReadJournal(ctx context.Context) (remote.Journal, error) {
	return call(p.n, func() (remote.Journal, error) { return p.Place.ReadJournal(ctx) })
}

// Lock implements remote.Place.
func (p *place) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	h, err := call(p.n, func() (remote.Hold, error) { return p.Place.Lock(ctx, info) })
	if err != nil {
		return nil, err
	}
	return &hold{h, p.n}, nil
}

// Unlocked implements remote.Place.
func (p *place) Unlocked(ctx context.Context) (remote.Hold, error) {
	h, err := p.Place.Unlocked(ctx)
	return &hold{h, p.n}, err
}

// Holder implements remote.Place.
func (p *place) Holder(ctx context.Context) (*state.LockInfo, error) {
	return call(p.n, func() (*state.LockInfo, error) { return p.Place.Holder(ctx) })
}

// ForceUnlock implements remote.Place.
func (p *place) ForceUnlock(ctx context.Context, id string) error {
	return alone(p.n, func() error { return p.Place.ForceUnlock(ctx, id) })
}

func alone(n *Network, do func() error) error {
	_, err := call(n, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

type hold struct {
	remote.Hold
	n *Network
}

// Write implements remote.Hold.
func (h *hold) Write(ctx context.Context, w remote.Write) (string, error) {
	return call(h.n, func() (string, error) { return h.Hold.Write(ctx, w) })
}

// StartJournal implements remote.Hold.
func (h *hold) StartJournal(ctx context.Context, was string, first []byte) (string, error) {
	return call(h.n, func() (string, error) { return h.Hold.StartJournal(ctx, was, first) })
}

// Append implements remote.Hold.
func (h *hold) Append(ctx context.Context, version string, n int, chunk []byte) error {
	return alone(h.n, func() error { return h.Hold.Append(ctx, version, n, chunk) })
}

// Check implements remote.Hold.
func (h *hold) Check(ctx context.Context) error {
	return alone(h.n, func() error { return h.Hold.Check(ctx) })
}

// Delete implements remote.Hold.
func (h *hold) Delete(ctx context.Context) error {
	return alone(h.n, func() error { return h.Hold.Delete(ctx) })
}

// Unlock implements remote.Hold.
func (h *hold) Unlock(ctx context.Context) error {
	return alone(h.n, func() error { return h.Hold.Unlock(ctx) })
}
