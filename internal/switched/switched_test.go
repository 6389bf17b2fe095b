package switched_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
	"github.com/tombolo-iac/tombolo/internal/switched"
)

// switching returns the address of a server that answers each request with status 101 and then says nothing.
func switching(t *testing.T) string {
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
			go func() {
				defer c.Close()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
					return
				}
				io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
				io.Copy(io.Discard, c) // until the client closes the connection
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func TestAServerThatSwitchesProtocolsGetsNoClient(t *testing.T) {
	address := switching(t)
	for name, transport := range map[string]func(http.RoundTripper) http.RoundTripper{
		"plain": switched.Over, "of the stores": progress.Over,
	} {
		t.Run(name, func(t *testing.T) {
			own := &http.Transport{}
			defer own.CloseIdleConnections()
			client := &http.Client{Transport: transport(own)}
			for _, ctx := range []context.Context{t.Context(), limited(t)} {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err = client.Do(request); !errors.Is(err, switched.Err) {
					t.Errorf("got %v, want %v", err, switched.Err)
				}
			}
		})
	}
}

// limited returns a context whose bytes the transport of the stores reports.
func limited(t *testing.T) context.Context {
	ctx, cancel := progress.Within(t.Context(), 1<<40)
	t.Cleanup(cancel)
	return ctx
}
