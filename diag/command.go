package diag

import (
	"fmt"
	"strings"
)

// Program is the name of the command, unless it was called by another name.
const Program = "tombolo"

// Command is a command of the program with its arguments, such as "init -upgrade". Only the command line knows by which
// name it was called; it puts that name in front.
type Command string

// Means is an option of the command line, or something else that a caller has under a name of its own.
type Means string

// Words are the names that a caller has for what advice refers to.
type Words struct {
	Command func(Command) string
	Means   func(Means) string
}

// Named returns the words of the command line, for a program of the given name.
func Named(program string) Words {
	return Words{Command: func(c Command) string { return program + " " + string(c) },
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
