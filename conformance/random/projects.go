package random

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Projects returns the archive of a case that combines features of one program as its users do: each part of the
// project is an example of a feature, and uses the result of an earlier part, in two to four versions. The seed
// determines whether the program is Terraform 1.15, Terraform 1.16 or OpenTofu.
func Projects(seed uint64) []byte {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x70726f6a))}
	p := &project{g: g, oracle: projectOracles[seed%uint64(len(projectOracles))]}
	for range 3 + g.r.IntN(5) {
		p.add()
	}
	c := Case{Seed: seed, Steps: []string{"init"}}
	for v := range 2 + g.r.IntN(3) {
		if v > 0 {
			p.change()
			c.Steps = append(c.Steps, fmt.Sprintf("use @v%d", v+1), "init")
		}
		c.versions = append(c.versions, p.files(v+1))
		c.Steps = append(c.Steps, p.steps()...)
	}
	c.Steps = append(c.Steps, pick(g, []string{"destroy", "destroy", "plan -destroy"}))
	head := "tier: 2\noracle: " + p.oracle + "\n"
	if p.oracle != tofuOracle {
		head += "plugin: acts\n"
	}
	return []byte(strings.Replace(string(c.Archive()), "tier: 2\n", head, 1))
}

// IsProjects reports whether an archive is one of Projects.
func IsProjects(archive []byte) bool { return bytes.Contains(archive, []byte(`variable "stage"`)) }

const tofuOracle = "tofu-1.12.6"

var projectOracles = []string{"terraform-1.15.9", "terraform-1.16.0-rc2", tofuOracle}

// ProjectOracle returns the program of a seed.
func ProjectOracle(seed uint64) string { return projectOracles[seed%uint64(len(projectOracles))] }

// project is one version of such a project.
type project struct {
	g      *gen
	oracle string
	parts  []*piece
	gone   []*piece // earlier parts, now removed
}

// A piece is an example of a feature.
type piece struct {
	feature *feature
	name    string
	in      string // an expression of a text
	// changed by a change of the project
	n    int
	on   bool
	word string
	mode mode
	was  string // the name before the last change, if it has changed
}

// A feature is one way to write a part.
type feature struct {
	programs string // n: Terraform 1.15, x: Terraform 1.16, t: OpenTofu
	write    func(u *piece, w *writer)
	out      func(u *piece) string // an expression of a text; nil if other parts do not use it
	files    func(u *piece, files map[string]string)
	addr     func(u *piece) string // of an object, for options
}

func (f *feature) has(oracle string) bool {
	return strings.Contains(f.programs, map[string]string{projectOracles[0]: "n", projectOracles[1]: "x",
		tofuOracle: "t"}[oracle])
}

func (p *project) add() {
	var list []*feature
	for i := range features {
		if features[i].has(p.oracle) {
			list = append(list, &features[i])
		}
	}
	u := &piece{feature: pick(p.g, list), name: p.g.name("p"), in: "var.stage"}
	for _, other := range p.parts {
		if other.feature.out != nil && p.g.chance(40) {
			u.in = other.feature.out(other)
		}
	}
	p.alter(u)
	u.was = ""
	p.parts = append(p.parts, u)
}

func (p *project) alter(u *piece) {
	u.n, u.on, u.word = p.g.r.IntN(3), p.g.chance(60), pick(p.g, []string{"a", "b", "c", "d e", "$${x}"})
	u.mode = p.g.someMode()
}

// change generates the next version.
func (p *project) change() {
	for _, u := range p.parts {
		u.was = ""
		if p.g.chance(60) {
			p.alter(u)
		}
	}
	if len(p.parts) > 2 && p.g.chance(30) {
		last := p.parts[len(p.parts)-1]
		p.parts, p.gone = p.parts[:len(p.parts)-1], append(p.gone, last)
	}
	if p.g.chance(40) {
		p.add()
	}
	if u := p.parts[len(p.parts)-1]; p.g.chance(25) && u.feature.addr != nil { // nothing refers to the last one
		u.was, u.name = u.name, p.g.name("p")
	}
}

// files returns the files of a version.
func (p *project) files(version int) map[string]string {
	w := &writer{}
	fmt.Fprintf(&w.buf, "# version %d\n", version)
	if p.oracle != tofuOracle {
		w.block("terraform", func() {
			w.block("required_providers", func() { w.line(`acts = { source = "tombolo/acts" }`) })
		})
	}
	w.line(`variable "stage" { default = "dev" }`)
	w.block(`variable "secret"`, func() {
		w.line(`default = "hush"`)
		w.line("sensitive = true")
	})
	files := map[string]string{}
	for _, u := range p.parts {
		u.feature.write(u, w)
		if u.feature.files != nil {
			u.feature.files(u, files)
		}
		if u.was != "" {
			before := *u
			before.name = u.was
			w.block("moved", func() {
				w.line("from = %s", u.feature.addr(&before))
				w.line("to = %s", u.feature.addr(u))
			})
		}
		if u.feature.out != nil && u.n > 0 {
			w.block(fmt.Sprintf("output %q", u.name), func() {
				w.line("value = %s", u.feature.out(u))
				w.line("sensitive = true")
			})
		}
	}
	files["main.tf"] = w.buf.String()
	return files
}

// address returns the address of an object, or "".
func (p *project) address() string {
	var list []string
	for _, u := range p.parts {
		if u.feature.addr != nil {
			list = append(list, u.feature.addr(u))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return pick(p.g, list)
}

// steps returns the commands for a version.
func (p *project) steps() (list []string) {
	g := p.g
	if g.chance(30) {
		list = append(list, pick(g, []string{"validate -json", "validate"}))
	}
	if at := p.address(); at != "" && g.chance(40) {
		commands := []string{"plan -target=", "plan -replace=", "apply -target=", "apply -replace="}
		if p.oracle == tofuOracle {
			commands = append(commands, "plan -exclude=", "plan -exclude=")
		}
		list = append(list, pick(g, commands)+at)
	}
	if g.chance(50) {
		list = append(list, pick(g, []string{"plan", "plan -json", "plan -destroy", "plan -refresh-only",
			"plan -var=stage=prod", "plan -refresh=false"}))
	}
	list = append(list, pick(g, []string{"apply", "apply", "apply", "apply -json", "apply -var=stage=prod"}),
		"plan -detailed-exitcode")
	if p.has("tftest") && g.chance(70) {
		list = append(list, pick(g, []string{"test", "test -verbose", "test -json"}))
	}
	if p.has("tfquery") {
		list = append(list, pick(g, []string{"query", "query -json"}))
	}
	if g.chance(30) {
		list = append(list, pick(g, []string{"state list", "output -json", "show -json", "apply -refresh-only"}))
	}
	return list
}

// has reports whether a part has a file with this in its name.
func (p *project) has(kind string) bool {
	return slices.ContainsFunc(p.parts, func(u *piece) bool {
		files := map[string]string{}
		if u.feature.files != nil {
			u.feature.files(u, files)
		}
		return strings.Contains(strings.Join(sortedNames(files), " "), kind)
	})
}
