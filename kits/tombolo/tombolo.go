// Package tombolo makes program providers in Go shorter to write: it reads the calls of the host and writes the
// answers, as docs/program-protocol.md describes. It needs only the standard library, so that a program with it is
// small, and can be compiled to WebAssembly. The kits for other languages have the same words. A provider that is a
// plugin, with its schema in Go, is made with package sdk/schema instead.
//
// A type is a struct of methods with the names of actions. A method returns the attributes that it knows, as anything
// that encoding/json can write; those that it leaves out are unchanged. "implements" in the manifest lists the actions.
// The same program works with "mode": "one-shot" and "mode": "session"; with "concurrency" above 1 methods run in
// several goroutines, which Run starts.
//
//	func create(ctx context.Context, call *tombolo.Call) (any, error) {
//		path, text := call.Planned["path"].(string), call.Planned["text"].(string)
//		return tombolo.Object{"id": path}, os.WriteFile(path, []byte(text), 0o600)
//	}
//
//	func main() {
//		tombolo.Run(tombolo.Provider{Resources: map[string]tombolo.Resource{"notes_note": {Create: create}}})
//	}
package tombolo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Object is an object of JSON. Its numbers are of type json.Number, which keeps all digits.
type Object map[string]any

// Into decodes the object into a struct, such as one of those that `tombolo provider types -lang go` writes.
func (o Object) Into(value any) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return decode(text, value)
}

// Method performs an action of a type. It ends soon when ctx is done.
type Method = func(ctx context.Context, call *Call) (any, error)

// Resource has the methods Create, Read, Update and Delete and, if the manifest lists them, the others. List returns a
// slice of objects with identity, display_name and object.
type Resource struct {
	Create, Read, Update, Delete, Validate, Plan, Import, Upgrade, List Method
}

// DataSource has the method Data and, if the manifest lists it, Validate.
type DataSource struct{ Data, Validate Method }

// Ephemeral has the method Open and, if the manifest lists them, the others.
type Ephemeral struct{ Open, Renew, Close, Validate Method }

// Action has the method Invoke, which returns nothing, and, if the manifest lists them, Validate and Plan.
type Action struct{ Invoke, Validate, Plan Method }

// Provider describes what a program implements, by the names of types.
type Provider struct {
	Resources map[string]Resource
	Data      map[string]DataSource
	Ephemeral map[string]Ephemeral
	Actions   map[string]Action

	// Functions get the arguments, of the types with which encoding/json decodes them, and json.Number.
	Functions map[string]func(args ...any) (any, error)

	// Configure and Validate are actions of the provider as a whole. Schema returns the schema, for manifests without
	// one.
	Configure, Validate, Schema Method
}

// Error fails a call with a message for the user. Any other error does too, without attribute and detail.
type Error struct {
	Summary, Detail string
	Attribute       []any // a path, such as "tags", "env"
	Argument        *int  // the number of a function's argument
}

// Error implements error.
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Summary
	}
	return e.Summary + ": " + e.Detail
}

// Temporary requests a retry of the call that failed: see "retry" in the manifest.
func Temporary(err error) error { return &temporary{err} }

type temporary struct{ error }

func (t *temporary) Unwrap() error { return t.error }

// ErrCancelled means that the call was cancelled.
var ErrCancelled = errors.New("the call was cancelled")

// Call is one call: the members of its request, and methods to report more than the result. Members that the action
// does not have are nil.
type Call struct {
	Action   string `json:"-"`
	Type     string `json:"type"`
	Config   Object `json:"config"`
	Planned  Object `json:"planned"`
	Prior    Object `json:"prior"`
	Proposed Object `json:"proposed"`
	State    Object `json:"state"`
	Provider Object `json:"provider"`
	Identity Object `json:"identity"`
	Private  any    `json:"private"`
	ID       string `json:"id"` // of an import

	IncludeObject bool        `json:"include_object"` // of a list
	Limit         json.Number `json:"limit"`

	// Params has all members of the request.
	Params Object `json:"-"`

	function string
	args     []any
	warnings []diagnostic
	extra    Object
	asked    map[string]any
	say      func(message string, fraction float64)
	ctx      context.Context
}

// Keep stores any JSON value with the object, for Private of later calls.
func (c *Call) Keep(private any) { c.extra["private"] = private }

// Identify reports the identity of the object.
func (c *Call) Identify(identity any) { c.extra["identity"] = identity }

// Made reports what already exists, so that it is stored if the call fails later.
func (c *Call) Made(attributes any) { c.extra["state"] = attributes }

// RenewAt reports when an ephemeral object has to be renewed, as an RFC 3339 time.
func (c *Call) RenewAt(time string) { c.extra["renew_at"] = time }

// Warn adds a warning, whose attribute is a path that may be empty.
func (c *Call) Warn(summary, detail string, attribute ...any) {
	c.warnings = append(c.warnings, diagnostic{"warning", summary, detail, attribute})
}

// Progress reports the progress of the call, from 0 to 1 if the fraction is known, and returns ErrCancelled if the call
// was cancelled. The fraction may be left out.
func (c *Call) Progress(message string, fraction ...float64) error {
	f := -1.0
	if len(fraction) > 0 {
		f = fraction[0]
	}
	c.say(message, f)
	if c.ctx.Err() != nil {
		return ErrCancelled
	}
	return nil
}

// RemoteState returns the output values of a state of another configuration, or nil if there is none. The workspace ""
// is "default". The host reads the state: until it has, RemoteState returns an error, with which the method must end.
// Then it is called again from the beginning, so it must not have had any effect before. Not in Create, Update and
// Delete.
func (c *Call) RemoteState(backend string, config Object, workspace string) (Object, error) {
	if workspace == "" {
		workspace = "default"
	}
	if config == nil {
		config = Object{}
	}
	one := Object{"backend": backend, "workspace": workspace, "config": config}
	name, err := json.Marshal(one)
	if err != nil {
		return nil, err
	}
	have, _ := c.Params["remote_state"].(map[string]any)
	if state, ok := have[string(name)]; ok {
		values, _ := state.(map[string]any)
		return values, nil
	}
	c.asked = map[string]any{string(name): one}
	for name := range have { // the host passes those that the last answer requested
		c.asked[name] = json.RawMessage(name)
	}
	return nil, errors.New("the host has not read the state yet")
}

// diagnostic is a message about a call.
type diagnostic struct {
	Severity  string `json:"severity"`
	Summary   string `json:"summary"`
	Detail    string `json:"detail,omitempty"`
	Attribute []any  `json:"attribute,omitempty"`
}

// decode reads JSON with exact numbers.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// encode writes a line of JSON.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return b.Bytes(), err
}

// called returns the call of an action with a request.
func called(ctx context.Context, action string, request []byte, say func(string, float64)) (*Call, error) {
	c := &Call{Action: action, extra: Object{}, say: say, ctx: ctx}
	if err := decode(request, &c.Params); err != nil {
		return c, fmt.Errorf("the request is not an object of JSON: %w", err)
	}
	if action == "call" {
		c.function, _ = c.Params["function"].(string)
		c.args, _ = c.Params["args"].([]any)
		return c, nil
	}
	return c, decode(request, c)
}
