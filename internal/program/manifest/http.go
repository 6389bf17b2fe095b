package manifest

import (
	"net/http"
	"slices"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/provider"
)

// HTTP describes how the host itself performs the calls of a provider as HTTP requests. Such a provider has no program.
type HTTP struct {
	URL     *Template
	Headers *Template // nil if there are none
	Auth    Auth
	TLS     map[string]*Template // ca, certificate, key
	// Env lists the environment variables that the templates read.
	Env     []string
	Timeout time.Duration // of one request
	MaxBody int64
	Retry   Repeats
	// Message is the text of an error response; nil means its body.
	Message *Template
}

// Auth describes how a provider authenticates: at most one of the fields is set.
type Auth struct {
	Username, Password *Template
	Bearer             *Template
	Headers            *Template
	OAuth              *OAuth
	Login              *Login
}

// OAuth requests tokens with the credentials of a client.
type OAuth struct {
	URL, ID, Secret *Template
	Scopes          *Template // nil if there are none
	Parameters      *Template // additional parameters of the request; nil if there are none
	InBody          bool      // send the credentials in the body instead of the header
}

// Login is a request whose response contains a token.
type Login struct {
	Request *Operation
	Token   *Template
	Expires *Template // seconds; nil means until the server refuses the token
	Headers *Template // of the requests with the token
}

// Repeats describes how requests are retried.
type Repeats struct {
	Attempts        int
	Statuses        []int
	Delay, MaxDelay time.Duration
}

// Operation describes a request and the meaning of its response.
type Operation struct {
	Method               string
	Path                 *Template // nil means that no request is sent
	Query, Headers, Body *Template // nil means none, or the fields of the object
	Encoding             string    // json, form or text
	Success              []int     // nil means 200 to 299
	Gone                 []int     // statuses that mean that the object does not exist
	Refused              []int     // statuses after which nothing was created, in addition to the usual ones
	Idempotent           bool
	Timeout              time.Duration
	Lock                 *Template // name of a lock that only one request may hold at a time
	Wait                 *Wait
	ReadBack             bool
	Pages                *Pages

	Object, Private *Template
	State           map[string]*Template

	Identity    *Template // for lists
	DisplayName *Template
	Complete    bool      // an item of the list contains the entire object
	Result      *Template // for functions
	// HasBody means that the manifest defines the body.
	HasBody bool
}

// Wait repeats a request until a condition is true.
type Wait struct {
	Request           *Operation // nil means the operation read
	Until, Fail       *Template
	Interval, Timeout time.Duration
}

// Pages describes how the further pages of a response are found.
type Pages struct {
	Items *Template
	// Next is the address of the next page, null at the end. Link means that it is in the header Link.
	Next *Template
	Link bool
	// Token is the value of the query parameter Parameter for the next page, null at the end.
	Token     *Template
	Parameter string
	// Number counts pages, and Offset items, in the query parameter, from First on.
	Number, Offset bool
	First          int
	Most           int
}

// API holds the requests of a type of a provider without a program.
type API struct {
	Object *Template
	State  map[string]*Template
	// Operations maps the actions of the protocol to requests.
	Operations map[string]*Operation
}

// Field describes how an attribute is sent and received.
type Field struct {
	Name string // name in bodies; "" means that of the attribute
	// AtCreation means that the value is only sent when the object is created, and NotSent that it is never sent.
	AtCreation, NotSent bool
	// NotRead means that responses do not change the value.
	NotRead bool
	// CompareAll means that parts which the server adds to the configured value count as changes.
	CompareAll bool
}

const (
	usualTimeout = 30 * time.Second
	usualBody    = 16 << 20
	maxBody      = 64 << 20
	maxPages     = 1000
)

func usualRepeats() Repeats {
	return Repeats{Attempts: 4, Statuses: []int{429, 502, 503, 504}, Delay: time.Second, MaxDelay: time.Minute}
}

