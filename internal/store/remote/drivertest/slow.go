package drivertest

import (
	"net"
	"regexp"
	"sync"
	"testing"
	"time"
)

var loopback = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// Slow puts a slow network in front of the service at the first address in the texts: each connection carries rate
// bytes per second in each direction. It replaces the address of the service in the texts with that of the network.
func Slow(t *testing.T, rate int, texts ...*string) {
	t.Helper()
	target := ""
	for _, text := range texts {
		if target == "" {
			target = loopback.FindString(*text)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil || target == "" {
		t.Fatal("there is no address, or none to listen at", err)
	}
	for _, text := range texts {
		*text = regexp.MustCompile(regexp.QuoteMeta(target)+`\b`).ReplaceAllString(*text, l.Addr().String())
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				near.Close()
				continue
			}
			_ = near.(*net.TCPConn).SetReadBuffer(64 << 10)
			mu.Lock()
			conns = append(conns, near, far)
			mu.Unlock()
			wg.Go(func() { carry(far, near, rate) })
			wg.Go(func() { carry(near, far, rate) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
}

// carry forwards data in steps of 20 ms.
func carry(to, from net.Conn, rate int) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, rate/50)
	for {
		n, err := from.Read(b)
		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
			time.Sleep(time.Second * time.Duration(n) / time.Duration(rate))
		}
		if err != nil {
			return
		}
	}
}
