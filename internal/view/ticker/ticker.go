// Package ticker calls a function at intervals, in a goroutine that it owns.
//
//	t := ticker.New(time.Second, draw)
//	t.Start() // any number of times
//	defer t.Stop()
package ticker

import (
	"sync"
	"time"
)

// Ticker calls a function at intervals between Start and Stop. Its methods may be called concurrently.
type Ticker struct {
	every time.Duration
	call  func()

	mu      sync.Mutex // guards the fields below
	quit    chan struct{}
	ended   chan struct{}
	stopped bool
}

// New returns a stopped ticker.
func New(every time.Duration, call func()) *Ticker { return &Ticker{every: every, call: call} }

// Start begins the calls, unless they have begun or the ticker was stopped.
func (t *Ticker) Start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.quit != nil || t.stopped {
		return
	}
	t.quit, t.ended = make(chan struct{}), make(chan struct{})
	go t.loop(t.quit, t.ended)
}

// Stop ends the calls permanently, and waits for a running one. The function must not call it.
func (t *Ticker) Stop() {
	t.mu.Lock()
	quit, ended := t.quit, t.ended
	t.quit, t.stopped = nil, true
	t.mu.Unlock()
	if quit != nil {
		close(quit)
		<-ended
	}
}

func (t *Ticker) loop(quit, ended chan struct{}) {
	defer close(ended)
	ticks := time.NewTicker(t.every)
	defer ticks.Stop()
	for {
		select {
		case <-quit:
			return
		case <-ticks.C:
			t.call()
		}
	}
}
