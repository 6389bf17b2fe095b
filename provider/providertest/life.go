package providertest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// checkValidate validates good, partly unknown and bad configurations.
func checkValidate(s *session, r *Resource) {
	s.begin() // validation works without configuration
	o := s.object(r)
	s.succeeds("validate", o.rt.Block, o.validate(o.config))
	for what, config := range inOrder(unknowns(o.rt.Block, o.config)) {
		s.succeeds("validate with "+what+" unknown", o.rt.Block, o.validate(config))
	}
	for _, u := range r.Updates {
		s.succeeds("validate update "+u.Name, o.rt.Block, o.validate(o.updated(u)))
	}
	if len(r.Invalid) == 0 {
		return
	}
	s.start()
	for _, bad := range r.Invalid {
		o := s.object(r)
		config := o.changed(bad.Change)
		diags := o.validate(config)
		if !diags.HasErrors() {
			diags = diags.Extend(s.p.Plan(s.ctx, provider.PlanRequest{Type: r.Type, Prior: o.null(), Config: config,
				Client:   client,
				Proposed: value.Propose(o.rt.Block, o.null(), config)}).Diagnostics)
		}
		s.refuses("invalid configuration "+bad.Name, o.rt.Block, diags, bad.Path)
	}
}

// unknowns returns configurations with one unknown attribute each, and one in which all are unknown.
func unknowns(block *provider.Block, config cty.Value) map[string]cty.Value {
	out := map[string]cty.Value{}
	all := config.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(block.Attributes)) {
		v := config.GetAttr(name)
		if v.IsNull() {
			continue
		}
		unknown := cty.UnknownVal(block.Attributes[name].ImpliedType())
		one := config.AsValueMap()
		one[name], all[name] = unknown, unknown
		out[name] = cty.ObjectVal(one)
	}
	if len(out) > 1 {
		out["everything"] = cty.ObjectVal(all)
	}
	return out
}

// checkLife takes an object from its creation to its deletion.
func checkLife(s *session, r *Resource) {
	s.start()
	before := fingerprint(s.schema)
	o := s.object(r)
	o.apply(o.config)
	o.settled()
	o.destroy()
	s.sameSchema(before)
}

// checkUnknown plans with values that are unknown until apply, such as references to other objects.
func checkUnknown(s *session, r *Resource) {
	s.start()
	for what, config := range inOrder(unknowns(s.object(r).rt.Block, s.object(r).config)) {
		o := s.object(r)
		// Objects have different numbers, so use only the unknown parts.
		config = o.changed(unknownIn(config))
		first, _ := o.requestPlan(o.null(), config, nil)
		final, _ := o.requestPlan(o.null(), o.config, nil)
		errs := value.CheckReplanned(o.rt.Block, first.Planned, final.Planned)
		if first.LegacyTypeSystem {
			errs = value.AlwaysErrors(errs)
		}
		s.checkErrors("plan once "+what+" is known", errs)
		o.perform(o.config, final)
		o.settled()
		o.destroy()
	}
}

// unknownIn returns the attributes of a configuration that are unknown.
func unknownIn(config cty.Value) Attrs {
	out := Attrs{}
	for name, v := range config.AsValueMap() {
		if !v.IsKnown() {
			out[name] = v
		}
	}
	return out
}

// checkUpdate changes an object, in place or by replacement, and reverts the change.
func checkUpdate(s *session, r *Resource, u *Update) {
	s.start()
	o := s.object(r)
	original := o.config
	o.apply(o.config)
	if replaced := o.apply(o.updated(*u)); replaced != u.Replaces {
		s.Errorf("replacement: got %t, want %t", replaced, u.Replaces)
	}
	o.settled()
	o.apply(original)
	o.settled()
	o.destroy()
}

// big is a number that neither a 64-bit integer nor a float can hold exactly.
const big = "12345678901234567890123"

