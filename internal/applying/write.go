package applying

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/hook"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// writing is the creation or update of one object.
type writing struct {
	a      *applier
	b      *eval.Block
	c      *plan.Change
	inst   addr.AbsResourceInstance
	block  *provider.Block
	prov   provider.Provider
	schema *provider.Schema
	meta   cty.Value // the provider_meta value of its module

	action  plan.Action // Create or Update
	prior   cty.Value
	config  cty.Value
	marks   value.MarkedPaths
	planned cty.Value
	private []byte // the planned private data, then that of the response
	// identity is the planned one, then that of the response, or cty.NilVal if there is none.
	identity cty.Value
	// sketched is set when the provider has reported an object before its response.
	sketched atomic.Bool
}

// write creates or updates one object and returns its value, with marks.
func (a *applier) write(b *eval.Block, key addr.Key, c *plan.Change) (cty.Value, error) {
	w := &writing{a: a, b: b, c: c, inst: c.Object.Instance, block: b.Slot.Type.Block, planned: c.After.Value,
		private: c.Private, identity: c.AfterIdentity()}
	w.action, w.prior = plan.Create, cty.NullVal(w.block.ImpliedType())
	if c.Action == plan.Update {
		w.action, w.prior = plan.Update, c.Before.Value
	}
	var err error
	if w.prov, w.schema, err = a.providerOf(w.inst, *c.Provider); err != nil {
		return cty.DynamicVal, err
	}
	if w.meta, err = a.Meta(b.Slot); err != nil {
		return cty.DynamicVal, err
	}
	if err := w.settle(key); err != nil {
		return cty.DynamicVal, err
	}
	end, err := a.begin(c.Object)
	if err != nil {
		return cty.DynamicVal, err
	}
	v, err := w.change(key)
	end(err)
	return v, err
}

// change performs the change with the actions before it, and checks its result.
func (w *writing) change(key addr.Key) (cty.Value, error) {
	if err := w.a.invokeAll(w.a.invocations.before[w.inst], w.marked(w.planned)); err != nil {
		return cty.DynamicVal, err
	}
	v, err := w.perform()
	if err != nil {
		return cty.DynamicVal, err
	}
	return v, w.a.walk.Report(w.b.Postconditions(key, v))
}

// perform changes the object to its planned value with the smallest possible operation.
func (w *writing) perform() (cty.Value, error) {
	if w.action != plan.Update || !ctyfast.RawEquals(w.planned, w.prior) {
		return w.apply()
	}
	o := w.a.journal.Working().Object(w.c.Object)
	if o != nil && value.EqualPaths(o.Sensitive, value.SensitivePaths(w.block, w.prior, w.marks.Stored())) {
		return w.marked(w.prior), nil // the unknown values became the old ones, so there is nothing to do
	}
	return w.sensitivityOnly()
}

// configuration evaluates a block for one instance whose preconditions are true, for its provider; its values are known
// now.
func (a *applier) configuration(b *eval.Block, key addr.Key) (cty.Value, value.MarkedPaths, error) {
	if err := a.walk.Report(b.Preconditions(key)); err != nil {
		return cty.DynamicVal, value.MarkedPaths{}, err
	}
	marked, err := b.Evaluate(key)
	if err != nil {
		return cty.DynamicVal, value.MarkedPaths{}, err
	}
	return a.known(b, key, marked)
}

// known returns the configuration of an instance without its marks, or an error if parts of it are unknown.
func (a *applier) known(b *eval.Block, key addr.Key, marked cty.Value) (cty.Value, value.MarkedPaths, error) {
	config, marks := a.opts.Secrets.Unmark(b.Slot.Type.Block, marked)
	if ctyfast.WhollyKnown(config) {
		return config, marks, a.walk.Report(b.Storable(key, config))
	}
	inst := b.Addr().Instance(key)
	return cty.DynamicVal, marks,
		a.walk.Report(diag.List{&diag.Diagnostic{Severity: diag.Error, Summary: "Configuration contains unknown value",
			Address: inst.String(), Subject: b.Config().DeclRange.Ptr(),
			Detail: fmt.Sprintf(
				"The configuration of %s still has unknown values, although everything it depends on has been "+
					"applied. This is a bug in a provider or in the engine. Unknown: %s.", inst,
				paths(value.UnknownPaths(config)))}})
}

