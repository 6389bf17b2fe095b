package drivertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// Hostile describes a service that Hostility makes hostile to its driver.
type Hostile struct {
	// New returns an empty service.
	New func(t *testing.T) http.Handler
	// Open returns a driver for a service. It does not pause between tries, waits for each step of a response at most
	// for silence, and limits the size of objects to most.
	Open func(t *testing.T, h http.Handler, silence time.Duration, most int64) remote.Driver
	// NoDigest means that responses with a state have no digest, so that the store must detect damage.
	NoDigest bool
	// Absent lists attacks that are valid responses for a missing state.
	Absent []string
	// Follows means that the driver follows redirections, without secrets.
	Follows bool
	// Beside means that the journal is on this machine, stored under the address of the service.
	Beside bool
	// NoLock means that states are not locked.
	NoLock bool
	// Secret is part of the credentials that the driver sends.
	Secret string
	// Wordless means that status 404 is valid for a missing object even without a body, because there are many
	// implementations of the service.
	Wordless bool
	// Page returns page n of an endless list of objects. It is nil if the service has no pages.
	Page func(n int) string
}

// mostObject is the maximum size of an object for a driver under attack, in bytes.
const mostObject = 1 << 20

// Limits of one call.
const (
	mostRequests = 5000
	mostSent     = 300 << 20
	longestError = 4000
)

// attack responds to a request instead of the service. elsewhere is the address of another server.
type attack func(w http.ResponseWriter, r *http.Request, elsewhere string)

// says returns an attack that responds to each request with the same text.
func says(status int, text string) attack {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

// sends returns an attack that repeats a text until the connection is closed.
func sends(text string, pause time.Duration) attack {
	return func(w http.ResponseWriter, r *http.Request, _ string) {
		for r.Method != http.MethodHead && r.Context().Err() == nil { // a response to HEAD has no body
			if _, err := w.Write([]byte(text)); err != nil {
				return
			}
			if pause > 0 {
				_ = http.NewResponseController(w).Flush()
				time.Sleep(pause)
			}
		}
	}
}

// attacks returns attacks that work with every kind of service.
func attacks() map[string]attack {
	const words = "\x1b]0;owned\x07\x1b[2J\u202e says a stranger. "
	all := map[string]attack{
		"a byte now and then": sends(" ", time.Millisecond),
		"without end":         sends(strings.Repeat(" ", 1<<16), 0),
		"deep JSON":           says(200, strings.Repeat(`{"a":[`, 1<<20)),
		"deep XML":            says(200, strings.Repeat("<a>", 1<<20)),
		"long words":          says(400, `{"code":"X","message":"`+strings.Repeat("x", 1<<20)+`"}`),
		"words for terminals": says(400, `{"code":"X","message":"`+words+`","errors":[{"title":"`+words+`"}]}`),
		"XML for terminals":   says(403, "<Error><Code>X</Code><Message>"+words+"</Message></Error>"),
		"missing, no words":   says(404, ""),
		"missing, a page":     says(404, "<html>404</html>"),
		"headers": func(w http.ResponseWriter, _ *http.Request, _ string) {
			for n := range 2000 {
				w.Header().Set(fmt.Sprint("X-Long-", n), strings.Repeat("x", 1000))
			}
		},
		"asks for a password": func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Www-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"later": func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Retry-After", "999999999")
			w.Header().Set("X-Ratelimit-Reset", "999999999")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"another time": func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Date", time.Now().AddDate(100, 0, 0).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusForbidden)
		},
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		all[fmt.Sprint(status, " elsewhere")] = func(w http.ResponseWriter, _ *http.Request, elsewhere string) {
			w.Header().Set("Location", elsewhere)
			w.WriteHeader(status)
		}
		all[fmt.Sprint(status, " in a circle")] = func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Location", r.URL.Path+"?"+r.URL.RawQuery)
			w.WriteHeader(status)
		}
	}
	for name, text := range map[string]string{"a page": "<html>Sign in</html>", "nothing": "", "null": "null",
		"a list": "[]", "a number": "7", "an object": "{}", "a text": `"x"`, "cut JSON": `{"data":`, "XML": "<x/>",
		"other types": `{"data":7,"objects":"x","nextStartWith":{},"items":{},"Response":[],"id":[],"meta":false}`,
		"nulls":       `{"data":null,"objects":[null],"items":[null],"Response":null}`} {
		all["says "+name] = says(200, text)
	}
	return all
}

