package wire

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// mirror records requests and returns prepared responses.
type mirror struct {
	schema *provider.Schema
	asked  any
	answer any
	err    error
	broken diag.List // diagnostics of Schema
	calls  []string
}

// put records a request and returns the response, which must be of the right type.
func put[T any](m *mirror, asked any) T {
	m.asked = asked
	answer, _ := m.answer.(T)
	return answer
}

func (m *mirror) Schema(context.Context) (*provider.Schema, diag.List) { return m.schema, m.broken }
func (m *mirror) ValidateConfig(_ context.Context, req provider.ValidateConfigRequest) provider.ValidateConfigResponse {
	return put[provider.ValidateConfigResponse](m, req)
}
func (m *mirror) ValidateResource(_ context.Context, req provider.ValidateResourceRequest) diag.List {
	return put[diag.List](m, req)
}
func (m *mirror) Configure(_ context.Context, req provider.ConfigureRequest) provider.ConfigureResponse {
	return put[provider.ConfigureResponse](m, req)
}
func (m *mirror) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return put[provider.UpgradeStateResponse](m, req)
}
func (m *mirror) UpgradeIdentity(_ context.Context,
	req provider.UpgradeIdentityRequest) provider.UpgradeIdentityResponse {
	return put[provider.UpgradeIdentityResponse](m, req)
}
func (m *mirror) MoveState(_ context.Context, req provider.MoveStateRequest) provider.MoveStateResponse {
	return put[provider.MoveStateResponse](m, req)
}
func (m *mirror) Import(_ context.Context, req provider.ImportRequest) provider.ImportResponse {
	return put[provider.ImportResponse](m, req)
}
func (m *mirror) Read(_ context.Context, req provider.ReadRequest) provider.ReadResponse {
	return put[provider.ReadResponse](m, req)
}
func (m *mirror) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	return put[provider.PlanResponse](m, req)
}
func (m *mirror) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	req.Partial = nil
	return put[provider.ApplyResponse](m, req)
}
func (m *mirror) ReadData(_ context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	return put[provider.ReadDataResponse](m, req)
}
func (m *mirror) OpenEphemeral(_ context.Context, req provider.OpenEphemeralRequest) provider.OpenEphemeralResponse {
	return put[provider.OpenEphemeralResponse](m, req)
}
func (m *mirror) RenewEphemeral(_ context.Context, req provider.RenewEphemeralRequest) provider.RenewEphemeralResponse {
	return put[provider.RenewEphemeralResponse](m, req)
}
func (m *mirror) CloseEphemeral(_ context.Context, req provider.CloseEphemeralRequest) diag.List {
	return put[diag.List](m, req)
}
func (m *mirror) CallFunction(_ context.Context, name string, args []cty.Value) (cty.Value, error) {
	return put[cty.Value](m, callOf{name, args}), m.err
}
func (m *mirror) GenerateConfig(_ context.Context, req provider.GenerateConfigRequest) provider.GenerateConfigResponse {
	return put[provider.GenerateConfigResponse](m, req)
}
func (m *mirror) List(_ context.Context, req provider.ListRequest) provider.ListResponse {
	return put[provider.ListResponse](m, req)
}
func (m *mirror) PlanAction(_ context.Context, req provider.PlanActionRequest) provider.PlanActionResponse {
	return put[provider.PlanActionResponse](m, req)
}
func (m *mirror) InvokeAction(_ context.Context, req provider.InvokeActionRequest) provider.InvokeActionResponse {
	for i := range 3 {
		req.Progress(fmt.Sprintf("step %d \xff", i))
	}
	req.Progress = nil
	return put[provider.InvokeActionResponse](m, req)
}
func (m *mirror) Stop(context.Context) error { m.calls = append(m.calls, "stop"); return m.err }
func (m *mirror) Close() error               { m.calls = append(m.calls, "close"); return nil }

type callOf struct {
	Name string
	Args []cty.Value
}

// same compares requests, responses and schemas. Nil and empty bytes are equal.
var same = cmp.Options{
	cmp.Comparer(func(a, b addr.Object) bool { return a == b }),
	cmp.Comparer(func(a, b cty.Value) bool {
		if a == cty.NilVal || b == cty.NilVal {
			return a == b
		}
		return a.RawEquals(b)
	}),
	cmp.Comparer(func(a, b cty.Type) bool {
		if a == cty.NilType || b == cty.NilType {
			return a == b
		}
		return a.Equals(b)
	}),
	cmp.Comparer(func(a, b cty.GetAttrStep) bool { return a == b }),
	cmp.Comparer(func(a, b cty.IndexStep) bool { return a.Key.RawEquals(b.Key) }),
	cmpopts.IgnoreUnexported(provider.Block{}, diag.Diagnostic{}),
	cmpopts.EquateEmpty(),
	cmpopts.IgnoreFields(diag.Diagnostic{}, "Foreign"), // set for diagnostics from the wire
}

