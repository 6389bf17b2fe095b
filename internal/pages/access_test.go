package pages

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Without a session, no page shows anything, and nothing has effects.
func TestWithoutASessionNothingIsShown(t *testing.T) {
	o := everything("content-4711", "s3cret")
	_, c := serving(t, o)
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, path := range append(paths, "/p/state/report", "/p/plan/report?name=p.plan", "/p/events?page=state",
		"/p/?token=wrong", "/p/?token="+linkToken) {
		status, page := c.do(http.MethodGet, path, nil, "Cookie", cookieName+"=guessed")
		if status != http.StatusUnauthorized || strings.Contains(page, "content-4711") {
			t.Errorf("%s: status %d\n%s", path, status, page)
		}
	}
	for _, path := range []string{"/p/approve", "/p/drift", "/p/rights", "/p/logout"} {
		form := url.Values{"plan": {"p.plan"}, "hash": {"sha256:1234"}, "sure": {"yes"}, "token": {rightsToken},
			"csrf": {""}}
		if status, _ := c.do(http.MethodPost, path, form); status != http.StatusUnauthorized {
			t.Errorf("%s: status %d", path, status)
		}
	}
	if n := o.Runs.(*fakeRuns).effects(); n != 0 {
		t.Errorf("there were %d effects", n)
	}
	for _, path := range []string{"/p/style.css", "/p/live.js"} {
		if page := c.get(path); page == "" || strings.Contains(page, "content-4711") {
			t.Errorf("%s: %q", path, page)
		}
	}
}

// A request has an effect only if it is a form of this server's origin in a session with rights, with all that belongs
// to it. All combinations are tried.
func TestEffectsNeedEverything(t *testing.T) {
	conditions := []string{"session", "method", "origin", "site", "csrf", "rights", "sure", "hash", "host"}
	for set := range 1 << len(conditions) {
		has := func(name string) bool {
			for i, c := range conditions {
				if c == name {
					return set&(1<<i) != 0
				}
			}
			panic(name)
		}
		o := everything("x", "s3cret")
		_, c := serving(t, o)
		c.login()
		csrf := c.csrf()
		if has("rights") {
			c.do(http.MethodPost, "/p/rights", url.Values{"csrf": {csrf}, "token": {rightsToken}})
		}
		if !has("session") {
			c = newClient(t, c.server)
		}
		form := url.Values{"plan": {"p.plan"}, "hash": {"sha256:1234"}, "sure": {"yes"}, "csrf": {csrf}}
		headers := []string{"Sec-Fetch-Site", "same-origin"}
		method := http.MethodPost
		if !has("method") {
			method = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete}[set%4]
		}
		if !has("origin") {
			headers = append(headers, "Origin", []string{"", "null", "https://evil.example",
				"http://127.0.0.1:1"}[set%4])
		}
		if !has("site") {
			headers = append(headers, "Sec-Fetch-Site", []string{"cross-site", "same-site", "none"}[set%3])
		}
		if !has("csrf") {
			form.Set("csrf", []string{"", "guessed"}[set%2])
		}
		if !has("sure") {
			form.Del("sure")
		}
		if !has("hash") {
			form.Set("hash", []string{"", "sha256:5678"}[set%2])
		}
		if !has("host") {
			headers = append(headers, "Host", "rebound.example")
		}
		status, _ := c.do(method, "/p/approve", form, headers...)
		want := set == 1<<len(conditions)-1
		if got := o.Runs.(*fakeRuns).effects() > 0; got != want {
			t.Fatalf("with %09b of %q: effects %v, want %v (status %d)", set, conditions, got, want, status)
		}
		c.server.Close()
	}
}

// Nothing that is read has effects, whatever the query.
func TestReadingHasNoEffects(t *testing.T) {
	o := everything("x", "s3cret")
	s, c := serving(t, o)
	c.login()
	query := "?plan=p.plan&hash=sha256:1234&sure=yes&token=" + rightsToken + "&csrf=" + url.QueryEscape(c.csrf())
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPatch, "TRACE",
		"FOO"} {
		for _, path := range []string{"approve", "drift", "rights", "login", "logout", "run", "plan", ""} {
			c.do(method, "/p/"+path+query, nil)
		}
	}
	if n := o.Runs.(*fakeRuns).effects(); n != 0 {
		t.Errorf("there were %d effects", n)
	}
	if page := c.get("/p/rights"); strings.Contains(page, "This session has them") {
		t.Error("the session got rights")
	}
	if n := len(s.gate.sessions); n != 1 {
		t.Errorf("there are %d sessions", n)
	}
}

