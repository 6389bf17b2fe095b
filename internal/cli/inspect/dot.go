package inspect

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
)

// drawing renders the dependencies of a configuration in the DOT language. Transitive edges are omitted.
type drawing struct {
	slots []*linking.Slot
	edges [][]int
	more  []string // names of additional nodes, numbered after the slots: see withProviders
}

// withProviders adds nodes without a block: implied provider configurations, and the end of each one that is used.
func (d drawing) withProviders() drawing {
	out := drawing{slots: d.slots, edges: slices.Clone(d.edges)}
	add := func(name string, edges ...int) int {
		out.more = append(out.more, name)
		out.edges = append(out.edges, edges)
		return len(out.edges) - 1
	}
	begins, ends := map[addr.AbsProviderConfig]int{}, map[addr.AbsProviderConfig]int{}
	for n, s := range d.slots {
		if s.Kind == linking.SlotProvider {
			begins[s.ConfiguredAs()] = n
		}
	}
	for n, s := range d.slots {
		if s.Kind != linking.SlotResource || s.ProviderConfig == (addr.AbsProviderConfig{}) {
			continue
		}
		a := s.ProviderConfig
		if _, ok := begins[a]; !ok {
			begins[a] = add(a.String())
		}
		if _, ok := ends[a]; !ok {
			ends[a] = add(a.String()+" (close)", begins[a])
		}
		out.edges[n] = append(slices.Clone(out.edges[n]), begins[a])
		out.edges[ends[a]] = append(out.edges[ends[a]], n)
	}
	return out
}

// resources draws only resources, each module in a box, in the form and order of Terraform.
func (d drawing) resources() string {
	nodes := d.sortedResources()
	var b strings.Builder
	b.WriteString("digraph G {\n  rankdir = \"RL\";\n  node [shape = rect, fontname = \"sans-serif\"];\n")
	if len(nodes) == 0 {
		b.WriteString("  // no resources; graph -type=plan shows everything else\n")
	}
	indent, module := "  ", addr.Module{}
	closeModule := func() {
		if !module.IsRoot() {
			b.WriteString("  }\n")
		}
	}
	for _, n := range nodes {
		r := d.slots[n].ConfigAddr()
		if r.Module != module {
			closeModule()
			indent, module = "    ", r.Module
			fmt.Fprintf(&b, "  subgraph %s {\n    label = %s\n    fontname = \"sans-serif\"\n",
				strconv.Quote("cluster_"+module.String()), strconv.Quote(module.String()))
		}
		fmt.Fprintf(&b, "%s%s [label=%s];\n", indent, strconv.Quote(r.String()), strconv.Quote(r.Resource.String()))
	}
	closeModule()
	d.eachEdge(nodes, func(from, to int) {
		fmt.Fprintf(&b, "  %s -> %s;\n", strconv.Quote(d.slots[from].ConfigAddr().String()),
			strconv.Quote(d.slots[to].ConfigAddr().String()))
	})
	b.WriteString("}\n")
	return b.String()
}

// sortedResources returns the numbers of all resources: the root module first, data sources before managed resources.
func (d drawing) sortedResources() (nodes []int) {
	for n, s := range d.slots {
		if s.Kind == linking.SlotResource {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b int) int {
		x, y := d.slots[a].ConfigAddr(), d.slots[b].ConfigAddr()
		return cmp.Or(strings.Compare(x.Module.String(), y.Module.String()), cmp.Compare(modeOrder(x.Resource.Mode),
			modeOrder(y.Resource.Mode)),
			strings.Compare(x.Resource.Type, y.Resource.Type), strings.Compare(x.Resource.Name, y.Resource.Name))
	})
	return nodes
}

func modeOrder(m addr.Mode) int {
	switch m {
	case addr.Managed:
		return 2
	case addr.Data:
		return 0
	}
	return 1
}

