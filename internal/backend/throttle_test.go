package backend_test

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/backend/backendtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// busy is a service that answers the first write with a request to retry after one second.
type busy struct {
	status int

	mu     sync.Mutex
	what   []byte    // content of that write
	asked  time.Time // time of that response
	pauses []time.Duration
}

// before handles a request before the service, or returns false.
func (b *busy) before(w http.ResponseWriter, r *http.Request, body []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case r.Method == http.MethodGet || len(body) == 0 || b.what != nil && !bytes.Equal(body, b.what):
		return false
	case b.what != nil:
		b.pauses = append(b.pauses, time.Since(b.asked))
		return false
	}
	b.what, b.asked = body, time.Now()
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(b.status)
	_, _ = io.WriteString(w, `{"message": "slow down"}`)
	return true
}

// Requested pauses are kept: a state is written after the pause, and not before.
func TestRequestedPausesAreKept(t *testing.T) {
	for _, kind := range backendtest.Kinds() {
		for name, status := range map[string]int{"too many": http.StatusTooManyRequests,
			"unavailable": http.StatusServiceUnavailable} {
			t.Run(kind+" "+name, func(t *testing.T) {
				b := &busy{status: status}
				s := backendtest.Start(t, kind)
				p, err := s.Open(t, "place").Place(state.DefaultWorkspace)
				if err != nil {
					t.Fatal(err)
				}
				h, err := p.Lock(t.Context(), drivertest.Info("0b5c8e7e-6c1f-4d9e-9d6d-000000000001"))
				if err != nil {
					t.Fatal(err)
				}
				s.Before(b.before)
				data := []byte(`{"version":4,"serial":1,"lineage":"l"}`)
				if _, err := h.Write(t.Context(), remote.Write{Data: data, Lineage: "l", Serial: 1}); err != nil {
					t.Fatal(err)
				}
				there, err := p.Read(t.Context())
				if err != nil || !bytes.Equal(there.Data, data) {
					t.Errorf("there is %s, %v", there.Data, err)
				}
				b.mu.Lock()
				defer b.mu.Unlock()
				if len(b.pauses) == 0 || b.pauses[0] < time.Second {
					t.Errorf("it was left alone for %s", b.pauses)
				}
			})
		}
	}
}
