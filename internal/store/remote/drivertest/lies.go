package drivertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// lie is a wrong response to a request.
type lie struct {
	done bool // the service has performed the request
	tell func(q question)
}

// question is a request that gets a wrong response.
type question struct {
	w         http.ResponseWriter
	out       *httptest.ResponseRecorder // the response of the service; empty if the request was not performed
	asked     []byte                     // the request as text
	elsewhere string                     // the address of another server
}

// statuses are the statuses with which services refuse requests.
var statuses = []int{401, 403, 404, 409, 412, 423, 429, 500, 503}

// page is the response of a proxy in place of the service.
const page = "<!DOCTYPE html><html><body>Sign in</body></html>"

// lies returns wrong responses by name: each status for performed and for unperformed requests, with the text of the
// request in the body; web pages; redirections; truncated and endless responses; and responses with changed versions.
func lies() map[string]lie {
	all := map[string]lie{"lost": {tell: question.hangUp}, "without an answer": {true, question.hangUp},
		"cut": {true, question.cut}, "without end": {true, question.endless},
		"other versions": {true, question.renamed}}
	for _, status := range []int{302, 307} {
		all[fmt.Sprint(status, " elsewhere")] = lie{tell: func(q question) {
			q.w.Header().Set("Location", q.elsewhere)
			q.w.WriteHeader(status)
		}}
	}
	for _, done := range []bool{false, true} {
		suffix := map[bool]string{true: " and done"}[done]
		for _, status := range statuses {
			all[fmt.Sprint(status)+suffix] = lie{done, func(q question) {
				q.w.WriteHeader(status)
				_, _ = q.w.Write(q.asked)
			}}
		}
		all["a page"+suffix] = lie{done, func(q question) {
			q.w.Header().Set("Content-Type", "text/html")
			_, _ = q.w.Write([]byte(page))
		}}
	}
	return all
}

func (q question) hangUp() {
	if conn, _, err := q.w.(http.Hijacker).Hijack(); err == nil {
		conn.Close()
	}
}

// cut sends half of the response.
func (q question) cut() {
	body := q.out.Body.Bytes()
	maps.Copy(q.w.Header(), q.out.Header())
	q.w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	q.w.WriteHeader(q.out.Code)
	_, _ = q.w.Write(body[:len(body)/2])
	q.w.(http.Flusher).Flush()
	q.hangUp()
}

func (q question) endless() {
	q.w.WriteHeader(q.out.Code)
	blank := bytes.Repeat([]byte(" "), 1<<16)
	for q.out.Code != http.StatusNoContent && !bytes.HasPrefix(q.asked, []byte(http.MethodHead)) {
		if _, err := q.w.Write(blank); err != nil {
			return
		}
	}
}

// renamed sends the response with changed versions.
func (q question) renamed() {
	for name, values := range q.out.Header() {
		if versions.MatchString(name) {
			values = []string{number.ReplaceAllStringFunc(values[0], another)}
		}
		q.w.Header()[name] = values
	}
	q.w.Header().Del("Content-Length")
	q.w.WriteHeader(q.out.Code)
	_, _ = q.w.Write(otherVersions(q.out.Body.Bytes()))
}

// versions matches the names of headers that contain a version.
var versions = regexp.MustCompile(`(?i)etag|generation|version|index|modified|serial`)

var number = regexp.MustCompile(`[0-9]+`)

// another returns a different number with the same number of digits.
func another(n string) string {
	return n[:len(n)-1] + string('0'+(n[len(n)-1]-'0'+1)%10)
}

var member = regexp.MustCompile(`("[A-Za-z_-]*(?i:etag|generation|version|index|modified)[A-Za-z_-]*"\s*:\s*"?)` +
	`([^",}\]]+)`)

// otherVersions changes the versions in a JSON document. It does not change states, and documents that are not JSON.
func otherVersions(body []byte) []byte {
	if !json.Valid(body) || bytes.Contains(body, []byte(`"lineage"`)) {
		return body
	}
	return member.ReplaceAllFunc(body, func(found []byte) []byte {
		parts := member.FindSubmatch(found)
		return append(slices.Clone(parts[1]), number.ReplaceAllFunc(parts[2], func(n []byte) []byte {
			return []byte(another(string(n)))
		})...)
	})
}

// liar is a service that sends wrong responses to some requests.
type liar struct {
	next      http.Handler
	lies      atomic.Pointer[func(n int64) bool] // whether the response is wrong; nil means never
	lie       lie
	elsewhere string
	n         atomic.Int64
}

