package tombolo

import (
	"sync"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/callback"
)

// listener passes events to the sink of the calling program. A panic of the sink must not stop a run halfway, or be
// mistaken for a panic of the provider whose program sent the output: it is raised when the call ends. Until then the
// sink receives no events.
type listener struct {
	sink event.Sink

	mu     sync.Mutex // guards the fields below
	failed *diag.PanicError
}

// Send implements event.Sink.
func (l *listener) Send(e event.Event) {
	l.mu.Lock()
	silent := l.failed != nil
	l.mu.Unlock()
	if silent {
		return
	}
	if err := callback.CallAndWait(func() error { l.sink.Send(e); return nil }); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.failed == nil {
			l.failed = diag.AsPanic(err)
		}
	}
}

// raisePanic continues the panic of a sink in the goroutine of the caller. It must be deferred, and run after conclude.
func (p *Project) raisePanic() {
	if p.listener == nil {
		return
	}
	p.listener.mu.Lock()
	failed := p.listener.failed
	p.listener.failed = nil
	p.listener.mu.Unlock()
	if failed != nil {
		panic(failed)
	}
}
