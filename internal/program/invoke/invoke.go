// Package invoke makes single calls of any kind of provider with the JSON of the program protocol: the requests that a
// program would get, and the answers that it would send (docs/program-protocol.md). With it, authors can try a provider
// without a configuration.
//
//	answer, err := invoke.Ask(ctx, p, "read", "notes_note", []byte(`{"state": {"path": "/a"}}`))
//
// Missing members of a request are generated as the engine would: the plan of a create or update from its config, a
// configuration without attributes. The member "provider" configures the provider before the call.
package invoke

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// Actions lists the supported actions.
var Actions = slices.Sorted(maps.Keys(actions))

// action describes an action: the kind of its types, and its function.
type action struct {
	kind provider.ResourceKind
	// alone means that the action has no type.
	alone bool
	run   func(*invocation) diag.List
}

var actions = map[string]action{
	"validate": {kind: provider.ManagedResource, run: (*invocation).validate},
	"plan":     {kind: provider.ManagedResource, run: (*invocation).plan},
	"create":   {kind: provider.ManagedResource, run: (*invocation).change},
	"update":   {kind: provider.ManagedResource, run: (*invocation).change},
	"delete":   {kind: provider.ManagedResource, run: (*invocation).remove},
	"read":     {kind: provider.ManagedResource, run: (*invocation).read},
	"import":   {kind: provider.ManagedResource, run: (*invocation).imported},
	"upgrade":  {kind: provider.ManagedResource, run: (*invocation).upgrade},
	"list":     {kind: provider.ManagedResource, run: (*invocation).list},
	"invoke":   {kind: provider.Action, run: (*invocation).invoke},
	"data":     {kind: provider.DataSource, run: (*invocation).data},
	"open":     {kind: provider.EphemeralResource, run: (*invocation).open},
	"renew":    {kind: provider.EphemeralResource, run: (*invocation).renew},
	"close":    {kind: provider.EphemeralResource, run: (*invocation).close},
	"call":     {alone: true, run: (*invocation).call},
	"schema":   {alone: true},
	"configure": {alone: true, run: func(*invocation) diag.List {
		return nil // already done
	}},
}

// Ask makes one call. typ is the type, or the function of the action call. The answer is a JSON object, which also
// contains the errors of the provider; ok reports whether there are none. err means that the call is invalid.
func Ask(ctx context.Context, p provider.Provider, name, typ string, params []byte) (answer []byte, ok bool,
	err error) {
	act, known := actions[name]
	if !known {
		return nil, false, fmt.Errorf("there is no action %q; the actions are %s.%s", name, strings.Join(Actions, ", "),
			diag.DidYouMean(name, Actions))
	}
	a := &invocation{ctx: ctx, p: p, action: name, typ: typ, out: map[string]json.RawMessage{}}
	if a.params, err = strictjson.Parse(params); err != nil {
		return nil, false, fmt.Errorf("the request is not JSON: %w", err)
	}
	if a.text = params; a.params.Kind != strictjson.Object {
		return nil, false, fmt.Errorf("the request must be an object, not %s", a.params.Kind)
	}
	schema, diags := p.Schema(ctx)
	if diags.HasErrors() {
		return a.answer(diags)
	}
	if name == "schema" { // the schema does not depend on a configuration
		a.describe(schema)
		return a.answer(diags)
	}
	if a.schema = schema; !act.alone {
		if err := a.find(act.kind); err != nil {
			return nil, false, err
		}
	}
	if diags = a.configure(); diags.HasErrors() || a.err != nil {
		return a.answer(diags)
	}
	return a.answer(diags.Extend(act.run(a)))
}

// describe puts the schema into the answer.
func (a *invocation) describe(s *provider.Schema) {
	var text bytes.Buffer
	if a.err = tfjson.ProviderSchema(&text, s); a.err == nil {
		a.out["schema"] = text.Bytes()
	}
}

type invocation struct {
	ctx         context.Context
	p           provider.Provider
	action, typ string
	params      *strictjson.Value
	text        []byte
	schema      *provider.Schema
	kind        provider.ResourceKind
	rt          *provider.ResourceType

	out map[string]json.RawMessage
	err error // first invalid part of the request
}

// find returns the type. validate accepts types of every kind, and plan also accepts actions.
func (a *invocation) find(kind provider.ResourceKind) error {
	kinds := []provider.ResourceKind{kind}
	switch a.action {
	case "validate":
		kinds = []provider.ResourceKind{provider.ManagedResource, provider.DataSource, provider.EphemeralResource,
			provider.Action}
	case "plan":
		kinds = append(kinds, provider.Action)
	}
	for _, k := range kinds {
		if rt := a.schema.Type(k, a.typ); rt != nil {
			a.kind, a.rt = k, rt
			return nil
		}
	}
	var names []string
	for _, k := range kinds {
		switch k {
		case provider.DataSource:
			names = slices.AppendSeq(names, maps.Keys(a.schema.Data))
		case provider.EphemeralResource:
			names = slices.AppendSeq(names, maps.Keys(a.schema.Ephemeral))
		case provider.Action:
			names = slices.AppendSeq(names, maps.Keys(a.schema.Actions))
		default:
			names = slices.AppendSeq(names, maps.Keys(a.schema.Resources))
		}
	}
	slices.Sort(names)
	return fmt.Errorf("the provider has no type %q for %s; it has: %s.%s", a.typ, a.action, strings.Join(names, ", "),
		diag.DidYouMean(a.typ, names))
}

