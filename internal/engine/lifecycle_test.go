package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

const worldHeader = `terraform {
  required_providers {
    world = { source = "tombolo/world" }
  }
}
`

// scene is a project with a fake remote system.
type scene struct {
	t      *testing.T
	dir    string
	world  *world.World
	events []event.Event
	// remember is the setting of the project.
	remember bool
}

func newScene(t *testing.T) *scene {
	t.Helper()
	dir := t.TempDir()
	w, err := world.Open(filepath.Join(dir, "world"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return &scene{t: t, dir: dir, world: w}
}

// run plans, and applies unless planOnly, with a configuration; the plan may be nil.
func (s *scene) run(config string, planOnly bool, options engine.PlanOptions) (*plan.Plan, *state.State, diag.List) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "main.tf"), []byte(worldHeader+config), 0o644); err != nil {
		s.t.Fatal(err)
	}
	events := make(chan event.Event, 10000)
	project, diags := engine.Load(context.Background(), engine.Options{
		Dir: s.dir, Providers: map[addr.Provider]provider.Factory{
			world.Addr(): world.Factory(world.Options{Dir: filepath.Join(s.dir, "world")})},
		Events:                 event.Func(func(e event.Event) { events <- e }),
		RememberPreventDestroy: s.remember,
	})
	if diags.HasErrors() {
		return nil, nil, diags
	}
	defer project.Close()
	run, more := project.Open(context.Background(), engine.OpenOptions{})
	if diags = diags.Extend(more); diags.HasErrors() {
		return nil, nil, diags
	}
	defer run.Close(context.Background())
	p, more := run.Plan(context.Background(), options)
	if diags = diags.Extend(more); !diags.HasErrors() && !planOnly {
		_, more = run.Apply(context.Background(), p, nil)
		diags = diags.Extend(more)
	}
	s.events = nil
	for len(events) > 0 {
		s.events = append(s.events, <-events)
	}
	return p, run.State(), diags
}

// apply is run without errors.
func (s *scene) apply(config string) *state.State {
	s.t.Helper()
	_, st, diags := s.run(config, false, engine.PlanOptions{})
	if diags.HasErrors() {
		s.t.Fatal(diags.Err())
	}
	return st
}

// happened lists the ledger from an event on, in the form "KIND name".
func (s *scene) happened(from int) (list []string) {
	s.t.Helper()
	events, err := s.world.Events()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range events[from:] {
		if e.Kind != world.Begin {
			list = append(list, string(e.Kind)+" "+e.Name)
		}
	}
	return list
}

func (s *scene) mark() int {
	events, err := s.world.Events()
	if err != nil {
		s.t.Fatal(err)
	}
	return len(events)
}

// inOrder checks that the wanted lines occur in this order, perhaps with others between them.
func inOrder(t *testing.T, got []string, want ...string) {
	t.Helper()
	at := 0
	for _, line := range got {
		if at < len(want) && line == want[at] {
			at++
		}
	}
	if at < len(want) {
		t.Errorf("%q is missing, or comes too early, in:\n%s", want[at], strings.Join(got, "\n"))
	}
}

func (s *scene) stateText() string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, "terraform.tfstate"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func TestEphemeralResourcesAreOpenForTheirUsersOnly(t *testing.T) {
	s := newScene(t)
	config := `
ephemeral "world_lease" "l" { name = "l" }
ephemeral "world_lease" "second" { name = "second-${ephemeral.world_lease.l.token}" }
locals { token = ephemeral.world_lease.l.token }
resource "world_object" "user" {
  name     = "user"
  password = local.token
}
resource "world_object" "free" {
  name   = "free"
  behave = { delay = "4s" }
}
`
	s.apply(config)
	got := s.happened(0)
	inOrder(t, got, "OPENED l", "CLOSED l", "OPENED l", "CREATED user", "CLOSED l", "CREATED free")
	inOrder(t, got, "OPENED second-token-of-l", "CLOSED second-token-of-l", "OPENED second-token-of-l",
		"CLOSED second-token-of-l")
	if text := s.stateText(); strings.Contains(text, "token-of") || strings.Contains(text, `"type": "world_lease"`) {
		t.Errorf("the state knows of the lease:\n%s", text)
	}
	all, err := s.world.Exists()
	if err != nil || !slices.ContainsFunc(all, func(o world.Object) bool {
		return o.Name == "user" &&
			o.Password == "token-of-l"
	}) {
		t.Errorf("the token did not reach the object: %+v (%v)", all, err)
	}
	p, _, diags := s.run(config, true, engine.PlanOptions{})
	if diags.HasErrors() || p.Applyable() {
		t.Errorf("a second plan has something to do: %v", diags.Err())
	}
	from := s.mark()
	if _, _, diags := s.run(config, false, engine.PlanOptions{Mode: plan.Destroy}); diags.HasErrors() {
		t.Error(diags.Err())
	}
	for _, line := range s.happened(from) {
		if strings.HasPrefix(line, "OPENED") {
			t.Errorf("a destroy that needs no lease opens one: %s", line)
		}
	}
}

