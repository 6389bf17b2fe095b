package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// life calls a provider as an engine does.
type life struct {
	t testing.TB
	p provider.Provider
	s *provider.Schema
}

func begin(t testing.TB, manifest string, config map[string]cty.Value, env ...string) *life {
	t.Helper()
	p, err := factory(parsed(t, manifest), env...)(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	l := &life{t: t, p: p}
	l.s, _ = p.Schema(context.Background())
	resp := p.Configure(context.Background(), provider.ConfigureRequest{Config: l.object(l.s.Provider, config)})
	if resp.Diagnostics.HasErrors() {
		t.Fatal(resp.Diagnostics.Err())
	}
	return l
}

// beginThings returns the life of a provider for the test API.
func beginThings(t testing.TB, s *things, change ...string) *life {
	t.Helper()
	return begin(t, strings.NewReplacer(append(change, "METHOD", "PATCH")...).Replace(thingsManifest),
		map[string]cty.Value{"url": cty.StringVal(s.URL), "token": cty.StringVal(bearer)})
}

func (l *life) object(b *provider.Block, vals map[string]cty.Value) cty.Value {
	out := b.EmptyValue().AsValueMap()
	for name, v := range vals {
		out[name] = v
	}
	return cty.ObjectVal(out)
}

// apply plans and applies a configuration on top of the previous state.
func (l *life) apply(ctx context.Context, typ string, before provider.ApplyResponse,
	vals map[string]cty.Value) provider.ApplyResponse {
	l.t.Helper()
	b := l.s.Resources[typ].Block
	if before.State == cty.NilVal {
		before.State = cty.NullVal(b.ImpliedType())
	}
	config := cty.NullVal(b.ImpliedType())
	if vals != nil {
		config = l.object(b, vals)
	}
	plan := l.p.Plan(ctx, provider.PlanRequest{Type: typ, Prior: before.State, Config: config, Proposed: config,
		PriorPrivate: before.Private, PriorIdentity: before.Identity})
	if plan.Diagnostics.HasErrors() {
		l.t.Fatal(plan.Diagnostics.Err())
	}
	return l.p.Apply(ctx, provider.ApplyRequest{Type: typ, Prior: before.State, Config: config, Planned: plan.Planned,
		PlannedPrivate: plan.Private, PlannedIdentity: plan.Identity})
}

func (l *life) read(ctx context.Context, typ string, of provider.ApplyResponse) provider.ReadResponse {
	return l.p.Read(ctx, provider.ReadRequest{Type: typ, Prior: of.State, Private: of.Private, Identity: of.Identity})
}

func text(diags diag.List) string {
	var out strings.Builder
	for _, d := range diags {
		fmt.Fprintf(&out, "%s\n%s\n", d.Summary, d.Detail)
	}
	return out.String()
}

var named = map[string]cty.Value{"name": cty.StringVal("one"), "password": cty.StringVal("canary-of-a-password")}

// bad is an invalid response.
type bad struct {
	answer func(w http.ResponseWriter, r *http.Request)
	says   string
	// unknown means that a creation may have happened.
	unknown bool
	// limited sets a short time limit.
	limited bool
}

// badly are invalid responses, with those in raw_test.go. The rows of docs/hostile.md have the same names.
var badly = map[string]bad{
	"a refusal": {answer: func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"message": "the name is taken"}`, http.StatusConflict)
	}, says: "status 409 Conflict.\n\nthe name is taken"},
	"a failure": {answer: func(w http.ResponseWriter, r *http.Request) { http.Error(w, "boom", 500) },
		says: "status 500 Internal Server Error", unknown: true},
	"a gateway's failure": {answer: func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "late", http.StatusGatewayTimeout)
	}, says: "status 504", unknown: true},
	"too many requests": {answer: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "0")
		http.Error(w, "slower", http.StatusTooManyRequests)
	}, says: "status 429"},
	"a wait of an hour": {answer: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "3600")
		http.Error(w, "slower", http.StatusTooManyRequests)
	}, says: "status 429"},
	"a dropped connection": {answer: func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) },
		says: "it did not answer", unknown: true},
	"half an answer": {answer: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"id": `))
	}, says: "the answer is incomplete", unknown: true},
	"no answer in time": {answer: func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		says: "the time limit of 100ms for a request has passed", unknown: true},
	"a huge body": {answer: func(w http.ResponseWriter, r *http.Request) {
		chunk := bytes.Repeat([]byte(" "), 1<<16)
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}, says: `longer than the 100000 bytes`, unknown: true},
	"a bomb": {answer: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(bytes.Repeat([]byte("0"), 10<<20))
		_ = z.Close()
	}, says: `longer than the 100000 bytes`, unknown: true},
	"huge headers": {answer: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 2<<20))
		w.WriteHeader(200)
	}, says: "it did not answer", unknown: true},
	"depth": {answer: func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("["), 90000))
	}, says: "an object was expected, not a string", unknown: true},
	"no JSON": {answer: func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("<html>hello</html>")) },
		says: "an object was expected, not a string", unknown: true},
	"a list": {answer: func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(`[1, 2]`)) },
		says: "an object was expected, not an array", unknown: true},
	"no id": {answer: func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(`{"x": 1}`)) },
		says: "no value for its id", unknown: true},
	"an id that is none": {answer: func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"id": {}}`))
	}, says: "id: a string was expected, not an object", unknown: true},
	"a circle": {answer: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	}, says: "redirected the request more than 5 times"},
	"a redirect without a meaning": {answer: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}, says: "status 302 Found"},
}

// The page of hostile programs has a row for each answer.
func TestHostileServersAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/hostile.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(page), "## Servers\n")
	for name := range badly {
		if !strings.Contains(rows, "\n| "+name+" |") {
			t.Errorf("docs/hostile.md has no row for %q", name)
		}
	}
	if got := strings.Count(rows, "\n| ") - 1; got != len(badly) {
		t.Errorf("docs/hostile.md has %d rows for %d answers", got, len(badly))
	}
}

// Whatever a server does, the provider soon reports the result. A creation that may have happened has an unknown
// result, so that the engine keeps it in the journal.
func TestHostileServers(t *testing.T) {
	for name, c := range badly {
		t.Run(name, func(t *testing.T) {
			s := newThings(t)
			l := beginThings(t, s, `"retry"`, `"timeout": "100ms", "max_body": 100000, "retry"`)
			if !strings.Contains(c.says, "time limit") && !c.limited {
				l = beginThings(t, s, `"retry"`, `"max_body": 100000, "retry"`)
			}
			kept := l.apply(context.Background(), "inv_thing", provider.ApplyResponse{}, named)
			if kept.Diagnostics.HasErrors() {
				t.Fatal(text(kept.Diagnostics))
			}
			s.before = func(w http.ResponseWriter, r *http.Request) bool {
				_, _ = io.Copy(io.Discard, r.Body) // otherwise a server does not notice that its client has gone
				c.answer(w, r)
				return true
			}
			got := l.apply(context.Background(), "inv_thing", provider.ApplyResponse{}, named)
			output := text(got.Diagnostics)
			if !strings.Contains(output, c.says) || (got.State == cty.NilVal) != c.unknown {
				t.Errorf("created %#v; it says\n%s\nwant %q", got.State, output, c.says)
			}
			if got.State != cty.NilVal && !got.State.IsNull() {
				t.Errorf("an object is stored that was not made: %#v", got.State)
			}
			if read := l.read(context.Background(), "inv_thing", kept); read.State.IsNull() {
				t.Errorf("an object is gone because of %s", name)
			}
			deleted := l.apply(context.Background(), "inv_thing", kept, nil)
			if deleted.Diagnostics.HasErrors() && deleted.State.IsNull() {
				t.Error("an object is forgotten though its deletion failed")
			}
		})
	}
}

// Credentials are only sent to the configured server, whatever that server responds.
func TestCredentialsDoNotLeaveTheServer(t *testing.T) {
	var visits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { visits.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{other.URL, "//" + strings.TrimPrefix(other.URL, "http://"),
			"http://user:password@" + strings.TrimPrefix(other.URL, "http://")} {
			s := newThings(t)
			l := beginThings(t, s)
			kept := l.apply(context.Background(), "inv_thing", provider.ApplyResponse{}, named)
			s.before = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Location", to+"/stolen")
				w.WriteHeader(status)
				return true
			}
			read := l.read(context.Background(), "inv_thing", kept)
			if output := text(read.Diagnostics); !strings.Contains(output, "to another server") {
				t.Errorf("%d to %s: %s", status, to, output)
			}
			l.apply(context.Background(), "inv_thing", provider.ApplyResponse{}, named)
		}
	}
	if n := visits.Load(); n > 0 {
		t.Errorf("the other server was asked %d times", n)
	}
}

// No text contains a secret, however a server repeats it.
func TestSecretsAreInNoText(t *testing.T) {
	for name := range badly {
		s := newThings(t)
		l := beginThings(t, s, `"retry"`, `"timeout": "100ms", "max_body": 100000, "retry"`, `"error_message"`,
			`"headers": {"X-Key": "${env.INV_KEY}"}, "error_message"`)
		kept := l.apply(context.Background(), "inv_thing", provider.ApplyResponse{}, named)
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("X-Echo", r.Header.Get("Authorization"))
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"initialPassword": "canary-the-server-made", "seen": %q, "body": "canary-of-a-password"}`,
				fmt.Sprint(r.Header))
			return true
		}
		output := text(kept.Diagnostics) + text(l.apply(context.Background(), "inv_thing", provider.ApplyResponse{},
			named).Diagnostics) + text(l.read(context.Background(), "inv_thing", kept).Diagnostics)
		if output == "" || strings.Contains(output, "canary") {
			t.Errorf("%s: a secret is shown:\n%s", name, output)
		}
	}
}

