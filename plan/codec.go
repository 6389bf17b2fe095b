package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/state"
)

// The JSON form of a plan. Values are msgpack, which keeps unknown values with their refinements; object types are in a
// table; addresses are text.
type jsonPlan struct {
	Mode            Mode                           `json:"mode"`
	Created         time.Time                      `json:"created"`
	Workspace       string                         `json:"workspace"`
	Types           []json.RawMessage              `json:"types"`
	Variables       map[string]jsonVariable        `json:"variables,omitempty"`
	Changes         []jsonChange                   `json:"changes,omitempty"`
	Drift           []jsonChange                   `json:"drift,omitempty"`
	Outputs         []jsonOutput                   `json:"outputs,omitempty"`
	Steps           []jsonStep                     `json:"steps,omitempty"`
	Expansions      map[string]map[string][]string `json:"expansions,omitempty"`
	Checks          []state.CheckResult            `json:"checks,omitempty"`
	Invocations     []jsonInvocation               `json:"invocations,omitempty"`
	Invoke          []string                       `json:"invoke,omitempty"`
	Targets         []string                       `json:"targets,omitempty"`
	Except          []string                       `json:"except,omitempty"`
	ForceReplace    []string                       `json:"force_replace,omitempty"`
	Relevant        []jsonRelevant                 `json:"relevant,omitempty"`
	Unsettled       []string                       `json:"unsettled,omitempty"`
	LeftOut         []jsonLeftOut                  `json:"left_out,omitempty"`
	Deferred        []jsonDeferral                 `json:"deferred,omitempty"`
	Interrupted     []string                       `json:"interrupted,omitempty"`
	Unrefreshed     bool                           `json:"unrefreshed,omitempty"`
	Unread          []string                       `json:"unread,omitempty"`
	UnreadBySetting []string                       `json:"unread_by_setting,omitempty"`
	Errored         bool                           `json:"errored,omitempty"`
	Complete        bool                           `json:"complete,omitempty"`
	FunctionResults map[string]string              `json:"function_results,omitempty"`
	Nonsensitive    []string                       `json:"nonsensitive,omitempty"`
}

type jsonVariable struct {
	Value     []byte `json:"value,omitempty"`
	Sensitive bool   `json:"sensitive,omitempty"`
	Ephemeral bool   `json:"ephemeral,omitempty"`
	Given     bool   `json:"given,omitempty"`
}

type jsonValue struct {
	Value     []byte            `json:"value"`
	Sensitive []json.RawMessage `json:"sensitive,omitempty"`
}

type jsonChange struct {
	Address             string               `json:"address"`
	Deposed             string               `json:"deposed,omitempty"`
	Previous            string               `json:"previous,omitempty"`
	Provider            string               `json:"provider"`
	Action              Action               `json:"action"`
	Reason              Reason               `json:"reason,omitempty"`
	Type                int                  `json:"type"`
	SchemaVersion       int64                `json:"schema_version,omitempty"`
	Before              jsonValue            `json:"before"`
	After               jsonValue            `json:"after"`
	ReplacePaths        []json.RawMessage    `json:"replace_paths,omitempty"`
	Triggers            []jsonReplaceTrigger `json:"triggers,omitempty"`
	Private             []byte               `json:"private,omitempty"`
	Dependencies        []string             `json:"dependencies,omitempty"`
	CreateBeforeDestroy bool                 `json:"create_before_destroy,omitempty"`
	SkipDestroy         bool                 `json:"skip_destroy,omitempty"`
	Protected           bool                 `json:"protected,omitempty"`
	Unprotected         bool                 `json:"unprotected,omitempty"`
	DeposedKey          string               `json:"deposed_key,omitempty"`
	Importing           *jsonImporting       `json:"importing,omitempty"`
	NotImported         *jsonImporting       `json:"not_imported,omitempty"`
	GeneratedConfig     string               `json:"generated_config,omitempty"`
	BeforeIdentity      []byte               `json:"before_identity,omitempty"`
	AfterIdentity       []byte               `json:"after_identity,omitempty"`
	Settled             bool                 `json:"settled,omitempty"`
}

