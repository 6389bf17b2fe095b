package drivertest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// FaultKinds are the faults of networks and services.
var FaultKinds = []string{
	"lost",              // the request does not arrive
	"without an answer", // the request is performed, but its response is lost
	"twice",             // the request is performed twice, and the second response arrives
	"late",              // no response; the request is performed after the next one
	"503",               // the service is busy
	"429",               // too many requests
	"500 and done",      // the request is performed, but the response is an error
	"cut",               // a part of the response arrives
}

// Net is a service behind a network with faults.
type Net struct {
	Next http.Handler
	Fate Faults
	// Plan, if set, returns the fault of a request and replaces Fate.
	Plan func(r *http.Request) string
	// Aside reports whether a request is sent in the background, at an unpredictable time. Such requests are not
	// counted.
	Aside func(*http.Request) bool

	mu   sync.Mutex // guards the fields below; held while a request is served
	n    int
	late []func()
}

// Calm is a Fate without faults.
func Calm(int) string { return "" }

// Requests returns the number of requests so far.
func (s *Net) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// Arrive delivers delayed requests.
func (s *Net) Arrive() {
	s.mu.Lock()
	late := s.late
	s.late = nil
	s.mu.Unlock()
	for _, one := range late {
		one()
	}
}

// Serve starts a server, which stops when the test ends, and returns its address.
func Serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// Once returns a plan with a fault for the first request that matches.
func Once(what string, is func(r *http.Request) bool) func(*http.Request) string {
	return func(r *http.Request) (now string) {
		if is(r) {
			now, what = what, ""
		}
		return now
	}
}

// ServeHTTP implements http.Handler.
func (s *Net) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	apply := func() *httptest.ResponseRecorder {
		out, in := httptest.NewRecorder(), r.Clone(r.Context())
		in.Body = io.NopCloser(bytes.NewReader(body))
		s.Next.ServeHTTP(out, in)
		return out
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.late
	s.late = nil
	s.serve(w, s.kind(r), apply)
	for _, one := range old {
		one()
	}
}

// kind returns the fault of a request.
func (s *Net) kind(r *http.Request) string {
	switch {
	case s.Aside != nil && s.Aside(r):
		return ""
	case s.Plan != nil:
		s.n++
		return s.Plan(r)
	}
	s.n++
	return s.Fate(s.n)
}

// serve serves a request with a fault.
func (s *Net) serve(w http.ResponseWriter, kind string, apply func() *httptest.ResponseRecorder) {
	switch kind {
	case "without an answer":
		apply()
	case "late":
		s.late = append(s.late, func() { apply() })
	case "503":
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case "429":
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case "500 and done":
		apply()
		w.WriteHeader(http.StatusInternalServerError)
		return
	case "twice":
		apply()
		fallthrough
	case "":
		out := apply()
		maps.Copy(w.Header(), out.Header())
		w.WriteHeader(out.Code)
		_, _ = w.Write(out.Body.Bytes())
		return
	case "cut":
		out := apply()
		w.Header().Set("Content-Length", fmt.Sprint(out.Body.Len()+1))
		w.WriteHeader(out.Code)
		_, _ = w.Write(out.Body.Bytes()[:out.Body.Len()/2])
		w.(http.Flusher).Flush()
	}
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		conn.Close()
	}
}

// Stores runs the suite of stores with drivers of one service; new starts an empty service.
func Stores(t *testing.T, new func(t *testing.T) (open func() remote.Driver)) {
	storetest.Run(t, func(t *testing.T) (a, b state.Store) {
		open, folder := new(t), t.TempDir()
		store := func() state.Store {
			return remote.New(remote.Options{Driver: open(), Rescue: []string{folder}, Pause: time.Millisecond,
				Beat: 5 * time.Millisecond, Who: "me@here"})
		}
		return store(), store()
	})
}

// Random returns text that is hardly compressible.
func Random(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 2))
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[r.IntN(64)]
	}
	return b
}