// exchange is one call: its request and its response.
type exchange struct {
	name      string
	req, resp any
	call      func(p provider.Provider) any
}

func exchanges(r random, s *provider.Schema) []exchange {
	ctx := context.Background()
	rt := s.Resources["t"]
	ty, data, ephemeral := rt.Block.ImpliedType(), s.Data["t"].Block.ImpliedType(), s.Ephemeral["t"].Block.ImpliedType()
	object := func() cty.Value { return r.value(ty) }
	identity := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i" + r.text()),
		"more": cty.ListVal([]cty.Value{cty.Zero})})
	client := provider.ClientCapabilities{DeferralAllowed: r.chance(50), WriteOnlyAttributesAllowed: r.chance(50),
		StorePlannedPrivate: r.chance(50), ComputedBlocksAllowed: r.chance(50)}
	meta := r.value(s.Meta.ImpliedType())
	deferred := []provider.DeferredReason{0, 1, 2, 3, provider.DeferredUnknownReason}[r.IntN(5)]
	at := time.Unix(r.Int64N(1e9), r.Int64N(1e9)).UTC()
	stored := provider.StoredObject{JSON: []byte(`{"a":1}`)}
	if r.chance(30) {
		stored = provider.StoredObject{Flat: map[string]string{"a.#": "1", "a.0": r.text()}}
	}
	config := r.value(s.Provider.ImpliedType())
	validate := func(kind provider.ResourceKind, v cty.Value, c provider.ClientCapabilities) exchange {
		req := provider.ValidateResourceRequest{Kind: kind, Type: "t", Config: v, Client: c}
		return exchange{"validate " + kindNames[kind], req, r.problems(), func(p provider.Provider) any {
			return p.ValidateResource(ctx, req)
		}}
	}
	validateConfig := provider.ValidateConfigRequest{Config: config}
	configure := provider.ConfigureRequest{TerraformVersion: "1.11.4", Config: config, Client: client}
	upgrade := provider.UpgradeStateRequest{Type: "t", Version: r.Int64N(5), Stored: stored}
	upgradeIdentity := provider.UpgradeIdentityRequest{Type: "t", Version: r.Int64N(5), JSON: []byte(`{}`)}
	move := provider.MoveStateRequest{
		SourceProvider: "a/b", SourceType: "s", SourceVersion: 3, Source: stored, SourcePrivate: r.bytes(),
		SourceIdentity: []byte(`{}`), SourceIdentityVersion: 1, TargetType: "t",
	}
	imports := provider.ImportRequest{Type: "t", ID: r.text(), Client: client}
	byIdentity := provider.ImportRequest{Type: "t", Identity: identity, Client: client}
	imported := []provider.ImportedObject{{Type: "t", State: object(), Private: r.bytes(), Identity: identity},
		{Type: "t", State: object()}}
	read := provider.ReadRequest{Type: "t", Prior: object(), Private: r.bytes(), Meta: meta, Identity: identity,
		Client: client}
	plan := provider.PlanRequest{
		Type: "t", Prior: object(), Proposed: object(), Config: object(), PriorPrivate: r.bytes(), Meta: meta,
		PriorIdentity: identity, Client: client, PlannedPrivate: r.bytes(),
	}
	apply := provider.ApplyRequest{
		Type: "t", Prior: object(), Planned: object(), Config: object(), PlannedPrivate: r.bytes(), Meta: meta,
		PlannedIdentity: identity,
	}
	readData := provider.ReadDataRequest{Type: "t", Config: r.value(data), Meta: meta, Client: client}
	open := provider.OpenEphemeralRequest{Type: "t", Config: r.value(ephemeral), Client: client}
	renew := provider.RenewEphemeralRequest{Type: "t", Private: r.bytes()}
	closing := provider.CloseEphemeralRequest{Type: "t", Private: r.bytes()}
	inList, inAction := s.Lists["t"].Block.ImpliedType(), s.Actions["t"].Block.ImpliedType()
	generate := provider.GenerateConfigRequest{Type: "t", State: object()}
	validateList := provider.ValidateResourceRequest{Kind: provider.ListResource, Type: "t", Config: r.value(inList),
		IncludeObject: r.value(cty.Bool), Limit: r.value(cty.Number)}
	list := provider.ListRequest{Type: "t", Config: r.value(inList), IncludeObject: r.chance(50), Limit: 3}
	found := []provider.Listed{{Identity: identity, DisplayName: r.text()}, {Identity: identity}}
	if list.IncludeObject {
		found[0].Object = object()
	}
	planAction := provider.PlanActionRequest{Type: "t", Config: r.value(inAction), Client: client}
	invoke := provider.InvokeActionRequest{Type: "t", Config: r.value(inAction), Client: client}
	f := s.Functions["f"]
	args := []cty.Value{r.value(f.Params[0].Type), r.value(f.VarParam.Type), r.value(f.VarParam.Type)}
	return []exchange{
		{"validate config", validateConfig, provider.ValidateConfigResponse{
			Prepared: config, Diagnostics: r.problems()}, func(p provider.Provider) any {
			return p.ValidateConfig(ctx, validateConfig)
		}},
		validate(provider.ManagedResource, object(), client),
		validate(provider.DataSource, r.value(data), provider.ClientCapabilities{}),
		validate(provider.EphemeralResource, r.value(ephemeral), provider.ClientCapabilities{}),
		{"configure", configure, provider.ConfigureResponse{Diagnostics: r.problems()}, func(p provider.Provider) any {
			return p.Configure(ctx, configure)
		}},
		{"upgrade", upgrade, provider.UpgradeStateResponse{State: object(), Diagnostics: r.warnings()},
			func(p provider.Provider) any { return p.UpgradeState(ctx, upgrade) }},
		{"upgrade identity", upgradeIdentity, provider.UpgradeIdentityResponse{
			Identity: identity, Diagnostics: r.problems()}, func(p provider.Provider) any {
			return p.UpgradeIdentity(ctx, upgradeIdentity)
		}},
		{"move", move, provider.MoveStateResponse{State: object(), Private: r.bytes(), Identity: identity,
			Diagnostics: r.warnings()}, func(p provider.Provider) any { return p.MoveState(ctx, move) }},
		{"import", imports, provider.ImportResponse{Imported: imported, Deferred: deferred, Diagnostics: r.problems()},
			func(p provider.Provider) any { return p.Import(ctx, imports) }},
		{"import by identity", byIdentity, provider.ImportResponse{Imported: imported}, func(p provider.Provider) any {
			return p.Import(ctx, byIdentity)
		}},
		{"read", read, provider.ReadResponse{State: object(), Private: r.bytes(), Identity: identity,
			Deferred: deferred, Diagnostics: r.problems()}, func(p provider.Provider) any { return p.Read(ctx, read) }},
		{"plan", plan, provider.PlanResponse{
			Planned: object(), RequiresReplace: []cty.Path{r.path(), r.path()}, Private: r.bytes(), Identity: identity,
			LegacyTypeSystem: r.chance(50), Deferred: deferred, Diagnostics: r.problems(),
		}, func(p provider.Provider) any { return p.Plan(ctx, plan) }},
		{"apply", apply, provider.ApplyResponse{State: object(), Private: r.bytes(), Identity: identity,
			LegacyTypeSystem: r.chance(50), Diagnostics: r.problems()}, func(p provider.Provider) any {
			return p.Apply(ctx, apply)
		}},
		{"read data", readData, provider.ReadDataResponse{State: r.value(data), Deferred: deferred,
			Diagnostics: r.problems()}, func(p provider.Provider) any { return p.ReadData(ctx, readData) }},
		{"open", open, provider.OpenEphemeralResponse{Result: r.value(ephemeral), Private: r.bytes(), RenewAt: at,
			Deferred: deferred, Diagnostics: r.problems()}, func(p provider.Provider) any {
			return p.OpenEphemeral(ctx, open)
		}},
		{"renew", renew, provider.RenewEphemeralResponse{Private: r.bytes(), RenewAt: at, Diagnostics: r.problems()},
			func(p provider.Provider) any { return p.RenewEphemeral(ctx, renew) }},
		{"close", closing, r.problems(), func(p provider.Provider) any { return p.CloseEphemeral(ctx, closing) }},
		{"call", callOf{"f", args}, r.value(f.Return), func(p provider.Provider) any {
			v, err := p.CallFunction(ctx, "f", args)
			if err != nil {
				return err
			}
			return v
		}},
		{"generate", generate, provider.GenerateConfigResponse{Config: object(), Diagnostics: r.warnings()},
			func(p provider.Provider) any { return p.GenerateConfig(ctx, generate) }},
		{"validate list", validateList, r.problems(), func(p provider.Provider) any {
			return p.ValidateResource(ctx, validateList)
		}},
		{"list", list, provider.ListResponse{Results: found, Diagnostics: r.problems()},
			func(p provider.Provider) any { return p.List(ctx, list) }},
		validate(provider.Action, r.value(inAction), provider.ClientCapabilities{}),
		{"plan action", planAction, provider.PlanActionResponse{Deferred: deferred, Diagnostics: r.problems()},
			func(p provider.Provider) any { return p.PlanAction(ctx, planAction) }},
		{"invoke", invoke, provider.InvokeActionResponse{Diagnostics: r.problems()}, func(p provider.Provider) any {
			req, progress := invoke, ""
			req.Progress = func(message string) { progress += message + ";" }
			resp := p.InvokeAction(ctx, req)
			if !resp.Lost && !resp.Diagnostics.HasErrors() && progress != "step 0 \uFFFD;step 1 \uFFFD;step 2 \uFFFD;" {
				resp.Diagnostics = resp.Diagnostics.Errorf(nil, "Progress", "It was told as %q.", progress)
			}
			return resp
		}},
	}
}

