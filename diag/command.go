package diag

import (
	"errors"
	"fmt"
	"strings"
)

// Program is the name of the command, unless it was called by another name.
const Program = "tombolo"

// Command is a command of the program: its words, such as "init" and "-upgrade", as the program gets them. Only the
// command line knows by which name it was called; it puts that name in front.
type Command struct{ Words []string }

// Run returns a command of some words.
func Run(words ...string) Command { return Command{words} }

// Recover returns the command that resolves an interrupted operation on an object: "--adopt", "ID", or "--retry", or
// "--forget".
func Recover(object fmt.Stringer, how ...string) Command {
	return Command{append([]string{"recover", object.String()}, how...)}
}

// String returns the words as a shell takes them.
func (c Command) String() string {
	words := make([]string, len(c.Words))
	for i, word := range c.Words {
		if words[i] = word; word == "" || strings.ContainsFunc(word, special) {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// special reports whether a shell may read something else in a word that has a character.
func special(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	return !letter && !('0' <= r && r <= '9') && !strings.ContainsRune("_-./:=@%+,", r)
}

// Means is an option of the command line, or something else that a caller has under a name of its own.
type Means string

// Words are the names that a caller has for what advice refers to.
type Words struct {
	Command func(Command) string
	Means   func(Means) string
}

// Named returns the words of the command line, for a program of the given name.
func Named(program string) Words {
	return Words{Command: func(c Command) string { return program + " " + c.String() },
		Means: func(m Means) string { return string(m) }}
}

// Advice explains how to solve a problem. It is not a part of the detail because it can contain commands.
type Advice struct {
	format string
	args   []any
}

// Advise returns an advice. Arguments that are a Command are written with the name of the program, and those that are
// Means as the caller knows them.
func Advise(format string, args ...any) *Advice { return &Advice{format, args} }

// For returns the text of the advice for a program of the given name.
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

// Advised returns an error with advice, which AppendError and FromError give to the diagnostic; the text of the error
// does not have it.
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

// Text returns the detail followed by the advice, for a program of the given name.
func (d *Diagnostic) Text(program string) string { return d.text(Named(program)) }

func (d *Diagnostic) text(w Words) string {
	switch {
	case d.Advice == nil:
		return d.Detail
	case d.Detail == "":
		return d.Advice.in(w)
	case strings.Contains(d.Advice.format, "\n"): // its commands stand on lines of their own
		return d.Detail + "\n\n" + d.Advice.in(w)
	}
	return d.Detail + " " + d.Advice.in(w)
}

// For returns the list with every advice as a part of the detail, for a program of the given name.
func (l List) For(program string) List { return l.In(Named(program)) }

// In returns the list with every advice as a part of the detail, in the words of a caller.
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
