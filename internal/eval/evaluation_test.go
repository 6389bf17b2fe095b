package eval_test

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// evaluation is a configuration with the provider "lab", whose objects equal their configuration, with an unknown id.
type evaluation struct {
	prog    *linking.Program
	walk    *eval.Walk
	outputs map[string]cty.Value
	diags   diag.List
}

// enter loads, links and walks a configuration.
func enter(t testing.TB, files map[string][]byte, in eval.Inputs) *evaluation {
	t.Helper()
	r := &evaluation{outputs: map[string]cty.Value{}}
	cfg, diags := config.Load(context.Background(), config.Options{
		Dir: ".", Files: config.SnapshotFiles(snapshot(files)), LanguageVersion: "1.11.4"})
	if r.diags = diags; diags.HasErrors() {
		return r
	}
	r.prog, diags = linking.New(cfg, lab{})
	if r.diags = r.diags.Extend(diags); diags.HasErrors() {
		return r
	}
	r.run(t, in)
	return r
}

// run walks the program.
func (r *evaluation) run(t testing.TB, in eval.Inputs) {
	t.Helper()
	in.Functions.Table = table
	in.Workspace, in.Cwd = "default", "/cwd"
	d := &driver{room: r}
	r.walk = eval.NewWalk(r.prog, in, d)
	d.walk = r.walk
	if err := r.walk.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.diags = r.diags.Extend(r.walk.Diagnostics())
}

var table = funcs.Table(funcs.Options{Pure: true})

// snapshot adds the directories and the manifest of modules that init would write.
func snapshot(files map[string][]byte) map[string][]byte {
	out := map[string][]byte{"./": nil}
	var entries []string
	for name, src := range files {
		out[name] = src
		if dir := path.Dir(name); dir != "." {
			out[dir+"/"] = nil
		}
		for _, m := range moduleCall.FindAllSubmatch(src, -1) {
			entries = append(entries, fmt.Sprintf(`{"Key":%q,"Source":"./%s","Dir":%q}`, m[1], m[2], m[2]))
		}
	}
	sort.Strings(entries)
	entries = append([]string{`{"Key":"","Source":"","Dir":"."}`}, slices.Compact(entries)...)
	out[".terraform/modules/modules.json"] = []byte(`{"Modules":[` + strings.Join(entries, ",") + `]}`)
	return out
}

var moduleCall = regexp.MustCompile(`module "(\w+)" \{\s*source\s*=\s*"\./(\w+)"`)

// driver assigns every object the value of its configuration.
type driver struct {
	room *evaluation
	walk *eval.Walk
	mu   sync.Mutex
}

func (d *driver) Provider(*linking.Slot, addr.Key, cty.Value) error { return nil }

func (d *driver) RootOutput(s *linking.Slot, v cty.Value) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room.outputs[s.Name] = v
	return nil
}

func (d *driver) Resource(_ *graph.Node, b *eval.Block) error {
	exp, diags := b.Expand()
	if d.walk.Inputs.Validating {
		return d.validate(b, exp, diags)
	}
	if err := d.walk.Report(diags); err != nil {
		return err
	}
	b.Prepare()
	values := map[addr.Key]cty.Value{}
	for _, key := range exp.Keys {
		if err := d.walk.Report(b.Preconditions(key)); err != nil {
			return err
		}
		v, err := b.Evaluate(key)
		if err != nil {
			return err
		}
		bare, marks := value.UnmarkDeep(v)
		object := bare.AsValueMap()
		object["id"] = cty.UnknownVal(cty.String)
		values[key] = value.MarkAt(cty.ObjectVal(object), value.Sensitive, marks.Sensitive)
		if err := d.walk.Report(b.Postconditions(key, values[key])); err != nil {
			return err
		}
	}
	b.Set(exp, values)
	return nil
}

// validate checks all parts of a block, like planning.
func (d *driver) validate(b *eval.Block, exp eval.Expansion, diags diag.List) error {
	b.Prepare()
	_, err := b.Evaluate(addr.NoKey)
	if e := d.walk.Report(diags.Extend(b.Validate(err == nil))); e != nil {
		err = e
	}
	if err != nil {
		return err
	}
	b.Set(exp, map[addr.Key]cty.Value{addr.NoKey: cty.DynamicVal})
	return nil
}

// lab is a schema with every kind of nesting.
type lab struct{}

func (lab) Schema(a addr.Provider) (*provider.Schema, diag.List) { return labSchema, nil }

func optional(ty cty.Type) *provider.Attribute { return &provider.Attribute{Type: ty, Optional: true} }

