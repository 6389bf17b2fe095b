// Package verify runs the conformance suite of providers (package providertest) with a program provider, with the
// values in a file beside its manifest, tombolo-test.json. It implements `tombolo provider test`.
//
// In the strings of the file, {dir} is a folder for the objects of the trial, and {n} a number that is unique for each
// object. A trial may be recorded, every call with its answer, and repeated later from the record instead of the
// program. That shows, without a cloud and an interpreter, that a changed manifest still matches the answers of the
// program (tape.go).
//
//	t, diags := verify.Load(ctx, "./notes", "")
//	o, err := t.Options(dir, nil, say)
//	for r := range providertest.Results(ctx, o) { ... }
package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/debugger"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/providertest"
)

// mark is what stands for the address of a mock.
const mark = "{mock}"

// FileName is the name of the file.
const FileName = "tombolo-test.json"

// file is the content of the file.
type file struct {
	Schema    string          `json:"$schema"` // for editors
	Provider  json.RawMessage `json:"provider"`
	Resources []resource      `json:"resources"`
	Data      []read          `json:"data"`
	Ephemeral []read          `json:"ephemeral"`
	Lists     []asked         `json:"lists"`
	Actions   []asked         `json:"actions"`
	Functions []called        `json:"functions"`
}

// called describes a call of a function.
type called struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	Want json.RawMessage `json:"want"` // nil means that the call must fail
}

// resource describes the tests of a resource type.
type resource struct {
	Name   string          `json:"name"`
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config"`
	// Updates and Replacements are changes of the configuration: those that update the object, and those that replace
	// it.
	Updates      []json.RawMessage `json:"updates"`
	Replacements []json.RawMessage `json:"replacements"`
	Invalid      []json.RawMessage `json:"invalid"`
	// Import is the attribute that the object is imported by, or a text with attributes in it: "{org}/{name}".
	Import string `json:"import"`
	// Untold are the attributes that no answer tells, so that an import does not find them; "a.b" is one within
	// another.
	Untold []string        `json:"untold"`
	Slow   json.RawMessage `json:"slow"`
	// Fixed are the attributes that get no generated values.
	Fixed []string `json:"fixed"`
}

// read describes a data source or an ephemeral resource to be read once.
type read struct {
	Name   string          `json:"name"`
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config"`
	Want   json.RawMessage `json:"want"`
}

// asked describes a list of objects or an action.
type asked struct {
	Name    string            `json:"name"`
	Type    string            `json:"type"`
	Config  json.RawMessage   `json:"config"`
	Invalid []json.RawMessage `json:"invalid"`
}

// Trial is a provider with the values for its tests.
type Trial struct {
	// RemoteState reads states that the program requests; nil refuses such requests.
	RemoteState handler.RemoteState
	// Mock is the address that {mock} stands for in the strings of the file.
	Mock string
	// Generate is the number of configurations to generate for each resource, and Seed determines them.
	Generate int
	Seed     uint64
	// Limit is how long a check may take; 0 means no limit.
	Limit time.Duration
	// Earlier is an earlier version of the provider, or nil.
	Earlier *Trial
	// Debug is the command of a debugger, or a socket, as in the variable debugger.Variable; "" for none.
	Debug string

	manifest *manifest.Manifest
	schema   *provider.Schema
	file     file
}

const badTrial = "Provider cannot be tested"

