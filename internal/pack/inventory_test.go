//go:build unix

package pack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// machine is a host in the inventory.
type machine struct {
	ID       int               `json:"id"`
	Name     string            `json:"hostName"`
	Site     string            `json:"site"`
	Tags     map[string]string `json:"tags"`
	Address  string            `json:"ipAddress"`
	Status   string            `json:"status"`
	Password string            `json:"firstPassword,omitempty"`
}

// inventory is an in-memory implementation of the API that provider-http uses.
type inventory struct {
	mu    sync.Mutex
	hosts []*machine
	next  int
	loses bool // the responses to creations are lost

	groups   map[string]*group
	sessions map[string]bool // those that are open
}

// group is a group of hosts in the inventory.
type group struct {
	Name     string   `json:"name"`
	Hosts    []string `json:"hosts"`
	About    string   `json:"about"`
	Revision int      `json:"-"` // in the header ETag
}

const inventoryToken = "the-token-of-the-inventory"

// inventoryService starts the API, and returns the environment of its users.
func inventoryService(t *testing.T) []string { return startInventory(t, &inventory{}) }

func startInventory(t *testing.T, i *inventory) []string {
	t.Helper()
	i.groups, i.sessions = map[string]*group{}, map[string]bool{}
	i.add(&machine{Name: "gateway", Site: "hq"})
	s := httptest.NewServer(i)
	t.Cleanup(func() {
		s.Close()
		if n := len(i.hosts) + len(i.groups) + len(i.sessions); n != 1 {
			t.Errorf("the inventory has %d hosts, groups and sessions at the end", n)
		}
	})
	return []string{"TF_VAR_url=" + s.URL, "TF_VAR_token=" + inventoryToken, "INVENTORY_URL=" + s.URL,
		"INVENTORY_TOKEN=" + inventoryToken}
}

// A creation whose response is lost stays in the journal, and its object can be adopted.
func TestALostCreationOfAnAPIIsAdopted(t *testing.T) {
	e := examples[len(examples)-1]
	e.env = func(t *testing.T) []string { return startInventory(t, &inventory{loses: true}) }
	p := newProject(t, e, "tombolo")
	dir, err := filepath.Abs(filepath.Join("../../examples", e.name))
	must(t, err)
	p.env = append(p.env, "TOMBOLO_PROGRAM_PROVIDERS=example/"+sourceName(e)+"="+dir)
	p.run("init")
	cmd := exec.Command(p.program, "apply", "-auto-approve", "-no-color")
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if text := string(out); err == nil || !strings.Contains(text, "It is not known whether the server performed") ||
		strings.Contains(text, inventoryToken) {
		t.Fatalf("got %v\n%s", err, out)
	}
	p.says("Left out because of interrupted creations", "plan", "-no-color")
	p.run("recover", e.resource, "--adopt", "2")
	p.says("1 added, 0 changed, 0 destroyed", "apply", "-auto-approve", "-no-color")
	p.says("Destroy complete!", "destroy", "-auto-approve", "-no-color")
}

func (i *inventory) add(h *machine) *machine {
	i.next++
	h.ID, h.Address, h.Status = i.next, fmt.Sprintf("10.0.0.%d", i.next), "starting"
	i.hosts = append(i.hosts, h)
	return h
}

