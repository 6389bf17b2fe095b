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

// A service is what a case with a line "service:" gets on each side: an HTTP server on loopback that keeps JSON
// objects, and that fails or stalls as steps say. POST to a folder makes an object named by its id; GET, PUT and DELETE
// of a path do what they say.
type service struct {
	server  *httptest.Server
	arrived chan struct{} // one value for each request that stalls while somebody waits for it
	release chan struct{} // closed when the case is over: what stalls then fails

	mu      sync.Mutex // guards what follows
	objects map[string]string
	rules   []rule
}

// A rule says what the next requests of a kind meet with: a failure, or no answer.
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

// do obeys a step: "fail METHOD PATH N", "stall METHOD PATH N", "put PATH TEXT", "delete PATH", "obey" (forget all
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
		default: // nobody waits for it
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

// match uses up the first rule that a request meets.
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
