package gcs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/gcs"
	"github.com/tombolo-iac/tombolo/internal/store/gcs/gcstest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// faults lists faults of a network or a service.
var faults = []string{
	"request lost", // it does not arrive
	"answer lost",  // it is performed, but the response is lost
	"twice",        // it is performed twice, and the second response arrives
	"later",        // no response; it is performed after the next request
	"busy",         // status 503
	"too many",     // status 429
	"failed late",  // it is performed, but the response has status 500
	"cut short",    // half of the response arrives
}

// faulty is a service behind a network with faults.
type faulty struct {
	next http.Handler
	plan func(r *http.Request) string

	mu   sync.Mutex
	late []func()
}

// ServeHTTP implements http.Handler.
func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	do := func() *httptest.ResponseRecorder {
		out, in := httptest.NewRecorder(), r.Clone(r.Context())
		in.Body = io.NopCloser(bytes.NewReader(body))
		f.next.ServeHTTP(out, in)
		return out
	}
	old := f.late
	f.late = nil
	switch f.plan(r) {
	case "":
		send(w, do())
	case "request lost":
		hangUp(w)
	case "answer lost":
		do()
		hangUp(w)
	case "twice":
		do()
		send(w, do())
	case "later":
		f.late = append(f.late, func() { do() })
		hangUp(w)
	case "busy":
		w.WriteHeader(http.StatusServiceUnavailable)
	case "too many":
		w.WriteHeader(http.StatusTooManyRequests)
	case "failed late":
		do()
		w.WriteHeader(http.StatusInternalServerError)
	case "cut short":
		out := do()
		w.Header().Set("Content-Length", fmt.Sprint(out.Body.Len()+1))
		w.WriteHeader(out.Code)
		_, _ = w.Write(out.Body.Bytes()[:out.Body.Len()/2])
		w.(http.Flusher).Flush()
		hangUp(w)
	}
	for _, one := range old {
		one()
	}
}

func hangUp(w http.ResponseWriter) {
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		conn.Close()
	}
}

func send(w http.ResponseWriter, from *httptest.ResponseRecorder) {
	for name, values := range from.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(from.Code)
	_, _ = w.Write(from.Body.Bytes())
}

// Whichever request of a run fails, and however, another run finds everything that was done.
func TestEveryRequestMayFail(t *testing.T) {
	kinds := faults
	if testing.Short() {
		kinds = []string{"answer lost", "later", "failed late"}
	}
	drivertest.EveryRequest(t, kinds, func(t *testing.T, plan drivertest.Faults) (remote.Driver, func() int,
		remote.Driver) {
		s, n := gcstest.New("states"), 0
		f := &faulty{next: s, plan: func(*http.Request) string { n++; return plan(n) }}
		return open(t, settings(serve(t, f), nil)), func() int {
			f.mu.Lock()
			defer f.mu.Unlock()
			return n
		}, open(t, settings(serve(t, s), nil))
	})
}

// planned returns a place behind a network whose faults a test chooses.
func planned(t *testing.T, plan func(r *http.Request) string) (*faulty, remote.Place) {
	t.Helper()
	f := &faulty{next: gcstest.New("states"), plan: plan}
	p, err := open(t, settings(serve(t, f), nil)).Place(state.DefaultWorkspace)
	must(t, err)
	return f, p
}

// once injects a fault into the first request of a kind.
func once(method, object, what string) func(*http.Request) string {
	return func(r *http.Request) (now string) {
		name := r.URL.Path + r.URL.Query().Get("name")
		if r.Method == method && strings.HasSuffix(name, object) {
			now, what = what, ""
		}
		return now
	}
}

