package tombolo_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

var hostileSeed = flag.Uint("hostile-seed", 0, "where the garbage of hostile providers begins")

// trapProvider is a provider with a trap in every method.
type trapProvider struct {
	*trap
	inner provider.Provider
}

// through calls a method, or springs the trap instead.
func through[R any](p trapProvider, method string, inner func() R) R {
	var got R
	switch p.step("Provider." + method) {
	case refuses:
		refused(reflect.ValueOf(&got).Elem())
	case nils:
	case garbles:
		h := fnv.New64a()
		fmt.Fprint(h, p.method, p.seed)
		garble(rand.New(rand.NewPCG(h.Sum64(), 1)), reflect.ValueOf(&got).Elem(), 4)
	default:
		return inner()
	}
	return got
}

// refused makes an answer an error: a list of problems, or a struct with one.
func refused(v reflect.Value) {
	list := reflect.ValueOf(diag.FromErr(errTrap))
	switch {
	case v.Type() == list.Type():
		v.Set(list)
	case v.Kind() == reflect.Struct:
		if field := v.FieldByName("Diagnostics"); field.IsValid() {
			field.Set(list)
		}
		if field := v.FieldByName("Err"); field.IsValid() {
			field.Set(reflect.ValueOf(&errTrap).Elem())
		}
	case v.Kind() == reflect.Interface:
		v.Set(reflect.ValueOf(&errTrap).Elem())
	}
}

// garble fills an answer at random: with values of other types, unknown or marked values, nil members and invalid
// texts.
func garble(rng *rand.Rand, v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case cty.Value:
		v.Set(reflect.ValueOf(values[rng.IntN(len(values))]))
		return
	case cty.Type:
		types := []cty.Type{cty.NilType, cty.String, cty.DynamicPseudoType, cty.List(cty.Bool)}
		v.Set(reflect.ValueOf(types[rng.IntN(len(types))]))
		return
	case cty.Path:
		v.Set(reflect.ValueOf([]cty.Path{nil, {nil}, cty.GetAttrPath("no").IndexInt(-1)}[rng.IntN(3)]))
		return
	case time.Time:
		v.Set(reflect.ValueOf([]time.Time{{}, time.Unix(0, 0), time.Now().Add(1 << 62)}[rng.IntN(3)]))
		return
	}
	if depth == 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"", "\x00\xff", "note", "a b\n${x}", strings.Repeat("x", 5000)}[rng.IntN(5)])
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt([]int64{0, -1, 3, 100}[rng.IntN(4)])
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint([]uint64{0, 1, 200}[rng.IntN(3)])
	case reflect.Pointer:
		if rng.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			garble(rng, v.Elem(), depth-1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rng.IntN(3), 3))
		for i := range v.Len() {
			garble(rng, v.Index(i), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rng.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			garble(rng, key, depth-1)
			garble(rng, value, depth-1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				garble(rng, v.Field(i), depth-1)
			}
		}
	}
}

var values = []cty.Value{cty.NilVal, cty.DynamicVal, cty.True, cty.NullVal(cty.DynamicPseudoType), cty.EmptyObjectVal,
	cty.NullVal(cty.String), cty.UnknownVal(cty.String), cty.StringVal("x").Mark("mine"), cty.ListValEmpty(cty.String),
	cty.ObjectVal(map[string]cty.Value{"id": cty.UnknownVal(cty.String)}),
	cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("1"), "text": cty.True, "more": cty.Zero}),
	cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("1").Mark(1), "text": cty.StringVal("t")}),
	cty.UnknownVal(cty.Object(map[string]cty.Type{"id": cty.String, "text": cty.String})),
	cty.NullVal(cty.Object(map[string]cty.Type{"id": cty.String, "text": cty.String}))}

func (p trapProvider) Schema(ctx context.Context) (*provider.Schema, diag.List) {
	type answer struct {
		Schema      *provider.Schema
		Diagnostics diag.List
	}
	got := through(p, "Schema", func() (a answer) {
		a.Schema, a.Diagnostics = p.inner.Schema(ctx)
		a.Schema.MoveResourceState = true
		return a
	})
	return got.Schema, got.Diagnostics
}