// ServeHTTP implements http.Handler.
func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := l.n.Add(1)
	if lies := l.lies.Load(); lies == nil || !(*lies)(n) {
		l.next.ServeHTTP(w, r)
		return
	}
	asked, err := httputil.DumpRequest(r, true)
	if err != nil {
		return // the client is gone
	}
	out := httptest.NewRecorder()
	if l.lie.done {
		l.next.ServeHTTP(out, r)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	l.lie.tell(question{w, out, asked, l.elsewhere})
}

// Lies applies changes to an existing state while the service sends wrong responses: to one request, or to all requests
// from that one on, and both also while another run holds the lock. Neither the previous objects are lost nor the
// results that were reported as saved; the lock keeps its holder; errors do not contain the secret, and it is not sent
// to other servers. Each wrong response is tested with some of the requests, or with all if TOMBOLO_CRASH_FULL is set.
func Lies(t *testing.T, h Hostile) {
	l := &lying{Hostile: h}
	l.elsewhere = Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.received.Add(1)
		text, err := httputil.DumpRequest(r, true)
		if err != nil || h.Secret != "" && bytes.Contains(text, []byte(h.Secret)) {
			l.leaked.Store(true)
		}
		w.WriteHeader(http.StatusForbidden)
	})) + "/x"
	all := lies()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) { l.everywhere(t, all[name], int64(i)) })
	}
}

// lying is the test of a driver with wrong responses.
type lying struct {
	Hostile
	elsewhere string
	received  atomic.Int64
	leaked    atomic.Bool
}

func (l *lying) everywhere(t *testing.T, answer lie, which int64) {
	step := int64(6)
	switch {
	case os.Getenv("TOMBOLO_CRASH_FULL") != "":
		step = 1
	case testing.Short():
		step = 15
	}
	for _, held := range []bool{false, true} {
		if held && l.NoLock {
			continue
		}
		all := l.once(t, answer, held, func(int64) bool { return false })
		for n := 1 + which%min(step, all); n <= all; n += step {
			for name, from := range map[string]bool{"once": false, "from then on": true} {
				t.Run(fmt.Sprintf("%s at %d, held %t", name, n, held), func(t *testing.T) {
					l.once(t, answer, held, func(at int64) bool { return at == n || from && at > n })
				})
			}
		}
	}
	if l.leaked.Load() {
		t.Error("another server hears a secret")
	}
	if n := l.received.Load(); n > 0 && !l.Follows {
		t.Errorf("another server was asked %d times", n)
	}
}

// once performs one run with wrong responses, and returns the number of requests.
func (l *lying) once(t *testing.T, answer lie, held bool, when func(n int64) bool) int64 {
	t.Helper()
	service := l.New(t)
	net := &liar{next: service, lie: answer, elsewhere: l.elsewhere}
	d := l.Open(t, net, 200*time.Millisecond, mostObject)
	defer d.Close()
	calm := d // a journal on this machine is stored under the address, so only d can read it
	if !l.Beside {
		calm = l.Open(t, service, time.Hour, mostObject)
		defer calm.Close()
	}
	one := &run{t: t, d: d, calm: calm, folder: t.TempDir(), real: map[string]bool{}, shown: true}
	one.before()
	var other remote.Hold
	if held {
		other = l.hold(t, calm)
	}
	net.n.Store(0)
	net.lies.Store(&when)
	one.live()
	net.lies.Store(nil)
	if one.err != nil {
		judgeWords(t, "live", one.err.Error())
		if l.Secret != "" && strings.Contains(one.err.Error(), l.Secret) {
			t.Errorf("an error has the secret: %v", one.err)
		}
	}
	n := net.n.Load()
	if other != nil {
		if one.err == nil {
			t.Error("two have the lock")
		}
		if err := other.Check(t.Context()); err != nil {
			t.Errorf("the lock of another is gone: %v; the run ended with %v", err, one.err)
		}
		if err := other.Unlock(t.Context()); err != nil && !errors.Is(err, remote.ErrLost) {
			t.Error(err)
		}
	}
	one.look()
	return n
}

// hold acquires the lock for another run.
func (l *lying) hold(t *testing.T, d remote.Driver) remote.Hold {
	t.Helper()
	p, err := d.Place(state.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	h, err := p.Lock(t.Context(), Info("0b5c8e7e-6c1f-4d9e-9d6d-000000000009"))
	if err != nil {
		t.Fatal(err)
	}
	return h
}
