//go:build unix

package kits_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/kits"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/providertest"
)

// language is a language with a kit.
type language struct {
	name    string
	tools   []string // that programs need; the first one runs them
	kit     []byte   // nil if programs import it from elsewhere
	kitName string
	program string
	amount  string // a number that the language can store
}

var languages = []language{
	{"python", []string{"python3"}, kits.Python, kits.PythonName, "provider.py", "12345678901234567890123.5"},
	{"node", []string{"node"}, kits.Node, kits.NodeName, "provider.js", "1.5"},
	{"ruby", []string{"ruby"}, kits.Ruby, kits.RubyName, "provider.rb", "12345678901234567890123.5"},
	{"bash", []string{"bash", "jq"}, kits.Bash, kits.BashName, "provider.sh", "1.5"},
	{"go", []string{"go"}, nil, "", "provider.go", "12345678901234567890123.5"},
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder creates the folder of a provider that uses the kit.
func (l language) folder(t *testing.T, mode string) (dir string) {
	t.Helper()
	text, err := os.ReadFile("testdata/tombolo-provider.json")
	must(t, err)
	source, err := os.ReadFile(filepath.Join("testdata", l.program))
	must(t, err)
	return l.folderOf(t, source, string(text), mode)
}

// folderOf creates the folder of a provider with a program and a manifest, in which COMMAND and MODE are replaced.
func (l language) folderOf(t *testing.T, source []byte, text, mode string) (dir string) {
	t.Helper()
	for _, tool := range l.tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s for the kit", tool)
		}
	}
	dir = t.TempDir()
	command := fmt.Sprintf(`[%q, "./%s"]`, l.tools[0], l.program)
	if l.kit == nil {
		command = fmt.Sprintf(`["./%s"]`, l.built(t, source, dir))
	}
	text = strings.NewReplacer("COMMAND", command, "MODE", mode).Replace(text)
	for name, content := range map[string][]byte{manifest.FileName: []byte(text), l.program: source, l.kitName: l.kit} {
		if name != "" {
			must(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
		}
	}
	return dir
}

// built compiles a program in Go into a folder, and returns its name. The kit that it imports is that of this module.
func (l language) built(t *testing.T, source []byte, dir string) string {
	t.Helper()
	const name = "provider"
	file := filepath.Join(t.TempDir(), l.program)
	must(t, os.WriteFile(file, source, 0o600))
	out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

func (l language) factory(t *testing.T, mode string) provider.Factory {
	t.Helper()
	m, diags := manifest.Load(l.folder(t, mode))
	must(t, diags.Err())
	cache := t.TempDir()
	return func(context.Context) (provider.Provider, error) {
		return handler.New(m, handler.NewCaller(m, handler.Surroundings{Cache: cache}), handler.Options{}), nil
	}
}

// suite runs package providertest.
func suite(t *testing.T, l language, mode string) {
	root := t.TempDir()
	id := func(v cty.Value) string { return v.GetAttr("id").AsString() }
	providertest.Run(t, providertest.Options{
		New: l.factory(t, mode), Config: providertest.Attrs{"root": cty.StringVal(root)}, Goroutines: 3,
		Patience: time.Minute,
		InvalidConfigs: []providertest.Invalid{
			{Name: "empty root", Change: providertest.Attrs{"root": cty.StringVal("")}, Path: cty.GetAttrPath("root")}},
		Resources: []providertest.Resource{{
			Type: "kit_item",
			Config: func(n int) providertest.Attrs {
				return providertest.Attrs{"name": cty.StringVal(fmt.Sprint("größe ", n)),
					"amount": cty.MustParseNumberVal(l.amount)}
			},
			Updates: []providertest.Update{
				{Name: "name", Change: providertest.Attrs{"name": cty.StringVal("other")}},
				{Name: "kind", Change: providertest.Attrs{"kind": cty.StringVal("x")}, Replaces: true},
				{Name: "tags", Change: providertest.Attrs{
					"tags": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("\u2028")})}},
			},
			Invalid: []providertest.Invalid{{Name: "name", Change: providertest.Attrs{"name": cty.StringVal("bad")},
				Path: cty.GetAttrPath("name")}},
			Import: &providertest.Import{ID: id, Missing: "missing"},
			Remove: func(v cty.Value) error { return os.Remove(filepath.Join(root, id(v)+".json")) },
			Slow:   providertest.Attrs{"slow": cty.NumberIntVal(120)},
		}},
		Data: []providertest.Data{
			{Type: "kit_count", Config: providertest.Attrs{"folder": cty.StringVal(t.TempDir())},
				Want: providertest.Attrs{"files": cty.Zero}}},
		Ephemeral: []providertest.Ephemeral{{Type: "kit_token", Config: providertest.Attrs{"scope": cty.StringVal("x")},
			Want: providertest.Attrs{"token": cty.StringVal("t-x")}}},
		Lists: []providertest.List{{Type: "kit_item", Config: providertest.Attrs{"prefix": cty.StringVal("gr")}}},
		Actions: []providertest.Action{{Type: "kit_append", Config: providertest.Attrs{"text": cty.StringVal("é\n")},
			Invalid: []providertest.Invalid{{Name: "text", Change: providertest.Attrs{"text": cty.StringVal("")},
				Path: cty.GetAttrPath("text")}},
			Invoked: func() error {
				text, err := os.ReadFile(filepath.Join(root, "log"))
				if err == nil && string(text) != "é\né\n" {
					err = fmt.Errorf("it appended %q", text)
				}
				return err
			}}},
		Functions: []providertest.Function{
			{Name: "upper", Args: []cty.Value{cty.StringVal("é")}, Want: cty.StringVal("É")},
			{Name: "upper", Args: []cty.Value{cty.StringVal("")}}},
	})
}

