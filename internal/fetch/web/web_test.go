package web_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

const host, elsewhere = "example.com", "elsewhere.example"

// world is a net, a client, and the pauses of the client between attempts.
type world struct {
	t *testing.T
	*fetchtest.Net
	*web.Client
	waited []time.Duration
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, Net: fetchtest.New(t)}
	w.Client = web.New(web.Options{
		Transport: w.Transport(), Retries: 1, Timeout: time.Minute,
		Credentials: func(_ context.Context, h string) (string, error) {
			if h == host {
				return "secret-token", nil
			}
			return "", nil
		},
		Pause: func(ctx context.Context, d time.Duration) error {
			w.waited = append(w.waited, d)
			return ctx.Err()
		},
	})
	return w
}

func at(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}

// broken redirects to a text that need not be an address.
func broken(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

func answer(content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, content) }
}

func document(content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, content)
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func endless(w http.ResponseWriter, _ *http.Request) {
	for {
		if _, err := w.Write(make([]byte, 64<<10)); err != nil {
			return
		}
	}
}

// silent begins a response and never ends it.
func silent(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
	panic(http.ErrAbortHandler) // otherwise the end of the response could still arrive
}

func (w *world) get(path string) (string, error) {
	w.t.Helper()
	doc, err := w.Get(context.Background(), web.Request{URL: at("https://" + host + path), Host: host, Limit: 1 << 16})
	return string(doc.Body), err
}

func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("a secret shows: %v", err)
	}
}

func TestServicesAreDiscovered(t *testing.T) {
	w := newWorld(t)
	service := func(h string) (string, error) {
		u, err := w.Service(context.Background(), h, "providers.v1")
		if err != nil {
			return "", err
		}
		return u.String(), nil
	}
	for h, c := range map[string]struct{ document, want string }{
		"relative.example": {`{"providers.v1": "/v1/p"}`, "https://relative.example/v1/p/"},
		"beside.example":   {`{"providers.v1": "p/"}`, "https://beside.example/.well-known/p/"},
		"absolute.example": {`{"providers.v1": "https://other.example:8443/p/", "x": {"y": [1]}}`,
			"https://other.example:8443/p/"},
		"port.example:8443": {`{"providers.v1": "/"}`, "https://port.example:8443/"},
		"fragment.example":  {`{"providers.v1": "/p#x"}`, "https://fragment.example/p/"},
	} {
		w.Answer(h, "/.well-known/terraform.json", document(c.document))
		if got, err := service(h); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v", h, got, err)
		}
	}
	w.Answer("moved.example", "/.well-known/terraform.json",
		redirect("https://relative.example/.well-known/terraform.json"))
	if got, err := service("moved.example"); err != nil || got != "https://relative.example/v1/p/" {
		t.Errorf("got %s, %v", got, err)
	}
	// A name outside of ASCII is requested in the form that certificates contain.
	w.Answer("xn--bcher-kva.example", "/.well-known/terraform.json", document(`{"providers.v1": "/v1/"}`))
	if got, err := service("bücher.example"); err != nil || got != "https://xn--bcher-kva.example/v1/" {
		t.Errorf("got %s, %v", got, err)
	}
	w.Requests()
	if _, err := service("relative.example"); err != nil || len(w.Requests()) != 0 {
		t.Errorf("a host is asked twice: %v", err)
	}
	w.Services = map[string]map[string]any{"forced.example": {"providers.v1": "/here/"}}
	if got, err := service("forced.example"); err != nil || got != "https://forced.example/here/" ||
		len(w.Requests()) != 0 {
		t.Errorf("got %s, %v", got, err)
	}
	w.Services["plain-forced.example"] = map[string]any{"providers.v1": "http://other.example/"}
	if got, err := service("plain-forced.example"); err != nil || got != "http://other.example/" {
		t.Errorf("got %s, %v", got, err)
	}
	for h, c := range map[string]struct{ document, want string }{
		"none.example":     {`{}`, "does not offer the service providers.v1"},
		"number.example":   {`{"providers.v1": 3}`, "does not offer"},
		"plain.example":    {`{"providers.v1": "http://other.example/"}`, "not protected by TLS"},
		"ftp.example":      {`{"providers.v1": "ftp://x/"}`, "not a web address"},
		"password.example": {`{"providers.v1": "https://me:secret@x/"}`, "user or password"},
		"broken.example":   {`{`, "not JSON"},
		"list.example":     {`[]`, "expected"},
		"twice.example":    {`{"providers.v1": "https://a/", "PROVIDERS.V1": "https://b/"}`, "twice"},
	} {
		w.Answer(h, "/.well-known/terraform.json", document(c.document))
		_, err := service(h)
		wantError(t, err, h, c.want)
	}
	_, err := service("silent.example") // 404
	var missing *web.NoServiceError
	if !errors.As(err, &missing) {
		t.Errorf("got %v", err)
	}
	w.Answer("html.example", "/.well-known/terraform.json", answer("<html>"))
	_, err = service("html.example")
	wantError(t, err, "text/html")
	_, err = service("not a host")
	wantError(t, err, "not a host")
}