// If a request is retried because its response was lost, its own effect is not taken for a conflict.
func TestLostResponsesAreNotConflicts(t *testing.T) {
	for _, what := range faults {
		for _, object := range []string{".tflock", "/journal", ".tfstate"} {
			for _, method := range []string{http.MethodPost, http.MethodDelete} {
				_, p := planned(t, once(method, object, what))
				life(t, p)
				if info, err := p.Holder(t.Context()); err != nil || info != nil {
					t.Errorf("%s of %s: the lock is held by %v, %v", what, object, info, err)
				}
			}
		}
	}
}

// life performs the steps of a run.
func life(t *testing.T, p remote.Place) {
	t.Helper()
	ctx := t.Context()
	h, err := p.Lock(ctx, drivertest.Info(lockID))
	must(t, err)
	version, err := h.StartJournal(ctx, "", []byte("first"))
	must(t, err)
	must(t, h.Append(ctx, version, 1, []byte("second")))
	_, err = h.Write(ctx, remote.Write{Data: []byte("state"), Serial: 3, Lineage: "l"})
	must(t, err)
	_, err = h.StartJournal(ctx, version, nil)
	must(t, err)
	if err := h.Unlock(ctx); err != nil && !errors.Is(err, remote.ErrLost) { // it arrived twice
		t.Fatal(err)
	}
}

// If it is unknown whether a lock was acquired, it is released.
func TestPartlyAcquiredLocksAreReleased(t *testing.T) {
	for _, what := range []string{"answer lost", "failed late"} {
		tries := 0
		_, p := planned(t, func(r *http.Request) string {
			if r.Method == http.MethodPost && tries < 7 {
				tries++
				return what
			}
			return ""
		})
		_, err := p.Lock(t.Context(), drivertest.Info(lockID))
		if err == nil || errors.As(err, new(*state.LockedError)) {
			t.Errorf("%s: lock: %v", what, err)
		}
		if info, err := p.Holder(t.Context()); info != nil || err != nil {
			t.Errorf("%s: holder %+v, %v", what, info, err)
		}
	}
}

// A deletion that arrives late does not release the lock of another run.
func TestLateDeletionsDoNotReleaseOtherLocks(t *testing.T) {
	f, p := planned(t, once(http.MethodDelete, ".tflock", "later"))
	h, err := p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
	must(t, h.Unlock(t.Context())) // the second request does it, and the first one arrives later
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	h, err = p.Lock(t.Context(), drivertest.Info("another"))
	must(t, err)
	for _, one := range late {
		one()
	}
	must(t, h.Check(t.Context()))
}

// A run acquires the lock, reads state and journal in parallel, and writes the state once. Each record that must be
// durable before the next step is one request.
func TestRequestsOfARunAreCounted(t *testing.T) {
	n := 0
	f := &faulty{next: gcstest.New("states"), plan: func(*http.Request) string { n++; return "" }}
	want := drivertest.Counts{Plan: 4, Idle: 4, One: 10, More: 2}
	if got := drivertest.Requests(t, open(t, settings(serve(t, f), nil)), func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return n
	}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestErrorsOfTheServiceAreShown(t *testing.T) {
	for answer, want := range map[string][]string{
		`403 {"error":{"message":"no"}}`:                                 {"no", "storage.objects.create"},
		`401 {"error":{"message":"Wrong"}}`:                              {"Wrong", "Get new ones"},
		`404 {"error":{"message":"bucket does not exist"}}`:              {"does not create buckets"},
		`429 {"error":{"message":"slow down"}}`:                          {"slow down", "too often"},
		`307 <html>`:                                                     {"status 307"},
		`200 <html>`:                                                     {"is not Google Cloud Storage"},
		`400 {"error":{"errors":[{"reason":"customerEncryptionKey`:       {"status 400"},
		`400 {"error":{"errors":[{"reason":"customerEncryptionKeyX"}]}}`: {"GOOGLE_ENCRYPTION_KEY"},
	} {
		status, body, _ := strings.Cut(answer, " ")
		address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var n int
			fmt.Sscan(status, &n)
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(n)
			_, _ = io.WriteString(w, body)
		}))
		p, err := open(t, settings(address, nil)).Place(state.DefaultWorkspace)
		must(t, err)
		_, err = p.Lock(t.Context(), drivertest.Info(lockID))
		for _, word := range append(want, "gs://states/some/where/default.tflock") {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: the error does not say %q: %v", answer, word, err)
			}
		}
		if err := func() error { _, err := p.Read(t.Context()); return err }(); err == nil {
			t.Errorf("%s: there is a state, or none", answer)
		}
	}
}

