package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"golang.org/x/net/html"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

var (
	source = addr.DefaultProvider("t")
	schema = &provider.Block{Attributes: map[string]*provider.Attribute{"in": {Type: cty.String, Optional: true},
		"secret": {Type: cty.String, Optional: true, Sensitive: true}}}
	schemas = tfjson.Schemas{source: {Resources: map[string]*provider.ResourceType{"t_x": {Block: schema}}}}
)

// object returns the address of an instance in the root module.
func object(name, key string) addr.Object {
	k := addr.NoKey
	if key != "" {
		k = addr.StringKey(key)
	}
	return addr.Object{Instance: addr.AbsResource{Resource: addr.Resource{Mode: addr.Managed, Type: "t_x",
		Name: name}}.Instance(k)}
}

// stateOf returns a state with an object for each key, which all have the value and the secret.
func stateOf(serial uint64, lineage, value, secret string, keys ...string) *state.State {
	b := (&state.State{Lineage: lineage, Serial: serial}).Builder()
	attributes, err := json.Marshal(map[string]string{"in": value, "secret": secret})
	if err != nil {
		panic(err)
	}
	for _, key := range keys {
		b.Fold(state.Edit{Put: &state.PutObject{Addr: object("x", key), Provider: addr.AbsProviderConfig{
			Provider: source}, Object: &state.Object{Status: state.Ready, Attributes: attributes}}})
	}
	b.Fold(state.Edit{Output: &state.SetOutput{Name: "shown", Value: &state.Output{Value: cty.StringVal(value)}}},
		state.Edit{Output: &state.SetOutput{Name: "hidden", Value: &state.Output{Value: cty.StringVal(secret),
			Sensitive: true}}})
	st := *b.State()
	st.Serial, st.TerraformVersion = serial, "1.11.4"
	return &st
}

// fakePlace is a place in memory.
type fakePlace struct {
	name, where string

	mu     sync.Mutex
	states map[string]Reading
	err    error
	reads  int
	past   []history.Former
	stored map[string]*state.State
}

func (p *fakePlace) Name() string       { return p.name }
func (p *fakePlace) Where() string      { return p.where }
func (p *fakePlace) Selected() string   { return "default" }
func (p *fakePlace) View() view.Options { return view.Options{Out: io.Discard} }

func (p *fakePlace) Workspaces(context.Context) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for name := range p.states {
		all = append(all, name)
	}
	return all, nil
}

func (p *fakePlace) Read(_ context.Context, workspace string) (Reading, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	return p.states[workspace], p.err
}

func (p *fakePlace) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reads
}

func (p *fakePlace) set(workspace string, s *state.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.states[workspace] = Reading{Snapshot: s}
}

func (p *fakePlace) History(context.Context, string) (history.Historian, error) {
	if p.past == nil {
		return nil, history.ErrNoHistory
	}
	return p, nil
}

func (p *fakePlace) List(context.Context) ([]history.Former, error) { return p.past, nil }

func (p *fakePlace) Snapshot(_ context.Context, id string) ([]byte, error) {
	st := p.stored[id]
	if st == nil {
		return nil, history.ErrNoRevision
	}
	var b bytes.Buffer
	err := st.Encode(&b)
	return b.Bytes(), err
}

func (p *fakePlace) Schemas(context.Context, *state.State) (tfjson.Schemas, string) {
	return schemas, ""
}

// fakePlans are plans in memory.
type fakePlans map[string]*Plan

func (fakePlans) Folder() string { return "plans" }