func (p trapProvider) ValidateConfig(ctx context.Context,
	r provider.ValidateConfigRequest) provider.ValidateConfigResponse {
	return through(p, "ValidateConfig", func() provider.ValidateConfigResponse {
		return p.inner.ValidateConfig(ctx, r)
	})
}

func (p trapProvider) ValidateResource(ctx context.Context, r provider.ValidateResourceRequest) diag.List {
	return through(p, "ValidateResource", func() diag.List { return p.inner.ValidateResource(ctx, r) })
}

func (p trapProvider) Configure(ctx context.Context, r provider.ConfigureRequest) provider.ConfigureResponse {
	return through(p, "Configure", func() provider.ConfigureResponse { return p.inner.Configure(ctx, r) })
}

func (p trapProvider) UpgradeState(ctx context.Context, r provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return through(p, "UpgradeState", func() provider.UpgradeStateResponse { return p.inner.UpgradeState(ctx, r) })
}

func (p trapProvider) UpgradeIdentity(ctx context.Context,
	r provider.UpgradeIdentityRequest) provider.UpgradeIdentityResponse {
	return through(p, "UpgradeIdentity", func() provider.UpgradeIdentityResponse {
		return p.inner.UpgradeIdentity(ctx, r)
	})
}

// MoveState returns a note with the input of an object of type terraform_data.
func (p trapProvider) MoveState(context.Context, provider.MoveStateRequest) provider.MoveStateResponse {
	return through(p, "MoveState", func() provider.MoveStateResponse {
		return provider.MoveStateResponse{State: cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("moved"),
			"text": cty.StringVal("m")})}
	})
}

func (p trapProvider) Import(ctx context.Context, r provider.ImportRequest) provider.ImportResponse {
	return through(p, "Import", func() provider.ImportResponse { return p.inner.Import(ctx, r) })
}

// Read records an object that a random answer happens to report as deleted: the state removes it, as it should.
func (p trapProvider) Read(ctx context.Context, r provider.ReadRequest) provider.ReadResponse {
	got := through(p, "Read", func() provider.ReadResponse { return p.inner.Read(ctx, r) })
	if got.State != cty.NilVal && got.State.IsNull() && !got.Diagnostics.HasErrors() {
		p.mu.Lock()
		p.gone = append(p.gone, r.Object.String())
		p.mu.Unlock()
	}
	return got
}

func (p trapProvider) Plan(ctx context.Context, r provider.PlanRequest) provider.PlanResponse {
	return through(p, "Plan", func() provider.PlanResponse { return p.inner.Plan(ctx, r) })
}

// Apply performs the request before the trap springs.
func (p trapProvider) Apply(ctx context.Context, r provider.ApplyRequest) provider.ApplyResponse {
	got := p.inner.Apply(ctx, r)
	return through(p, "Apply", func() provider.ApplyResponse { return got })
}

func (p trapProvider) GenerateConfig(ctx context.Context,
	r provider.GenerateConfigRequest) provider.GenerateConfigResponse {
	return through(p, "GenerateConfig", func() provider.GenerateConfigResponse {
		return p.inner.GenerateConfig(ctx, r)
	})
}

func (p trapProvider) List(ctx context.Context, r provider.ListRequest) provider.ListResponse {
	return through(p, "List", func() provider.ListResponse { return p.inner.List(ctx, r) })
}

func (p trapProvider) PlanAction(ctx context.Context, r provider.PlanActionRequest) provider.PlanActionResponse {
	return through(p, "PlanAction", func() provider.PlanActionResponse { return p.inner.PlanAction(ctx, r) })
}

func (p trapProvider) InvokeAction(ctx context.Context, r provider.InvokeActionRequest) provider.InvokeActionResponse {
	return through(p, "InvokeAction", func() provider.InvokeActionResponse { return p.inner.InvokeAction(ctx, r) })
}

