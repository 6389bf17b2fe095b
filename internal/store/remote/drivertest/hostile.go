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

// Hostile is a service that may be anybody's, as Hostility attacks a driver with it.
type Hostile struct {
	// New returns an empty service of the right kind.
	New func(t *testing.T) http.Handler
	// Open returns a driver that reaches a service, does not pause, waits for each step of an answer no longer than the
	// silence, and reads no greater objects.
	Open func(t *testing.T, h http.Handler, silence time.Duration, most int64) remote.Driver
	// NoDigest is set where the service sends no digest of a state that is read: whether it is one, the store sees.
	NoDigest bool
	// Absent are attacks by which services of that kind say that there is no state.
	Absent []string
	// Follows is set where redirections are followed, without what is secret.
	Follows bool
	// Beside is set where the journal is on this machine, under the address of the service.
	Beside bool
	// NoLock is set where states are not locked.
	NoLock bool
	// Secret is a part of what the driver is known by to the service.
	Secret string
	// Wordless is set where an answer with the status 404 means that there is nothing, also without words: services of
	// that kind are written by many.
	Wordless bool
	// Page returns a page of a list of objects that continues, and names an object with a number; "" where the service
	// has no pages.
	Page func(n int) string
}

// mostObject is how many bytes of an object a driver under attack reads.
const mostObject = 1 << 20

// Bounds of what one call may take.
const (
	mostRequests = 5000
	mostSent     = 300 << 20
	longestError = 4000
)

// attack answers a request in place of the service. Elsewhere is the address of another server.
type attack func(w http.ResponseWriter, r *http.Request, elsewhere string)

// says returns an attack that answers each request with the same text.
func says(status int, text string) attack {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

// sends returns an attack that sends a text again and again, as long as anybody listens.
func sends(text string, pause time.Duration) attack {
	return func(w http.ResponseWriter, r *http.Request, _ string) {
		for r.Method != http.MethodHead && r.Context().Err() == nil { // an answer to HEAD has no body
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

// attacks are what a server can answer to anything.
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

// Hostility lets a service that has a state answer wrongly from its nth request on, in every way. Every call ends,
// after a bounded number of requests and bytes. What it returns is what is stored, or an error of a few words that a
// terminal can show: a state that cannot be read is never one that is not there. No other server hears of it.
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

// pages returns an attack with a list: the number of each page is a function of that of the request.
func pages(h Hostile, number func(n int) int) attack {
	var n atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		_, _ = w.Write([]byte(h.Page(number(int(n.Add(1))))))
	}
}

// bad is a service that is attacked through: from its nth request on, an attack answers.
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

// counted counts what is sent.
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

// Unwrap lets a response be flushed.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// What is stored before an attack.
var (
	storedState   = []byte(`{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[],"check_results":null}`)
	storedJournal = []byte("a first chunk of a journal")
)

// fill stores a state with a journal, through a driver of a calm service.
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

// calls are what runs ask of a place first, each with whether the answer is the truth.
var calls = map[string]func(ctx context.Context, d remote.Driver, p remote.Place) (said string, right bool, err error){
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
	// A service may say that a lock is given. Only that the call ends is asked of this one.
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

// attack attacks each call.
func (h Hostile) attack(t *testing.T, a attack, first int) {
	var heard atomic.Int64
	elsewhere := Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard.Add(1)
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
		said, right, err := call(ctx, d, p)
		if ctx.Err() != nil {
			t.Errorf("%s: it goes on after %d requests and %d bytes: %v", name, b.requests.Load(), b.sent.Load(), err)
		}
		cancel()
		if err == nil && !right {
			t.Errorf("%s: it is believed: %s", name, said)
		}
		if err != nil {
			judgeWords(t, name, err.Error())
		}
		d.Close()
	}
	if n := heard.Load(); n > 0 && !h.Follows {
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

// flip changes one bit of the state on its way, and nothing else.
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