// Requests for other hosts, and requests that other sites cause, are refused; links of other sites may lead here.
func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	_, c := serving(t, everything("content-4711", "s3cret"))
	c.login()
	r := rand.New(rand.NewPCG(1, 3))
	sites := []string{"", "none", "same-origin", "same-site", "cross-site"}
	modes := []string{"navigate", "cors", "no-cors", "same-origin"}
	dests := []string{"document", "empty", "script", "iframe", "image"}
	for range 300 {
		site, mode, dest := sites[r.IntN(5)], modes[r.IntN(4)], dests[r.IntN(5)]
		host := []string{"", "evil.example", "127.0.0.1.evil.example:80", "[::1]:1", "localhost.", "0.0.0.0"}[r.IntN(6)]
		headers := []string{"Sec-Fetch-Site", site, "Sec-Fetch-Mode", mode, "Sec-Fetch-Dest", dest}
		if host != "" {
			headers = append(headers, "Host", host)
		}
		ours := site == "" || site == "none" || site == "same-origin"
		want := (host == "" || strings.HasPrefix(host, "127.0.0.1:")) && (ours || mode == "navigate" &&
			dest == "document")
		status, page := c.do(http.MethodGet, "/p/", nil, headers...)
		if got := status == http.StatusOK; got != want || !got && strings.Contains(page, "content-4711") {
			t.Fatalf("%q: status %d, want success: %v", headers, status, want)
		}
	}
}

// Each answer forbids what pages do not need.
func TestAnswersForbidWhatPagesDoNotNeed(t *testing.T) {
	_, c := serving(t, everything("x", "s3cret"))
	c.login()
	for _, path := range append(paths, "/p/style.css", "/p/live.js", "/p/state/report", "/p/plan/report?name=p.plan") {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		p := resp.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'",
			"require-trusted-types-for 'script'"} {
			if !strings.Contains(p, want) {
				t.Errorf("%s: the policy %q has no %s", path, p, want)
			}
		}
		if strings.Contains(p, "unsafe") || strings.Contains(p, "http") || strings.Contains(p, "*") {
			t.Errorf("%s: the policy is %q", path, p)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
			"X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin"} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}

// A link opens one session. Then another one is announced. Browsers that load it in advance do not use it up.
func TestALinkOpensOneSession(t *testing.T) {
	o := everything("content-4711", "s3cret")
	var mu sync.Mutex
	next := linkToken
	o.Access.Once, o.Access.Announce = true, func(token string) {
		mu.Lock()
		defer mu.Unlock()
		next = token
	}
	_, first := serving(t, o)
	if status, _ := first.do(http.MethodGet, "/p/?token="+linkToken, nil, "Sec-Purpose", "prefetch"); status != 403 {
		t.Errorf("loaded in advance: status %d", status)
	}
	if page := first.get("/p/?token=" + linkToken); !strings.Contains(page, "content-4711") {
		t.Errorf("the link shows\n%s", page)
	}
	first.get("/p/?token=" + linkToken) // again, in the same browser
	second := newClient(t, first.server)
	if status, page := second.do(http.MethodGet, "/p/?token="+linkToken, nil); status != 403 ||
		strings.Contains(page, "content-4711") {
		t.Errorf("the link opened a second session: status %d", status)
	}
	mu.Lock()
	token := next
	mu.Unlock()
	if token == linkToken {
		t.Fatal("no other link was announced")
	}
	second.get("/p/?token=" + token)
	if status, _ := first.do(http.MethodPost, "/p/logout", url.Values{"csrf": {first.csrf()}}); status != 200 {
		t.Errorf("the end of the session: status %d", status)
	}
	if status, _ := first.do(http.MethodGet, "/p/", nil); status != http.StatusUnauthorized {
		t.Errorf("after its end, the session answers with %d", status)
	}
	second.get("/p/")
}