// Hostility lets a service with a state respond with every attack, from its nth request on. Every call must end after a
// bounded number of requests and bytes. It must return the stored data, or a short printable error: a state that cannot
// be read must never be taken for a missing one. No other server may receive secrets.
func Hostility(t *testing.T, h Hostile) {
	all := attacks()
	if h.Wordless {
		delete(all, "missing, no words")
	}
	for _, name := range h.Absent {
		delete(all, name)
	}
	if h.Page != nil {
		all["pages without end"] = pages(h, func(n int) int { return n })
		all["pages in a circle"] = pages(h, func(int) int { return 1 })
		all["pages of two in a circle"] = pages(h, func(n int) int { return n % 2 })
	}
	firsts := []int{1, 2, 4}
	if testing.Short() {
		firsts = []int{1}
	}
	for name, a := range all {
		for _, first := range firsts {
			t.Run(fmt.Sprint(name, " from ", first), func(t *testing.T) { h.attack(t, a, first) })
		}
	}
	t.Run("a life", func(t *testing.T) { Lies(t, h) })
	if !h.NoDigest {
		t.Run("a bit is flipped", func(t *testing.T) { h.flip(t) })
	}
}

// pages returns an attack with an endless list: number maps the number of a request to that of its page.
func pages(h Hostile, number func(n int) int) attack {
	var n atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		_, _ = w.Write([]byte(h.Page(number(int(n.Add(1))))))
	}
}

// bad is a service that an attack replaces from its nth request on.
type bad struct {
	next     http.Handler
	attack   attack
	from     int64
	to       string
	requests atomic.Int64
	sent     atomic.Int64
	end      atomic.Pointer[context.CancelFunc]
}

// ServeHTTP implements http.Handler.
func (b *bad) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := b.requests.Add(1)
	if b.attack == nil || n < b.from {
		b.next.ServeHTTP(w, r)
		return
	}
	b.attack(&counted{w, b}, r, b.to)
	if n > mostRequests {
		b.over()
	}
}

func (b *bad) over() {
	if end := b.end.Load(); end != nil {
		(*end)()
	}
}

// counted counts the bytes sent.
type counted struct {
	http.ResponseWriter
	b *bad
}

// Write implements http.ResponseWriter.
func (c *counted) Write(p []byte) (int, error) {
	if c.b.sent.Add(int64(len(p))) > mostSent {
		c.b.over()
		return 0, context.Canceled
	}
	return c.ResponseWriter.Write(p)
}

// Unwrap makes flushing possible.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Data stored before an attack.
var (
	storedState   = []byte(`{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[],"check_results":null}`)
	storedJournal = []byte("a first chunk of a journal")
)

