package openapi

import (
	"slices"
	"sort"
	"strings"
)

// Options holds the choices of the author.
type Options struct {
	// Name is the name of the provider; "" means a word of the title.
	Name string
	// Try is the command that runs the tests, for the report.
	Try string
	// Paths selects the operations whose paths begin with one of them. If it is empty, all operations are selected.
	Paths []string
}

// Provider is a provider generated from a document, with a report.
type Provider struct {
	Name string
	// Mapped and Listed are the operations with their result, or with the reason why they have none.
	Mapped, Listed []Line
	// Outside is the number of operations that Options.Paths excludes.
	Outside int
	// Notes are lines for review by a person, by type name; those with the key "" are about the provider.
	Notes map[string][]string

	doc        *Document
	http       members
	attributes members // of the provider block
	resources  members
	data       members
	lists      members
	made       []*made
	reads      []*fetched
	used       names // names of data sources
	schemes    []string
	try        string
	untested   []string
	seed       string
}

// Line is an operation with its result or reason, as a text.
type Line struct {
	Operation *Operation
	Says      string
}

// ProviderName returns the given name for a provider, or else a word of the title.
func (d *Document) ProviderName(given string) string { return either(given, providerName(d.Title)) }

// Map converts a document to a provider.
func Map(d *Document, o Options) *Provider {
	p := &Provider{Name: d.ProviderName(o.Name), doc: d, try: o.Try, Notes: map[string][]string{}, used: names{}}
	if len(o.Paths) > 0 {
		all := d.Operations
		d.Operations = nil
		for _, op := range all {
			if slices.ContainsFunc(o.Paths, func(prefix string) bool { return strings.HasPrefix(op.Path, prefix) }) {
				d.Operations = append(d.Operations, op)
			}
		}
		p.Outside = len(all) - len(d.Operations)
	}
	if d.Newer != "" {
		p.note("", "the document is of OpenAPI %s, which was read as 3.1", d.Newer)
	}
	p.serve()
	list, rest := d.entities(p)
	for _, e := range list {
		p.entity(e)
	}
	for _, op := range rest {
		p.single(op)
	}
	p.unknownHints()
	for _, problem := range d.problems {
		p.note("", "%s", problem)
	}
	sort.SliceStable(p.Listed, func(i, j int) bool { return p.Listed[i].Operation.Path < p.Listed[j].Operation.Path })
	return p
}

//go:noinline
func (p *Provider) list(op *Operation, why string) { p.Listed = append(p.Listed, Line{op, why}) }

//go:noinline
func (p *Provider) mapped(op *Operation, what string) { p.Mapped = append(p.Mapped, Line{op, what}) }

func (p *Provider) hasListed(op *Operation) bool {
	return slices.ContainsFunc(p.Listed, func(l Line) bool { return l.Operation == op })
}

// entity creates the types of an entity: a resource, data sources, and a list.
func (p *Provider) entity(e *Entity) {
	m, why := p.resource(e)
	if why != "" {
		for _, does := range []string{"create", "update", "delete"} {
			if op := e.All()[does]; op != nil && !p.hasListed(op) {
				p.list(op, "there is no resource "+p.Name+"_"+e.Name+": "+why)
			}
		}
	}
	if e.Read != nil {
		p.source(e.Read, e.Name, e.Name, m, m != nil)
	}
	if e.List != nil {
		plural := e.Plural
		if plural == e.Name {
			plural += "_list"
		}
		listed := m != nil && p.listing(e, m)
		p.source(e.List, plural, e.Name, nil, listed)
	}
}

// single creates a data source for an operation without an entity.
func (p *Provider) single(op *Operation) {
	if p.hasListed(op) {
		return
	}
	why := op.unusable()
	if why == "" && op.Method != "GET" {
		why = map[string]string{
			"POST":   "it makes no object that another operation reads, updates or deletes",
			"PUT":    "another operation updates the object, or no operation creates or reads it",
			"PATCH":  "another operation updates the object, or no operation creates it",
			"DELETE": "no operation creates what it deletes",
		}[op.Method]
	}
	if why != "" {
		p.list(op, why)
		return
	}
	name := snake(text(op.Hints[hintPrefix+"entity"]))
	if op.Hints[hintPrefix+"entity"] == nil {
		name = strings.Join(words(op.Path), "_")
		if strings.HasSuffix(op.Path, "}") {
			name = singular(name)
		}
	}
	p.source(op, either(name, "object"), "", nil, false)
}
