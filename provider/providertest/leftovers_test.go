package providertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// canary is a secret that must not be in any output of the suite.
const canary = "xK9-canary-\"42\""

// troubles are faults in responses about an object, each with a message that has a secret.
var troubles = map[string]func(*spoiled){
	"apply fails with an object": func(p *spoiled) {
		p.apply = func(_ context.Context, req provider.ApplyRequest,
			resp provider.ApplyResponse) provider.ApplyResponse {
			if !resp.State.IsNull() {
				resp.Diagnostics = diag.List{{Severity: diag.Error, Summary: "No DNS", Detail: "the token is " +
					canary}}
			}
			return resp
		}
	},
	"apply changes a secret": func(p *spoiled) {
		p.apply = func(_ context.Context, _ provider.ApplyRequest, resp provider.ApplyResponse) provider.ApplyResponse {
			if !resp.State.IsNull() {
				resp.State = with(resp.State, "tags", cty.SetVal([]cty.Value{cty.StringVal(canary + "2")}))
			}
			return resp
		}
	},
	"read changes a secret": func(p *spoiled) {
		p.read = func(resp provider.ReadResponse) provider.ReadResponse {
			if !resp.State.IsNull() {
				resp.State = with(resp.State, "tags", cty.SetVal([]cty.Value{cty.StringVal(canary + "3")}))
			}
			return resp
		}
	},
	"read fails": func(p *spoiled) {
		p.read = func(resp provider.ReadResponse) provider.ReadResponse {
			resp.Diagnostics = diag.List{{Severity: diag.Error, Summary: "No such token: " + canary}}
			return resp
		}
	},
	"read shows a secret elsewhere": func(p *spoiled) {
		p.read = func(resp provider.ReadResponse) provider.ReadResponse {
			if !resp.State.IsNull() {
				resp.State = with(resp.State, "name", cty.StringVal(canary))
			}
			return resp
		}
	},
}

func TestChecksShowNoSecretsAndLeaveNoObjects(t *testing.T) {
	for name, spoil := range troubles {
		t.Run(name, func(t *testing.T) {
			var last *toy
			spoiledAt := map[string]bool{}
			o := toyOptions(func(p *toy) provider.Provider {
				last = p
				s := &spoiled{toy: p}
				spoil(s)
				return s
			})
			was := o.Resources[0].Config
			o.Resources[0].Config = func(n int) Attrs {
				given := was(n)
				given["tags"] = cty.SetVal([]cty.Value{cty.StringVal(canary)})
				return given
			}
			for r := range Results(t.Context(), o) {
				spoiledAt[r.Name] = len(r.Problems) > 0
				for _, text := range append(r.Problems, r.Skipped) {
					if strings.Contains(text, "canary") {
						t.Errorf("%s says a secret: %s", r.Name, text)
					}
				}
				if n := len(last.world.all); n > 0 {
					t.Errorf("%s left %d objects behind: %s", r.Name, n, strings.Join(r.Problems, "\n"))
					clear(last.world.all)
				}
			}
			if !spoiledAt["resource toy_thing: create, read, plan again, destroy"] {
				t.Error("the mistake was not found")
			}
		})
	}
}

func TestUndeletableObjectsAreReported(t *testing.T) {
	o := toyOptions(func(p *toy) provider.Provider {
		return &spoiled{toy: p, apply: func(_ context.Context, req provider.ApplyRequest,
			resp provider.ApplyResponse) provider.ApplyResponse {
			if req.Planned.IsNull() {
				return provider.ApplyResponse{State: req.Prior, Diagnostics: diag.List{
					{Severity: diag.Error, Summary: "It is locked"}}}
			}
			return resp
		}}
	})
	text := strings.Join(failures(t, o, "resource toy_thing: create, read, plan again, destroy"), "\n")
	if !strings.Contains(text, `LEFT BEHIND: toy_thing with the id "`) || !strings.Contains(text, "It is locked") {
		t.Errorf("got %s", text)
	}
}

// The check that all others depend on runs first, so that the first failure is the cause.
func TestLifecycleIsCheckedFirst(t *testing.T) {
	names := Names(toyOptions(func(p *toy) provider.Provider { return p }))
	life := slices.Index(names, "resource toy_thing: create, read, plan again, destroy")
	for _, later := range []string{"calls return when their context has ended", "parallel calls",
		"resource toy_thing: validate"} {
		if at := slices.Index(names, later); life < 0 || at < life {
			t.Errorf("%q is %d, the life of an object %d", later, at, life)
		}
	}
	o := toyOptions(func(p *toy) provider.Provider { return p })
	o.Only = func(name string) bool { return strings.HasSuffix(name, "configure") }
	var ran []string
	for r := range Results(t.Context(), o) {
		ran = append(ran, r.Name)
	}
	if fmt.Sprint(ran) != "[configure]" {
		t.Errorf("selected %v", ran)
	}
}