// fill stores a state with a journal, through a driver for a service without attacks.
func (h Hostile) fill(t *testing.T, service http.Handler) {
	t.Helper()
	p, err := h.Open(t, service, time.Hour, mostObject).Place(state.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	hold, err := p.Lock(t.Context(), Info("0b5c8e7e-6c1f-4d9e-9d6d-000000000002"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = hold.Write(t.Context(), remote.Write{Data: storedState, Lineage: "l", Serial: 1}); err == nil {
		_, err = hold.StartJournal(t.Context(), "", storedJournal)
	}
	if errors.Is(err, remote.ErrNoJournal) {
		err = nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := hold.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// calls are the first calls of runs on a place, each with whether its result was right.
var calls = map[string]func(ctx context.Context, d remote.Driver, p remote.Place) (text string, right bool, err error){
	"read": func(ctx context.Context, _ remote.Driver, p remote.Place) (string, bool, error) {
		c, err := p.Read(ctx)
		if _, notOne := state.Decode(c.Data); err == nil && len(c.Data) > 0 {
			err = notOne
		}
		return fmt.Sprintf("%.80q", c.Data), bytes.Equal(c.Data, storedState), err
	},
	"journal": func(ctx context.Context, _ remote.Driver, p remote.Place) (string, bool, error) {
		j, err := p.ReadJournal(ctx)
		return fmt.Sprintf("%.80q", j.Chunks), len(j.Chunks) == 1 && bytes.Equal(j.Chunks[0], storedJournal), err
	},
	"workspaces": func(ctx context.Context, d remote.Driver, _ remote.Place) (string, bool, error) {
		names, err := d.Workspaces(ctx)
		others := slices.DeleteFunc(names, func(n string) bool { return n == state.DefaultWorkspace })
		return fmt.Sprintf("%.80q", names), len(others) == 0, err
	},
	// A service may claim to have granted a lock, so this call only has to end.
	"lock and write": func(ctx context.Context, _ remote.Driver, p remote.Place) (string, bool, error) {
		hold, err := p.Lock(ctx, Info("0b5c8e7e-6c1f-4d9e-9d6d-000000000003"))
		if err == nil {
			_, err = hold.Write(ctx, remote.Write{Data: []byte("{}"), Was: "x", Lineage: "l", Serial: 2})
			_ = hold.Check(ctx)
			_ = hold.Unlock(ctx)
		}
		return "", true, err
	},
	"who holds it": func(ctx context.Context, _ remote.Driver, p remote.Place) (string, bool, error) {
		_, err := p.Holder(ctx)
		return "", true, err
	},
}

// attack runs an attack against each call.
func (h Hostile) attack(t *testing.T, a attack, first int) {
	var received atomic.Int64
	elsewhere := Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received.Add(1)
		w.WriteHeader(http.StatusForbidden)
		text, err := httputil.DumpRequest(r, false)
		if err != nil || h.Secret != "" && bytes.Contains(text, []byte(h.Secret)) {
			t.Errorf("another server hears a secret: %s, %v", text, err)
		}
	}))
	for name, call := range calls {
		service := h.New(t)
		b := &bad{next: service, attack: a, from: int64(first), to: elsewhere + "/x"}
		h.fill(t, service)
		d := h.Open(t, b, 20*time.Millisecond, mostObject)
		p, err := d.Place(state.DefaultWorkspace)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		b.end.Store(&cancel)
		text, right, err := call(ctx, d, p)
		if ctx.Err() != nil {
			t.Errorf("%s: it goes on after %d requests and %d bytes: %v", name, b.requests.Load(), b.sent.Load(), err)
		}
		cancel()
		if err == nil && !right {
			t.Errorf("%s: it is believed: %s", name, text)
		}
		if err != nil {
			judgeWords(t, name, err.Error())
		}
		d.Close()
	}
	if n := received.Load(); n > 0 && !h.Follows {
		t.Errorf("another server was asked %d times", n)
	}
}

// judgeWords checks that an error can be shown.
func judgeWords(t *testing.T, name, text string) {
	t.Helper()
	if len(text) > longestError {
		t.Errorf("%s: the error has %d bytes: %.300q", name, len(text), text)
	}
	if at := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); at >= 0 {
		t.Errorf("%s: the error has a control character: %.300q", name, text[at:])
	}
}

// flip changes a single bit of the state in responses.
func (h Hostile) flip(t *testing.T) {
	service := h.New(t)
	h.fill(t, service)
	flipped := 0
	net := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := httptest.NewRecorder()
		service.ServeHTTP(out, r)
		for name, values := range out.Header() {
			w.Header()[name] = values
		}
		body := out.Body.Bytes()
		if at := bytes.Index(body, []byte(`"serial":1`)); at >= 0 && bytes.Equal(body, storedState) {
			body[at+len(`"serial":`)] ^= 1
			flipped++
		}
		w.WriteHeader(out.Code)
		_, _ = w.Write(body)
	})
	p, err := h.Open(t, net, time.Hour, mostObject).Place(state.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Read(t.Context())
	if flipped == 0 {
		t.Fatal("no state was read as it is stored")
	}
	if err == nil {
		t.Errorf("a changed state is believed: %s", c.Data)
	}
}
