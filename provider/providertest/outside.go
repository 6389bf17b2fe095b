package providertest

import (
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// lateChecks returns checks of resources that come after all others, because the numbers of objects depend on the
// position of a check, and records of calls contain them.
func lateChecks(o *Options) (all []check) {
	for _, r := range o.Resources {
		for _, u := range r.Updates {
			if !u.Replaces && !r.Blind {
				all = append(all, check{prefixOf(&r) + "drift of " + u.Name,
					func(s *session) { checkDrift(s, &r, &u) }})
			}
		}
		if e := earlier(o, &r); e != nil {
			all = append(all, check{prefixOf(&r) + "take over an object of the earlier version",
				func(s *session) { checkTakeover(s, &r, e) }})
		}
		if len(r.Generated) > 0 {
			all = append(all, check{prefixOf(&r) + "generated values", func(s *session) { checkGenerated(s, &r) }})
		}
	}
	return all
}

// earlier returns the resource of the earlier version with the same name and type, or nil.
func earlier(o *Options, r *Resource) *Resource {
	if o.Earlier == nil {
		return nil
	}
	for _, e := range o.Earlier.Resources {
		if e.Type == r.Type && nameOf(e.Name, e.Type) == nameOf(r.Name, r.Type) {
			return &e
		}
	}
	return nil
}

// checkDrift changes an object as another user would, whose run this state does not know: reading must find the change,
// and planning must undo it.
func checkDrift(s *session, r *Resource, u *Update) {
	s.start()
	if s.schema.StateOnly {
		s.Skipf("objects exist only in the state, so nothing else can change them")
	}
	o := s.object(r)
	original := o.config
	o.apply(original)
	before := *o
	before.s = s
	o.apply(o.updated(*u))
	found, private := before.read()
	if found.IsNull() {
		s.Fatalf("read: the object was changed outside, and is not found any more")
	}
	block := o.rt.Block
	names := o.visible(before.state, original)
	if len(names) == 0 {
		o.destroy()
		s.Skipf("the change sets no attribute that had a value to another one that can be read")
	}
	for _, name := range names {
		got, want := marked(block, found).GetAttr(name), marked(block, o.state).GetAttr(name)
		// What is read may be another spelling of the same value.
		if found.GetAttr(name).RawEquals(before.state.GetAttr(name)) {
			s.Fatalf("read: the object was changed outside, and is still read as it was:\n%s: read found %s, it is "+
				"%s\nAttributes that no answer of the system tells belong to \"untold\".", name, show(got), show(want))
		}
	}
	o.state, o.private = found, private
	resp, replaces := o.requestPlan(o.state, original, o.private)
	if replaces {
		s.Fatalf("plan: a change made outside is undone by a replacement, but the same change is made by an update")
	}
	switch unchanged := resp.Planned.RawEquals(o.state); {
	case unchanged && value.Propose(block, found, value.NullWriteOnly(block, original)).RawEquals(found):
		o.destroy() // the configuration leaves it to the provider what was changed
		return
	case unchanged:
		s.Fatalf("plan: the object was changed outside, and the configuration does not ask to undo that")
	}
	o.perform(original, resp)
	o.settled()
	o.destroy()
}

// extends reports whether a value is another one with more elements in maps or attributes in objects.
func extends(v, of cty.Value) bool {
	keyed := func(v cty.Value) bool {
		return v.IsKnown() && !v.IsNull() && (v.Type().IsMapType() || v.Type().IsObjectType())
	}
	if !keyed(v) || !keyed(of) {
		return v.RawEquals(of)
	}
	all := v.AsValueMap()
	for name, part := range of.AsValueMap() {
		if now, ok := all[name]; !part.IsNull() && (!ok || !extends(now, part)) {
			return false
		}
	}
	return true
}

// visible returns the attributes and blocks that an update has set to another value, where both are not empty: a system
// may tell nothing about arguments of the provider itself, and mix up null with what is empty. Those that no answer
// tells are not among them.
func (o *object) visible(before, original cty.Value) (names []string) {
	told := o.state
	if o.r.Import != nil && o.r.Import.Want != nil {
		told = o.r.Import.Want(o.state)
	}
	for name, now := range inOrder(o.config.AsValueMap()) {
		was := original.GetAttr(name)
		if !isEmpty(was) && !isEmpty(now) && !now.RawEquals(was) &&
			!(o.r.Lenient && extends(now, was)) && !before.GetAttr(name).RawEquals(told.GetAttr(name)) &&
			told.GetAttr(name).RawEquals(o.state.GetAttr(name)) {
			names = append(names, name)
		}
	}
	return names
}

// isEmpty reports whether a value is null, or the empty one of its type.
func isEmpty(v cty.Value) bool {
	switch {
	case v.IsNull() || !v.IsKnown():
		return true
	case v.Type() == cty.String:
		return v.AsString() == ""
	case v.Type() == cty.Number:
		return v.RawEquals(cty.Zero)
	case v.Type() == cty.Bool:
		return v.False()
	}
	return v.CanIterateElements() && v.LengthInt() == 0
}

// checkTakeover creates an object with the earlier version of the provider, and continues with this version as every
// run does after an installation: the stored object is upgraded and read, and its configuration must not change it,
// except for attributes that the earlier version did not have.
func checkTakeover(s *session, r, e *Resource) {
	s.start()
	before := newSession(s.ctx, s.tb, s.o.Earlier, s.next)
	before.start()
	old := before.object(e)
	old.apply(old.config)
	s.secrets.learn(old.rt.Block, old.state)
	stored, err := ctyjson.Marshal(old.state, old.rt.Block.ImpliedType())
	if err != nil {
		s.Fatalf("the object of the earlier version cannot be stored: %s", err)
	}
	rt := s.schema.Resources[r.Type]
	if rt == nil {
		s.Fatalf("the schema has no resource type %q", r.Type)
	}
	o := &object{s: s, r: r, rt: rt, n: old.n, config: s.complete(rt.Block, r.Config(old.n)), private: old.private}
	o.state = o.null()
	resp := s.p.UpgradeState(s.ctx, provider.UpgradeStateRequest{Type: r.Type, Version: old.rt.Version,
		Stored: provider.StoredObject{JSON: stored}})
	s.succeeds("upgrade", rt.Block, resp.Diagnostics)
	s.conforms("upgrade", rt.Block, resp.State)
	s.checkErrors("upgrade", value.CheckKnown(resp.State))
	o.state = resp.State
	o.takeIdentity(old)
	found, private := o.read()
	if found.IsNull() {
		s.Fatalf("read: the object of the earlier version is not found after the upgrade")
	}
	upgraded := o.state
	if lost := old.kept(upgraded, value.Diff(upgraded, found)); len(lost) > 0 {
		s.Errorf("upgrade: the object is not what is read afterwards:\n%s", list(lost, "upgraded",
			marked(rt.Block, o.state), "read found", marked(rt.Block, found)))
	}
	o.state, o.private = found, private
	// From here on this version can delete the object.
	s.made.add(o)
	old.state = old.null()
	planned, replaces := o.requestPlan(o.state, o.config, o.private)
	if replaces {
		s.Fatalf("plan: the configuration of this version replaces the object of the earlier one")
	}
	if changes := old.kept(upgraded, value.Diff(o.state, planned.Planned)); len(changes) > 0 {
		s.Fatalf("plan: the configuration of this version changes the object of the earlier one:\n%s", list(changes,
			"the object has", marked(rt.Block, o.state), "planned", marked(rt.Block, planned.Planned)))
	}
	if !planned.Planned.RawEquals(value.NullWriteOnly(rt.Block, o.state)) {
		o.perform(o.config, planned)
	}
	o.settled()
	o.destroy()
}

// takeIdentity takes the identity of an object of the earlier version, upgraded if its schema has changed.
func (o *object) takeIdentity(old *object) {
	schema := o.rt.Identity
	if schema == nil || o.r.lacksIdentity() || old.rt.Identity == nil || old.identity == cty.NilVal ||
		old.identity.IsNull() {
		return
	}
	stored, err := ctyjson.Marshal(old.identity, old.rt.Identity.ImpliedType())
	if err != nil {
		o.s.Fatalf("the identity of the earlier version cannot be stored: %s", err)
	}
	resp := o.s.p.UpgradeIdentity(o.s.ctx, provider.UpgradeIdentityRequest{Type: o.r.Type,
		Version: old.rt.Identity.Version, JSON: stored})
	o.s.succeeds("upgrade the identity", nil, resp.Diagnostics)
	o.identify("upgrade the identity", resp.Identity)
}

// kept returns those of some paths whose values must stay: what the earlier version had, and what the upgrade has set.
func (o *object) kept(upgraded cty.Value, paths []cty.Path) (out []cty.Path) {
	then := o.rt.Block.ImpliedType()
	for _, path := range paths {
		at, err := path.Apply(upgraded)
		if leads(then, path) || err == nil && !at.IsNull() {
			out = append(out, path)
		}
	}
	return out
}

// list returns two values at paths, one path a line. word and other name the values.
func list(paths []cty.Path, word string, a cty.Value, other string, b cty.Value) string {
	var lines []string
	for _, path := range paths {
		lines = append(lines, strings.TrimPrefix(value.FormatPath(path), ".")+": "+word+" "+part(path, a)+", "+other+
			" "+part(path, b))
	}
	return strings.Join(lines, "\n")
}

// checkGenerated creates an object with each of the generated changes, which the provider may refuse, and deletes it.
func checkGenerated(s *session, r *Resource) {
	s.start()
	kept, reason := 0, ""
	for _, u := range r.Generated {
		trial := *s
		trial.tb = labelled{s.tb, u.Name + ": "}
		if why := trial.keeps(r, u); why != "" {
			reason = why
		} else {
			kept++
		}
	}
	if kept == 0 {
		s.Skipf("all %d generated configurations are refused, the last one with: %s", len(r.Generated), reason)
	}
}

// keeps creates and deletes an object with a change, and returns why the provider refuses the change, or "".
func (s *session) keeps(r *Resource, u Update) (refused string) {
	o := s.object(r)
	o.config = o.updated(u)
	if diags := o.validate(o.config); diags.HasErrors() {
		s.checkDiagnostics("validate", o.rt.Block, diags)
		return diags.Err().Error()
	}
	config := value.ForPlan(o.rt.Block, o.config)
	if diags := s.p.Plan(s.ctx, provider.PlanRequest{Type: r.Type, Prior: o.null(), Config: config, Client: client,
		Proposed: value.Propose(o.rt.Block, o.null(), value.NullWriteOnly(o.rt.Block, config))}).Diagnostics; diags.
		HasErrors() {
		s.checkDiagnostics("plan", o.rt.Block, diags)
		return diags.Err().Error()
	}
	planned, _ := o.requestPlan(o.null(), o.config, nil)
	resp := o.attempt(o.config, planned)
	if resp.Diagnostics.HasErrors() && resp.State != cty.NilVal && resp.State.IsNull() { // nothing was created
		s.checkDiagnostics("create", o.rt.Block, resp.Diagnostics)
		return resp.Diagnostics.Err().Error()
	}
	o.performed(o.config, planned, resp)
	o.settled()
	o.destroy()
	return ""
}

// labelled is a test whose messages begin with a label.
type labelled struct {
	tb
	label string
}

func (l labelled) Errorf(format string, args ...any) {
	l.Helper()
	l.tb.Errorf(l.quoted()+format, args...)
}

func (l labelled) Fatalf(format string, args ...any) {
	l.Helper()
	l.tb.Fatalf(l.quoted()+format, args...)
}

// quoted returns the label as a part of a format.
func (l labelled) quoted() string { return strings.ReplaceAll(l.label, "%", "%%") }