func TestProvidersWithKitsPassTheSuite(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) { suite(t, l, "session") })
	}
}

// The result of a failed call and its warnings are passed on in both modes.
func TestFailedCallsReturnTheObject(t *testing.T) {
	for _, l := range languages {
		for _, mode := range []string{"one-shot", "session"} {
			t.Run(l.name+" "+mode, func(t *testing.T) {
				ctx := context.Background()
				p, err := l.factory(t, mode)(ctx)
				must(t, err)
				defer p.Close()
				schema, diags := p.Schema(ctx)
				must(t, diags.Err())
				must(t, p.Configure(ctx, provider.ConfigureRequest{
					Config: cty.ObjectVal(map[string]cty.Value{"root": cty.StringVal(t.TempDir())})}).Diagnostics.Err())
				block := schema.Type(provider.ManagedResource, "kit_item").Block
				attrs := block.EmptyValue().AsValueMap()
				attrs["name"] = cty.StringVal("half")
				config := cty.ObjectVal(attrs)
				null := cty.NullVal(block.ImpliedType())
				attrs["id"], attrs["shout"] = cty.UnknownVal(cty.String), cty.UnknownVal(cty.String)
				proposed := cty.ObjectVal(attrs)
				plan := p.Plan(ctx, provider.PlanRequest{Type: "kit_item", Prior: null, Proposed: proposed,
					Config: config})
				must(t, plan.Diagnostics.Err())
				resp := p.Apply(ctx, provider.ApplyRequest{Type: "kit_item", Prior: null, Planned: plan.Planned,
					Config: config})
				if !resp.Diagnostics.HasErrors() || len(resp.Diagnostics) != 2 || resp.State == cty.NilVal ||
					resp.State.IsNull() || resp.State.GetAttr("id").IsNull() {
					t.Fatalf("got state %#v and %v", resp.State, resp.Diagnostics)
				}
				for _, want := range []string{"Only half", "the other half is missing"} {
					if got := resp.Diagnostics.Err().Error(); !strings.Contains(got, want) {
						t.Errorf("got %s, want %q in it", got, want)
					}
				}
			})
		}
	}
}
