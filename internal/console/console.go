// Package console implements interactive sessions: it joins input lines to expressions, evaluates them with an
// Evaluator, and prints values in the syntax of the language, like Terraform's console, but with visible control
// characters, as in all terminal output.
//
// Package engine creates the Evaluator for a project. The caller reads lines from a terminal or a pipe.
//
//	s := console.NewSession(evaluate, redact)
//	for each line {
//		if s.Add(line); s.Open() { continue }
//		answer := s.Answer()
//	}
package console

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/iteration"
	"github.com/tombolo-iac/tombolo/internal/nesting"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// Filename is the name of the file in ranges of diagnostics about console input.
const Filename = "<console-input>"

// The prompts of a new expression and of a line that continues one.
const (
	Prompt     = "> "
	Continuing = ": "
)

// Evaluator returns the value of an expression, with marks. src is the text that it was parsed from.
type Evaluator func(expr hcl.Expression, src []byte) (cty.Value, diag.List)

// Redactor removes secrets from texts, such as types, which contain names and have no marks.
type Redactor func(text string) string

// Answer is the response of a session to one input.
type Answer struct {
	// Text is the text to print, without a newline at the end.
	Text string
	// Exit ends the session.
	Exit bool
	// Diagnostics holds the errors of the evaluation; then Text is empty.
	Diagnostics diag.List
}

// Session joins lines and evaluates them. It must not be used concurrently.
type Session struct {
	evaluate Evaluator
	redact   Redactor
	lines    []string
	depth    depth
}

// NewSession starts a session.
func NewSession(evaluate Evaluator, redact Redactor) *Session {
	return &Session{evaluate: evaluate, redact: redact}
}

// Add adds a line, without its newline.
func (s *Session) Add(line string) {
	s.lines = append(s.lines, line)
	s.depth.add(line)
}

// Open reports whether the lines so far have an open bracket, quoted template or heredoc, so that the expression
// continues in the next one.
func (s *Session) Open() bool { return s.depth.open() }

// Pending reports whether there are lines that were not evaluated yet.
func (s *Session) Pending() bool { return len(s.lines) > 0 }

// Answer evaluates the lines since the last answer.
func (s *Session) Answer() Answer {
	text := strings.Join(s.lines, "\n")
	s.lines, s.depth = nil, depth{}
	switch strings.TrimSpace(text) {
	case "":
		return Answer{}
	case "exit":
		return Answer{Exit: true}
	case "help":
		return Answer{Text: help}
	}
	out, diags := s.answer([]byte(trim(text)))
	return Answer{Text: out, Diagnostics: diags}
}

const help = `Type an expression of the language and press enter to see its value, for
example "upper(var.name)" or, for an object in the state,
"aws_instance.web.id".

An open bracket or heredoc continues on the next line. type(EXPRESSION) prints a
type. To leave, type "exit" or press Control-D.`

// trim removes white space around an input, but not the newline that ends a heredoc.
func trim(text string) string {
	trimmed := strings.TrimSpace(text)
	if strings.Contains(trimmed, "<<") && strings.Contains(trimmed, "\n") {
		trimmed += "\n"
	}
	return trimmed
}

func (s *Session) answer(src []byte) (string, diag.List) {
	if diags := nesting.Check(src, Filename); diags.HasErrors() {
		return "", diags
	}
	expr, hclDiags := hclsyntax.ParseExpression(src, Filename, hcl.InitialPos)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() {
		return "", diags
	}
	iteration.Guard(expr)
	v, more := s.evaluate(expr, src)
	if diags = diags.Extend(more); diags.HasErrors() {
		return "", diags
	}
	if text, whole := funcs.DescribedType(v); whole {
		return s.redact(text), diags
	}
	if funcs.ContainsDescribedType(v) {
		return "", diags.Errorf(nil, "Invalid use of type function",
			"The function \"type\" exists only in the console, and only as a whole line: type(EXPRESSION). Its "+
				"result cannot be used in another expression.")
	}
	return view.FormatValue(v), diags
}
