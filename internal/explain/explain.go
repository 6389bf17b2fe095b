// Package explain has the pages about the codes of problems, for the command explain.
//
// The register of codes is in package diag. A page written by hand has the meaning of a problem, a configuration that
// fails, the exact output, and a correction. It is an archive in the folder pages that runs as a test, so its output is
// always right. Codes without such a page have a short one, generated from the register.
//
//	page, ok := explain.Of("TB0101")
//	fmt.Print(page.Text(explain.Words{Program: "tombolo", Title: "Tombolo", Width: 80}))
package explain

import (
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/tombolo-iac/tombolo/diag"
)

// Page is the page about a kind of problem.
type Page struct {
	Kind diag.Kind
	// Example shows the problem and its correction; nil for a short page.
	Example *Example
}

// Example is a configuration that fails, and its correction.
type Example struct {
	Means    string // the meaning of the problem; empty for generated examples
	Commands []string
	Files    []txtar.File
	Terminal string // the output of the last command
	Mend     string
	Mended   []txtar.File // files that replace those above
	// Then holds commands that succeed after the correction: the same ones, if only files change. Some corrections,
	// such as the installation of a provider, cannot be tested without a network.
	Then []string
}

// All returns the pages of all kinds, sorted by code.
func All() (out []Page) {
	for _, k := range diag.Kinds() {
		out = append(out, Page{k, examples()[k.Code]})
	}
	return out
}

// Of returns the page of a code. Lower-case letters and a missing prefix are allowed.
func Of(code string) (Page, bool) {
	code = "TB" + strings.TrimPrefix(strings.ToUpper(code), "TB")
	for _, k := range diag.Kinds() {
		if k.Code == code {
			return Page{k, examples()[code]}, true
		}
	}
	return Page{}, false
}

// About returns the kinds whose titles contain a text, ignoring case.
func About(words string) (out []diag.Kind) {
	words = strings.ToLower(words)
	for _, k := range diag.Kinds() {
		if strings.Contains(strings.ToLower(k.Title), words) || strings.Contains(k.Title, "*") && k.Matches(words) {
			out = append(out, k)
		}
	}
	return out
}

// Parse parses the archive of a page.
func Parse(a *txtar.Archive) *Example {
	e := &Example{Means: strings.TrimSpace(string(a.Comment))}
	for _, f := range a.Files {
		text := string(f.Data)
		switch f.Name {
		case "means":
			e.Means = strings.TrimSpace(text)
		case "commands":
			e.Commands = strings.Split(strings.TrimSpace(text), "\n")
		case "then":
			e.Then = strings.Split(strings.TrimSpace(text), "\n")
		case "terminal":
			e.Terminal = text
		case "mend":
			e.Mend = strings.TrimSpace(text)
		default:
			if name, ok := strings.CutPrefix(f.Name, "mended/"); ok {
				e.Mended = append(e.Mended, txtar.File{Name: name, Data: f.Data})
			} else {
				e.Files = append(e.Files, f)
			}
		}
	}
	if e.Then == nil && e.Mended != nil {
		e.Then = e.Commands
	}
	return e
}

// Words holds the program's names and the format of texts.
type Words struct {
	Program, Title string // such as "tombolo" and "Tombolo"
	// Wrap breaks lines of prose.
	Wrap func(string) string
	// Bold formats headings.
	Bold func(string) string
}

// Text returns the page as text.
func (p Page) Text(w Words) string {
	var b strings.Builder
	b.WriteString(w.Bold(p.Kind.Code+": "+p.Kind.Title) + "\n\n")
	say := func(text string) { b.WriteString(w.Wrap(w.named(text)) + "\n\n") }
	e := p.Example
	for _, text := range p.prose() {
		say(text)
	}
	if e != nil {
		w.fails(&b, e)
	}
	if e != nil && e.Mend != "" {
		b.WriteString(w.Bold("How to fix it") + "\n\n")
		say(e.Mend)
		w.files(&b, e.Mended)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// prose returns the paragraphs about the meaning of a problem.
func (p Page) prose() []string {
	switch e := p.Example; {
	case p.Kind.Retired:
		return []string{"No current release reports this problem. The code is reserved, so that it never gets " +
			"another meaning."}
	case e != nil && e.Means != "":
		return []string{e.Means}
	}
	return p.about()
}

// fails writes the files and the commands of an example, and the output of the last command.
func (w Words) fails(b *strings.Builder, e *Example) {
	b.WriteString(w.Bold("This fails") + "\n\n")
	later := w.files(b, e.Files)
	last := len(e.Commands) - 1
	for _, line := range e.Commands[:last] {
		b.WriteString("    $ " + w.command(line) + "\n")
		if words := strings.Fields(line); words[0] == "write" {
			b.WriteString("\n")
			w.files(b, []txtar.File{{Name: words[1], Data: later[words[2]]}})
		}
	}
	b.WriteString("    $ " + w.command(e.Commands[last]) + "\n")
	b.WriteString(indented(w.named(e.Terminal)) + "\n")
}

// areas describes the code prefixes.
var areas = []struct{ prefix, about string }{
	{"TB01", "the text of a file: its syntax"},
	{"TB02", "blocks and arguments"},
	{"TB03", "references"},
	{"TB04", "values, expressions and functions"},
	{"TB05", "variables"},
	{"TB06", "modules and their installation"},
	{"TB07", "versions, and the installation of providers"},
	{"TB08", "providers and programs while they run"},
	{"TB09", "states, locks and saved plans"},
	{"TB10", "planning and applying"},
	{"TB11", "commands and their options"},
	{"TB12", "backends and stores"},
	{"TB13", "tests"},
	{"TB14", "encryption"},
	{"TB15", "providers that are written with the libraries of this project"},
	{"TB16", "the configuration of the command line, and the project file"},
	{"TB17", "calls of the library"},
	{"TB18", "writing providers and stores"},
	{"TB19", "blocks and arguments"},
	{"TB20", "commands and their options"},
	{"TB21", "commands and their options"},
	{"TB22", "commands and their options"},
}

func area(code string) string {
	for _, a := range areas {
		if strings.HasPrefix(code, a.prefix) {
			return a.about
		}
	}
	return "other things"
}

// files writes files, and returns those that a command of the example writes later.
func (w Words) files(b *strings.Builder, files []txtar.File) map[string][]byte {
	later := map[string][]byte{}
	for _, f := range files {
		if strings.HasPrefix(f.Name, "@") {
			later[f.Name] = f.Data
			continue
		}
		b.WriteString("  " + f.Name + "\n\n" + indented(string(f.Data)) + "\n")
	}
	return later
}

// command returns a line of an example as a command for a shell.
func (w Words) command(line string) string {
	words := strings.Fields(line)
	switch words[0] {
	case "lock":
		return "# meanwhile, another run of " + w.Program + " apply begins"
	case "write":
		return "# then " + words[1] + " is changed:"
	}
	return w.named(line)
}

// named replaces the usual names of the program by those of Words.
func (w Words) named(text string) string {
	return strings.NewReplacer("Tombolo", w.Title, "tombolo", w.Program).Replace(text)
}

func indented(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "    " + line
		}
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "    [exit ") })
	return strings.Join(lines, "\n") + "\n"
}