// The first host gets its token, and no other host does, in whatever way it is reached.
func TestTheTokenOfAHostIsOnlySentThere(t *testing.T) {
	w := newWorld(t)
	w.Serve(elsewhere, answer("elsewhere"))
	w.Serve(host+":8443", answer("another port"))
	w.Answer(host, "/stay", redirect("/end"))
	w.Answer(host, "/end", answer("end"))
	w.Answer(host, "/away", redirect("https://"+elsewhere+"/x"))
	w.Answer(host, "/port", redirect("https://"+host+":8443/x"))
	w.Answer(host, "/sub", redirect("https://sub."+host+"/x"))
	w.Serve("sub."+host, answer("sub"))
	w.Answer(host, "/back", redirect("https://"+elsewhere+"/back"))
	w.Answer(elsewhere, "/back", redirect("https://"+host+"/end"))
	for path, want := range map[string][]string{
		"/stay": {"Bearer secret-token", "Bearer secret-token"},
		"/away": {"Bearer secret-token", ""},
		"/port": {"Bearer secret-token", ""},
		"/sub":  {"Bearer secret-token", ""},
		"/back": {"Bearer secret-token", "", ""},
	} {
		w.Requests()
		if _, err := w.get(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		var got []string
		for _, r := range w.Requests() {
			got = append(got, r.Authorization)
			if r.Header.Get("Referer") != "" {
				t.Errorf("%s: the address that led here is told", path)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %q", path, got)
		}
	}
	if _, err := w.Get(context.Background(), web.Request{URL: at("https://" + host + "/end")}); err != nil ||
		w.Requests()[0].Authorization != "" {
		t.Errorf("the token is sent without being asked for: %v", err)
	}
	_, err := w.Get(context.Background(), web.Request{URL: at("http://" + host + "/end"), Host: host})
	if got := w.Requests(); err == nil || len(got) > 0 {
		t.Errorf("a server without TLS was sent %v", got)
	}
}

// Connections on one machine cannot be intercepted, and wrappers run local servers that require a token.
func TestAServerOnThisMachineGetsATokenWithoutTLS(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		if r.URL.Path == "/away" {
			http.Redirect(out, r, strings.Replace("http://"+r.Host+"/end", "127.0.0.1", "localhost", 1),
				http.StatusFound)
		}
	}))
	defer server.Close()
	c := web.New(web.Options{Credentials: func(context.Context, string) (string, error) { return "secret-token", nil }})
	if _, err := c.Get(context.Background(), web.Request{URL: at(server.URL + "/away"), Host: host,
		Limit: 100}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Bearer secret-token", ""}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
}

func TestRedirectsAreRestricted(t *testing.T) {
	w := newWorld(t)
	w.Answer(host, "/loop", redirect("/loop"))
	w.Answer(host, "/plain", redirect("http://"+elsewhere+"/?q=secret"))
	w.Answer(host, "/file", redirect("file:///etc/passwd"))
	w.Answer(host, "/password", redirect("https://me:secret@"+elsewhere+"/"))
	w.Answer(host, "/user", redirect("https://secret@"+elsewhere+"/"))
	w.Answer(host, "/port", broken("https://"+elsewhere+":8 4/?X-Amz-Signature=secret"))
	w.Answer(host, "/escape", broken("/%zz?access_token=secret"))
	for path, want := range map[string]string{
		"/loop": "more than 5 redirects", "/plain": "not protected by TLS", "/file": "not protected by TLS",
		"/password": "user or password", "/user": "user or password",
		"/port": "not a URL", "/escape": "not a URL",
	} {
		w.Requests()
		_, err := w.get(path)
		wantError(t, err, want, "https://"+host+path)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error has what the server keeps secret: %v", err)
		}
	}
	if len(w.waited) > 0 {
		t.Error("what is refused was tried again")
	}
}

