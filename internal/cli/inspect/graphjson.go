package inspect

import (
	"encoding/json"
	"strings"
)

// graphDocument is the graph for programs. An edge leads from a node to one of its dependencies.
type graphDocument struct {
	FormatVersion string      `json:"format_version"`
	Operation     string      `json:"operation,omitempty"` // the value of -type; empty for resources only
	Nodes         []graphNode `json:"nodes"`
	Edges         []graphEdge `json:"edges"`
}

type graphNode struct {
	ID      string `json:"id"`
	Address string `json:"address,omitempty"` // the address of the node, if it is a part of the configuration
	// Only for resources.
	Module string `json:"module,omitempty"`
	Mode   string `json:"mode,omitempty"`
	Type   string `json:"type,omitempty"`
	Name   string `json:"name,omitempty"`
}

type graphEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func (g graphDocument) text() string {
	g.FormatVersion = "1.0"
	if g.Nodes == nil {
		g.Nodes = []graphNode{}
	}
	if g.Edges == nil {
		g.Edges = []graphEdge{}
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(g); err != nil {
		panic("inspect: texts cannot be written as JSON: " + err.Error())
	}
	return b.String()
}

// jsonResources writes only resources, in the order of the other formats.
func (d drawing) jsonResources() string {
	var g graphDocument
	nodes := d.sortedResources()
	for _, n := range nodes {
		r := d.slots[n].ConfigAddr()
		g.Nodes = append(g.Nodes, graphNode{ID: r.String(), Address: r.String(), Module: r.Module.String(),
			Mode: r.Resource.Mode.String(), Type: r.Resource.Type, Name: r.Resource.Name})
	}
	d.eachEdge(nodes, func(from, to int) {
		g.Edges = append(g.Edges, graphEdge{d.slots[from].ConfigAddr().String(), d.slots[to].ConfigAddr().String()})
	})
	return g.text()
}

// json writes the graph of an operation.
func (p *picture) json(operation string) string {
	g := graphDocument{Operation: operation}
	for _, n := range p.nodes {
		node := graphNode{ID: n.name}
		if n.shape == "box" || n.shape == "note" {
			node.Address = n.label
		}
		g.Nodes = append(g.Nodes, node)
	}
	for _, e := range p.edges {
		g.Edges = append(g.Edges, graphEdge{e[0], e[1]})
	}
	return g.text()
}