func (p trapProvider) ReadData(ctx context.Context, r provider.ReadDataRequest) provider.ReadDataResponse {
	return through(p, "ReadData", func() provider.ReadDataResponse { return p.inner.ReadData(ctx, r) })
}

func (p trapProvider) OpenEphemeral(ctx context.Context,
	r provider.OpenEphemeralRequest) provider.OpenEphemeralResponse {
	return through(p, "OpenEphemeral", func() provider.OpenEphemeralResponse { return p.inner.OpenEphemeral(ctx, r) })
}

func (p trapProvider) RenewEphemeral(ctx context.Context,
	r provider.RenewEphemeralRequest) provider.RenewEphemeralResponse {
	return through(p, "RenewEphemeral", func() provider.RenewEphemeralResponse {
		return p.inner.RenewEphemeral(ctx, r)
	})
}

func (p trapProvider) CloseEphemeral(ctx context.Context, r provider.CloseEphemeralRequest) diag.List {
	return through(p, "CloseEphemeral", func() diag.List { return p.inner.CloseEphemeral(ctx, r) })
}

func (p trapProvider) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error) {
	type answer struct {
		Value cty.Value
		Err   error
	}
	got := through(p, "CallFunction", func() (a answer) {
		a.Value, a.Err = p.inner.CallFunction(ctx, name, args)
		return a
	})
	return got.Value, got.Err
}

func (p trapProvider) Stop(ctx context.Context) error {
	return through(p, "Stop", func() error { return p.inner.Stop(ctx) })
}

func (p trapProvider) Close() error { return through(p, "Close", p.inner.Close) }

// everything is a project that uses all features of a provider. It is applied repeatedly.
const (
	before     = `resource "terraform_data" "old" {}`
	everything = `
terraform {
  required_providers {
    note = { source = "example/note" }
  }
}
provider "note" {}
data "note" "d" { text = "d" }
ephemeral "note" "e" {}
provider "note" {
  alias  = "other"
  region = ephemeral.note.e.id
}
action "note" "s" {}
resource "note" "a" {
  provider = note.other
  text     = data.note.d.text
  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.note.s]
    }
  }
}
resource "note" "b" {
  provider = note.other
  text     = note.a.id
}
resource "note" "m" { text = "m" }
moved {
  from = terraform_data.old
  to   = note.m
}
import {
  to = note.i
  id = "n0"
}
resource "note" "i" {}
output "f" { value = provider::note::shout("x") }
`
	queries = `
list "note" "l" {
  provider = note
}
`
)

// full returns a provider with every feature.
func (s *service) full() *schema.Provider {
	p := s.provider()
	p.Schema = map[string]*schema.Schema{"region": {Type: schema.TypeString, Optional: true}}
	r := p.ResourcesMap["note"]
	text := &schema.Schema{Type: schema.TypeString, Optional: true}
	r.Identity = &schema.ResourceIdentity{SchemaFunc: func() map[string]*schema.Schema {
		return map[string]*schema.Schema{"id": {Type: schema.TypeString, RequiredForImport: true}}
	}}
	create := r.CreateContext
	r.CreateContext = func(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
		time.Sleep(time.Minute) // by the test's clock: ephemeral objects are renewed meanwhile
		return create(ctx, d, meta)
	}
	p.DataSourcesMap = map[string]*schema.Resource{"note": {Schema: map[string]*schema.Schema{"text": text},
		ReadContext: func(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
			d.SetId("d")
			return nil
		}}}
	renew := func(_ context.Context, d *schema.EphemeralData, _ any) diag.List {
		d.SetRenewAt(time.Now().Add(20 * time.Second))
		return nil
	}
	p.EphemeralResourcesMap = map[string]*schema.EphemeralResource{"note": {
		Schema: map[string]*schema.Schema{"id": {Type: schema.TypeString, Computed: true}},
		Open: func(ctx context.Context, d *schema.EphemeralData, meta any) diag.List {
			if err := d.Set("id", "e"); err != nil {
				return diag.FromErr(err)
			}
			return renew(ctx, d, meta)
		}, Renew: renew,
		Close: func(context.Context, *schema.EphemeralData, any) diag.List { return nil }}}
	p.ListResourcesMap = map[string]*schema.ListResource{"note": {
		List: func(_ context.Context, d *schema.ListData, _ any) diag.List {
			o := d.Object()
			o.SetId("n0")
			d.Found("n0", o)
			return nil
		}}}
	act := func(context.Context, *schema.ActionData, any) diag.List { return nil }
	p.ActionsMap = map[string]*schema.Action{"note": {Plan: act, Invoke: act}}
	p.Functions = map[string]*schema.Function{"shout": {Parameters: []schema.Parameter{{Name: "text",
		Type: schema.TypeString}}, Return: &schema.Schema{Type: schema.TypeString},
		Call: func(_ context.Context, args []any) (any, error) { return args[0].(string) + "!", nil }}}
	return p
}

