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

// FaultKinds are the faults of networks and services, each with its effect on a request.
var FaultKinds = []string{
	"lost",              // nothing arrives
	"without an answer", // it is done, and nobody hears of it
	"twice",             // it is done twice, and the second answer is heard
	"late",              // nothing is heard, and it is done after the next request
	"503",               // the service is busy
	"429",               // there are too many requests
	"500 and done",      // it is done, and the answer is that something went wrong
	"cut",               // a part of the answer is heard
}

// Net is a service behind a network with faults.
type Net struct {
	Next http.Handler
	Fate Faults
	// Plan, if set, says what happens to a request in the place of Fate.
	Plan func(r *http.Request) string
	// Aside reports whether a request is made in the background, at its own time: it does not count.
	Aside func(*http.Request) bool

	mu   sync.Mutex // guards what follows; held while a request is served
	n    int
	late []func()
}

// Calm is the fate of requests that nothing happens to.
func Calm(int) string { return "" }

// Requests returns how many requests there were.
func (s *Net) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// Arrive lets late requests arrive.
func (s *Net) Arrive() {
	s.mu.Lock()
	late := s.late
	s.late = nil
	s.mu.Unlock()
	for _, one := range late {
		one()
	}
}

// Serve starts a server, until the test ends, and returns its address.
func Serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// Once does something to the first request that a test looks for.
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

// kind returns what happens to a request.
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

// serve answers a request as its fate is.
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

// Stores runs the suite of stores over drivers of one service, which new begins.
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

// Random returns a text that hardly becomes shorter.
func Random(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 2))
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[r.IntN(64)]
	}
	return b
}
