package openapi

import (
	"fmt"
	"strings"
)

// Manifest returns the text of the manifest.
func (p *Provider) Manifest() []byte {
	m := members{{"protocol", 1}, {"name", p.Name}, {"version", "0.1.0"}}
	if p.doc.Title != "" {
		m.add("description", sentenceOf(p.doc.Title))
	}
	m.add("http", p.http)
	schema := members{{"provider", members{{"attributes", p.attributes}}}}
	for _, one := range []member{{"resource_schemas", p.resources}, {"list_resource_schemas", p.lists},
		{"data_source_schemas", p.data}} {
		if len(one.value.(members)) > 0 {
			schema = append(schema, one)
		}
	}
	m.add("schema", schema)
	return []byte(printed(m, 0) + "\n")
}

// Resources, DataSources and Lists return the numbers of types.
func (p *Provider) Resources() int   { return len(p.resources) }
func (p *Provider) DataSources() int { return len(p.data) }
func (p *Provider) Lists() int       { return len(p.lists) }

// Operations returns the number of operations that are mapped.
func (p *Provider) Operations() int {
	all := map[*Operation]bool{}
	for _, l := range p.Mapped {
		all[l.Operation] = true
	}
	return len(all)
}

// Summary returns a summary on one line.
func (p *Provider) Summary() string {
	return fmt.Sprintf("%s, %s, %s, of %d of %s", counted(len(p.resources), "resource"),
		counted(len(p.data), "data source"), counted(len(p.lists), "list"), p.Operations(),
		counted(len(p.doc.Operations), "operation"))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return itoa(n) + " " + what + "s"
}

// Report returns the report for the author in Markdown: every operation with its result or with the reason why it has
// none, and the notes.
func (p *Provider) Report() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# The provider %s from OpenAPI\n\n", p.Name)
	if p.doc.Title != "" {
		fmt.Fprintf(&b, "Made of %s.\n\n", strings.TrimSpace(sentenceOf(p.doc.Title)+" "+p.doc.Version))
	}
	fmt.Fprintf(&b, "%s.\n", p.Summary())
	if p.Outside > 0 {
		fmt.Fprintf(&b, "\n%s outside of the selected paths.\n", counted(p.Outside, "operation"))
	}
	if p.try != "" {
		fmt.Fprintf(&b, "\nThis runs the tests against a server that is made of the document:\n\n    %s\n", line(p.try))
	}
	for _, reason := range p.untested {
		fmt.Fprintf(&b, "- %s\n", line(reason))
	}
	p.lines(&b, "Not mapped", p.Listed)
	if len(p.Notes) > 0 {
		b.WriteString("\n## To review\n")
	}
	for _, about := range sorted(p.Notes) {
		if about == "" {
			b.WriteString("\nThe provider:\n\n")
		} else {
			fmt.Fprintf(&b, "\n`%s`:\n\n", about)
		}
		for _, note := range p.Notes[about] {
			fmt.Fprintf(&b, "- %s\n", line(note))
		}
	}
	p.lines(&b, "Mapped", p.Mapped)
	return []byte(b.String())
}

func (p *Provider) lines(b *strings.Builder, title string, lines []Line) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", title)
	for _, l := range lines {
		fmt.Fprintf(b, "- `%s`: %s\n", line(l.Operation.String()), line(l.Says))
	}
}

// line returns a text of a document on one line, without control characters.
func line(content string) string {
	return strings.Join(strings.FieldsFunc(content, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
}