// settle evaluates the configuration with the values that are known now and, if that can change the planned value,
// requests a new plan from the provider.
func (w *writing) settle(key addr.Key) (err error) {
	if w.config, w.marks, err = w.a.configuration(w.b, key); err != nil {
		return err
	}
	w.a.opts.Secrets.Add(w.c.Before.Value, w.c.Before.Sensitive)
	if w.c.Action == plan.Update {
		var diags diag.List
		if w.config, w.marks, diags = w.b.IgnoreChanges(key, w.prior, w.c.Before.Sensitive, w.config,
			w.marks); diags.HasErrors() {
			return w.a.walk.Report(diags)
		}
	}
	if w.c.Settled {
		return nil
	}
	var resp provider.PlanResponse
	config := value.ForPlan(w.block, w.config)
	stopped := w.a.Call(func() {
		resp = w.prov.Plan(w.a.Calls, provider.PlanRequest{Object: w.c.Object,
			Type: w.inst.Resource.Type, Prior: w.prior, Config: config, PriorPrivate: w.priorPrivate(),
			PriorIdentity: w.priorIdentity(), PlannedPrivate: w.private, Meta: w.meta, Client: access.Client,
			Proposed: value.Propose(w.block, w.prior, config),
		})
	})
	if stopped != nil {
		return stopped
	}
	if err := w.a.walk.Report(
		w.place(resp.Diagnostics.Extend(value.Undeferred(w.c.Object, *w.c.Provider, resp.Deferred)))); err != nil {
		return err
	}
	errs := value.CheckPlan(w.block, w.prior, config, resp.Planned, w.marks.Sensitive...)
	errs = append(errs, value.CheckReplanned(w.block, w.planned, resp.Planned, w.marks.Sensitive...)...)
	if resp.LegacyTypeSystem {
		errs = value.AlwaysErrors(errs)
	}
	if len(errs) > 0 {
		return w.a.walk.Report(w.bad("Provider produced inconsistent final plan", errs))
	}
	w.planned, w.private, w.identity = resp.Planned, resp.Private, resp.Identity
	return nil
}

// priorPrivate returns the private data that the provider planned from: that of the stored object for an update, and
// nil for a creation.
func (w *writing) priorPrivate() []byte {
	if w.action == plan.Create {
		return nil
	}
	if o := w.a.journal.Working().Object(w.c.Object); o != nil {
		return o.Private
	}
	return nil
}

func (w *writing) priorIdentity() cty.Value {
	if w.action == plan.Create {
		return cty.NilVal
	}
	return w.c.BeforeIdentity()
}

// sensitivityOnly stores an object of which only the sensitivity changed, without calling the provider.
func (w *writing) sensitivityOnly() (cty.Value, error) {
	o, err := w.object(w.planned, w.private, state.Ready)
	if err != nil {
		return cty.DynamicVal, err
	}
	w.a.operation(w.c.Object, plan.Update, w.a.identify(w.block, w.prior, w.marks), func() (event.ID, bool) {
		err = w.a.record(state.Edit{Put: &state.PutObject{Addr: w.c.Object, Provider: *w.c.Provider, Object: o}})
		return event.ID{}, err == nil
	})
	if err != nil {
		return cty.DynamicVal, err
	}
	w.a.count(func(c *Counts) { c.Changed++ })
	return w.marked(w.planned), nil
}

// apply performs the call and records it in the journal.
func (w *writing) apply() (cty.Value, error) {
	hooks := w.hooks()
	if err := hooks.before(); err != nil {
		return cty.DynamicVal, err
	}
	v, err := w.enter(hooks)
	if err := hooks.end(err, w.shown(v)); err != nil {
		return cty.DynamicVal, err
	}
	return w.marked(v), nil
}

// hooks returns the hooks around the change.
func (w *writing) hooks() *hooked {
	op := hook.Operation{Object: w.c.Object, Action: w.action, Replacing: w.c.Action.IsReplace(), Block: w.block,
		Before: noValue, After: plan.Value{Value: w.planned, Sensitive: w.marks.Sensitive}}
	if w.action == plan.Update {
		op.Before = w.c.Before
	}
	return w.a.hooksOf(op, *w.c.Provider)
}

