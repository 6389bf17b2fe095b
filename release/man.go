package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
)

const (
	program = "tombolo"
	title   = "Tombolo"
)

// completions are the shells with a completion script, and its file name in a package.
var completions = map[string]string{"bash": "tombolo.bash", "zsh": "_tombolo", "fish": "tombolo.fish",
	"powershell": "tombolo.ps1"}

// prepare writes DIR/man and DIR/completions. The scripts are the program's output.
func prepare(ctx context.Context, dir string, _ io.Writer) error {
	pages := filepath.Join(dir, "man")
	scripts := filepath.Join(dir, "completions")
	for _, d := range []string{pages, scripts} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	for name, text := range manPages() {
		if err := os.WriteFile(filepath.Join(pages, name), text, 0o644); err != nil {
			return err
		}
	}
	for shell, file := range completions {
		script, err := exec.CommandContext(ctx, "go", "run", "./cmd/tombolo", "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("print the completion script of %s: %w", shell, err)
		}
		if err := os.WriteFile(filepath.Join(scripts, file), script, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manPages returns the pages of section 1 by file name: one for the program, one for each command.
func manPages() map[string][]byte {
	app := newApp()
	pages := map[string][]byte{}
	top := newPage(program, "infrastructure as code in the Terraform language")
	top.section("SYNOPSIS")
	top.paragraph(program + " [global options] <command> [options] [arguments]")
	top.section("COMMANDS")
	all := commands()
	for _, path := range slices.Sorted(maps.Keys(all)) {
		name := program + "-" + strings.ReplaceAll(path, " ", "-")
		top.item(path, all[path].Short+". See "+name+"(1).")
		pages[name+".1"] = commandPage(app, all[path], path, name)
	}
	top.section("GLOBAL OPTIONS")
	for _, o := range cli.GlobalOptions {
		top.item(o.Usage(), o.Text)
	}
	pages[program+".1"] = top.Bytes()
	return pages
}

// writePages writes a Markdown page for each visible command, for the website.
func writePages(_ context.Context, dir string, _ io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for path, cmd := range commands() {
		name := strings.ReplaceAll(path, " ", "-") + ".md"
		if err := os.WriteFile(filepath.Join(dir, name), markdownPage(cmd, path), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func markdownPage(cmd *command.Command, path string) []byte {
	app := newApp()
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n```\n%s\n```\n\n%s\n", path, cmd.Short,
		strings.TrimPrefix(app.UsageLine(cmd, path), "Usage: "), examplesFenced(command.Fill(app.Words(cmd.Long))))
	if cmd.Setup != nil {
		flags := app.Flags(cmd, path)
		if len(flags) > 0 {
			b.WriteString("\n## Options\n\n| option | meaning |\n|---|---|\n")
		}
		for _, f := range flags {
			fmt.Fprintf(&b, "| `%s` | %s |\n", f.Usage(), cell(app.Words(f.Description())))
		}
		b.WriteString("\n## Environment variables\n\n| variable | meaning |\n|---|---|\n")
		for _, v := range command.VariablesOf(path, flags) {
			fmt.Fprintf(&b, "| `%s` | %s |\n", v.Name, cell(app.Words(v.Text)))
		}
		fmt.Fprintf(&b, "\n## Exit codes\n\n```\n%s\n```\n", cmd.ExitCodes())
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\n## Example\n\n```sh\n%s\n```\n", strings.TrimSpace(app.Words(cmd.Example)))
	}
	return b.Bytes()
}

// cell escapes a text for a table cell.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}

// examplesFenced converts the indented lines of a text to fenced code blocks.
func examplesFenced(text string) string {
	var b strings.Builder
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		if code := strings.HasPrefix(line, " "); code != inside {
			b.WriteString("```\n")
			inside = code
		}
		b.WriteString(strings.TrimPrefix(line, "  ") + "\n")
	}
	if inside {
		b.WriteString("```\n")
	}
	return b.String()
}

func newApp() *command.App {
	app := &command.App{}
	app.Program, app.Title = program, title
	return app
}

// commands returns the visible commands by path.
func commands() map[string]*command.Command {
	found := map[string]*command.Command{}
	var walk func(list []*command.Command, before string)
	walk = func(list []*command.Command, before string) {
		for _, cmd := range list {
			if cmd.Hidden || cmd.Absent {
				continue
			}
			path := strings.TrimSpace(before + " " + cmd.Name)
			found[path] = cmd
			walk(cmd.Members, path)
		}
	}
	walk(cli.Commands(), "")
	return found
}

func commandPage(app *command.App, cmd *command.Command, path, name string) []byte {
	p := newPage(name, cmd.Short)
	p.section("SYNOPSIS")
	p.paragraph(strings.TrimPrefix(app.UsageLine(cmd, path), "Usage: "))
	p.section("DESCRIPTION")
	p.text(command.Fill(app.Words(cmd.Long)))
	if cmd.Setup != nil {
		flags := app.Flags(cmd, path)
		if len(flags) > 0 {
			p.section("OPTIONS")
		}
		for _, f := range flags {
			p.item(f.Usage(), app.Words(f.Description()))
		}
		p.section("ENVIRONMENT")
		for _, v := range command.VariablesOf(path, flags) {
			p.item(v.Name, app.Words(v.Text))
		}
		p.section("EXIT STATUS")
		for line := range strings.SplitSeq(cmd.ExitCodes(), "\n") {
			code, meaning, _ := strings.Cut(strings.TrimSpace(line), "  ")
			p.item(code, meaning)
		}
	}
	if cmd.Example != "" {
		p.section("EXAMPLES")
		p.example(strings.Split(strings.TrimSpace(app.Words(cmd.Example)), "\n"))
	}
	return p.Bytes()
}

// page is a manual page in roff, with the macro package "man".
type page struct {
	bytes.Buffer
	opened bool // the current section is still empty
}

func newPage(name, short string) *page {
	p := &page{}
	fmt.Fprintf(p, ".TH %q 1 \"\" %q %q\n", strings.ToUpper(name), title+" "+engine.Version, title+" manual")
	p.section("NAME")
	fmt.Fprintf(p, "%s \\- %s\n", escape(name), escape(short))
	return p
}

func (p *page) section(name string) {
	fmt.Fprintf(p, ".SH %s\n", name)
	p.opened = true
}

// begin starts a new paragraph.
func (p *page) begin() {
	if !p.opened {
		p.WriteString(".PP\n")
	}
	p.opened = false
}

func (p *page) paragraph(text string) {
	p.begin()
	fmt.Fprintln(p, escape(text))
}

func (p *page) item(term, text string) {
	p.opened = false
	fmt.Fprintf(p, ".TP\n.B %s\n%s\n", escape(term), escape(text))
}

// text writes paragraphs. Lines that begin with a space are examples.
func (p *page) text(text string) {
	var example []string
	flush := func() {
		if len(example) > 0 {
			p.example(example)
		}
		example = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, " "):
			example = append(example, line)
		case line == "":
			flush()
		default:
			flush()
			p.paragraph(line)
		}
	}
	flush()
}

func (p *page) example(lines []string) {
	p.begin()
	p.WriteString(".nf\n")
	for _, line := range lines {
		fmt.Fprintln(p, escape(line))
	}
	p.WriteString(".fi\n")
}

// escape escapes roff's special characters: backslashes, hyphens, and a dot or quote at the start of a line.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
