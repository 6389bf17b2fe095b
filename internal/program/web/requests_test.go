package web_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// served returns the life of a provider whose server is a function.
func served(t *testing.T, schema string, answer http.HandlerFunc) *life {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return begin(t, `{"protocol": 1, "name": "w", "http": {"url": "${env.URL}/v1", "retry": {"delay": "1ms"}},
"schema": {"provider": {}, `+schema+`}}`, nil, "URL="+s.URL)
}

// A list of nine items in pages of four is read completely, with every method of paging.
func TestPages(t *testing.T) {
	for _, c := range []struct{ pages, next string }{
		{`"link": true`, "link"}, {`"next": "${answer.body.next}"`, "address"}, {`"next": "${answer.body.next}"`, "relative"},
		{`"token": "${answer.body.token}", "parameter": "from"`, "token"}, {`"by": "offset", "parameter": "from"`, ""},
		{`"by": "page", "parameter": "page"`, ""}, {`"by": "page", "first": 0, "parameter": "page0"`, ""},
	} {
		asked := 0
		l := served(t, `"functions": {"all": {"return_type": ["list", "number"], "http": {"path": "/all", "query": {"q": ["a", "b c"]},
"pages": {"items": "${answer.body.items}", `+c.pages+`}, "result": "${items}"}}}`, func(w http.ResponseWriter,
			r *http.Request) {
			asked++
			q := r.URL.Query()
			from, _ := strconv.Atoi(q.Get("from"))
			if page, err := strconv.Atoi(q.Get("page")); err == nil {
				from = (page - 1) * 4
			}
			if page, err := strconv.Atoi(q.Get("page0")); err == nil {
				from = page * 4
			}
			if strings.Join(q["q"], "|") != "a|b c" {
				t.Errorf("the query is %s", r.URL.RawQuery)
			}
			var items []string
			for i := from; i < min(from+4, 9); i++ {
				items = append(items, strconv.Itoa(i))
			}
			next, token := "null", "null"
			if from+4 < 9 {
				q.Set("from", strconv.Itoa(from+4))
				address := "http://" + r.Host + "/v1/all?" + q.Encode()
				switch c.next {
				case "link":
					w.Header().Add("Link", `</first>; rel="first", <`+address+
						`>; title="x"; rel=next, </last>; rel="last"`)
				case "address":
					next = strconv.Quote(address)
				case "relative":
					next = strconv.Quote("?" + q.Encode())
				}
				token = strconv.Quote(strconv.Itoa(from + 4))
			}
			fmt.Fprintf(w, `{"items": [%s], "next": %s, "token": %s}`, strings.Join(items, ","), next, token)
		})
		got, err := l.p.CallFunction(context.Background(), "all", nil)
		if err != nil || got.LengthInt() != 9 || asked > 4 {
			t.Errorf("%s: got %#v, %v after %d requests", c.pages, got, err, asked)
		}
	}
}

// A server that requests a pause gets a retry after it.
func TestRetryAfterIsKept(t *testing.T) {
	asked := 0
	l := served(t, `"functions": {"say": {"return_type": "number", "http": {"path": "/say"}}}`, func(w http.ResponseWriter,
		r *http.Request) {
		if asked++; asked == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, asked)
	})
	start := time.Now()
	got, err := l.p.CallFunction(context.Background(), "say", nil)
	if err != nil || !got.RawEquals(cty.NumberIntVal(2)) || time.Since(start) < time.Second {
		t.Errorf("got %#v, %v after %s", got, err, time.Since(start))
	}
}

// oneThing returns a manifest of a type with these requests.
func oneThing(requests string) string {
	return `"resource_schemas": {"w_a": {"attributes": {
"id": {"type": "string", "optional": true, "computed": true}, "org": {"type": "string", "optional": true}, "x": {"type": "string", "optional": true}},
"http": {` + requests + `}}}`
}

func TestRequestsWithOneLockAreMadeOneAfterTheOther(t *testing.T) {
	var now, most atomic.Int32
	l := served(t, oneThing(`"create": {"path": "/a", "lock": "${self.org}"}`), func(w http.ResponseWriter,
		r *http.Request) {
		most.Store(max(most.Load(), now.Add(1)))
		_, _ = io.Copy(io.Discard, r.Body)
		now.Add(-1)
		fmt.Fprint(w, `{"id": "1"}`)
	})
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			l.apply(context.Background(), "w_a", provider.ApplyResponse{}, map[string]cty.Value{
				"org": cty.StringVal("o")})
		})
	}
	group.Wait()
	if most.Load() != 1 {
		t.Errorf("%d requests were made at once", most.Load())
	}
}