type jsonImporting struct {
	ID       string `json:"id,omitempty"`
	Identity []byte `json:"identity,omitempty"`
	Unknown  bool   `json:"unknown,omitempty"`
	Secret   bool   `json:"secret,omitempty"`
}

type jsonOutput struct {
	Name            string `json:"name"`
	Action          Action `json:"action"`
	Before          []byte `json:"before"`
	After           []byte `json:"after"`
	Sensitive       bool   `json:"sensitive,omitempty"`
	BeforeSensitive bool   `json:"before_sensitive,omitempty"`
}

type jsonStep struct {
	Kind     StepKind `json:"kind"`
	Resource string   `json:"resource"`
	Changes  []int    `json:"changes,omitempty"`
	After    []int    `json:"after,omitempty"`
}

type jsonRelevant struct {
	Resource string          `json:"resource"`
	Path     json.RawMessage `json:"path,omitempty"`
}

type jsonLeftOut struct {
	Address string        `json:"address"`
	Reason  LeftOutReason `json:"reason"`
	Because string        `json:"because"`
}

// encoder carries the table of types and the first error.
type encoder struct {
	types []json.RawMessage
	index map[string]int
	last  cty.Type // most changes have the same type as the one before
	at    int
	err   error
}

func (e *encoder) fail(err error) {
	if e.err == nil && err != nil {
		e.err = err
	}
}

func (e *encoder) typ(ty cty.Type) int {
	if e.last != cty.NilType && ctyfast.SameType(e.last, ty) {
		return e.at
	}
	raw, err := ctyjson.MarshalType(ty)
	e.fail(err)
	i, ok := e.index[string(raw)]
	if !ok {
		i = len(e.types)
		e.index[string(raw)] = i
		e.types = append(e.types, raw)
	}
	e.last, e.at = ty, i
	return i
}

func (e *encoder) value(v cty.Value, ty cty.Type) []byte {
	if v == cty.NilVal {
		return nil
	}
	b, err := ctyfast.MarshalMsgpack(v, ty)
	e.fail(err)
	return b
}

func (e *encoder) dynamic(v cty.Value) []byte { return e.value(v, cty.DynamicPseudoType) }

func (e *encoder) paths(list []cty.Path) []json.RawMessage {
	var out []json.RawMessage
	for _, p := range list {
		b, err := state.EncodePath(p)
		e.fail(err)
		out = append(out, b)
	}
	return out
}

func encodePlan(p *Plan) ([]byte, error) {
	e := &encoder{index: map[string]int{}}
	j := jsonPlan{
		Mode: p.Mode, Created: p.Created, Workspace: p.Workspace, Checks: p.Checks, Errored: p.Errored,
		Complete: p.Complete, Unrefreshed: p.Unrefreshed, Interrupted: p.Interrupted,
		FunctionResults: p.FunctionResults, Nonsensitive: p.Nonsensitive, Variables: map[string]jsonVariable{},
		Expansions: map[string]map[string][]string{},
	}
	for name, v := range p.Variables {
		j.Variables[name] = jsonVariable{Value: e.dynamic(v.Value), Sensitive: v.Sensitive, Ephemeral: v.Ephemeral,
			Given: v.Given}
	}
	for _, c := range p.Changes {
		j.Changes = append(j.Changes, e.change(c))
	}
	for _, c := range p.Drift {
		j.Drift = append(j.Drift, e.change(c))
	}
	for _, o := range p.Outputs {
		j.Outputs = append(j.Outputs, jsonOutput{Name: o.Name, Action: o.Action, Before: e.dynamic(o.Before),
			After: e.dynamic(o.After), Sensitive: o.Sensitive, BeforeSensitive: o.BeforeSensitive})
	}
	for _, s := range p.Steps {
		j.Steps = append(j.Steps, jsonStep{Kind: s.Kind, Resource: s.Resource.String(), Changes: s.Changes,
			After: s.After})
	}
	for m, calls := range p.Expansions {
		j.Expansions[m.String()] = encodeCalls(calls)
	}
	for _, i := range p.Invocations {
		j.Invocations = append(j.Invocations, e.invocation(i))
	}
	j.Invoke, j.Targets, j.Except = addresses(p.Invoke), addresses(p.Targets), addresses(p.Except)
	j.Unsettled, j.ForceReplace = addresses(p.Unsettled), addresses(p.ForceReplace)
	j.Unread, j.UnreadBySetting = addresses(p.Unread), addresses(p.UnreadBySetting)
	for _, l := range p.LeftOut {
		j.LeftOut = append(j.LeftOut, jsonLeftOut{l.Address, l.Reason, l.Because.String()})
	}
	j.Deferred = encodeDeferrals(p.Deferred)
	for _, r := range p.Relevant {
		path, err := state.EncodePath(r.Path)
		e.fail(err)
		j.Relevant = append(j.Relevant, jsonRelevant{Resource: r.Resource.String(), Path: path})
	}
	j.Types = e.types
	if e.err != nil {
		return nil, e.err
	}
	return json.Marshal(j)
}

