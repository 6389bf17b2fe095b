package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// RemoteState reads the output values of a state in a backend. It returns an object whose sensitive values are marked,
// or cty.NilVal if there is no state. config is an object with the arguments of the backend, or null.
type RemoteState func(ctx context.Context, backend, workspace string, config cty.Value) (cty.Value, diag.List)

const (
	sumRemote = "Cannot read a remote state for a program"
	// mostRounds is how often a program may request states before it answers.
	mostRounds = 8
)

// remoteAnswer is an answer that requests states.
const remoteAnswer = `{"remote_state": {"NAME": {"backend": "…", "workspace": "…", "config": {…}}}}`

// asksFor returns the request for states in an answer, or nil if it is the answer to the call.
func (a *answer) asksFor() *strictjson.Value {
	if a.failed || a.root == nil {
		return nil
	}
	return a.get("remote_state")
}

// withStates returns the parameters of the repeated call, with the states that the answer requests.
func (r *request) withStates(ctx context.Context, a *answer, asked *strictjson.Value, round int) (params []byte,
	diags diag.List) {
	if problem := r.mayNotAsk(a, asked, round); problem != nil {
		return nil, diags.Append(problem)
	}
	var states bytes.Buffer
	states.WriteByte('{')
	for i, member := range asked.Members {
		place, err := readPlace(a.text[member.Value.Offset:member.Value.End])
		if err != nil {
			return nil, diags.Append(r.badAnswer(a, fmt.Sprintf("remote_state.%s cannot be used: %s. Expected: %s",
				member.Name, err, remoteAnswer)))
		}
		outputs, more := r.h.opts.RemoteState(ctx, place.backend, place.workspace, place.config)
		for _, d := range more {
			diags = diags.Append(
				r.problem(sumRemote, fmt.Sprintf("%s, and asked for the state %s of a backend %s. %s: "+
					"%s", r.asked(), r.quote(member.Name), r.quote(place.backend), d.Summary, d.Text(diag.Program))))
		}
		if more.HasErrors() {
			return nil, diags
		}
		if i > 0 {
			states.WriteByte(',')
		}
		states.Write(message.Text(member.Name))
		states.WriteByte(':')
		states.Write(r.outputs(outputs))
	}
	states.WriteByte('}')
	params = append(bytes.TrimSuffix(bytes.Clone(r.params.Bytes()), []byte("}")), `,"remote_state":`...)
	return append(append(params, states.Bytes()...), '}'), nil
}

// mayNotAsk returns the problem with a request for states that is not allowed or not valid, or nil.
func (r *request) mayNotAsk(a *answer, asked *strictjson.Value, round int) *diag.Diagnostic {
	switch {
	case !r.reads && r.action != "open" || r.action == "schema" || r.action == "call":
		return r.badAnswer(a, fmt.Sprintf("%q cannot be used in %s. Request states only in read-only calls, such as "+
			"data, read, plan and configure, or in open", "remote_state", r.action))
	case asked.Kind != strictjson.Object:
		return r.badAnswer(a, fmt.Sprintf("%q is %s. Expected: %s", "remote_state", asked.Kind, remoteAnswer))
	case round == mostRounds:
		return r.badAnswer(a, fmt.Sprintf("it has requested states %d times without answering", round))
	case r.h.opts.RemoteState == nil:
		return r.problem(sumRemote, "States of other configurations are not available here.")
	}
	return nil
}

// statePlace is the location of a state that a program requests.
type statePlace struct {
	backend, workspace string
	config             cty.Value
}

// readPlace decodes a member of remote_state.
func readPlace(text []byte) (p statePlace, err error) {
	var one struct {
		Backend, Workspace string
		Config             json.RawMessage
	}
	if err := json.Unmarshal(text, &one); err != nil {
		return p, err
	}
	config := cty.NullVal(cty.EmptyObject)
	if len(one.Config) > 0 && string(one.Config) != "null" {
		ty, err := ctyjson.ImpliedType(one.Config)
		if err != nil {
			return p, err
		}
		if config, err = ctyjson.Unmarshal(one.Config, ty); err != nil {
			return p, err
		}
		if !ty.IsObjectType() {
			return p, fmt.Errorf(`"config" is not an object`)
		}
	}
	if one.Backend == "" {
		return p, fmt.Errorf(`there is no "backend"`)
	}
	if one.Workspace == "" {
		one.Workspace = "default"
	}
	return statePlace{one.Backend, one.Workspace, config}, nil
}

// outputs encodes the output values of a state, and records the secret ones.
func (r *request) outputs(v cty.Value) json.RawMessage {
	if v == cty.NilVal || v.IsNull() {
		return json.RawMessage("null")
	}
	plain, marks := v.UnmarkDeepWithPaths()
	for _, marked := range marks {
		if part, err := marked.Path.Apply(plain); err == nil {
			r.secrets.Add(part, []cty.Path{{}})
		}
	}
	text, _ := message.EncodeValue(plain.Type(), value.UnknownAsNull(plain))
	return text
}
