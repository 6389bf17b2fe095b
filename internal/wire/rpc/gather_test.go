package rpc

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// slowConn passes each write to the test, which decides when it returns, and with which error.
type slowConn struct {
	net.Conn
	writes  chan string
	results chan error
	closed  chan struct{}
	once    sync.Once
}

func newSlowConn() *slowConn {
	return &slowConn{writes: make(chan string), results: make(chan error), closed: make(chan struct{})}
}

func (c *slowConn) Write(b []byte) (int, error) {
	select {
	case c.writes <- string(b):
	case <-c.closed:
		return 0, net.ErrClosed
	}
	select {
	case err := <-c.results:
		return len(b), err
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

func (c *slowConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func TestWritesDuringAnotherAreSentTogether(t *testing.T) {
	under := newSlowConn()
	g := gather(under)
	defer g.Close()
	write := func(text string) {
		if n, err := io.WriteString(g, text); err != nil || n != len(text) {
			t.Fatalf("%q: %d, %v", text, n, err)
		}
	}
	write("first")
	if got := <-under.writes; got != "first" {
		t.Fatalf("sent %q", got)
	}
	write("header ")
	write("message")
	under.results <- nil
	if got := <-under.writes; got != "header message" {
		t.Fatalf("sent %q, want both writes together", got)
	}
	under.results <- nil
}

func TestErrorsOfWritesCloseTheConnection(t *testing.T) {
	under, broken := newSlowConn(), errors.New("broken")
	g := gather(under)
	defer g.Close()
	_, _ = g.Write([]byte("first"))
	<-under.writes
	under.results <- broken
	<-under.closed // the reader of the connection ends
	<-g.ended
	if _, err := g.Write([]byte("later")); !errors.Is(err, broken) {
		t.Fatalf("a later write returns %v, want %v", err, broken)
	}
}

func TestCloseEndsWritesThatWait(t *testing.T) {
	under := newSlowConn()
	g := gather(under)
	_, _ = g.Write([]byte("first"))
	<-under.writes // it reads nothing more
	_, _ = g.Write(make([]byte, mostPending))
	waits := make(chan error)
	go func() {
		_, err := g.Write([]byte("too much"))
		waits <- err
	}()
	g.Close()
	if err := <-waits; !errors.Is(err, net.ErrClosed) {
		t.Fatalf("the write returns %v, want %v", err, net.ErrClosed)
	}
	if _, err := g.Write([]byte("later")); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("a later write returns %v, want %v", err, net.ErrClosed)
	}
}

// TestConcurrentWritesArriveWholeAndInOrder lets several goroutines write records of random lengths, some longer than
// what may wait, and reads them in random pieces.
func TestConcurrentWritesArriveWholeAndInOrder(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		near, far := net.Pipe()
		g := gather(near)
		const writers = 4
		var writing sync.WaitGroup
		total := 0
		for w := range writers {
			var records [][]byte
			for i := range 1 + r.IntN(30) {
				length := 3 + r.IntN(1<<r.IntN(17))
				if r.IntN(50) == 0 {
					length = mostPending + r.IntN(100)
				}
				record := bytes.Repeat([]byte{byte(w)}, length)
				record[0], record[1], record[2] = 0xFF, byte(w), byte(i)
				records = append(records, record)
				total += length
			}
			writing.Go(func() {
				for _, record := range records {
					if _, err := g.Write(record); err != nil {
						t.Error(err)
					}
				}
			})
		}
		got := make([]byte, 0, total)
		for len(got) < total {
			n, err := far.Read(got[len(got):min(total, len(got)+1+r.IntN(1<<16))])
			if err != nil {
				t.Fatal(err)
			}
			got = got[:len(got)+n]
		}
		writing.Wait()
		next := [writers]byte{}
		for at, current := 0, byte(0); at < total; at++ {
			switch c := got[at]; {
			case c == 0xFF:
				if current = got[at+1]; got[at+2] != next[current] {
					t.Fatalf("seed %d: writer %d: record %d comes before %d", seed, current, got[at+2], next[current])
				}
				next[current]++
				at += 2
			case c != current:
				t.Fatalf("seed %d: a byte of writer %d is in a record of writer %d", seed, c, current)
			}
		}
		g.Close()
		far.Close()
	}
}
