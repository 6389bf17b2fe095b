package providertest

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

var client = provider.ClientCapabilities{WriteOnlyAttributesAllowed: true, ComputedBlocksAllowed: true}

// counter numbers objects: no two objects of a suite have the same configuration.
type counter struct{ n atomic.Int64 }

func (c *counter) take() int { return int(c.n.Add(1)) }

var objects counter

// begin starts a provider and gets its schema, which must be valid for the engine.
func (s *session) begin() {
	s.Helper()
	s.launch()
	schemaChecker{func(format string, args ...any) { s.Fatalf("the schema is not sane: "+format, args...) }}.schema(
		s.schema)
}

// launch starts a provider and gets its schema.
func (s *session) launch() {
	s.Helper()
	if s.next == nil {
		s.next = &objects
	}
	p, err := s.o.New(s.ctx)
	if err != nil || p == nil {
		s.Fatalf("the provider does not start: %v", err)
	}
	s.p = p
	s.Cleanup(func() { _ = p.Close() })
	schema, diags := p.Schema(s.ctx)
	s.succeeds("ask for the schema", nil, diags)
	if schema == nil {
		s.Fatalf("there is no schema, and no error either")
	}
	s.schema = schema
}

// start starts a provider and configures it.
func (s *session) start() {
	s.Helper()
	s.begin()
	block := s.providerBlock()
	config := s.complete(block, s.o.Config)
	checked := s.p.ValidateConfig(s.ctx, provider.ValidateConfigRequest{Config: config})
	s.succeeds("validate the provider's configuration", block, checked.Diagnostics)
	if checked.Prepared != cty.NilVal && !checked.Prepared.IsNull() {
		s.conforms("the prepared configuration", block, checked.Prepared)
		config = checked.Prepared
	}
	resp := s.p.Configure(s.ctx, provider.ConfigureRequest{TerraformVersion: "1.11.4", Config: config, Client: client})
	s.succeeds("configure", block, resp.Diagnostics)
}

func (s *session) providerBlock() *provider.Block {
	if s.schema.Provider == nil {
		return &provider.Block{}
	}
	return s.schema.Provider
}

// complete returns a configuration of attributes: omitted ones are null, and omitted blocks empty.
func (s *session) complete(block *provider.Block, given ...Attrs) cty.Value {
	s.Helper()
	all := map[string]cty.Value{}
	for _, g := range given {
		maps.Copy(all, g)
	}
	v, err := completeBlock(block, all)
	if err != nil {
		s.Fatalf("the configuration of the test does not fit the schema: %s", err)
	}
	s.secrets.learn(block, v)
	if errs := value.Conforms(block, v); len(errs) > 0 {
		s.Fatalf("the configuration of the test does not fit the schema: %s", errs[0])
	}
	return v
}

func completeBlock(block *provider.Block, given map[string]cty.Value) (cty.Value, error) {
	vals := block.EmptyValue().AsValueMap()
	if vals == nil {
		vals = map[string]cty.Value{}
	}
	for name, v := range inOrder(given) {
		var err error
		switch a, nb := block.Attributes[name], block.Blocks[name]; {
		case a != nil && a.Type == cty.DynamicPseudoType:
		case a != nil:
			v, err = convert.Convert(v, withOptionals(a.ImpliedType()))
		case nb != nil:
			v, err = completeBlocks(nb, v)
		default:
			err = fmt.Errorf("there is neither an attribute nor a block of this name")
		}
		if err != nil {
			return cty.NilVal, fmt.Errorf("%s: %w", name, err)
		}
		vals[name] = v
	}
	return cty.ObjectVal(vals), nil
}

func completeBlocks(nb *provider.NestedBlock, given cty.Value) (cty.Value, error) {
	if !given.IsKnown() || given.IsNull() {
		return convert.Convert(given, nb.ImpliedType())
	}
	if nb.Nesting == provider.NestingSingle || nb.Nesting == provider.NestingGroup {
		return completeBlock(&nb.Block, given.AsValueMap())
	}
	var list []cty.Value
	keyed := map[string]cty.Value{}
	for k, v := range given.Elements() {
		one, err := completeBlock(&nb.Block, v.AsValueMap())
		if err != nil {
			return cty.NilVal, err
		}
		list = append(list, one)
		if k.Type() == cty.String && nb.Nesting == provider.NestingMap {
			keyed[k.AsString()] = one
		}
	}
	if nb.Nesting == provider.NestingMap {
		return convert.Convert(cty.ObjectVal(keyed), nb.ImpliedType())
	}
	return convert.Convert(cty.TupleVal(list), nb.ImpliedType())
}

