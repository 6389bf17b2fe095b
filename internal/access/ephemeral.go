package access

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// closing limits the time to close an object after the run was aborted: it should be closed even then.
const closing = 10 * time.Second

// An object is not renewed more often than once in shortest, whatever its provider requests. The pause increases, up to
// longest, for an object that is overdue again immediately after each renewal.
const (
	shortest = time.Second
	longest  = time.Minute
	// glance is how often the clock is read until a renewal: it may be set, or the machine may sleep, which timers do
	// not notice.
	glance = 30 * time.Second
)

// ephemerals holds the open objects of one run. The zero value is not usable; see newEphemerals.
type ephemerals struct {
	calls  context.Context
	events event.Sink
	now    func() time.Time // the clock that renewal times refer to

	mu   sync.Mutex // guards open
	open map[addr.AbsResourceInstance]*ephemeral
}

// newEphemerals returns an empty set; calls is the context of provider calls.
func newEphemerals(calls context.Context, events event.Sink) *ephemerals {
	return &ephemerals{calls: calls, events: events, now: time.Now, open: map[addr.AbsResourceInstance]*ephemeral{}}
}

// ephemeral is one open object. The goroutine of renew owns private and diags until ended is closed.
type ephemeral struct {
	set     *ephemerals
	addr    addr.AbsResourceInstance
	prov    provider.Provider
	private []byte
	diags   diag.List
	stop    chan struct{}
	ended   chan struct{}
	once    sync.Once // closes stop
}

// Open opens an object and returns its value: ephemeral as a whole, and sensitive according to the schema. The
// diagnostics have no source range yet. If the client allows it, the provider may defer: then the object is not open.
func (s *ephemerals) Open(a addr.AbsResourceInstance, prov provider.Provider, block *provider.Block, config cty.Value,
	client provider.ClientCapabilities) (v cty.Value, diags diag.List, later provider.DeferredReason) {
	var resp provider.OpenEphemeralResponse
	_ = s.withEvents(a, event.Open, func() diag.List {
		resp = prov.OpenEphemeral(s.calls, provider.OpenEphemeralRequest{Type: a.Resource.Type, Config: config,
			Client: client})
		return resp.Diagnostics
	})
	if resp.Diagnostics.HasErrors() {
		return cty.DynamicVal, resp.Diagnostics, later
	}
	diags = resp.Diagnostics
	if resp.Deferred != provider.NotDeferred && client.DeferralAllowed {
		return cty.DynamicVal, nil, resp.Deferred
	}
	if resp.Deferred != provider.NotDeferred {
		return cty.DynamicVal, diags.Errorf(nil, "Provider deferred changes when deferrals are not allowed",
			"The provider cannot open %s yet and deferred it, although the engine does not support that.", a), later
	}
	for _, e := range value.CheckOpened(block, config, resp.Result) {
		diags = append(diags, &diag.Diagnostic{
			Severity: diag.Error, Summary: "Provider produced invalid ephemeral resource instance", Path: e.Path,
			Detail: "The provider answered for " + a.String() + " with an invalid value: " + e.Error() +
				".\n\n" + value.ProviderBug})
	}
	o := &ephemeral{set: s, addr: a, prov: prov, private: resp.Private, stop: make(chan struct{}),
		ended: make(chan struct{})}
	s.mu.Lock()
	s.open[a] = o
	s.mu.Unlock()
	go o.renew(resp.RenewAt)
	if diags.HasErrors() {
		return cty.DynamicVal, diags, later
	}
	v = value.MarkSensitive(resp.Result, value.SensitivePaths(block, resp.Result, nil))
	return v.Mark(value.Ephemeral), diags, later
}