// shown returns a result of the change for hooks, which may be missing.
func (w *writing) shown(v cty.Value) plan.Value {
	if v == cty.NilVal || !v.IsKnown() {
		return noValue
	}
	return plan.Value{Value: v, Sensitive: w.marks.Sensitive}
}

// enter calls the provider after waiting for a slot. It returns the new value, without marks; after an error, as far as
// it is known.
func (w *writing) enter(hooks *hooked) (cty.Value, error) {
	of := access.Of{Provider: w.c.Provider.Provider, Object: w.c.Object}
	turn, err := w.a.Enter(of)
	if err != nil {
		return cty.DynamicVal, err
	}
	defer turn.Leave()
	if err := hooks.begin(); err != nil {
		return cty.DynamicVal, err
	}
	if w.c.Action.Deposes() {
		if err := w.a.record(state.Edit{
			Depose: &state.DeposeObject{Instance: w.inst, Key: w.c.DeposedKey}}); err != nil {
			hooks.drop()
			return cty.DynamicVal, err
		}
	}
	intent := func() (string, error) {
		return w.a.intent(w.c.Object, w.action, *w.c.Provider, w.schema, w.planned, w.c)
	}
	op, err := intent()
	if err != nil {
		hooks.drop()
		return cty.DynamicVal, err
	}
	var result cty.Value
	var failed error
	w.a.operation(w.c.Object, w.action, w.a.identify(w.block, w.prior, w.marks), func() (event.ID, bool) {
		resp, op := w.a.attempts(of, op, turn, intent, w.call, w.repeatable)
		if !w.provisioned() {
			turn.Leave() // other calls can begin while the result is made durable
		}
		result, failed = w.conclude(op, resp)
		if failed == nil {
			if failed = w.provision(result); failed != nil { // the object exists, so its postconditions can be checked
				_ = w.a.walk.Report(w.b.Postconditions(w.inst.Key, w.marked(result)))
			}
		}
		if failed != nil {
			return event.ID{}, false
		}
		return w.a.identify(w.block, result, w.marks), true
	})
	if failed == nil {
		w.a.complete(half{object: w.inst})
		w.a.count(func(c *Counts) {
			if w.c.Action == plan.Update {
				c.Changed++
			} else {
				c.Added++
			}
		})
	}
	return result, failed
}

func (w *writing) call(op string) provider.ApplyResponse {
	var mu sync.Mutex // guards wrong: a provider may report parts of the object from several goroutines
	var wrong []value.PathError
	resp := w.prov.Apply(w.a.Calls, provider.ApplyRequest{Object: w.c.Object,
		Type: w.inst.Resource.Type, Prior: w.prior, Planned: w.planned, Config: w.config, PlannedPrivate: w.private,
		PlannedIdentity: w.identity, Meta: w.meta,
		Intent: state.Token(state.RunInfo{ID: w.a.opts.RunID}, op),
		Record: w.storedForm,
		Partial: func(v cty.Value, private []byte) {
			if errs := value.Conforms(w.block, v); len(errs) > 0 {
				w.sketched.Store(true) // some object exists
				mu.Lock()
				defer mu.Unlock()
				wrong = errs
				return
			}
			if v.IsNull() || !v.IsKnown() {
				return // it has no object
			}
			w.sketched.Store(true)
			v = value.NullWriteOnly(w.block, value.UnknownAsNull(v))
			if o, err := w.object(v, private, state.Tainted); err == nil && op != "" {
				if err := w.a.journal.Partial(op, o); err != nil {
					_ = w.a.breakdown(err) // it was reported; the call continues, and its result may be saved elsewhere
				}
			}
		},
	})
	mu.Lock()
	defer mu.Unlock()
	for _, d := range value.BadAnswer(w.c.Object, *w.c.Provider, "Provider recorded an invalid object", wrong) {
		d.Severity = diag.Warning // the response is used instead; the partial result is only needed after a crash
		resp.Diagnostics = append(slices.Clone(resp.Diagnostics), d)
	}
	return resp
}

// storedForm returns the object in its stored form, without its attributes. A run that finds a response which outlived
// this process completes it.
func (w *writing) storedForm() []byte {
	o, err := w.object(value.UnknownAsNull(w.planned), nil, w.status())
	if err != nil {
		return nil
	}
	text, err := state.EncodeObject(o)
	if err != nil {
		return nil
	}
	return text
}

