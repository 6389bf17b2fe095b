package applying_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/applying"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/host"
	"github.com/tombolo-iac/tombolo/internal/patience"
	"github.com/tombolo-iac/tombolo/internal/planning"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// history is the common list of operations of the journal and the provider, in order.
type history struct {
	mu    sync.Mutex
	lines []string
}

func (h *history) add(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

func (h *history) index(line string) int {
	for i, l := range h.lines {
		if l == line {
			return i
		}
	}
	return -1
}

var labBlock = &provider.Block{Attributes: map[string]*provider.Attribute{
	"id": {Type: cty.String, Computed: true}, "name": {Type: cty.String, Required: true},
	"value": {Type: cty.String, Optional: true}, "size": {Type: cty.Number, Computed: true},
	"token": {Type: cty.String, Optional: true, WriteOnly: true},
}}

// lab is a provider whose behaviour is determined by the name of the object.
type lab struct {
	provider.Base
	h      *history
	answer map[string]func(provider.ApplyRequest) provider.ApplyResponse
}

func (l *lab) Schema(context.Context) (*provider.Schema, diag.List) {
	return &provider.Schema{Provider: &provider.Block{}, Resources: map[string]*provider.ResourceType{
		"lab_thing": {Block: labBlock}}}, nil
}

func (l *lab) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return provider.DecodeStored(&provider.ResourceType{Block: labBlock}, req)
}

func (l *lab) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	vals := req.Proposed.AsValueMap()
	if req.Prior.IsNull() {
		vals["id"] = cty.UnknownVal(cty.String)
	}
	if req.Prior.IsNull() || !req.Proposed.RawEquals(req.Prior) {
		vals["size"] = cty.UnknownVal(cty.Number)
	}
	return provider.PlanResponse{Planned: cty.ObjectVal(vals)}
}

func (l *lab) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if req.Planned.IsNull() {
		name := req.Prior.GetAttr("name").AsString()
		l.h.add("delete %s", name)
		if f := l.answer["delete "+name]; f != nil {
			return f(req)
		}
		return provider.ApplyResponse{State: req.Planned}
	}
	name := req.Planned.GetAttr("name").AsString()
	l.h.add("apply %s", name)
	if f := l.answer[name]; f != nil {
		return f(req)
	}
	return provider.ApplyResponse{State: done(req)}
}

// done returns the planned object with its unknown attributes filled in.
func done(req provider.ApplyRequest) cty.Value {
	vals := req.Planned.AsValueMap()
	if !vals["id"].IsKnown() {
		vals["id"] = cty.StringVal("id-" + vals["name"].AsString())
	}
	if !vals["size"].IsKnown() {
		vals["size"] = cty.NumberIntVal(1)
	}
	return cty.ObjectVal(vals)
}

// watched records writes to the journal, and optionally breaks it after a number of records.
type watched struct {
	state.Journal
	h     *history
	names map[string]string
	mu    sync.Mutex
	left  int // operations until the journal breaks; negative means never
}

func (w *watched) spend() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 {
		return errors.New("no space left on device")
	}
	w.left--
	return nil
}

func (w *watched) Intent(i state.Intent) error {
	if err := w.spend(); err != nil {
		return err
	}
	w.mu.Lock()
	w.names[i.ID] = i.Object.String()
	w.mu.Unlock()
	err := w.Journal.Intent(i)
	w.h.add("intent %s %s", i.Action, i.Object)
	return err
}

func (w *watched) Result(op string, edits ...state.Edit) error {
	if err := w.spend(); err != nil {
		return err
	}
	err := w.Journal.Result(op, edits...)
	w.mu.Lock()
	name := w.names[op]
	w.mu.Unlock()
	w.h.add("result %s", name)
	return err
}

// site is a state with a provider, on which tests run plan and apply.
type site struct {
	t      *testing.T
	h      *history
	lab    *lab
	store  state.Store
	breaks int
	gate   *patience.Gate
	waves  []applying.Wave
	slots  int             // calls at once while applying; 0 means 4
	until  context.Context // nothing begins after its end; nil means that it does not end
}

func newSite(t *testing.T) *site {
	h := &history{}
	return &site{t: t, h: h, lab: &lab{h: h, answer: map[string]func(provider.ApplyRequest) provider.ApplyResponse{}},
		store: mem.New(), breaks: -1}
}

