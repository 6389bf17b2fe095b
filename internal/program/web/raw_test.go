package web_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// raw returns an answer that is written to the connection itself. It ends when the client has closed the connection.
func raw(write func(c *net.TCPConn) error) func(w http.ResponseWriter, r *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		tcp := c.(*net.TCPConn)
		if write(tcp) == nil {
			_, _ = io.Copy(io.Discard, tcp)
		}
	}
}

func writes(text string) func(w http.ResponseWriter, r *http.Request) {
	return raw(func(c *net.TCPConn) error {
		_, err := io.WriteString(c, text)
		return errors.Join(err, c.CloseWrite())
	})
}

// drips writes a text again and again, slowly.
func drips(first, again string) func(w http.ResponseWriter, r *http.Request) {
	return raw(func(c *net.TCPConn) error {
		_, err := io.WriteString(c, first)
		for err == nil {
			time.Sleep(time.Millisecond)
			_, err = io.WriteString(c, again)
		}
		return err
	})
}

const okJSON = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

func init() {
	for name, c := range map[string]bad{
		"a slow head": {answer: drips("HTTP/1.1 200 OK\r\nX-Slow: ", "x"),
			says: "time limit of 100ms", unknown: true},
		"a slow body": {answer: drips(okJSON+"Content-Length: 90000\r\n\r\n", " "),
			says: "time limit of 100ms", unknown: true},
		"an endless body": {answer: drips(okJSON+"\r\n", " "), says: "time limit of 100ms", unknown: true},
		"endless headers": {answer: drips("HTTP/1.1 200 OK\r\n", "X: "+strings.Repeat("x", 1<<16)+"\r\n"),
			says: "it did not answer", unknown: true},
		"early hints": {answer: drips("", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 1000)),
			says: "it did not answer", unknown: true, limited: true},
		"endless continue": {answer: drips("", strings.Repeat("HTTP/1.1 100 Continue\r\nX: x\r\n\r\n", 1000)),
			says: "it did not answer", unknown: true, limited: true},
		"a reset": {answer: raw(func(c *net.TCPConn) error {
			_ = c.SetLinger(0)
			return io.EOF
		}), says: "it did not answer", unknown: true},
		"another protocol": {answer: writes("SSH-2.0-OpenSSH_9.6\r\n"),
			says: "it did not answer", unknown: true},
		"two lengths": {answer: writes(okJSON + "Content-Length: 2\r\nContent-Length: 5\r\n\r\n{}{}}"),
			says: "it did not answer", unknown: true},
		"a negative length": {answer: writes(okJSON + "Content-Length: -1\r\n\r\n{}"),
			says: "it did not answer", unknown: true},
		"chunks that are none": {answer: writes(okJSON + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"),
			says: "the answer is incomplete", unknown: true},
		"a chunk of 16 EiB": {answer: writes(okJSON + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}"),
			says: "the answer is incomplete", unknown: true},
		"a wrong encoding": {answer: writes(okJSON +
			"Content-Encoding: gzip\r\nContent-Length: 11\r\n\r\n{\"id\":\"77\"}"),
			says: "the answer is incomplete", unknown: true},
		"a status of three digits": {answer: writes("HTTP/1.1 999 Whatever\r\nContent-Length: 0\r\n\r\n"),
			says: "status 999", unknown: true},
		"a switch of protocols": {answer: raw(func(c *net.TCPConn) error { // the connection stays open
			_, err := io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			return err
		}),
			says: "status 101", unknown: true},
		"a wait of centuries": {answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "99999999999999999999999")
			http.Error(w, "slower", http.StatusTooManyRequests)
		}, says: "status 429"},
		"a wait until the year 9999": {answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT")
			http.Error(w, "slower", http.StatusTooManyRequests)
		}, says: "status 429"},
		"a number without end": {answer: func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"id": 1e99999999999}`)
		}, says: "an object was expected, not a string", unknown: true},
		"text that is not UTF-8": {answer: func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("{\"id\": \"\xff\xfe\"}"))
		}, says: "an object was expected, not a string", unknown: true},
	} {
		badly[name] = c
	}
}

// A server that answers twice does not answer the next request with its second answer.
func TestASecondAnswerIsNotThatOfTheNextRequest(t *testing.T) {
	s := newThings(t)
	l := beginThings(t, s)
	kept := l.apply(context.Background(), "inv_thing", provider.ApplyResponse{}, named)
	answer := okJSON + "Content-Length: 31\r\n\r\n" + `{"id":1,"displayName":"one"    }`[:31]
	first := true
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if !first {
			return false
		}
		first = false
		writes(answer+strings.ReplaceAll(answer, "one", "two"))(w, r)
		return true
	}
	l.read(context.Background(), "inv_thing", kept)
	again := l.read(context.Background(), "inv_thing", kept)
	if again.Diagnostics.HasErrors() || again.State.GetAttr("name").AsString() != "one" {
		t.Errorf("got %#v, %s", again.State, text(again.Diagnostics))
	}
}

// No request is sent to a server whose certificate is for another name, or from an unknown authority.
func TestCertificatesOfServersAreVerified(t *testing.T) {
	visits := atomic.Int32{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	server.Config.ErrorLog = nil
	server.StartTLS()
	defer server.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for name, c := range map[string]struct{ url, ca, want string }{
		"another name":      {strings.Replace(server.URL, "127.0.0.1", "localhost", 1), ca, "not localhost"},
		"unknown authority": {server.URL, "", "unknown authority"},
	} {
		tls := `"tls": {"ca": "${env.CA}"}, `
		if c.ca == "" {
			tls = ""
		}
		l := begin(t, strings.Replace(strings.Replace(thingsManifest, "METHOD", "PUT", 1), `"auth"`, tls+`"auth"`, 1),
			map[string]cty.Value{"url": cty.StringVal(c.url), "token": cty.StringVal(bearer)}, "CA="+c.ca)
		got := text(l.apply(context.Background(), "inv_thing", provider.ApplyResponse{}, named).Diagnostics)
		if !strings.Contains(got, c.want) || !strings.Contains(got, "inv_thing") {
			t.Errorf("%s: got %s, want %q", name, got, c.want)
		}
	}
	if n := visits.Load(); n > 0 {
		t.Errorf("the server got %d requests", n)
	}
}

// What a server for tokens answers in place of a token.
func TestHostileServersOfTokens(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("another server got a request")
	}))
	defer other.Close()
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		"garbage": {writes("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\x00\x01\x02\x03\x04"),
			`without an "access_token"`},
		"no token": {writes(okJSON + "Content-Length: 2\r\n\r\n{}"), `without an "access_token"`},
		"deep JSON": {writes(okJSON + "Content-Length: 90000\r\n\r\n" + strings.Repeat("[", 90000)),
			`without an "access_token"`},
		"a redirect": {writes("HTTP/1.1 307 Go\r\nContent-Length: 0\r\nLocation: " + other.URL + "/t\r\n\r\n"),
			"to another server"},
		"never": {drips("HTTP/1.1 200 OK\r\nX: ", "x"), "time limit"},
		"a token with a line break": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"access_token": "a\r\nX-Evil: 1"}`)
		}, "net/http: invalid header field value"},
	} {
		t.Run(name, func(t *testing.T) {
			tokens := httptest.NewServer(http.HandlerFunc(c.answer))
			defer tokens.Close()
			api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				t.Error("the API got a request without a token")
			}))
			defer api.Close()
			l := begin(t, strings.NewReplacer("METHOD",
				"PUT", `{"bearer": "${coalesce(provider.token, env.INV_TOKEN)}"}`,
				`{"oauth": {"token_url": "${env.TOKENS}", "client_id": "me", "client_secret": "canary-secret"}}`,
				`"retry"`, `"timeout": "300ms", "max_body": 100000, "retry"`).Replace(thingsManifest),
				map[string]cty.Value{"url": cty.StringVal(api.URL)}, "TOKENS="+tokens.URL)
			got := l.apply(context.Background(), "inv_thing", provider.ApplyResponse{}, named)
			output := text(got.Diagnostics)
			if !strings.Contains(output, c.want) || strings.Contains(output, "canary") || got.State == cty.NilVal {
				t.Errorf("got %#v, %s, want %q", got.State, output, c.want)
			}
		})
	}
}

