package author

import (
	"net"
	"net/http"
	"time"

	"github.com/tombolo-iac/tombolo/internal/openapi"
)

// mockServer serves the API of an OpenAPI document on the loopback interface.
type mockServer struct {
	address string
	server  *http.Server
	done    chan struct{}
}

// mockOf starts the server of a document. Its goroutine ends with Close.
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

// Close stops the server.
func (m *mockServer) Close() {
	_ = m.server.Close() // no data can be lost
	<-m.done
}