// An endless list is refused, and one that leads to another server is not followed.
func TestEndlessLists(t *testing.T) {
	n := 0
	for says, next := range map[string]func(w http.ResponseWriter){
		"more than 100 pages": func(w http.ResponseWriter) {
			n++
			fmt.Fprintf(w, `{"items": [{"id": %d}], "next": "%d"}`, n, n)
		},
		"form a cycle": func(w http.ResponseWriter) { fmt.Fprint(w, `{"items": [], "next": "same"}`) },
		"pages have more bytes in total": func(w http.ResponseWriter) {
			n++
			fmt.Fprintf(w, `{"items": [%q], "next": "%d"}`, strings.Repeat("x", 90000), n)
		},
		"are not an array": func(w http.ResponseWriter) { fmt.Fprint(w, `{"items": 7}`) },
	} {
		s := newThings(t)
		l := beginThings(t, s, `"retry"`, `"max_body": 100000, "retry"`)
		s.before = func(w http.ResponseWriter, r *http.Request) bool { next(w); return true }
		resp := l.p.ReadData(context.Background(), provider.ReadDataRequest{Type: "inv_found",
			Config: l.object(l.s.Data["inv_found"].Block, map[string]cty.Value{"name": cty.StringVal("x")})})
		if output := text(resp.Diagnostics); !strings.Contains(output, says) {
			t.Errorf("got %s\nwant %q", output, says)
		}
	}
}

