//go:build unix

package pg

import (
	big "encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// proxy forwards messages between a driver and a server, and can cut connections at message boundaries.
type proxy struct {
	listener net.Listener
	target   string // the server's socket
	conn     string // connection string for clients

	mu    sync.Mutex
	count int // number of messages
	turns int // number of client messages that require a response
	// fault is called before each message with its number and size. It returns how many bytes are forwarded before the
	// connection is cut; a negative result means that the connection is not cut.
	fault func(n, size int) int
	gate  sync.Mutex // held while the proxy is frozen
	conns map[net.Conn]bool
	// clients are the connections of clients.
	clients map[net.Conn]bool
	closed  bool
	wg      sync.WaitGroup
}

func newProxy(t *testing.T, dsn string) *proxy {
	t.Helper()
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: filepath.Join(config.Host, fmt.Sprintf(".s.PGSQL.%d", config.Port)),
		conns: map[net.Conn]bool{}, clients: map[net.Conn]bool{}}
	p.conn = regexp.MustCompile(`host=\S+`).ReplaceAllString(dsn, fmt.Sprintf("host=127.0.0.1 port=%d sslmode=disable",
		l.Addr().(*net.TCPAddr).Port))
	p.wg.Go(p.serve)
	t.Cleanup(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		l.Close()
		p.cutAll()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.clients[client] = true
		over := p.closed
		p.mu.Unlock()
		if over {
			client.Close()
			server.Close()
			continue
		}
		cut := func() {
			client.Close()
			server.Close()
			p.mu.Lock()
			delete(p.conns, client)
			delete(p.conns, server)
			p.mu.Unlock()
		}
		p.wg.Go(func() { defer cut(); p.forward(server, client, true) })
		p.wg.Go(func() { defer cut(); p.forward(client, server, false) })
	}
}

// cutAll cuts all connections.
func (p *proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// forward forwards messages until there are no more, or until the connection is cut. The first message of a client has
// no type.
func (p *proxy) forward(to io.Writer, from io.Reader, untyped bool) {
	for {
		head := make([]byte, 5)
		if untyped {
			head = head[1:]
		}
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		size := big.BigEndian.Uint32(head[len(head)-4:])
		message := make([]byte, int(size)-4+len(head))
		copy(message, head)
		if _, err := io.ReadFull(from, message[len(head):]); err != nil {
			return
		}
		untyped = false
		p.gate.Lock()
		p.mu.Lock()
		p.count++
		if to, ok := from.(net.Conn); ok && p.clients[to] && (head[0] == 'S' || head[0] == 'Q') && len(head) == 5 {
			p.turns++
		}
		keep := -1
		if p.fault != nil {
			keep = p.fault(p.count, len(message))
		}
		p.mu.Unlock()
		p.gate.Unlock()
		if keep >= 0 {
			message = message[:keep]
		}
		if _, err := to.Write(message); err != nil || keep >= 0 {
			return
		}
	}
}

func (p *proxy) setFault(fault func(n, size int) int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count, p.fault = 0, fault
}

func (p *proxy) messages() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// asked returns the number of client messages that required a response.
func (p *proxy) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turns
}