// A response that is not from the service is not taken for a missing object.
func TestMissingServices(t *testing.T) {
	s := httptest.NewServer(gcstest.New())
	p, err := open(t, settings(s.URL, nil)).Place(state.DefaultWorkspace)
	must(t, err)
	if _, err := p.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "does not create buckets") {
		t.Errorf("a bucket that is not there: %v", err)
	}
	s.Close()
	if _, err := p.Read(t.Context()); err == nil || !strings.HasPrefix(err.Error(),
		"read gs://states/some/where/default.tfstate: the service cannot be reached, or does not answer: ") {
		t.Errorf("a service that is not there: %v", err)
	}
}

// An object has a maximum size, and its digest is checked.
func TestObjectsHaveASizeLimitAndADigest(t *testing.T) {
	s, damaged := gcstest.New("states"), false
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := httptest.NewRecorder()
		s.ServeHTTP(out, r)
		if damaged && r.URL.Query().Get("alt") == "media" {
			out.Body = bytes.NewBufferString(strings.Repeat("x", out.Body.Len()))
		}
		send(w, out)
	}))
	d := open(t, settings(address, nil))
	p, err := d.Place(state.DefaultWorkspace)
	must(t, err)
	life(t, p)
	for most, fits := range map[int64]bool{5: true, 4: false} {
		gcs.Bounded(d, most)
		if _, err := p.Read(t.Context()); (err == nil) != fits {
			t.Errorf("5 bytes where %d are read: %v", most, err)
		}
	}
	gcs.Bounded(d, 100)
	damaged = true
	if _, err := p.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "digest differs") {
		t.Errorf("what was damaged on its way: %v", err)
	}
}

// State and journal are encrypted with the keys of the block. The lock is not, because all programs read it.
func TestLocksAreNotEncryptedWithTheCustomersKey(t *testing.T) {
	const key = "projects/p/locations/l/keyRings/r/cryptoKeys/states"
	for name, more := range map[string]map[string]cty.Value{
		"plain":    nil,
		"customer": {"encryption_key": cty.StringVal(customerKey)},
		"kms":      {"kms_encryption_key": cty.StringVal(key)},
	} {
		s := gcstest.New("states")
		address := serve(t, s)
		p, err := open(t, settings(address, more)).Place(state.DefaultWorkspace)
		must(t, err)
		life(t, p)
		_, err = p.Lock(t.Context(), drivertest.Info(lockID))
		must(t, err)
		for object, o := range s.Objects("states") {
			lock := strings.HasSuffix(object, ".tflock")
			if o.Key != (name == "customer" && !lock) || (o.KMS == key) != (name == "kms" && !lock) {
				t.Errorf("%s: %s: customer's key %t, key %q", name, object, o.Key, o.KMS)
			}
		}
		if n := len(s.Objects("states")); n != 3 {
			t.Errorf("%s: %d objects", name, n)
		}
		other, err := open(t, settings(address, map[string]cty.Value{
			"encryption_key": cty.StringVal("enc" + customerKey[3:])})).Place(state.DefaultWorkspace)
		must(t, err)
		if _, err := other.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "another key") {
			t.Errorf("%s: with another key: %v", name, err)
		}
		if info, err := other.Holder(t.Context()); err != nil || info == nil || info.ID != lockID ||
			!strings.Contains(info.Path, "default.tflock#17") {
			t.Errorf("%s: holder %+v, %v", name, info, err)
		}
	}
}