// status returns the status of the object after a successful call.
func (w *writing) status() state.Status {
	if w.provisioned() {
		return state.Tainted // until its last provisioner has ended
	}
	return state.Ready
}

// conclude checks the response and records the object. It returns the new value, without marks.
func (w *writing) conclude(op string, resp provider.ApplyResponse) (cty.Value, error) {
	status := w.status()
	v, unanswered, problems := w.accept(resp)
	diags := w.place(resp.Diagnostics).Extend(problems)
	if !diags.HasErrors() {
		errs := value.CheckApplied(w.block, w.planned, v, w.marks.Sensitive...)
		if resp.LegacyTypeSystem {
			errs = value.AlwaysErrors(errs)
		}
		if len(errs) > 0 {
			diags = diags.Extend(w.bad("Provider produced inconsistent result after apply", errs))
		}
	}
	w.private = resp.Private
	w.identity = w.identified(resp.Identity)
	if errs := value.CheckIdentity(w.b.Slot.Type.Identity, resp.Identity, true); len(errs) > 0 {
		diags = diags.Extend(w.bad("Provider produced invalid identity", errs))
		w.identity = w.identified(cty.NilVal)
	}
	edits, err := w.edits(v, resp.Private, status, diags.HasErrors())
	if err != nil {
		diags = diags.AppendError("Cannot store "+w.inst.String(), err)
	}
	if w.action == plan.Create && op != "" && (unanswered || err != nil) {
		// It is unknown whether this created an object: the operation stays in flight in the journal until the user has
		// checked it. (For an update this is not necessary: its object is in the state, and refreshing detects
		// changes.)
		return v, w.a.walk.Report(diags)
	}
	if err := w.a.result(op, edits...); err != nil {
		_ = w.a.walk.Report(diags)
		return v, err
	}
	return v, w.a.walk.Report(diags)
}

// accept returns the object of a response that can be stored, or null if there is none, and the violations that are
// errors for every provider. unanswered reports whether the response does not show if an object exists: it is missing,
// not an object of this type, unknown as a whole, or null without an error. A failure without an object means that none
// was created, unless the call was interrupted: then the provider did not wait for its end.
func (w *writing) accept(resp provider.ApplyResponse) (v cty.Value, unanswered bool, diags diag.List) {
	none := cty.NullVal(w.block.ImpliedType())
	const summary = "Provider returned invalid result object after apply"
	if v = resp.State; v == cty.NilVal {
		return none, true, nil
	}
	if errs := value.Conforms(w.block, v); len(errs) > 0 {
		return none, true, w.bad("Provider produced invalid object", errs)
	}
	switch {
	case !v.IsKnown() && resp.Diagnostics.HasErrors():
		return none, true, nil // as after a crash of the provider
	case !v.IsKnown():
		return none, true,
			w.bad(summary, []value.PathError{
				{Problem: "the object is unknown as a whole, so it is not known whether it exists"}})
	case v.IsNull():
		return v, !resp.Diagnostics.HasErrors() || w.a.CutOff(resp.Diagnostics), nil
	}
	if errs := value.CheckKnown(v); len(errs) > 0 {
		diags = w.bad(summary, errs)
		v = value.UnknownAsNull(v)
	}
	if errs := value.CheckWriteOnly(w.block, v); len(errs) > 0 {
		diags = diags.Extend(w.bad("Provider produced invalid object", errs))
		v = value.NullWriteOnly(w.block, v)
	}
	return v, false, diags
}

// edits returns the edits of the state after the call.
func (w *writing) edits(v cty.Value, private []byte, status state.Status, failed bool) ([]state.Edit, error) {
	if v.IsNull() {
		switch {
		case w.c.Action.Deposes():
			return []state.Edit{{Depose: &state.DeposeObject{Instance: w.inst, Key: w.c.DeposedKey, Reverse: true}}},
				nil
		case w.action == plan.Create || failed:
			return nil, nil
		}
		return []state.Edit{{Drop: &state.DropObject{Addr: w.c.Object}}}, nil
	}
	if failed {
		status = state.Tainted
		if old := w.a.journal.Working().Object(w.c.Object); w.action == plan.Update && old != nil {
			status = old.Status
		}
	}
	if bytes.Equal(private, nil) {
		private = nil
	}
	o, err := w.object(v, private, status)
	if err != nil {
		return nil, err
	}
	return []state.Edit{{Put: &state.PutObject{Addr: w.c.Object, Provider: *w.c.Provider, Object: o}}}, nil
}

