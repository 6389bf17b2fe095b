package providertest

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// manyObjects is the limit for lists of all objects.
const manyObjects = 1000

// checkList lists objects of a type, before one is created, while it exists, and after its deletion.
func checkList(s *session, l *List) {
	s.start()
	block := s.listBlock(l)
	config := s.complete(block, l.Config)
	for what, unknown := range inOrder(unknowns(block, config)) {
		s.succeeds("validate with "+what+" unknown", block, s.validateList(l, unknown))
	}
	s.list(l, config, true, manyObjects)
	for _, bad := range l.Invalid {
		config := s.complete(block, l.Config, bad.Change)
		diags := s.validateList(l, config)
		if !diags.HasErrors() {
			diags = diags.Extend(s.p.List(s.ctx, provider.ListRequest{Type: l.Type, Config: config,
				Limit: manyObjects}).Diagnostics)
		}
		s.refuses("invalid configuration "+bad.Name, block, diags, bad.Path)
	}
	for _, r := range s.o.Resources {
		if r.Type == l.Type {
			s.finds(l, &r, config)
			return
		}
	}
}

// finds requires that a list has an object as long as it exists.
func (s *session) finds(l *List, r *Resource, config cty.Value) {
	s.Helper()
	first, second := s.object(r), s.object(r)
	first.apply(first.config)
	second.apply(second.config)
	for _, whole := range []bool{false, true} {
		found := s.list(l, config, whole, manyObjects)
		for _, o := range []*object{first, second} {
			one, want := listed(found, o.identity), o.state
			if r.Import != nil && r.Import.Want != nil {
				want = r.Import.Want(want)
			}
			switch {
			case one == nil:
				s.Fatalf("list: the object with the identity %s is not among the %d that are found", show(o.identity),
					len(found))
			case whole && !one.Object.RawEquals(want):
				s.Errorf("list: the object is not as it was made:\n%s", differences("apply left", marked(o.rt.Block,
					want), "list found", marked(o.rt.Block, one.Object)))
			}
		}
	}
	s.list(l, config, false, 1)
	first.destroy()
	identity := second.identity
	second.destroy()
	if listed(s.list(l, config, true, manyObjects), identity) != nil {
		s.Errorf("list: an object that was deleted is found")
	}
}

func listed(all []provider.Listed, identity cty.Value) *provider.Listed {
	for i := range all {
		if all[i].Identity.RawEquals(identity) {
			return &all[i]
		}
	}
	return nil
}

func (s *session) listBlock(l *List) *provider.Block {
	s.Helper()
	list, rt := s.schema.Lists[l.Type], s.schema.Resources[l.Type]
	if list == nil || rt == nil || rt.Identity == nil {
		s.Fatalf("the schema has no list of a resource type %q with an identity", l.Type)
	}
	return list.Block
}

func (s *session) validateList(l *List, config cty.Value) diag.List {
	return s.p.ValidateResource(s.ctx, provider.ValidateResourceRequest{Kind: provider.ListResource, Type: l.Type,
		Config: config, Client: client, IncludeObject: cty.True, Limit: cty.NumberIntVal(manyObjects)})
}

// list lists objects and checks the response.
func (s *session) list(l *List, config cty.Value, whole bool, limit int) []provider.Listed {
	s.Helper()
	block, rt := s.listBlock(l), s.schema.Resources[l.Type]
	s.succeeds("validate", block, s.validateList(l, config))
	resp := s.p.List(s.ctx, provider.ListRequest{Type: l.Type, Config: config, IncludeObject: whole, Limit: limit})
	s.succeeds("list", block, resp.Diagnostics)
	if len(resp.Results) > limit {
		s.Errorf("list: %d objects are found, and %d were asked for", len(resp.Results), limit)
	}
	for _, one := range resp.Results {
		switch {
		case one.Identity == cty.NilVal || one.Identity.IsNull() || !one.Identity.IsWhollyKnown() ||
			!one.Identity.Type().Equals(rt.Identity.ImpliedType()):
			s.Fatalf("list: an object has no identity, or one that does not fit its schema")
		case !whole && one.Object != cty.NilVal && !one.Object.IsNull():
			s.Errorf("list: there are whole objects, and only identities were asked for")
		case whole && (one.Object == cty.NilVal || one.Object.IsNull()):
			s.Fatalf("list: whole objects were asked for, and %s has none", show(one.Identity))
		case whole:
			s.secrets.learn(rt.Block, one.Object)
			s.checkErrors("list", value.CheckRefreshed(rt.Block, one.Object))
		}
	}
	return resp.Results
}

// checkAction validates, plans and invokes an action.
func checkAction(s *session, a *Action) {
	s.start()
	rt := s.schema.Actions[a.Type]
	if rt == nil {
		s.Fatalf("the schema has no action %q", a.Type)
	}
	validate := func(config cty.Value) diag.List {
		return s.p.ValidateResource(s.ctx, provider.ValidateResourceRequest{Kind: provider.Action, Type: a.Type,
			Config: config, Client: client})
	}
	plan := func(config cty.Value) diag.List {
		resp := s.p.PlanAction(s.ctx, provider.PlanActionRequest{Type: a.Type, Config: config, Client: client})
		if resp.Deferred != provider.NotDeferred {
			s.Fatalf("plan: deferred, although the engine did not offer to wait")
		}
		return resp.Diagnostics
	}
	config := s.complete(rt.Block, a.Config)
	for what, unknown := range inOrder(unknowns(rt.Block, config)) {
		s.succeeds("validate with "+what+" unknown", rt.Block, validate(unknown))
		s.succeeds("plan with "+what+" unknown", rt.Block, plan(unknown))
	}
	s.succeeds("validate", rt.Block, validate(config))
	s.succeeds("plan", rt.Block, plan(config))
	for _, bad := range a.Invalid {
		config := s.complete(rt.Block, a.Config, bad.Change)
		diags := validate(config)
		if !diags.HasErrors() {
			diags = diags.Extend(plan(config))
		}
		s.refuses("invalid configuration "+bad.Name, rt.Block, diags, bad.Path)
	}
	for _, progress := range []func(string){nil, func(string) {}} {
		resp := s.p.InvokeAction(s.ctx, provider.InvokeActionRequest{Type: a.Type, Config: config, Client: client,
			Progress: progress})
		s.succeeds("invoke", rt.Block, resp.Diagnostics)
		if resp.Lost {
			s.Errorf("invoke: the answer is said to be lost, and there is no error")
		}
	}
	if a.Invoked == nil {
		return
	}
	if err := a.Invoked(); err != nil {
		s.Errorf("invoke: %s", err)
	}
}
