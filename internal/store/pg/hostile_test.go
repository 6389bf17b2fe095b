//go:build unix

package pg

import (
	"bytes"
	"context"
	big "encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
	"github.com/tombolo-iac/tombolo/state"
)

// hostile is a server that greets like PostgreSQL, unless greets is false, and responds to each statement with an
// attack.
type hostile struct {
	greets bool
	attack func(c net.Conn)
	sent   atomic.Int64
}

// counts counts the bytes sent.
type counts struct {
	net.Conn
	h *hostile
}

// Write implements net.Conn.
func (c counts) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.h.sent.Add(int64(n))
	return n, err
}

// serve runs until the test ends, and returns a connection string.
func (h *hostile) serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go h.talk(counts{c, h})
		}
	}()
	return fmt.Sprintf("host=127.0.0.1 port=%d user=me password=password-canary dbname=d sslmode=disable",
		l.Addr().(*net.TCPAddr).Port)
}

func (h *hostile) talk(c net.Conn) {
	defer c.Close()
	b := pgproto3.NewBackend(c, c)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	if !h.greets {
		h.attack(c)
		return
	}
	for _, m := range []pgproto3.BackendMessage{&pgproto3.AuthenticationOk{}, &pgproto3.BackendKeyData{ProcessID: 1,
		SecretKey: []byte("1234")}, &pgproto3.ReadyForQuery{TxStatus: 'I'}} {
		b.Send(m)
	}
	if b.Flush() != nil {
		return
	}
	for {
		m, err := b.Receive()
		if err != nil {
			return
		}
		switch m.(type) {
		case *pgproto3.Sync, *pgproto3.Query:
			h.attack(c)
		}
	}
}

// messages returns an attack that sends messages.
func messages(list ...pgproto3.BackendMessage) func(net.Conn) {
	var all []byte
	for _, m := range list {
		var err error
		if all, err = m.Encode(all); err != nil {
			panic(err)
		}
	}
	return func(c net.Conn) { _, _ = c.Write(all) }
}

// again returns an attack that repeats another until the connection is closed.
func again(attack func(net.Conn), pause time.Duration) func(net.Conn) {
	return func(c net.Conn) {
		one := &failing{Conn: c}
		for !one.failed {
			attack(one)
			time.Sleep(pause)
		}
	}
}

type failing struct {
	net.Conn
	failed bool
}

// Write implements net.Conn.
func (f *failing) Write(b []byte) (int, error) {
	n, err := f.Conn.Write(b)
	f.failed = f.failed || err != nil
	return n, err
}

// row returns the messages of a response with one row.
func row(columns int, value string) []pgproto3.BackendMessage {
	d := &pgproto3.RowDescription{}
	r := &pgproto3.DataRow{}
	for n := range columns {
		d.Fields = append(d.Fields, pgproto3.FieldDescription{Name: fmt.Appendf(nil, "c%d", n), DataTypeOID: oidText})
		r.Values = append(r.Values, []byte(value))
	}
	return []pgproto3.BackendMessage{&pgproto3.ParseComplete{}, &pgproto3.BindComplete{}, d, r}
}

func ended(list []pgproto3.BackendMessage) func(net.Conn) {
	return messages(append(list, &pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")},
		&pgproto3.ReadyForQuery{TxStatus: 'I'})...)
}

// header returns the beginning of a message that announces a size in bytes.
func header(kind byte, size uint32) []byte {
	return big.BigEndian.AppendUint32([]byte{kind}, size)
}

func raw(b []byte) func(net.Conn) { return func(c net.Conn) { _, _ = c.Write(b) } }

