// Package pages shows states, their history, saved plans, runs and drift as pages for a browser.
//
//	s := pages.New(pages.Options{Places: places, Access: pages.Access{Token: pages.NewToken()}, Host: host})
//	server := http.Server{Handler: s}
//	...
//	s.Stop() // ends the streams of open pages, so that server.Shutdown does not wait for them
//
// The package reads no files and opens no connections: its sources are interfaces (source.go), which the command serve
// implements. Who may read and who may act is decided in access.go, before any handler runs. Pages are trees of
// elements (html.go), so that no text becomes markup. They need no script for reading; with it, they show changes at
// once (watch.go). Nothing that a browser loads comes from another server.
//
// While somebody watches a page, one goroutine reads what it shows, however many watch it. The request of the first
// watcher starts it, and it ends with the last one or with Stop.
package pages

import (
	"bytes"
	"context"
	"embed"
	"net/http"
	"slices"
	"time"

	"github.com/tombolo-iac/tombolo/internal/view/report"
)

// Options configures a server.
type Options struct {
	// Title is the name of the program in sentences, and Version its version.
	Title, Version string
	// Prefix begins the paths of all pages. It is empty or begins with a slash and does not end with one.
	Prefix string
	Access Access
	// Host reports whether the server answers under a name, with its port. Secure means that it is reached over TLS.
	Host   func(host string) bool
	Secure bool
	// Allow has the rights that sessions can get.
	Allow []Right

	Places []Place
	// Plans, Runs and Drift may be nil: then their pages do not exist.
	Plans Plans
	Runs  Runs
	Drift Drift

	// Every is how often watched pages are read; 0 means three seconds.
	Every time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Server answers the requests for pages. It is an http.Handler.
type Server struct {
	o       Options
	gate    *gate
	handler http.Handler

	readings *cache[Reading]
	names    *cache[[]string]
	plans    *cache[*Plan]

	ctx     context.Context // ends with Stop
	cancel  context.CancelFunc
	watches watches
}

// New returns a server.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Every == 0 {
		o.Every = 3 * time.Second
	}
	s := &Server{o: o, gate: newGate(o.Access, o.Now), readings: newCache[Reading](o.Now),
		names: newCache[[]string](o.Now),
		plans: newCache[*Plan](o.Now)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.handler = s.recovering(s.protect(s.static(s.routes())))
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Stop ends the streams of all pages.
func (s *Server) Stop() { s.cancel() }

// Path returns the path of the first page, with a token if there is one.
func (s *Server) Path(token string) string { return s.link("/", "token", token) }

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	add := func(method, path string, show func(w http.ResponseWriter, r *request) error) {
		mux.HandleFunc(method+" "+s.o.Prefix+path, func(w http.ResponseWriter, r *http.Request) {
			if admitted := s.admit(w, r); admitted != nil {
				if err := show(w, admitted); err != nil {
					s.fail(w, admitted, err)
				}
			}
		})
	}
	mux.HandleFunc("GET "+s.o.Prefix+"/{$}", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Query().Has("token") {
			s.follow(w, r)
		} else if admitted := s.admit(w, r); admitted != nil {
			s.show(w, admitted, http.StatusOK, s.overview(admitted))
		}
	})
	mux.HandleFunc("POST "+s.o.Prefix+"/login", s.login)
	add("GET", "/state", s.state)
	add("GET", "/state/report", s.stateReport)
	add("GET", "/history", s.history)
	add("GET", "/history/state", s.former)
	add("GET", "/history/changes", s.changes)
	if s.o.Plans != nil {
		add("GET", "/plans", s.planList)
		add("GET", "/plan", s.plan)
		add("GET", "/plan/report", s.planReport)
	}
	if s.o.Runs != nil {
		add("GET", "/runs", s.runList)
		add("GET", "/run", s.run)
	}
	if s.o.Drift != nil {
		add("GET", "/drift", s.drift)
	}
	if len(s.o.Allow) > 0 {
		add("GET", "/rights", s.rights)
		add("POST", "/rights", s.getRights)
	}
	if s.allows(Approve) {
		add("POST", "/approve", s.approve)
	}
	if s.allows(Check) {
		add("POST", "/drift", s.check)
	}
	add("POST", "/logout", s.logout)
	add("GET", "/events", s.events)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if admitted := s.admit(w, r); admitted != nil {
			s.fail(w, admitted, missing("There is no such page. It may belong to a part that this server does not "+
				"have."))
		}
	})
	return mux
}

func (s *Server) allows(r Right) bool { return slices.Contains(s.o.Allow, r) }

//go:embed page
var files embed.FS

// file returns a file of the page.
func file(name string) []byte {
	b, err := files.ReadFile("page/" + name)
	if err != nil {
		panic("pages: a part of the page is missing: " + err.Error())
	}
	return b
}