// unread decodes the instances whose objects were not read, and those of -replace.
func (d *decoder) unread(p *Plan, j *jsonPlan) {
	p.Unread, p.UnreadBySetting = d.instances(j.Unread), d.instances(j.UnreadBySetting)
	p.ForceReplace = d.instances(j.ForceReplace)
}

// encodeCalls encodes the instance keys of module calls.
func encodeCalls(calls map[string][]addr.Key) map[string][]string {
	out := map[string][]string{}
	for call, keys := range calls {
		out[call] = make([]string, 0, len(keys))
		for _, k := range keys {
			out[call] = append(out[call], k.String())
		}
	}
	return out
}

// addresses returns addresses as text, or nil for an empty list.
func addresses[A fmt.Stringer](list []A) (out []string) {
	for _, a := range list {
		out = append(out, a.String())
	}
	return out
}

func (e *encoder) change(c *Change) jsonChange {
	j := jsonChange{
		Address: c.Object.Instance.String(), Deposed: string(c.Object.Deposed), Provider: c.Provider.String(),
		Action: c.Action, Reason: c.Reason,
		Type: e.typ(c.Type), SchemaVersion: c.SchemaVersion,
		Before:       jsonValue{e.value(c.Before.Value, c.Type), e.paths(c.Before.Sensitive)},
		After:        jsonValue{e.value(c.After.Value, c.Type), e.paths(c.After.Sensitive)},
		ReplacePaths: e.paths(c.ReplacePaths), Triggers: e.replaceTriggers(c.Triggers), Private: c.Private,
		CreateBeforeDestroy: c.CreateBeforeDestroy, SkipDestroy: c.SkipDestroy, Protected: c.Protected,
		Unprotected: c.Unprotected, DeposedKey: string(c.DeposedKey),
		GeneratedConfig: c.GeneratedConfig,
		BeforeIdentity:  e.dynamic(c.BeforeIdentity()), AfterIdentity: e.dynamic(c.AfterIdentity()), Settled: c.Settled,
	}
	if c.PrevAddr != nil {
		j.Previous = c.PrevAddr.String()
	}
	for _, d := range c.Dependencies {
		j.Dependencies = append(j.Dependencies, d.String())
	}
	j.Importing, j.NotImported = e.importing(c.Importing), e.importing(c.NotImported)
	return j
}

func (e *encoder) importing(i *Importing) *jsonImporting {
	if i == nil {
		return nil
	}
	return &jsonImporting{ID: i.ID, Identity: e.dynamic(i.Identity), Unknown: i.Unknown, Secret: i.Sensitive}
}

// decoder decodes a plan and keeps the first error.
type decoder struct {
	types []cty.Type
	deps  map[string]addr.ConfigResource
	provs map[string]*addr.AbsProviderConfig
	err   error
}

func (d *decoder) fail(err error) {
	if d.err == nil && err != nil {
		d.err = err
	}
}

func (d *decoder) value(b []byte, ty cty.Type) cty.Value {
	if b == nil {
		return cty.NilVal
	}
	v, err := unmarshal(b, ty)
	if err != nil {
		d.fail(fmt.Errorf("a value cannot be read: %w", err))
		return cty.NilVal
	}
	return v
}

// unmarshal decodes a value. The library panics on contradictory refinements, which only a forged file has.
func unmarshal(b []byte, ty cty.Type) (v cty.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = cty.NilVal, fmt.Errorf("%v", r)
		}
	}()
	return ctyfast.UnmarshalMsgpack(b, ty)
}