func nested(n provider.Nesting, attrs map[string]*provider.Attribute,
	blocks map[string]*provider.NestedBlock) *provider.NestedBlock {
	return &provider.NestedBlock{Nesting: n, Block: provider.Block{Attributes: attrs, Blocks: blocks}}
}

type attributes = map[string]*provider.Attribute
type nestedBlocks = map[string]*provider.NestedBlock

var labSchema = &provider.Schema{
	Provider: &provider.Block{Attributes: attributes{"region": optional(cty.String)}},
	Resources: map[string]*provider.ResourceType{
		"lab_thing": {Block: &provider.Block{
			Attributes: attributes{
				"id": {Type: cty.String, Computed: true}, "name": optional(cty.String), "size": optional(cty.Number),
				"tags": optional(cty.Map(cty.String)), "any": optional(cty.DynamicPseudoType),
				"list": optional(cty.List(cty.String)),
			},
			Blocks: nestedBlocks{
				"boot": nested(provider.NestingSingle, attributes{"mode": optional(cty.String)}, nestedBlocks{
					"step": nested(provider.NestingList, attributes{"n": optional(cty.Number)}, nil)}),
				"limits": nested(provider.NestingGroup, attributes{"cpu": optional(cty.Number)}, nil),
				"disk": nested(provider.NestingList, attributes{"size": optional(cty.Number),
					"label": optional(cty.String)},
					nestedBlocks{
						"part": nested(provider.NestingSet, attributes{"n": {Type: cty.Number, Required: true}},
							nil)}),
				"rule":   nested(provider.NestingSet, attributes{"port": {Type: cty.Number, Required: true}}, nil),
				"device": nested(provider.NestingMap, attributes{"size": optional(cty.Number)}, nil),
				"loose":  nested(provider.NestingList, attributes{"any": optional(cty.DynamicPseudoType)}, nil),
				"keyed":  nested(provider.NestingMap, attributes{"any": optional(cty.DynamicPseudoType)}, nil),
			},
		}},
		"lab_strict": {Block: &provider.Block{
			Attributes: attributes{"id": {Type: cty.String, Computed: true}, "name": {
				Type: cty.String, Required: true}},
			Blocks: nestedBlocks{
				"one": {Nesting: provider.NestingSingle, MinItems: 1, MaxItems: 1, Block: provider.Block{
					Attributes: attributes{"a": optional(cty.String)}}},
				"some": {Nesting: provider.NestingList, MinItems: 1, MaxItems: 2, Block: provider.Block{
					Attributes: attributes{"a": optional(cty.String)}}},
			},
		}},
		"lab_old": {Block: &provider.Block{Attributes: attributes{
			"id": {Type: cty.String, Computed: true},
			"ingress": optional(cty.List(cty.Object(map[string]cty.Type{"port": cty.Number, "note": cty.String,
				"peer": cty.List(cty.Object(map[string]cty.Type{"name": cty.String}))}))),
			"egress": optional(cty.Set(cty.Object(map[string]cty.Type{"port": cty.Number}))),
		}}},
	},
	Data: map[string]*provider.ResourceType{
		"lab_data": {Block: &provider.Block{Attributes: attributes{"id": {Type: cty.String, Computed: true},
			"q": optional(cty.String)}}}},
}

// show formats a value with distinct kinds, unknown values and marks: ? unknown, !x sensitive.
func show(v cty.Value) string {
	if v.IsMarked() {
		bare, marks := v.Unmark()
		out := show(bare)
		if _, ok := marks[value.Ephemeral]; ok {
			out = "~" + out
		}
		if _, ok := marks[value.Sensitive]; ok {
			out = "!" + out
		}
		return out
	}
	ty := v.Type()
	switch {
	case !v.IsKnown():
		if ty == cty.DynamicPseudoType {
			return "?"
		}
		return "?" + ty.FriendlyName()
	case v.IsNull():
		return "null"
	case ty == cty.String:
		return fmt.Sprintf("%q", v.AsString())
	case ty == cty.Number:
		return v.AsBigFloat().Text('f', -1)
	case ty == cty.Bool:
		return fmt.Sprint(v.True())
	}
	var parts []string
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if ty.IsMapType() || ty.IsObjectType() {
			parts = append(parts, k.AsString()+"="+show(e))
		} else {
			parts = append(parts, show(e))
		}
	}
	if ty.IsSetType() {
		slices.Sort(parts)
	}
	inside := strings.Join(parts, " ")
	switch {
	case ty.IsListType():
		return "[" + inside + "]"
	case ty.IsSetType():
		return "set[" + inside + "]"
	case ty.IsMapType():
		return "map{" + inside + "}"
	case ty.IsTupleType():
		return "(" + inside + ")"
	}
	return "{" + inside + "}"
}
