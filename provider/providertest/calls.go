package providertest

import (
	"cmp"
	"context"
	"runtime"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// checkConfigure configures the provider, validates its block with unknown values, and expects invalid blocks to be
// refused.
func checkConfigure(s *session) {
	s.start()
	before := fingerprint(s.schema)
	block := s.providerBlock()
	config := s.complete(block, s.o.Config)
	for what, unknown := range inOrder(unknowns(block, config)) {
		resp := s.p.ValidateConfig(s.ctx, provider.ValidateConfigRequest{Config: unknown})
		s.succeeds("validate the provider's configuration with "+what+" unknown", block, resp.Diagnostics)
	}
	for _, bad := range s.o.InvalidConfigs {
		s.begin()
		config := s.complete(block, s.o.Config, bad.Change)
		checked := s.p.ValidateConfig(s.ctx, provider.ValidateConfigRequest{Config: config})
		diags := checked.Diagnostics
		if !diags.HasErrors() {
			diags = diags.Extend(s.p.Configure(s.ctx, provider.ConfigureRequest{TerraformVersion: "1.11.4",
				Config: config, Client: client}).Diagnostics)
		}
		s.refuses("invalid provider configuration "+bad.Name, block, diags, bad.Path)
	}
	s.sameSchema(before)
}

// checkClose closes a provider twice, configured or not.
func checkClose(s *session) {
	s.begin()
	s.closeTwice("a provider without configuration")
	s.start()
	if err := s.p.Stop(s.ctx); err != nil {
		s.Errorf("stop: %s", err)
	}
	s.closeTwice("a provider")
}

func (s *session) closeTwice(what string) {
	s.Helper()
	for _, time := range []string{"first", "second"} {
		s.within("close "+what, func() {
			if err := s.p.Close(); err != nil {
				s.Errorf("close %s for the %s time: %s", what, time, err)
			}
		})
	}
}

// noSuch is a name that no provider has.
const noSuch = "no_such_type"

// checkWrongNames calls everything with names that the schema does not have. The engine never does this, but a state
// may contain such names.
func checkWrongNames(s *session) {
	s.start()
	object := cty.EmptyObjectVal
	for what, call := range inOrder(callsOfNoType(s, object)) {
		s.safely(what+" of an unknown type", func() {
			s.refuses(what+" of an unknown type", nil, call(), nil)
		})
	}
	// These may return an empty response.
	s.safely("read of an unknown type", func() {
		resp := s.p.Read(s.ctx, provider.ReadRequest{Type: noSuch, Prior: object, Client: client})
		s.checkDiagnostics("read of an unknown type", nil, resp.Diagnostics)
	})
	for _, kind := range []provider.ResourceKind{provider.ManagedResource, provider.DataSource,
		provider.EphemeralResource, provider.ListResource, provider.Action} {
		s.safely("validate an unknown type", func() {
			diags := s.p.ValidateResource(s.ctx, provider.ValidateResourceRequest{
				Kind: kind, Type: noSuch, Config: object, Client: client})
			s.checkDiagnostics("validate an unknown type", nil, diags)
		})
	}
}

// callsOfNoType returns calls for a type or function that the provider does not have, by kind. Each must fail.
func callsOfNoType(s *session, object cty.Value) map[string]func() diag.List {
	null := cty.NullVal(cty.EmptyObject)
	return map[string]func() diag.List{
		"upgrade": func() diag.List {
			return s.p.UpgradeState(s.ctx, provider.UpgradeStateRequest{Type: noSuch, Stored: provider.StoredObject{
				JSON: []byte(`{}`)}}).Diagnostics
		},
		"upgrade the identity": func() diag.List {
			return s.p.UpgradeIdentity(s.ctx, provider.UpgradeIdentityRequest{
				Type: noSuch, JSON: []byte(`{}`)}).Diagnostics
		},
		"move": func() diag.List {
			return s.p.MoveState(s.ctx, provider.MoveStateRequest{SourceProvider: "example.com/a/b", SourceType: noSuch,
				Source: provider.StoredObject{JSON: []byte(`{}`)}, TargetType: noSuch}).Diagnostics
		},
		"import": func() diag.List {
			return s.p.Import(s.ctx, provider.ImportRequest{Type: noSuch, ID: "x", Client: client}).Diagnostics
		},
		"plan": func() diag.List {
			return s.p.Plan(s.ctx, provider.PlanRequest{Type: noSuch, Prior: null, Proposed: object, Config: object,
				Client: client}).Diagnostics
		},
		"apply": func() diag.List {
			return s.p.Apply(s.ctx, provider.ApplyRequest{Type: noSuch, Prior: null, Planned: object,
				Config: object}).Diagnostics
		},
		"delete": func() diag.List {
			return s.p.Apply(s.ctx, provider.ApplyRequest{Type: noSuch, Prior: object, Planned: null,
				Config: null}).Diagnostics
		},
		"read a data source": func() diag.List {
			return s.p.ReadData(s.ctx, provider.ReadDataRequest{Type: noSuch, Config: object,
				Client: client}).Diagnostics
		},
		"open": func() diag.List {
			return s.p.OpenEphemeral(s.ctx, provider.OpenEphemeralRequest{Type: noSuch, Config: object,
				Client: client}).Diagnostics
		},
		"list": func() diag.List {
			return s.p.List(s.ctx, provider.ListRequest{Type: noSuch, Config: object, Limit: 1}).Diagnostics
		},
		"invoke": func() diag.List {
			return s.p.InvokeAction(s.ctx, provider.InvokeActionRequest{Type: noSuch, Config: object,
				Client: client}).Diagnostics
		},
		"generate the configuration": func() diag.List {
			return s.p.GenerateConfig(s.ctx, provider.GenerateConfigRequest{Type: noSuch, State: object}).Diagnostics
		},
		"call a function": func() diag.List {
			_, err := s.p.CallFunction(s.ctx, noSuch, nil)
			if err == nil {
				return nil
			}
			return diag.FromError("call", err)
		},
	}
}

// checkCancelled makes calls with a cancelled context. They may succeed or fail, but have to return.
func checkCancelled(s *session) {
	s.start()
	live := s.ctx
	ctx, cancel := context.WithCancel(live)
	cancel()
	s.within("validate", func() {
		s.p.ValidateConfig(ctx, provider.ValidateConfigRequest{Config: s.complete(s.providerBlock(), s.o.Config)})
	})
	for _, r := range s.o.Resources {
		o := s.object(&r)
		planned, _ := o.requestPlan(o.null(), o.config, nil)
		s.within("validate", func() {
			s.p.ValidateResource(ctx, provider.ValidateResourceRequest{Kind: provider.ManagedResource, Type: r.Type,
				Config: o.config, Client: client})
		})
		s.within("plan", func() {
			s.p.Plan(ctx, provider.PlanRequest{Type: r.Type, Prior: o.null(), Config: o.config, Client: client,
				Proposed: value.Propose(o.rt.Block, o.null(), value.NullWriteOnly(o.rt.Block, o.config))})
		})
		s.within("apply", func() {
			o.interrupted(s.p.Apply(ctx, provider.ApplyRequest{Type: r.Type, Prior: o.null(), Planned: planned.Planned,
				Config: o.config, PlannedPrivate: planned.Private, PlannedIdentity: planned.Identity,
				Intent: "providertest/cancelled"}), planned)
		})
		if o.state.IsNull() {
			o.apply(o.config)
		}
		s.within("read", func() {
			resp := s.p.Read(ctx, provider.ReadRequest{Type: r.Type, Prior: o.state, Private: o.private,
				Identity: o.identity, Client: client})
			if !resp.Diagnostics.HasErrors() && (resp.State == cty.NilVal || resp.State.IsNull()) {
				s.Errorf("read: the context has ended, and the object is said to be gone")
			}
		})
		o.destroy()
	}
	for _, d := range s.o.Data {
		s.within("read a data source", func() {
			rt := s.schema.Data[d.Type]
			resp := s.p.ReadData(ctx, provider.ReadDataRequest{Type: d.Type, Config: s.complete(rt.Block, d.Config),
				Client: client})
			if !resp.Diagnostics.HasErrors() {
				if errs := value.CheckData(rt.Block, resp.State); len(errs) > 0 {
					s.Errorf("read a data source: the context has ended, and the answer has no error: %s", errs[0])
				}
			}
		})
	}
}

// alone ends the goroutine that finds a failure, not that of the test.
type alone struct{ tb }

func (a alone) Fatalf(format string, args ...any) {
	a.Helper()
	a.Errorf(format, args...)
	runtime.Goexit()
}

// checkParallel uses one provider from many goroutines, each with its own objects.
func checkParallel(s *session) {
	s.start()
	before := fingerprint(s.schema)
	var wg sync.WaitGroup
	for range cmp.Or(s.o.Goroutines, 6) {
		mine := *s
		mine.tb = alone{s.tb}
		wg.Go(func() { parallelLives(&mine) })
	}
	wg.Wait()
	s.sameSchema(before)
}

func parallelLives(s *session) {
	for _, r := range s.o.Resources {
		o := s.object(&r)
		o.apply(o.config)
		o.settled()
		for _, u := range r.Updates {
			o.apply(o.updated(u))
		}
		o.settled()
		o.destroy()
	}
	for _, d := range s.o.Data {
		readData(s, &d)
	}
	for _, f := range s.o.Functions {
		_, _ = s.p.CallFunction(s.ctx, f.Name, f.Args)
	}
	if _, diags := s.p.Schema(s.ctx); diags.HasErrors() {
		s.Errorf("ask for the schema: %s", diags.Err())
	}
}

func readData(s *session, d *Data) cty.Value {
	s.Helper()
	rt := s.schema.Data[d.Type]
	if rt == nil {
		s.Fatalf("the schema has no data source %q", d.Type)
	}
	config := s.complete(rt.Block, d.Config)
	s.succeeds("validate", rt.Block, s.p.ValidateResource(s.ctx, provider.ValidateResourceRequest{
		Kind: provider.DataSource, Type: d.Type, Config: config, Client: client}))
	resp := s.p.ReadData(s.ctx, provider.ReadDataRequest{Type: d.Type, Config: config, Client: client})
	s.secrets.learn(rt.Block, resp.State)
	s.succeeds("read", rt.Block, resp.Diagnostics)
	s.checkErrors("read", value.CheckData(rt.Block, resp.State))
	s.checkErrors("read: compared with the configuration",
		value.CheckApplied(rt.Block, value.PlannedForData(rt.Block, config), resp.State))
	return resp.State
}

// checkData reads a data source and validates configurations of it.
func checkData(s *session, d *Data) {
	s.start()
	got := readData(s, d)
	s.holds(got, d.Want)
	rt := s.schema.Data[d.Type]
	validate := func(config cty.Value) diag.List {
		return s.p.ValidateResource(s.ctx, provider.ValidateResourceRequest{Kind: provider.DataSource, Type: d.Type,
			Config: config, Client: client})
	}
	for what, config := range inOrder(unknowns(rt.Block, s.complete(rt.Block, d.Config))) {
		s.succeeds("validate with "+what+" unknown", rt.Block, validate(config))
	}
	for _, bad := range d.Invalid {
		config := s.complete(rt.Block, d.Config, bad.Change)
		diags := validate(config)
		if !diags.HasErrors() {
			diags = diags.Extend(s.p.ReadData(s.ctx, provider.ReadDataRequest{Type: d.Type, Config: config,
				Client: client}).Diagnostics)
		}
		s.refuses("invalid configuration "+bad.Name, rt.Block, diags, bad.Path)
	}
}

// holds compares attributes of an object with expected values, written as in a configuration.
func (s *session) holds(got cty.Value, wanted Attrs) {
	for name, want := range inOrder(wanted) {
		if !got.Type().HasAttribute(name) {
			s.Errorf("there is no attribute %s", name)
			continue
		}
		v := got.GetAttr(name)
		if converted, err := convert.Convert(want, v.Type()); err == nil {
			want = converted
		}
		if !v.RawEquals(want) {
			s.Errorf("attribute %s: got %s, want %s", name, show(v), show(want))
		}
	}
}

// checkEphemeral opens, renews and closes an ephemeral object.
func checkEphemeral(s *session, e *Ephemeral) {
	s.start()
	rt := s.schema.Ephemeral[e.Type]
	if rt == nil {
		s.Fatalf("the schema has no ephemeral resource type %q", e.Type)
	}
	config := s.complete(rt.Block, e.Config)
	s.succeeds("validate", rt.Block, s.p.ValidateResource(s.ctx, provider.ValidateResourceRequest{
		Kind: provider.EphemeralResource, Type: e.Type, Config: config, Client: client}))
	resp := s.p.OpenEphemeral(s.ctx, provider.OpenEphemeralRequest{Type: e.Type, Config: config, Client: client})
	s.secrets.learn(rt.Block, resp.Result)
	s.succeeds("open", rt.Block, resp.Diagnostics)
	s.checkErrors("open", value.CheckData(rt.Block, resp.Result))
	s.checkErrors("open: compared with the configuration",
		value.CheckApplied(rt.Block, value.PlannedForData(rt.Block, config), resp.Result))
	s.holds(resp.Result, e.Want)
	private := resp.Private
	if !resp.RenewAt.IsZero() {
		renewed := s.p.RenewEphemeral(s.ctx, provider.RenewEphemeralRequest{Type: e.Type, Private: private})
		s.succeeds("renew", rt.Block, renewed.Diagnostics)
		private = renewed.Private
	}
	s.succeeds("close", rt.Block, s.p.CloseEphemeral(s.ctx, provider.CloseEphemeralRequest{
		Type: e.Type, Private: private}))
}

// checkFunction calls a function, with and without configuration.
func checkFunction(s *session, f *Function) {
	s.begin()
	desc := s.schema.Functions[f.Name]
	if desc == nil {
		s.Fatalf("the schema has no function %q", f.Name)
	}
	got, err := s.p.CallFunction(s.ctx, f.Name, f.Args)
	switch {
	case f.Want == cty.NilVal && err == nil:
		s.Errorf("%s: got %s, want an error", call(f), show(got))
	case f.Want == cty.NilVal:
	case err != nil:
		s.Errorf("%s: %s", call(f), err)
	case !got.RawEquals(f.Want):
		s.Errorf("%s: got %s, want %s", call(f), show(got), show(f.Want))
	case desc.Return != cty.DynamicPseudoType && !got.Type().Equals(desc.Return):
		s.Errorf("%s: the result is of type %s, the schema says %s", call(f), got.Type().FriendlyName(),
			desc.Return.FriendlyName())
	}
}

func call(f *Function) string {
	var b strings.Builder
	showAll(&b, f.Args, f.Name+"(", ")")
	return b.String()
}