func (d *decoder) dynamic(b []byte) cty.Value { return d.value(b, cty.DynamicPseudoType) }

func (d *decoder) paths(list []json.RawMessage) []cty.Path {
	var out []cty.Path
	for _, raw := range list {
		p, err := state.ParsePath(raw)
		d.fail(err)
		out = append(out, p)
	}
	return out
}

func (d *decoder) instance(s string) addr.AbsResourceInstance {
	a, diags := addr.ParseInstance(s)
	d.fail(diags.Err())
	return a
}

func (d *decoder) module(s string) addr.ModuleInstance {
	if s == "" {
		return addr.RootInstance
	}
	t, diags := addr.ParseTarget(s)
	d.fail(diags.Err())
	if !diags.HasErrors() && !t.IsModule() {
		d.fail(fmt.Errorf("%q is not a module", s))
	}
	return t.Module
}

func (d *decoder) provider(s string) *addr.AbsProviderConfig {
	if p, ok := d.provs[s]; ok {
		return p
	}
	p, err := addr.ParseAbsProviderConfig(s)
	d.fail(err)
	d.provs[s] = &p
	return &p
}

func (d *decoder) dependency(s string) addr.ConfigResource {
	if c, ok := d.deps[s]; ok {
		return c
	}
	c, diags := addr.ParseConfigResource(s)
	d.fail(diags.Err())
	d.deps[s] = c
	return c
}

func decodePlan(b []byte) (*Plan, error) {
	var j jsonPlan
	if err := json.Unmarshal(b, &j); err != nil {
		return nil, err
	}
	d := &decoder{deps: map[string]addr.ConfigResource{}, provs: map[string]*addr.AbsProviderConfig{}}
	for _, raw := range j.Types {
		ty, err := ctyjson.UnmarshalType(raw)
		if err != nil {
			return nil, err
		}
		d.types = append(d.types, ty)
	}
	p := &Plan{
		Mode: j.Mode, Created: j.Created, Workspace: j.Workspace, Checks: j.Checks, Errored: j.Errored,
		Complete: j.Complete, Unrefreshed: j.Unrefreshed, Interrupted: j.Interrupted,
		FunctionResults: j.FunctionResults, Nonsensitive: j.Nonsensitive, Variables: map[string]Variable{},
		Expansions: map[addr.ModuleInstance]map[string][]addr.Key{},
	}
	for _, name := range slices.Sorted(maps.Keys(j.Variables)) { // the first invalid one is reported
		v := j.Variables[name]
		p.Variables[name] = Variable{Value: d.dynamic(v.Value), Sensitive: v.Sensitive, Ephemeral: v.Ephemeral,
			Given: v.Given}
	}
	for i := range j.Changes {
		p.Changes = append(p.Changes, d.change(&j.Changes[i]))
	}
	for i := range j.Drift {
		p.Drift = append(p.Drift, d.change(&j.Drift[i]))
	}
	for _, o := range j.Outputs {
		p.Outputs = append(p.Outputs, &OutputChange{Name: o.Name, Action: d.action(o.Action),
			Before: d.dynamic(o.Before), After: d.dynamic(o.After), Sensitive: o.Sensitive,
			BeforeSensitive: o.BeforeSensitive})
	}
	p.Steps = d.steps(j)
	for _, m := range slices.Sorted(maps.Keys(j.Expansions)) {
		p.Expansions[d.module(m)] = d.expansion(j.Expansions[m])
	}
	for i := range j.Invocations {
		p.Invocations = append(p.Invocations, d.invocation(&j.Invocations[i]))
	}
	p.Invoke = d.targets(j.Invoke)
	p.Targets, p.Except, p.Unsettled = d.targets(j.Targets), d.targets(j.Except), d.targets(j.Unsettled)
	d.unread(p, &j)
	for _, l := range j.LeftOut {
		p.LeftOut = append(p.LeftOut, LeftOut{Address: l.Address, Reason: l.Reason, Because: d.instance(l.Because)})
	}
	p.Deferred = d.deferrals(j.Deferred)
	for _, r := range j.Relevant {
		path, err := state.ParsePath(r.Path)
		d.fail(err)
		p.Relevant = append(p.Relevant, RelevantAttribute{Resource: d.instance(r.Resource), Path: path})
	}
	return p, d.err
}

