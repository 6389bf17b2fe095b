package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
)

const patternConfig = `
resource "terraform_data" "base" {}
resource "terraform_data" "web" {
  count = 3
  input = terraform_data.base.id
}
resource "terraform_data" "webs" {
  for_each = toset(["eu-1", "eu-2", "us-1"])
}
module "net" {
  source   = "./m"
  for_each = toset(["eu", "us"])
  in       = terraform_data.web[0].id
}
module "app" {
  source = "./m"
  count  = 2
  in     = module.net["eu"].out
}
output "all" { value = module.app[*].out }
`

const patternModule = `
variable "in" {}
resource "terraform_data" "inner" {
  for_each = toset(["eu-1", "x"])
  input    = var.in
}
module "deep" {
  source = "../d"
  in     = terraform_data.inner["x"].id
}
output "out" { value = module.deep.out }
`

const patternDeep = `
variable "in" {}
resource "terraform_data" "web" { input = var.in }
output "out" { value = terraform_data.web.id }
`

// patternScene returns a scene with the modules.
func patternScene(t *testing.T) *scene {
	s := newScene(t)
	s.file("m/main.tf", patternModule)
	s.file("d/main.tf", patternDeep)
	s.file(".terraform/modules/modules.json", `{"Modules":[{"Key":"","Source":"","Dir":"."},
		{"Key":"net","Source":"./m","Dir":"m"},{"Key":"net.deep","Source":"../d","Dir":"d"},
		{"Key":"app","Source":"./m","Dir":"m"},{"Key":"app.deep","Source":"../d","Dir":"d"}]}`)
	return s
}

// A pattern selects the same instances as a list of all addresses that it matches: for -target and -exclude, before and
// after objects exist, for creations and deletions. A pattern without brackets also excludes the output values of
// blocks of which it matches all instances, which a list of instances does not.
func TestPatternsSelectLikeTheirMatches(t *testing.T) {
	s := patternScene(t)
	good := 0
	planned := func(o engine.PlanOptions, outputs bool) string {
		p, _, diags := s.run(patternConfig, true, o)
		if diags.HasErrors() { // a selected block may refer to an excluded one
			return diags.Err().Error()
		}
		good++
		if !outputs {
			p.Outputs = nil
		}
		return outline(p)
	}
	var everything []addr.AbsResourceInstance
	p, _, _ := s.run(patternConfig, true, engine.PlanOptions{})
	for _, c := range p.Changes {
		everything = append(everything, c.Object.Instance)
	}
	if len(everything) != 19 {
		t.Fatalf("%d objects", len(everything))
	}
	patterns := []string{
		"terraform_data.web*", "terraform_data.webs[eu-*]", "*.web[*]", "module.net[*]", "module.*[*].terraform_data.*",
		"module.net[e*].module.*", "**.terraform_data.web", "**.*.inner[eu-*]", "module.app[1*]", "**.module.deep",
		`module.n*["us"]`, "t*.base",
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, applied := range []bool{false, true} {
		if applied {
			s.apply(patternConfig)
		}
		for _, mode := range []plan.Mode{plan.Normal, plan.Destroy} {
			for range 12 {
				texts := []string{patterns[r.IntN(len(patterns))], patterns[r.IntN(len(patterns))]}
				var list, matched []addr.Target
				for _, text := range texts {
					target, diags := addr.ParseSelector(text)
					if diags.HasErrors() {
						t.Fatal(diags.Err())
					}
					list = append(list, target)
					p, _ := addr.ParsePattern(text)
					for _, a := range everything {
						if p.Matches(a) {
							matched = append(matched, addr.Target{Module: a.Module, Resource: a.Resource, Key: a.Key,
								HasKey: true})
						}
					}
				}
				for _, except := range []bool{false, true} {
					one, other := engine.PlanOptions{Mode: mode}, engine.PlanOptions{Mode: mode}
					if except {
						one.Except, other.Except = list, matched
					} else {
						one.Targets, other.Targets = list, matched
					}
					outputs := !except || strings.Contains(texts[0], "[") && strings.Contains(texts[1], "[")
					if got, want := planned(one, outputs), planned(other, outputs); got != want {
						t.Errorf("applied %v, mode %v, except %v, %q:\ngot\n%s\nwant\n%s", applied, mode, except, texts,
							got, want)
					}
				}
			}
		}
	}
	if good < 100 {
		t.Errorf("only %d plans", good)
	}
}

// outline lists the changes and omissions of a plan.
func outline(p *plan.Plan) string {
	var lines []string
	for _, c := range p.Changes {
		lines = append(lines, fmt.Sprint(c.Object.Instance, " ", c.Action))
	}
	for _, o := range p.Outputs {
		lines = append(lines, fmt.Sprint("output ", o.Name, " ", o.Action))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Dependents of an excluded module are not touched, even in included modules: they are not treated as objects without a
// block.
func TestExclusionsDestroyNothing(t *testing.T) {
	s := patternScene(t)
	s.apply(patternConfig)
	for _, text := range []string{`module.net["us"]`, "module.app[0]", `module.net["eu"].module.deep`, "module.net[*]",
		`module.net["us"].terraform_data.inner["x"]`, "terraform_data.web[0]", "module.app[1*]",
		"**.terraform_data.inner[x*]",
	} {
		target, diags := addr.ParseSelector(text)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		p, _, diags := s.run(patternConfig, true, engine.PlanOptions{Except: []addr.Target{target}})
		if diags.HasErrors() {
			t.Errorf("-exclude=%s: %v", text, diags.Err())
		}
		for _, c := range p.Changes {
			if c.Action != plan.NoOp {
				t.Errorf("-exclude=%s: %s of %s", text, c.Action, c.Object.Instance)
			}
		}
	}
}
