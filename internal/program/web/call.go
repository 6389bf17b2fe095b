package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// visit is one call.
type visit struct {
	c       *Client
	ctx     context.Context
	call    Call
	params  *strictjson.Value
	t       *manifest.Type
	rt      *provider.ResourceType
	op      *manifest.Operation
	request string // the last one, for messages
	token   string // key of the token for requests
	sent    bool   // a request was sent that may change something
}

// kinds maps actions to the kinds of types that have them; the first kind with the type is used.
var kinds = map[string][]provider.ResourceKind{
	"data": {provider.DataSource}, "list": {provider.ListResource, provider.ManagedResource},
	"open": {provider.EphemeralResource}, "close": {provider.EphemeralResource}, "invoke": {provider.Action},
}

// reads reports whether the call changes nothing.
func (v *visit) reads() bool {
	return !slices.Contains([]string{"create", "update", "delete", "invoke", "open", "close"}, v.call.Action)
}

// run performs the call. If the error is a failure, the result is the answer of a program with that failure.
func (v *visit) run() ([]byte, error) {
	var err error
	if v.params, err = strictjson.Parse(v.call.Params); err != nil {
		return nil, unsent("the call cannot be read: %s", err)
	}
	schema := v.c.m.Schema
	if v.call.Action == "call" {
		return v.function(schema.Functions[v.call.Type])
	}
	of := kinds[v.call.Action]
	if of == nil {
		of = []provider.ResourceKind{provider.ManagedResource}
	}
	for _, kind := range of {
		t, rt := v.c.m.Type(kind, v.call.Type), schema.Type(kind, v.call.Type)
		if v.rt == nil {
			v.t, v.rt = t, rt
		}
		if t != nil && t.API != nil && t.API.Operations[v.call.Action] != nil {
			v.op = t.API.Operations[v.call.Action]
			break
		}
	}
	if v.op == nil {
		return nil, unsent("the manifest has no request for this action")
	}
	switch v.call.Action {
	case "create", "update":
		return v.write()
	case "read":
		return v.read()
	case "delete":
		return v.delete()
	case "import":
		return v.importing()
	case "data":
		return v.fetch("state")
	case "open":
		return v.fetch("result")
	case "list":
		return v.list()
	}
	_, vars, err := v.perform(v.op, v.variables())
	if err == nil && v.op.Wait != nil {
		_, err = v.wait(v.op.Wait, nil, vars)
	}
	return nil, err
}

// block returns the block of the call's type.
func (v *visit) block() *provider.Block { return v.rt.Block }

// object decodes an object of the type from the call. It returns cty.NilVal for a missing member.
func (v *visit) object(name string) cty.Value {
	given := v.params.Get(name)
	if given == nil {
		return cty.NilVal
	}
	return v.decode(v.block(), given, v.params.Get(name+"_unknown"))
}

func (v *visit) decode(b *provider.Block, given, unknown *strictjson.Value) cty.Value {
	if given.Kind == strictjson.Null {
		return cty.NullVal(b.ImpliedType())
	}
	// The handler has encoded it, so it is valid.
	out, _ := message.Codec{Block: b}.Overlay(b.EmptyValue(), given, unknown, v.call.Params)
	return out
}

// variables returns the variables of the request's templates.
func (v *visit) variables() manifest.Variables {
	env := map[string]cty.Value{}
	for _, name := range v.c.m.HTTP.Env {
		env[name] = cty.NullVal(cty.String)
		if text, ok := v.c.env[name]; ok {
			env[name] = cty.StringVal(text)
		}
	}
	vars := manifest.Variables{"env": cty.ObjectVal(env), "private": v.private()}
	block := v.c.m.Schema.Provider
	if block == nil {
		block = &provider.Block{}
	}
	vars["provider"] = block.EmptyValue()
	if given := v.params.Get("provider"); given != nil && given.Kind == strictjson.Object {
		vars["provider"] = v.decode(block, given, v.params.Get("provider_unknown"))
	}
	if v.rt == nil {
		return vars
	}
	for _, name := range []string{"config", "prior", "planned", "state"} {
		if o := v.object(name); o != cty.NilVal {
			vars[name] = value.UnknownAsNull(o)
		}
	}
	switch v.call.Action {
	case "create":
		vars["self"] = vars["planned"]
	case "update":
		in := incoming{m: v.c.m}
		vars["self"] = in.known(v.object("planned"), vars["prior"])
	case "read", "delete":
		vars["self"] = vars["state"]
		delete(vars, "state")
	case "data", "open":
		vars["self"] = vars["config"]
	case "import":
		vars["id"], vars["identity"] = cty.NullVal(cty.String), cty.NullVal(cty.DynamicPseudoType)
		if id := v.params.Get("id"); id != nil && id.Kind == strictjson.String {
			vars["id"] = cty.StringVal(id.Text)
		}
		if identity := v.params.Get("identity"); identity != nil {
			vars["identity"] = fromJSON(identity)
		}
	}
	if v.call.Action == "create" || v.call.Action == "update" {
		v.addBodies(vars)
	}
	return vars
}

