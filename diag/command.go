package diag

import (
	"errors"
	"fmt"
	"strings"
)

// Program is the name of the command, unless it was called by another name.
const Program = "tombolo"

// Command is a command of the program: its arguments, such as "init" and "-upgrade". Only the command line knows the
// name that it was called by, and adds it in front.
type Command struct{ Words []string }

// Run returns a command with the given arguments.
func Run(words ...string) Command { return Command{words} }

// Recover returns the command that resolves an interrupted operation on an object: "--adopt", "ID", or "--retry", or
// "--forget".
func Recover(object fmt.Stringer, how ...string) Command {
	return Command{append([]string{"recover", object.String()}, how...)}
}

// String returns the words quoted for a shell.
func (c Command) String() string {
	words := make([]string, len(c.Words))
	for i, word := range c.Words {
		if words[i] = word; word == "" || strings.ContainsFunc(word, special) {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// special reports whether a character may have a special meaning in a shell.
func special(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	return !letter && !('0' <= r && r <= '9') && !strings.ContainsRune("_-./:=@%+,", r)
}

// Means is an option of the command line, or another feature that callers have under different names.
type Means string

// Words maps the terms in advice to the terms of a caller.
type Words struct {
	Command func(Command) string
	Means   func(Means) string
}

// Named returns the words of the command line, for a program with the given name.
func Named(program string) Words {
	return Words{Command: func(c Command) string { return program + " " + c.String() },
		Means: func(m Means) string { return string(m) }}
}

// Advice explains how to solve a problem. It is separate from the detail because it can contain commands.
type Advice struct {
	format string
	args   []any
}

// Advise returns an advice. Each Command among the arguments is printed with the name of the program, and each Means in
// the caller's terms.
func Advise(format string, args ...any) *Advice { return &Advice{format, args} }

// For returns the text of the advice for a program with the given name.
func (a *Advice) For(program string) string { return a.in(Named(program)) }

func (a *Advice) in(w Words) string {
	args := make([]any, len(a.args))
	for i, arg := range a.args {
		switch named := arg.(type) {
		case Command:
			arg = w.Command(named)
		case Means:
			arg = w.Means(named)
		}
		args[i] = arg
	}
	return fmt.Sprintf(a.format, args...)
}

// advisedError is an error with advice on how to solve it.
type advisedError struct {
	error
	advice *Advice
}

func (e *advisedError) Unwrap() error { return e.error }

// Advised returns an error with advice that is not part of its text. AppendError and FromError copy the advice to the
// diagnostic.
func Advised(err error, format string, args ...any) error {
	return &advisedError{err, Advise(format, args...)}
}

// adviceOf returns the advice of an error, or nil.
func adviceOf(err error) *Advice {
	if e := (*advisedError)(nil); errors.As(err, &e) {
		return e.advice
	}
	return nil
}

// Advise sets the advice of the last member of a list.
func (l List) Advise(format string, args ...any) List {
	l[len(l)-1].Advice = Advise(format, args...)
	return l
}

// Text returns the detail followed by the advice, for a program with the given name.
func (d *Diagnostic) Text(program string) string { return d.text(Named(program)) }

func (d *Diagnostic) text(w Words) string {
	switch {
	case d.Advice == nil:
		return d.Detail
	case d.Detail == "":
		return d.Advice.in(w)
	case strings.Contains(d.Advice.format, "\n"): // its commands are on separate lines
		return d.Detail + "\n\n" + d.Advice.in(w)
	}
	return d.Detail + " " + d.Advice.in(w)
}

// For returns the list with each advice appended to the detail, for a program with the given name.
func (l List) For(program string) List { return l.In(Named(program)) }

// In returns the list with each advice appended to the detail, in the caller's terms.
func (l List) In(w Words) List {
	out := make(List, len(l))
	for i, d := range l {
		if d.Advice != nil {
			c := *d
			c.Detail, c.Advice = d.text(w), nil
			d = &c
		}
		out[i] = d
	}
	return out
}
