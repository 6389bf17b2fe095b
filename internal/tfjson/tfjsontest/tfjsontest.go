// Package tfjsontest loads recorded runs of Terraform 1.11.4, to compare documents and texts with its output.
//
// Each archive in testdata is one step of a scenario: the configuration, the prior state, the plan document and text,
// and the state after the apply. They were recorded with terraform_data and with a provider for this purpose
// (hashicorp/oracle), which has every kind of attribute and block. Case.Plan converts the plan document to a plan.Plan;
// this only loses the types of values in dynamic attributes. Sensitive values in the recordings contain the text of
// Canary. The count of invoked actions, which only Terraform 1.15 writes, was added.
package tfjsontest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Canary is part of every sensitive value in the recordings.
const Canary = "tops3cret"

// Case is one recorded step.
type Case struct {
	Name  string
	Files map[string]string // the members of the archive
}

// Dir returns the directory of the recordings, relative to the folder of any package of the module.
func Dir() string {
	wd, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "internal", "tfjson", "tfjsontest", "testdata")
		}
		if dir == filepath.Dir(dir) {
			panic("tfjsontest: no go.mod above " + wd)
		}
	}
}

// Cases returns every recorded step.
func Cases(t testing.TB) []Case {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(Dir(), "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recordings in %s: %v", Dir(), err)
	}
	var cases []Case
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := Case{Name: strings.TrimSuffix(filepath.Base(path), ".txtar"), Files: map[string]string{}}
		for _, f := range archive.Files {
			c.Files[f.Name] = string(f.Data)
		}
		cases = append(cases, c)
	}
	return cases
}

