package httpstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/httpstore/httpstoretest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// faulty is a server behind a network with faults.
type faulty struct {
	next http.Handler
	kind func(*http.Request) fault
	// arrives reports whether a delayed request arrives now; arrived is called around each one that does.
	arrives func() bool
	arrived func(r *http.Request, apply func())
	late    []func()
	mu      sync.Mutex
}

type fault int

const (
	none        fault = iota
	requestLost       // the request does not arrive
	answerLost        // the request is performed, but its response is lost
	twice             // the request is performed twice, and the second response arrives
	unavailable       // status 503; the request is not performed
	failedLate        // the request is performed, but the response has status 500
	cutShort          // half of the response arrives
	late              // no response; the request arrives later, during another run or after it
	signIn            // a login page with status 200; the request is not performed
	pageOver          // the request is performed, but the response is a page
	faults
)

// ServeHTTP implements http.Handler.
func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	for waiting := f.late; len(waiting) > 0; waiting = waiting[1:] {
		if f.late = waiting[1:]; !f.arrives() {
			f.late = append(f.late, waiting[0])
			continue
		}
		waiting[0]()
	}
	apply := func() *httptest.ResponseRecorder {
		out, again := httptest.NewRecorder(), r.Clone(r.Context())
		again.Body = io.NopCloser(bytes.NewReader(body))
		f.next.ServeHTTP(out, again)
		return out
	}
	var out *httptest.ResponseRecorder
	kind := f.kind(r)
	switch kind {
	case requestLost:
		hangUp(w)
		return
	case late:
		f.late = append(f.late, func() { f.arrived(r, func() { apply() }) })
		hangUp(w)
		return
	case answerLost:
		apply()
		hangUp(w)
		return
	case unavailable:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case signIn, pageOver:
		if kind == pageOver {
			apply()
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "\n<!doctype html><title>Sign in</title>")
		return
	case failedLate:
		apply()
		w.WriteHeader(http.StatusInternalServerError)
		return
	case twice:
		apply()
	}
	out = apply()
	text := out.Body.Bytes()
	for name, values := range out.Header() {
		w.Header()[name] = values
	}
	if kind == cutShort {
		if len(text) < 2 {
			hangUp(w)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		text = text[:len(text)/2]
	}
	w.WriteHeader(out.Code)
	_, _ = w.Write(text)
	if kind == cutShort {
		w.(http.Flusher).Flush()
		hangUp(w)
	}
}

func hangUp(w http.ResponseWriter) {
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		conn.Close()
	}
}

// Whatever happens to single requests, a run that reports success has done its work, a run that reports a failure has
// lost nothing, and no lock remains that is not reported.
func TestFaultsLoseAndDuplicateNothing(t *testing.T) {
	seeds := uint64(25)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		for _, name := range []string{"strict", "lenient", "tags", "GitLab"} {
			play(t, name, seed)
		}
	}
}