func (f fakePlans) List(context.Context) ([]PlanFile, error) {
	var all []PlanFile
	for _, p := range f {
		all = append(all, p.PlanFile)
	}
	slices.SortFunc(all, func(a, b PlanFile) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func (f fakePlans) Open(_ context.Context, name string) (*Plan, error) {
	if p := f[name]; p != nil {
		return p, nil
	}
	return nil, fs.ErrNotExist
}

// planOf returns a saved plan that updates an object.
func planOf(name, value, secret string) *Plan {
	side := func(in string) plan.Value {
		return plan.Value{Value: cty.ObjectVal(map[string]cty.Value{"in": cty.StringVal(in),
			"secret": cty.StringVal(secret)})}
	}
	c := &plan.Change{Object: object("x", "k"), Provider: &addr.AbsProviderConfig{Provider: source},
		Action: plan.Update, Before: side("old " + value), After: side(value), Type: schema.ImpliedType()}
	return &Plan{PlanFile: PlanFile{Name: name, Size: 4000, Modified: time.Unix(1e9, 0)}, Hash: "sha256:1234",
		Schemas: schemas, Plan: &plan.Plan{Workspace: "default", Created: time.Unix(1e9, 0), Changes: []*plan.Change{c},
			Steps: []plan.Step{{Kind: plan.Write, Resource: c.Object.Instance.AbsResource(), Changes: []int{0}}},
			Base:  stateOf(3, "lineage", "old "+value, secret, "k")}}
}

// fakeRuns are runs in memory.
type fakeRuns struct {
	mu       sync.Mutex
	runs     []Run
	version  int
	approved []string
	checked  int
}

func (f *fakeRuns) List(context.Context) ([]Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.runs), nil
}

func (f *fakeRuns) Run(_ context.Context, id string) (*Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.runs {
		if r.ID == id {
			return &r, nil
		}
	}
	return nil, nil
}

func (f *fakeRuns) Version(context.Context, string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprint(f.version), nil
}

func (f *fakeRuns) change(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	f.version++
}

func (f *fakeRuns) Approve(_ context.Context, name, hash, by string) (string, error) {
	if hash != "sha256:1234" {
		return "", &RefusedError{"The file of the plan has changed."}
	}
	f.change(func() {
		f.approved = append(f.approved, name+" "+hash)
		f.runs = append(f.runs, Run{ID: "r1", Title: "Apply " + name, By: by, Started: time.Unix(1e9, 0),
			Log: "The run begins.\n"})
	})
	return "r1", nil
}

func (f *fakeRuns) Check(context.Context, string) (string, error) {
	f.change(func() { f.checked++ })
	return "r1", nil
}

func (f *fakeRuns) effects() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.approved) + f.checked
}

// fakeDrift is a report in memory.
type fakeDrift []byte

func (f fakeDrift) Last(context.Context) ([]byte, time.Time, error) { return f, time.Unix(1e9, 0), nil }

const (
	linkToken   = "token-of-the-link-0123456789"
	rightsToken = "token-for-rights-0123456789"
)

// everything returns options with a source of each kind, in which the texts are value and the secrets secret.
func everything(value, secret string) Options {
	reading := Reading{Snapshot: &state.Snapshot{State: stateOf(3, "lineage"+value, value, secret, "k", "z"+value),
		InFlight: []state.InFlight{{Intent: state.Intent{ID: "1" + value, Object: object("x", value),
			Action: state.ActionCreate, Started: time.Unix(1e9, 0), Planned: json.RawMessage(`{"secret":"` + secret +
				`"}`)}, Run: state.RunInfo{ID: "run" + value}}},
		Unfolded: []state.Unfolded{{Op: "2" + value, Run: state.RunInfo{ID: "u" + value, Command: value}, Why: value}},
		Running:  &state.RunInfo{ID: "run" + value, Command: "apply" + value, Started: time.Unix(1e9, 0)}},
		Holder: &state.LockInfo{ID: value, Who: "me" + value, Operation: state.Operation("Apply" + value)}}
	p := &fakePlace{where: "local" + value, states: map[string]Reading{"default": reading, "other": {
		Snapshot: &state.Snapshot{}, Unknown: "unknown" + value}}}
	revision := history.Revision{Who: "me" + value, Commit: "c" + value, Run: state.RunInfo{Command: "apply" + value}}
	p.past = []history.Former{{ID: "2", Serial: 3, Revision: revision}, {ID: "1", Foreign: true}}
	p.stored = map[string]*state.State{"2": reading.Snapshot.State, "1": stateOf(1, "l", value, secret, "gone"+value)}
	broken := &fakePlace{name: "unit", where: value, states: map[string]Reading{"default": {}},
		err: errors.New("cannot be reached: " + value)}
	run := Run{ID: "r0", Title: "Apply" + value, By: "me" + value, Started: time.Unix(1e9, 0), Ended: time.Unix(1e9, 0),
		Log: "log" + value, Operations: []Operation{{Address: "a" + value, Action: "create", Ended: true},
			{Address: "b"}}}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	drift := fmt.Sprintf(`{"format_version":"1.0","objects":3,"drifted":[{"address":%[1]s,"gone":true},{"address":"a",
		"differences":[{"path":%[1]s,"before":%[1]s,"after":{"a":%[1]s}},{"path":"b","before":"copy of %[2]s"},{"path":"c",
		"sensitive":true}]}],"accepted":[{"address":"d","differences":[{"path":"e"}],"acceptance":{"reason":%[1]s,
		"until":%[1]s}}],"unused":[{"objects":%[1]s,"reason":%[1]s,"until":"x"}]}`, text, secret)
	return Options{Title: "Tombolo", Version: "1", Prefix: "/p", Access: Access{Token: linkToken, Rights: rightsToken},
		Host:   func(host string) bool { return strings.HasPrefix(host, "127.0.0.1:") },
		Places: []Place{p, broken}, Plans: fakePlans{"p.plan": planOf("p.plan", value, secret)},
		Runs: &fakeRuns{runs: []Run{run}}, Drift: fakeDrift(drift), Allow: []Right{Approve, Check},
		Every: 10 * time.Millisecond}
}

