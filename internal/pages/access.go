package pages

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/view"
)

// Who may do what: a request must name an allowed host, come from a page of this server or from none, and belong to a
// session. A session begins with a token or a certificate. It may only read until it has shown the token for rights.

// Access is how sessions begin.
type Access struct {
	// Token opens sessions; it may be "" if Certificates is set.
	Token string
	// Once means that Token opens one session. Then a new token takes its place, with which Announce is called.
	Once     bool
	Announce func(token string)
	// Certificates means that the server accepts only connections with a valid certificate of the client.
	Certificates bool
	// Rights is the token with which a session gets the rights of the server.
	Rights string
}

// NewToken returns a token that cannot be guessed.
func NewToken() string {
	b := make([]byte, 24)
	_, _ = rand.Read(b) // never returns an error
	return base64.RawURLEncoding.EncodeToString(b)
}

// same compares a token with what a client sent, in a time that does not depend on where they differ.
func same(token, sent string) bool {
	a, b := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(sent))
	return token != "" && hmac.Equal(a[:], b[:])
}

const (
	cookieName = "tombolo"
	// sessionTime is how long a session lasts.
	sessionTime = 12 * time.Hour
	// mostSessions is the maximum number of sessions: the oldest ends when there are more.
	mostSessions = 256
	// mostFailures is how many wrong tokens are checked in a minute.
	mostFailures = 20
)

// session is a browser that may use the server.
type session struct {
	id, csrf string
	began    time.Time
	// rights reports whether it has the rights of the server. The mutex of the gate guards it.
	rights bool
}

// gate holds the sessions. It is safe for concurrent use.
type gate struct {
	o   Access
	now func() time.Time

	mu       sync.Mutex
	sessions map[[32]byte]*session // by the hash of the ID
	failures []time.Time
}

func newGate(o Access, now func() time.Time) *gate {
	return &gate{o: o, now: now, sessions: map[[32]byte]*session{}}
}

// find returns the session of a request, or nil.
func (g *gate) find(r *http.Request) *session {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	key := sha256.Sum256([]byte(c.Value))
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.sessions[key]
	if s != nil && g.now().Sub(s.began) > sessionTime {
		delete(g.sessions, key)
		return nil
	}
	return s
}

// open begins a session. The mutex must be held.
func (g *gate) open() *session {
	s := &session{id: NewToken(), csrf: NewToken(), began: g.now()}
	for len(g.sessions) >= mostSessions {
		var oldest [32]byte
		for key, other := range g.sessions {
			if first := g.sessions[oldest]; first == nil || other.began.Before(first.began) {
				oldest = key
			}
		}
		delete(g.sessions, oldest)
	}
	g.sessions[sha256.Sum256([]byte(s.id))] = s
	return s
}

// guessing reports whether there were too many wrong tokens. The mutex must be held.
func (g *gate) guessing() bool {
	for len(g.failures) > 0 && g.now().Sub(g.failures[0]) > time.Minute {
		g.failures = g.failures[1:]
	}
	return len(g.failures) >= mostFailures
}

// enter begins a session with a token. It returns nil if the token is wrong, and reports whether there were too many
// wrong ones to check it.
func (g *gate) enter(token string) (s *session, busy bool) {
	g.mu.Lock()
	announce := func() {}
	defer func() { announce() }()
	defer g.mu.Unlock()
	switch {
	case g.guessing():
		return nil, true
	case !same(g.o.Token, token):
		g.failures = append(g.failures, g.now())
		return nil, false
	}
	if g.o.Once {
		g.o.Token = NewToken()
		if next, tell := g.o.Token, g.o.Announce; tell != nil {
			announce = func() { tell(next) }
		}
	}
	return g.open(), false
}

// certified begins a session for a client with a certificate.
func (g *gate) certified() *session {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open()
}

// entitle adds the rights of the server to a session, if the token is right.
func (g *gate) entitle(s *session, token string) (ok, busy bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.guessing():
		return false, true
	case !same(g.o.Rights, token):
		g.failures = append(g.failures, g.now())
		return false, false
	}
	s.rights = true
	return true, false
}

// entitled reports whether a session has the rights of the server.
func (g *gate) entitled(s *session) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.rights
}

// end ends a session.
func (g *gate) end(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sessions, sha256.Sum256([]byte(s.id)))
}

// request is a request of a session.
type request struct {
	*http.Request
	who *session
}

