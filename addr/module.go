package addr

import (
	"slices"
	"strings"
)

// Module is a path of module calls in the configuration, without keys. The zero value is the root module.
type Module struct{ path string }

// RootModule is the module of the working directory.
var RootModule = Module{}

// ModuleOf returns a path from call names, outermost first.
func ModuleOf(calls ...string) Module {
	m := RootModule
	for _, c := range calls {
		m = m.Child(c)
	}
	return m
}

// IsRoot reports whether this is the root module.
func (m Module) IsRoot() bool { return m.path == "" }

// String returns `module.a.module.b`, or "" for the root.
func (m Module) String() string { return m.path }

// Child names a module called from this one.
func (m Module) Child(call string) Module {
	if m.path == "" {
		return Module{"module." + call}
	}
	return Module{m.path + ".module." + call}
}

// Calls returns the names of the calls, outermost first. A name contains no dot, so the path can be split.
func (m Module) Calls() []string {
	if m.path == "" {
		return nil
	}
	parts := strings.Split(m.path, ".")
	calls := make([]string, 0, len(parts)/2)
	for i := 1; i < len(parts); i += 2 {
		calls = append(calls, parts[i])
	}
	return calls
}

// Parent returns the calling module and the name of the call; ok is false for the root.
func (m Module) Parent() (parent Module, call string, ok bool) {
	if m.path == "" {
		return Module{}, "", false
	}
	dot := strings.LastIndexByte(m.path, '.')
	call = m.path[dot+1:]
	rest := m.path[:dot-len("module")]
	return Module{strings.TrimSuffix(rest, ".")}, call, true
}

// Compare orders parents before children, then by text.
func (m Module) Compare(o Module) int { return strings.Compare(m.path, o.path) }

// Contains reports whether o is m or within it.
func (m Module) Contains(o Module) bool {
	return m.path == "" || o.path == m.path || strings.HasPrefix(o.path, m.path+".")
}

// Step is one element of a module instance's path.
type Step struct {
	Call string
	Key  Key
}

// String returns `module.call[key]`.
func (s Step) String() string { return "module." + s.Call + s.Key.String() }

// ModuleInstance is a path of module calls with the key of each. The zero value is the root module's only instance.
type ModuleInstance struct{ path string }

// RootInstance is the only instance of the root module.
var RootInstance = ModuleInstance{}

// ModuleInstanceOf returns a path from steps, outermost first.
func ModuleInstanceOf(steps ...Step) ModuleInstance {
	m := RootInstance
	for _, s := range steps {
		m = m.Child(s.Call, s.Key)
	}
	return m
}

// IsRoot reports whether this is the root module's instance.
func (m ModuleInstance) IsRoot() bool { return m.path == "" }

// String returns `module.a["x"].module.b[0]`, or "" for the root.
func (m ModuleInstance) String() string { return m.path }

// Child names an instance of a module called from this one.
func (m ModuleInstance) Child(call string, key Key) ModuleInstance {
	step := "module." + call + key.String()
	if m.path == "" {
		return ModuleInstance{step}
	}
	return ModuleInstance{m.path + "." + step}
}

// Steps returns the elements of the path, outermost first.
func (m ModuleInstance) Steps() []Step {
	var steps []Step
	rest := m.path
	for rest != "" {
		var step string
		step, rest = splitStep(rest)
		steps = append(steps, parseStep(step))
	}
	return steps
}

// splitStep splits a canonical path after its first `module.call[key]`, which it returns as `call[key]`.
func splitStep(path string) (step, rest string) {
	path = strings.TrimPrefix(path, "module.")
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return path, ""
	}
	if path[end] == '[' {
		end += keyEnd(path[end:]) + 1
	}
	return path[:end], strings.TrimPrefix(path[end:], ".")
}

// parseStep parses `call` or `call[key]`.
func parseStep(step string) Step {
	call, key, ok := strings.Cut(step, "[")
	if !ok {
		return Step{Call: call}
	}
	return Step{Call: call, Key: parseCanonicalKey(strings.TrimSuffix(key, "]"))}
}

// keyEnd returns the index of the bracket that closes the one at index 0, skipping quoted text.
func keyEnd(s string) int {
	quoted := false
	for i := 1; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && s[i] == ']':
			return i
		}
	}
	panic("addr: module path is not canonical: " + s)
}

// Parent returns the calling instance and the last step; ok is false for the root.
func (m ModuleInstance) Parent() (parent ModuleInstance, last Step, ok bool) {
	steps := m.Steps()
	if len(steps) == 0 {
		return ModuleInstance{}, Step{}, false
	}
	return ModuleInstanceOf(steps[:len(steps)-1]...), steps[len(steps)-1], true
}

// Config returns the path without keys.
func (m ModuleInstance) Config() Module {
	c := RootModule
	for _, s := range m.Steps() {
		c = c.Child(s.Call)
	}
	return c
}

// Contains reports whether o is m or within it.
func (m ModuleInstance) Contains(o ModuleInstance) bool {
	return m.path == "" || o.path == m.path || strings.HasPrefix(o.path, m.path+".")
}

// Compare sorts shorter paths before longer ones, then step by step, as in the state file.
func (m ModuleInstance) Compare(o ModuleInstance) int {
	if m.path == o.path {
		return 0
	}
	first, a, b := 0, m.path, o.path
	for a != "" && b != "" {
		var s, t string
		s, a = splitStep(a)
		t, b = splitStep(b)
		if first == 0 && s != t {
			first = parseStep(s).compare(parseStep(t))
		}
	}
	switch {
	case a != "":
		return 1
	case b != "":
		return -1
	}
	return first
}

func (s Step) compare(o Step) int {
	if c := strings.Compare(s.Call, o.Call); c != 0 {
		return c
	}
	return s.Key.Compare(o.Key)
}

func compareSteps(a, b []Step) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return slices.CompareFunc(a, b, Step.compare)
}

// SortModules sorts paths in place, in the order of Compare. It splits each path only once, which makes it suitable for
// long lists.
func SortModules(paths []ModuleInstance) []ModuleInstance {
	type split struct {
		path  ModuleInstance
		steps []Step
	}
	all := make([]split, len(paths))
	for i, p := range paths {
		all[i] = split{p, p.Steps()}
	}
	slices.SortFunc(all, func(a, b split) int { return compareSteps(a.steps, b.steps) })
	for i := range all {
		paths[i] = all[i].path
	}
	return paths
}

// Join returns the path of m with the steps appended.
func (m ModuleInstance) Join(steps []Step) ModuleInstance {
	for _, s := range steps {
		m = m.Child(s.Call, s.Key)
	}
	return m
}
