// Package httpstoretest is a small in-memory server for tests with the protocol of the backend "http". Each path has a
// state; its lock is at the same path (LOCK and UNLOCK), or below it at ".../lock" (POST and DELETE), as in GitLab.
package httpstoretest

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Server serves states. The zero value is strict: only the lock holder can write and unlock.
type Server struct {
	// Lenient allows the holder of the lock to take it again.
	Lenient bool
	// Loose allows everyone to write and unlock.
	Loose bool
	// Tags makes the server send the tags of states and honor conditions on them.
	Tags bool
	// BrokenTags makes the server send tags and refuse every condition on one.
	BrokenTags bool
	// GitLab makes the server respond as GitLab does: 409 for a held lock and for a write under a lock that is not
	// held, even if the lock is free; only growing serials; and 204 for a state that was locked but never written.
	GitLab bool
	// Echo describes the lock holder by the request, except for the ID, the user and the time, as GitLab does.
	Echo bool

	mu   sync.Mutex
	all  map[string]*stored
	seen []string
}

// stored is a state and its lock.
type stored struct {
	data   []byte
	writes int
	serial float64
	lock   []byte // lock information of its holder; nil if the lock is free
	holder string // ID of the lock
	locked bool   // it has been locked before
}

// Seen returns the requests so far: method, path and query.
func (s *Server) Seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

// State returns a state and the number of writes to it.
func (s *Server) State(path string) (data []byte, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.at(path)
	return one.data, one.writes
}

// Put sets a state, even if it is locked.
func (s *Server) Put(path string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at(path).data = data
}

// Holder returns the ID of the lock of a state, or "" if it is free.
func (s *Server) Holder(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at(path).holder
}

func (s *Server) at(path string) *stored {
	if s.all == nil {
		s.all = map[string]*stored{}
	}
	if s.all[path] == nil {
		s.all[path] = &stored{}
	}
	return s.all[path]
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, strings.TrimSuffix(r.Method+" "+r.URL.Path+"?"+r.URL.RawQuery, "?"))
	if sum := md5.Sum(body); len(body) > 0 && r.Header.Get("Content-MD5") != "" &&
		r.Header.Get("Content-MD5") != base64.StdEncoding.EncodeToString(sum[:]) {
		http.Error(w, "the digest is wrong", http.StatusBadRequest)
		return
	}
	path, isLock := strings.CutSuffix(r.URL.Path, "/lock")
	one := s.at(path)
	switch {
	case r.Method == "LOCK", isLock && r.Method == http.MethodPost:
		s.lock(w, one, body)
	case r.Method == "UNLOCK", isLock && r.Method == http.MethodDelete:
		s.unlock(w, one, body)
	case isLock:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Method == http.MethodGet:
		s.get(w, one)
	case r.Method == http.MethodPost, r.Method == http.MethodPut:
		s.put(w, r, one, body)
	case r.Method == http.MethodDelete:
		one.data = nil
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func idOf(body []byte) string {
	var info struct{ ID string }
	_ = json.Unmarshal(body, &info)
	return info.ID
}

func (s *Server) lock(w http.ResponseWriter, one *stored, body []byte) {
	id := idOf(body)
	switch {
	case id == "":
		w.WriteHeader(http.StatusBadRequest)
	case one.lock == nil, s.Lenient && one.holder == id:
		one.lock, one.holder, one.locked = body, id, true
		_, _ = w.Write(body)
	case s.Echo:
		var asked, held map[string]any
		_, _ = json.Unmarshal(body, &asked), json.Unmarshal(one.lock, &held)
		asked["ID"], asked["Who"], asked["Created"] = held["ID"], held["Who"], held["Created"]
		answer, _ := json.Marshal(asked)
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write(answer)
	case s.GitLab:
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write(one.lock)
	default:
		w.WriteHeader(http.StatusLocked)
		_, _ = w.Write(one.lock)
	}
}

func (s *Server) unlock(w http.ResponseWriter, one *stored, body []byte) {
	id := idOf(body)
	switch {
	case id == "" || s.Loose || one.holder == id && id != "": // Terraform's force-unlock sends nothing
		one.lock, one.holder = nil, ""
	case one.lock == nil:
		http.Error(w, "there is no lock", http.StatusConflict)
	default:
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write(one.lock)
	}
}

func (s *Server) tag(one *stored) string { return fmt.Sprintf(`"%x"`, md5.Sum(one.data)) }

func (s *Server) get(w http.ResponseWriter, one *stored) {
	if one.data == nil {
		code := http.StatusNotFound
		if s.GitLab && one.locked {
			code = http.StatusNoContent
		}
		w.WriteHeader(code)
		return
	}
	if s.Tags || s.BrokenTags {
		w.Header().Set("ETag", s.tag(one))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(one.data)
}

func (s *Server) put(w http.ResponseWriter, r *http.Request, one *stored, body []byte) {
	var doc struct{ Serial float64 }
	_ = json.Unmarshal(body, &doc)
	match := r.Header.Get("If-Match")
	switch {
	case s.GitLab && r.URL.Query().Get("ID") != one.holder:
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"message":"409 Conflict"}`)
	case !s.Loose && one.lock != nil && r.URL.Query().Get("ID") != one.holder:
		w.WriteHeader(http.StatusLocked)
		_, _ = w.Write(one.lock)
	case s.BrokenTags && match != "", s.Tags && match != "" && (one.data == nil || match != s.tag(one)):
		w.WriteHeader(http.StatusPreconditionFailed)
	case s.GitLab && one.data != nil && doc.Serial <= one.serial:
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"message":{"version":["has already been taken"]}}`)
	default:
		one.data, one.serial = body, doc.Serial
		one.writes++
	}
}