// static serves the style and the script, which need no session: the page that asks for a token uses them, too.
func (s *Server) static(next http.Handler) http.Handler {
	style := append([]byte(report.Style()), file("pages.css")...)
	script := file("live.js")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			next.ServeHTTP(w, r)
		case r.URL.Path == s.o.Prefix+"/style.css":
			w.Header().Set("Content-Type", "text/css; charset=utf-8")
			_, _ = w.Write(style) // the client has gone
		case r.URL.Path == s.o.Prefix+"/live.js":
			w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
			_, _ = w.Write(script)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// recovering answers a request whose handler panics. The value of the panic is not shown: it could have a secret.
func (s *Server) recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if recover() != nil {
				s.refuse(w, http.StatusInternalServerError, "The page crashed", "This is a bug in "+s.o.Title+". "+
					"Nothing was changed by showing the page.")
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// page is a page with the frame that all have.
type page struct {
	title string
	// topic is what the page watches, see watch.go; "" means nothing.
	topic string
	body  list
}

// show writes a page.
func (s *Server) show(w http.ResponseWriter, r *request, status int, p page) {
	head := el("head", el("meta", attr{"charset", "utf-8"}),
		el("meta", attr{"name", "viewport"}, attr{"content", "width=device-width, initial-scale=1"}),
		el("meta", attr{"name", "color-scheme"}, attr{"content", "light dark"}),
		el("title", p.title+" - "+s.o.Title),
		el("link", attr{"rel", "stylesheet"}, attr{"href", s.link("/style.css")}))
	main := el("main", attr{"id", "main"}, el("h1", p.title), p.body)
	body := el("body", el("a", class("skip"), attr{"href", "#main"}, "Skip to the content"))
	if r != nil {
		body.content = append(body.content, s.top(r))
	}
	body.content = append(body.content, main)
	if p.topic != "" {
		body.attrs = append(body.attrs, attr{"data-events", s.o.Prefix + "/events?" + p.topic},
			attr{"data-print", s.print(r.Context(), p.topic)})
		body.content = append(body.content, el("p", class("live"), attr{"id", "live"}, attr{"role", "status"}))
		head.content = append(head.content, el("script", attr{"src", s.link("/live.js")}, attr{"defer", ""}))
	}
	var b bytes.Buffer
	b.WriteString("<!doctype html>\n")
	el("html", attr{"lang", "en"}, head, body).write(&b)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // an error means that the client has gone
}

// top returns the navigation.
func (s *Server) top(r *request) node {
	items := el("ul")
	add := func(path, name string) {
		a := el("a", attr{"href", s.link(path)}, name)
		if r.URL.Path == s.o.Prefix+path {
			a.attrs = append(a.attrs, attr{"aria-current", "page"})
		}
		items.content = append(items.content, el("li", a))
	}
	add("/", "States")
	if s.o.Plans != nil {
		add("/plans", "Plans")
	}
	if s.o.Runs != nil {
		add("/runs", "Runs")
	}
	if s.o.Drift != nil {
		add("/drift", "Drift")
	}
	if len(s.o.Allow) > 0 {
		add("/rights", "Rights")
	}
	return el("header", class("top"), el("div", class("bar"), el("p", class("mark"), s.o.Title+" "+s.o.Version),
		s.form(r, "/logout", el("button", class("link"), "End the session"))),
		el("nav", attr{"aria-label", "Pages"}, items))
}

// form returns a form that has effects.
func (s *Server) form(r *request, path string, parts ...any) *element {
	all := []any{attr{"method", "post"}, attr{"action", s.link(path)},
		el("input", attr{"type", "hidden"}, attr{"name", "csrf"}, attr{"value", r.who.csrf})}
	return el("form", append(all, parts...)...)
}

func hidden(name, value string) node {
	return el("input", attr{"type", "hidden"}, attr{"name", name}, attr{"value", value})
}

// ask shows the form for a token.
func (s *Server) ask(w http.ResponseWriter, problem string) {
	status := http.StatusUnauthorized
	body := list{}
	if problem != "" {
		status = http.StatusForbidden
		body = append(body, note("error", el("p", problem)))
	}
	body = append(body, el("form", class("ask"), attr{"method", "post"}, attr{"action", s.link("/login")},
		el("label", attr{"for", "token"}, "Token"), el("input", attr{"id", "token"}, attr{"name", "token"},
			attr{"type", "password"}, attr{"autocomplete", "off"}, attr{"required", ""}), el("button", "Open")),
		el("p", class("intro"), "The server has printed a link with a token when it started, or its administrator has "+
			"one. If this browser has a session, ", anchor(s.link("/"), "open the page again"), "."))
	s.show(w, nil, status, page{title: "A token is needed", body: body})
}

// refuse answers with a problem, outside of a session.
func (s *Server) refuse(w http.ResponseWriter, status int, title, detail string) {
	s.show(w, nil, status, page{title: title, body: list{el("p", detail)}})
}