// addBodies adds the default bodies of requests.
func (v *visit) addBodies(vars manifest.Variables) {
	intent := v.call.Intent
	if intent == "" {
		intent = uuid.NewString()
	}
	vars["intent"] = cty.StringVal(intent)
	b := v.block()
	o := outgoing{m: v.c.m, creating: v.call.Action == "create"}
	vars["fields"] = o.object(b.Attributes, b.Blocks, vars["self"], vars["config"])
	if v.call.Action != "update" {
		return
	}
	o.stored = true
	difference := changes(o.object(b.Attributes, b.Blocks, vars["prior"], cty.NilVal), o.object(b.Attributes, b.Blocks,
		vars["self"], cty.NilVal))
	// Values that are never stored are sent with every change, because it is unknown whether they have changed.
	vals := difference.AsValueMap()
	if vals == nil {
		vals = map[string]cty.Value{}
	}
	for name, a := range b.Attributes {
		if _, to := field(v.c.m, name, a); a.WriteOnly {
			if given := member(vars["fields"], to); given != cty.NilVal {
				vals[to] = given
			}
		}
	}
	vars["changes"] = cty.ObjectVal(vals)
}

// known returns a plan in which unknown values are replaced with the previous ones.
func (in *incoming) known(planned, prior cty.Value) cty.Value {
	switch {
	case planned.IsWhollyKnown():
		return planned
	case !planned.IsKnown():
		return prior
	case isObject(planned) && isObject(prior):
		vals := map[string]cty.Value{}
		for name, e := range planned.AsValueMap() {
			vals[name] = value.UnknownAsNull(e)
			if was := member(prior, name); was != cty.NilVal {
				vals[name] = in.known(e, was)
			}
		}
		if planned.Type().IsMapType() {
			return mapOf(planned.Type(), vals)
		}
		return cty.ObjectVal(vals)
	case planned.Type().IsListType() && isSequence(prior) && planned.LengthInt() == prior.LengthInt():
		list, before := planned.AsValueSlice(), prior.AsValueSlice()
		for i := range list {
			list[i] = in.known(list[i], before[i])
		}
		return sequence(planned.Type(), list)
	}
	return value.UnknownAsNull(planned)
}

// kept is the private data of an object. Its existence shows that the object was read or written before.
type kept struct {
	Known  bool            `json:"known"`
	Values json.RawMessage `json:"values,omitempty"`
}

