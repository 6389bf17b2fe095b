package consul_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// faulty is a Consul behind a network with faults.
type faulty struct {
	next http.Handler
	fate func(n int) string

	mu sync.Mutex
	n  int
}

func (f *faulty) requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// ServeHTTP implements http.Handler. Sessions that are renewed in the background do not count.
func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	apply := func() *httptest.ResponseRecorder {
		out, in := httptest.NewRecorder(), r.Clone(r.Context())
		in.Body = io.NopCloser(bytes.NewReader(body))
		f.next.ServeHTTP(out, in)
		return out
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := ""
	if !strings.HasPrefix(r.URL.Path, "/v1/session/renew/") {
		f.n++
		kind = f.fate(f.n)
	}
	switch kind {
	case "lost":
	case "without an answer":
		apply()
	case "503":
		http.Error(w, "No cluster leader", http.StatusServiceUnavailable)
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
