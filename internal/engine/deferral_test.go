package engine_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// hall is a provider whose things have to wait for others: an argument "after" names a thing that must exist first. It
// defers if the engine allows that, and fails otherwise. Its configuration can be required to be known.
type hall struct {
	provider.Base
	at      *hallState
	unknown bool // the host in the configuration is unknown
}

type hallState struct {
	mu     sync.Mutex
	exists map[string]bool
	done   []string
	// strict: a configuration with an unknown host fails "configure" or "plan".
	strict string
}

func (s *hallState) has(v cty.Value) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return v.IsNull() || v.IsKnown() && s.exists[v.AsString()]
}

func (s *hallState) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, fmt.Sprintf(format, args...))
}

func (hall) Schema(context.Context) (*provider.Schema, diag.List) {
	attrs := func(id bool) *provider.Block {
		b := &provider.Block{Attributes: map[string]*provider.Attribute{
			"name": {Type: cty.String, Optional: true}, "after": {Type: cty.String, Optional: true}}}
		if id {
			b.Attributes["id"] = &provider.Attribute{Type: cty.String, Computed: true}
		}
		return b
	}
	return &provider.Schema{
		Provider: &provider.Block{Attributes: map[string]*provider.Attribute{
			"host": {Type: cty.String, Optional: true}}},
		Resources: map[string]*provider.ResourceType{"hall_thing": {Block: attrs(true)}},
		Data:      map[string]*provider.ResourceType{"hall_thing": {Block: attrs(true)}},
		Ephemeral: map[string]*provider.ResourceType{"hall_thing": {Block: attrs(true)}},
		Actions:   map[string]*provider.ResourceType{"hall_say": {Block: attrs(false)}},
	}, nil
}

func (h *hall) Configure(_ context.Context, req provider.ConfigureRequest) (resp provider.ConfigureResponse) {
	h.unknown = !req.Config.GetAttr("host").IsKnown()
	if h.unknown && h.at.strict == "configure" {
		resp.Diagnostics = resp.Diagnostics.Errorf(nil, "No host", "The host is unknown.")
	}
	return resp
}

func (*hall) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	s, _ := hall{}.Schema(context.Background())
	return provider.DecodeStored(s.Resources[req.Type], req)
}

// waits answers for a configuration: whether it has to wait.
func (h *hall) waits(config cty.Value, client provider.ClientCapabilities) (reason provider.DeferredReason,
	diags diag.List) {
	switch {
	case h.unknown && h.at.strict == "plan":
		return reason, diags.Errorf(nil, "No host", "The host is unknown.")
	case h.at.has(config.GetAttr("after")):
	case client.DeferralAllowed:
		return provider.DeferredAbsentPrerequisite, nil
	default:
		diags = diags.Errorf(nil, "Too early", "It has to wait.")
	}
	return reason, diags
}

func (h *hall) Read(_ context.Context, req provider.ReadRequest) provider.ReadResponse {
	return provider.ReadResponse{State: req.Prior}
}

func (h *hall) Plan(_ context.Context, req provider.PlanRequest) (resp provider.PlanResponse) {
	if resp.Deferred, resp.Diagnostics = h.waits(req.Config, req.Client); req.Prior.IsNull() {
		vals := req.Proposed.AsValueMap()
		vals["id"] = cty.UnknownVal(cty.String)
		resp.Planned = cty.ObjectVal(vals)
		return resp
	}
	resp.Planned = req.Proposed
	return resp
}

func (h *hall) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if req.Planned.IsNull() {
		h.at.note("delete %s", req.Prior.GetAttr("name").AsString())
		return provider.ApplyResponse{State: req.Planned}
	}
	vals := req.Planned.AsValueMap()
	name := vals["name"].AsString()
	if req.Prior.IsNull() {
		vals["id"] = cty.StringVal("id-" + name)
		h.at.note("create %s", name)
	} else {
		h.at.note("update %s", name)
	}
	h.at.mu.Lock()
	defer h.at.mu.Unlock()
	h.at.exists[name] = true
	return provider.ApplyResponse{State: cty.ObjectVal(vals)}
}