// play performs runs one after the other, which write states through a network with faults.
func play(t *testing.T, name string, seed uint64) {
	t.Helper()
	there := servers[name]()
	random := rand.New(rand.NewPCG(seed, 1))
	rate := random.Float64() / 3
	net := &faulty{next: there, kind: func(*http.Request) fault {
		if random.Float64() < rate {
			return 1 + fault(random.IntN(int(faults)-1))
		}
		return none
	}}
	net.arrives = func() bool { return random.IntN(6) == 0 }
	s := httptest.NewServer(net)
	defer s.Close()
	arguments := map[string]cty.Value{}
	if name == "GitLab" {
		arguments = likeGitLab(s.URL)
	}
	p := place(t, settings(s.URL, arguments))
	wrong := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s, seed %d: %s\n%s", name, seed, fmt.Sprintf(format, args...), strings.Join(there.Seen(), "\n"))
	}
	net.arrived = func(r *http.Request, apply func()) {
		holder := there.Holder("/s")
		before, _ := there.State("/s")
		apply()
		now, _ := there.State("/s")
		switch id := r.URL.Query().Get("ID"); {
		case bytes.Equal(before, now):
		case holder != "" && holder != id:
			wrong("%q became %q under the lock of %s, by a write of %s that came late", before, now, holder, id)
		case name == "GitLab" && holder != id:
			wrong("%q became %q by a write of %s that came late, when it did not have the lock", before, now, id)
		case name == "tags" && serialOf(now) < serialOf(before):
			wrong("%q became %q by a write that came late, against its condition", before, now)
		}
	}
	for n := range 12 {
		id := fmt.Sprintf("run-%d", n)
		h, err := p.Lock(t.Context(), drivertest.Info(id))
		if err != nil { // a person releases the lock that was left
			if holder := there.Holder("/s"); holder != "" && errors.As(err, new(*state.LockedError)) && holder == id {
				wrong("%s waits for itself: %v", id, err)
			}
			sweep(there)
			continue
		}
		if there.Holder("/s") != id {
			wrong("%s has the lock, and %q stands there", id, there.Holder("/s"))
		}
		before, _ := there.State("/s")
		c, err := p.Read(t.Context())
		if err == nil && !bytes.Equal(c.Data, before) {
			wrong("%s reads %q where %q stands", id, c.Data, before)
		}
		if err == nil {
			data := fmt.Appendf(nil, `{"serial":%d}`, n+1)
			version, err := h.Write(t.Context(), remote.Write{Data: data, Was: c.Version})
			now, _ := there.State("/s")
			switch written := bytes.Equal(now, data); {
			case err == nil && (!written || version == ""):
				wrong("%s has written, and %q stands there", id, now)
			case errors.Is(err, remote.ErrChanged) && !written && !bytes.Equal(now, before):
				wrong("%s: %v, and %q stands there", id, err, now)
			case !written && !bytes.Equal(now, before):
				wrong("%q became %q", before, now)
			}
		}
		if err := h.Unlock(t.Context()); err == nil && there.Holder("/s") != "" {
			wrong("%s has given back the lock, and %q stands there", id, there.Holder("/s"))
		}
		sweep(there)
	}
}

// serialOf returns the number in a state of play.
func serialOf(data []byte) (n int) {
	_, _ = fmt.Sscanf(string(data), `{"serial":%d}`, &n)
	return n
}

// sweep releases the lock, as a person does.
func sweep(s *httpstoretest.Server) {
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("UNLOCK", "http://127.0.0.1/s", nil))
}

// If the response to a write is lost, the state is read back, and is not sent again if it was stored.
func TestLostResponsesAreCheckedByReading(t *testing.T) {
	for _, kind := range []fault{answerLost, failedLate} {
		there := &httpstoretest.Server{}
		net := &faulty{next: there, kind: func(r *http.Request) fault {
			if _, writes := there.State("/s"); r.Method == http.MethodPost && writes == 0 {
				return kind
			}
			return none
		}}
		p := place(t, settings(serve(t, net), nil))
		h, err := p.Lock(t.Context(), drivertest.Info(lockID))
		must(t, err)
		write(t, h, "", "one")
		must(t, h.Unlock(t.Context()))
		if data, writes := there.State("/s"); string(data) != "one" || writes != 1 {
			t.Errorf("fault %d: %q was written %d times", kind, data, writes)
		}
	}
}

// A server that responds with success or with an HTML page and stores nothing cannot store a state: the run ends with
// an error that reports this before anything depends on it.
func TestServersThatStoreNothingAreErrors(t *testing.T) {
	for body, says := range map[string]string{"": "does not return it", "<html>Sign in</html>": "an HTML page",
		"\ufeff\n <!doctype html>": "an HTML page"} {
		address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != "LOCK" && r.Method != "UNLOCK" {
				fmt.Fprint(w, body)
			}
		}))
		h, err := place(t, settings(address, nil)).Lock(t.Context(), drivertest.Info(lockID))
		must(t, err)
		_, err = h.Write(t.Context(), remote.Write{Data: []byte("x")})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// A run that has lost its lock to a person or to another run writes nothing, even to a server that would accept it.