func TestEphemeralResourcesOfProvidersStayOpenUntilTheEnd(t *testing.T) {
	s := newScene(t)
	config := `
ephemeral "world_lease" "l" { name = "l" }
provider "world" { alias = "other" }
provider "world" {
  alias = "lent"
  delay = ephemeral.world_lease.l.token == "token-of-l" ? "1ms" : "2ms"
}
resource "world_object" "a" {
  provider = world.lent
  name     = "a"
}
`
	s.apply(config)
	inOrder(t, s.happened(0), "OPENED l", "CLOSED l", "OPENED l", "CREATED a", "CLOSED l")
	from := s.mark()
	if _, _, diags := s.run(config, false, engine.PlanOptions{Mode: plan.Destroy}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	inOrder(t, s.happened(from), "OPENED l", "CLOSED l", "OPENED l", "DELETED a", "CLOSED l")
}

func TestEphemeralResourcesWithUnknownConfigurationWait(t *testing.T) {
	s := newScene(t)
	s.apply(`
resource "world_object" "a" { name = "a" }
ephemeral "world_lease" "unknown" { name = world_object.a.id }
ephemeral "world_lease" "waits" {
  name       = "waits"
  depends_on = [world_object.a]
}
resource "world_object" "b" {
  name     = "b"
  password = "${ephemeral.world_lease.unknown.token}-${ephemeral.world_lease.waits.token}"
}
`)
	got := s.happened(0)
	inOrder(t, got, "CREATED a", "OPENED a-1", "CREATED b", "CLOSED a-1")
	inOrder(t, got, "CREATED a", "OPENED waits", "CREATED b", "CLOSED waits")
	if n := len(got); n != 6 {
		t.Errorf("%d events, want 6: each lease was to be opened once\n%s", n, strings.Join(got, "\n"))
	}
}

func TestEphemeralResourcesAreRenewedAndFailuresAreReported(t *testing.T) {
	s := newScene(t)
	s.apply(`
ephemeral "world_lease" "l" {
  name  = "l"
  renew = "20ms"
}
resource "world_object" "a" {
  name     = "a"
  password = ephemeral.world_lease.l.token
  behave   = { delay = "4s" }
}
`)
	inOrder(t, s.happened(0), "OPENED l", "RENEWED l", "CREATED a", "RENEWED l", "CLOSED l")
	for _, fail := range []string{"open", "renew", "close"} {
		s := newScene(t)
		_, _, diags := s.run(`
ephemeral "world_lease" "l" {
  name  = "l"
  renew = "1ms"
  fail  = "`+fail+`"
}
resource "world_object" "a" {
  name     = "a"
  password = ephemeral.world_lease.l.token
  behave   = { delay = "3s" }
}
`, false, engine.PlanOptions{})
		if !diags.HasErrors() || !strings.Contains(diags.Err().Error(), "told to fail") {
			t.Errorf("%s: got %v", fail, diags.Err())
		}
		open := 0
		for _, line := range s.happened(0) {
			switch line {
			case "OPENED l":
				open++
			case "CLOSED l":
				open--
			}
		}
		if open != 0 {
			t.Errorf("%s: %d leases were not given back", fail, open)
		}
	}
}

func TestEphemeralResourcesAreClosedAfterAFailure(t *testing.T) {
	s := newScene(t)
	_, _, diags := s.run(`
ephemeral "world_lease" "l" { name = "l" }
resource "world_object" "a" {
  name     = "a"
  password = ephemeral.world_lease.l.token
  behave   = { fail = "create" }
}
`, false, engine.PlanOptions{})
	if !diags.HasErrors() {
		t.Fatal("the creation was to fail")
	}
	inOrder(t, s.happened(0), "OPENED l", "CLOSED l", "OPENED l", "FAILED a", "CLOSED l")
}

func TestEphemeralValuesAreNotStored(t *testing.T) {
	for name, config := range map[string]string{
		"attribute": `resource "world_object" "a" { name = ephemeral.world_lease.l.token }`,
		"output":    `output "o" { value = ephemeral.world_lease.l.token }`,
		"count": `resource "world_object" "a" {
  count = length(ephemeral.world_lease.l.token)
  name  = "a"
}`,
	} {
		s := newScene(t)
		_, _, diags := s.run("ephemeral \"world_lease\" \"l\" { name = \"l\" }\n"+config, true, engine.PlanOptions{})
		if !diags.HasErrors() {
			t.Errorf("%s: an ephemeral value was accepted", name)
		} else if strings.Contains(diags.Err().Error(), "token-of") {
			t.Errorf("%s: the message shows the token: %v", name, diags.Err())
		}
	}
}

func TestEphemeralEventsNameTheObject(t *testing.T) {
	s := newScene(t)
	s.apply(`ephemeral "world_lease" "l" { name = "l" }`)
	var got []string
	for _, e := range s.events {
		switch e := e.(type) {
		case event.EphemeralStart:
			got = append(got, string(e.Op)+" "+e.Object.String())
		case event.EphemeralDone:
			if e.Failed || e.Elapsed > time.Minute {
				t.Errorf("%+v", e)
			}
		}
	}
	want := []string{"open ephemeral.world_lease.l", "close ephemeral.world_lease.l"}
	if !slices.Equal(got, slices.Concat(want, want)) {
		t.Errorf("got %q, want %q twice", got, want)
	}
}

func TestWriteOnlyValuesReachTheProviderAndNothingElse(t *testing.T) {
	s := newScene(t)
	config := func(password string) string {
		return "resource \"world_object\" \"a\" {\n  name     = \"a\"\n  value = \"v-" + password[:2] +
			"\"\n password = \"" + password + "\"\n}\n"
	}
	for _, password := range []string{"hush-hush", "pst-pst"} {
		p, _, diags := s.run(config(password), false, engine.PlanOptions{})
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		for _, c := range p.Changes {
			if v := c.After.Value.GetAttr("password"); !v.IsNull() {
				t.Errorf("the plan holds %#v", v)
			}
		}
		if strings.Contains(s.stateText(), password) {
			t.Errorf("the state holds the password:\n%s", s.stateText())
		}
		if o, err := s.world.Object("a-1"); err != nil || o == nil || o.Password != password {
			t.Errorf("the world has %+v (%v)", o, err)
		}
	}
}

func TestIdentitiesAreStoredAndPassedBack(t *testing.T) {
	s := newScene(t)
	config := `
resource "world_object" "a" {
  name  = "a"
  value = "VALUE"
}
`
	for _, value := range []string{"one", "two"} {
		st := s.apply(strings.ReplaceAll(config, "VALUE", value))
		a, diags := addr.ParseInstance("world_object.a")
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		if o := st.Object(addr.Object{Instance: a}); o == nil || string(o.Identity) != `{"id":"a-1"}` {
			t.Errorf("stored: %+v", o)
		}
	}
	p, _, diags := s.run(strings.ReplaceAll(config, "VALUE", "three"), true, engine.PlanOptions{})
	if diags.HasErrors() || len(p.Changes) != 1 || p.Changes[0].BeforeIdentity().GetAttr("id").AsString() != "a-1" ||
		!p.Changes[0].AfterIdentity().IsWhollyKnown() {
		t.Errorf("planned: %+v (%v)", p.Changes, diags.Err())
	}
}