var providerMethods = methodsOf(reflect.TypeFor[provider.Provider]())

// TestHostileProvidersLoseNothing makes the calls of every method of an in-process provider fail in every way, while a
// program validates, plans, applies, queries and cancels. Nothing hangs; only a panic of the provider reaches the
// caller, as a *diag.PanicError that names it; every created object is in the state, in the journal or in a problem;
// and afterwards everything works.
func TestHostileProvidersLoseNothing(t *testing.T) {
	reached := map[string]int{}
	testProviderTrap(t, &trap{}, reached)
	for _, method := range providerMethods {
		if reached[method] == 0 && method != "Provider.UpgradeIdentity" { // only for identities of another version
			t.Errorf("%s is not called", method)
		}
	}
	seed := uint32(*hostileSeed)
	for _, method := range slices.Sorted(maps.Keys(reached)) {
		for call := 1; call <= min(reached[method], 3); call++ {
			for _, does := range []misdeed{panics, exiting, refuses, nils, stalls, garbles, garbles, garbles, garbles} {
				if does == stalls && slices.Contains(locked, method) {
					continue
				}
				h := &trap{method: method, call: call, does: does}
				if does == garbles {
					seed++
					h.seed = seed
				}
				t.Run(fmt.Sprintf("%s/%d/%s/%d", method, call, does, h.seed), func(t *testing.T) {
					testProviderTrap(t, h, map[string]int{})
				})
			}
		}
	}
}

// locked are methods that are called under a mutex: the clock of package synctest stops while other goroutines wait for
// it. TestStartsThatDoNotReturnAreAbandoned covers them in real time.
var locked = []string{"Provider.Schema", "Provider.ValidateConfig", "Provider.Configure"}

// testProviderTrap runs a project whose provider has a trap.
func testProviderTrap(t *testing.T, h *trap, reached map[string]int) {
	first, second := projectIn(t, before), projectIn(t, everything)
	write(t, filepath.Join(second.Dir, "q.tfquery.hcl"), queries)
	synctest.Test(t, func(t *testing.T) {
		abort, end := context.WithCancel(context.Background())
		defer end()
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		h.calls, h.release = reached, make(chan struct{})
		notes := &service{notes: map[string]string{"n0": "", "moved": "m"}, fell: true}
		store := tombolo.MemoryStore()
		first.Store, second.Store, second.Abort, second.Query = store, store, abort, true
		var problems strings.Builder
		exercise(t, context.Background(), first, &problems)
		if h.does == stalls {
			defer time.AfterFunc(time.Hour, stop).Stop() // a user stops after an hour
			defer time.AfterFunc(time.Hour+time.Minute, end).Stop()
		}
		second.Events = event.Func(func(e event.Event) {
			if start, is := e.(event.OperationStart); is && start.Object.Instance.Resource.Name == "b" {
				stop() // cancels the rest
			}
		})
		start := func(context.Context) (provider.Provider, error) {
			return trapProvider{h, schema.New(notes.full())}, nil
		}
		second.Providers = map[string]provider.Factory{"example/note": start}
		exercise(t, ctx, second, &problems)
		exercise(t, context.Background(), second, &problems)
		close(h.release)
		synctest.Wait()
		h.method, second.Events, second.Abort = "", nil, nil
		checkNotes(t, second, notes, problems.String()+strings.Join(h.gone, " "))
	})
}