// The private value of an object is passed to later requests, and deleting a missing object succeeds.
func TestPrivateValuesOfObjects(t *testing.T) {
	var seen []string
	l := served(t, oneThing(`"create": {"path": "/a", "private": "${answer.headers.etag}"},
"read": {"path": "/a/${self.id}", "private": "${answer.headers.etag}"},
"update": {"path": "/a/${self.id}", "headers": {"If-Match": "${private}"}}, "delete": {"path": "/a/${self.id}"}`),
		func(w http.ResponseWriter, r *http.Request) {
			seen = append(seen, r.Method+" "+r.Header.Get("If-Match"))
			w.Header().Set("ETag", fmt.Sprint("e", len(seen)))
			if r.Method == http.MethodDelete {
				w.WriteHeader(http.StatusGone)
			}
			fmt.Fprint(w, `{"id": "1", "x": "y"}`)
		})
	at := l.apply(context.Background(), "w_a", provider.ApplyResponse{}, map[string]cty.Value{"x": cty.StringVal("y")})
	read := l.read(context.Background(), "w_a", at)
	at.Private = read.Private
	at = l.apply(context.Background(), "w_a", at, map[string]cty.Value{"x": cty.StringVal("z")})
	gone := l.apply(context.Background(), "w_a", at, nil)
	if got := strings.Join(seen, ","); got != "POST ,GET ,PUT e2,DELETE " || gone.Diagnostics.HasErrors() {
		t.Errorf("got %s, %s", got, text(gone.Diagnostics))
	}
}

func TestImportsByRequests(t *testing.T) {
	for _, c := range []struct{ request, want string }{
		{`"import": {"state": {"org": "${split(\"/\", id)[0]}", "id": "${split(\"/\", id)[1]}"}}`, "o 7"},
		{`"import": {"path": "/find", "query": {"name": "${id}"}, "object": "${one(answer.body)}"}`, "p 8"},
		{`"import": {"path": "/none", "object": "${one(answer.body)}"}`, ""},
		{`"import": {"path": "/missing"}`, ""},
	} {
		l := served(t, oneThing(`"create": {"path": "/a"}, `+c.request), func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.RequestURI() {
			case "/v1/find?name=o%2F7":
				fmt.Fprint(w, `[{"id": 8, "org": "p"}]`)
			case "/v1/none":
				fmt.Fprint(w, `[]`)
			default:
				w.WriteHeader(404)
			}
		})
		resp := l.p.Import(context.Background(), provider.ImportRequest{Type: "w_a", ID: "o/7"})
		got := ""
		if len(resp.Imported) > 0 {
			v := resp.Imported[0].State
			got = v.GetAttr("org").AsString() + " " + v.GetAttr("id").AsString()
		}
		output := text(resp.Diagnostics)
		if got != c.want || c.want == "" && !strings.Contains(output, "found no w_a with that id") {
			t.Errorf("%s: got %q, %s", c.request, got, output)
		}
	}
}

func TestActionsAndEphemeralResources(t *testing.T) {
	var seen []string
	l := served(t, `"action_schemas": {"w_ring": {"attributes": {"text": {"type": "string", "required": true}},
"http": {"invoke": {"path": "/ring", "body": "${config.text}", "encoding": "text"}}}},
"ephemeral_resource_schemas": {"w_key": {"attributes": {"for": {"type": "string", "required": true}, "key": {"type": "string", "computed": true, "sensitive": true}},
"http": {"open": {"path": "/keys", "encoding": "form", "body": {"for": "${config.for}", "n": [1, 2]}, "private": "${answer.body.id}"},
"close": {"method": "DELETE", "path": "/keys/${private}"}}}}`, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
		if r.Method == http.MethodPost {
			fmt.Fprint(w, `{"id": "k1", "key": "secret"}`)
		}
	})
	ctx := context.Background()
	ring := l.p.InvokeAction(ctx, provider.InvokeActionRequest{Type: "w_ring", Config: l.object(
		l.s.Actions["w_ring"].Block, map[string]cty.Value{"text": cty.StringVal("hey")})})
	open := l.p.OpenEphemeral(ctx, provider.OpenEphemeralRequest{Type: "w_key", Config: l.object(
		l.s.Ephemeral["w_key"].Block, map[string]cty.Value{"for": cty.StringVal("a b")})})
	closed := l.p.CloseEphemeral(ctx, provider.CloseEphemeralRequest{Type: "w_key", Private: open.Private})
	output := text(ring.Diagnostics) + text(open.Diagnostics) + text(closed)
	if output != "" || open.Result.GetAttr("key").AsString() != "secret" {
		t.Errorf("got %#v, %s", open.Result, output)
	}
	const want = "POST /v1/ring hey;POST /v1/keys for=a+b&n=1&n=2;DELETE /v1/keys/k1"
	if got := strings.Join(seen, ";"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