// http decodes the member of the manifest. Templates are checked when the types are known.
func (r *reader) http(v *node) *HTTP {
	h := &HTTP{Timeout: usualTimeout, MaxBody: usualBody, Retry: usualRepeats()}
	var limit int
	r.object(v, `"http"`, fields{
		"url":     r.templateOf(&h.URL, asText, inRequests),
		"headers": r.templateOf(&h.Headers, asAny, inRequests),
		"auth":    func(v *node) { r.auth(v, &h.Auth) },
		"tls": func(v *node) {
			h.TLS = map[string]*Template{}
			r.object(v, "The member tls", fields{"ca": r.named(h.TLS, "ca"),
				"certificate": r.named(h.TLS, "certificate"), "key": r.named(h.TLS, "key")})
			if (h.TLS["certificate"] == nil) != (h.TLS["key"] == nil) {
				r.errorf(v, `A certificate needs its key: set both "certificate" and "key".`)
			}
		},
		"timeout": func(v *node) { h.Timeout = r.duration(v, "The timeout") },
		"max_body": func(v *node) {
			if r.count(&limit)(v); limit < 1 || limit > maxBody {
				r.errorf(v, "The limit of an answer must be between 1 and %d bytes.", maxBody)
			}
			h.MaxBody = int64(limit)
		},
		"retry":         func(v *node) { r.repeats(v, &h.Retry) },
		"error_message": r.templateOf(&h.Message, asAny, inAnswers),
	})
	if v.Kind == strictjson.Object && v.Get("url") == nil {
		r.errorf(v, `"http" needs a "url", the address that all paths are added to, such as "${provider.url}".`)
	}
	return h
}

// named decodes a template into a map.
func (r *reader) named(to map[string]*Template, name string) func(*node) {
	return func(v *node) {
		var t *Template
		r.templateOf(&t, asText, inRequests)(v)
		to[name] = t
	}
}

func (r *reader) repeats(v *node, to *Repeats) {
	r.object(v, "The retry", fields{
		"attempts": func(v *node) {
			if r.count(&to.Attempts)(v); to.Attempts < 1 || to.Attempts > 100 {
				r.errorf(v, "The number of attempts must be between 1 and 100; this includes the first.")
			}
		},
		"statuses":  func(v *node) { to.Statuses = r.statuses(v) },
		"delay":     func(v *node) { to.Delay = r.duration(v, "The delay") },
		"max_delay": func(v *node) { to.MaxDelay = r.duration(v, "The longest delay") },
	})
}

func (r *reader) statuses(v *node) []int {
	list := []int{}
	if v.Kind != strictjson.Array {
		r.errorf(v, "Expected a list of HTTP statuses here, such as [200, 201].")
		return list
	}
	for _, item := range v.Items {
		n := 0
		if r.count(&n)(item); n < 200 || n > 599 {
			r.errorf(item, "Expected an HTTP status here, between 200 and 599.")
		}
		list = append(list, n)
	}
	return list
}

// ways are the methods of authentication.
var ways = []string{"basic", "bearer", "header", "login", "oauth"}

func (r *reader) auth(v *node, to *Auth) {
	r.object(v, `"auth"`, fields{
		"basic": func(v *node) {
			r.object(v, "basic", fields{"username": r.templateOf(&to.Username, asText, inRequests),
				"password": r.templateOf(&to.Password, asText, inRequests)})
			r.needs(v, "username", "password")
		},
		"bearer": r.templateOf(&to.Bearer, asText, inRequests),
		"header": r.templateOf(&to.Headers, asAny, inRequests),
		"oauth": func(v *node) {
			o, in := &OAuth{}, "header"
			to.OAuth = o
			r.object(v, "oauth", fields{
				"token_url": r.templateOf(&o.URL, asText, inRequests), "client_id": r.templateOf(&o.ID, asText,
					inRequests), "client_secret": r.templateOf(&o.Secret, asText, inRequests),
				"scopes": r.templateOf(&o.Scopes, asAny, inRequests), "parameters": r.templateOf(&o.Parameters, asAny,
					inRequests),
				"credentials": func(v *node) {
					in, _ = r.oneOf(v, "The place of the credentials", []string{"header", "body"})
				},
			})
			o.InBody = in == "body"
			r.needs(v, "token_url", "client_id", "client_secret")
		},
		"login": func(v *node) { to.Login = r.login(v) },
	})
	if v.Kind == strictjson.Object && len(v.Members) != 1 {
		r.errorf(v, `"auth" must have one member: %s. Without "auth", nothing is sent.`, quotedList(ways))
	}
}