// Update replaces a member of the recording.
func (c Case) Update(t testing.TB, member, text string) {
	t.Helper()
	path := filepath.Join(Dir(), c.Name+".txtar")
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range archive.Files {
		if archive.Files[i].Name == member {
			archive.Files[i].Data = []byte(text)
		}
	}
	if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// State reads the state in a member, or nil if there is none.
func (c Case) State(t testing.TB, member string) *state.State {
	t.Helper()
	text, ok := c.Files[member]
	if !ok {
		return nil
	}
	s, err := state.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Document reads a JSON member; numbers keep their text. The version in it is replaced by that of this module.
func (c Case) Document(t testing.TB, member string) map[string]any {
	t.Helper()
	doc := Parse(t, c.Files[member])
	if doc["terraform_version"] != nil {
		doc["terraform_version"] = state.LanguageVersion
	}
	return doc
}

// Parse reads a JSON document.
func Parse(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	return doc
}

// Plan returns a plan of the recorded document, or nil if the step has none. Base is the recorded prior state.
func (c Case) Plan(t testing.TB, schemas tfjson.Schemas) *plan.Plan {
	t.Helper()
	if c.Files["plan.json"] == "" {
		return nil
	}
	doc := c.Document(t, "plan.json")
	p := &plan.Plan{
		Base: c.State(t, "prior.tfstate"), Complete: doc["complete"] == true, Errored: doc["errored"] == true,
		Variables: map[string]plan.Variable{},
	}
	p.Created, _ = time.Parse(time.RFC3339, doc["timestamp"].(string))
	flags := c.Files["flags"]
	switch {
	case strings.Contains(flags, "-destroy"):
		p.Mode = plan.Destroy
	case strings.Contains(flags, "-refresh-only"):
		p.Mode = plan.RefreshOnly
	}
	for name, v := range object(doc["variables"]) {
		p.Variables[name] = plan.Variable{Value: implied(t, object(v)["value"])}
	}
	for _, rc := range list(doc["resource_changes"]) {
		p.Changes = append(p.Changes, change(t, object(rc), schemas))
	}
	for _, rc := range list(doc["resource_drift"]) {
		drift := change(t, object(rc), schemas)
		p.Drift = append(p.Drift, drift)
		p.Refreshed = append(p.Refreshed, recorded(p.Base, drift))
	}
	planned := object(object(doc["planned_values"])["outputs"])
	for name, oc := range object(doc["output_changes"]) {
		p.Outputs = append(p.Outputs, outputChange(t, name, object(oc), object(planned[name])["type"]))
	}
	for _, r := range list(doc["relevant_attributes"]) {
		a, diags := addr.ParseInstance(object(r)["resource"].(string))
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		p.Relevant = append(p.Relevant, plan.RelevantAttribute{Resource: a, Path: path(list(object(r)["attribute"]))})
	}
	for _, check := range list(doc["checks"]) {
		p.Checks = append(p.Checks, checkResult(object(check)))
	}
	return p
}

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }

func list(v any) []any { l, _ := v.([]any); return l }

func text(v any) string { s, _ := v.(string); return s }

var actions = map[string]plan.Action{
	"no-op": plan.NoOp, "create": plan.Create, "read": plan.Read, "update": plan.Update, "delete": plan.Delete,
	"forget":        plan.Forget,
	"delete create": plan.DeleteThenCreate, "create delete": plan.CreateThenDelete,
	"forget create": plan.ForgetThenCreate,
}

func action(v any) plan.Action {
	var words []string
	for _, w := range list(v) {
		words = append(words, w.(string))
	}
	return actions[strings.Join(words, " ")]
}

func change(t testing.TB, rc map[string]any, schemas tfjson.Schemas) *plan.Change {
	t.Helper()
	a := instance(t, rc["address"])
	c := &plan.Change{Object: addr.Object{Instance: a, Deposed: addr.DeposedKey(text(rc["deposed"]))}}
	if prev, ok := rc["previous_address"]; ok {
		was := instance(t, prev)
		c.PrevAddr = &was
	}
	provider, err := addr.ParseProvider(text(rc["provider_name"]))
	if err != nil {
		t.Fatal(err)
	}
	c.Provider = &addr.AbsProviderConfig{Provider: provider}
	rt := schemas.ResourceType(provider, a.Resource)
	if rt == nil {
		t.Fatalf("no schema for %s", a)
	}
	c.Type, c.SchemaVersion = rt.Block.ImpliedType(), rt.Version
	body := object(rc["change"])
	c.Action, c.Reason = action(body["actions"]), plan.Reason(text(rc["action_reason"]))
	c.Before = plan.Value{Value: build(t, c.Type, body["before"], true, nil), Sensitive: secretPaths(c.Type,
		body["before_sensitive"])}
	after, known := body["after"]
	c.After = plan.Value{Value: build(t, c.Type, after, known, body["after_unknown"]), Sensitive: secretPaths(c.Type,
		body["after_sensitive"])}
	if a.Resource.Type == "terraform_data" && !c.After.Value.IsNull() && !c.After.Value.GetAttr("output").IsKnown() {
		c.After.Value = typedOutput(c.After.Value)
	}
	for _, p := range list(body["replace_paths"]) {
		c.ReplacePaths = append(c.ReplacePaths, path(list(p)))
	}
	if i := object(body["importing"]); i != nil {
		c.Importing = &plan.Importing{ID: text(i["id"])}
	}
	return c
}

// typedOutput sets the type of the unknown output of a terraform_data object to that of its input, as planned by its
// provider.
func typedOutput(v cty.Value) cty.Value {
	vals := v.AsValueMap()
	vals["output"] = cty.UnknownVal(vals["input"].Type())
	return cty.ObjectVal(vals)
}

func instance(t testing.TB, v any) addr.AbsResourceInstance {
	t.Helper()
	a, diags := addr.ParseInstance(text(v))
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return a
}

func outputChange(t testing.TB, name string, oc map[string]any, typ any) *plan.OutputChange {
	t.Helper()
	o := &plan.OutputChange{Name: name, Action: action(oc["actions"]), Sensitive: oc["after_sensitive"] == true,
		BeforeSensitive: oc["before_sensitive"] == true}
	o.Before = build(t, cty.DynamicPseudoType, oc["before"], true, nil)
	after, known := oc["after"]
	ty := cty.DynamicPseudoType
	if typ != nil {
		raw, _ := json.Marshal(typ)
		if parsed, err := ctyjson.UnmarshalType(raw); err == nil {
			ty = parsed
		}
	}
	o.After = build(t, ty, after, known, oc["after_unknown"])
	return o
}

func checkResult(c map[string]any) state.CheckResult {
	a := object(c["address"])
	r := state.CheckResult{Kind: text(a["kind"]), ConfigAddr: text(a["to_display"]), Status: text(c["status"])}
	if r.Kind == "output_value" {
		r.Kind = "output"
	}
	for _, i := range list(c["instances"]) {
		o := state.CheckedObject{Addr: text(object(object(i)["address"])["to_display"]),
			Status: text(object(i)["status"])}
		for _, p := range list(object(i)["problems"]) {
			o.Failures = append(o.Failures, text(object(p)["message"]))
		}
		r.Objects = append(r.Objects, o)
	}
	return r
}

// Read returns the text of a file in testdata.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(Dir(), name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// recorded returns the edit that a plan keeps for a refreshed object. The recorded state is the one after refreshing,
// so the edit changes nothing.
func recorded(s *state.State, drift *plan.Change) state.Edit {
	if o := s.Object(drift.Object); o != nil {
		return state.Edit{
			Put: &state.PutObject{
				Addr: drift.Object, Provider: s.Resource(drift.Object.Instance.AbsResource()).Provider, Object: o}}
	}
	return state.Edit{Drop: &state.DropObject{Addr: drift.Object}}
}