// withOptionals makes the attributes of nested objects optional.
func withOptionals(ty cty.Type) cty.Type {
	switch {
	case ty.IsObjectType():
		atys := map[string]cty.Type{}
		var names []string
		for name, aty := range ty.AttributeTypes() {
			atys[name] = withOptionals(aty)
			names = append(names, name)
		}
		return cty.ObjectWithOptionalAttrs(atys, names)
	case ty.IsListType():
		return cty.List(withOptionals(ty.ElementType()))
	case ty.IsSetType():
		return cty.Set(withOptionals(ty.ElementType()))
	case ty.IsMapType():
		return cty.Map(withOptionals(ty.ElementType()))
	}
	return ty
}

// checkDiagnostics reports invalid diagnostics, whatever their text.
func (s *session) checkDiagnostics(what string, block *provider.Block, diags diag.List) {
	s.Helper()
	for _, d := range diags {
		switch {
		case d == nil:
			s.Errorf("%s: a diagnostic is nil", what)
			continue
		case d.Severity != diag.Error && d.Severity != diag.Warning:
			s.Errorf("%s: the diagnostic %q has no severity", what, d.Summary)
		case d.Summary == "":
			s.Errorf("%s: a diagnostic has no summary: %q", what, d.Detail)
		}
		if d.Subject != nil || d.Context != nil || d.Expression != nil || d.Address != "" {
			s.Errorf(
				"%s: the diagnostic %q has a source range, an expression or an address; a provider knows paths only",
				what, d.Summary)
		}
		if block != nil && !leads(block.ImpliedType(), d.Path) {
			s.Errorf("%s: the diagnostic %q is about %s, which the schema does not have", what, d.Summary,
				value.FormatPath(d.Path))
		}
	}
}

// leads reports whether a path exists in values of a type.
func leads(ty cty.Type, path cty.Path) bool {
	for _, step := range path {
		get, isGet := step.(cty.GetAttrStep)
		switch {
		case ty == cty.DynamicPseudoType:
			return true
		case ty.IsObjectType() && isGet && ty.HasAttribute(get.Name):
			ty = ty.AttributeType(get.Name)
		case ty.IsCollectionType() && !isGet:
			ty = ty.ElementType()
		default:
			return false
		}
	}
	return true
}

// succeeds requires that a call returned no errors.
func (s *session) succeeds(what string, block *provider.Block, diags diag.List) {
	s.Helper()
	s.checkDiagnostics(what, block, diags)
	if diags.HasErrors() {
		s.Fatalf("%s: %s", what, diags.Err())
	}
}

// refuses requires that a call returned an error at a path.
func (s *session) refuses(what string, block *provider.Block, diags diag.List, at cty.Path) {
	s.Helper()
	s.checkDiagnostics(what, block, diags)
	if !diags.HasErrors() {
		s.Errorf("%s: no error", what)
		return
	}
	if at == nil {
		return
	}
	for _, d := range diags {
		if d.Severity == diag.Error && d.Path.Equals(at) {
			return
		}
	}
	s.Errorf("%s: no error at %s, but: %s", what, value.FormatPath(at), diags.Err())
}

func (s *session) conforms(what string, block *provider.Block, v cty.Value) {
	s.Helper()
	s.secrets.learn(block, v)
	s.checkErrors(what, value.Conforms(block, v))
}

// checkErrors ends the check if a response violates the rules for values.
func (s *session) checkErrors(what string, errs []value.PathError) {
	s.Helper()
	for _, e := range errs {
		s.Errorf("%s: %s", what, e.Error())
	}
	if len(errs) > 0 {
		s.Fatalf("%s: the engine refuses this answer", what)
	}
}

// safely makes a panic of the provider an ordinary failure.
func (s *session) safely(what string, f func()) {
	s.Helper()
	defer func() {
		if p := recover(); p != nil {
			s.Errorf("%s: panic: %v\n%s", what, p, debug.Stack())
		}
	}()
	f()
}

// within requires that a call returns in time.
func (s *session) within(what string, f func()) {
	s.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.safely(what, f)
	}()
	select {
	case <-done:
	case <-time.After(s.patience()):
		s.Fatalf("%s: still not back after %s", what, s.patience())
	}
}

// object is one object during its lifetime, with calls in the order of the engine.
type object struct {
	s      *session
	r      *Resource
	rt     *provider.ResourceType
	n      int // the number of the object
	config cty.Value

	state    cty.Value
	private  []byte
	identity cty.Value
	// lost means that the object may exist: its creation gave no usable answer.
	lost bool
}

// object returns a new object, not created yet, with changes to its configuration.
func (s *session) object(r *Resource, changes ...Attrs) *object {
	s.Helper()
	rt := s.schema.Resources[r.Type]
	if rt == nil {
		s.Fatalf("the schema has no resource type %q", r.Type)
	}
	n := s.next.take()
	config := s.complete(rt.Block, append([]Attrs{r.Config(n)}, changes...)...)
	o := &object{s: s, r: r, rt: rt, n: n, config: config, state: cty.NullVal(rt.Block.ImpliedType())}
	s.made.add(o)
	return o
}