func TestLostLocksWriteNothing(t *testing.T) {
	for _, name := range []string{"strict", "loose", "GitLab"} {
		for _, taken := range []bool{false, true} {
			there := servers[name]()
			s := settings(serve(t, there), nil)
			p := place(t, s)
			h, err := p.Lock(t.Context(), drivertest.Info(lockID))
			must(t, err)
			sweep(there)
			if taken {
				_, err = p.Lock(t.Context(), drivertest.Info("other"))
				must(t, err)
			}
			if _, err := h.Write(t.Context(), remote.Write{Data: []byte("x")}); !errors.Is(err, remote.ErrLost) {
				t.Errorf("%s, taken %t: %v", name, taken, err)
			}
			if err := h.Unlock(t.Context()); !errors.Is(err, remote.ErrLost) {
				t.Errorf("%s, taken %t: unlock: %v", name, taken, err)
			}
			want := map[bool]string{true: "other"}[taken]
			if _, writes := there.State("/s"); writes > 0 || there.Holder("/s") != want {
				t.Errorf("%s: %d writes, the lock is that of %q, want %q", name, writes, there.Holder("/s"), want)
			}
		}
	}
}

// A server that sends tags itself decides whether the state is the one that was read.
func TestTagsPreventLateWrites(t *testing.T) {
	there := &httpstoretest.Server{Tags: true, Loose: true}
	there.Put("/s", []byte("one"))
	net := &faulty{next: there, kind: func(r *http.Request) fault {
		if r.Method == http.MethodPost { // another run writes between read and write
			there.Put("/s", []byte("foreign"))
		}
		return none
	}}
	p := place(t, settings(serve(t, net), nil))
	h, err := p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
	c, err := p.Read(t.Context())
	must(t, err)
	if _, err := h.Write(t.Context(), remote.Write{Data: []byte("two"), Was: c.Version}); !errors.Is(err,
		remote.ErrChanged) {
		t.Errorf("write: %v", err)
	}
	if data, _ := there.State("/s"); string(data) != "foreign" {
		t.Errorf("%q stands there", data)
	}
}

// A redirection that would change the method is an error.
func TestRedirections(t *testing.T) {
	there := &httpstoretest.Server{}
	target := serve(t, there)
	for code, follows := range map[int]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
		p := place(t, settings(serve(t, http.RedirectHandler(target+"/s", code)), nil))
		if _, err := p.Read(t.Context()); err != nil {
			t.Errorf("read by %d: %v", code, err)
		}
		h, err := p.Lock(t.Context(), drivertest.Info(lockID))
		if !follows {
			if err == nil || !strings.Contains(err.Error(), "redirects to another address") {
				t.Errorf("lock by %d: %v", code, err)
			}
			continue
		}
		must(t, err)
		must(t, h.Unlock(t.Context()))
	}
	if slices.Contains(there.Seen(), "GET /s?ID="+lockID) {
		t.Errorf("a write became a read:\n%s", strings.Join(there.Seen(), "\n"))
	}
}

// A lock whose response was lost may have been acquired; it is released.
func TestLocksWithLostResponsesAreReleased(t *testing.T) {
	there := &httpstoretest.Server{}
	asked := 0
	net := &faulty{next: there, kind: func(r *http.Request) fault {
		if asked++; r.Method == "LOCK" && asked == 1 {
			return answerLost
		}
		return none
	}}
	p := place(t, settings(serve(t, net), map[string]cty.Value{"retry_max": cty.Zero}))
	if _, err := p.Lock(t.Context(), drivertest.Info(lockID)); err == nil {
		t.Error("a lock without an answer")
	}
	if id := there.Holder("/s"); id != "" {
		t.Errorf("the lock of %s stays behind", id)
	}
}