// identified returns the identity in the response, otherwise the former one.
func (w *writing) identified(answered cty.Value) cty.Value {
	switch {
	case answered != cty.NilVal && !answered.IsNull():
		return answered
	case w.c.Action == plan.Update:
		return w.c.BeforeIdentity()
	}
	return cty.NilVal
}

// object returns the form of a value for the state.
func (w *writing) object(v cty.Value, private []byte, status state.Status) (*state.Object, error) {
	var identity []byte
	version := int64(0)
	if s := w.b.Slot.Type.Identity; s != nil && w.identity != cty.NilVal && ctyfast.WhollyKnown(w.identity) {
		var err error
		if identity, err = value.EncodeIdentity(s, w.identity); err != nil {
			return nil, err
		}
		if identity != nil {
			version = s.Version
		}
	}
	return state.NewObject(v, w.block.ImpliedType(), state.Object{
		Status: status, SchemaVersion: w.b.Slot.Type.Version, Sensitive: value.SensitivePaths(w.block, v,
			w.marks.Stored()), Private: private,
		Dependencies: w.c.Dependencies, CreateBeforeDestroy: w.c.CreateBeforeDestroy,
		SkipDestroy: w.c.SkipDestroy, Protected: w.c.Protected, ReadAt: w.a.opts.ReadAt,
		Identity: identity, IdentityVersion: version,
	}, w.b.Slot.Type.Newer...)
}

// marked adds the marks of configuration and schema to a value.
func (w *writing) marked(v cty.Value) cty.Value {
	return value.MarkSensitive(v, value.SensitivePaths(w.block, v, w.marks.Stored()))
}

func (w *writing) place(diags diag.List) diag.List { return w.b.Locate(diags, w.inst.Key) }

func (w *writing) bad(summary string, errs []value.PathError) diag.List {
	return w.place(value.BadAnswer(w.c.Object, *w.c.Provider, summary, errs))
}

func paths(list []cty.Path) string {
	out := ""
	for i, p := range list {
		if i > 0 {
			out += ", "
		}
		out += value.FormatPath(p)
	}
	return out
}

// identify returns the displayed identity of an object. An id that is not sensitive in the schema may still derive from
// a secret.
func (a *applier) identify(b *provider.Block, v cty.Value, marks value.MarkedPaths) event.ID {
	key, text := value.Identify(b, v, marks.Sensitive)
	return event.ID{Key: key, Value: a.opts.Secrets.Redact(text)}
}

// intent durably writes the intent of an operation and returns its id; objects that only exist in the state need none.
func (a *applier) intent(o addr.Object, action plan.Action, cfg addr.AbsProviderConfig, schema *provider.Schema,
	planned cty.Value, c *plan.Change) (string, error) {
	if schema.StateOnly {
		return "", nil
	}
	var raw []byte
	if !planned.IsNull() {
		var err error
		if raw, err = ctyfast.MarshalJSON(value.UnknownAsNull(planned), c.Type); err != nil {
			return "", a.walk.Report(diag.FromError("Cannot record the planned value of "+o.String(), err))
		}
	}
	id := a.operationID()
	err := a.journal.Intent(state.Intent{ID: id, Object: o, Action: state.Action(action.String()), Provider: cfg,
		Planned: raw, Dependencies: c.Dependencies, Started: time.Now().UTC()})
	if err != nil {
		return "", a.breakdown(err)
	}
	return id, nil
}

// operationID returns a new id for an operation within the run.
func (a *applier) operationID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ops++
	return fmt.Sprintf("op-%d", a.ops)
}

// result records the result of an operation: durable before anything that depends on it begins.
func (a *applier) result(op string, edits ...state.Edit) error {
	var err error
	if op == "" {
		if len(edits) > 0 {
			err = a.journal.Record(edits...)
		}
	} else {
		err = a.journal.Result(op, edits...)
	}
	if err := a.unstorable(err, edits...); err != nil {
		return err
	}
	if err != nil {
		return a.breakdown(err)
	}
	if op != "" && a.opts.Recorded != nil {
		a.opts.Recorded(op)
	}
	return nil
}