// policy is the Content-Security-Policy of all pages, apart from reports, which have a stricter one.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// protect sets the headers of all answers and refuses requests of other sites and for other hosts.
func (s *Server) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin") // without a referrer, browsers do not name the origin of a form
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if s.o.Secure {
			h.Set("Strict-Transport-Security", "max-age=86400")
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		switch {
		case s.o.Host == nil || !s.o.Host(r.Host):
			s.refuse(w, http.StatusMisdirectedRequest, "Unknown host", "This server does not answer under the name of "+
				"the request. Use the address that it has printed.")
		case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
			h.Set("Allow", "GET, HEAD, POST")
			s.refuse(w, http.StatusMethodNotAllowed, "Method not allowed", "Pages are read with GET; forms use POST.")
		case s.foreign(r):
			s.refuse(w, http.StatusForbidden, "Request of another site",
				"Another site has made this request. Open the page of this server, and use its links and forms.")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// maxBody is the maximum size of a form in bytes.
const maxBody = 16 << 10

// foreign reports whether another site made a request. Links from elsewhere to pages are allowed; they have no effects.
// Forms must name the origin of this server, as browsers do.
func (s *Server) foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if r.Method == http.MethodPost {
		scheme := "http://"
		if s.o.Secure {
			scheme = "https://"
		}
		return r.Header.Get("Origin") != scheme+r.Host || site != "" && site != "same-origin"
	}
	ours := site == "" || site == "same-origin" || site == "none"
	return !ours && (r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document")
}

// admit returns a request with its session. If there is none, or if a form does not belong to it, it answers and
// returns nil.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) *request {
	who := s.gate.find(r)
	if who == nil && s.o.Access.Certificates && certified(r) {
		who = s.gate.certified()
		s.remember(w, who)
	}
	if who == nil {
		s.ask(w, "")
		return nil
	}
	if r.Method == http.MethodPost {
		if !s.parse(w, r) {
			return nil
		}
		if !same(who.csrf, r.PostForm.Get("csrf")) {
			s.refuse(w, http.StatusForbidden, "The form has expired", "The form belongs to another session. Open the "+
				"page again and repeat what you did.")
			return nil
		}
	}
	return &request{r, who}
}

// parse reads a form. If it cannot be read, it answers and returns false.
func (s *Server) parse(w http.ResponseWriter, r *http.Request) bool {
	if err := r.ParseForm(); err != nil {
		s.refuse(w, http.StatusBadRequest, "Invalid form", "The form cannot be read, or is larger than 16 KiB.")
		return false
	}
	return true
}

// certified reports whether the client has shown a certificate that was verified.
func certified(r *http.Request) bool { return r.TLS != nil && len(r.TLS.VerifiedChains) > 0 }

// follow opens a session for the link that was printed. Browsers that load links in advance do not use it up.
func (s *Server) follow(w http.ResponseWriter, r *http.Request) {
	if p := r.Header.Get("Sec-Purpose") + r.Header.Get("Purpose"); strings.Contains(p, "prefetch") ||
		strings.Contains(p, "prerender") {
		s.refuse(w, http.StatusForbidden, "Not opened in advance", "Open the link to begin a session.")
		return
	}
	if !s.o.Access.Once { // other tokens must not be in addresses
		s.ask(w, "")
		return
	}
	if s.gate.find(r) != nil { // the link was opened again, in the same browser
		http.Redirect(w, r, s.link("/"), http.StatusSeeOther)
		return
	}
	s.begin(w, r, r.URL.Query().Get("token"))
}

// login opens a session with a token from the form.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if s.parse(w, r) {
		s.begin(w, r, strings.TrimSpace(r.PostForm.Get("token")))
	}
}

func (s *Server) begin(w http.ResponseWriter, r *http.Request, token string) {
	who, busy := s.gate.enter(token)
	switch {
	case busy:
		s.refuse(w, http.StatusTooManyRequests, "Too many wrong tokens", "Wait a minute, and use the token that the "+
			"server has printed or that its administrator gave you.")
	case who == nil:
		s.ask(w, "This token is not valid. A link opens one session: the server has printed a new one since.")
	default:
		s.remember(w, who)
		http.Redirect(w, r, s.link("/"), http.StatusSeeOther)
	}
}

// remember sets the cookie of a session. Its path keeps it from servers on other ports of the same machine, which
// browsers would also send it to.
func (s *Server) remember(w http.ResponseWriter, who *session) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: who.id, Path: s.o.Prefix + "/", HttpOnly: true,
		Secure: s.o.Secure, SameSite: http.SameSiteStrictMode})
}

// by returns who acts in a session, for logs and records.
func (s *Server) by(r *request) string {
	if certified(r.Request) {
		if name := r.TLS.VerifiedChains[0][0].Subject.CommonName; name != "" {
			return view.CleanLine(name)
		}
	}
	return "a user of the page"
}