// client is a browser without scripts.
type client struct {
	t      testing.TB
	server *httptest.Server
	http   *http.Client
}

// serving starts a server and returns it with a client without a session.
func serving(t testing.TB, o Options) (*Server, *client) {
	t.Helper()
	s := New(o)
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Stop()
		server.Close()
	})
	return s, newClient(t, server)
}

func newClient(t testing.TB, server *httptest.Server) *client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &client{t, server, &http.Client{Jar: jar}}
}

// do sends a request, with the origin of the server unless headers says otherwise, and returns the status and the page.
func (c *client) do(method, path string, form url.Values, headers ...string) (int, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		c.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", c.server.URL)
	}
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			r.Host = headers[i+1]
		case headers[i+1] == "":
			r.Header.Del(headers[i])
		default:
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func (c *client) get(path string) string {
	c.t.Helper()
	status, body := c.do(http.MethodGet, path, nil)
	if status != http.StatusOK {
		c.t.Fatalf("%s: status %d\n%s", path, status, body)
	}
	return body
}

func (c *client) login() *client {
	c.t.Helper()
	if status, body := c.do(http.MethodPost, "/p/login", url.Values{"token": {linkToken}}); status != http.StatusOK {
		c.t.Fatalf("the login answers %d\n%s", status, body)
	}
	return c
}

var csrfInput = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// csrf returns the token for the forms of the session.
func (c *client) csrf() string {
	c.t.Helper()
	found := csrfInput.FindStringSubmatch(c.get("/p/"))
	if found == nil {
		c.t.Fatal("the page has no form")
	}
	return found[1]
}

// links returns the addresses of all links of a page.
func links(t testing.TB, page string) (all []string) {
	t.Helper()
	for _, e := range elements(t, page) {
		if e.Data == "a" {
			all = append(all, attribute(e, "href"))
		}
	}
	return all
}

// elements returns the elements of a page as a browser parses it.
func elements(t testing.TB, page string) (all []*html.Node) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			all = append(all, n)
		}
	}
	return all
}

func attribute(e *html.Node, name string) string {
	for _, a := range e.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// crawl returns all pages that links lead to, by address.
func (c *client) crawl() map[string]string {
	c.t.Helper()
	found := map[string]string{}
	for queue := []string{"/p/"}; len(queue) > 0; {
		at := queue[0]
		queue = queue[1:]
		if _, known := found[at]; known || strings.HasPrefix(at, "#") {
			continue
		}
		_, page := c.do(http.MethodGet, at, nil)
		found[at] = page
		if !strings.Contains(at, "/report") {
			queue = append(queue, links(c.t, page)...)
		}
	}
	return found
}
