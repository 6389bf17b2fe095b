package rpc

import (
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// mostPending is the number of bytes from which Write waits: a plugin that reads nothing must not fill the memory.
const mostPending = 1 << 20

// courtesy is how long the end of an encrypted connection may take.
const courtesy = 250 * time.Millisecond

// gathering is a connection that sends together what several writes contain. net/http writes the header and the message
// of a call separately, and each write would be an encrypted record, a system call, and often a switch to the plugin,
// which cannot begin yet.
//
// While a write is in progress, all others are collected for the next one. A gathering owns the goroutine that writes,
// which ends with Close or after an error. An error closes the connection, so that its reader ends too, and later
// writes return it.
type gathering struct {
	net.Conn

	mu      sync.Mutex // guards the fields up to the empty line
	changed sync.Cond  // signals a change of the fields below
	pending []byte
	err     error // of the first write that failed
	closed  bool

	ended chan struct{} // closed when the goroutine has ended
}

func gather(conn net.Conn) *gathering {
	g := &gathering{Conn: conn, ended: make(chan struct{})}
	g.changed.L = &g.mu
	go g.send()
	return g
}

// Write implements net.Conn. It returns before the bytes are sent.
func (g *gathering) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.pending) >= mostPending && g.err == nil && !g.closed {
		g.changed.Wait()
	}
	switch {
	case g.err != nil:
		return 0, g.err
	case g.closed:
		return 0, net.ErrClosed
	}
	if len(g.pending) == 0 {
		g.changed.Broadcast()
	}
	g.pending = append(g.pending, b...)
	return len(b), nil
}

// send sends what is pending, until the connection is closed.
func (g *gathering) send() {
	defer close(g.ended)
	var spare []byte
	for {
		g.mu.Lock()
		for len(g.pending) == 0 && !g.closed {
			g.changed.Wait()
		}
		batch, closed := g.pending, g.closed
		g.pending = spare[:0]
		if len(batch) >= mostPending {
			g.changed.Broadcast()
		}
		g.mu.Unlock()
		if closed {
			return
		}
		if _, err := g.Conn.Write(batch); err != nil {
			g.mu.Lock()
			g.err = err
			g.changed.Broadcast()
			g.mu.Unlock()
			_ = g.Conn.Close()
			return
		}
		spare = batch
		if cap(spare) > mostPending/4 {
			spare = nil
		}
	}
}

// Close implements net.Conn. It sends nothing more.
func (g *gathering) Close() error {
	g.mu.Lock()
	g.closed = true
	g.changed.Broadcast()
	g.mu.Unlock()
	if over, ok := g.Conn.(*tls.Conn); ok { // whose last message a plugin that reads nothing would delay
		late := time.AfterFunc(courtesy, func() { _ = over.NetConn().Close() })
		defer late.Stop()
	}
	err := g.Conn.Close() // also ends a write that waits for the plugin
	<-g.ended
	return err
}