// Load reads the manifest and the test file in a folder. A program that reports its schema is started for that. debug
// is the field Debug of the trial.
func Load(ctx context.Context, dir, debug string) (*Trial, diag.List) {
	m, diags := manifest.Load(dir)
	if diags.HasErrors() {
		return nil, diags
	}
	t := &Trial{manifest: m, Debug: debug}
	text, err := os.ReadFile(filepath.Join(dir, FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil,
			diags.Errorf(nil, badTrial,
				"There is no %s in %s. It has the values to test the provider with, such as\n\n%s", FileName, dir,
				sample(m))
	}
	if err != nil {
		return nil, diags.AppendError(badTrial, err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&t.file); err != nil {
		return nil, diags.Errorf(nil, badTrial, "%s is not valid: %s.", FileName, err)
	}
	return t, diags.Extend(t.describe(ctx))
}

// describe asks for the schema.
func (t *Trial) describe(ctx context.Context) (diags diag.List) {
	p := handler.New(t.manifest, handler.NewCaller(t.manifest, t.surroundings()), handler.Options{})
	t.schema, diags = p.Schema(ctx)
	if err := p.Close(); err != nil {
		diags = diags.AppendError(badTrial, err)
	}
	return diags
}

// surroundings returns those of the program.
func (t *Trial) surroundings() handler.Surroundings {
	s := handler.Surroundings{Granted: []string{"*"}}
	if t.Debug != "" {
		s.Env = append(os.Environ(), debugger.Variable+"="+t.manifest.Name+"="+t.Debug)
	}
	return s
}

// Name returns the name of the provider.
func (t *Trial) Name() string { return t.manifest.Name }

// Debugged reports whether a debugger may stop the program for any time.
func (t *Trial) Debugged() bool {
	return t.Debug != "" || debugger.Asked(os.Environ(), t.manifest.Name)
}

// sample returns an example of a test file for a provider.
func sample(m *manifest.Manifest) string {
	typ := m.Name + "_thing"
	if m.Schema != nil && len(m.Schema.Resources) > 0 {
		typ = slices.Sorted(maps.Keys(m.Schema.Resources))[0]
	}
	return fmt.Sprintf(`  {"resources": [{"type": %q, "config": {"path": "{dir}/{n}"}, "updates": [{"text": "x"}]}]}`,
		typ)
}

// Options returns the options of the suite. Objects are created in dir. wrap wraps the caller; it may be nil.
func (t *Trial) Options(dir string, wrap func(handler.Caller) handler.Caller, say func(handler.Output)) (
	providertest.Options, error) {
	v := values{dir: dir, mock: t.Mock}
	o := providertest.Options{
		New: func(context.Context) (provider.Provider, error) {
			caller := handler.NewCaller(t.manifest, t.surroundings())
			if wrap != nil {
				caller = wrap(caller)
			}
			return handler.New(t.manifest, caller, handler.Options{Output: func(o handler.Output) {
				say(o)
			}, RemoteState: t.RemoteState}), nil
		},
		Config: v.attrs(t.file.Provider, 0), Goroutines: 4,
	}
	if o.Limit = t.Limit; t.Debugged() {
		o.Patience, o.Limit = program.Unlimited, 0
	}
	if t.Earlier != nil {
		earlier, err := t.Earlier.Options(dir, wrap, say)
		if err != nil {
			return o, fmt.Errorf("the earlier version: %w", err)
		}
		o.Earlier = &earlier
	}
	for _, r := range t.file.Resources {
		if t.schema.Type(provider.ManagedResource, r.Type) == nil {
			return o, t.noType("resource", r.Type, slices.Sorted(maps.Keys(t.schema.Resources)))
		}
		o.Resources = append(o.Resources, t.resource(&v, r))
	}
	for _, d := range t.file.Data {
		o.Data = append(o.Data, providertest.Data{Name: d.Name, Type: d.Type, Config: v.attrs(d.Config, 0),
			Want: v.attrs(d.Want, 0)})
	}
	for _, e := range t.file.Ephemeral {
		o.Ephemeral = append(o.Ephemeral, providertest.Ephemeral{Name: e.Name, Type: e.Type,
			Config: v.attrs(e.Config, 0), Want: v.attrs(e.Want, 0)})
	}
	if err := t.listsAndActions(&v, &o); err != nil {
		return o, err
	}
	if err := t.functions(&v, &o); err != nil {
		return o, err
	}
	return o, v.err
}

func (t *Trial) listsAndActions(v *values, o *providertest.Options) error {
	for _, l := range t.file.Lists {
		if t.schema.Lists[l.Type] == nil {
			return t.noType("list", l.Type, slices.Sorted(maps.Keys(t.schema.Lists)))
		}
		o.Lists = append(o.Lists, providertest.List{Name: l.Name, Type: l.Type, Config: v.attrs(l.Config, 0),
			Invalid: v.invalid(l.Invalid)})
	}
	for _, a := range t.file.Actions {
		if t.schema.Actions[a.Type] == nil {
			return t.noType("action", a.Type, slices.Sorted(maps.Keys(t.schema.Actions)))
		}
		o.Actions = append(o.Actions, providertest.Action{Name: a.Name, Type: a.Type, Config: v.attrs(a.Config, 0),
			Invalid: v.invalid(a.Invalid)})
	}
	return nil
}

// resource returns the test values of a resource type.
func (t *Trial) resource(v *values, r resource) providertest.Resource {
	words := t.manifest.Type(provider.ManagedResource, r.Type)
	one := providertest.Resource{Name: r.Name, Type: r.Type, Config: func(n int) providertest.Attrs {
		return v.attrs(r.Config, n)
	}}
	for i, text := range slices.Concat(r.Updates, r.Replacements) {
		one.Updates = append(one.Updates, providertest.Update{
			Name: names(v.attrs(text, 0)), Vary: func(n int) providertest.Attrs { return v.attrs(text, n) },
			Replaces: i >= len(r.Updates),
		})
	}
	one.Invalid = v.invalid(r.Invalid)
	by := r.Import
	if by == "" && words != nil {
		by = words.Import
	}
	if by == "" && words.Does("import") {
		by = "id"
	}
	if by != "" {
		one.Import = &providertest.Import{ID: func(state cty.Value) string { return id(state, by) }}
	}
	if one.Import != nil && len(r.Untold) > 0 {
		one.Import.Want = func(state cty.Value) cty.Value {
			return without(state, t.schema.Resources[r.Type].Block.ImpliedType(), r.Untold)
		}
	}
	one.Blind = words != nil && !words.Does("read")
	one.Lenient = t.manifest.HTTP != nil // only configured values are compared
	if t.Generate > 0 {
		one.Generated = t.generated(r, v.attrs(r.Config, 0))
	}
	one.Numbers = numbers(t.schema.Resources[r.Type].Block)
	if r.Slow != nil {
		one.Slow = v.attrs(r.Slow, 0)
	}
	return one
}

// numbers returns the attributes and blocks in which a configuration can set a number, at any depth.
func numbers(b *provider.Block) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		if takesNumber(b.Attributes[name]) {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		if len(numbers(&b.Blocks[name].Block)) > 0 {
			names = append(names, name)
		}
	}
	return names
}

func takesNumber(a *provider.Attribute) bool {
	switch {
	case !a.Required && !a.Optional:
		return false
	case a.Nested == nil:
		return manifest.HoldsNumbers(a.Type)
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(a.Nested.Attributes)), takesNumber)
}

