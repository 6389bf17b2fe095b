package author

import (
	"net"
	"net/http"
	"time"

	"github.com/tombolo-iac/tombolo/internal/openapi"
)

// mockServer is a server of the API of an OpenAPI document, on this machine only.
type mockServer struct {
	address string
	server  *http.Server
	done    chan struct{}
}

// mockOf starts the server of a document; its goroutine ends with Close.
func mockOf(spec string) (*mockServer, error) {
	doc, err := openapi.Load(spec)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &mockServer{address: "http://" + l.Addr().String(), done: make(chan struct{}),
		server: &http.Server{Handler: openapi.NewMock(doc), ReadHeaderTimeout: 10 * time.Second}}
	go func() {
		defer close(m.done)
		_ = m.server.Serve(l) // it ends with Close
	}()
	return m, nil
}

// Close ends the server.
func (m *mockServer) Close() {
	_ = m.server.Close() // nothing is left that could be lost
	<-m.done
}
