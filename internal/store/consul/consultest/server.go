// Package consultest is a small in-memory Consul for tests: keys and values, transactions, sessions that end unless
// they are renewed, locks with their delay, and queries that wait for a change.
package consultest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// maxValue is the maximum size of a value, and of the body of a transaction, in bytes.
const maxValue = 512 << 10

// maxOps is the maximum number of operations in a transaction.
const maxOps = 64

// Server is a Consul server. Its zero value is empty.
type Server struct {
	// Token, if set, is required in all requests.
	Token string

	mu       sync.Mutex
	index    uint64
	keys     map[string]*entry
	sessions map[string]*session
	delayed  map[string]time.Time // until when the lock of a key is not granted
	changed  chan struct{}        // closed at the next change
}

// entry is a key and its value.
type entry struct {
	LockIndex   uint64
	Key         string
	Flags       uint64
	Value       []byte
	Session     string `json:",omitempty"`
	CreateIndex uint64
	ModifyIndex uint64
}

type session struct {
	ttl, delay time.Duration
	timer      *time.Timer
}

// operation is one operation of a transaction.
type operation struct {
	Verb    string
	Key     string
	Value   []byte
	Flags   uint64
	Index   uint64
	Session string
}

// Value returns the value of a key, or nil if there is none.
func (s *Server) Value(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.keys[key]; e != nil {
		return e.Value
	}
	return nil
}