// Temporary faults are tolerated: in the end the server has exactly the configured objects.
func TestRandomFaults(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := newThings(t)
		l := beginThings(t, s, "METHOD", []string{"PUT", "PATCH"}[seed%2])
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			if random.IntN(3) > 0 || r.Method == http.MethodPost || r.Method == http.MethodPatch {
				return false
			}
			switch random.IntN(3) {
			case 0:
				http.Error(w, "later", []int{429, 502, 503, 504}[random.IntN(4)])
			case 1:
				panic(http.ErrAbortHandler)
			default:
				http.Redirect(w, r, r.URL.RequestURI(), http.StatusTemporaryRedirect)
			}
			return true
		}
		var at provider.ApplyResponse
		for step := range 6 {
			want := map[string]cty.Value{"name": cty.StringVal(fmt.Sprint("name ", random.IntN(1000)))}
			if random.IntN(2) == 0 {
				want["tags"] = cty.MapVal(map[string]cty.Value{fmt.Sprint("k", random.IntN(3)): cty.StringVal("v")})
			}
			if random.IntN(2) == 0 {
				want["size"] = cty.NumberIntVal(int64(random.IntN(100)))
			}
			next := l.apply(context.Background(), "inv_thing", at, want)
			if next.Diagnostics.HasErrors() {
				if output := text(next.Diagnostics); !strings.Contains(output, "did not answer") &&
					!strings.Contains(output, "status") && !strings.Contains(output, "redirected") {
					t.Fatalf("seed %d, step %d: %s", seed, step, output)
				}
				continue
			}
			at = next
			compare(t, s, at, want)
		}
	}
}

