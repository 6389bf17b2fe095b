package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// found returns the object in a response, with the values that the manifest takes from elsewhere. It is null if the
// object does not exist.
func (v *visit) found(op *manifest.Operation, vars manifest.Variables) (cty.Value, error) {
	object := member(vars["answer"], "body")
	if vars["items"] != cty.NilVal && !vars["items"].IsNull() {
		object = vars["items"]
	}
	for _, t := range []*manifest.Template{op.Object, v.t.API.Object} {
		if t == nil || object.IsNull() {
			continue
		}
		var err error
		if object, err = t.Value(vars); err != nil {
			return cty.NilVal, fmt.Errorf("its answer has no object at the path of \"object\" in the manifest: %w",
				err)
		}
		break
	}
	vars["object"] = object
	return object, nil
}

// merged returns the known object with the changes in a response.
func (v *visit) merged(in *incoming, op *manifest.Operation, vars manifest.Variables, known, object cty.Value,
	written bool) cty.Value {
	vals := map[string]cty.Value{}
	if isObject(object) {
		vals = object.AsValueMap()
		if vals == nil {
			vals = map[string]cty.Value{}
		}
	} else if !object.IsNull() {
		in.failf("an object was expected, not %s", friendly(object.Type()))
	}
	states := maps.Clone(v.t.API.State)
	if states == nil {
		states = map[string]*manifest.Template{}
	}
	maps.Copy(states, op.State)
	for _, name := range slices.Sorted(maps.Keys(states)) {
		given, err := states[name].Value(vars)
		if err != nil {
			in.problems = append(in.problems, fmt.Sprintf("there is no value for %s: %s", name, err))
			continue
		}
		to := name
		if a := v.block().Attributes[name]; a != nil {
			_, to = field(v.c.m, name, a)
		}
		vals[to] = given
	}
	return in.object(v.block().Attributes, v.block().Blocks, known, cty.ObjectVal(vals), written)
}

// answered encodes an answer of the protocol that contains an object.
func (v *visit) answered(member string, object cty.Value, private json.RawMessage) []byte {
	state, _ := message.Codec{Block: v.block()}.Encode(value.UnknownAsNull(object))
	out := map[string]json.RawMessage{member: state}
	if private != nil {
		out["private"] = private
	}
	return encoded(out)
}

// encoded encodes a value that can always be encoded.
func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("web: " + err.Error()) // the parts are valid JSON
	}
	return text
}

// remember returns the private data of an object after a response.
func (v *visit) remember(op *manifest.Operation, vars manifest.Variables) (json.RawMessage, error) {
	out := kept{Known: true}
	if given := v.params.Get("private").Get("values"); given != nil {
		out.Values = json.RawMessage(v.call.Params[given.Offset:given.End])
	}
	if op.Private != nil {
		private, err := op.Private.Value(vars)
		if err != nil {
			return encoded(out), fmt.Errorf("its answer has no value for \"private\": %w", err)
		}
		out.Values, _ = message.EncodeValue(private.Type(), private)
	}
	return encoded(out), nil
}

// write creates or updates an object.
func (v *visit) write() ([]byte, error) {
	vars := v.variables()
	planned := v.object("planned")
	if v.call.Action == "update" && v.op.Method == "PATCH" && !v.op.HasBody && vars["changes"].LengthInt() == 0 {
		private, _ := v.remember(&manifest.Operation{}, vars)
		return v.answered("state", v.plannedLocally(planned, vars["prior"]), private), nil // nothing to send
	}
	_, vars, err := v.perform(v.op, vars)
	if err != nil {
		return nil, err
	}
	// From here on the object exists.
	object, problem := v.found(v.op, vars)
	in := &incoming{m: v.c.m}
	state := v.plannedLocally(planned, vars["prior"])
	if problem == nil {
		state = v.merged(in, v.op, vars, planned, object, true)
	}
	private, more := v.remember(v.op, vars)
	if problem == nil {
		problem = more
	}
	if problem == nil && len(in.problems) > 0 {
		problem = fmt.Errorf("its answer does not fit the schema: %s", strings.Join(in.problems, "; "))
	}
	if problem == nil {
		state, private, problem = v.settle(planned, state, private, vars)
	}
	if problem == nil {
		return v.answered("state", state, private), nil
	}
	return v.partlyWritten(state, private, problem)
}

// plannedLocally returns a plan for which there is no response: unknown values keep their previous values.
func (v *visit) plannedLocally(planned, prior cty.Value) cty.Value {
	if prior == cty.NilVal || prior.IsNull() {
		return value.UnknownAsNull(planned)
	}
	return (&incoming{m: v.c.m}).known(planned, prior)
}

