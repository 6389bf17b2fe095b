package planning_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/internal/planning"
	"github.com/tombolo-iac/tombolo/plan"
)

// A tree is a random tree of modules, each in its own folder.
type tree struct {
	r        *rand.Rand
	files    map[string]string
	calls    int
	manifest []string
}

const emptyManifest = `{"Key":"","Source":"","Dir":"."}`

func (g *tree) installed() string {
	return "{\"Modules\":[" + strings.Join(append(g.manifest, emptyManifest), ",") + "]}"
}

// grow writes a module and those that it calls, and returns the addresses of all its resources relative to it.
func (g *tree) grow(folder, key string, depth int) (resources []string) {
	var src strings.Builder
	src.WriteString("output \"o\" {\n value = 1\n}\n")
	last := ""
	for i := range g.r.IntN(3) {
		input := "1"
		if last != "" && g.r.IntN(2) == 0 {
			input = last + ".id"
		}
		last = fmt.Sprintf("terraform_data.r%d", i)
		fmt.Fprintf(&src, "resource \"terraform_data\" \"r%d\" {\n input = %s\n}\n", i, input)
		resources = append(resources, last)
	}
	for range g.r.IntN(3) * min(depth, 1) {
		call, body, inner := g.call("../", key+".", depth-1)
		src.WriteString(body)
		for _, r := range inner {
			resources = append(resources, "module."+call+"."+r)
		}
	}
	g.files[folder+"/main.tf"] = src.String()
	return resources
}

// call returns a call of a new module.
func (g *tree) call(up, key string, depth int) (name, body string, resources []string) {
	g.calls++
	name = fmt.Sprintf("m%d", g.calls)
	g.manifest = append(g.manifest, fmt.Sprintf(`{"Key":%q,"Source":%q,"Dir":%q}`, key+name, up+name, name))
	resources = g.grow(name, key+name, depth)
	repetition := []string{"", " count = 2\n", " for_each = toset([\"a\", \"b\"])\n"}[g.r.IntN(3)]
	return name, fmt.Sprintf("module %q {\n source = %q\n%s}\n", name, up+name, repetition), resources
}

// A reference to a whole module depends on every resource below it, even on those that no output value uses: otherwise
// they could be destroyed before or together with the dependent.
func TestWholeModuleReferencesDependOnAllResources(t *testing.T) {
	for seed := range uint64(80) {
		g := &tree{r: rand.New(rand.NewPCG(seed, 1)), files: map[string]string{}}
		name, body, want := g.call("./", "", 3)
		whole := "module." + name
		uses := []string{"[" + whole + "]", "try({ for k, v in " + whole + " : k => v }, 1)"}
		switch {
		case strings.Contains(body, "for_each"):
			uses = append(uses, "values("+whole+")[*].o", "length("+whole+")", "keys("+whole+")")
		case strings.Contains(body, "count"):
			uses = append(uses, whole+"[*].o", "length("+whole+")", "[for m in "+whole+" : m.o]")
		}
		var src strings.Builder
		src.WriteString(body + "locals {\n l = " + uses[0] + "\n}\n")
		for i, use := range append(uses, "local.l") {
			fmt.Fprintf(&src, "resource \"terraform_data\" \"user%d\" {\n input = %s\n}\n", i, use)
		}
		fmt.Fprintf(&src, "resource \"terraform_data\" \"after\" {\n depends_on = [%s]\n}\n", whole)
		g.files["main.tf"] = src.String()
		g.files[".terraform/modules/modules.json"] = g.installed()
		b := &bench{t: t}
		p, diags := b.plan(g.files)
		if diags.HasErrors() {
			t.Fatalf("seed %d: %v\n%v", seed, diags.Err(), g.files)
		}
		for i := range want {
			want[i] = "module." + name + "." + want[i]
		}
		slices.Sort(want)
		users := 0
		for _, c := range p.Changes {
			if !c.Object.Instance.Module.IsRoot() {
				continue
			}
			users++
			var got []string
			for _, d := range c.Dependencies {
				got = append(got, d.String())
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("seed %d: %s depends on %v, want %v\n%s", seed, c.Object, got, want, src.String())
			}
		}
		if users != len(uses)+2 {
			t.Fatalf("seed %d: %d users of the module, want %d", seed, users, len(uses)+2)
		}
	}
}

// In a refresh-only plan, a list or map of instances contains exactly the existing ones, in the configuration or not.
func TestRefreshOnlyHasExistingInstances(t *testing.T) {
	all := []string{"a", "b", "c", "d"}
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 2))
		some := func() (keys []string) {
			for _, key := range all {
				if r.IntN(2) == 0 {
					keys = append(keys, key)
				}
			}
			return keys
		}
		b := &bench{t: t, opts: planning.Options{Mode: plan.RefreshOnly}}
		want := map[string][]string{}
		modules := some()
		for _, module := range modules {
			want[module] = some()
			for _, key := range want[module] {
				b.with(fmt.Sprintf("module.m[%q].terraform_data.x[%q]", module, key), "v")
			}
		}
		inRoot := some()
		for _, key := range inRoot {
			b.with(fmt.Sprintf("terraform_data.x[%q]", key), "v")
		}
		resource := fmt.Sprintf("resource \"terraform_data\" \"x\" {\n for_each = toset(%s)\n input = each.key\n}\n",
			list(some()))
		outputs := map[string]string{
			"keys": "join(\",\", keys(terraform_data.x))", "count": "length(terraform_data.x)",
			"values":  "join(\",\", values(terraform_data.x)[*].id)",
			"modules": "join(\";\", [for k, m in module.m : \"${k}=${m.keys}\"])",
		}
		src := resource + fmt.Sprintf("module \"m\" {\n source = \"./m\"\n for_each = toset(%s)\n}\n", list(modules))
		for name, value := range outputs {
			src += fmt.Sprintf("output %q {\n value = %s\n}\n", name, value)
		}
		installed := (&tree{manifest: []string{`{"Key":"m","Source":"./m","Dir":"m"}`}}).installed()
		p, diags := b.plan(map[string]string{
			".terraform/modules/modules.json": installed,
			"main.tf":                         src,
			"m/main.tf": resource +
				"output \"keys\" {\n value = join(\",\", keys(terraform_data.x))\n}\n"})
		if diags.HasErrors() {
			t.Fatalf("seed %d: %v\n%s", seed, diags.Err(), src)
		}
		var ids, parts []string
		for _, key := range inRoot {
			ids = append(ids, fmt.Sprintf("id-terraform_data.x[%q]", key))
		}
		for _, module := range modules {
			parts = append(parts, module+"="+strings.Join(want[module], ","))
		}
		expected := map[string]string{
			"keys": strings.Join(inRoot, ","), "count": fmt.Sprint(len(inRoot)), "values": strings.Join(ids, ","),
			"modules": strings.Join(parts, ";"),
		}
		for _, o := range p.Outputs {
			if got := text(o.After); got != expected[o.Name] {
				t.Errorf("seed %d: output %s is %q, want %q\n%s", seed, o.Name, got, expected[o.Name], src)
			}
		}
	}
}

// list formats strings as a list, which may be empty.
func list(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = fmt.Sprintf("%q", text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func text(v cty.Value) string {
	s, err := convert.Convert(v, cty.String)
	if err != nil || s.IsNull() || !s.IsKnown() {
		return fmt.Sprintf("%#v", v)
	}
	return s.AsString()
}