// compare checks that the server has the configured objects.
func compare(t *testing.T, s *things, at provider.ApplyResponse, want map[string]cty.Value) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[at.State.GetAttr("id").AsString()]
	if o["displayName"] != want["name"].AsString() {
		t.Errorf("the server has the name %v, not %#v", o["displayName"], want["name"])
	}
	size := "3"
	if v, ok := want["size"]; ok {
		size = v.AsBigFloat().Text('f', 0)
	}
	if fmt.Sprint(o["size"]) != size {
		t.Errorf("the server has the size %v, not %s", o["size"], size)
	}
	tags, _ := o["tags"].(map[string]any)
	if v, ok := want["tags"]; ok != (len(tags) > 0) || ok && len(tags) != v.LengthInt() {
		t.Errorf("the server has the tags %v, not %#v", tags, v)
	}
	if len(s.objects) != 1 {
		t.Errorf("the server has %d objects", len(s.objects))
	}
}

// A creation whose response is lost is not repeated, unless the manifest declares that the server recognizes a
// repetition.
func TestALostCreationIsNotRepeated(t *testing.T) {
	for _, idempotent := range []bool{false, true} {
		s := newThings(t)
		change := []string{`"create": {`, `"create": {`}
		if idempotent {
			change[1] = `"create": {"idempotent": true, "headers": {"Idempotency-Key": "${intent}"}, `
		}
		l := beginThings(t, s, change...)
		var mu sync.Mutex // guards the variables below: no response shows when the server has finished a request
		keys := map[string]bool{}
		posts := 0
		s.lose = func(r *http.Request) bool {
			if r.Method != http.MethodPost {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			keys[r.Header.Get("Idempotency-Key")] = true
			posts++
			return posts < 3
		}
		got := l.apply(context.Background(), "inv_thing", provider.ApplyResponse{}, named)
		mu.Lock()
		switch {
		case !idempotent && (got.State != cty.NilVal || posts != 1):
			t.Errorf("got %#v after %d requests", got.State, posts)
		case idempotent && (got.Diagnostics.HasErrors() || posts != 3 || len(keys) != 1 || keys[""]):
			t.Errorf("got %s after %d requests with the keys %v", text(got.Diagnostics), posts, keys)
		}
		mu.Unlock()
	}
}

func TestAnInterruptEndsReads(t *testing.T) {
	s := newThings(t)
	l := beginThings(t, s)
	kept := l.apply(context.Background(), "inv_thing", provider.ApplyResponse{}, named)
	s.before = func(w http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if read := l.read(ctx, "inv_thing", kept); !read.Diagnostics.HasErrors() || read.State.IsNull() {
		t.Errorf("got %#v, %s", read.State, text(read.Diagnostics))
	}
}