func (t *Trial) noType(kind, name string, known []string) error {
	return fmt.Errorf("%s tests the %s %q, which the provider does not have; it has: %s.%s", FileName, kind, name,
		strings.Join(known, ", "), diag.DidYouMean(name, known))
}

func (t *Trial) functions(v *values, o *providertest.Options) error {
	for _, f := range t.file.Functions {
		spec := t.schema.Functions[f.Name]
		if spec == nil {
			return t.noType("function", f.Name, slices.Sorted(maps.Keys(t.schema.Functions)))
		}
		one := providertest.Function{Name: f.Name, Want: cty.NilVal}
		text := v.fill(f.Args, 0)
		args, err := strictjson.Parse(text)
		if err != nil || args.Kind != strictjson.Array {
			return fmt.Errorf(`the function %s needs "args" in %s, an array`, f.Name, FileName)
		}
		for i, item := range args.Items {
			param := spec.VarParam
			if i < len(spec.Params) {
				param = &spec.Params[i]
			}
			if param == nil {
				return fmt.Errorf("%s calls the function %s with %d arguments; it takes %d", FileName, f.Name,
					len(args.Items), len(spec.Params))
			}
			arg, wrong := message.DecodeValue(param.Type, item, text)
			if len(wrong) > 0 {
				return fmt.Errorf("argument %d of the function %s in %s: %w", i, f.Name, FileName, wrong[0])
			}
			one.Args = append(one.Args, arg)
		}
		if f.Want != nil {
			text := v.fill(f.Want, 0)
			want, err := strictjson.Parse(text)
			if err != nil {
				return err
			}
			var wrong []error
			result, problems := message.DecodeValue(spec.Return, want, text)
			for _, p := range problems {
				wrong = append(wrong, p)
			}
			if err := errors.Join(wrong...); err != nil {
				return fmt.Errorf("the result of the function %s in %s: %w", f.Name, FileName, err)
			}
			one.Want = result
		}
		o.Functions = append(o.Functions, one)
	}
	return nil
}

