package hcp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/hcp"
	"github.com/tombolo-iac/tombolo/internal/store/hcp/hcptest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// fault is a fault of a request.
type fault int

const (
	none       fault = iota
	lost             // the request does not arrive
	answerLost       // the response does not arrive
	refused          // 503 or 429, and the request is not performed
	failedLate       // the request is performed, but the response is 503
	twice            // the request arrives twice
	late             // the request arrives after later ones
	faults
)

// faulty is a server behind a network with faults. It serves requests one at a time.
type faulty struct {
	next *hcptest.Server
	kind func(*http.Request) fault
	// arrived is called around each request that arrives.
	arrived func(r *http.Request, apply func())
	// arrives reports whether a delayed request arrives now.
	arrives func() bool

	mu      sync.Mutex
	waiting []func()
}

// ServeHTTP implements http.Handler.
func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	apply := func() (out *httptest.ResponseRecorder) {
		in := r.Clone(r.Context())
		in.Body = io.NopCloser(bytes.NewReader(body))
		out = httptest.NewRecorder()
		f.arrived(r, func() { f.next.ServeHTTP(out, in) })
		return out
	}
	for len(f.waiting) > 0 && f.arrives() {
		f.waiting[0]()
		f.waiting = f.waiting[1:]
	}
	switch f.kind(r) {
	case none:
		out := apply()
		w.WriteHeader(out.Code)
		_, _ = w.Write(out.Body.Bytes())
		return
	case twice:
		apply()
		out := apply()
		w.WriteHeader(out.Code)
		_, _ = w.Write(out.Body.Bytes())
		return
	case refused:
		http.Error(w, "busy", http.StatusTooManyRequests)
		return
	case failedLate:
		apply()
		http.Error(w, "failed", http.StatusServiceUnavailable)
		return
	case answerLost:
		apply()
	case late:
		f.waiting = append(f.waiting, func() { apply() })
	}
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		conn.Close()
	}
}

// Whatever fails, a run whose write succeeds has stored its state, a run whose write fails because of a change by
// another has not, and no late request replaces a newer state.
func TestFaultsLoseAndDuplicateNothing(t *testing.T) {
	seeds := uint64(25)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		kinds := []string{"with reasons", "without reasons"}
		if seed%4 == 0 { // these runs have large states
			kinds = append(kinds, "uploads", "without uploads")
		}
		for _, kind := range kinds {
			play(t, kind, seed)
		}
	}
}

// numberOf returns the serial of a state of play.
func numberOf(data []byte) int {
	var st struct{ Serial int }
	_ = json.Unmarshal(data, &st)
	return st.Serial
}

// play performs runs one after the other, which write states through a network with faults.
func play(t *testing.T, kind string, seed uint64) {
	t.Helper()
	there := service()
	there.Mode = "local"
	there.Forgetful, there.Inline = kind == "without reasons", kind == "without uploads"
	size := 10
	if strings.HasSuffix(kind, "uploads") {
		size = hcp.MostInline + 1
	}
	there.Make("one", nil)
	random := rand.New(rand.NewPCG(seed, 1))
	rate := random.Float64() / 3
	net := &faulty{next: there, kind: func(*http.Request) fault {
		if random.Float64() < rate {
			return 1 + fault(random.IntN(int(faults)-1))
		}
		return none
	}, arrives: func() bool { return random.IntN(4) == 0 }}
	wrong := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s, seed %d: %s\n%s", kind, seed, fmt.Sprintf(format, args...), strings.Join(there.Seen(), "\n"))
	}
	net.arrived = func(r *http.Request, apply func()) {
		before, _ := there.State("one")
		apply()
		if now, _ := there.State("one"); numberOf(now) < numberOf(before) ||
			numberOf(now) == numberOf(before) && !bytes.Equal(now, before) {
			wrong("%.90q became %.90q by %s %s", before, now, r.Method, r.URL.Path)
		}
	}
	p := place(t, plain(t, net).one(t), state.DefaultWorkspace)
	for n := range 8 {
		if h := run(t, p, there, wrong, n, size); h != nil {
			err := h.Unlock(t.Context())
			user, reason := there.Holder("one")
			if id := fmt.Sprintf("run-%d", n); err == nil && kind != "without reasons" && strings.Contains(reason, id) {
				wrong("%s has given back the lock, and %s holds it", id, user)
			}
		}
		there.Unlock("one") // as a person does who finds a lock that was left
	}
}

// run performs a run that writes one state, and returns its hold.
func run(t *testing.T, p remote.Place, there *hcptest.Server, wrong func(string, ...any), n, size int) remote.Hold {
	t.Helper()
	id := fmt.Sprintf("run-%d", n)
	h, err := p.Lock(t.Context(), drivertest.Info(id))
	if err != nil {
		return nil
	}
	if user, _ := there.Holder("one"); user != "ann" {
		wrong("%s has the lock, and nobody holds it", id)
	}
	c, err := p.Read(t.Context())
	if err != nil {
		return h
	}
	data := stateOf(numberOf(c.Data)+1, size+n)
	version, err := h.Write(t.Context(), remote.Write{Data: data, Was: c.Version, Lineage: "l",
		Serial: uint64(numberOf(data))})
	switch now, _ := there.State("one"); {
	case err == nil && (version == "" || !bytes.Equal(now, data)):
		wrong("%s has written %.90q, and %.90q stands there", id, data, now)
	case errors.Is(err, remote.ErrChanged) && bytes.Equal(now, data):
		wrong("%s was told of another, and what it has written stands there", id)
	}
	return h
}

// An upload that never arrives does not block the lock: the service waits for the content until it is told not to.
func TestUploadsThatNeverArriveReleaseTheLock(t *testing.T) {
	there := service()
	h := plain(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		there.ServeHTTP(w, r)
	}))
	p, hold := lock(t, h.one(t), "x")
	_, err := hold.Write(t.Context(), remote.Write{Data: stateOf(1, hcp.MostInline+1), Lineage: "l", Serial: 1})
	says(t, err, "upload the state of acme/one", "503")
	must(t, hold.Unlock(t.Context()))
	if user, _ := there.Holder("one"); user != "" {
		t.Errorf("%s holds the lock", user)
	}
	c, err := p.Read(t.Context())
	if err != nil || c.Data != nil {
		t.Errorf("%+v, %v", c, err)
	}
}
