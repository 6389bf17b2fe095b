package command

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/view"
)

// helpWidth is the width of help texts if there is no terminal.
const helpWidth = 80

// Flag is a declared flag, for help, completion and JSON documents.
type Flag struct {
	Name    string
	Value   string // placeholder of its value, such as FILE; empty for a boolean flag
	Default string // empty if there is no default, or for false
	Text    string // with ~ as in Command.Long
	Off     bool   // a boolean flag that is true by default; disabled with -name=false
}

// Flags returns the flags that a command declares, in the order of their names.
func (a *App) Flags(cmd *Command, path string) []Flag {
	c, _ := a.newCall(cmd, path)
	return c.declared()
}

func (c *Call) declared() (list []Flag) {
	c.Flags.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		d := Flag{Name: f.Name, Value: value, Text: text, Default: f.DefValue}
		if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
			d.Value, d.Off = "", f.DefValue == "true"
		}
		switch f.DefValue {
		case "true", "false", "0", "0s":
			d.Default = ""
		}
		list = append(list, d)
	})
	return list
}

// Usage returns the flag with the placeholder of its value.
func (f Flag) Usage() string {
	switch {
	case f.Off:
		return "-" + f.Name + "=false"
	case f.Value == "":
		return "-" + f.Name
	}
	return "-" + f.Name + "=" + f.Value
}

// Description returns what the flag does, and its default.
func (f Flag) Description() string {
	if f.Default == "" {
		return f.Text
	}
	if f.Default == "." {
		return f.Text + " The default is the working directory."
	}
	return f.Text + " The default is " + f.Default + "."
}

// ExitCodes returns the meanings of a command's exit codes, one per line.
func (cmd *Command) ExitCodes() string {
	return cmp.Or(cmd.Exits, "0  The command succeeded.\n1  There were errors.")
}

// Help prints the description and the flags of a command.
func (c *Call) Help() { c.help(c.Out) }

func (c *Call) help(w io.Writer) {
	c.usage(w, c.cmd, c.Path)
	if c.cmd.Absent {
		fmt.Fprintf(w, "\nExit codes:\n\n%s\n", Indent(c.cmd.ExitCodes()))
		return
	}
	fmt.Fprintln(w, "\nOptions:")
	for _, f := range c.declared() {
		fmt.Fprintf(w, "\n  %s\n%s\n", f.Usage(), c.block(f.Description(), 6))
	}
	fmt.Fprintln(w, "\nEnvironment variables:")
	for _, v := range VariablesOf(c.Path, c.declared()) {
		fmt.Fprintf(w, "\n  %s\n%s\n", v.Name, c.block(v.Text, 6))
	}
	fmt.Fprintf(w, "\nExit codes:\n\n%s\n", Indent(c.cmd.ExitCodes()))
	if c.cmd.Example != "" {
		fmt.Fprintf(w, "\nExample:\n\n%s\n", Indent(c.Words(c.cmd.Example)))
	}
	if len(c.cmd.Members) > 0 {
		fmt.Fprintln(w)
		c.cmd.ListMembers(w)
	}
}

// FamilyHelp prints the description and the members of a family.
func (a *App) FamilyHelp(cmd *Command, path string) {
	a.usage(a.Out, cmd, path)
	fmt.Fprintln(a.Out)
	cmd.ListMembers(a.Out)
}

// usage prints the beginning of every help text.
func (a *App) usage(w io.Writer, cmd *Command, path string) {
	fmt.Fprintf(w, "%s\n\n%s\n", a.UsageLine(cmd, path), a.block(cmd.Long, 2))
}

// UsageLine returns the usage line of a command.
func (a *App) UsageLine(cmd *Command, path string) string {
	line := fmt.Sprintf("Usage: %s [global options] %s", a.Program, path)
	if cmd.Setup == nil {
		return line + " <subcommand> [options] [arguments]"
	}
	return strings.TrimRight(line+" [options] "+cmd.Args, " ")
}

// block formats a text of the table: it fills the paragraphs and indents all lines.
func (a *App) block(text string, indent int) string {
	filled := view.Wrap(Fill(a.Words(text)), cmp.Or(a.Width, helpWidth)-indent)
	margin := strings.Repeat(" ", indent)
	return strings.ReplaceAll(margin+strings.ReplaceAll(strings.TrimSpace(filled), "\n", "\n"+margin), "\n"+margin+"\n",
		"\n\n")
}

// Fill joins the lines of each paragraph. Lines that begin with a space are examples and stay as they are.
func Fill(text string) string {
	var b strings.Builder
	inParagraph := false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		plain := line != "" && line[0] != ' '
		switch {
		case b.Len() == 0:
		case plain && inParagraph:
			b.WriteByte(' ')
		default:
			b.WriteByte('\n')
		}
		b.WriteString(line)
		inParagraph = plain
	}
	return b.String()
}

// ListMembers prints the list of the members of a family.
func (cmd *Command) ListMembers(w io.Writer) {
	fmt.Fprintln(w, "Subcommands:")
	for _, m := range cmd.Members {
		if !m.Hidden {
			fmt.Fprintf(w, "  %-17s %s\n", m.Name, m.Short)
		}
	}
}

// Indent indents every line of a text by two spaces.
func Indent(text string) string {
	return strings.ReplaceAll("  "+strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  "), "\n  \n", "\n\n")
}