func TestEverythingPassesUnchanged(t *testing.T) {
	eachVersion(t, func(t *testing.T, v *version) {
		for seed := range uint64(60) {
			r := newRandom(seed)
			m := &mirror{schema: r.schema(v)}
			p, _ := connect(t, m, v.number)
			schema, diags := p.Schema(t.Context())
			if err := diags.Err(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if diff := cmp.Diff(m.schema, schema, same); diff != "" {
				t.Fatalf("seed %d: schema (-provider +client):\n%s", seed, diff)
			}
			for _, x := range exchanges(r, schema) {
				m.answer = x.resp
				got := x.call(p)
				if diff := cmp.Diff(x.req, m.asked, same); diff != "" {
					t.Errorf("seed %d, %s: request (-sent +got):\n%s", seed, x.name, diff)
				}
				if diff := cmp.Diff(x.resp, got, same); diff != "" {
					t.Errorf("seed %d, %s: answer (-sent +got):\n%s", seed, x.name, diff)
				}
			}
		}
	})
}

func TestFailuresOfFunctionsKeepTheirArgument(t *testing.T) {
	m := &mirror{schema: newRandom(1).schema(versions[6])}
	p, _ := connect(t, m, 6)
	args := []cty.Value{cty.NullVal(m.schema.Functions["f"].Params[0].Type),
		cty.NullVal(m.schema.Functions["f"].VarParam.Type)}
	m.err = function.NewArgErrorf(1, "no \xff good")
	_, err := p.CallFunction(t.Context(), "f", args)
	var arg function.ArgError
	if !errors.As(err, &arg) || arg.Index != 1 || arg.Error() != "no \uFFFD good" {
		t.Errorf("got %#v", err)
	}
	m.err = errors.New("broken")
	if _, err := p.CallFunction(t.Context(), "f", args); err == nil || errors.As(err, &arg) || err.Error() != "broken" {
		t.Errorf("got %#v", err)
	}
	if _, err := p.CallFunction(t.Context(), "g", nil); err == nil {
		t.Error("a function that is not there was called")
	}
	if _, err := p.CallFunction(t.Context(), "f", nil); err == nil {
		t.Error("a function was called with too few arguments")
	}
}

func TestConfiguringAgainGivesAnotherProvider(t *testing.T) {
	schema := newRandom(1).schema(versions[6])
	var made []*mirror
	server, err := NewServer(func(context.Context) (provider.Provider, error) {
		made = append(made, &mirror{schema: schema})
		return made[len(made)-1], nil
	}, 6)
	if err != nil {
		t.Fatal(err)
	}
	l := &loop{methods: server.Methods()}
	p := must(NewClient(l, 6, Options{}))
	for range 2 {
		if diags := p.Configure(t.Context(), provider.ConfigureRequest{
			Config: cty.NullVal(schema.Provider.ImpliedType())}).Diagnostics; diags != nil {
			t.Fatal(diags.Err())
		}
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(made) != 2 || cmp.Diff(made[0].calls, []string{"close"}) != "" ||
		cmp.Diff(made[1].calls, []string{"stop", "close"}) != "" {
		t.Errorf("%d providers were made: %+v", len(made), made)
	}
	if _, diags := must(NewClient(l, 6, Options{})).Schema(t.Context()); !diags.HasErrors() {
		t.Error("a server that is closed answers")
	}
}
