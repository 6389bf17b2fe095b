// Package hcptest is a small in-memory server of the API of HCP Terraform for tests: organizations, projects,
// workspaces with tags, locks of users, and state versions with their uploads, as its public documentation describes
// them. To other requests it responds with 404, and it records them.
package hcptest

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Server is a host with one organization. Its zero value has no users and therefore rejects all requests.
type Server struct {
	// Organization is the name of the organization.
	Organization string
	// Users maps tokens to the names of users.
	Users map[string]string
	// Projects lists the names of projects. There is always a Default Project.
	Projects []string
	// Mode is the execution mode of workspaces that are created without one; "" means "remote".
	Mode string
	// Objects is the address of another host for the contents of states, or "".
	Objects string
	// Inline disables uploads, as on old and some other servers: states are sent in the request.
	Inline bool
	// Forgetful omits the reasons of locks in responses, as some other servers do.
	Forgetful bool
	// Plain omits the holders of locks.
	Plain bool
	// Page is the maximum number of workspaces on a page; 0 means 20.
	Page int

	mu         sync.Mutex // guards the fields below; held while a request is served
	next       int
	workspaces map[string]*workspace // by id
	objects    map[string]*object    // by key
	seen       []string
	foreign    []string // requests with a token that must not have one
}

// workspace is a workspace with its state versions, oldest first.
type workspace struct {
	id, name, mode, project, description string
	tags                                 map[string]string
	locked                               bool
	by, reason                           string
	versions                             []*version
}

type version struct {
	id, lineage, md5, status   string
	serial                     int64
	outputs                    map[string]any
	raw, plain                 *object // contents: the state, and the output of "show -json"
	uploadedRaw, uploadedPlain bool
}

// object is content at an unguessable key.
type object struct {
	key  string
	data []byte
	of   *workspace
	v    *version
	raw  bool
}

// Seen returns the requests so far: method and path with query.
func (s *Server) Seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Foreign returns the requests with a token that must not have one.
func (s *Server) Foreign() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.foreign)
}

// Names returns the names of all workspaces.
func (s *Server) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, w := range s.workspaces {
		names = append(names, w.name)
	}
	slices.Sort(names)
	return names
}

// State returns the current state of a workspace, and the number of its state versions.
func (s *Server) State(name string) (data []byte, versions int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.named(name)
	if w == nil {
		return nil, 0
	}
	if v := w.current(); v != nil {
		data = v.raw.data
	}
	return data, len(w.versions)
}

// Outputs returns the outputs that were sent with the current state version.
func (s *Server) Outputs(name string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.named(name); w != nil && w.current() != nil {
		return w.current().outputs
	}
	return nil
}

// Shown returns the document that displays the current state version, or nil if none was sent.
func (s *Server) Shown(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.named(name); w != nil && w.current() != nil {
		return w.current().plain.data
	}
	return nil
}

// Tags returns the tags of a workspace.
func (s *Server) Tags(name string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.named(name); w != nil {
		return maps.Clone(w.tags)
	}
	return nil
}

// Holder returns the user who holds the lock of a workspace, and the reason, or "" if it is free.
func (s *Server) Holder(name string) (user, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.named(name); w != nil && w.locked {
		return w.by, w.reason
	}
	return "", ""
}

// SetMode changes the execution mode of a workspace.
func (s *Server) SetMode(name, mode string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.named(name); w != nil {
		w.mode = mode
	}
}

// ModeOf returns the execution mode of a workspace.
func (s *Server) ModeOf(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.named(name); w != nil {
		return w.mode
	}
	return ""
}

// Lock locks a workspace for a user.
func (s *Server) Lock(name, user, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.named(name); w != nil {
		w.locked, w.by, w.reason = true, user, reason
	}
}

// Unlock frees the lock of a workspace.
func (s *Server) Unlock(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.named(name); w != nil {
		w.locked, w.by, w.reason = false, "", ""
	}
}

// Make creates a workspace with tags.
func (s *Server) Make(name string, tags map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.make(name).tags = tags
}

func (s *Server) make(name string) *workspace {
	if s.workspaces == nil {
		s.workspaces = map[string]*workspace{}
	}
	mode := s.Mode
	if mode == "" {
		mode = "remote"
	}
	w := &workspace{id: s.id("ws"), name: name, mode: mode, tags: map[string]string{}, project: projectID(-1)}
	s.workspaces[w.id] = w
	return w
}