func (r *reader) login(v *node) *Login {
	l := &Login{Request: &Operation{Method: http.MethodPost, Encoding: "json"}}
	known := r.requestFields(l.Request, inRequests)
	known["token"] = r.templateOf(&l.Token, asText, inAnswers)
	known["expires_in"] = r.templateOf(&l.Expires, asAny, inAnswers)
	known["header"] = r.templateOf(&l.Headers, asAny, inTokens)
	r.object(v, "login", known)
	r.needs(v, "path", "token")
	return l
}

// needs reports missing members of an object.
func (r *reader) needs(v *node, names ...string) {
	for _, name := range names {
		if v.Kind == strictjson.Object && v.Get(name) == nil {
			r.errorf(v, "The member %q is missing here.", name)
		}
	}
}

// requestFields returns the members of a request.
func (r *reader) requestFields(o *Operation, in scope) fields {
	return fields{
		"method": func(v *node) {
			o.Method, _ = r.oneOf(v, "The method", []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
		},
		"path":    r.templateOf(&o.Path, asText, in),
		"query":   r.templateOf(&o.Query, asAny, in),
		"headers": r.templateOf(&o.Headers, asAny, in),
		"body": func(v *node) {
			o.HasBody = true
			r.templateOf(&o.Body, asAny, in)(v)
		},
		"encoding": func(v *node) { o.Encoding, _ = r.oneOf(v, "The encoding", []string{"json", "form", "text"}) },
		"success":  func(v *node) { o.Success = r.statuses(v) },
		"timeout":  func(v *node) { o.Timeout = r.duration(v, "The timeout") },
	}
}

// usualMethods maps actions to their default HTTP methods.
var usualMethods = map[string]string{"create": http.MethodPost, "update": http.MethodPut, "delete": http.MethodDelete,
	"invoke": http.MethodPost, "open": http.MethodPost, "close": http.MethodPost}

// operation decodes the request for an action of the protocol.
func (r *reader) operation(v *node, action string, of subject) *Operation {
	o := &Operation{Method: usualMethods[action], Encoding: "json"}
	if o.Method == "" {
		o.Method = http.MethodGet
	}
	if action == "read" || action == "delete" || action == "import" {
		o.Gone = []int{http.StatusNotFound, http.StatusGone}
	}
	asked, answered := of.scope(action, false), of.scope(action, true)
	known := r.requestFields(o, asked)
	known["idempotent"] = r.flag(&o.Idempotent)
	known["lock"] = r.templateOf(&o.Lock, asText, asked)
	known["pages"] = func(v *node) { o.Pages = r.pages(v, answered) }
	switch action {
	case "read", "delete", "import":
		known["gone"] = func(v *node) { o.Gone = r.statuses(v) }
	case "create", "update":
		known["read_back"] = r.flag(&o.ReadBack)
		if action == "create" {
			known["refused"] = func(v *node) { o.Refused = r.statuses(v) }
		}
	case "list":
		known["identity"] = r.templateOf(&o.Identity, asAny, of.items())
		known["display_name"] = r.templateOf(&o.DisplayName, asText, of.items())
		known["complete"] = r.flag(&o.Complete)
		known["object"] = r.templateOf(&o.Object, asAny, of.items())
	case "call":
		known["result"] = r.templateOf(&o.Result, asAny, answered)
	}
	if slices.Contains([]string{"create", "read", "update", "import", "data", "open"}, action) {
		known["object"] = r.templateOf(&o.Object, asAny, answered)
		known["state"] = func(v *node) { o.State = r.state(v, of.block, answered) }
		known["private"] = r.templateOf(&o.Private, asAny, answered)
	}
	if slices.Contains([]string{"create", "update", "delete", "invoke"}, action) {
		known["wait"] = func(v *node) { o.Wait = r.wait(v, action, of) }
	}
	r.object(v, "The request for "+action, known)
	if action != "import" {
		r.needs(v, "path")
	}
	if action == "list" {
		r.needs(v, "pages", "identity")
	}
	return o
}

// state decodes the attributes whose values are not members of the object under their own names.
func (r *reader) state(v *node, b *provider.Block, in scope) map[string]*Template {
	out := map[string]*Template{}
	r.each(v, "The state", func(name string, at int, v *node) {
		if b.Attributes[name] == nil && b.Blocks[name] == nil {
			r.errorAt(at, "There is no attribute %q in this type.%s", name, nearestAttribute(name, b))
			return
		}
		var t *Template
		r.templateOf(&t, asAny, in)(v)
		out[name] = t
	})
	return out
}

func (r *reader) wait(v *node, action string, of subject) *Wait {
	w := &Wait{Interval: 2 * time.Second, Timeout: 10 * time.Minute}
	o := &Operation{Method: http.MethodGet, Encoding: "json"}
	known := r.requestFields(o, of.scope(action, true))
	delete(known, "success")
	known["until"] = r.templateOf(&w.Until, asCondition, of.scope(action, true))
	known["fail"] = r.templateOf(&w.Fail, asCondition, of.scope(action, true))
	known["interval"] = func(v *node) { w.Interval = r.duration(v, "The interval") }
	known["for"] = func(v *node) { w.Timeout = r.duration(v, "The time") }
	if r.object(v, "The wait", known) && v.Get("path") != nil {
		w.Request = o
	}
	r.needs(v, "until")
	return w
}

func (r *reader) pages(v *node, in scope) *Pages {
	p := &Pages{Most: 100}
	r.object(v, "The pages", fields{
		"items": r.templateOf(&p.Items, asAny, in),
		"next":  r.templateOf(&p.Next, asText, in),
		"link":  r.flag(&p.Link),
		"token": r.templateOf(&p.Token, asText, in),
		"by": func(v *node) {
			by, _ := r.oneOf(v, "What the parameter counts", []string{"page", "offset"})
			p.Number, p.Offset = by == "page", by == "offset"
		},
		"parameter": r.text(&p.Parameter),
		"first":     r.count(&p.First),
		"most": func(v *node) {
			if r.count(&p.Most)(v); p.Most < 1 || p.Most > maxPages {
				r.errorf(v, "The number of pages must be between 1 and %d.", maxPages)
			}
		},
	})
	r.needs(v, "items")
	ways := 0
	for _, given := range []bool{p.Next != nil, p.Link, p.Token != nil, p.Number, p.Offset} {
		if given {
			ways++
		}
	}
	counted := p.Token != nil || p.Number || p.Offset
	switch {
	case v.Kind != strictjson.Object:
	case ways > 1:
		r.errorf(v, `Set only one of "next", "link", "token" and "by" to find the next page.`)
	case counted && p.Parameter == "":
		r.errorf(v, `The "parameter" is missing: the name of the query parameter for the next page.`)
	case !counted && p.Parameter != "":
		r.errorf(at(v, "parameter"), `The parameter has no effect without "token" or "by".`)
	case p.Number && v.Get("first") == nil:
		p.First = 1
	}
	return p
}

// field decodes how an attribute is sent and received.
func (r *reader) field(v *node, w *Words) {
	w.Field = &Field{}
	r.object(v, "The member http of an attribute", fields{
		"name": r.text(&w.Field.Name),
		"send": func(v *node) {
			when, _ := r.oneOf(v, "When to send the value", []string{"always", "create", "never"})
			w.Field.AtCreation, w.Field.NotSent = when == "create", when == "never"
		},
		"read": func(v *node) {
			var read bool
			r.flag(&read)(v)
			w.Field.NotRead = !read
		},
		"compare": func(v *node) {
			what, _ := r.oneOf(v, "What to compare", []string{"configured", "all"})
			w.Field.CompareAll = what == "all"
		},
	})
	if w.Field.AtCreation && v.Get("read") == nil {
		w.Field.NotRead = true
	}
}