// A credentials helper may take longer than a server.
func TestFindingATokenDoesNotCountTowardsTheTimeout(t *testing.T) {
	w := newWorld(t)
	w.Answer(host, "/x", answer("x"))
	var asked int
	w.Credentials = func(ctx context.Context, _ string) (string, error) {
		if _, bounded := ctx.Deadline(); bounded {
			t.Error("the time of the answer has begun")
		}
		asked++
		return "", errors.New("no such thing")
	}
	_, err := w.get("/x")
	wantError(t, err, "https://"+host+"/x", "the credentials of example.com", "no such thing")
	if asked != 1 || len(w.waited) > 0 || len(w.Requests()) > 0 {
		t.Errorf("asked %d times", asked)
	}
}

// Some mirrors require the user and password in their address.
func TestPasswordsAreSentToTheSameHost(t *testing.T) {
	w := newWorld(t)
	w.Answer(host, "/x", redirect("/y"))
	w.Answer(host, "/y", answer("y"))
	if _, err := w.Get(context.Background(), web.Request{URL: at("https://me:secret@" + host + "/x")}); err != nil {
		t.Error(err)
	}
	for _, r := range w.Requests() {
		if !strings.HasPrefix(r.Authorization, "Basic ") {
			t.Errorf("%s: got %q", r.Path, r.Authorization)
		}
	}
	w.Answer(host, "/x", redirect("https://me:secret@"+elsewhere+"/y"))
	_, err := w.Get(context.Background(), web.Request{URL: at("https://me:secret@" + host + "/x")})
	wantError(t, err, "user or password")
	base := at("https://me:secret@" + host + "/a/b")
	for text, want := range map[string]string{"c": "https://me:secret@example.com/a/c", "https://" + elsewhere +
		"/c": "https://elsewhere.example/c", "//you:secret@" + host + "/c": ""} {
		got, err := web.Resolve(base, text)
		if want == "" {
			wantError(t, err, "user or password")
		} else if err != nil || got.String() != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
}

func TestAnswersAreBounded(t *testing.T) {
	w := newWorld(t)
	w.Answer(host, "/endless", endless)
	w.Answer(host, "/exact", answer(strings.Repeat("x", 1<<16)))
	w.Answer(host, "/more", answer(strings.Repeat("x", 1<<16+1)))
	w.Answer(host, "/bomb", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(out)
		for range 100 {
			_, _ = z.Write(make([]byte, 1<<16))
		}
		_ = z.Close()
	})
	if got, err := w.get("/exact"); err != nil || len(got) != 1<<16 {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	for _, path := range []string{"/endless", "/more", "/bomb"} {
		// Accept makes the transport request compression.
		_, err := w.Get(context.Background(), web.Request{URL: at("https://" + host + path), Accept: "application/json",
			Limit: 1 << 16})
		wantError(t, err, "more than 65536 bytes")
	}
	if len(w.waited) > 0 {
		t.Error("what is too large was tried again")
	}
	w.Answer(host, "/silent", silent)
	w.Timeout = 50 * time.Millisecond
	_, err := w.get("/silent")
	wantError(t, err, "no complete answer within 50ms", "after 2 attempts")
	w.Answer(host, "/headers", func(out http.ResponseWriter, _ *http.Request) {
		for i := range 1000 {
			out.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1000))
		}
	})
	if got := web.Transport().MaxResponseHeaderBytes; got <= 0 || got > 1<<20 {
		t.Errorf("headers may have %d bytes", got)
	}
}

func TestTemporaryErrorsAreRetried(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		status   int
		after    string
		attempts int
		longest  time.Duration
	}{
		{500, "", 2, time.Second}, {503, "3", 2, 4 * time.Second}, {429, "86400", 2, 11 * time.Second},
		{503, "-1", 2, time.Second},
		{404, "", 1, 0}, {401, "", 1, 0}, {501, "", 1, 0},
	} {
		w.Answer(host, "/x", func(out http.ResponseWriter, _ *http.Request) {
			if c.after != "" {
				out.Header().Set("Retry-After", c.after)
			}
			out.WriteHeader(c.status)
		})
		w.Requests()
		w.waited = nil
		_, err := w.get("/x")
		wantError(t, err, fmt.Sprintf(": %d %s", c.status, http.StatusText(c.status)), // as programs expect it
			"https://example.com/x")
		if got := len(w.Requests()); got != c.attempts {
			t.Errorf("%d: %d attempts", c.status, got)
		}
		if len(w.waited) != c.attempts-1 || c.attempts > 1 && w.waited[0] > c.longest {
			t.Errorf("%d: waited %v", c.status, w.waited)
		}
		if web.IsNotFound(err) != (c.status == 404) {
			t.Errorf("%d: not found is %v", c.status, web.IsNotFound(err))
		}
	}
	calls := 0
	w.Answer(host, "/x", func(out http.ResponseWriter, _ *http.Request) {
		if calls++; calls == 1 {
			panic(http.ErrAbortHandler) // the connection breaks
		}
		_, _ = io.WriteString(out, "fine")
	})
	if got, err := w.get("/x"); err != nil || got != "fine" {
		t.Errorf("got %q, %v", got, err)
	}
	w.waited = nil
	w.Options.Transport = http.DefaultTransport
	_, err := w.Get(context.Background(), web.Request{URL: &url.URL{Scheme: "https", Host: w.Addr}})
	wantError(t, err, "certificate")
	if len(w.waited) > 0 {
		t.Error("a certificate was tried again")
	}
}

