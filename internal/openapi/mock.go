package openapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Mock is a server of the API of a document, based on the document alone. It keeps the objects of entities in memory,
// returns responses that match the schemas, and refuses invalid requests with status 400 and a message. It does not use
// manifests.
//
// Other operations return values generated from their schemas. If the document describes pages, a page has two objects.
// Each collection initially has one object, with the ids that Sample returns.
type Mock struct {
	doc    *Document
	routes []*route

	mu      sync.Mutex
	objects map[string]*kept
	gone    map[string]bool
	next    int
}

// kept is a stored object.
type kept struct {
	entity *Entity
	params map[string]string // of its path
	values map[string]any    // sent by clients
	chosen map[string]any    // chosen by the server
	// settled means that the server has chosen them.
	settled bool
}

// route is an operation with its purpose.
type route struct {
	op     *Operation
	path   *regexp.Regexp
	fixed  int     // the length of the path without its parameters
	entity *Entity // nil if there is none
	does   string
}

// NewMock returns the mock of a document.
func NewMock(d *Document) *Mock {
	m := &Mock{doc: d, objects: map[string]*kept{}, gone: map[string]bool{}}
	list, _ := d.entities(&Provider{Notes: map[string][]string{}})
	for _, op := range d.Operations {
		r := &route{op: op, path: pathForm(op.Path), fixed: len(stripped(op.Path))}
		for _, e := range list {
			for does, of := range e.All() {
				if of == op && (r.entity == nil || does != "update") {
					r.entity, r.does = e, does
				}
			}
		}
		m.routes = append(m.routes, r)
	}
	return m
}

func pathForm(path string) *regexp.Regexp {
	var out strings.Builder
	for _, name := range placeholders(path) {
		before, after, _ := strings.Cut(path, "{"+name+"}")
		out.WriteString(regexp.QuoteMeta(before) + "([^/]+)")
		path = after
	}
	return regexp.MustCompile("^" + out.String() + regexp.QuoteMeta(path) + "$")
}

// refusal is an error response.
type refusal struct {
	status int
	says   string
}

//go:noinline
func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

const maxRequest = 4 << 20

// ServeHTTP implements http.Handler.
func (m *Mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	if err != nil {
		return
	}
	status, headers, answer := m.serve(r, body)
	w.Header().Set("Content-Type", "application/json")
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	if answer != nil && status != http.StatusNoContent {
		_, _ = io.WriteString(w, compact(answer)) // the client may be gone
	}
}

func (m *Mock) serve(r *http.Request, body []byte) (status int, headers map[string]string, answer any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	route, params, no := m.find(r)
	if no == nil && route == nil { // the token address
		return http.StatusOK, nil, map[string]any{"access_token": "token", "token_type": "bearer"}
	}
	if no == nil {
		status, headers, answer, no = m.perform(route, params, r, body)
	}
	if no != nil {
		failure := map[string]any{"message": no.says}
		if route != nil && route.op.Error != nil {
			if made, ok := seeded("error").value(route.op.Error).(map[string]any); ok {
				fill(made, failure)
				if inner, ok := made["error"].(map[string]any); ok {
					inner["message"] = no.says
				}
				failure = made
			}
		}
		return no.status, nil, failure
	}
	return status, headers, answer
}

// find returns the operation and the path parameters of a request. The operation is nil for a token request.
func (m *Mock) find(r *http.Request) (*route, map[string]string, *refusal) {
	var best *route
	var found []string
	known := false
	for _, one := range m.routes {
		values := one.path.FindStringSubmatch(r.URL.EscapedPath())
		if values == nil {
			continue
		}
		if known = true; one.op.Method == r.Method && (best == nil || one.fixed > best.fixed) {
			best, found = one, values
		}
	}
	switch {
	case best == nil && !known && r.Method == http.MethodPost && r.URL.Path == TokenPath:
		return nil, nil, nil
	case best == nil && known:
		return nil, nil, refuse(http.StatusMethodNotAllowed, "the document has no %s of this path", r.Method)
	case best == nil:
		return nil, nil, refuse(http.StatusNotFound, "the document has no path %s", r.URL.Path)
	}
	params := map[string]string{}
	for i, name := range placeholders(best.op.Path) {
		value, err := url.PathUnescape(found[i+1])
		if err != nil {
			return best, nil, refuse(http.StatusBadRequest, "the path cannot be read")
		}
		if why := checkText(best.op.param("path", name).Schema, value); why != "" {
			return best, nil, refuse(http.StatusBadRequest, "the parameter %s of the path: %s", name, why)
		}
		params[name] = value
	}
	return best, params, nil
}

// TokenPath is the path for OAuth token requests.
const TokenPath = "/oauth-token"

// checkText returns why a string is not a value of a schema, or "".
func checkText(s *Schema, value string) string {
	v, why := fromText(s, value)
	if why != "" {
		return why
	}
	return s.check(v, true, "the value", 0)
}