// expansion decodes the keys of the calls of one module instance.
func (d *decoder) expansion(calls map[string][]string) map[string][]addr.Key {
	byCall := map[string][]addr.Key{}
	for _, call := range slices.Sorted(maps.Keys(calls)) {
		byCall[call] = []addr.Key{}
		for _, k := range calls[call] {
			inst := d.instance("a.b" + k)
			byCall[call] = append(byCall[call], inst.Key)
		}
	}
	return byCall
}

func (d *decoder) instances(texts []string) (list []addr.AbsResourceInstance) {
	for _, text := range texts {
		list = append(list, d.instance(text))
	}
	return list
}

func (d *decoder) targets(texts []string) (list []addr.Target) {
	for _, t := range texts {
		target, diags := addr.ParseSelector(t)
		d.fail(diags.Err())
		list = append(list, target)
	}
	return list
}

func (d *decoder) action(a Action) Action {
	if a > ForgetThenCreate {
		d.fail(fmt.Errorf("unknown action %d", a))
		return NoOp
	}
	return a
}

func (d *decoder) step(s jsonStep, steps, changes, self int) Step {
	a := d.instance(s.Resource)
	out := Step{Kind: s.Kind, Resource: a.AbsResource(), Changes: s.Changes, After: s.After}
	d.fail(out.check(self, steps, changes))
	return out
}

// steps decodes the steps, which must have no cycle.
func (d *decoder) steps(j jsonPlan) (steps []Step) {
	for i, s := range j.Steps {
		steps = append(steps, d.step(s, len(j.Steps), len(j.Changes), i))
	}
	if d.err == nil {
		d.err = checkOrder(steps)
	}
	return steps
}

// typ returns a type in the table of types.
func (d *decoder) typ(i int, of string) (cty.Type, bool) {
	if i < 0 || i >= len(d.types) {
		d.fail(fmt.Errorf("%s has a type that is not in the table", of))
		return cty.NilType, false
	}
	return d.types[i], true
}

func (d *decoder) lack(of string) { d.fail(fmt.Errorf("%s has no values", of)) }

func (d *decoder) change(j *jsonChange) *Change {
	c := &Change{
		Object:   addr.Object{Instance: d.instance(j.Address), Deposed: addr.DeposedKey(j.Deposed)},
		Provider: d.provider(j.Provider), Action: d.action(j.Action), Reason: j.Reason, SchemaVersion: j.SchemaVersion,
		ReplacePaths: d.paths(j.ReplacePaths), Triggers: d.replaceTriggers(j.Triggers), Private: j.Private,
		CreateBeforeDestroy: j.CreateBeforeDestroy, SkipDestroy: j.SkipDestroy, Protected: j.Protected,
		Unprotected: j.Unprotected, DeposedKey: addr.DeposedKey(j.DeposedKey),
		GeneratedConfig: j.GeneratedConfig, Settled: j.Settled,
	}
	c.SetIdentities(d.dynamic(j.BeforeIdentity), d.dynamic(j.AfterIdentity))
	ty, ok := d.typ(j.Type, j.Address)
	if !ok {
		return c
	}
	c.Type = ty
	c.Before = Value{d.value(j.Before.Value, c.Type), d.paths(j.Before.Sensitive)}
	c.After = Value{d.value(j.After.Value, c.Type), d.paths(j.After.Sensitive)}
	if c.Before.Value == cty.NilVal || c.After.Value == cty.NilVal {
		d.lack(j.Address)
	}
	if j.Previous != "" {
		was := d.instance(j.Previous)
		c.PrevAddr = &was
	}
	for _, s := range j.Dependencies {
		c.Dependencies = append(c.Dependencies, d.dependency(s))
	}
	c.Importing, c.NotImported = d.importing(j.Importing), d.importing(j.NotImported)
	return c
}

func (d *decoder) importing(j *jsonImporting) *Importing {
	if j == nil {
		return nil
	}
	return &Importing{ID: j.ID, Identity: d.dynamic(j.Identity), Unknown: j.Unknown, Sensitive: j.Secret}
}