func TestCancelledRequestsEndImmediately(t *testing.T) {
	w := newWorld(t)
	w.Answer(host, "/silent", silent)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := w.Get(ctx, web.Request{URL: at("https://" + host + "/silent")})
	if !errors.Is(err, context.Canceled) || len(w.waited) > 0 {
		t.Errorf("got %v after waiting %v", err, w.waited)
	}
}

func (w *world) download(path string) (string, error) {
	w.t.Helper()
	file, err := os.Create(filepath.Join(w.t.TempDir(), "file"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close()
	last := int64(0)
	n, err := w.Download(context.Background(), web.Request{URL: at("https://" + host + path), Limit: 1 << 20}, file,
		func(done, _ int64) { last = done })
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(file.Name())
	if int64(len(content)) != n || last != n {
		w.t.Errorf("%d bytes are said, %d reported, %d there", n, last, len(content))
	}
	return string(content), err
}

func TestDownloadsAreCompleteOrFail(t *testing.T) {
	w := newWorld(t)
	content := strings.Repeat("0123456789", 1000)
	w.Answer(host, "/good", answer(content))
	if got, err := w.download("/good"); err != nil || got != content {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	calls := 0
	w.Answer(host, "/cut", func(out http.ResponseWriter, _ *http.Request) {
		calls++
		out.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = io.WriteString(out, content[:calls*3000])
		if calls < 3 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(out, content[calls*3000:])
	})
	if got, err := w.download("/cut"); err != nil || got != content || calls != 3 {
		t.Errorf("got %d bytes after %d attempts, %v", len(got), calls, err)
	}
	w.Answer(host, "/endless", endless)
	w.Answer(host, "/long", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Length", "1099511627776")
		out.WriteHeader(200)
	})
	for _, path := range []string{"/endless", "/long"} {
		_, err := w.download(path)
		wantError(t, err, "more than 1048576 bytes")
	}
}

// A server that sends single bytes cannot block a download for ever.
func TestDownloadsWithoutProgressEnd(t *testing.T) {
	w := newWorld(t)
	w.Stall = 100 * time.Millisecond
	w.Answer(host, "/drip", func(out http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := out.Write([]byte("x")); err != nil {
				return
			}
			_ = http.NewResponseController(out).Flush()
			time.Sleep(time.Millisecond)
		}
	})
	w.Answer(host, "/silent", silent)
	for _, path := range []string{"/drip", "/silent"} {
		_, err := w.download(path)
		wantError(t, err, "too slow", "after 3 attempts")
	}
}

// An announced service may be on another host, and still gets the token. But if the host only redirects to the
// announcement, another host has chosen the address.
func TestARedirectedAnnouncementGetsNoToken(t *testing.T) {
	announces := `{"modules.v1": "/v1/", "own.v1": "https://` + host + `/v1/"}`
	for redirected, want := range map[bool]string{false: "Bearer secret-token", true: ""} {
		w := newWorld(t)
		w.Answer(elsewhere, "/v1/", answer("x"))
		w.Answer(host, "/v1/", answer("x"))
		if redirected {
			w.Answer(host, "/.well-known/terraform.json", redirect("https://"+elsewhere+"/services"))
			w.Answer(elsewhere, "/services", document(announces))
		} else {
			w.Answer(host, "/.well-known/terraform.json",
				document(strings.Replace(announces, `"/v1/"`, `"https://`+elsewhere+`/v1/"`, 1)))
		}
		for service, want := range map[string]string{"modules.v1": want, "own.v1": "Bearer secret-token"} {
			u, err := w.Service(t.Context(), host, service)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.MaySendToken(host, u); got != (want != "") {
				t.Errorf("redirected %t, %s at %s: the token may go there: %t", redirected, service, u, got)
			}
			w.Requests()
			if _, err := w.Get(t.Context(), web.Request{URL: u, Host: host}); err != nil {
				t.Fatal(err)
			}
			if got := w.Requests(); len(got) != 1 || got[0].Authorization != want {
				t.Errorf("redirected %t, %s at %s: got %v", redirected, service, u, got)
			}
		}
	}
}
