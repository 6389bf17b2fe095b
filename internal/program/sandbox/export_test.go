package sandbox

// UseChildren sets whether Open compiles modules in child processes, and returns a function that restores the setting.
func UseChildren(use bool) (restore func()) {
	before := children.Swap(use)
	return func() { children.Store(before) }
}

// ChildVariable is the variable of the environment that makes a process a child.
const ChildVariable = childVariable
