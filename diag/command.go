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

// Advice explains how to solve a problem. It is not a part of the detail because it can contain commands.
type Advice struct {
	format string
	args   []any
}

// Advise returns an advice. Arguments that are a Command are written with the name of the program.
func Advise(format string, args ...any) *Advice { return &Advice{format, args} }

// For returns the text of the advice for a program of the given name.
func (a *Advice) For(program string) string {
	args := make([]any, len(a.args))
	for i, arg := range a.args {
		if c, ok := arg.(Command); ok {
			arg = program + " " + string(c)
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
func (d *Diagnostic) Text(program string) string {
	switch {
	case d.Advice == nil:
		return d.Detail
	case d.Detail == "":
		return d.Advice.For(program)
	case strings.Contains(d.Advice.format, "\n"): // its commands stand on lines of their own
		return d.Detail + "\n\n" + d.Advice.For(program)
	}
	return d.Detail + " " + d.Advice.For(program)
}

// For returns the list with every advice as a part of the detail, for a program of the given name.
func (l List) For(program string) List {
	out := make(List, len(l))
	for i, d := range l {
		if d.Advice != nil {
			c := *d
			c.Detail, c.Advice = d.Text(program), nil
			d = &c
		}
		out[i] = d
	}
	return out
}
