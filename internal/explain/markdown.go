package explain

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// Area is a group of codes, which share a prefix.
type Area struct {
	Prefix, About string
	Pages         []Page
}

// Areas returns all pages by area. Areas without pages are left out.
func Areas() (out []Area) {
	all := All()
	for _, a := range areas {
		group := Area{Prefix: a.prefix, About: a.about}
		for _, p := range all {
			if strings.HasPrefix(p.Kind.Code, a.prefix) {
				group.Pages = append(group.Pages, p)
			}
		}
		if group.Pages != nil {
			out = append(out, group)
		}
	}
	return out
}

// Markdown returns the page as a section of a Markdown document, with a heading of the second level.
func (p Page) Markdown(w Words) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s: %s\n\n", p.Kind.Code, unmarked(p.Kind.Title))
	for _, text := range p.prose() {
		b.WriteString(unmarked(w.named(text)) + "\n\n")
	}
	e := p.Example
	if e == nil {
		return b.String()
	}
	b.WriteString("**This fails:**\n\n")
	later := w.fencedFiles(&b, e.Files)
	var session strings.Builder
	for _, line := range e.Commands {
		session.WriteString("$ " + w.command(line) + "\n")
		if words := strings.Fields(line); words[0] == "write" {
			session.WriteString(string(later[words[2]]))
		}
	}
	for line := range strings.Lines(strings.Trim(e.Terminal, "\n") + "\n") {
		if !strings.HasPrefix(line, "[exit ") {
			session.WriteString(w.named(line))
		}
	}
	fenced(&b, "text", session.String())
	if e.Mend != "" {
		b.WriteString("**The mend:** " + unmarked(w.named(e.Mend)) + "\n\n")
		w.fencedFiles(&b, e.Mended)
	}
	return b.String()
}

// fencedFiles writes files with their names, and returns those that a command writes later.
func (w Words) fencedFiles(b *strings.Builder, files []txtar.File) map[string][]byte {
	later := map[string][]byte{}
	for _, f := range files {
		if strings.HasPrefix(f.Name, "@") {
			later[f.Name] = f.Data
			continue
		}
		language := "text"
		if slices.Contains([]string{".tf", ".tfvars", ".tombolo", ".hcl"}, path.Ext(f.Name)) {
			language = "hcl"
		}
		b.WriteString("`" + f.Name + "`\n\n")
		fenced(b, language, string(f.Data))
	}
	return later
}

// fenced writes a code block. Its fence is longer than any in the text.
func fenced(b *strings.Builder, language, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "%s%s\n%s\n%s\n\n", fence, language, strings.TrimRight(text, "\n"), fence)
}

// unmarked returns a text of plain words in which Markdown finds no marks.
func unmarked(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "#", `\#`, "|",
		`\|`).Replace(text)
}
