// Package complete completes command lines in shells, and installs the completion.
//
// The protocol is that of "complete -C" in bash, which Terraform uses as well: the shell starts the program with the
// line in COMP_LINE and the cursor position in COMP_POINT, and reads the completions from its output (Answer). Install
// adds this to the start-up files of shells, as Terraform does; Command prints functions with a few more features.
//
// Nothing is declared twice: commands and flags come from the table of commands, and the placeholder of a value in the
// usage, such as FILE or ADDRESS, selects its completions (values.go).
//
// Completion must not disturb typing: it prints only completions, asks no questions, takes no lock and writes nothing.
// If something cannot be read in time, nothing is completed. The goroutine that reads is then abandoned, and ends with
// the process.
package complete

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
)

// patience is the maximum delay after pressing a key.
const patience = 3 * time.Second

// Asked reports whether a shell requests completions.
func Asked(a *command.App) bool { return a.Getenv("COMP_LINE") != "" }

// Answer prints the completions of the line in the environment. The arguments are those of bash: the name of the
// command, the word to complete as bash splits it, and the word before it. Other shells pass none.
func Answer(ctx context.Context, a *command.App, table []*command.Command, global []command.Flag,
	args []string) command.Outcome {
	line := parse(upToCursor(a.Getenv("COMP_LINE"), a.Getenv("COMP_POINT")))
	quiet := *a
	quiet.Out, quiet.Err = io.Discard, io.Discard
	t := &typed{call: &command.Call{App: &quiet}, table: table, global: global, current: line.current}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found := make(chan []string, 1)
	go func() {
		defer func() {
			if recover() != nil {
				found <- nil // a crash report would not be shown here
			}
		}()
		found <- t.continuations(ctx, line.words)
	}()
	select {
	case list := <-found:
		for _, value := range list {
			if text, ok := line.write(value, args); ok {
				fmt.Fprintln(a.Out, text)
			}
		}
	case <-ctx.Done():
	}
	return command.Done
}

// upToCursor cuts the line at the cursor, which shells count in characters.
func upToCursor(line, point string) string {
	runes := []rune(line)
	if at, err := strconv.Atoi(point); err == nil && 0 <= at && at < len(runes) {
		return string(runes[:at])
	}
	return line
}

// typed is a command line with one incomplete word.
type typed struct {
	call    *command.Call
	table   []*command.Command
	global  []command.Flag
	current string // the incomplete word

	// The words before it:
	path  string           // the command, such as "state show"
	cmd   *command.Command // nil if there is none yet
	flags []command.Flag
	args  int    // the number of arguments
	state string // the value of -state
}

// continuations returns the completions of the current word, given the words before it.
func (t *typed) continuations(ctx context.Context, words []string) []string {
	list := t.words(ctx, words)
	list = slices.DeleteFunc(list, func(s string) bool {
		return !strings.HasPrefix(s, t.current) ||
			strings.ContainsAny(s, "\n\r")
	})
	slices.Sort(list)
	return slices.Compact(list)
}

// words returns the candidates without comparing them with the current word, unless it determines the kind of word.
func (t *typed) words(ctx context.Context, words []string) []string {
	if len(words) == 0 {
		return nil // the name of the program itself
	}
	words = words[1:]
	for ; len(words) > 0 && strings.HasPrefix(words[0], "-"); words = words[1:] {
		if dir, ok := strings.CutPrefix(words[0], "-chdir="); ok && os.Chdir(dir) != nil {
			return nil
		}
	}
	list := t.table
	for ; len(words) > 0 && list != nil; words = words[1:] {
		next := slices.IndexFunc(list, func(c *command.Command) bool { return c.Name == words[0] })
		if next < 0 && t.cmd == nil {
			return nil // not a command
		}
		if next < 0 {
			break
		}
		t.cmd, t.path = list[next], strings.TrimSpace(t.path+" "+words[0])
		list = t.cmd.Members
	}
	switch {
	case t.cmd == nil && strings.HasPrefix(t.current, "-"):
		t.flags = t.global
		return t.flagWords(ctx)
	case t.cmd == nil:
		return names(list)
	case t.cmd.Setup == nil:
		return names(list)
	}
	return append(t.ofCommand(ctx, words), names(list)...)
}

func names(list []*command.Command) (out []string) {
	for _, c := range list {
		if !c.Hidden {
			out = append(out, c.Name)
		}
	}
	return out
}

// ofCommand returns completions after a command, given the words between.
func (t *typed) ofCommand(ctx context.Context, words []string) []string {
	t.flags = append(t.call.App.Flags(t.cmd, t.path), command.Flag{Name: "help"})
	noFlags := false
	for i := 0; i < len(words); i++ {
		name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(words[i], "-"), "-"), "=")
		flag := t.flag(name)
		switch {
		case words[i] == "--":
			noFlags = true
		case noFlags || !strings.HasPrefix(words[i], "-") || words[i] == "-":
			t.args++
		case flag == nil || flag.Value == "":
		case !hasValue && i+1 == len(words):
			return t.values(ctx, flag.Value, flag)
		case !hasValue:
			i++
			value = words[i]
			fallthrough
		default:
			if name == "state" {
				t.state = value
			}
		}
	}
	if strings.HasPrefix(t.current, "-") && !noFlags {
		return t.flagWords(ctx)
	}
	expected := strings.Fields(t.cmd.Args)
	switch {
	case len(expected) == 0:
		return nil
	case t.args < len(expected):
		return t.values(ctx, expected[t.args], nil)
	case strings.Contains(expected[len(expected)-1], "..."):
		return t.values(ctx, expected[len(expected)-1], nil)
	}
	return nil
}

func (t *typed) flag(name string) *command.Flag {
	for i := range t.flags {
		if t.flags[i].Name == name {
			return &t.flags[i]
		}
	}
	return nil
}

// flagWords returns the flags, or the values of a flag if its name and equals sign are typed.
func (t *typed) flagWords(ctx context.Context) (out []string) {
	head, value, hasValue := strings.Cut(t.current, "=")
	dashes := head[:len(head)-len(strings.TrimLeft(head, "-"))]
	if hasValue {
		flag := t.flag(head[len(dashes):])
		if flag == nil {
			return nil
		}
		whole := t.current
		t.current = value
		defer func() { t.current = whole }()
		for _, v := range t.values(ctx, flag.Value, flag) {
			out = append(out, head+"="+v)
		}
		return out
	}
	if len(dashes) > 2 {
		return nil
	}
	for _, f := range t.flags {
		switch {
		case f.Off:
			out = append(out, dashes+f.Name+"=false")
		case f.Name == "chdir":
			out = append(out, dashes+f.Name+"=") // it has no other form
		default:
			out = append(out, dashes+f.Name)
		}
	}
	return out
}