// renew renews the object whenever it is due, until it is stopped or a renewal fails.
func (o *ephemeral) renew(at time.Time) {
	defer close(o.ended)
	defer func() { // an unrecovered panic in this goroutine would end the process
		if v := recover(); v != nil {
			o.diags = o.diags.Errorf(nil, "The provider crashed", "The provider of %s panicked when it was asked to "+
				"renew it: %v. %s", o.addr, v, value.ProviderBug)
		}
	}()
	for pause := shortest; !at.IsZero(); {
		at = at.Round(0) // strips the monotonic clock
		wait := at.Sub(o.set.now())
		if wait > 0 {
			wait, pause = max(wait, shortest), shortest
		} else {
			wait, pause = pause, min(2*pause, longest)
		}
		if !o.wait(at, wait) {
			return
		}
		var resp provider.RenewEphemeralResponse
		o.diags = o.diags.Extend(o.set.withEvents(o.addr, event.Renew, func() diag.List {
			resp = o.prov.RenewEphemeral(o.set.calls, provider.RenewEphemeralRequest{Type: o.addr.Resource.Type,
				Private: o.private})
			return resp.Diagnostics
		}))
		if resp.Diagnostics.HasErrors() {
			return
		}
		o.private, at = resp.Private, resp.RenewAt
	}
}

// wait waits until the given time, but at least for the pause, and takes changes of the clock into account. It reports
// whether the object is still open.
func (o *ephemeral) wait(at time.Time, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	look := time.NewTicker(glance)
	defer look.Stop()
	overdue := !o.set.now().Before(at)
	for {
		select {
		case <-o.stop:
			return false
		case <-timer.C:
			return true
		case <-look.C:
			if !overdue && !o.set.now().Before(at) {
				return true
			}
		}
	}
}

// stopRenewals stops the renewals.
func (o *ephemeral) stopRenewals() {
	o.once.Do(func() { close(o.stop) })
	<-o.ended
}

// Close closes an object, if it is open, and returns the problems since it was opened.
func (s *ephemerals) Close(a addr.AbsResourceInstance) diag.List {
	s.mu.Lock()
	o := s.open[a]
	delete(s.open, a)
	s.mu.Unlock()
	if o == nil {
		return nil
	}
	o.stopRenewals()
	ctx, cancel := s.calls, context.CancelFunc(func() {})
	if ctx.Err() != nil {
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), closing)
	}
	defer cancel()
	return o.diags.Extend(s.withEvents(a, event.Close, func() diag.List {
		return o.prov.CloseEphemeral(ctx, provider.CloseEphemeralRequest{Type: a.Resource.Type, Private: o.private})
	})).InAddress(a.String())
}

// CloseAll closes what is still open.
func (s *ephemerals) CloseAll() diag.List {
	return s.closeThose(func(addr.AbsResourceInstance) bool { return true })
}

// CloseBlock closes all instances of a block.
func (s *ephemerals) CloseBlock(r addr.AbsResource) diag.List {
	return s.closeThose(func(a addr.AbsResourceInstance) bool { return a.AbsResource() == r })
}

func (s *ephemerals) closeThose(which func(addr.AbsResourceInstance) bool) (diags diag.List) {
	s.mu.Lock()
	var left []addr.AbsResourceInstance
	var renewed []*ephemeral
	for a, o := range s.open {
		if which(a) {
			left, renewed = append(left, a), append(renewed, o)
		}
	}
	s.mu.Unlock()
	for _, o := range renewed {
		o.stopRenewals() // stops all renewals before a provider can panic
	}
	slices.SortFunc(left, func(a, b addr.AbsResourceInstance) int { return b.Compare(a) })
	for _, a := range left {
		diags = diags.Extend(s.Close(a))
	}
	return diags
}

// withEvents sends events before and after a call.
func (s *ephemerals) withEvents(a addr.AbsResourceInstance, op event.EphemeralOp, call func() diag.List) diag.List {
	o := addr.Object{Instance: a}
	started := time.Now()
	s.events.Send(event.EphemeralStart{Object: o, Op: op})
	diags := call()
	s.events.Send(event.EphemeralDone{Object: o, Op: op, Elapsed: time.Since(started), Failed: diags.HasErrors()})
	return diags
}
