package reference

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

var update = flag.Bool("update", false, "write the golden files")

type (
	attrs = map[string]*provider.Attribute
	block = provider.Block
)

// text returns an optional string attribute.
func text() *provider.Attribute { return &provider.Attribute{Type: cty.String, Optional: true} }

// thing returns a block with members of every form.
func thing() *provider.Block {
	return &block{
		Description: `A "thing": is a thing.`, DescriptionKind: provider.Markdown,
		Attributes: attrs{
			"id":   {Type: cty.String, Computed: true},
			"name": {Type: cty.String, Required: true, Description: "A name.\nTwo lines."},
			"old":  {Type: cty.String, Optional: true, Deprecated: true, Description: "Old."},
			"older": {Type: cty.String, Optional: true, Deprecated: true, Description: "Older.",
				DeprecationMessage: "Use name."},
			"secret": {Type: cty.String, Optional: true, Computed: true, Sensitive: true},
			"wo":     {Type: cty.String, Optional: true, WriteOnly: true, Description: "Wo."},
			"wo2": {Type: cty.String, Required: true, WriteOnly: true, Sensitive: true, Deprecated: true,
				Description: "Wo."},
			"tags": {Type: cty.Map(cty.String), Optional: true},
			"lm":   {Type: cty.List(cty.Map(cty.Number)), Optional: true},
			"dyn":  {Type: cty.DynamicPseudoType, Optional: true},
			"tup":  {Type: cty.Tuple([]cty.Type{cty.String, cty.Number}), Optional: true},
			"objs": {
				Type: cty.List(
					cty.Object(map[string]cty.Type{
						"a": cty.String, "b": cty.Object(map[string]cty.Type{"c": cty.Bool})})), Computed: true},
			"objo": {
				Type: cty.ObjectWithOptionalAttrs(map[string]cty.Type{
					"a": cty.String, "b": cty.Set(cty.Object(map[string]cty.Type{"c": cty.Bool}))}, []string{"a"}),
				Optional: true},
			"nested": {Optional: true, Description: "Nested.", Nested: &provider.NestedObject{
				Nesting: provider.NestingSingle, Attributes: attrs{
					"x": {Type: cty.String, Required: true, Description: "X."},
					"deep": {Optional: true, Description: "Deep.", Nested: &provider.NestedObject{
						Nesting: provider.NestingMap, Attributes: attrs{
							"y": {Type: cty.Number, Computed: true}}}},
				}}},
			"nlist": {Required: true, Nested: &provider.NestedObject{Nesting: provider.NestingList, Attributes: attrs{
				"x": {Type: cty.String, Required: true}}}},
			"nset": {Computed: true, Nested: &provider.NestedObject{Nesting: provider.NestingSet, Attributes: attrs{
				"x": {Type: cty.String, Computed: true}}}},
		},
		Blocks: map[string]*provider.NestedBlock{
			"rule": {Nesting: provider.NestingList, MinItems: 1, MaxItems: 3, Block: block{
				Description: "Rules.",
				Attributes: attrs{"port": {Type: cty.Number, Required: true, Description: "Port."}, "x": {
					Type: cty.Number, Optional: true}},
				Blocks: map[string]*provider.NestedBlock{
					"inner": {Nesting: provider.NestingSet, Block: block{
						Attributes: attrs{"z": {Type: cty.Bool, Optional: true}}}}},
			}},
			"timeouts": {Nesting: provider.NestingSingle, Block: block{Attributes: attrs{"create": text()}}},
			"grp":      {Nesting: provider.NestingGroup, Block: block{Attributes: attrs{"create": text()}}},
			"mp": {Nesting: provider.NestingMap, Block: block{Description: "Old map.", Deprecated: true,
				Attributes: attrs{"create": text()}}},
			"robl": {Nesting: provider.NestingList, Block: block{
				Attributes: attrs{"create": {Type: cty.String, Computed: true}}}},
			"one": {Nesting: provider.NestingList, MaxItems: 1, Block: block{Attributes: attrs{"create": text()}}},
		},
	}
}

func demo() *provider.Schema {
	return &provider.Schema{
		Provider: &block{Description: "Talk to demo.", Attributes: attrs{
			"url":   {Type: cty.String, Required: true, Description: "Where it is."},
			"token": {Type: cty.String, Optional: true, Sensitive: true},
		}},
		Resources: map[string]*provider.ResourceType{
			"demo_thing": {Block: thing(), Identity: &provider.IdentitySchema{
				Attributes: map[string]*provider.IdentityAttribute{
					"id":     {Type: cty.String, RequiredForImport: true, Description: "The id."},
					"region": {Type: cty.String, OptionalForImport: true},
				}}},
			"demo":       {Block: &block{Attributes: attrs{"id": {Type: cty.String, Computed: true}}}},
			"demo_empty": {Block: &block{Deprecated: true}},
		},
		Data: map[string]*provider.ResourceType{
			"demo_thing": {Block: &block{Description: "First *line*.\n\nSecond para.", Attributes: attrs{
				"id": {Type: cty.String, Required: true}}}}},
		Ephemeral: map[string]*provider.ResourceType{
			"demo_token": {
				Block: &block{Description: "Token.", Attributes: attrs{
					"v": {Type: cty.String, Computed: true, Sensitive: true}}}}},
		Functions: map[string]*provider.Function{
			"add": {Summary: "Adds.", Description: "Add numbers.", Return: cty.Number, Params: []provider.FunctionParam{
				{Name: "a", Type: cty.Number, Description: "First."}, {Name: "b", Type: cty.List(cty.Map(cty.String)),
					AllowNull: true},
			}, VarParam: &provider.FunctionParam{Name: "more", Type: cty.Number, Description: "More."}},
			"now": {Summary: "Now.", Return: cty.Object(map[string]cty.Type{"a": cty.String}), Deprecated: "Use then."},
		},
	}
}

