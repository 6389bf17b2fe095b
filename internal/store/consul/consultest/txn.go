package consultest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// outcome is the result of a transaction.
type outcome struct {
	results []result
	errors  []problem
}

type result struct{ KV entry }

type problem struct {
	OpIndex int
	What    string
}

func (s *Server) txn(w http.ResponseWriter, body []byte) {
	var asked []struct{ KV *operation }
	if len(body) > maxValue {
		http.Error(w, fmt.Sprintf("Request body(%d bytes) too large, max size: %d bytes.", len(body), maxValue),
			http.StatusRequestEntityTooLarge)
		return
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		http.Error(w, "Failed to parse body: "+err.Error(), http.StatusBadRequest)
		return
	}
	if len(asked) > maxOps {
		http.Error(w, "Transaction contains too many operations", http.StatusRequestEntityTooLarge)
		return
	}
	var ops []operation
	for _, o := range asked {
		if o.KV == nil {
			http.Error(w, "an operation is missing", http.StatusBadRequest)
			return
		}
		ops = append(ops, *o.KV)
	}
	out := s.apply(ops)
	if out.errors != nil {
		w.WriteHeader(http.StatusConflict)
	}
	answer(w, map[string]any{"Results": out.results, "Errors": out.errors})
}

// verbs are the kinds of operations.
var verbs = []string{"get", "set", "cas", "delete", "delete-cas", "delete-tree", "check-index", "lock", "unlock",
	"check-session"}

// apply performs all operations or none. It is called with mu held.
func (s *Server) apply(ops []operation) (out outcome) {
	for i, o := range ops { // before performing any of them
		switch {
		case o.Key == "" && o.Verb != "delete-tree":
			out.errors = append(out.errors, problem{OpIndex: i, What: "Must provide key"})
		case !slices.Contains(verbs, o.Verb):
			out.errors = append(out.errors, problem{OpIndex: i, What: "unknown KV operation: " + o.Verb})
		case o.Verb == "lock" && time.Now().Before(s.delayed[o.Key]):
			out.errors = append(out.errors, problem{OpIndex: i, What: fmt.Sprintf("failed to lock key %q due to lock "+
				"delay", o.Key)})
		}
	}
	if out.errors != nil {
		return out
	}
	before, delayed := maps.Clone(s.keys), maps.Clone(s.delayed)
	s.next()
	for i, o := range ops {
		e, why := s.one(o)
		if why != "" {
			out.errors = append(out.errors, problem{OpIndex: i, What: why})
		} else if e != nil {
			shown := *e
			if o.Verb != "get" {
				shown.Value = nil
			}
			out.results = append(out.results, result{shown})
		}
	}
	if out.errors != nil {
		s.keys, s.delayed, out.results = before, delayed, nil
	}
	return out
}

// one performs an operation, or returns the reason why it cannot.
func (s *Server) one(o operation) (*entry, string) {
	e := s.keys[o.Key]
	if len(o.Value) > maxValue {
		return nil, "Value for key is too large"
	}
	switch o.Verb {
	case "get":
		if e == nil {
			return nil, fmt.Sprintf("key %q doesn't exist", o.Key)
		}
		return e, ""
	case "set":
		return s.set(o, e, ""), ""
	case "cas":
		if e == nil && o.Index != 0 || e != nil && e.ModifyIndex != o.Index {
			return nil, fmt.Sprintf("failed to set key %q, index is stale", o.Key)
		}
		return s.set(o, e, ""), ""
	case "delete":
		delete(s.keys, o.Key)
	case "delete-cas":
		if e != nil && e.ModifyIndex != o.Index {
			return nil, fmt.Sprintf("failed to delete key %q, index is stale", o.Key)
		}
		delete(s.keys, o.Key)
	case "delete-tree":
		for key := range s.keys {
			if strings.HasPrefix(key, o.Key) {
				delete(s.keys, key)
			}
		}
	case "check-index":
		if e == nil {
			return nil, fmt.Sprintf("failed to check index, key %q doesn't exist", o.Key)
		}
		if e.ModifyIndex != o.Index {
			return nil, fmt.Sprintf("failed index check for key %q, current modify index %d != %d", o.Key,
				e.ModifyIndex, o.Index)
		}
		return e, ""
	default:
		return s.locking(o, e)
	}
	return nil, ""
}

// locking performs an operation of a session.
func (s *Server) locking(o operation, e *entry) (*entry, string) {
	switch o.Verb {
	case "lock":
		if s.sessions[o.Session] == nil {
			return nil, fmt.Sprintf("invalid session %q", o.Session)
		}
		if e != nil && e.Session != "" && e.Session != o.Session {
			return nil, fmt.Sprintf("failed to lock key %q, lock is already held", o.Key)
		}
		return s.set(o, e, o.Session), ""
	case "unlock":
		if e == nil || e.Session != o.Session || o.Session == "" {
			return nil, fmt.Sprintf("failed to unlock key %q, lock isn't held, or is held by another session", o.Key)
		}
		n := s.set(o, e, "")
		n.Session, n.LockIndex = "", e.LockIndex
		return n, ""
	default: // check-session
		if e == nil {
			return nil, fmt.Sprintf("failed to check session, key %q doesn't exist", o.Key)
		}
		if e.Session != o.Session {
			return nil, fmt.Sprintf("failed session check for key %q, current session %q != %q", o.Key, e.Session,
				o.Session)
		}
		return e, ""
	}
}

// set writes a key. A write without a session does not change the lock, and resets its counter.
func (s *Server) set(o operation, was *entry, session string) *entry {
	n := &entry{Key: o.Key, Flags: o.Flags, Value: o.Value, Session: session, CreateIndex: s.index,
		ModifyIndex: s.index}
	if was != nil {
		n.CreateIndex = was.CreateIndex
		if session == "" {
			n.Session = was.Session
		} else if n.LockIndex = was.LockIndex; was.Session == "" {
			n.LockIndex++
		}
	} else if session != "" {
		n.LockIndex = 1
	}
	if len(n.Value) == 0 {
		n.Value = nil // responses contain null
	}
	if was != nil && was.Flags == n.Flags && was.LockIndex == n.LockIndex && was.Session == n.Session &&
		bytes.Equal(was.Value, n.Value) {
		return was // without a change, the index stays the same
	}
	s.keys[o.Key] = n
	return n
}