func (h *hall) Import(_ context.Context, req provider.ImportRequest) provider.ImportResponse {
	return provider.ImportResponse{Imported: []provider.ImportedObject{{Type: req.Type, State: cty.ObjectVal(
		map[string]cty.Value{"id": cty.StringVal(req.ID), "name": cty.StringVal("imported"),
			"after": cty.NullVal(cty.String)})}}}
}

func (h *hall) filled(config cty.Value) cty.Value {
	vals := config.AsValueMap()
	vals["id"] = cty.StringVal("found")
	return cty.ObjectVal(vals)
}

func (h *hall) ReadData(_ context.Context, req provider.ReadDataRequest) (resp provider.ReadDataResponse) {
	resp.Deferred, resp.Diagnostics = h.waits(req.Config, req.Client)
	resp.State = h.filled(req.Config)
	return resp
}

func (h *hall) OpenEphemeral(_ context.Context, req provider.OpenEphemeralRequest) (
	resp provider.OpenEphemeralResponse) {
	resp.Deferred, resp.Diagnostics = h.waits(req.Config, req.Client)
	resp.Result = h.filled(req.Config)
	return resp
}

func (h *hall) PlanAction(_ context.Context, req provider.PlanActionRequest) (resp provider.PlanActionResponse) {
	resp.Deferred, resp.Diagnostics = h.waits(req.Config, req.Client)
	return resp
}

func (h *hall) InvokeAction(_ context.Context, req provider.InvokeActionRequest) provider.InvokeActionResponse {
	h.at.note("say %s", req.Config.GetAttr("name").AsString())
	return provider.InvokeActionResponse{}
}

// inHall returns the function that runs a configuration in a folder, in one round, and returns the plan.
func inHall(t *testing.T, at *hallState) func(config string, o engine.PlanOptions) (*plan.Plan, diag.List) {
	dir := t.TempDir()
	at.exists = map[string]bool{}
	source := addr.Provider{Host: addr.DefaultProviderHost, Namespace: "tombolo", Type: "hall"}
	return func(config string, o engine.PlanOptions) (*plan.Plan, diag.List) {
		t.Helper()
		config = "terraform {\n  required_providers {\n    hall = { source = \"tombolo/hall\" }\n  }\n}\n" + config
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		project, diags := engine.Load(context.Background(), engine.Options{Dir: dir,
			Providers: map[addr.Provider]provider.Factory{source: func(context.Context) (provider.Provider, error) {
				return &hall{at: at}, nil
			}}})
		if diags.HasErrors() {
			return nil, diags
		}
		defer project.Close()
		run, more := project.Open(context.Background(), engine.OpenOptions{})
		if diags = diags.Extend(more); diags.HasErrors() {
			return nil, diags
		}
		defer run.Close(context.Background())
		p, more := run.Plan(context.Background(), o)
		if diags = diags.Extend(more); !diags.HasErrors() {
			_, more = run.Apply(context.Background(), p, nil)
			diags = diags.Extend(more)
		}
		return p, diags
	}
}