// updated returns the configuration with an update.
func (o *object) updated(u Update) cty.Value {
	o.s.Helper()
	if u.Vary != nil {
		return o.changed(u.Vary(o.n))
	}
	return o.changed(u.Change)
}

// changed returns the configuration with a change.
func (o *object) changed(change Attrs) cty.Value {
	o.s.Helper()
	given := Attrs(o.config.AsValueMap())
	merged := maps.Clone(given)
	maps.Copy(merged, change)
	return o.s.complete(o.rt.Block, merged)
}

func (o *object) null() cty.Value { return cty.NullVal(o.rt.Block.ImpliedType()) }

func (o *object) validate(config cty.Value) diag.List {
	return o.s.p.ValidateResource(o.s.ctx, provider.ValidateResourceRequest{Kind: provider.ManagedResource,
		Type: o.r.Type, Config: config, Client: client})
}

// requestPlan requests a plan and checks it. replaces reports whether the provider requires a replacement; then the
// response is about an update.
func (o *object) requestPlan(prior, config cty.Value, private []byte) (resp provider.PlanResponse, replaces bool) {
	s, block := o.s, o.rt.Block
	s.Helper()
	s.succeeds("validate", block, o.validate(config))
	config = value.ForPlan(block, config)
	resp = s.p.Plan(s.ctx, provider.PlanRequest{
		Type: o.r.Type, Prior: prior, Config: config, PriorPrivate: private, PriorIdentity: o.identity, Client: client,
		Proposed: value.Propose(block, prior, value.NullWriteOnly(block, config)),
	})
	s.secrets.learn(block, resp.Planned)
	s.succeeds("plan", block, resp.Diagnostics)
	if resp.Deferred != provider.NotDeferred {
		s.Fatalf("plan: deferred, although the engine did not offer to wait")
	}
	errs := value.CheckPlan(block, prior, config, resp.Planned)
	if resp.LegacyTypeSystem {
		errs = value.AlwaysErrors(errs)
	}
	s.checkErrors("plan", errs)
	paths, invalid := value.FilterReplacePaths(block, prior, resp.Planned, resp.RequiresReplace)
	if len(invalid) > 0 {
		s.Fatalf("plan: %s requires replacement, but the schema does not have it", value.FormatPath(invalid[0]))
	}
	return resp, len(paths) > 0
}

// apply plans a configuration and applies it, with a replacement if the provider requires one.
func (o *object) apply(config cty.Value) (replaced bool) {
	o.s.Helper()
	resp, replaces := o.requestPlan(o.state, config, o.private)
	if replaces && !o.state.IsNull() {
		o.destroy()
		resp, _ = o.requestPlan(o.null(), config, nil)
	}
	if !o.state.IsNull() && resp.Planned.RawEquals(o.state) {
		// There is no change, such as after an optional computed value is removed from the configuration: engines do
		// not apply that.
		o.config = config
		return false
	}
	o.perform(config, resp)
	return replaces
}

// perform applies a plan.
func (o *object) perform(config cty.Value, planned provider.PlanResponse) {
	o.s.Helper()
	o.performed(config, planned, o.attempt(config, planned))
}

// attempt applies a plan without a check of the response.
func (o *object) attempt(config cty.Value, planned provider.PlanResponse) provider.ApplyResponse {
	s, block := o.s, o.rt.Block
	s.Helper()
	return s.p.Apply(s.ctx, provider.ApplyRequest{
		Type: o.r.Type, Prior: o.state, Planned: planned.Planned, Config: config, PlannedPrivate: planned.Private,
		PlannedIdentity: planned.Identity,
		Intent:          fmt.Sprintf("providertest/%d", s.next.take()),
		Partial: func(v cty.Value, _ []byte) {
			if errs := value.Conforms(block, v); len(errs) > 0 {
				s.Errorf("apply: what it tells early does not fit the schema: %s", errs[0])
			}
		},
	})
}

// performed checks the response of an apply that should succeed, and stores it.
func (o *object) performed(config cty.Value, planned provider.PlanResponse, resp provider.ApplyResponse) {
	s, block := o.s, o.rt.Block
	s.Helper()
	o.keep(resp)
	s.succeeds("apply", block, resp.Diagnostics)
	errs := value.CheckApplied(block, planned.Planned, resp.State)
	if resp.LegacyTypeSystem {
		errs = value.AlwaysErrors(errs)
	}
	s.checkErrors("apply", errs)
	o.state, o.private = resp.State, resp.Private
	o.identify("apply", resp.Identity)
	o.config = config
}