// response returns a random answer to a read whose true answer is genuine, and whether only an error is right.
func response(r *rand.Rand, genuine, self, other string) (text string, hold bool) {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	status := pick("200 OK", "200 OK", "200 OK", "200 OK", "201 Created", "204 No Content", "206 Part", "301 Go",
		"302 Go", "307 Go", "308 Go", "400 No", "401 Who", "403 No", "409 Taken", "429 Later", "500 Oh", "503 Later",
		"0 x", "-1 x", "99999 x")
	var out strings.Builder
	out.WriteString(pick("HTTP/1.1 ", "HTTP/1.1 ", "HTTP/1.0 ", "HTTP/9.9 ", "") + status + "\r\n")
	body := pick(genuine, genuine, genuine, genuine[:len(genuine)/2], "", "[]", "\xff", "<html>", "{}", "\x00",
		strings.Repeat("[", 2000), strings.Repeat(" ", 50_000)+genuine, strings.Repeat("x", 200_000))
	for range r.IntN(4) {
		out.WriteString(pick("Retry-After: 0", "Retry-After: 999999999999", "Retry-After: -1",
			"Location: "+other+"/stolen",
			"Location: "+self, "Location: ::", "Content-Encoding: gzip", "Content-Encoding: br",
			"Content-Type: text/html",
			"Set-Cookie: a=b", "Connection: close", "Link: <"+other+">; rel=next", "Transfer-Encoding: chunked",
			"WWW-Authenticate: Basic", "X-Long: "+strings.Repeat("x", 100_000), "No colon", "Trailer: X") + "\r\n")
	}
	if r.IntN(4) > 0 {
		size := len(body) + []int{0, 0, 0, 0, 7, -3}[r.IntN(6)]
		fmt.Fprintf(&out, "Content-Length: %d\r\n", size)
	}
	out.WriteString("\r\n" + body)
	return out.String(), r.IntN(8) == 0
}

