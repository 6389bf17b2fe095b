//go:build unix

package pg

import (
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// pool is a pooler. It has its own connections to the server and assigns them to clients: for a transaction, or for as
// long as the client is connected.
type pool struct {
	t       *testing.T
	dsn     string
	session bool               // one connection for each client
	next    func(free int) int // index of the free connection to use next; the last one was used most recently

	mu   sync.Mutex
	more sync.Cond // signals a free connection
	free []*pgconn.HijackedConn
}

func newPool(t *testing.T, dsn string, session bool, next func(int) int, connections int) (p *pool, conn string) {
	p = &pool{t: t, dsn: dsn, session: session, next: next}
	p.more.L = &p.mu
	for range connections {
		c, err := pgconn.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		h, err := c.Hijack()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Conn.Close() })
		p.free = append(p.free, h)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return p, "postgres://tester@" + l.Addr().String() + "/any?sslmode=disable"
}

func (p *pool) take() *pgconn.HijackedConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.free) == 0 {
		p.more.Wait()
	}
	at := p.next(len(p.free))
	h := p.free[at]
	p.free = append(p.free[:at:at], p.free[at+1:]...)
	return h
}

func (p *pool) serve(c net.Conn) {
	defer c.Close()
	client := pgproto3.NewBackend(c, c)
	if _, err := client.ReceiveStartupMessage(); err != nil {
		return
	}
	client.Send(&pgproto3.AuthenticationOk{})
	client.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	client.Send(&pgproto3.BackendKeyData{ProcessID: 7777777, SecretKey: []byte{1, 2, 3, 4}})
	client.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if client.Flush() != nil {
		return
	}
	var server *pgconn.HijackedConn
	release := func() {
		if server != nil {
			p.mu.Lock()
			p.free = append(p.free, server)
			p.mu.Unlock()
			p.more.Signal()
			server = nil
		}
	}
	defer release()
	for {
		m, err := client.Receive()
		if err != nil {
			return
		}
		if _, over := m.(*pgproto3.Terminate); over {
			return
		}
		if server == nil {
			server = p.take()
		}
		server.Frontend.Send(m)
		switch m.(type) {
		case *pgproto3.Sync, *pgproto3.Query:
			if server.Frontend.Flush() != nil || !p.answer(client, server) {
				return
			}
			if !p.session {
				release()
			}
		}
	}
}

// answer forwards messages of the server until the transaction ends.
func (p *pool) answer(client *pgproto3.Backend, server *pgconn.HijackedConn) bool {
	for {
		m, err := server.Frontend.Receive()
		if err != nil {
			return false
		}
		client.Send(m)
		if _, ready := m.(*pgproto3.ReadyForQuery); ready {
			return client.Flush() == nil
		}
	}
}

// picks are strategies of poolers for choosing a free connection.
var picks = map[string]func(free int) int{
	"oldest": func(int) int { return 0 },
	"newest": func(free int) int { return free - 1 },
	"random": rand.IntN,
}

// A pooler that assigns a connection for each transaction is refused, whatever its strategy and its number of
// connections. No lock remains in its connections.
func TestPoolers(t *testing.T) {
	dsn := pgtest.Database(t)
	for name, next := range picks {
		for connections := 1; connections <= 5; connections++ {
			_, conn := newPool(t, dsn, false, next, connections)
			p := placed(t, opened(t, conn), "default")
			for range 2 {
				h, err := p.Lock(t.Context(), drivertest.Info("x"))
				if !contains(err, "pooler", "pool_mode=session") {
					t.Errorf("%s, %d connections: %v", name, connections, err)
				}
				if h != nil {
					_ = h.Unlock(t.Context())
				}
				written(t, placed(t, opened(t, dsn), "default"))
			}
		}
	}
	// A pooler that assigns a connection for as long as the client is connected is accepted.
	_, conn := newPool(t, dsn, true, picks["newest"], 4)
	d := opened(t, conn)
	p := placed(t, d, "default")
	written(t, p)
	h := lock(t, p, "mine")
	if info := refused(t, placed(t, opened(t, dsn), "default")); info.ID != "mine" {
		t.Errorf("holder %+v", info)
	}
	if err := placed(t, opened(t, dsn), "default").ForceUnlock(t.Context(), "mine"); err != nil {
		t.Error(err)
	}
	if err := h.Check(t.Context()); err == nil {
		t.Error("the lock is gone, and nobody noticed")
	} else if err := h.Unlock(t.Context()); err == nil || errors.Is(err, t.Context().Err()) {
		t.Errorf("unlock: %v", err)
	}
}
