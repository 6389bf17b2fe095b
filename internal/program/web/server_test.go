package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

const bearer = "the-canary-of-the-bearer"

// things is an API that keeps objects of any form in memory: POST, GET, PUT, PATCH and DELETE of /things, as a simple
// real API would.
type things struct {
	*httptest.Server
	mu      sync.Mutex
	objects map[string]map[string]any
	next    int
	// before is called before the API handles a request; it returns true if it has responded. after is called with
	// responses.
	before func(w http.ResponseWriter, r *http.Request) bool
	// lose is called after the API has performed a request; it returns true if the response is to be lost.
	lose func(r *http.Request) bool
	seen []string // requests with their bodies
	// plain means that the API adds nothing to objects except for their ID.
	plain bool
}

func newThings(t testing.TB) *things {
	s := &things{objects: map[string]map[string]any{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *things) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.before != nil && s.before(w, r) {
		return
	}
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.seen = append(s.seen, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
	status, answer := s.answer(r, body)
	s.mu.Unlock()
	if s.lose != nil && s.lose(r) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if answer != nil {
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func problem(format string, args ...any) map[string]any {
	return map[string]any{"message": fmt.Sprintf(format, args...)}
}

func (s *things) answer(r *http.Request, body []byte) (int, any) {
	if r.Header.Get("Authorization") != "Bearer "+bearer {
		return 401, problem("who are you?")
	}
	id, _ := strings.CutPrefix(strings.TrimPrefix(r.URL.Path, "/v1/things"), "/")
	if id == "" && r.Method == http.MethodGet {
		return 200, s.list(r)
	}
	var given map[string]any
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	if len(body) > 0 && d.Decode(&given) != nil {
		return 400, problem("that is not JSON")
	}
	if id == "" {
		s.next++
		id = strconv.Itoa(s.next)
		s.objects[id] = given
		return 201, s.shown(id)
	}
	o := s.objects[id]
	if o == nil {
		return 404, problem("there is no thing %s", id)
	}
	switch r.Method {
	case http.MethodDelete:
		delete(s.objects, id)
		return 204, nil
	case http.MethodPut:
		s.objects[id] = given
	case http.MethodPatch:
		patch(o, given)
	}
	return 200, s.shown(id)
}

// shown returns an object as the API sends it, with values that are not configured.
func (s *things) shown(id string) map[string]any {
	out := maps.Clone(s.objects[id])
	if out == nil {
		out = map[string]any{}
	}
	n, _ := strconv.Atoi(id)
	if out["id"] = n; s.plain {
		return out
	}
	out["href"], out["serverOnly"] = "/v1/things/"+id, "x"
	if out["note"] == nil {
		out["note"] = "the server's own"
	}
	delete(out, "initialPassword")
	return out
}

func (s *things) list(r *http.Request) any {
	ids := slices.SortedFunc(maps.Keys(s.objects), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	})
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	items := []any{}
	for _, id := range ids[min(from, len(ids)):min(from+2, len(ids))] {
		if name := r.URL.Query().Get("name"); name == "" || s.objects[id]["displayName"] == name {
			items = append(items, s.shown(id))
		}
	}
	answer := map[string]any{"items": items, "next": nil}
	if from+2 < len(ids) {
		answer["next"] = strconv.Itoa(from + 2)
	}
	return answer
}

func patch(o, given map[string]any) {
	for name, v := range given {
		inner, isObject := v.(map[string]any)
		switch {
		case v == nil:
			delete(o, name)
		case isObject:
			old, ok := o[name].(map[string]any)
			if !ok {
				old = map[string]any{}
			}
			patch(old, inner)
			o[name] = old
		default:
			o[name] = v
		}
	}
}

// thingsManifest is a provider of the API. It updates with PATCH or PUT.
const thingsManifest = `{
  "protocol": 1, "name": "inv", "version": "0.1.0",
  "http": {
    "url": "${coalesce(provider.url, env.INV_URL)}/v1",
    "auth": {"bearer": "${coalesce(provider.token, env.INV_TOKEN)}"},
    "retry": {"attempts": 4, "delay": "1ms", "max_delay": "50ms"},
    "error_message": "${answer.body.message}"
  },
  "schema": {
    "provider": {"attributes": {
      "url":   {"type": "string", "optional": true},
      "token": {"type": "string", "optional": true, "sensitive": true}
    }},
    "resource_schemas": {"inv_thing": {
      "import": "id",
      "identity": {"attributes": {"id": {"type": "string", "required_for_import": true}}},
      "attributes": {
        "id":       {"type": "string", "computed": true, "stable": true},
        "name":     {"type": "string", "required": true, "json_schema": {"minLength": 2}, "http": {"name": "displayName"}},
        "size":     {"type": "number", "optional": true, "default": 3},
        "note":     {"type": "string", "optional": true},
        "region":   {"type": "string", "optional": true, "force_new": true},
        "tags":     {"type": ["map", "string"], "optional": true},
        "labels":   {"type": ["set", "string"], "optional": true},
        "any":      {"type": "dynamic", "optional": true},
        "password": {"type": "string", "optional": true, "sensitive": true, "http": {"name": "initialPassword", "send": "create"}},
        "secret":   {"type": "string", "optional": true, "write_only": true},
        "ports":    {"optional": true, "nested_type": {"nesting_mode": "list", "attributes": {
          "number": {"type": "number", "required": true},
          "label":  {"type": "string", "optional": true, "http": {"name": "portLabel"}}}}},
        "href":     {"type": "string", "computed": true, "stable": true}
      },
      "block_types": {"rule": {"nesting_mode": "set", "attributes": {
        "cidr": {"type": "string", "required": true}, "note": {"type": "string", "optional": true}}}},
      "http": {
        "create": {"path": "/things"},
        "read":   {"path": "/things/${self.id}"},
        "update": {"method": "METHOD", "path": "/things/${self.id}"},
        "delete": {"path": "/things/${self.id}"}
      }
    }},
    "list_resource_schemas": {"inv_thing": {
      "attributes": {"name": {"type": "string", "optional": true}},
      "http": {"list": {"path": "/things", "query": {"name": "${config.name}"},
        "pages": {"items": "${answer.body.items}", "token": "${answer.body.next}", "parameter": "from"},
        "identity": {"id": "${item.id}"}, "display_name": "${item.displayName}", "complete": true}}
    }},
    "data_source_schemas": {"inv_found": {
      "attributes": {
        "name": {"type": "string", "required": true},
        "id":   {"type": "string", "computed": true},
        "size": {"type": "number", "computed": true}
      },
      "http": {"data": {"path": "/things",
        "pages": {"items": "${answer.body.items}", "token": "${answer.body.next}", "parameter": "from"},
        "object": "${one([for t in items : t if t.displayName == config.name])}"}}
    }},
    "functions": {"count": {
      "parameters": [{"name": "name", "type": "string"}], "return_type": "number",
      "http": {"path": "/things", "query": {"name": "${args.name}"},
        "pages": {"items": "${answer.body.items}", "token": "${answer.body.next}", "parameter": "from"},
        "result": "${length(items)}"}
    }}
  }
}`

func parsed(t testing.TB, text string) *manifest.Manifest {
	t.Helper()
	m, diags := manifest.Parse([]byte(text), manifest.FileName, t.TempDir())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return m
}

func factory(m *manifest.Manifest, env ...string) provider.Factory {
	return func(context.Context) (provider.Provider, error) {
		return handler.New(m, handler.NewCaller(m, handler.Surroundings{Env: env}), handler.Options{}), nil
	}
}