func (s *site) state() *state.State {
	ws, err := s.store.Workspace(state.DefaultWorkspace)
	if err != nil {
		s.t.Fatal(err)
	}
	snapshot, err := ws.Read(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	return snapshot.State
}

// run plans and applies a configuration.
func (s *site) run(src string) (*plan.Plan, applying.Counts, diag.List) {
	s.t.Helper()
	s.h.lines = nil
	ctx := context.Background()
	cfg, diags := config.Load(ctx, config.Options{
		Files: config.SnapshotFiles(map[string][]byte{"main.tf": []byte(src)}), LanguageVersion: state.LanguageVersion})
	if diags.HasErrors() {
		s.t.Fatal(diags.Err())
	}
	registry := host.NewRegistry(context.Background(), map[addr.Provider]provider.Factory{
		addr.DefaultProvider("lab"): func(context.Context) (provider.Provider, error) { return s.lab, nil },
	})
	prog, diags := linking.New(cfg, registry)
	if diags.HasErrors() {
		s.t.Fatal(diags.Err())
	}
	ws, err := s.store.Workspace(state.DefaultWorkspace)
	if err != nil {
		s.t.Fatal(err)
	}
	session, err := ws.Lock(ctx, state.LockRequest{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer session.Unlock()
	p, diags := planning.Run(ctx, ctx, prog, session.Snapshot().State, registry.NewPool(), planning.Options{
		Settings:   settings(funcs.Options{Pure: true}, nil),
		Now:        time.Unix(0, 0),
		DeposedKey: func() addr.DeposedKey { return "00000001" },
	})
	if diags.HasErrors() {
		s.t.Fatal(diags.Err())
	}
	journal, err := session.Begin(ctx, state.RunInfo{ID: "run"})
	if err != nil {
		s.t.Fatal(err)
	}
	w := &watched{Journal: journal, h: s.h, names: map[string]string{}, left: s.breaks}
	set := settings(funcs.Options{}, s.gate)
	if s.slots > 0 {
		set.Parallelism = s.slots
	}
	until := ctx
	if s.until != nil {
		until = s.until
	}
	counts, diags := applying.Run(until, ctx, prog, p, registry.NewPool(), w, applying.Options{
		Settings: set, RunID: "run", Waves: s.waves})
	if err := journal.Close(ctx); err != nil {
		s.t.Fatal(err)
	}
	return p, counts, diags
}

// settings returns the settings of a walk with these functions.
func settings(o funcs.Options, gate *patience.Gate) access.Settings {
	return access.Settings{Functions: eval.Functions{Table: funcs.Table(o)}, Events: event.Discard, Parallelism: 4,
		Gate: gate}
}

func (s *site) object(address string) *state.Object {
	s.t.Helper()
	a, diags := addr.ParseInstance(address)
	if diags.HasErrors() {
		s.t.Fatal(diags.Err())
	}
	return s.state().Object(addr.Object{Instance: a})
}

const chain = `
resource "lab_thing" "a" { name = "a" }
resource "lab_thing" "b" {
  name  = "b"
  value = lab_thing.a.id
}
resource "lab_thing" "c" {
  count = 3
  name  = "c${count.index}"
  value = lab_thing.b.value
}
`

// Invariant 1.
func TestApplyPerformsExactlyThePlansActionsEachOnceInTheirOrder(t *testing.T) {
	s := newSite(t)
	p, counts, diags := s.run(chain)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if counts.Added != 5 || len(p.Changes) != 5 {
		t.Fatalf("%d added of %d changes, want 5 of 5", counts.Added, len(p.Changes))
	}
	for _, name := range []string{"a", "b", "c0", "c1", "c2"} {
		n := strings.Count(strings.Join(s.h.lines, "\n")+"\n", "apply "+name+"\n")
		if n != 1 {
			t.Errorf("%s was applied %d times", name, n)
		}
	}
	if s.h.index("apply a") > s.h.index("apply b") || s.h.index("apply b") > s.h.index("apply c1") {
		t.Errorf("order: %v", s.h.lines)
	}
	if _, counts, _ := s.run(chain); counts != (applying.Counts{}) {
		t.Errorf("the second run did %+v, want nothing", counts)
	}
	if _, counts, _ := s.run(`# nothing`); counts.Destroyed != 5 {
		t.Errorf("destroyed %d, want 5", counts.Destroyed)
	}
	if s.h.index("delete b") < s.h.index("delete c2") || s.h.index("delete a") < s.h.index("delete b") {
		t.Errorf("order of deletions: %v", s.h.lines)
	}
	if !s.state().IsEmpty() {
		t.Error("the state is not empty")
	}
}

// Invariant 2.
func TestIntentIsDurableBeforeTheCallAndResultBeforeDependents(t *testing.T) {
	s := newSite(t)
	if _, _, diags := s.run(chain); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	order := []string{"intent create lab_thing.a", "apply a", "result lab_thing.a", "intent create lab_thing.b",
		"apply b", "result lab_thing.b", "apply c0"}
	for i := 1; i < len(order); i++ {
		if before, after := s.h.index(order[i-1]), s.h.index(order[i]); before < 0 || before > after {
			t.Errorf("%q must come before %q: %v", order[i-1], order[i], s.h.lines)
		}
	}
}

// Invariant 6.
func TestFailedCreationWithAnObjectIsStoredAsTaintedAndReplaced(t *testing.T) {
	s := newSite(t)
	s.lab.answer["a"] = func(req provider.ApplyRequest) provider.ApplyResponse {
		vals := req.Planned.AsValueMap()
		vals["id"], vals["size"] = cty.StringVal("half"), cty.NullVal(cty.Number)
		return provider.ApplyResponse{State: cty.ObjectVal(vals), Diagnostics: diag.List{}.Errorf(nil, "Half way",
			"The object exists but is not whole.")}
	}
	_, _, diags := s.run(chain)
	if !diags.HasErrors() || diags[0].Address != "lab_thing.a" {
		t.Fatalf("diagnostics %v", diags)
	}
	o := s.object("lab_thing.a")
	if o == nil || o.Status != state.Tainted || !strings.Contains(string(o.Attributes), `"half"`) {
		t.Fatalf("stored %+v, want the half object as tainted", o)
	}
	if s.object("lab_thing.b") != nil || s.h.index("apply b") >= 0 {
		t.Error("a dependent was applied after the failure")
	}
	delete(s.lab.answer, "a")
	p, counts, diags := s.run(chain)
	if diags.HasErrors() || counts.Added != 5 || counts.Destroyed != 1 ||
		p.Changes[0].Reason != plan.ReplaceBecauseTainted {
		t.Errorf("counts %+v, diagnostics %v", counts, diags)
	}
}

func TestFailedUpdateKeepsTheReturnedObject(t *testing.T) {
	s := newSite(t)
	s.run(`resource "lab_thing" "a" { name = "a" }`)
	s.lab.answer["a"] = func(req provider.ApplyRequest) provider.ApplyResponse {
		return provider.ApplyResponse{State: req.Prior, Diagnostics: diag.List{}.Errorf(nil, "Quota exceeded", "No.")}
	}
	_, _, diags := s.run("resource \"lab_thing\" \"a\" {\n  name  = \"a\"\n  value = \"new\"\n}")
	if o := s.object("lab_thing.a"); !diags.HasErrors() || o == nil || o.Status != state.Ready ||
		strings.Contains(string(o.Attributes), "new") {
		t.Errorf("stored %+v, diagnostics %v", o, diags)
	}
}

func TestFailedDeletionKeepsTheObject(t *testing.T) {
	for title, answer := range map[string]cty.Value{
		"no object": cty.NilVal, "a null object": cty.NullVal(labBlock.ImpliedType())} {
		s := newSite(t)
		s.run(`resource "lab_thing" "a" { name = "a" }`)
		s.lab.answer = map[string]func(provider.ApplyRequest) provider.ApplyResponse{
			"delete a": func(provider.ApplyRequest) provider.ApplyResponse {
				return provider.ApplyResponse{State: answer, Diagnostics: diag.List{}.Errorf(nil, "Forbidden",
					"You may not delete this.")}
			}}
		if _, _, diags := s.run(""); !diags.HasErrors() {
			t.Errorf("%s: the failure was not reported", title)
		}
		if s.object("lab_thing.a") == nil {
			t.Errorf("%s: the object is lost", title)
		}
	}
}

// Invariant 4.
func TestInvalidResponsesNameProviderObjectAndAttribute(t *testing.T) {
	change := func(name string, v cty.Value) func(provider.ApplyRequest) provider.ApplyResponse {
		return func(req provider.ApplyRequest) provider.ApplyResponse {
			vals := done(req).AsValueMap()
			vals[name] = v
			return provider.ApplyResponse{State: cty.ObjectVal(vals)}
		}
	}
	for name, answer := range map[string]func(provider.ApplyRequest) provider.ApplyResponse{
		"other value":   change("name", cty.StringVal("other")),
		"wrong type":    change("name", cty.NumberIntVal(1)),
		"still unknown": change("name", cty.UnknownVal(cty.String)),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.lab.answer["a"] = answer
			_, _, diags := s.run(`resource "lab_thing" "a" { name = "a" }`)
			text := fmt.Sprint(diags.Err())
			for _, want := range []string{"hashicorp/lab", "lab_thing.a", "name"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in: %s", want, text)
				}
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		s := newSite(t)
		s.lab.answer["a"] = func(provider.ApplyRequest) provider.ApplyResponse { return provider.ApplyResponse{} }
		_, _, diags := s.run(`resource "lab_thing" "a" { name = "a" }`)
		if !strings.Contains(fmt.Sprint(diags.Err()), "lab_thing.a") || s.object("lab_thing.a") != nil {
			t.Errorf("diagnostics %v", diags)
		}
	})
}

// TestWriteOnlyValuesInResponsesAreErrors uses a provider that returns a value for a write-only attribute in
// every kind of change, with and without its own error, in the strict and in the legacy type system.
func TestWriteOnlyValuesInResponsesAreErrors(t *testing.T) {
	const before = `resource "lab_thing" "a" { name = "a" }`
	for name, c := range map[string]struct{ before, config, answers string }{
		"create": {"", before, "a"},
		"update": {before, "resource \"lab_thing\" \"a\" {\n  name  = \"a\"\n  value = \"new\"\n}", "a"},
		"delete": {before, "", "delete a"},
	} {
		for way := range 4 {
			legacy, fails := way&1 > 0, way&2 > 0
			t.Run(fmt.Sprintf("%s, legacy %t, fails %t", name, legacy, fails), func(t *testing.T) {
				s := newSite(t)
				s.run(c.before)
				s.lab.answer[c.answers] = func(req provider.ApplyRequest) provider.ApplyResponse {
					if req.Planned.IsNull() {
						req.Planned = req.Prior
					}
					vals := done(req).AsValueMap()
					vals["token"] = cty.StringVal("hush")
					resp := provider.ApplyResponse{State: cty.ObjectVal(vals), LegacyTypeSystem: legacy}
					if fails {
						resp.Diagnostics = diag.List{}.Errorf(nil, "Forbidden", "No.")
					}
					return resp
				}
				_, _, diags := s.run(c.config)
				text := fmt.Sprint(diags.Err())
				for _, want := range []string{"hashicorp/lab", "lab_thing.a", ".token: the attribute is write-only"} {
					if !strings.Contains(text, want) {
						t.Errorf("%q is not in: %s", want, text)
					}
				}
				switch o := s.object("lab_thing.a"); {
				case o == nil:
					t.Error("the object is lost")
				case strings.Contains(string(o.Attributes), "hush") || strings.Contains(text, "hush"):
					t.Errorf("the value is kept or shown: %s; %s", o.Attributes, text)
				}
			})
		}
	}
}

func TestAfterTheFirstJournalErrorNothingNewStarts(t *testing.T) {
	s := newSite(t)
	s.breaks = 3 // intent and result of a, intent of b
	_, _, diags := s.run(chain)
	if !strings.Contains(fmt.Sprint(diags.Err()), "no space left on device") {
		t.Errorf("diagnostics %v", diags)
	}
	if s.h.index("apply c0") >= 0 {
		t.Errorf("an operation started after the journal broke: %v", s.h.lines)
	}
}

func TestInterruptAwaitsWhatRunsAndStartsNothingNew(t *testing.T) {
	s := newSite(t)
	ctx, cancel := context.WithCancel(context.Background())
	s.lab.answer["a"] = func(req provider.ApplyRequest) provider.ApplyResponse {
		cancel()
		time.Sleep(20 * time.Millisecond)
		return provider.ApplyResponse{State: done(req)}
	}
	cfg, _ := config.Load(ctx, config.Options{Files: config.SnapshotFiles(map[string][]byte{"main.tf": []byte(chain)}),
		LanguageVersion: state.LanguageVersion})
	registry := host.NewRegistry(context.Background(), map[addr.Provider]provider.Factory{
		addr.DefaultProvider("lab"): func(context.Context) (provider.Provider, error) { return s.lab, nil }})
	prog, _ := linking.New(cfg, registry)
	ws, _ := s.store.Workspace(state.DefaultWorkspace)
	session, err := ws.Lock(context.Background(), state.LockRequest{})
	if err != nil {
		t.Fatal(err)
	}
	background := context.Background()
	p, _ := planning.Run(background, background, prog, nil, registry.NewPool(), planning.Options{
		Settings:   settings(funcs.Options{}, nil),
		DeposedKey: func() addr.DeposedKey { return "00000001" }})
	journal, err := session.Begin(background, state.RunInfo{ID: "run"})
	if err != nil {
		t.Fatal(err)
	}
	_, diags := applying.Run(ctx, background, prog, p, registry.NewPool(), journal, applying.Options{
		Settings: settings(funcs.Options{}, nil),
		RunID:    "run"})
	if err := journal.Close(background); err != nil {
		t.Fatal(err)
	}
	if err := session.Unlock(); err != nil {
		t.Fatal(err)
	}
	if s.object("lab_thing.a") == nil || s.object("lab_thing.b") != nil || !strings.Contains(fmt.Sprint(diags.Err()),
		"interrupted") {
		t.Errorf("a: %v, b: %v, diagnostics %v", s.object("lab_thing.a"), s.object("lab_thing.b"), diags)
	}
}
