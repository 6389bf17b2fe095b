package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// misnamed returns valid responses, except for the identity in one of them.
type misnamed struct {
	provider.Base
	version int64 // version of the identity
	in      string
	wrong   cty.Value
}

var rightName = cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("a")})

func (m misnamed) name(call string) cty.Value {
	if m.in == call {
		return m.wrong
	}
	return rightName
}

func (m misnamed) Schema(context.Context) (*provider.Schema, diag.List) {
	return &provider.Schema{MoveResourceState: true, Resources: map[string]*provider.ResourceType{
		"misnamed_thing": {
			Block: &provider.Block{Attributes: map[string]*provider.Attribute{
				"name": {Type: cty.String, Required: true},
			}},
			Identity: &provider.IdentitySchema{Version: m.version, Attributes: map[string]*provider.IdentityAttribute{
				"id": {Type: cty.String, RequiredForImport: true},
			}},
		}}}, nil
}

func thingNamed(name string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name)})
}

func (m misnamed) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	s, _ := m.Schema(context.Background())
	return provider.DecodeStored(s.Resources[req.Type], req)
}

func (m misnamed) UpgradeIdentity(context.Context,
	provider.UpgradeIdentityRequest) provider.UpgradeIdentityResponse {
	return provider.UpgradeIdentityResponse{Identity: m.name("upgrade")}
}

func (m misnamed) MoveState(context.Context, provider.MoveStateRequest) provider.MoveStateResponse {
	return provider.MoveStateResponse{State: thingNamed("one"), Identity: m.name("move")}
}

func (m misnamed) Import(_ context.Context, req provider.ImportRequest) provider.ImportResponse {
	return provider.ImportResponse{Imported: []provider.ImportedObject{
		{Type: req.Type, State: thingNamed("one"), Identity: m.name("import")}}}
}

func (m misnamed) Read(_ context.Context, req provider.ReadRequest) provider.ReadResponse {
	return provider.ReadResponse{State: req.Prior, Identity: m.name("read")}
}

func (m misnamed) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	return provider.PlanResponse{Planned: req.Proposed, Identity: m.name("plan")}
}

func (m misnamed) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	return provider.ApplyResponse{State: req.Planned, Identity: m.name("apply")}
}

const (
	thingOne   = "resource \"misnamed_thing\" \"a\" {\n  name = \"one\"\n}\n"
	thingTwo   = "resource \"misnamed_thing\" \"a\" {\n  name = \"two\"\n}\n"
	thingBring = thingOne + "import {\n  to = misnamed_thing.a\n  id = \"a\"\n}\n"
	thingWas   = "resource \"terraform_data\" \"a\" {\n}\n"
	thingMoved = thingOne + "moved {\n  from = terraform_data.a\n  to   = misnamed_thing.a\n}\n"
)

// TestNoWrongIdentityIsStored has a provider return an invalid identity in one response: the command fails and names
// the provider and the object, existing objects stay in the state, and their identities there are valid.
func TestNoWrongIdentityIsStored(t *testing.T) {
	object := map[string]cty.Type{"id": cty.String}
	wrongs := map[string]cty.Value{
		"unknown":            cty.UnknownVal(cty.Object(object)),
		"unknown inside":     cty.ObjectVal(map[string]cty.Value{"id": cty.UnknownVal(cty.String)}),
		"a text":             cty.StringVal("a"),
		"another type":       cty.ObjectVal(map[string]cty.Value{"id": cty.NumberIntVal(1)}),
		"attribute missing":  cty.EmptyObjectVal,
		"attribute too many": cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("a"), "x": cty.StringVal("y")}),
	}
	for _, scene := range []struct {
		in            string
		before, after string
		exists        bool // the object, whatever the response
	}{
		{"plan", "", thingOne, false}, {"plan", thingOne, thingTwo, true},
		{"apply", "", thingOne, true}, {"apply", thingOne, thingTwo, true},
		{"read", thingOne, thingTwo, true}, {"import", "", thingBring, false}, {"read", "", thingBring, false},
		{"move", thingWas, thingMoved, false}, {"upgrade", thingOne, thingOne, true},
	} {
		for name, wrong := range wrongs {
			if scene.in == "plan" && strings.HasPrefix(name, "unknown") {
				continue // planned identities need not be known
			}
			t.Run(scene.in+" "+name, func(t *testing.T) {
				dir, p := t.TempDir(), &misnamed{}
				if scene.before != "" {
					if _, diags := applyNamed(t, dir, p, scene.before); diags.HasErrors() {
						t.Fatal(diags.Err())
					}
				}
				p.in, p.wrong = scene.in, wrong
				if scene.in == "upgrade" {
					p.version = 1
				}
				st, diags := applyNamed(t, dir, p, scene.after)
				if !diags.HasErrors() || !strings.Contains(diags.Err().Error(), "identity") ||
					!strings.Contains(diags.Err().Error(), "misnamed") {
					t.Errorf("the answer is judged %v", diags.Err())
				}
				a, _ := addr.ParseInstance("misnamed_thing.a")
				o := st.Object(addr.Object{Instance: a})
				if (o != nil) != scene.exists {
					t.Fatalf("the state holds %+v", o)
				}
				if o != nil && len(o.Identity) > 0 && string(o.Identity) != `{"id":"a"}` {
					t.Errorf("the state holds the identity %s", o.Identity)
				}
			})
		}
	}
}

// applyNamed plans and applies a configuration.
func applyNamed(t *testing.T, dir string, p *misnamed, config string) (*state.State, diag.List) {
	t.Helper()
	header := "terraform {\n  required_providers {\n    misnamed = {\n      source = \"tombolo/misnamed\"\n" +
		"    }\n  }\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(header+config), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := addr.ParseProvider("tombolo/misnamed")
	if err != nil {
		t.Fatal(err)
	}
	project, diags := engine.Load(t.Context(), engine.Options{Dir: dir,
		Providers: map[addr.Provider]provider.Factory{
			source: func(context.Context) (provider.Provider, error) { return p, nil }}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer project.Close()
	run, diags := project.Open(t.Context(), engine.OpenOptions{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	planned, diags := run.Plan(t.Context(), engine.PlanOptions{})
	if !diags.HasErrors() {
		var more diag.List
		_, more = run.Apply(t.Context(), planned, nil)
		diags = diags.Extend(more)
	}
	st := run.State()
	if more := run.Close(t.Context()); more.HasErrors() {
		t.Fatal(more.Err())
	}
	return st, diags
}