// settle waits until the object is ready, and reads it again if the manifest requires that.
func (v *visit) settle(planned, state cty.Value, private json.RawMessage, vars manifest.Variables) (cty.Value,
	json.RawMessage, error) {
	if v.op.Wait == nil && !v.op.ReadBack {
		return state, private, nil
	}
	vars = withVariable(vars, "self", value.UnknownAsNull(state))
	read := v.t.API.Operations["read"]
	op := read
	var err error
	if v.op.Wait != nil {
		if vars, err = v.wait(v.op.Wait, read, vars); err != nil {
			return state, private, err
		}
		op = v.op.Wait.Request
	}
	if v.op.ReadBack {
		op = read
		if _, vars, err = v.perform(read, vars); err != nil {
			return state, private, err
		}
	}
	if op != nil && op != read {
		return state, private, nil // responses of another request do not contain the object
	}
	object, err := v.found(read, vars)
	if err != nil {
		return state, private, err
	}
	if object.IsNull() {
		return state, private, fmt.Errorf("it answered that there is no such object")
	}
	in := &incoming{m: v.c.m}
	// The ID from the first response is kept unless the second one contains another.
	again := v.merged(in, read, vars, planned, object, true)
	if len(in.problems) > 0 {
		return state, private, fmt.Errorf("its answer does not fit the schema: %s", strings.Join(in.problems, "; "))
	}
	vals := again.AsValueMap()
	for name, was := range state.AsValueMap() {
		if vals[name].IsNull() && !was.IsNull() {
			vals[name] = was
		}
	}
	if read.Private != nil {
		private, err = v.remember(read, vars)
	}
	return cty.ObjectVal(vals), private, err
}

// partlyWritten returns the object to store if it was written but a later step failed.
func (v *visit) partlyWritten(state cty.Value, private json.RawMessage, problem error) ([]byte, error) {
	f, ok := problem.(*Failure)
	if !ok {
		f = &Failure{State: problem.Error()}
	}
	f = &Failure{State: f.State, Message: f.Message, Advice: f.Advice}
	if f.Advice == "" {
		f.Advice = "The object exists: the first request had succeeded."
	}
	if v.call.Action == "create" && v.lacksID(state) {
		f.Lost = true // it could not be found again
		f.Advice = "The object was created, but no answer has the id to find it again."
		return nil, f
	}
	return v.answered("state", state, private), f
}

// lacksID reports whether an object has no ID although its type has one that only the server determines.
func (v *visit) lacksID(state cty.Value) bool {
	name := v.t.Import
	if name == "" {
		name = "id"
	}
	a := v.block().Attributes[name]
	if a == nil || !a.Computed {
		return false
	}
	id := member(value.UnknownAsNull(state), name)
	return id.IsNull() || id.Type() == cty.String && id.AsString() == ""
}

// read reads an object.
func (v *visit) read() ([]byte, error) {
	got, vars, err := v.perform(v.op, v.variables())
	if err != nil {
		return nil, err
	}
	if slices.Contains(v.op.Gone, got.status) {
		return []byte("null"), nil
	}
	object, err := v.found(v.op, vars)
	if err != nil {
		return nil, &Failure{State: err.Error(), Message: v.c.excerpt(got.body, v.secretNames())}
	}
	if object.IsNull() {
		if len(strings.TrimSpace(string(got.body))) == 0 {
			return nil, &Failure{State: "it answered with an empty body", Message: "An object was expected."}
		}
		return []byte("null"), nil
	}
	in := &incoming{m: v.c.m, whole: v.imported()}
	state := v.merged(in, v.op, vars, vars["self"], object, false)
	private, err := v.remember(v.op, vars)
	if err := v.unusable(got, in, err); err != nil {
		return nil, err
	}
	return v.answered("state", state, private), nil
}

// unusable returns the failure for an unusable response.
func (v *visit) unusable(got *reply, in *incoming, problems ...error) error {
	for _, err := range problems {
		if err != nil {
			return &Failure{State: err.Error(), Message: v.c.excerpt(got.body, v.secretNames())}
		}
	}
	if len(in.problems) > 0 {
		return &Failure{State: "its answer does not fit the schema: " + strings.Join(in.problems, "; "),
			Message: v.c.excerpt(got.body, v.secretNames())}
	}
	return nil
}

// delete deletes an object.
func (v *visit) delete() ([]byte, error) {
	got, vars, err := v.perform(v.op, v.variables())
	if err != nil || v.op.Wait == nil || slices.Contains(v.op.Gone, got.status) {
		return nil, err
	}
	_, err = v.wait(v.op.Wait, v.t.API.Operations["read"], vars)
	return nil, err
}

// importing finds an object by its ID.
func (v *visit) importing() ([]byte, error) {
	vars := v.variables()
	object := cty.NullVal(cty.DynamicPseudoType)
	got := &reply{}
	if v.op.Path != nil {
		var err error
		if got, vars, err = v.perform(v.op, vars); err != nil {
			return nil, err
		}
		if slices.Contains(v.op.Gone, got.status) {
			return []byte("null"), nil
		}
		if object, err = v.found(v.op, vars); err != nil {
			return nil, &Failure{State: err.Error(), Message: v.c.excerpt(got.body, v.secretNames())}
		}
		if object.IsNull() {
			return []byte("null"), nil
		}
	}
	in := &incoming{m: v.c.m, whole: true}
	own := *v
	own.t = &manifest.Type{API: &manifest.API{}} // values of the type only apply to responses of reads
	state := own.merged(in, v.op, vars, cty.NilVal, object, false)
	if err := v.unusable(got, in); err != nil {
		return nil, err
	}
	return v.answered("state", state, nil), nil
}

