package engine_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
)

// dependencyWeb is a configuration of resources and calls of one module, which itself calls another, and the objects
// that each object needs.
type dependencyWeb struct {
	text    strings.Builder
	calls   []string
	objects []string
	needs   map[string]map[string]bool
}

const (
	outerModule = `variable "i" {}
resource "terraform_data" "r" { input = var.i }
module "deep" {
  source = "../inner"
  i      = terraform_data.r.output
}
output "o" { value = module.deep.o }
`
	innerModule = `variable "i" {}
resource "terraform_data" "s" { input = var.i }
output "o" { value = terraform_data.s.output }
`
)

func (w *dependencyWeb) add(object string, directly []string) {
	w.objects = append(w.objects, object)
	w.needs[object] = map[string]bool{}
	for _, d := range directly {
		w.needs[object][d] = true
		for n := range w.needs[d] {
			w.needs[object][n] = true
		}
	}
}

func randomWeb(r *rand.Rand, blocks int) *dependencyWeb {
	w := &dependencyWeb{needs: map[string]map[string]bool{}}
	type block struct{ reference, object string }
	var earlier []block
	for i := range blocks {
		refs, objects := []string{"1"}, []string(nil)
		for _, b := range earlier {
			if r.IntN(3) == 0 {
				refs, objects = append(refs, b.reference), append(objects, b.object)
			}
		}
		if name := fmt.Sprintf("b%d", i); r.IntN(2) == 0 {
			fmt.Fprintf(&w.text, "resource \"terraform_data\" %q { input = [%s] }\n", name, strings.Join(refs, ", "))
			w.add("terraform_data."+name, objects)
			earlier = append(earlier, block{"terraform_data." + name + ".output", "terraform_data." + name})
		} else {
			fmt.Fprintf(&w.text, "module %q {\n  source = \"./outer\"\n  i = [%s]\n}\n", name, strings.Join(refs, ", "))
			w.calls = append(w.calls, name)
			r, s := "module."+name+".terraform_data.r", "module."+name+".module.deep.terraform_data.s"
			w.add(r, objects)
			w.add(s, []string{r})
			earlier = append(earlier, block{"module." + name + ".o", s})
		}
	}
	return w
}

// install writes the modules and their manifest.
func (w *dependencyWeb) install(t *testing.T, dir string) {
	t.Helper()
	type entry struct{ Key, Source, Dir string }
	list := []entry{{"", "", "."}}
	for _, name := range w.calls {
		list = append(list, entry{name, "./outer", "outer"}, entry{name + ".deep", "../inner", "inner"})
	}
	manifest, err := json.Marshal(map[string]any{"Modules": list})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"outer/main.tf": outerModule, "inner/main.tf": innerModule,
		".terraform/modules/modules.json": string(manifest)} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// A destroy with -exclude destroys everything but the excluded object and what it needs, also through modules, whether
// the configuration still has the blocks or not.
func TestDestroyKeepsWhatExclusionsNeed(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 1))
	for range 12 {
		s := newScene(t)
		w := randomWeb(r, 3+r.IntN(5))
		w.install(t, s.dir)
		s.apply(w.text.String())
		for _, kept := range w.objects {
			target, diags := addr.ParseTarget(kept)
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			var want []string
			for _, o := range w.objects {
				if o != kept && !w.needs[kept][o] {
					want = append(want, o)
				}
			}
			for _, config := range []string{w.text.String(), ""} {
				p, _, diags := s.run(config, true,
					engine.PlanOptions{Mode: plan.Destroy, Except: []addr.Target{target}})
				if diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				var got []string
				for _, c := range p.Changes {
					if c.Action == plan.Delete {
						got = append(got, c.Object.String())
					}
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("-destroy -exclude=%s, with %d bytes of configuration:\ngot\n  %s\nwant\n  %s\nin\n%s",
						kept, len(config), strings.Join(got, "\n  "), strings.Join(want, "\n  "), w.text.String())
				}
			}
		}
	}
}