var examples = fstest.MapFS{
	"examples/provider/provider.tf": {
		Data: []byte("provider \"demo\" {\n  url = \"x\"\n}\n")},
	"examples/resources/demo_thing/resource.tf": {
		Data: []byte("resource \"demo_thing\" \"x\" {\n  note = \"```\"\n}\n\n")},
	"examples/resources/demo_thing/import.sh": {
		Data: []byte("# by id\r\nterraform import demo_thing.x 1\r\n")},
	"examples/resources/demo_thing/import-by-string-id.tf": {
		Data: []byte("import {\n  to = demo_thing.x\n  id = \"1\"\n}\n")},
	"examples/resources/demo_thing/import-by-identity.tf": {
		Data: []byte("import {\n  to = demo_thing.x\n  identity = {\n    id = \"1\"\n  }\n}\n")},
	"examples/data-sources/demo_thing/data-source.tf": {Data: []byte("data \"demo_thing\" \"x\" {}\n")},
	"examples/ephemeral-resources/demo_token/ephemeral-resource.tf": {
		Data: []byte("ephemeral \"demo_token\" \"x\" {}\n")},
	"examples/functions/add/function.tf": {
		Data: []byte("output \"x\" {\n  value = provider::demo::add(1, [])\n}\n")},
}

func pages(t *testing.T, s *provider.Schema, o Options) map[string]string {
	t.Helper()
	list, err := Pages(s, o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range list {
		out[p.Path] = string(p.Text)
	}
	return out
}

func TestPagesAreAsRecorded(t *testing.T) {
	got := pages(t, demo(), Options{Name: "demo", Source: examples})
	for name, text := range got {
		golden := filepath.Join("testdata", "pages", filepath.FromSlash(name))
		if *update {
			if err := os.MkdirAll(filepath.Dir(golden), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(golden, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), text); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, diff)
		}
	}
	if len(got) != 8 {
		t.Errorf("there are %d pages, want 8", len(got))
	}
}

// testdata/layout.txt holds headings, items and anchors of the pages that terraform-plugin-docs 0.25 generates from the
// same schema, without features that it does not support: groups of blocks and tuples.
func TestLayoutEqualsTerraformPluginDocs(t *testing.T) {
	raw, err := os.ReadFile("testdata/layout.txt")
	if err != nil {
		t.Fatal(err)
	}
	const withID = "- `id` (String) The ID of this resource."
	deliberate := map[string]string{ // intentional differences
		"resources/thing.md: Two lines.":       "further lines of a description belong to their item",
		"resources/thing.md: " + withID:        "there are objects that are no resources",
		"resources/demo.md: " + withID:         "the same",
		"data-sources/thing.md: " + withID:     "a required id is no result",
		"data-sources/thing.md: ### Read-Only": "the same",
		"functions/now.md: ## Arguments":       "there are none",
		"resources/thing.md: - `a` (String)":   "in an object that is given, only what its type makes optional is",
		"resources/thing.md: - `b` (Set of Object) (see [below for nested schema](#nestedobjatt--objo--b))": "the same",
	}
	got := pages(t, demo(), Options{Name: "demo", Source: examples})
	var page string
	lines := map[string]bool{}
	n := 0
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "=== "); ok {
			page = name
			clear(lines)
			for l := range strings.Lines(got[page]) {
				lines[strings.TrimRight(l, " \n")] = true
			}
			continue
		}
		n++
		if _, ok := deliberate[page+": "+line]; !ok && !lines[strings.TrimRight(line, " ")] {
			t.Errorf("%s has no line %q", page, line)
		}
	}
	if n < 80 {
		t.Errorf("only %d lines were compared", n)
	}
}

func TestEveryLinkToASectionHasItsAnchor(t *testing.T) {
	text := pages(t, demo(), Options{Name: "demo"})["resources/thing.md"]
	links := regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(text, -1)
	if len(links) < 15 {
		t.Errorf("there are only %d links", len(links))
	}
	for _, l := range links {
		if n := strings.Count(text, `<a id="`+l[1]+`"></a>`); n != 1 {
			t.Errorf("%d anchors %q, want 1", n, l[1])
		}
	}
}