// TestProvidersDefer runs configurations until nothing is deferred: each line of want is what a round did, and what it
// deferred.
func TestProvidersDefer(t *testing.T) {
	for name, tt := range map[string]struct{ strict, config, want string }{
		"a resource": {config: `
resource "hall_thing" "a" { name = "a" }
resource "hall_thing" "b" {
  name  = "b"
  after = "a"
}
resource "hall_thing" "c" { name = hall_thing.b.name }
output "b" { value = hall_thing.b.id }
`, want: `create a | hall_thing.b absent_prereq, hall_thing.c deferred_prereq, output.b deferred_prereq
create b, create b |`},
		"an instance": {config: `
resource "hall_thing" "a" {
  for_each = { x = null, y = "x" }
  name     = each.key
  after    = each.value
}
`, want: `create x | hall_thing.a["y"] absent_prereq
create y |`},
		"a data source": {config: `
resource "hall_thing" "a" { name = "a" }
data "hall_thing" "d" { after = "a" }
resource "hall_thing" "b" { name = "b ${data.hall_thing.d.id}" }
`, want: `create a | data.hall_thing.d absent_prereq, hall_thing.b deferred_prereq
create b found |`},
		"an ephemeral resource": {config: `
resource "hall_thing" "a" { name = "a" }
ephemeral "hall_thing" "e" { after = "a" }
provider "hall" {
  alias = "late"
  host  = ephemeral.hall_thing.e.id
}
resource "hall_thing" "b" {
  provider = hall.late
  name     = "b"
}
`, want: `create a | ephemeral.hall_thing.e absent_prereq, hall_thing.b deferred_prereq
create b |`},
		"a provider that needs its configuration": {strict: "configure", config: `
resource "hall_thing" "a" { name = "a" }
provider "hall" {
  alias = "late"
  host  = hall_thing.a.id
}
resource "hall_thing" "b" {
  provider = hall.late
  name     = "b"
}
resource "hall_thing" "c" { name = "c" }
`, want: `create a, create c | hall_thing.b provider_config_unknown
create b |`},
		"a provider that plans with a known configuration": {strict: "plan", config: `
resource "hall_thing" "a" { name = "a" }
provider "hall" {
  alias = "late"
  host  = hall_thing.a.id
}
resource "hall_thing" "b" {
  provider = hall.late
  name     = "b"
}
data "hall_thing" "d" { provider = hall.late }
`, want: `create a | data.hall_thing.d provider_config_unknown, hall_thing.b provider_config_unknown
create b |`},
		"a provider that plans with an unknown configuration": {config: `
resource "hall_thing" "a" { name = "a" }
provider "hall" {
  alias = "late"
  host  = hall_thing.a.id
}
resource "hall_thing" "b" {
  provider = hall.late
  name     = "b"
}
`, want: `create a, create b |`},
		"an import": {config: `
resource "hall_thing" "a" { name = "a" }
import {
  to = hall_thing.b
  id = hall_thing.a.id
}
resource "hall_thing" "b" { name = "b" }
`, want: `create a | hall_thing.b deferred_prereq, import of hall_thing.b resource_config_unknown
update b |`},
		"imports for each": {config: `
resource "hall_thing" "a" { name = "a" }
import {
  for_each = toset([hall_thing.a.id])
  to       = hall_thing.b[each.key]
  id       = each.key
}
resource "hall_thing" "b" {
  for_each = toset(["id-a"])
  name     = "b"
}
`, want: `create a | hall_thing.b[*] deferred_prereq, import of hall_thing.b[*] resource_config_unknown
update b |`},
		"an action": {config: `
resource "hall_thing" "a" { name = "a" }
action "hall_say" "s" {
  config {
    name  = "hello"
    after = "a"
  }
}
resource "hall_thing" "b" {
  name = "b"
  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.hall_say.s]
    }
  }
}
`, want: `create a | hall_thing.b deferred_prereq
create b, say hello |`},
		"an action that refers to unknown instances": {config: `
resource "hall_thing" "a" { name = "a" }
resource "hall_thing" "many" {
  for_each = toset([hall_thing.a.id])
  name     = each.key
}
action "hall_say" "s" {
  config { name = join(",", keys(hall_thing.many)) }
}
resource "hall_thing" "b" {
  name = "b"
  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.hall_say.s]
    }
  }
}
`, want: `create a | action.hall_say.s deferred_prereq, hall_thing.b deferred_prereq, hall_thing.many[*] instance_count_unknown
create b, create id-a, say id-a |`},
		"enabled": {config: `
resource "hall_thing" "a" { name = "a" }
resource "hall_thing" "on" {
  name = "on"
  lifecycle { enabled = hall_thing.a.id == "id-a" }
}
`, want: `create a | hall_thing.on instance_count_unknown
create on |`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := &hallState{strict: tt.strict}
			run := inHall(t, at)
			var got []string
			for range 10 {
				p, diags := run(tt.config, engine.PlanOptions{AllowDeferral: true})
				if diags.HasErrors() {
					t.Fatalf("%v\n%s", diags.Err(), strings.Join(got, "\n"))
				}
				var later []string
				for _, d := range p.Deferred {
					later = append(later, fmt.Sprint(d.Address, " ", d.Reason))
				}
				slices.Sort(at.done)
				line := strings.Join(at.done, ", ") + " | " + strings.Join(later, ", ")
				got, at.done = append(got, strings.TrimRight(line, " ")), nil
				if p.Complete != (len(p.Deferred) == 0) {
					t.Errorf("complete: %t, although it defers %v", p.Complete, later)
				}
				if len(p.Deferred) == 0 {
					break
				}
			}
			if all := strings.Join(got, "\n"); all != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", all, tt.want)
			}
			p, diags := run(tt.config, engine.PlanOptions{})
			if diags.HasErrors() || p.Applyable() || len(at.done) > 0 {
				t.Errorf("once everything exists, a plan is not empty: %v, %v", diags.Err(), at.done)
			}
			at.done = nil
			if _, diags := run(tt.config, engine.PlanOptions{Mode: plan.Destroy}); diags.HasErrors() {
				t.Errorf("destroy: %v", diags.Err())
			}
		})
	}
}