// id returns a new identifier in the format of the service.
func (s *Server) id(kind string) string {
	s.next++
	sum := md5.Sum([]byte(kind + strconv.Itoa(s.next)))
	return kind + "-" + hex.EncodeToString(sum[:])[:16]
}

func (s *Server) named(name string) *workspace {
	for _, w := range s.workspaces {
		if w.name == name {
			return w
		}
	}
	return nil
}

// current returns the newest state version with content.
func (w *workspace) current() *version {
	for _, v := range slices.Backward(w.versions) {
		if v.status == "finalized" {
			return v
		}
	}
	return nil
}

// call is a request being served.
type call struct {
	s    *Server
	w    http.ResponseWriter
	r    *http.Request
	user string
	body []byte
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r.Method+" "+r.URL.RequestURI())
	c := &call{s: s, w: w, r: r, body: body}
	if key, ok := strings.CutPrefix(r.URL.Path, "/_archivist/v1/object/"); ok {
		c.content(key)
		return
	}
	if r.URL.Path == "/.well-known/terraform.json" {
		if r.Header.Get("Authorization") != "" && s.Users[bearer(r)] == "" {
			s.foreign = append(s.foreign, r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"tfe.v2":"/api/v2/","tfe.v2.1":"/api/v2/","tfe.v2.2":"/api/v2/",`+
			`"state.v2":"/api/v2/"}`)
		return
	}
	w.Header().Set("Content-Type", "application/vnd.api+json")
	w.Header().Set("TFP-API-Version", "2.6")
	w.Header().Set("TFP-AppName", "HCP Terraform")
	path, ok := strings.CutPrefix(r.URL.Path, "/api/v2/")
	if !ok {
		c.fail(http.StatusNotFound, "not found", "")
		return
	}
	if path == "ping" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if c.user = s.Users[bearer(r)]; c.user == "" {
		c.fail(http.StatusUnauthorized, "unauthorized", "")
		return
	}
	c.route(strings.Split(path, "/"))
}

func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// fail responds with an error object.
func (c *call) fail(code int, title, detail string) {
	c.w.WriteHeader(code)
	e := map[string]any{"status": strconv.Itoa(code), "title": title}
	if detail != "" {
		e["detail"] = detail
	}
	_ = json.NewEncoder(c.w).Encode(map[string]any{"errors": []any{e}})
}

// say responds with a document.
func (c *call) say(code int, document map[string]any) {
	c.w.WriteHeader(code)
	_ = json.NewEncoder(c.w).Encode(document)
}

// fits reports whether the request matches a pattern: a method and parts of a path, where "*" matches any part.
func (c *call) fits(parts []string, p ...string) bool {
	if c.r.Method != p[0] || len(parts) != len(p)-1 {
		return false
	}
	for i, part := range p[1:] {
		if part != "*" && part != parts[i] {
			return false
		}
	}
	return true
}

// route serves a path.
func (c *call) route(parts []string) {
	if parts[0] == "organizations" && (len(parts) < 2 || parts[1] != c.s.Organization) {
		c.fail(http.StatusNotFound, "not found", "")
		return
	}
	var at *workspace
	switch {
	case parts[0] == "workspaces" && len(parts) > 1:
		at = c.s.workspaces[parts[1]]
	case len(parts) > 3 && parts[2] == "workspaces":
		at = c.s.named(parts[3])
	}
	is := func(p ...string) bool { return c.fits(parts, p...) }
	switch {
	case is("GET", "organizations", "*"):
		c.say(200, map[string]any{"data": map[string]any{"id": parts[1], "type": "organizations",
			"attributes": map[string]any{"name": parts[1], "default-execution-mode": "remote"}}})
	case is("GET", "account", "details"):
		c.say(200, map[string]any{"data": map[string]any{"id": "user-" + c.user, "type": "users",
			"attributes": map[string]any{"username": c.user}}})
	case is("GET", "organizations", "*", "entitlement-set"):
		c.say(200, map[string]any{"data": map[string]any{"id": "org-1", "type": "entitlement-sets",
			"attributes": map[string]any{"operations": true, "state-storage": true}}})
	case is("GET", "organizations", "*", "projects"):
		c.projects()
	case is("GET", "organizations", "*", "workspaces"):
		c.list()
	case is("POST", "organizations", "*", "workspaces"):
		c.create()
	case is("GET", "state-versions", "*"):
		c.showVersion(parts[1])
	case at == nil:
		c.fail(http.StatusNotFound, "not found", "")
	default:
		c.routeIn(at, parts)
	}
}

// routeIn serves a path that names a workspace.
func (c *call) routeIn(at *workspace, parts []string) {
	is := func(p ...string) bool { return c.fits(parts, p...) }
	switch {
	case is("GET", "organizations", "*", "workspaces", "*"), is("GET", "workspaces", "*"):
		c.show(200, at)
	case is("PATCH", "workspaces", "*"):
		c.change(at)
	case is("DELETE", "workspaces", "*"), is("DELETE", "organizations", "*", "workspaces", "*"):
		delete(c.s.workspaces, at.id)
		c.w.WriteHeader(http.StatusNoContent)
	case is("POST", "workspaces", "*", "actions", "safe-delete"),
		is("POST", "organizations", "*", "workspaces", "*", "actions", "safe-delete"):
		c.safeDelete(at)
	case is("POST", "workspaces", "*", "actions", "*"):
		c.lock(at, parts[3])
	case is("POST", "workspaces", "*", "relationships", "tags"):
		c.tag(at)
	case is("GET", "workspaces", "*", "tag-bindings"), is("GET", "workspaces", "*", "effective-tag-bindings"):
		c.say(200, map[string]any{"data": bindings(at)})
	case is("PATCH", "workspaces", "*", "tag-bindings"):
		c.bind(at)
	case is("POST", "workspaces", "*", "state-versions"):
		c.createVersion(at)
	case is("GET", "workspaces", "*", "current-state-version"):
		if v := at.current(); v != nil {
			c.say(200, map[string]any{"data": c.versionData(v)})
			return
		}
		c.fail(http.StatusNotFound, "not found", "")
	case is("GET", "workspaces", "*", "current-state-version-outputs"):
		c.outputs(at.current())
	default:
		c.fail(http.StatusNotFound, "not found", c.r.Method+" is not known here")
	}
}

// attributes decodes the attributes of a request.
func (c *call) attributes(into any) bool {
	var document struct {
		Data struct{ Attributes json.RawMessage }
	}
	if json.Unmarshal(c.body, &document) != nil || json.Unmarshal(document.Data.Attributes, into) != nil {
		c.fail(http.StatusUnprocessableEntity, "unprocessable entity", "the body is not a document of the API")
		return false
	}
	return true
}

func (c *call) createVersion(at *workspace) {
	var in struct {
		Lineage, MD5     string
		Serial           *int64
		Force            bool
		State            *string
		JSONState        *string `json:"json-state"`
		JSONStateOutputs *string `json:"json-state-outputs"`
	}
	if !c.attributes(&in) {
		return
	}
	current := at.current()
	switch {
	case !at.locked || at.by != c.user:
		c.fail(http.StatusConflict, "conflict", "the workspace must be locked by the user who creates a state version")
		return
	case in.Serial == nil || in.MD5 == "":
		c.fail(http.StatusUnprocessableEntity, "invalid attribute", "serial and md5 must not be blank")
		return
	case c.s.Inline && in.State == nil:
		c.fail(http.StatusUnprocessableEntity, "invalid attribute", "state must not be blank")
		return
	case current != nil && !in.Force && in.Lineage != "" && current.lineage != "" && in.Lineage != current.lineage:
		c.fail(http.StatusConflict, "conflict", "the lineage is not that of the current state version")
		return
	case current != nil && !in.Force && (*in.Serial < current.serial ||
		*in.Serial == current.serial && in.MD5 != current.md5):
		c.fail(http.StatusConflict, "conflict", "the serial must be greater than that of the current state version")
		return
	}
	for _, v := range at.versions {
		if v.status == "pending" {
			v.status = "discarded"
		}
	}
	v := &version{id: c.s.id("sv"), lineage: in.Lineage, md5: in.MD5, serial: *in.Serial, status: "pending"}
	v.raw, v.plain = c.s.object(at, v, true), c.s.object(at, v, false)
	if in.JSONStateOutputs != nil {
		if text, err := base64.StdEncoding.DecodeString(*in.JSONStateOutputs); err != nil ||
			json.Unmarshal(text, &v.outputs) != nil {
			c.fail(http.StatusUnprocessableEntity, "invalid attribute", "json-state-outputs are not those of a state")
			return
		}
	}
	if in.State != nil {
		data, err := base64.StdEncoding.DecodeString(*in.State)
		if problem := v.fits(data); err != nil || problem != "" {
			c.fail(http.StatusUnprocessableEntity, "invalid attribute", problem)
			return
		}
		v.raw.data, v.uploadedRaw, v.status = data, true, "finalized"
		v.show(in.JSONState)
	}
	at.versions = append(at.versions, v)
	c.say(201, map[string]any{"data": c.versionData(v)})
}

// show stores the document that was sent with a version, unless it is not base64.
func (v *version) show(document *string) {
	if document == nil {
		return
	}
	if text, err := base64.StdEncoding.DecodeString(*document); err == nil && len(text) > 0 {
		v.plain.data, v.uploadedPlain = text, true
	}
}

// fits returns the reason why a content does not fit the version, or "".
func (v *version) fits(data []byte) string {
	var state struct{ Serial int64 }
	sum := md5.Sum(data)
	switch {
	case hex.EncodeToString(sum[:]) != v.md5:
		return "md5 is not that of the state"
	case json.Unmarshal(data, &state) != nil:
		return "the state is not JSON"
	case state.Serial != v.serial:
		return fmt.Sprintf("the serial is %d, and that of the state is %d", v.serial, state.Serial)
	}
	return ""
}

func (s *Server) object(w *workspace, v *version, raw bool) *object {
	o := &object{key: s.id("dmF1bHQ"), of: w, v: v, raw: raw}
	if s.objects == nil {
		s.objects = map[string]*object{}
	}
	s.objects[o.key] = o
	return o
}

// content serves the contents of states, without a token: the address is the credential.
func (c *call) content(key string) {
	if c.s.Objects != "" && c.r.Header.Get("Authorization") != "" {
		c.s.foreign = append(c.s.foreign, c.r.URL.Path)
	}
	o := c.s.objects[key]
	switch {
	case o == nil, c.r.Method == http.MethodGet && o.data == nil:
		http.Error(c.w, "not found", http.StatusNotFound)
	case c.r.Method == http.MethodGet:
		c.w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = c.w.Write(o.data)
	case c.r.Method != http.MethodPut:
		http.Error(c.w, "method not allowed", http.StatusMethodNotAllowed)
	case o.v.status == "discarded":
		http.Error(c.w, "discarded", http.StatusForbidden)
	case !o.raw:
		o.data, o.v.uploadedPlain = c.body, true
	case o.v.uploadedRaw:
		http.Error(c.w, "uploaded already", http.StatusForbidden)
	case o.v.fits(c.body) != "":
		http.Error(c.w, o.v.fits(c.body), http.StatusBadRequest)
	default:
		o.data, o.v.uploadedRaw, o.v.status = c.body, true, "finalized"
	}
}

func (c *call) showVersion(id string) {
	for _, w := range c.s.workspaces {
		for _, v := range w.versions {
			if v.id == id {
				c.say(200, map[string]any{"data": c.versionData(v)})
				return
			}
		}
	}
	c.fail(http.StatusNotFound, "not found", "")
}

// address returns the address of an object, or nil if the object cannot be requested.
func (c *call) address(o *object, there bool) any {
	if !there {
		return nil
	}
	host := c.s.Objects
	if host == "" {
		host = map[bool]string{true: "https://", false: "http://"}[c.r.TLS != nil] + c.r.Host
	}
	return host + "/_archivist/v1/object/" + o.key
}

func (c *call) versionData(v *version) map[string]any {
	return map[string]any{"id": v.id, "type": "state-versions", "attributes": map[string]any{
		"created-at": "2026-01-02T03:04:05.000Z", "serial": v.serial, "status": v.status, "intermediate": false,
		"resources-processed":            true,
		"hosted-state-download-url":      c.address(v.raw, v.uploadedRaw),
		"hosted-json-state-download-url": c.address(v.plain, v.uploadedPlain),
		"hosted-state-upload-url":        c.address(v.raw, !v.uploadedRaw && !c.s.Inline),
		"hosted-json-state-upload-url":   c.address(v.plain, !v.uploadedPlain && !c.s.Inline),
	}, "links": map[string]any{"self": "/api/v2/state-versions/" + v.id}}
}

func (c *call) outputs(v *version) {
	list := []any{}
	if v != nil {
		for n, name := range slices.Sorted(maps.Keys(v.outputs)) {
			o, _ := v.outputs[name].(map[string]any)
			value := o["value"]
			if o["sensitive"] == true {
				value = nil
			}
			list = append(list, map[string]any{"id": "wsout-" + v.id + strconv.Itoa(n), "type": "state-version-outputs",
				"attributes": map[string]any{"name": name, "value": value, "sensitive": o["sensitive"],
					"detailed-type": o["type"]}})
		}
	}
	c.say(200, map[string]any{"data": list})
}
