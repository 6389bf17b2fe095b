//go:build unix

package machines_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"testing"
)

// proxy is an HTTP proxy that sends the same response to every request, and opens the tunnel if that is 200.
type proxy struct {
	port int
	mu   sync.Mutex
	text string
}

func newProxy(t *testing.T, answer string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{port: l.Addr().(*net.TCPAddr).Port}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(conn, answer)
		}
	}()
	return p
}

func (p *proxy) asked() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text
}

func (p *proxy) serve(conn net.Conn, answer string) {
	defer conn.Close() //nolint:errcheck // the end of it
	in := bufio.NewReader(conn)
	req, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	dump, _ := httputil.DumpRequest(req, false) // the request was read completely
	p.mu.Lock()
	p.text += string(dump)
	p.mu.Unlock()
	if _, err := io.WriteString(conn, "HTTP/1.1 "+answer+"\r\n\r\n"); err != nil || answer[:3] != "200" {
		return
	}
	there, err := net.Dial("tcp", req.Host)
	if err != nil {
		return
	}
	defer there.Close() //nolint:errcheck // the end of it
	go func() {
		_, _ = io.Copy(there, in) // ends with either side
		_ = there.Close()
	}()
	_, _ = io.Copy(conn, there) // the same
}