// fetch reads a data source, or opens an ephemeral resource.
func (v *visit) fetch(member string) ([]byte, error) {
	got, vars, err := v.perform(v.op, v.variables())
	if err != nil {
		return nil, err
	}
	object, err := v.found(v.op, vars)
	if err != nil {
		return nil, &Failure{State: err.Error(), Message: v.c.excerpt(got.body, v.secretNames())}
	}
	in := &incoming{m: v.c.m}
	if object.IsNull() && len(v.op.State) == 0 && len(v.t.API.State) == 0 {
		return nil, &Failure{State: "it answered that there is no such object", Message: v.c.excerpt(got.body, nil)}
	}
	state := v.merged(in, v.op, vars, provider.MarkComputed(v.block(), vars["config"]), object, true)
	private, err := v.remember(v.op, vars)
	if err := v.unusable(got, in, err); err != nil {
		return nil, err
	}
	return v.answered(member, state, private), nil
}

// list lists objects.
func (v *visit) list() ([]byte, error) {
	got, vars, err := v.perform(v.op, v.variables())
	if err != nil {
		return nil, err
	}
	type result struct {
		Identity json.RawMessage `json:"identity"`
		Name     string          `json:"display_name,omitempty"`
		Object   json.RawMessage `json:"object,omitempty"`
	}
	results := []result{}
	rt := v.c.m.Schema.Resources[v.call.Type]
	of := *v
	of.rt, of.t = rt, v.c.m.Type(provider.ManagedResource, v.call.Type)
	for _, item := range vars["items"].AsValueSlice() {
		vars := withVariable(vars, "item", item)
		identity, err := v.op.Identity.Value(vars)
		if err != nil {
			return nil, &Failure{State: err.Error(), Message: v.c.excerpt(got.body, of.secretNames())}
		}
		in := &incoming{m: v.c.m, whole: true}
		typed := in.convert(rt.Identity.ImpliedType(), identity)
		one := result{}
		one.Identity, _ = message.EncodeValue(typed.Type(), typed)
		if v.op.DisplayName != nil {
			if one.Name, _, err = v.op.DisplayName.Text(vars); err != nil {
				return nil, &Failure{State: err.Error(), Message: v.c.excerpt(got.body, of.secretNames())}
			}
		}
		if v.op.Complete && v.wants("include_object") {
			vars["object"] = item
			vars["answer"] = cty.ObjectVal(map[string]cty.Value{"body": item, "status": cty.NumberIntVal(200),
				"headers": cty.EmptyObjectVal, "text": cty.StringVal("")})
			object := of.merged(in, &manifest.Operation{}, vars, cty.NilVal, item, false)
			one.Object, _ = message.Codec{Block: rt.Block}.Encode(object)
		}
		if err := of.unusable(got, in); err != nil {
			return nil, err
		}
		if results = append(results, one); v.limit() > 0 && len(results) >= v.limit() {
			break
		}
	}
	return encoded(map[string]any{"results": results}), nil
}

func (v *visit) wants(name string) bool {
	given := v.params.Get(name)
	return given != nil && given.True
}

// limit returns the maximum number of results of a list; 0 means all.
func (v *visit) limit() int {
	n := 0
	if given := v.params.Get("limit"); given != nil {
		_, _ = fmt.Sscan(given.Text, &n)
	}
	return n
}

// function calls a function.
func (v *visit) function(f *provider.Function) ([]byte, error) {
	op := v.c.m.Call(f)
	if op == nil {
		return nil, unsent("the manifest has no request for this function")
	}
	vars := v.variables()
	args := map[string]cty.Value{}
	var rest []cty.Value
	for i, item := range v.params.Get("args").Items {
		switch {
		case i < len(f.Params):
			arg, _ := message.DecodeValue(f.Params[i].Type, item, v.call.Params)
			args[f.Params[i].Name] = arg
		case f.VarParam != nil:
			arg, _ := message.DecodeValue(f.VarParam.Type, item, v.call.Params)
			rest = append(rest, arg)
		}
	}
	if f.VarParam != nil {
		args[f.VarParam.Name] = cty.TupleVal(rest)
	}
	vars["args"] = cty.ObjectVal(args)
	got, vars, err := v.perform(op, vars)
	if err != nil {
		return nil, err
	}
	result := member(vars["answer"], "body")
	if op.Result != nil {
		if result, err = op.Result.Value(vars); err != nil {
			return nil, &Failure{State: err.Error(), Message: v.c.excerpt(got.body, nil)}
		}
	}
	in := &incoming{m: v.c.m}
	typed := in.convert(f.Return, result)
	if err := v.unusable(got, in); err != nil {
		return nil, err
	}
	text, _ := message.EncodeValue(f.Return, typed)
	return encoded(map[string]json.RawMessage{"result": text}), nil
}