// attacks are messages that a server can send instead of a valid response.
func attacks() map[string]func(net.Conn) {
	const words = "\x1b]0;owned\x07\x1b[2J says a stranger password-canary "
	failed := func(code, message string) func(net.Conn) {
		return messages(&pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: code,
			Message: message}, &pgproto3.ReadyForQuery{TxStatus: 'I'})
	}
	big := &pgproto3.DataRow{Values: [][]byte{bytes.Repeat([]byte("x"), 1<<16)}}
	all := map[string]func(net.Conn){
		"nothing":           func(net.Conn) {},
		"hangs up":          func(c net.Conn) { c.Close() },
		"a web page":        raw([]byte("HTTP/1.1 400 Bad Request\r\n\r\n<html>")),
		"zeros":             raw(make([]byte, 1<<16)),
		"zeros for ever":    again(raw(make([]byte, 1<<16)), 0),
		"a byte at a time":  again(raw([]byte{'D'}), time.Millisecond),
		"notices for ever":  again(messages(&pgproto3.NoticeResponse{Message: strings.Repeat("x", 1<<10)}), 0),
		"settings for ever": again(messages(&pgproto3.ParameterStatus{Name: "a", Value: strings.Repeat("x", 99)}), 0),
		"rows for ever": func(c net.Conn) {
			messages(row(1, "x")...)(c)
			again(messages(big), 0)(c)
		},
		"a row of a gigabyte":  raw(header('D', 1<<30-8)),
		"a row of four":        raw(header('D', 1<<32-1)),
		"a row of less than 0": raw(header('D', 0)),
		"ready at once":        messages(&pgproto3.ReadyForQuery{TxStatus: 'I'}),
		"complete without":     ended(nil),
		"copies in":            messages(&pgproto3.CopyInResponse{}),
		"copies out":           messages(&pgproto3.CopyOutResponse{}, &pgproto3.CopyData{Data: []byte("x")}),
		"copies both":          messages(&pgproto3.CopyBothResponse{}),
		"asks for a password":  messages(&pgproto3.AuthenticationMD5Password{Salt: [4]byte{1, 2, 3, 4}}),
		"words for terminals":  failed("XX000", words),
		"long words":           failed("XX000", strings.Repeat("x", 1<<19)),
		"a long code":          failed(strings.Repeat("\x1b", 1<<19), "x"),
		"more connections":     failed(tooManyConnections, words),
	}
	for _, columns := range []int{0, 1, 2, 3, 7} {
		for _, value := range []string{"", "true", "1", "-1", strings.Repeat("9", 400), "\xff\x00", "{}", "null"} {
			all[fmt.Sprintf("%d columns of %.10q", columns, value)] = ended(row(columns, value))
		}
	}
	return all
}

// Whatever a server sends, a call ends with a result or with an error that contains no secrets, and nothing panics.
func TestHostileServers(t *testing.T) {
	for name, attack := range attacks() {
		for _, greets := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, greets %t", name, greets), func(t *testing.T) {
				t.Parallel()
				beAttacked(t, &hostile{greets: greets, attack: attack})
			})
		}
	}
}

func beAttacked(t *testing.T, h *hostile) {
	const most = 1 << 20
	d := opened(t, h.serve(t))
	d.o.most = most
	d.o.times = times{connect: 300 * time.Millisecond, grace: 50 * time.Millisecond, check: 50 * time.Millisecond,
		patience: 100 * time.Millisecond, creation: 50 * time.Millisecond, kept: time.Millisecond,
		freed: 50 * time.Millisecond}
	p, err := d.Place(state.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(ctx context.Context) error{
		"read":       func(ctx context.Context) error { _, err := p.Read(ctx); return err },
		"journal":    func(ctx context.Context) error { _, err := p.ReadJournal(ctx); return err },
		"workspaces": func(ctx context.Context) error { _, err := d.Workspaces(ctx); return err },
		"holder":     func(ctx context.Context) error { _, err := p.Holder(ctx); return err },
		"history":    func(ctx context.Context) error { _, err := p.(history.Historian).List(ctx); return err },
		"former": func(ctx context.Context) error {
			_, err := p.(history.Historian).Snapshot(ctx, "1")
			return err
		},
		"lock": func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second) // waiting for a lock has no limit of its own
			defer cancel()
			hold, err := p.Lock(ctx, drivertest.Info("0b5c8e7e-6c1f-4d9e-9d6d-000000000003"))
			if err == nil {
				_ = hold.Check(ctx)
				_ = hold.Unlock(ctx)
			}
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		within, end := progress.Within(ctx, d.o.times.patience) // as the store does
		before := h.sent.Load()
		err := call(within)
		if ctx.Err() != nil {
			t.Errorf("%s does not end", name)
		}
		end()
		cancel()
		if sent := h.sent.Load() - before; sent > 64<<20 {
			t.Errorf("%s: %d bytes were taken", name, sent)
		}
		if err == nil {
			continue
		}
		text := err.Error()
		if len(text) > 4000 || strings.ContainsFunc(text, unicode.IsControl) || strings.Contains(text, "-canary") {
			t.Errorf("%s: the error is %d bytes: %.300q", name, len(text), text)
		}
		if errors.Is(err, context.Canceled) {
			t.Errorf("%s: nobody has cancelled it: %v", name, err)
		}
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	if memory.HeapAlloc > 600<<20 {
		t.Errorf("%d bytes of memory are in use", memory.HeapAlloc)
	}
}