// private returns the value that the manifest stores with the object.
func (v *visit) private() cty.Value {
	if given := v.params.Get("private").Get("values"); given != nil {
		return fromJSON(given)
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// imported reports whether the object has never been read.
func (v *visit) imported() bool {
	given := v.params.Get("private").Get("known")
	return given == nil || !given.True
}

// perform sends a request, with its lock and all of its pages. It returns the response with the variables of its
// templates. A status that does not mean success is a failure.
func (v *visit) perform(op *manifest.Operation, vars manifest.Variables) (*reply, manifest.Variables, error) {
	if op.Lock != nil {
		name, _, err := op.Lock.Text(vars)
		if err != nil {
			return nil, nil, unsent("the name of the lock is not known: %s", err)
		}
		release, err := v.c.lock(v.ctx, name)
		if err != nil {
			return nil, nil, unsent("it waited for other requests with the same lock until %s", err)
		}
		defer release()
	}
	a, err := v.prepare(op, vars)
	if err != nil {
		return nil, nil, err
	}
	got, err := v.send(a, vars)
	if err != nil {
		return nil, nil, err
	}
	vars = withVariable(vars, "answer", got.value())
	vars["items"], vars["object"] = cty.NullVal(cty.DynamicPseudoType), cty.NullVal(cty.DynamicPseudoType)
	if slices.Contains(op.Gone, got.status) {
		return got, vars, nil
	}
	if err := v.succeeded(a, got, vars); err != nil {
		return nil, nil, err
	}
	if op.Pages != nil {
		items, err := v.pages(a, op.Pages, got, vars)
		if err != nil {
			return nil, nil, err
		}
		vars["items"] = items
	}
	return got, vars, nil
}

// succeeded returns the failure for the status of a response, or nil.
func (v *visit) succeeded(a *ask, got *reply, vars manifest.Variables) error {
	op := a.op
	if op.Success != nil && slices.Contains(op.Success, got.status) || op.Success == nil && got.status >= 200 &&
		got.status < 300 {
		return nil
	}
	f := &Failure{State: "it answered with status " + statusText(got.status)}
	switch {
	case got.status >= 200 && got.status < 400:
		f.Advice = "This status is not a success. Its author can list it in \"success\"."
	case got.status == http.StatusUnauthorized || got.status == http.StatusForbidden:
		f.Advice = "Check the credentials of the provider."
	case (got.status < 200 || got.status >= 500) && got.status != http.StatusNotImplemented &&
		v.call.Action == "create" && !slices.Contains(op.Refused, got.status) && a.changes:
		f.Lost = true
		f.Advice = "This status does not show whether the object was created."
	}
	f.Message = v.c.excerpt(got.body, v.secretNames())
	if t := v.c.m.HTTP.Message; t != nil {
		if text, err := t.Value(vars); err == nil && text.IsKnown() && !text.IsNull() {
			if short := textOf(text); short != "" {
				f.Message = v.c.excerpt([]byte(short), v.secretNames())
			}
		}
	}
	return f
}

func textOf(v cty.Value) string {
	if v.Type() == cty.String {
		return v.AsString()
	}
	text, _ := message.EncodeValue(v.Type(), v)
	return string(text)
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// secretNames returns the names that the type's sensitive attributes have in bodies.
func (v *visit) secretNames() map[string]bool {
	names := map[string]bool{}
	var gather func(attrs map[string]*provider.Attribute)
	gather = func(attrs map[string]*provider.Attribute) {
		for name, a := range attrs {
			_, to := field(v.c.m, name, a)
			if a.Sensitive || a.WriteOnly {
				names[to] = true
			} else if a.Nested != nil {
				gather(a.Nested.Attributes)
			}
		}
	}
	var blocks func(b *provider.Block)
	blocks = func(b *provider.Block) {
		gather(b.Attributes)
		for _, nb := range b.Blocks {
			blocks(&nb.Block)
		}
	}
	if v.rt != nil {
		blocks(v.rt.Block)
	}
	return names
}

const maxExcerpt = 2000

// excerpt returns the beginning of a response for messages, without secrets.
func (c *Client) excerpt(body []byte, secret map[string]bool) string {
	if root, err := strictjson.Parse(body); err == nil && (root.Kind == strictjson.Object ||
		root.Kind == strictjson.Array) {
		v := conceal(fromJSON(root), secret)
		body, _ = message.EncodeValue(v.Type(), v)
	}
	if !utf8.Valid(body) {
		return fmt.Sprintf("(The answer has %d bytes that are not text.)", len(body))
	}
	text := strings.TrimSpace(c.Redact(string(body)))
	if len(text) > maxExcerpt {
		text = strings.ToValidUTF8(text[:maxExcerpt], "") + "…"
	}
	return text
}

// conceal replaces the members with secret names.
func conceal(v cty.Value, secret map[string]bool) cty.Value {
	switch {
	case isObject(v) && v.LengthInt() > 0:
		vals := v.AsValueMap()
		for name, e := range vals {
			if vals[name] = conceal(e, secret); secret[name] && !e.IsNull() {
				vals[name] = cty.StringVal("(sensitive value)")
			}
		}
		return cty.ObjectVal(vals)
	case isSequence(v):
		list := v.AsValueSlice()
		for i := range list {
			list[i] = conceal(list[i], secret)
		}
		return cty.TupleVal(list)
	}
	return v
}
