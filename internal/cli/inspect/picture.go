package inspect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
)

// picture is the graph of an operation, independent of the output format.
type picture struct {
	nodes []node
	edges [][2]string // names of nodes
}

// node is a node of the graph. A node without a shape is a point.
type node struct{ name, label, shape string }

// rootNode is the node that depends on all others.
const rootNode = "root"

// in renders the picture of an operation in a format.
func (p *picture) in(format, operation string) string {
	switch format {
	case "mermaid":
		return p.mermaid()
	case "json":
		return p.json(operation)
	}
	return p.dot()
}

func (p *picture) dot() string {
	var b strings.Builder
	b.WriteString("digraph {\n\tcompound = \"true\"\n\tnewrank = \"true\"\n\tsubgraph \"root\" {\n")
	for _, n := range p.nodes {
		if n.shape != "" {
			fmt.Fprintf(&b, "\t\t%s [label = %s, shape = %q]\n", strconv.Quote("[root] "+n.name),
				strconv.Quote(n.label), n.shape)
		}
	}
	for _, e := range p.edges {
		fmt.Fprintf(&b, "\t\t%s\n", dotEdge(e))
	}
	b.WriteString("\t}\n}\n")
	return b.String()
}

func dotEdge(e [2]string) string {
	return strconv.Quote("[root] "+e[0]) + " -> " + strconv.Quote("[root] "+e[1])
}

// mermaid renders a flowchart. Its nodes are numbered, because names contain characters that identifiers of Mermaid
// cannot.
func (p *picture) mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	ids := make(map[string]int, len(p.nodes))
	for i, n := range p.nodes {
		ids[n.name] = i + 1
		fmt.Fprintf(&b, "n%d[%s]\n", i+1, mermaidText(n.name))
	}
	for _, e := range p.edges {
		fmt.Fprintf(&b, "n%d --> n%d\n", ids[e[0]], ids[e[1]])
	}
	return b.String()
}

// mermaidText quotes a label. Quotes are escaped as in HTML, which Mermaid requires.
func mermaidText(s string) string { return `"` + strings.ReplaceAll(s, `"`, "&quot;") + `"` }

// mermaidResources draws only resources, each module in a box, as a flowchart in the form and order of Terraform.
func (d drawing) mermaidResources() string {
	nodes := d.sortedResources()
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	if len(nodes) == 0 {
		b.WriteString("  %% no resources; graph -type=plan shows everything else\n")
	}
	indent, module := "  ", addr.Module{}
	for _, n := range nodes {
		r := d.slots[n].ConfigAddr()
		if r.Module != module {
			if !module.IsRoot() {
				b.WriteString("  end\n")
			}
			indent, module = "    ", r.Module
			fmt.Fprintf(&b, "  subgraph %s\n", r.Module)
		}
		fmt.Fprintf(&b, "%s%s[%s]\n", indent, r, mermaidText(r.Resource.String()))
	}
	if !module.IsRoot() {
		b.WriteString("  end\n")
	}
	d.eachEdge(nodes, func(from, to int) {
		fmt.Fprintf(&b, "  %s --> %s\n", d.slots[from].ConfigAddr(), d.slots[to].ConfigAddr())
	})
	return b.String()
}