// eachEdge calls visit for the edges between chosen nodes, direct or through other nodes, in the order of the nodes.
func (d drawing) eachEdge(nodes []int, visit func(from, to int)) {
	place := make(map[int]int, len(nodes)) // the position of a chosen node
	for i, n := range nodes {
		place[n] = i
	}
	// the nearest chosen nodes, and all reachable ones
	near, all := make([]*big.Int, len(d.edges)), make([]*big.Int, len(d.edges))
	for _, n := range d.topological() {
		direct, far := new(big.Int), new(big.Int)
		for _, e := range d.edges[n] {
			far.Or(far, all[e])
			if i, ok := place[e]; ok {
				direct.SetBit(direct, i, 1)
				far.SetBit(far, i, 1)
			} else {
				direct.Or(direct, near[e])
			}
		}
		near[n], all[n] = direct, far
	}
	for _, from := range nodes {
		follows := new(big.Int) // nodes that another near node leads to
		eachBit(near[from], func(i int) { follows.Or(follows, all[nodes[i]]) })
		eachBit(new(big.Int).AndNot(near[from], follows), func(i int) { visit(from, nodes[i]) })
	}
}

func eachBit(set *big.Int, visit func(i int)) {
	for i := range set.BitLen() {
		if set.Bit(i) == 1 {
			visit(i)
		}
	}
}

// topological returns all slots, dependencies first.
func (d drawing) topological() []int {
	waits, dependents := make([]int, len(d.edges)), make([][]int, len(d.edges))
	var order []int
	for n, list := range d.edges {
		waits[n] = len(list)
		for _, e := range list {
			dependents[e] = append(dependents[e], n)
		}
		if len(list) == 0 {
			order = append(order, n)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, n := range dependents[order[i]] {
			if waits[n]--; waits[n] == 0 {
				order = append(order, n)
			}
		}
	}
	return order
}

// evaluation draws everything that is evaluated.
func (d drawing) evaluation() *picture {
	d = d.withProviders()
	var nodes []int
	for n := range d.edges {
		if n >= len(d.slots) || d.drawn(d.slots[n]) {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b int) int { return strings.Compare(d.name(a), d.name(b)) })
	p := &picture{}
	used := make([]bool, len(d.edges))
	for _, n := range nodes {
		label, shape := d.shape(n)
		p.nodes = append(p.nodes, node{d.name(n), label, shape})
	}
	d.eachEdge(nodes, func(from, to int) {
		used[to] = true
		p.edges = append(p.edges, [2]string{d.name(from), d.name(to)})
	})
	for _, n := range nodes {
		if !used[n] {
			p.edges = append(p.edges, [2]string{rootNode, d.name(n)})
		}
	}
	p.nodes = append(p.nodes, node{name: rootNode})
	slices.SortFunc(p.edges, func(a, b [2]string) int { return strings.Compare(dotEdge(a), dotEdge(b)) })
	return p
}

// drawn reports whether a slot is drawn. Slots that only pass on a value and configurations of unused providers are
// not.
func (d drawing) drawn(s *linking.Slot) bool {
	return s.Kind != linking.SlotCallOutput && (s.Kind != linking.SlotProvider || s.Used)
}

// shape returns the label and the shape of a node. A node without a shape is a point.
func (d drawing) shape(n int) (label, shape string) {
	if n >= len(d.slots) {
		if name := d.name(n); !strings.HasSuffix(name, " (close)") {
			return name, "diamond"
		}
		return "", ""
	}
	return d.slots[n].Addr(), map[linking.SlotKind]string{linking.SlotResource: "box", linking.SlotProvider: "diamond",
		linking.SlotVariable: "note"}[d.slots[n].Kind]
}

// name returns the name of a node in a full graph.
func (d drawing) name(n int) string {
	if n >= len(d.slots) {
		return d.more[n-len(d.slots)]
	}
	s := d.slots[n]
	switch s.Kind {
	case linking.SlotLocal, linking.SlotOutput, linking.SlotResource, linking.SlotCheck:
		return s.Addr() + " (expand)"
	case linking.SlotVariable:
		if !s.Unit().Module.Path.IsRoot() {
			return s.Addr() + " (expand)"
		}
	}
	return s.Addr()
}

// destruction draws the order in which objects are destroyed: reversed, and without data sources, which are not
// destroyed.
func (d drawing) destruction() *picture {
	nodes := slices.DeleteFunc(d.sortedResources(), func(n int) bool {
		return d.slots[n].ConfigAddr().Resource.Mode != addr.Managed
	})
	p := &picture{}
	name := func(n int) string { return d.slots[n].Addr() + " (destroy)" }
	for _, n := range nodes {
		p.nodes = append(p.nodes, node{name(n), d.slots[n].Addr(), "box"})
	}
	d.eachEdge(nodes, func(from, to int) { p.edges = append(p.edges, [2]string{name(to), name(from)}) })
	return p
}