// ServeHTTP implements http.Handler.
func (i *inventory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	status, answer := i.answer(w, r)
	if i.loses && r.Method == http.MethodPost {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	if answer != nil {
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func (i *inventory) answer(w http.ResponseWriter, r *http.Request) (int, any) {
	message := func(text string) any { return map[string]string{"message": text} }
	if r.Header.Get("Authorization") != "Bearer "+inventoryToken {
		return 401, message("the token is not known")
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/api/v1/")
	kind, id, _ := strings.Cut(rest, "/")
	if !ok {
		return 404, message("there is no such page")
	}
	switch {
	case kind == "groups":
		return i.group(w, r, id)
	case kind == "sessions" && r.Method == http.MethodDelete:
		delete(i.sessions, id)
		return 204, nil
	case kind == "sites":
		n := 0
		for _, h := range i.hosts {
			if h.Site == id {
				n++
			}
		}
		return 200, map[string]int{"hosts": n}
	case id == "" && r.Method == http.MethodPost:
		h := &machine{}
		if json.NewDecoder(r.Body).Decode(h) != nil {
			return 400, message("that is not a host")
		}
		return 202, map[string]int{"id": i.add(h).ID}
	case id == "":
		return 200, i.page(w, r)
	}
	id, part, _ := strings.Cut(id, "/")
	at := slices.IndexFunc(i.hosts, func(h *machine) bool { return strconv.Itoa(h.ID) == id })
	if at < 0 {
		return 404, message("there is no such host")
	}
	h := i.hosts[at]
	switch part {
	case "restart":
		return 204, nil
	case "sessions":
		i.next++
		session := fmt.Sprintf("session-%d", i.next)
		i.sessions[session] = true
		return 201, map[string]string{"id": session, "token": "the token of " + session}
	}
	switch r.Method {
	case http.MethodPatch:
		var change struct {
			Name *string             `json:"hostName"`
			Tags *map[string]*string `json:"tags"`
		}
		var given map[string]json.RawMessage
		d := json.NewDecoder(r.Body)
		if d.Decode(&given) != nil {
			return 400, message("that is not a change")
		}
		text, _ := json.Marshal(given)
		_ = json.Unmarshal(text, &change)
		if change.Name != nil {
			h.Name = *change.Name
		}
		if string(given["tags"]) == "null" {
			h.Tags = nil
		} else if change.Tags != nil {
			h.tag(*change.Tags)
		}
	case http.MethodDelete:
		i.hosts = slices.Delete(i.hosts, at, at+1)
		return 204, nil
	}
	shown := *h
	h.Status = "ready" // when it is read for the second time
	shown.Password = ""
	return 200, shown
}

// group answers requests for a group: conditional headers keep it from being overwritten.
func (i *inventory) group(w http.ResponseWriter, r *http.Request, name string) (int, any) {
	g := i.groups[name]
	if r.Method == http.MethodPut {
		if r.Header.Get("If-None-Match") == "*" && g != nil {
			return 412, map[string]string{"message": "the group exists already"}
		}
		want := r.Header.Get("If-Match")
		if want != "" && (g == nil || want != strconv.Quote(strconv.Itoa(g.Revision))) {
			return 412, map[string]string{"message": "somebody has changed the group"}
		}
		written := &group{Name: name, Revision: 1}
		if json.NewDecoder(r.Body).Decode(written) != nil {
			return 400, map[string]string{"message": "that is not a group"}
		}
		if g != nil {
			written.Revision = g.Revision + 1
		}
		g = written
		i.groups[name] = g
	}
	switch {
	case g == nil:
		return 404, map[string]string{"message": "there is no such group"}
	case r.Method == http.MethodDelete:
		delete(i.groups, name)
		return 204, nil
	}
	w.Header().Set("ETag", strconv.Quote(strconv.Itoa(g.Revision)))
	return 200, g
}

func (h *machine) tag(change map[string]*string) {
	if h.Tags == nil {
		h.Tags = map[string]string{}
	}
	for name, text := range change {
		if text == nil {
			delete(h.Tags, name)
		} else {
			h.Tags[name] = *text
		}
	}
}

// page lists two hosts and the address of the next page.
func (i *inventory) page(w http.ResponseWriter, r *http.Request) any {
	query := r.URL.Query()
	list := slices.DeleteFunc(slices.Clone(i.hosts), func(h *machine) bool {
		return query.Get("site") != "" && h.Site != query.Get("site")
	})
	from, _ := strconv.Atoi(query.Get("from"))
	from = min(from, len(list))
	if from+2 < len(list) {
		query.Set("from", strconv.Itoa(from+2))
		w.Header().Set("Link", "<"+r.URL.Path+"?"+query.Encode()+`>; rel="next"`)
	}
	return map[string]any{"hosts": list[from:min(from+2, len(list))]}
}
