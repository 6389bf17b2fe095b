package drivertest

import (
	"bytes"
	"fmt"
	"io"
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

// Net is a service behind a network with faults: "lost" and "without an answer" close the connection before or after
// the service acts, "503" refuses, "twice" delivers a request two times, "cut" breaks off an answer, "" is no fault.
type Net struct {
	Next http.Handler
	Fate Faults
	// Aside reports whether a request is made in the background, at a time of its own: it does not count.
	Aside func(*http.Request) bool

	mu sync.Mutex // guards n; held while a request is served
	n  int
}

// Calm is the fate of requests that nothing happens to.
func Calm(int) string { return "" }

// Requests returns how many requests there were.
func (s *Net) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
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
	kind := ""
	if s.Aside == nil || !s.Aside(r) {
		s.n++
		kind = s.Fate(s.n)
	}
	switch kind {
	case "lost":
	case "without an answer":
		apply()
	case "503":
		http.Error(w, "no leader", http.StatusServiceUnavailable)
		return
	case "twice":
		apply()
		fallthrough
	case "":
		out := apply()
		w.WriteHeader(out.Code)
		_, _ = w.Write(out.Body.Bytes())
		return
	case "cut":
		text := apply().Body.Bytes()
		w.Header().Set("Content-Length", fmt.Sprint(len(text)+1))
		_, _ = w.Write(text)
		return
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