// checkBig creates an object with a big number, unless the provider refuses it.
func checkBig(s *session, r *Resource, name string) {
	s.start()
	o := s.object(r)
	given := enlarged(o.config.GetAttr(name))
	if given == cty.NilVal {
		s.Skipf("no configuration of the test gives %s a number", name)
	}
	o.config = o.changed(Attrs{name: given})
	refused := func(what string, diags diag.List) {
		s.checkDiagnostics(what, o.rt.Block, diags)
		if diags.HasErrors() {
			s.Skipf("%s is refused (%s): %s", big, what, diags.Err())
		}
	}
	refused("validate", o.validate(o.config))
	refused("plan", s.p.Plan(s.ctx, provider.PlanRequest{
		Type: r.Type, Prior: o.null(), Config: o.config, Client: client, Proposed: value.Propose(o.rt.Block, o.null(),
			value.NullWriteOnly(o.rt.Block, o.config)),
	}).Diagnostics)
	planned, _ := o.requestPlan(o.null(), o.config, nil)
	resp := o.attempt(o.config, planned)
	if resp.Diagnostics.HasErrors() {
		if resp.State != cty.NilVal && resp.State.IsNull() { // nothing was created
			refused("create", resp.Diagnostics)
		}
		if o.interrupted(resp, planned); !o.state.IsNull() {
			o.destroy()
		}
	}
	o.performed(o.config, planned, resp)
	o.settled()
	o.destroy()
}

// enlarged returns a value with all numbers replaced by big, or with one added if the type has a place for it. It
// returns cty.NilVal if there is no number and no obvious place for one.
func enlarged(v cty.Value) cty.Value {
	n, found := cty.MustParseNumberVal(big), false
	out, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if v.Type() == cty.Number && !v.IsNull() {
			found = true
			return n, nil
		}
		return v, nil
	})
	if err == nil && found {
		return out
	}
	var of func(ty cty.Type) cty.Value
	of = func(ty cty.Type) cty.Value {
		if ty == cty.Number {
			return n
		}
		if !ty.IsCollectionType() {
			return cty.NilVal
		}
		element := of(ty.ElementType())
		switch {
		case element == cty.NilVal:
			return cty.NilVal
		case ty.IsMapType():
			return cty.MapVal(map[string]cty.Value{"a": element})
		case ty.IsSetType():
			return cty.SetVal([]cty.Value{element})
		}
		return cty.ListVal([]cty.Value{element})
	}
	return of(v.Type())
}

// checkUpgrade passes the stored form of an object back to the provider, as every run does.
func checkUpgrade(s *session, r *Resource) {
	s.start()
	o := s.object(r)
	o.apply(o.config)
	ty := o.rt.Block.ImpliedType()
	stored, err := ctyjson.Marshal(o.state, ty)
	if err != nil {
		s.Fatalf("the object cannot be stored: %s", err)
	}
	upgrade := func(in provider.StoredObject) provider.UpgradeStateResponse {
		return s.p.UpgradeState(s.ctx, provider.UpgradeStateRequest{Type: r.Type, Version: o.rt.Version, Stored: in})
	}
	resp := upgrade(provider.StoredObject{JSON: stored})
	s.succeeds("upgrade", o.rt.Block, resp.Diagnostics)
	s.conforms("upgrade", o.rt.Block, resp.State)
	if !resp.State.RawEquals(o.state) {
		s.Errorf("upgrade: the object of the current version changed:\n%s",
			differences("stored", marked(o.rt.Block, o.state), "upgraded", marked(o.rt.Block, resp.State)))
	}
	for what, bad := range inOrder(map[string]string{
		"cut JSON": string(stored[:len(stored)/2]), "another type of value": `[1, 2]`,
		"an attribute of a wrong type": `{"` + anyAttribute(o.rt.Block) + `": ` + misfit(o.rt.Block) + `}`,
	}) {
		if what == "an attribute of a wrong type" &&
			o.rt.Block.Attributes[anyAttribute(o.rt.Block)].Type == cty.DynamicPseudoType {
			continue
		}
		s.safely("upgrade "+what, func() {
			s.refuses("upgrade "+what, o.rt.Block, upgrade(provider.StoredObject{JSON: []byte(bad)}).Diagnostics, nil)
		})
	}
	if o.rt.Identity != nil && !r.lacksIdentity() {
		s.upgradeIdentity(o)
	}
	o.destroy()
}

