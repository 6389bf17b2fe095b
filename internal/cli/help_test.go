package cli

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
)

// eachCommand calls f with every command, including families and hidden commands.
func eachCommand(f func(path string, cmd *command.Command)) {
	var walk func(prefix string, list []*command.Command)
	walk = func(prefix string, list []*command.Command) {
		for _, cmd := range list {
			f(prefix+cmd.Name, cmd)
			walk(prefix+cmd.Name+" ", cmd.Members)
		}
	}
	walk("", Commands())
}

// helpOf runs a command line like a process and returns its output.
func helpOf(t *testing.T, program string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	a := &command.App{Surroundings: engine.Surroundings{Program: program, Title: map[string]string{
		"tombolo": "Tombolo", "terraform": "Terraform"}[program]}, Out: &out, Err: &errs}
	if got := start(context.Background(), a, args); got != command.Done || errs.Len() > 0 {
		t.Errorf("%s %s: outcome %d, want 0; on the standard error output %q", program, strings.Join(args, " "), got,
			errs.String())
	}
	return out.String()
}

// TestEveryCommandHasHelp checks that every row of the table is complete.
func TestEveryCommandHasHelp(t *testing.T) {
	eachCommand(func(path string, cmd *command.Command) {
		if cmd.Short == "" || cmd.Long == "" || cmd.Setup == nil && cmd.Members == nil {
			t.Errorf("%s: short %q, long %q, runs %v, members %d", path, cmd.Short, cmd.Long, cmd.Setup != nil,
				len(cmd.Members))
		}
		if strings.HasSuffix(cmd.Short, ".") || len(cmd.Short) > 62 {
			t.Errorf("%s: %q is no line of a list", path, cmd.Short)
		}
	})
}

func TestHelpDescribesEveryFlag(t *testing.T) {
	app := &command.App{Surroundings: engine.Surroundings{Program: "tombolo", Title: "Tombolo"}}
	eachCommand(func(path string, cmd *command.Command) {
		help := helpOf(t, "tombolo", append(strings.Fields(path), "-help")...)
		if !strings.HasPrefix(help, "Usage: tombolo [global options] "+path) {
			t.Errorf("%s -help begins with %.60q", path, help)
		}
		if cmd.Setup == nil || cmd.Absent {
			return
		}
		for _, f := range app.Flags(cmd, path) {
			shown := regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(f.Usage()) + `\n      \S`)
			if f.Text == "" || !strings.HasSuffix(f.Text, ".") || !shown.MatchString(help) {
				t.Errorf("%s: the flag %s with the text %q is not described in\n%s", path, f.Usage(), f.Text, help)
			}
			if f.Value == "value" || f.Value == "string" || f.Value == "int" || f.Value == "duration" {
				t.Errorf("%s: what the value of -%s is has no name in its text %q", path, f.Name, f.Text)
			}
		}
		for _, section := range []string{"\nOptions:\n", "\nEnvironment variables:\n", "\nExit codes:\n"} {
			if !strings.Contains(help, section) {
				t.Errorf("%s -help has no section %q", path, section)
			}
		}
	})
}

func TestHelpFitsTheUsualTerminal(t *testing.T) {
	check := func(program string, args ...string) {
		for line := range strings.SplitSeq(helpOf(t, program, args...), "\n") {
			if utf8.RuneCountInString(line) > 80 || strings.TrimRight(line, " ") != line ||
				strings.Contains(line, "~") {
				t.Errorf("%s %s prints the line %q", program, strings.Join(args, " "), line)
			}
			if program == "terraform" && strings.Contains(strings.ReplaceAll(line, "github.com/tombolo-iac/tombolo",
				""), "ombolo") {
				t.Errorf("%s %s has the wrong name: %q", program, strings.Join(args, " "), line)
			}
		}
	}
	for _, program := range []string{"tombolo", "terraform"} {
		check(program, "-help")
		eachCommand(func(path string, _ *command.Command) {
			check(program, append([]string{"-help"}, strings.Fields(path)...)...)
		})
	}
}

func TestHelpIsWrappedToTheTerminal(t *testing.T) {
	for _, width := range []int{50, 120} {
		var out bytes.Buffer
		a := &command.App{Surroundings: engine.Surroundings{Program: "tombolo", Title: "Tombolo"}, Out: &out,
			Width: width}
		start(context.Background(), a, []string{"state", "mv", "-help"})
		longest := 0
		_, text, _ := strings.Cut(out.String(), "\n\n")
		text, _, _ = strings.Cut(text, "\nExample")
		for line := range strings.SplitSeq(text, "\n") {
			longest = max(longest, utf8.RuneCountInString(line))
		}
		if longest > width || longest < width-15 {
			t.Errorf("on a terminal of %d columns the longest line has %d", width, longest)
		}
	}
}
