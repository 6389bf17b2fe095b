package conformance

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// A service is the server of a case with a line "service:", one for each side: an HTTP server on loopback that stores
// JSON objects, and that fails or stalls as steps specify. POST to a folder creates an object with an id for its name;
// GET, PUT and DELETE have their usual meaning.
type service struct {
	server  *httptest.Server
	arrived chan struct{} // one value for each stalled request, if it is received
	release chan struct{} // closed at the end of the case: stalled requests then fail

	mu      sync.Mutex // guards the fields below
	objects map[string]string
	rules   []rule
}

// A rule is the response to the next requests of a kind: a failure, or none.
type rule struct {
	verb, method, path string
	left               int
}

func newService() *service {
	s := &service{objects: map[string]string{}, arrived: make(chan struct{}), release: make(chan struct{})}
	s.server = httptest.NewServer(s)
	return s
}

func (s *service) close() {
	close(s.release)
	s.server.Close()
}

// do performs a step: "fail METHOD PATH N", "stall METHOD PATH N", "put PATH TEXT", "delete PATH", "obey" (remove all
// rules).
func (s *service) do(args []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch verb := args[0]; {
	case (verb == "fail" || verb == "stall") && len(args) == 4:
		r := rule{verb: verb, method: args[1], path: args[2]}
		if _, err := fmt.Sscan(args[3], &r.left); err != nil {
			return fmt.Errorf("service %s: %w", verb, err)
		}
		s.rules = append(s.rules, r)
	case verb == "put" && len(args) == 3:
		s.objects[args[1]] = args[2]
	case verb == "delete" && len(args) == 2:
		delete(s.objects, args[1])
	case verb == "obey" && len(args) == 1:
		s.rules = nil
	default:
		return fmt.Errorf("the service does not know %q", args)
	}
	return nil
}

func (s *service) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header()["Date"] = nil
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	switch s.match(req) {
	case "fail":
		http.Error(w, "the service fails", http.StatusInternalServerError)
		return
	case "stall":
		select {
		case s.arrived <- struct{}{}:
		default: // not received
		}
		select {
		case <-req.Context().Done():
		case <-s.release:
		case <-time.After(commandTimeout):
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := req.URL.Path
	if req.Method == http.MethodPost {
		object, _ := decode(string(body)).(map[string]any)
		at = path.Join(at, fmt.Sprint(object["id"]))
	}
	switch req.Method {
	case http.MethodPost, http.MethodPut:
		s.objects[at] = string(body)
	case http.MethodDelete:
		delete(s.objects, at)
		return
	}
	text, found := s.objects[at]
	if !found {
		text = s.folder(at)
	}
	if text == "" {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, text)
}

// folder lists the objects of a folder, or "" if there are none.
func (s *service) folder(at string) string {
	var inside []string
	for name, text := range s.objects {
		if path.Dir(name) == at {
			inside = append(inside, text)
		}
	}
	if len(inside) == 0 {
		return ""
	}
	slices.Sort(inside)
	return "[" + strings.Join(inside, ",") + "]"
}

// match applies the first rule that matches a request, and decrements its count.
func (s *service) match(req *http.Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.rules {
		r := &s.rules[i]
		if r.left > 0 && r.method == req.Method && wildcard(r.path, req.URL.Path) {
			r.left--
			return r.verb
		}
	}
	return ""
}