func (s *session) upgradeIdentity(o *object) {
	stored, err := ctyjson.Marshal(o.identity, o.rt.Identity.ImpliedType())
	if err != nil {
		s.Fatalf("the identity cannot be stored: %s", err)
	}
	resp := s.p.UpgradeIdentity(s.ctx, provider.UpgradeIdentityRequest{Type: o.r.Type, Version: o.rt.Identity.Version,
		JSON: stored})
	s.succeeds("upgrade the identity", nil, resp.Diagnostics)
	if resp.Identity == cty.NilVal || !resp.Identity.RawEquals(o.identity) {
		s.Errorf("upgrade the identity: got %s, want %s", show(resp.Identity), show(o.identity))
	}
}

// misfit is a value that is not one of anyAttribute.
func misfit(block *provider.Block) string {
	if block.Attributes[anyAttribute(block)].ImpliedType().IsObjectType() {
		return `"text"` // an object may have members that the type does not know
	}
	return `{"x": [{}]}`
}

// anyAttribute returns the first attribute with a fixed type, or the first one.
func anyAttribute(block *provider.Block) string {
	names := slices.Sorted(maps.Keys(block.Attributes))
	for _, name := range names {
		if !block.Attributes[name].ImpliedType().HasDynamicTypes() {
			return name
		}
	}
	return names[0]
}

// checkImport finds an object by its id, and by its identity if it has one.
func checkImport(s *session, r *Resource) {
	s.start()
	if r.Import == nil {
		resp := s.p.Import(s.ctx, provider.ImportRequest{Type: r.Type, ID: "x", Client: client})
		s.refuses("import of what cannot be imported", nil, resp.Diagnostics, nil)
		return
	}
	o := s.object(r)
	o.apply(o.config)
	want := o.state
	if r.Import.Want != nil {
		want = r.Import.Want(want)
	}
	s.imports(o, "import by id", provider.ImportRequest{Type: r.Type, ID: r.Import.ID(o.state), Client: client}, want)
	if o.rt.Identity != nil {
		identity := o.identity
		if r.lacksIdentity() {
			identity = r.Import.Identity(o.state)
		}
		s.imports(o, "import by identity", provider.ImportRequest{Type: r.Type, Identity: identity, Client: client},
			want)
	}
	if id := r.Import.Missing; id != "" {
		resp := s.p.Import(s.ctx, provider.ImportRequest{Type: r.Type, ID: id, Client: client})
		s.checkDiagnostics("import of a missing object", nil, resp.Diagnostics)
		if !resp.Diagnostics.HasErrors() && !s.gone(o, resp) {
			s.Errorf(
				"import of the missing object %q: neither an error, nor does the read afterwards find that it is gone",
				id)
		}
	}
	o.destroy()
}

func (s *session) imports(o *object, what string, req provider.ImportRequest, want cty.Value) {
	s.Helper()
	resp := s.p.Import(s.ctx, req)
	s.succeeds(what, nil, resp.Diagnostics)
	if len(resp.Imported) == 0 || resp.Imported[0].Type != o.r.Type {
		s.Fatalf("%s: found %d objects, the first one not of type %s", what, len(resp.Imported), o.r.Type)
	}
	found := resp.Imported[0]
	s.conforms(what, o.rt.Block, found.State)
	again := &object{s: s, r: o.r, rt: o.rt, config: o.config, state: found.State, private: found.Private,
		identity: found.Identity}
	if o.rt.Identity != nil && (found.Identity == cty.NilVal || found.Identity.IsNull()) {
		again.identity = cty.NilVal
	}
	now, _ := again.read()
	if !now.RawEquals(want) {
		s.Errorf("%s: reading what was imported finds another object:\n%s", what,
			differences("got", marked(o.rt.Block, now), "want", marked(o.rt.Block, want)))
	}
	if o.rt.Identity != nil && !o.r.lacksIdentity() && !again.identity.RawEquals(o.identity) {
		s.Errorf("%s: the identity is %s, want %s", what, show(again.identity), show(o.identity))
	}
}