func TestTemplatesReplaceGeneratedPages(t *testing.T) {
	got := pages(t, demo(), Options{Name: "demo", Source: fstest.MapFS{
		"templates/index.md.tmpl": {
			Data: []byte(
				"---\npage_title: \"{{ .ProviderShortName }}\"\n---\nOurs.\n\n{{ .SchemaMarkdown | trimspace }}\n")},
		"templates/resources.md.tmpl": {Data: []byte("# {{ .Type }} {{ .Name }}\n")},
		"templates/resources/thing.md.tmpl": {
			Data: []byte("# special {{ .Name }} {{ .HasImport }}\n{{ tffile .ExampleFile }}\n")},
		"templates/functions/now.md":                {Data: []byte("# by hand, {{ not a template }}\n")},
		"templates/guides/first.md.tmpl":            {Data: []byte("# Guide to {{ .ProviderShortName }}\n")},
		"templates/guides/second.md":                {Data: []byte("# Second\n")},
		"examples/resources/demo_thing/resource.tf": {Data: []byte("x = 1\n")},
	}})
	for name, want := range map[string]string{
		"index.md": "---\n" + marker + "\npage_title: \"demo\"\n---\nOurs.\n\n<!-- schema: generated -->\n" +
			"## Schema\n\n### Required\n\n- `url` (String) Where it is.\n\n### Optional\n\n- `token` (String, " +
			"Sensitive)\n",
		"resources/empty.md": "<!-- generated by tombolo provider docs -->\n# Resource demo_empty\n",
		"resources/thing.md": "<!-- generated by tombolo provider docs -->\n# special demo_thing false\n" +
			"```terraform\nx = 1\n```\n",
		"functions/now.md": "<!-- generated by tombolo provider docs -->\n# by hand, {{ not a template }}\n",
		"guides/first.md":  "<!-- generated by tombolo provider docs -->\n# Guide to demo\n",
		"guides/second.md": "<!-- generated by tombolo provider docs -->\n# Second\n",
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, diff)
		}
	}
}

func TestMistakesAreReported(t *testing.T) {
	with := func(name, text string) Options {
		return Options{Name: "demo", Source: fstest.MapFS{name: {Data: []byte(text)}}}
	}
	escaping := &provider.Schema{Resources: map[string]*provider.ResourceType{"../../etc/passwd": {Block: &block{}}}}
	twice := &provider.Schema{Resources: map[string]*provider.ResourceType{"demo_x": {Block: &block{}}, "x": {
		Block: &block{}}}}
	for name, c := range map[string]struct {
		schema  *provider.Schema
		options Options
		want    string
	}{
		"template that is none": {demo(), with("templates/index.md.tmpl", "{{ .Name "), "templates/index.md.tmpl"},
		"field that is none":    {demo(), with("templates/index.md.tmpl", "{{ .Nmae }}"), "Nmae"},
		"file that is not there": {demo(), with("templates/index.md.tmpl", `{{ tffile "examples/none.tf" }}`),
			"examples/none.tf"},
		"template of what is gone": {demo(), with("templates/resources/gone.md.tmpl", "x"),
			"templates/resources/gone.md.tmpl"},
		"file above the source": {demo(), with("templates/index.md.tmpl", `{{ tffile "../secret" }}`),
			"../secret"},
		"name that is a path":        {escaping, Options{Name: "demo"}, "../../etc/passwd"},
		"provider without a name":    {demo(), Options{}, "not the name"},
		"one page for two resources": {twice, Options{Name: "demo"}, "resources/x.md"},
	} {
		_, err := Pages(c.schema, c.options)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want one that names %q", name, err, c.want)
		}
	}
}

func TestHandWrittenPagesAreKept(t *testing.T) {
	list, err := Pages(demo(), Options{Name: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	dir := fstest.MapFS{
		"index.md": {Data: []byte("# ours\n")},
		"resources/thing.md": {
			Data: []byte("---\n# generated by https://github.com/hashicorp/terraform-plugin-docs\n---\nold\n")},
		"resources/gone.md": {Data: []byte("---\r\n" + marker + "\r\n---\r\nold\r\n")},
		"resources/hand.md": {Data: []byte("# by hand\n")},
		"guides/guide.md":   {Data: []byte(marker + "\n")},
	}
	for _, p := range list {
		if p.Path == "resources/demo.md" {
			dir[p.Path] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(string(p.Text), "\n", "\r\n"))}
		}
	}
	paths := func(list []Page) (out []string) {
		for _, p := range list {
			out = append(out, p.Path)
		}
		return out
	}
	for _, overwrite := range []bool{false, true} {
		d, err := Compare(dir, list, overwrite)
		if err != nil {
			t.Fatal(err)
		}
		want := [][]string{
			{"data-sources/thing.md", "ephemeral-resources/token.md", "functions/add.md", "functions/now.md",
				"resources/empty.md"},
			{"resources/thing.md"}, {"resources/gone.md"}, {"index.md"},
		}
		if overwrite {
			want[1], want[3] = []string{"index.md", "resources/thing.md"}, nil
		}
		if diff := cmp.Diff(want, [][]string{paths(d.Add), paths(d.Change), d.Remove, d.Kept}); diff != "" {
			t.Errorf("overwrite %t: (-want +got):\n%s", overwrite, diff)
		}
	}
}
