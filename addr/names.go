package addr

import "slices"

// Names returns all addresses that select any of the instances, sorted and unique: their own, and those of their
// resources and enclosing modules.
func Names(instances []AbsResourceInstance) []string {
	seen := map[string]bool{}
	for _, a := range instances {
		seen[a.String()] = true
		seen[a.AbsResource().String()] = true
		for m, ok := a.Module, !a.Module.IsRoot(); ok && !m.IsRoot(); m, _, ok = m.Parent() {
			seen[m.String()] = true
		}
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