// gone reports whether reading an imported object finds none.
func (s *session) gone(o *object, resp provider.ImportResponse) bool {
	for _, i := range resp.Imported {
		if i.State.IsNull() {
			continue
		}
		read := s.p.Read(s.ctx, provider.ReadRequest{Type: i.Type, Prior: i.State, Private: i.Private,
			Identity: i.Identity, Client: client})
		if !read.Diagnostics.HasErrors() && !read.State.IsNull() {
			return false
		}
	}
	return true
}

// checkRemoved reads an object that was removed outside of the provider, and plans it again.
func checkRemoved(s *session, r *Resource) {
	s.start()
	o := s.object(r)
	o.apply(o.config)
	if err := r.Remove(o.state); err != nil {
		s.Fatalf("removing the object outside: %s", err)
	}
	now, _ := o.read()
	if !now.IsNull() {
		s.Fatalf("read: the object was removed, but is found: %s", show(marked(o.rt.Block, now)))
	}
	o.state, o.private, o.identity = o.null(), nil, cty.NilVal
	o.apply(o.config)
	o.settled()
	o.destroy()
}

// checkSlow interrupts a creation: by the end of its context, and once after a call of Stop, which may but need not end
// it earlier. An object in the response must exist.
func checkSlow(s *session, r *Resource) {
	for _, how := range []string{"context", "Stop"} {
		s.start()
		o := s.object(r, r.Slow)
		planned, _ := o.requestPlan(o.null(), o.config, nil)
		ctx, cancel := context.WithCancel(s.ctx)
		timer := time.AfterFunc(200*time.Millisecond, func() {
			if how == "Stop" {
				stopping := time.Now()
				_ = s.p.Stop(s.ctx)
				if took := time.Since(stopping); took > s.patience() {
					s.Errorf("Stop returned after %s; it must not wait", took)
				}
				time.Sleep(100 * time.Millisecond)
			}
			cancel()
		})
		s.within("a creation interrupted by "+how, func() {
			o.interrupted(s.p.Apply(ctx, provider.ApplyRequest{
				Type: r.Type, Prior: o.null(), Planned: planned.Planned, Config: o.config,
				PlannedPrivate: planned.Private, PlannedIdentity: planned.Identity, Intent: "providertest/slow-" + how,
			}), planned)
			o.lost = false // an interrupted creation may end without an answer
		})
		timer.Stop()
		cancel()
		if !o.state.IsNull() {
			s.start() // a stopped provider may refuse further calls
			o.destroy()
		}
	}
}

// interrupted checks a response that may be an error, and stores it.
func (o *object) interrupted(resp provider.ApplyResponse, planned provider.PlanResponse) {
	s, block := o.s, o.rt.Block
	o.keep(resp)
	s.checkDiagnostics("an interrupted apply", block, resp.Diagnostics)
	state := resp.State
	if state == cty.NilVal || resp.Diagnostics.HasErrors() && !state.IsKnown() { // unknown result
		state = o.null()
	}
	errs := value.Conforms(block, state)
	if len(errs) == 0 {
		errs = value.CheckKnown(state)
	}
	if len(errs) == 0 && !resp.Diagnostics.HasErrors() {
		errs = value.CheckApplied(block, planned.Planned, state)
		if resp.LegacyTypeSystem {
			errs = value.AlwaysErrors(errs)
		}
	}
	for _, e := range errs {
		s.Errorf("an interrupted apply: %s", e.Error())
	}
	if len(errs) == 0 {
		o.state, o.private = state, resp.Private
		if resp.Identity != cty.NilVal && !resp.Identity.IsNull() {
			o.identity = resp.Identity
		}
	}
}