// Keys returns all keys, sorted.
func (s *Server) Keys() (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.keys {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Expire ends a session as if it had not been renewed; "" ends all sessions.
func (s *Server) Expire(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.sessions {
		if id == "" || one == id {
			s.end(one)
		}
	}
}

// end ends a session and releases its locks, with their delay. It is called with mu held.
func (s *Server) end(id string) {
	one := s.sessions[id]
	if one == nil {
		return
	}
	if one.timer != nil {
		one.timer.Stop()
	}
	delete(s.sessions, id)
	s.next()
	for _, e := range s.keys {
		if e.Session == id {
			n := *e
			n.Session, n.ModifyIndex = "", s.index
			s.keys[e.Key] = &n
			s.delayed[e.Key] = time.Now().Add(one.delay)
		}
	}
}

// next counts a change. It is called with mu held.
func (s *Server) next() {
	s.index++
	if s.changed != nil {
		close(s.changed)
	}
	s.changed = make(chan struct{})
}

// Close ends all sessions and stops their timers.
func (s *Server) Close() { s.Expire("") }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if s.Token != "" && r.Header.Get("X-Consul-Token") != s.Token {
		http.Error(w, "Permission denied", http.StatusForbidden)
		return
	}
	if to := plain(r.URL.EscapedPath()); to != r.URL.EscapedPath() {
		http.Redirect(w, r, to+"?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
		return
	}
	if r.Method == http.MethodGet {
		s.wait(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.index = 10
		s.keys, s.sessions, s.delayed = map[string]*entry{}, map[string]*session{}, map[string]time.Time{}
	}
	w.Header().Set("X-Consul-KnownLeader", "true")
	w.Header().Set("X-Consul-LastContact", "0")
	w.Header().Set("X-Consul-Index", strconv.FormatUint(max(s.index, 1), 10))
	w.Header().Set("Content-Type", "application/json")
	name := r.URL.Path
	switch {
	case name == "/v1/txn" && r.Method == http.MethodPut:
		s.txn(w, body)
	case strings.HasPrefix(name, "/v1/session/"):
		s.session(w, r, strings.TrimPrefix(name, "/v1/session/"), body)
	case strings.HasPrefix(name, "/v1/kv/"):
		s.kv(w, r, strings.TrimPrefix(name, "/v1/kv/"), body)
	default:
		http.Error(w, "no such path", http.StatusNotFound)
	}
}

// plain returns the path to which the server redirects requests, without empty elements, "." and "..".
func plain(name string) string {
	to := path.Clean(name)
	if strings.HasSuffix(name, "/") && to != "/" {
		to += "/"
	}
	return to
}

// wait blocks a query until there is a change after its index, or until its time limit.
func (s *Server) wait(r *http.Request) {
	after, err := strconv.ParseUint(r.URL.Query().Get("index"), 10, 64)
	if err != nil || after == 0 {
		return
	}
	limit, err := time.ParseDuration(r.URL.Query().Get("wait"))
	if err != nil {
		limit = 5 * time.Minute
	}
	end := time.After(limit)
	for {
		s.mu.Lock()
		now, changed := s.index, s.changed
		s.mu.Unlock()
		if now > after {
			return
		}
		select {
		case <-changed:
		case <-end:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func answer(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func (s *Server) kv(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodGet:
		s.get(w, query.Has("keys"), query.Has("recurse"), key, query.Get("separator"))
	case r.Method == http.MethodPut:
		if len(body) > maxValue {
			http.Error(w, fmt.Sprintf("Request body(%d bytes) too large, max size: %d bytes.", len(body), maxValue),
				http.StatusRequestEntityTooLarge)
			return
		}
		s.put(w, r, key, body)
	case r.Method == http.MethodDelete:
		o := operation{Verb: "delete", Key: key}
		if query.Has("recurse") {
			o.Verb = "delete-tree"
		}
		if query.Has("cas") {
			o.Verb = "delete-cas"
			o.Index, _ = strconv.ParseUint(query.Get("cas"), 10, 64)
		}
		answer(w, s.apply([]operation{o}).errors == nil)
	}
}

func (s *Server) put(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	query := r.URL.Query()
	o := operation{Verb: "set", Key: key, Value: body}
	o.Flags, _ = strconv.ParseUint(query.Get("flags"), 10, 64)
	switch {
	case query.Has("cas"):
		o.Verb = "cas"
		o.Index, _ = strconv.ParseUint(query.Get("cas"), 10, 64)
	case query.Has("acquire"):
		o.Verb, o.Session = "lock", query.Get("acquire")
		if s.sessions[o.Session] == nil && !time.Now().Before(s.delayed[key]) {
			http.Error(w, fmt.Sprintf("raft apply failed: invalid session %q", o.Session),
				http.StatusInternalServerError)
			return
		}
	case query.Has("release"):
		o.Verb, o.Session = "unlock", query.Get("release")
	}
	answer(w, s.apply([]operation{o}).errors == nil)
}

func (s *Server) get(w http.ResponseWriter, names, recurse bool, key, separator string) {
	var found []*entry
	var keys []string
	for name, e := range s.keys {
		if name == key || (recurse || names) && strings.HasPrefix(name, key) {
			found = append(found, e)
			if at := strings.Index(name[len(key):], separator); separator != "" && at >= 0 {
				name = name[:len(key)+at+len(separator)]
			}
			keys = append(keys, name)
		}
	}
	switch {
	case len(found) == 0:
		w.WriteHeader(http.StatusNotFound)
	case names:
		slices.Sort(keys)
		answer(w, slices.Compact(keys))
	default:
		answer(w, found)
	}
}

func (s *Server) session(w http.ResponseWriter, r *http.Request, path string, body []byte) {
	action, id, _ := strings.Cut(path, "/")
	switch action {
	case "create":
		var asked struct{ TTL, LockDelay string }
		if err := json.Unmarshal(body, &asked); len(body) > 0 && err != nil {
			http.Error(w, "Request decode failed: "+err.Error(), http.StatusBadRequest)
			return
		}
		one := &session{delay: 15 * time.Second}
		if asked.TTL != "" {
			var err error
			if one.ttl, err = time.ParseDuration(asked.TTL); err != nil {
				http.Error(w, fmt.Sprintf("Session TTL '%s' invalid: %v", asked.TTL, err),
					http.StatusInternalServerError)
				return
			}
		}
		if delay, err := time.ParseDuration(asked.LockDelay); err == nil {
			one.delay = delay
		}
		if one.ttl != 0 && (one.ttl < 10*time.Second || one.ttl > 24*time.Hour) {
			http.Error(w, fmt.Sprintf("Invalid Session TTL '%d', must be between [10s=24h0m0s]", one.ttl),
				http.StatusInternalServerError)
			return
		}
		id = uuid.NewString()
		if one.ttl > 0 {
			one.timer = time.AfterFunc(2*one.ttl, func() { s.Expire(id) })
		}
		s.sessions[id] = one
		s.next()
		answer(w, map[string]string{"ID": id})
	case "renew":
		one := s.sessions[id]
		if one == nil {
			http.Error(w, fmt.Sprintf("Session id '%s' not found", id), http.StatusNotFound)
			return
		}
		if one.timer != nil {
			one.timer.Reset(2 * one.ttl)
		}
		answer(w, []map[string]any{{"ID": id, "TTL": one.ttl.String()}})
	case "destroy":
		if _, err := uuid.Parse(id); err != nil {
			http.Error(w, "Invalid session", http.StatusBadRequest)
			return
		}
		s.end(id)
		answer(w, true)
	case "info":
		all := []map[string]any{}
		if one := s.sessions[id]; one != nil {
			all = append(all, map[string]any{"ID": id, "TTL": one.ttl.String()})
		}
		answer(w, all)
	default:
		http.Error(w, r.URL.Path, http.StatusNotFound)
	}
}