// Without permission, a deferral is an error as before.
func TestDeferralNeedsPermission(t *testing.T) {
	run := inHall(t, &hallState{})
	const config = "resource \"hall_thing\" \"a\" { after = \"none\" }\n"
	if _, diags := run(config, engine.PlanOptions{}); !slices.Contains(summaries(diags),
		"error hall_thing.a Too early") {
		t.Errorf("got %q", summaries(diags))
	}
	p, diags := run(config, engine.PlanOptions{AllowDeferral: true})
	if diags.HasErrors() || p.Applyable() || len(p.Deferred) != 1 {
		t.Fatalf("%v, deferred %v", diags.Err(), p.Deferred)
	}
	var done engine.Rounds
	if diags := done.Stuck(p); !diags.HasErrors() {
		t.Error("a plan that only defers makes progress")
	}
}

// What something deferred may still need is not destroyed, until that has been planned. A refresh-only plan and a
// destroy plan of a part of the rounds work.
func TestDeferredObjectsKeepTheirDependencies(t *testing.T) {
	at := &hallState{}
	run := inHall(t, at)
	const before = `
resource "hall_thing" "old" { name = "old" }
resource "hall_thing" "many" {
  for_each = toset(["m"])
  name     = "${each.key}${substr(hall_thing.old.name, 0, 0)}"
}
`
	const after = `
resource "hall_thing" "new" { name = "new" }
resource "hall_thing" "many" {
  for_each = toset([hall_thing.new.id])
  name     = each.key
}
`
	if _, diags := run(before, engine.PlanOptions{}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	at.done = nil
	p, diags := run(after, engine.PlanOptions{AllowDeferral: true})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	got := map[string]string{}
	for _, d := range p.Deferred {
		got[d.Address] = d.Why()
	}
	want := map[string]string{
		"hall_thing.many[*]": "its instances depend on values that are known only after apply",
		"hall_thing.old":     "kept for hall_thing.many[*]"}
	if !maps.Equal(got, want) || !slices.Equal(at.done, []string{"create new"}) {
		t.Errorf("deferred %v, done %v", got, at.done)
	}
	p, diags = run(after, engine.PlanOptions{AllowDeferral: true, Mode: plan.RefreshOnly})
	if diags.HasErrors() || p.Applyable() {
		t.Errorf("refresh-only: %v", diags.Err())
	}
	at.done = nil
	if _, diags = run(after, engine.PlanOptions{AllowDeferral: true}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	slices.Sort(at.done)
	if want := []string{"create id-new", "delete m", "delete old"}; !slices.Equal(at.done, want) {
		t.Errorf("done %v, want %v", at.done, want)
	}
}