func (a *invocation) answer(diags diag.List) ([]byte, bool, error) {
	if a.err != nil {
		return nil, false, a.err
	}
	if len(diags) > 0 {
		a.out["diagnostics"] = problems(diags)
	}
	text, err := json.MarshalIndent(a.out, "", "  ")
	return text, !diags.HasErrors(), err
}

// object decodes an object of a block from the request, with the tree of its unknown values. It returns null if the
// member is missing.
func (a *invocation) object(name string, b *provider.Block) cty.Value {
	given := a.params.Get(name)
	if given == nil || given.Kind == strictjson.Null {
		return cty.NullVal(b.ImpliedType())
	}
	v, wrong := message.Codec{Block: b}.Overlay(b.EmptyValue(), given, a.params.Get(name+"_unknown"), a.text)
	if len(wrong) > 0 && a.err == nil {
		a.err = fmt.Errorf("the member %q of the request does not fit the schema: %w", name, wrong[0])
	}
	return v
}

// config returns the object config, which may be missing.
func (a *invocation) config() cty.Value {
	if v := a.object("config", a.rt.Block); !v.IsNull() {
		return v
	}
	return a.rt.Block.EmptyValue()
}

func (a *invocation) string(name string) string {
	if v := a.params.Get(name); v != nil && v.Kind == strictjson.String {
		return v.Text
	}
	return ""
}

func (a *invocation) raw(name string) []byte {
	if v := a.params.Get(name); v != nil && v.Kind != strictjson.Null {
		return a.text[v.Offset:v.End]
	}
	return nil
}

func (a *invocation) identity() cty.Value {
	given := a.params.Get("identity")
	if given == nil || given.Kind == strictjson.Null || a.rt.Identity == nil {
		return cty.NilVal
	}
	v, wrong := message.DecodeValue(a.rt.Identity.ImpliedType(), given, a.text)
	if len(wrong) > 0 && a.err == nil {
		a.err = fmt.Errorf(`the member "identity" of the request does not fit the schema: %w`, wrong[0])
	}
	return v
}

// put adds an object to the answer.
func (a *invocation) put(name string, v cty.Value) {
	if v == cty.NilVal {
		return
	}
	values, unknown := message.Codec{Block: a.rt.Block}.Encode(v)
	a.out[name] = values
	if string(unknown) != "{}" {
		a.out[name+"_unknown"] = unknown
	}
}

// addMeta adds the private data and identity of an object. Private data of plugins need not be JSON.
func (a *invocation) addMeta(private []byte, identity cty.Value) {
	if len(private) > 0 {
		if !json.Valid(private) {
			private, _ = json.Marshal(private)
		}
		a.out["private"] = private
	}
	if identity != cty.NilVal && !identity.IsNull() && a.rt.Identity != nil {
		a.out["identity"], _ = message.EncodeValue(a.rt.Identity.ImpliedType(), identity)
	}
}

func (a *invocation) time(name string, t time.Time) {
	if !t.IsZero() {
		a.out[name] = message.Text(t.UTC().Format(time.RFC3339))
	}
}

func problems(diags diag.List) json.RawMessage {
	type problem struct {
		Severity  string `json:"severity"`
		Summary   string `json:"summary"`
		Detail    string `json:"detail,omitempty"`
		Attribute []any  `json:"attribute,omitempty"`
	}
	list := make([]problem, len(diags))
	for i, d := range diags {
		list[i] = problem{Severity: "warning", Summary: d.Summary, Detail: d.Detail}
		if d.Severity == diag.Error {
			list[i].Severity = "error"
		}
		for _, step := range d.Path {
			switch s := step.(type) {
			case cty.GetAttrStep:
				list[i].Attribute = append(list[i].Attribute, s.Name)
			case cty.IndexStep:
				if s.Key.Type() == cty.String {
					list[i].Attribute = append(list[i].Attribute, s.Key.AsString())
				} else if s.Key.Type() == cty.Number {
					list[i].Attribute = append(list[i].Attribute, json.Number(s.Key.AsBigFloat().Text('f', 0)))
				}
			}
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic("invocation: " + err.Error()) // strings and numbers can always be encoded
	}
	return text
}

// proposed returns the value that the engine would propose for a plan.
func (a *invocation) proposed(prior, config cty.Value) cty.Value {
	if v := a.object("proposed", a.rt.Block); !v.IsNull() {
		return v
	}
	return value.Propose(a.rt.Block, prior, config)
}