// fromText returns the value of a string in a path, a query or a form.
func fromText(s *Schema, value string) (any, string) {
	switch s.Type {
	case "integer", "number":
		if n := number(json.Number(value)); n == nil {
			return nil, "a number was expected"
		}
		return json.Number(value), ""
	case "boolean":
		if value != "true" && value != "false" {
			return nil, "true or false was expected"
		}
		return value == "true", ""
	}
	return value, ""
}

// perform executes an operation whose request is valid.
func (m *Mock) perform(r *route, params map[string]string, req *http.Request, body []byte) (int, map[string]string, any,
	*refusal) {
	if no := m.allowed(r.op, req); no != nil {
		return 0, nil, nil, no
	}
	if no := m.parameters(r.op, req); no != nil {
		return 0, nil, nil, no
	}
	given, no := m.body(r.op, req, body)
	if no != nil {
		return 0, nil, nil, no
	}
	status := http.StatusOK
	if a := r.op.Answer; a != nil {
		if n, err := strconv.Atoi(a.Status); err == nil {
			status = n
		} else if a.Content == "" {
			status = http.StatusNoContent
		}
	}
	answer, headers, no := m.act(r, params, req, given)
	return status, headers, answer, no
}

// allowed checks the credentials, as far as the document describes them.
func (m *Mock) allowed(op *Operation, r *http.Request) *refusal {
	if len(op.Security) == 0 {
		return nil
	}
	for _, one := range op.Security {
		fits := true
		for name := range one {
			s := m.doc.schemes[name]
			auth := r.Header.Get("Authorization")
			scheme := strings.ToLower(text(s["scheme"]))
			switch text(s["type"]) {
			case "http":
				fits = fits && len(auth) > len(scheme) && strings.EqualFold(auth[:len(scheme)], scheme)
			case "oauth2", "openIdConnect":
				fits = fits && strings.HasPrefix(auth, "Bearer ")
			case "apiKey":
				fits = fits && (text(s["in"]) != "header" || r.Header.Get(text(s["name"])) != "")
			}
		}
		if fits {
			return nil
		}
	}
	return refuse(http.StatusUnauthorized, "the request does not say who asks")
}

// parameters checks the query and the headers.
func (m *Mock) parameters(op *Operation, r *http.Request) *refusal {
	query := r.URL.Query()
	for name := range query {
		if op.param("query", name) == nil && op.param("query", name+"[]") == nil {
			return refuse(http.StatusBadRequest, "the document has no parameter %s of the query", name)
		}
	}
	for _, p := range op.Params {
		var values []string
		switch p.In {
		case "query":
			values = query[p.Name]
		case "header":
			values = r.Header.Values(p.Name)
		default:
			continue
		}
		if len(values) == 0 && p.Required && !contains([]string{"accept", "content-type", "authorization"},
			strings.ToLower(p.Name)) {
			return refuse(http.StatusBadRequest, "the parameter %s is missing", p.Name)
		}
		s := p.Schema
		if s.Type == "array" && s.Items() != nil {
			s = s.Items()
		}
		for _, value := range values {
			if why := checkText(s, value); why != "" && scalars[s.Type] != "" {
				return refuse(http.StatusBadRequest, "the parameter %s: %s", p.Name, why)
			}
		}
	}
	return nil
}

// body reads and checks the body.
func (m *Mock) body(op *Operation, r *http.Request, body []byte) (any, *refusal) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch {
	case len(body) == 0 && (op.Body == nil || !op.Body.Required && op.Method != http.MethodPut):
		return nil, nil
	case op.Body == nil:
		return nil, refuse(http.StatusBadRequest, "the document has no body here")
	case op.Body.Kind == "form":
		return m.form(op.Body.Schema, body)
	case op.Body.Content != "*/*" && kind != strings.TrimSpace(strings.Split(op.Body.Content, ";")[0]):
		return nil, refuse(http.StatusUnsupportedMediaType, "the body is %s, not %s", kind, op.Body.Content)
	}
	v, err := decodeBody(body)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the body is not JSON: %s", err)
	}
	if why := op.Body.Schema.check(v, true, "", 0); why != "" {
		return nil, refuse(http.StatusBadRequest, "%s", why)
	}
	return v, nil
}

func (m *Mock) form(s *Schema, body []byte) (any, *refusal) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the body is not a form")
	}
	out := map[string]any{}
	for name, values := range form {
		member := s.Member(name)
		if member == nil {
			return nil, refuse(http.StatusBadRequest, "the document has no field %s", name)
		}
		list := []any{}
		of := member
		if member.Type == "array" && member.Items() != nil {
			of = member.Items()
		}
		for _, value := range values {
			v, why := fromText(of, value)
			if why != "" {
				return nil, refuse(http.StatusBadRequest, "%s: %s", name, why)
			}
			list = append(list, v)
		}
		if out[name] = list[0]; member.Type == "array" {
			out[name] = list
		}
	}
	if why := s.check(out, true, "", 0); why != "" {
		return nil, refuse(http.StatusBadRequest, "%s", why)
	}
	return out, nil
}