// TestRandomServers reads an object from a server with random answers: the result is the object or an error, and never
// another object; no other server gets a request, and no text has a credential.
func TestRandomServers(t *testing.T) {
	var visits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	defer other.Close()
	s := newThings(t)
	l := beginThings(t, s, `"retry"`, `"timeout": "100ms", "max_body": 100000, "retry"`)
	kept := l.apply(context.Background(), "inv_thing", provider.ApplyResponse{}, named)
	for kept.Diagnostics.HasErrors() { // a loaded machine may exceed the time limit
		kept = l.apply(context.Background(), "inv_thing", provider.ApplyResponse{}, named)
	}
	id := kept.State.GetAttr("id").AsString()
	genuine := fmt.Sprintf(`{"id": %s, "displayName": "one", "size": 3, "note": %q}`, id, "the server's own")
	right, seeds := 0, uint64(400)
	if testing.Short() {
		seeds = 50
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 3))
		s.before = func(w http.ResponseWriter, req *http.Request) bool {
			answer, hold := response(r, genuine, req.URL.Path, other.URL)
			raw(func(c *net.TCPConn) error {
				_, err := io.WriteString(c, answer)
				if !hold {
					return os.ErrClosed
				}
				return err
			})(w, req)
			return true
		}
		read := l.read(context.Background(), "inv_thing", kept)
		output := text(read.Diagnostics)
		switch {
		case strings.Contains(output, "canary"):
			t.Fatalf("seed %d: a credential is shown: %s", seed, output)
		case read.Diagnostics.HasErrors() && !strings.Contains(output, "inv_thing"):
			t.Errorf("seed %d: the error does not name the call: %s", seed, output)
		case read.Diagnostics.HasErrors() && read.State.IsNull():
			t.Errorf("seed %d: the object is gone because of an error: %s", seed, output)
		case !read.Diagnostics.HasErrors() && !read.State.RawEquals(kept.State):
			t.Errorf("seed %d: the object is another one: %#v", seed, read.State)
		case !read.Diagnostics.HasErrors():
			right++
		}
	}
	if n := visits.Load(); n > 0 {
		t.Errorf("another server got %d requests", n)
	}
	if right == 0 {
		t.Error("no answer was right")
	}
}