// exercise plans, applies and queries as far as it gets. After a panic of the provider the project is as usable as
// after an error.
func exercise(t *testing.T, ctx context.Context, o tombolo.Options, problems *strings.Builder) {
	reports := func(diags diag.List) bool {
		for _, d := range diags {
			fmt.Fprintln(problems, d.Error())
		}
		return diags.HasErrors()
	}
	project, diags := tombolo.Load(ctx, o)
	if reports(diags) {
		return
	}
	defer project.Close()
	safely := func(call func()) {
		defer func() {
			if value := recover(); value != nil {
				problem, is := value.(*diag.PanicError)
				text := fmt.Sprint(value)
				if !is || problem.Provider != "example/note" ||
					!strings.Contains(text, "trap in") && !strings.Contains(text, "Goexit") {
					t.Errorf("panic: %v", value)
				}
				fmt.Fprintln(problems, value)
			}
		}()
		call()
	}
	safely(func() { reports(project.Validate(ctx)) })
	run, diags := project.Open(ctx, tombolo.OpenOptions{})
	if reports(diags) {
		return
	}
	if o.Query {
		safely(func() {
			pl, diags := run.Plan(ctx, tombolo.PlanOptions{Invoke: "action.note.s"})
			if !reports(diags) {
				_, diags = run.Apply(ctx, pl, tombolo.ApplyOptions{})
				reports(diags)
			}
		})
	}
	safely(func() {
		pl, diags := run.Plan(ctx, tombolo.PlanOptions{})
		if !reports(diags) {
			_, diags = run.Apply(ctx, pl, tombolo.ApplyOptions{})
			reports(diags)
		}
	})
	if o.Query {
		safely(func() { _, diags := run.Query(ctx, tombolo.QueryOptions{GenerateConfig: true}); reports(diags) })
	}
	if diags := run.Close(context.WithoutCancel(ctx)); reports(diags) {
		t.Error(diags.Err())
	}
}

// checkNotes checks that each note is in the state or in a reported problem, and that the project works.
func checkNotes(t *testing.T, o tombolo.Options, notes *service, problems string) {
	project, diags := tombolo.Load(context.Background(), o)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer project.Close()
	run, diags := project.Open(context.Background(), tombolo.OpenOptions{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer run.Close(context.Background())
	for id, text := range notes.notes {
		at := "note.b"
		if text == "d" {
			at = "note.a"
		}
		if id != "n0" && id != "moved" && !strings.Contains(storedText(run), `"`+id+`"`) && !isOpen(run, at) &&
			!strings.Contains(problems, at) {
			t.Errorf("%s, which is %s, is forgotten; the problems were %s", id, at, problems)
		}
	}
	for _, open := range run.Interrupted() {
		diags := run.Recover(context.Background(), open.Object.Instance.String(), tombolo.Recovery{Retry: true})
		if diags.HasErrors() {
			t.Error(diags.Err())
		}
	}
	pl, diags := run.Plan(context.Background(), tombolo.PlanOptions{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	_, diags = run.Apply(context.Background(), pl, tombolo.ApplyOptions{})
	if err := diags.Err(); err != nil {
		t.Error(errors.Join(err, errors.New(problems)))
	}
}

func storedText(run *tombolo.Run) (all string) {
	for _, r := range run.State().Resources() {
		for _, i := range r.Instances {
			if i.Current != nil {
				all += string(i.Current.Attributes)
			}
			for _, d := range i.Deposed {
				all += string(d.Attributes)
			}
		}
	}
	return all
}

func isOpen(run *tombolo.Run, at string) bool {
	for _, f := range run.Interrupted() {
		if f.Object.Instance.String() == at {
			return true
		}
	}
	return false
}
