//go:build unix

package pg

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
)

// slowEnd is the server's end of a slow connection, which stalls after a number of bytes.
type slowEnd struct {
	net.Conn
	left int // 0 means no stall
}

const (
	slowStep  = 64 << 10
	slowPause = time.Second
)

func (s *slowEnd) Read(p []byte) (int, error) {
	time.Sleep(slowPause)
	return s.Conn.Read(p[:min(len(p), slowStep)])
}

func (s *slowEnd) Write(p []byte) (sent int, err error) {
	for sent < len(p) && err == nil {
		time.Sleep(slowPause)
		part := p[sent:min(len(p), sent+slowStep)]
		if s.left > 0 {
			if s.left -= len(part); s.left <= 0 {
				_, err = s.Conn.Read(make([]byte, 1)) // wait until the client has left
				return sent, errors.Join(err, net.ErrClosed)
			}
		}
		var n int
		n, err = s.Conn.Write(part)
		sent += n
	}
	return sent, err
}

// slowServer responds to every query with one text.
func slowServer(c net.Conn, answer []byte) {
	defer c.Close()
	b := pgproto3.NewBackend(c, c)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for b.Flush() == nil {
		for {
			m, err := b.Receive()
			if err != nil {
				return
			}
			if _, ok := m.(*pgproto3.Sync); ok {
				break
			}
		}
		for _, m := range []pgproto3.BackendMessage{&pgproto3.ParseComplete{}, &pgproto3.BindComplete{},
			&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("a"), DataTypeOID: oidText}}},
			&pgproto3.DataRow{Values: [][]byte{answer}}, &pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")},
			&pgproto3.ReadyForQuery{TxStatus: 'I'}} {
			b.Send(m)
		}
	}
}

// As with every backend, a call waits as long as data flows, and so do calls queued behind it on the same connection. A
// call without traffic for two minutes ends.
func TestSlowConnectionsContinueWhileDataFlows(t *testing.T) {
	const large = 20 << 20 // takes more than five minutes
	for name, c := range map[string]struct {
		sends, gets, stops int
		ends               time.Duration // time of the expected error; 0 means success
	}{
		"a large state is read":    {gets: large},
		"a large state is written": {sends: large, gets: 1},
		"it stops in the middle":   {gets: large, stops: 10 << 20, ends: 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				var server sync.WaitGroup
				defer server.Wait()
				server.Go(func() { slowServer(&slowEnd{far, c.stops}, []byte(strings.Repeat("a", c.gets))) })
				d := opened(t, "host=/nowhere dbname=d user=u")
				d.o.config.DialFunc = func(context.Context, string, string) (net.Conn, error) { return near, nil }
				call := func(sent string) (string, error) {
					ctx, cancel := progress.Within(t.Context(), 2*time.Minute)
					defer cancel()
					s := d.idleSession()
					r, err := s.ask(ctx, "SELECT $1", text(sent))
					return r.text(0, 0), err
				}
				s, _, err := d.take(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				d.holds[s] = true
				began := time.Now()
				behind := make(chan error, 1)
				go func() {
					time.Sleep(slowPause)
					_, err := call("")
					behind <- err
				}()
				got, err := call(strings.Repeat("b", c.sends))
				took := time.Since(began)
				switch {
				case c.ends == 0 && (err != nil || len(got) != c.gets || took < 5*time.Minute):
					t.Errorf("%d bytes after %s: %v", len(got), took, err)
				case c.ends > 0 && (!errors.Is(err, context.DeadlineExceeded) ||
					took < c.ends+time.Duration(c.stops/slowStep)*slowPause-time.Minute || took > 6*time.Minute):
					t.Errorf("it ended after %s: %v", took, err)
				}
				if err := <-behind; (err != nil) != (c.ends > 0) {
					t.Errorf("behind it: %v", err)
				}
				s.cut()
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