// clock is a time that only tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Tokens cannot be guessed by trying, sessions end, and there is a limit for their number. A model predicts each
// answer.
func TestSessionsFollowTheModel(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 4))
		now := &clock{now: time.Unix(1e9, 0)}
		g := newGate(Access{Token: linkToken, Rights: rightsToken}, now.Now)
		type known struct {
			s      *session
			began  time.Time
			rights bool
			ended  bool
		}
		var sessions []*known
		var failures []time.Time
		busy := func() bool {
			n := 0
			for _, f := range failures {
				if now.Now().Sub(f) <= time.Minute {
					n++
				}
			}
			return n >= mostFailures
		}
		for step := range 400 {
			now.add(time.Duration(1+r.IntN(5000)) * time.Millisecond)
			if r.IntN(60) == 0 {
				now.add(time.Duration(r.IntN(14)) * time.Hour)
			}
			wasBusy := busy()
			at := fmt.Sprintf("seed %d, step %d", seed, step)
			switch r.IntN(5) {
			case 0:
				s, b := g.enter(linkToken)
				if b != wasBusy || (s == nil) != wasBusy {
					t.Fatalf("%s: the right token: %v, %v, want busy %v", at, s, b, wasBusy)
				}
				if s != nil {
					sessions = append(sessions, &known{s: s, began: now.Now()})
				}
			case 1, 2:
				wrong := []string{"", "x", linkToken + "x", linkToken[1:], rightsToken}[r.IntN(5)]
				if s, b := g.enter(wrong); s != nil || b != wasBusy {
					t.Fatalf("%s: a wrong token: %v, %v, want busy %v", at, s, b, wasBusy)
				}
				if !wasBusy {
					failures = append(failures, now.Now())
				}
			default:
				if len(sessions) == 0 {
					continue
				}
				k := sessions[r.IntN(len(sessions))]
				q := httptest.NewRequest(http.MethodGet, "/", nil)
				q.AddCookie(&http.Cookie{Name: cookieName, Value: k.s.id})
				alive := !k.ended && now.Now().Sub(k.began) <= sessionTime
				if got := g.find(q); (got == k.s) != alive {
					t.Fatalf("%s: the session is found: %v, want %v", at, got != nil, alive)
				}
				k.ended = k.ended || !alive
				if !alive {
					continue
				}
				if r.IntN(3) == 0 {
					ok, b := g.entitle(k.s, rightsToken)
					if b != wasBusy || ok == wasBusy {
						t.Fatalf("%s: the token for rights: %v, %v", at, ok, b)
					}
					k.rights = k.rights || ok
				} else if r.IntN(8) == 0 {
					g.end(k.s)
					k.ended = true
				}
				if g.entitled(k.s) != k.rights {
					t.Fatalf("%s: the session has rights: %v, want %v", at, !k.rights, k.rights)
				}
			}
		}
	}
}

// The oldest session ends when there are too many.
func TestSessionsAreLimited(t *testing.T) {
	now := &clock{now: time.Unix(1e9, 0)}
	g := newGate(Access{Token: linkToken}, now.Now)
	var all []*session
	for range mostSessions + 3 {
		now.add(time.Second)
		s, _ := g.enter(linkToken)
		all = append(all, s)
	}
	for i, s := range all {
		q := httptest.NewRequest(http.MethodGet, "/", nil)
		q.AddCookie(&http.Cookie{Name: cookieName, Value: s.id})
		if got := g.find(q) != nil; got != (i >= 3) {
			t.Errorf("session %d of %d is open: %v", i, len(all), got)
		}
	}
}

// A form that is too large is not read.
func TestFormsAreLimited(t *testing.T) {
	_, c := serving(t, everything("x", "s3cret"))
	form := url.Values{"token": {linkToken + strings.Repeat(" ", maxBody)}}
	if status, _ := c.do(http.MethodPost, "/p/login", form); status != http.StatusBadRequest {
		t.Errorf("status %d", status)
	}
}
