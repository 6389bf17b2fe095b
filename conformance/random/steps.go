package random

import "fmt"

// A script is the list of steps of a case.
type script struct {
	g     *gen
	root  *module
	lines []string
}

func newScript(g *gen, root *module) *script { return &script{g: g, root: root} }

func (s *script) add(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// begin generates the first version.
func (s *script) begin() {
	s.add("init")
	s.look()
	if s.g.chance(40) {
		s.add("plan")
	}
	s.make()
	if s.g.chance(50) {
		s.add("plan -detailed-exitcode")
	}
}

// next selects another version; looks reports whether refresh-only plans may be among the steps.
func (s *script) next(number int, looks bool) {
	s.add("use @v%d", number)
	s.add("init")
	s.look()
	steps := []string{
		"plan", "plan", "plan -destroy", "plan -refresh=false", "plan -json", "plan -target=" + s.target(),
		"plan -replace=" + s.target(),
	}
	if looks {
		steps = append(steps, "plan -refresh-only", "apply -refresh-only")
	}
	for range 1 + s.g.r.IntN(2) {
		s.add("%s", pick(s.g, steps))
	}
	s.make()
	s.add("plan -detailed-exitcode")
}

// look adds a step that changes nothing.
func (s *script) look() {
	if s.g.chance(35) {
		s.add("validate -json")
	}
	if s.g.chance(10) {
		s.add("%s", pick(s.g, []string{"output", "show", "state list", "graph", "show -json"}))
	}
}

// make adds an apply.
func (s *script) make() {
	switch n := s.g.r.IntN(10); {
	case n < 6:
		s.add("apply")
	case n < 8:
		s.add("plan -out=saved.tfplan")
		s.add("apply saved.tfplan")
	case n < 9:
		s.add("apply -target=%s", s.target())
		s.add("apply")
	default:
		s.add("apply -replace=%s", s.target())
	}
}

// target returns an address in the configuration.
func (s *script) target() string {
	if len(s.root.blocks) == 0 {
		return "terraform_data.none"
	}
	b := pick(s.g, s.root.blocks)
	at := b.address()
	if s.g.chance(50) {
		at = b.instance(s.g)
	}
	if b.kind == "module" && s.g.chance(50) {
		if inner := b.child.resources(); len(inner) > 0 {
			at = b.instance(s.g) + "." + pick(s.g, inner).instance(s.g)
		}
	}
	return "'" + at + "'"
}

// end usually adds a destroy.
func (s *script) end() {
	switch s.g.r.IntN(5) {
	case 0:
		s.add("destroy")
	case 1:
		s.add("plan -destroy -out=saved.tfplan")
		s.add("apply saved.tfplan")
	case 2:
		s.add("destroy -target=%s", s.target())
	case 3:
		s.add("apply -destroy -refresh=false")
	}
}
