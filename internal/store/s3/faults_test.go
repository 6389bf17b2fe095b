package s3_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// faulty is a bucket behind a network with faults. It enforces conditions on deletions, as AWS does.
type faulty struct {
	t    *testing.T
	next http.Handler

	mu   sync.Mutex
	rand *rand.Rand
	rate float64 // fraction of requests with a fault
	late []*wire // delayed requests
	plan func(*wire) fault
	seen func(*wire)  // called after each request that may have changed something
	log  bytes.Buffer // record of requests, for failure messages
}

// fault is a fault of a network or a service.
type fault int

const (
	none        fault = iota
	requestLost       // the request does not arrive
	answerLost        // the request is performed, but its response is lost
	twice             // the request is performed twice, and the second response arrives
	later             // no response; the request is performed some time later
	slowDown          // status 503
	failedLate        // the request is performed, but the response has status 500
	conflict          // status 409
	cutShort          // half of the response arrives
	faults
)

// wire is a request that can be sent repeatedly.
type wire struct {
	request *http.Request
	body    []byte
}

func (w *wire) String() string {
	h := w.request.Header
	return fmt.Sprintf("%s %s %s%s", w.request.Method, w.request.URL.Path, h.Get("If-Match"), h.Get("If-None-Match"))
}

// ServeHTTP implements http.Handler.
func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	in := &wire{request: r.Clone(r.Context()), body: body}
	for f.plan == nil && len(f.late) > 0 && f.rand.IntN(8) == 0 {
		old := f.late[0]
		f.late = f.late[1:]
		fmt.Fprintf(&f.log, "  late: ")
		f.apply(old)
	}
	kind := none
	if f.plan != nil {
		kind = f.plan(in)
	} else if f.rand.Float64() < f.rate {
		kind = 1 + fault(f.rand.IntN(int(faults)-1))
	}
	switch kind {
	case none:
		copyTo(w, f.apply(in))
	case requestLost:
		fmt.Fprintf(&f.log, "  lost: %s\n", in)
		hangUp(w)
	case answerLost:
		fmt.Fprintf(&f.log, "  without answer: ")
		f.apply(in)
		hangUp(w)
	case twice:
		fmt.Fprintf(&f.log, "  twice: ")
		f.apply(in)
		copyTo(w, f.apply(in))
	case later:
		fmt.Fprintf(&f.log, "  later: %s\n", in)
		f.late = append(f.late, in)
		hangUp(w)
	case slowDown:
		fmt.Fprintf(&f.log, "  slow down: %s\n", in)
		fail(w, http.StatusServiceUnavailable, "SlowDown")
	case failedLate:
		fmt.Fprintf(&f.log, "  and an error: ")
		f.apply(in)
		fail(w, http.StatusInternalServerError, "InternalError")
	case conflict:
		if r.Header.Get("If-Match")+r.Header.Get("If-None-Match") != "" {
			fmt.Fprintf(&f.log, "  conflict: %s\n", in)
			fail(w, http.StatusConflict, "ConditionalRequestConflict")
			return
		}
		copyTo(w, f.apply(in))
	case cutShort:
		fmt.Fprintf(&f.log, "  cut: ")
		cut(w, f.apply(in))
	}
}

// rest waits until no request is in progress: when a connection is closed, its caller continues before the request has
// ended.
func (f *faulty) rest() {
	f.mu.Lock()
	defer f.mu.Unlock()
}

// apply sends a request to the bucket.
func (f *faulty) apply(in *wire) *httptest.ResponseRecorder {
	out := httptest.NewRecorder()
	if tag := in.request.Header.Get("If-Match"); tag != "" && in.request.Method == http.MethodDelete {
		if there := f.get(in.request.URL.Path); there.Code == http.StatusOK && there.Header().Get("ETag") != tag {
			fail(out, http.StatusPreconditionFailed, "PreconditionFailed")
			fmt.Fprintf(&f.log, "%s: %d\n", in, out.Code)
			return out
		}
	}
	r := in.request.Clone(f.t.Context())
	r.Body = io.NopCloser(bytes.NewReader(in.body))
	f.next.ServeHTTP(out, r)
	fmt.Fprintf(&f.log, "%s: %d\n", in, out.Code)
	if f.seen != nil && r.Method != http.MethodGet {
		f.seen(in)
	}
	return out
}

// get returns the current content of an object as a response.
func (f *faulty) get(path string) *httptest.ResponseRecorder {
	out := httptest.NewRecorder()
	f.next.ServeHTTP(out, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil))
	return out
}

// text returns the content of an object, or "" if it does not exist.
func (f *faulty) text(path string) string {
	if out := f.get(path); out.Code == http.StatusOK {
		return out.Body.String()
	}
	return ""
}

func hangUp(w http.ResponseWriter) {
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		conn.Close()
	}
}

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>a test</Message></Error>`,
		code)
}

func copyTo(w http.ResponseWriter, from *httptest.ResponseRecorder) {
	for name, values := range from.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(from.Code)
	w.Write(from.Body.Bytes())
}

// cut sends half of a response whose full length was announced.
func cut(w http.ResponseWriter, from *httptest.ResponseRecorder) {
	body := from.Body.Bytes()
	if len(body) < 2 || from.Code != http.StatusOK {
		hangUp(w)
		return
	}
	for name, values := range from.Header() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(from.Code)
	w.Write(body[:len(body)/2])
	w.(http.Flusher).Flush()
	hangUp(w)
}

// line returns the first line of a text.
func line(s string) string {
	first, _, _ := strings.Cut(s, "\n")
	return first
}

// answering returns a service that responds to all requests with the same status and code.
func answering(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status, code, _ := strings.Cut(answer, " ")
		n, _ := strconv.Atoi(status)
		io.Copy(io.Discard, r.Body)
		fail(w, n, code)
	}
}

// ignoring is a service that ignores conditions.
type ignoring struct{ http.Handler }

// ServeHTTP implements http.Handler.
func (i ignoring) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Header.Del("If-Match")
	r.Header.Del("If-None-Match")
	i.Handler.ServeHTTP(w, r)
}
