package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// graph has the resources of the configuration and their direct dependencies. Nodes and Modules are the same in all
// graphs of a document, so that each object has a single node index.
type graph struct {
	Name  string `json:"name"`
	Nodes []node `json:"nodes"`
	// Modules begins with the root module; each module follows the one that calls it.
	Modules []module `json:"modules"`
	// After lists the direct dependencies of each node, or is null for a node outside of the graph.
	After [][]int `json:"after"`
	// Pictures has one drawing for each module: its resources, one item for each module that it calls, and the items
	// outside of it that they are connected with.
	Pictures []picture `json:"pictures"`
}

type node struct {
	Name   string `json:"n"`
	Module int    `json:"m"`
}

type module struct {
	Path   string `json:"p"`
	Parent int    `json:"u"`
}

// picture is a drawing. Items has four numbers each: kind, index of the node or module, column and row. Edges are pairs
// of items, of which the second depends on the first.
type picture struct {
	Items []int `json:"i"`
	Edges []int `json:"e"`
}

// The kinds of items. Those beside are not part of the picture's module.
const (
	itemNode = iota
	itemModule
	itemNodeBeside
	itemModuleBeside
)

// closures has for each node all of its dependencies, direct or not, sorted.
type closures struct {
	nodes []addr.ConfigResource
	at    map[addr.ConfigResource]int
	deps  [][]int
}

func newClosures(dependencies map[addr.ConfigResource][]addr.ConfigResource) *closures {
	c := &closures{nodes: slices.SortedFunc(maps.Keys(dependencies), addr.ConfigResource.Compare)}
	c.at = make(map[addr.ConfigResource]int, len(c.nodes))
	for i, n := range c.nodes {
		c.at[n] = i
	}
	c.deps = make([][]int, len(c.nodes))
	for i, n := range c.nodes {
		var list []int
		for _, dep := range dependencies[n] {
			if at, known := c.at[dep]; known && at != i {
				list = append(list, at)
			}
		}
		slices.Sort(list)
		c.deps[i] = slices.Compact(list)
	}
	return c
}

// direct returns for each node of a part of the graph its direct dependencies in that part, without those that another
// one implies.
func (c *closures) direct(part func(int) bool) [][]int {
	out := make([][]int, len(c.nodes))
	covered := make([]int, len(c.nodes)) // by which node, plus one
	for i, deps := range c.deps {
		if !part(i) {
			continue
		}
		out[i] = []int{}
		// Nodes with more dependencies come first, because they cover the others.
		far := slices.SortedFunc(slices.Values(deps), func(a, b int) int {
			return cmp.Or(len(c.deps[b])-len(c.deps[a]), a-b)
		})
		for _, dep := range far {
			if covered[dep] == i+1 || !part(dep) {
				continue
			}
			out[i] = append(out[i], dep)
			for _, below := range c.deps[dep] {
				covered[below] = i + 1
			}
		}
		slices.Sort(out[i])
	}
	return out
}

// graphs adds the graphs to a document whose objects are complete.
func (d *document) graphs(dependencies map[addr.ConfigResource][]addr.ConfigResource) *closures {
	c := newClosures(dependencies)
	changing := make([]bool, len(c.nodes))
	some, all := false, true
	for i := range d.Objects {
		o := &d.Objects[i]
		at := c.at[o.config]
		o.Node = at + 1
		changing[at] = changing[at] || o.Fate != ""
	}
	for _, is := range changing {
		some, all = some || is, all && is
	}
	if len(c.nodes) == 0 {
		return c
	}
	nodes, modules := c.places()
	add := func(name string, part func(int) bool) {
		g := &graph{Name: name, Nodes: nodes, Modules: modules, After: c.direct(part)}
		g.draw()
		d.Graphs = append(d.Graphs, g)
	}
	if some && !all {
		add("What changes", func(i int) bool { return changing[i] })
	}
	add("Everything", func(int) bool { return true })
	if len(d.Graphs) > 1 { // the names are the same, and are stored once
		d.Graphs[0].Nodes, d.Graphs[0].Modules = nil, nil
	}
	d.reasons(c, changing)
	return c
}

// reasons replaces the causes of each object's change by the nearest nodes among them.
func (d *document) reasons(c *closures, changing []bool) {
	for i := range d.Objects {
		o := &d.Objects[i]
		var list []int
		for _, r := range o.because {
			if at, known := c.at[r]; known && changing[at] && at != o.Node-1 {
				list = append(list, at)
			}
		}
		for _, at := range list {
			if !slices.ContainsFunc(list, func(nearer int) bool {
				_, below := slices.BinarySearch(c.deps[nearer], at)
				return below && nearer != at
			}) {
				o.Because = append(o.Because, at)
			}
		}
	}
}

// places returns the nodes, and the modules that contain them.
func (c *closures) places() ([]node, []module) {
	modules, at := []module{{Parent: -1}}, map[addr.Module]int{{}: 0}
	var place func(addr.Module) int
	place = func(m addr.Module) int {
		if i, known := at[m]; known {
			return i
		}
		parent, _, _ := m.Parent()
		up := place(parent)
		modules = append(modules, module{Path: view.CleanLine(m.String()), Parent: up})
		at[m] = len(modules) - 1
		return len(modules) - 1
	}
	nodes := make([]node, len(c.nodes))
	for i, n := range c.nodes {
		nodes[i] = node{view.CleanLine(n.Resource.String()), place(n.Module)}
	}
	return nodes, modules
}

// draw computes the pictures of a graph.
func (g *graph) draw() {
	drawings := make([]drawing, len(g.Modules))
	for i := range drawings {
		drawings[i] = drawing{items: map[[2]int]int{}, edges: map[[2]int]bool{}}
	}
	paths := make([][]int, len(g.Modules)) // of modules, from the root
	for i, m := range g.Modules {
		if i > 0 {
			paths[i] = append(slices.Clip(paths[m.Parent]), i)
		}
	}
	for i, deps := range g.After {
		if deps == nil {
			continue
		}
		own := g.Nodes[i].Module
		for _, m := range append(slices.Clip(paths[own]), 0) {
			drawings[m].item(g.seen(m, i, paths))
		}
		for _, dep := range deps {
			theirs := g.Nodes[dep].Module
			seen := append(slices.Clip(paths[own]), 0)
			for _, m := range paths[theirs] {
				if !slices.Contains(seen, m) {
					seen = append(seen, m)
				}
			}
			for _, m := range seen {
				drawings[m].edge(g.seen(m, dep, paths), g.seen(m, i, paths))
			}
		}
	}
	g.Pictures = make([]picture, len(drawings))
	for i := range drawings {
		g.Pictures[i] = drawings[i].picture()
	}
}

// seen returns how a node appears in the picture of a module: the kind of item, and the index of the node or module.
func (g *graph) seen(from, of int, paths [][]int) [2]int {
	in := g.Nodes[of].Module
	here, there := paths[from], paths[in]
	common := 0
	for common < len(here) && common < len(there) && here[common] == there[common] {
		common++
	}
	beside := common < len(here)
	switch {
	case common == len(there) && beside:
		return [2]int{itemNodeBeside, of}
	case common == len(there):
		return [2]int{itemNode, of}
	case beside:
		return [2]int{itemModuleBeside, there[common]}
	}
	return [2]int{itemModule, there[common]}
}