// identify checks the identity in a response.
func (o *object) identify(what string, identity cty.Value) {
	o.s.Helper()
	schema := o.rt.Identity
	switch {
	case schema == nil || o.r.lacksIdentity():
		if identity != cty.NilVal && !identity.IsNull() {
			o.s.Errorf("%s: there is an identity, but the type has none, or none that is told", what)
		}
		return
	case identity == cty.NilVal || identity.IsNull() || !identity.IsWhollyKnown():
		o.s.Errorf("%s: the type has an identity, but there is none, or it is not known", what)
		return
	case !identity.Type().Equals(schema.ImpliedType()):
		o.s.Errorf("%s: the identity is %s, not of the type of its schema", what, show(identity))
		return
	case o.identity != cty.NilVal && !o.identity.IsNull() && !o.identity.RawEquals(identity):
		o.s.Errorf("%s: the identity of the object changed:\n%s", what, differences("before", o.identity, "now",
			identity))
	}
	o.identity = identity
}

// read reads the object and checks the response.
func (o *object) read() (cty.Value, []byte) {
	s, block := o.s, o.rt.Block
	s.Helper()
	resp := s.p.Read(s.ctx, provider.ReadRequest{Type: o.r.Type, Prior: o.state, Private: o.private,
		Identity: o.identity, Client: client})
	s.secrets.learn(block, resp.State)
	s.succeeds("read", block, resp.Diagnostics)
	s.checkErrors("read", value.CheckRefreshed(block, resp.State))
	if !resp.State.IsNull() {
		o.identify("read", resp.Identity)
	}
	return resp.State, resp.Private
}

// settled checks that reading finds the object unchanged, and that planning its configuration again finds no change.
func (o *object) settled() {
	s := o.s
	s.Helper()
	now, private := o.read()
	if !now.RawEquals(o.state) {
		s.Fatalf("read: the object is not what apply left:\n%s", differences("apply left", marked(o.rt.Block, o.state),
			"read found", marked(o.rt.Block, now)))
	}
	if !bytes.Equal(private, o.private) {
		s.Errorf("read: the private data changed from %q to %q", o.private, private)
	}
	resp, replaces := o.requestPlan(o.state, o.config, o.private)
	if kept := value.NullWriteOnly(o.rt.Block, o.state); replaces || !resp.Planned.RawEquals(kept) {
		s.Fatalf("plan: the same configuration asks for a change (replacement %t):\n%s", replaces,
			differences("there is", marked(o.rt.Block, kept), "planned", marked(o.rt.Block, resp.Planned)))
	}
}

// destroy deletes the object.
func (o *object) destroy() {
	s, block := o.s, o.rt.Block
	s.Helper()
	private := o.private
	if s.schema.PlanDestroy {
		resp := s.p.Plan(s.ctx, provider.PlanRequest{Type: o.r.Type, Prior: o.state, Proposed: o.null(),
			Config: o.null(), PriorPrivate: private, PriorIdentity: o.identity, Client: client})
		s.succeeds("plan a deletion", block, resp.Diagnostics)
		if resp.Planned != cty.NilVal && !resp.Planned.IsNull() {
			s.Fatalf("plan a deletion: the planned value is %s, not null", show(marked(block, resp.Planned)))
		}
		private = resp.Private
	}
	resp := s.p.Apply(s.ctx, provider.ApplyRequest{
		Type: o.r.Type, Prior: o.state, Planned: o.null(), Config: o.null(), PlannedPrivate: private,
		PlannedIdentity: o.identity,
		Intent:          fmt.Sprintf("providertest/%d", s.next.take()),
	})
	s.succeeds("delete", block, resp.Diagnostics)
	s.conforms("delete", block, resp.State)
	if !resp.State.IsNull() {
		s.Fatalf("delete: the object is still there: %s", show(marked(block, resp.State)))
	}
	gone := func() { o.state, o.private, o.identity = o.null(), nil, cty.NilVal }
	if s.schema.StateOnly {
		gone()
		return // an object that exists only in the state cannot be found
	}
	after := s.p.Read(s.ctx, provider.ReadRequest{Type: o.r.Type, Prior: o.state, Private: o.private,
		Identity: o.identity, Client: client})
	if there := after.State; there == cty.NilVal || there.IsNull() || after.Diagnostics.HasErrors() {
		gone() // or nobody can say; otherwise it is deleted again when the check has ended
	}
	s.succeeds("read what was deleted", block, after.Diagnostics)
	s.conforms("read what was deleted", block, after.State)
	if !after.State.IsNull() {
		s.Fatalf("read what was deleted: the object is still there: %s", show(marked(block, after.State)))
	}
}

// inOrder iterates over a map in the order of its keys, so that a provider under test always gets the same calls.
func inOrder[T any](m map[string]T) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