// values decodes the values of the file, and records the first error.
type values struct {
	dir, mock string
	err       error
}

func (v *values) fill(text json.RawMessage, n int) []byte {
	dir := message.Text(v.dir)
	if v.mock == "" && strings.Contains(string(text), mark) {
		v.err = errors.Join(v.err, fmt.Errorf("the file %s has %s for the address of a mock: give the document that "+
			"the mock is made of with -mock=SPEC", FileName, mark))
	}
	return []byte(strings.NewReplacer("{dir}", string(dir[1:len(dir)-1]), "{n}", strconv.Itoa(n), mark, v.mock).Replace(
		string(text)))
}

// invalid returns changes that must be refused.
func (v *values) invalid(list []json.RawMessage) (out []providertest.Invalid) {
	for _, text := range list {
		change := v.attrs(text, 0)
		out = append(out, providertest.Invalid{Name: names(change), Change: change})
	}
	return out
}

func (v *values) attrs(text json.RawMessage, n int) providertest.Attrs {
	if text == nil {
		return nil
	}
	filled := v.fill(text, n)
	ty, err := ctyjson.ImpliedType(filled)
	var obj cty.Value
	if err == nil {
		obj, err = ctyjson.Unmarshal(filled, ty)
	}
	if err == nil && !ty.IsObjectType() {
		err = errors.New("an object was expected")
	}
	if err != nil {
		v.err = errors.Join(v.err, fmt.Errorf("%s in %s: %w", text, FileName, err))
		return nil
	}
	return obj.AsValueMap()
}

func names(a providertest.Attrs) string { return strings.Join(slices.Sorted(maps.Keys(a)), ", ") }

// without returns an object in which attributes are null. They may be within others: "owner.password".
func without(state cty.Value, ty cty.Type, names []string) cty.Value {
	out, err := cty.Transform(state, func(path cty.Path, v cty.Value) (cty.Value, error) {
		var place []string
		for _, step := range path {
			if attr, ok := step.(cty.GetAttrStep); ok {
				place = append(place, attr.Name)
			}
		}
		if slices.Contains(names, strings.Join(place, ".")) {
			return cty.NullVal(within(ty, place)), nil
		}
		return v, nil
	})
	if err != nil {
		panic("verify: " + err.Error()) // the types stay as they are
	}
	return out
}

// within is the type of an attribute within others.
func within(ty cty.Type, place []string) cty.Type {
	for _, name := range place {
		for ty.IsCollectionType() {
			ty = ty.ElementType()
		}
		if !ty.IsObjectType() || !ty.HasAttribute(name) {
			return cty.DynamicPseudoType
		}
		ty = ty.AttributeType(name)
	}
	return ty
}

// id returns an import ID: that of an attribute, or what a text such as "{org}/{name}" makes of several.
func id(state cty.Value, by string) string {
	if !strings.Contains(by, "{") {
		return text(state, by)
	}
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(by, "{")
		name, after, closed := strings.Cut(rest, "}")
		if out.WriteString(before); !ok || !closed {
			return out.String()
		}
		out.WriteString(text(state, name))
		by = after
	}
}

// text returns an attribute as an import ID.
func text(state cty.Value, attr string) string {
	if !state.Type().HasAttribute(attr) {
		return ""
	}
	v := state.GetAttr(attr)
	switch {
	case v.IsNull() || !v.IsKnown():
		return ""
	case v.Type() == cty.String:
		return v.AsString()
	case v.Type() == cty.Number:
		return v.AsBigFloat().Text('f', -1)
	}
	return ""
}
