// Package diag defines diagnostics: the errors and warnings that people read.
//
// A Diagnostic reports what was found, where, what was expected and what to do. The engine collects all diagnostics
// that a pass can find in a List; the view sorts and prints them. Other problems are ordinary Go errors: wrap them once
// at the boundary, and convert them to a Diagnostic where the position in the configuration is known (FromError).
//
// The package depends on hcl for ranges and expressions, and on two small packages that do not depend on the engine,
// ctyfast and texts.
//
//	var diags diag.List
//	diags = diags.Errorf(rng, "Unsupported attribute", "%s has no attribute %q.", what, name)
//	if diags.HasErrors() { return diags }
package diag

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Severity distinguishes an error, which stops the operation, from a warning, which does not.
type Severity uint8

// The severities. The zero value is none of them, so that a forgotten severity is noticed.
const (
	Error Severity = iota + 1
	Warning
)

// String returns the lower-case word used in JSON documents.
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	}
	return "invalid"
}

// Diagnostic is one problem. Summary is a few words, and Detail full sentences.
type Diagnostic struct {
	Severity Severity
	Summary  string
	Detail   string
	// Advice explains how to solve the problem if that needs a command; nil if Detail is complete. Text returns both.
	Advice *Advice
	// Fix is a change of the source that would probably solve the problem, or nil.
	Fix Fix

	// Address is the object with the problem, as the user would write it; empty if Subject is sufficient.
	Address string
	// Within is the module or resource instance that was being evaluated. It is not shown: it orders problems at one
	// position that have no Address.
	Within string
	// Subject is the smallest source range that is wrong; Context a larger one to show. Both may be nil.
	Subject *hcl.Range
	Context *hcl.Range
	// Path is the path of the problem within the value of an object, before a source range is known (providers return
	// paths).
	Path cty.Path

	// Expression and EvalContext let the view show the values of the operands. The view hides sensitive ones.
	Expression  hcl.Expression
	EvalContext *hcl.EvalContext
	// Redact, if set, removes secrets from the shown values that are secret elsewhere: a provider may return a secret
	// in a public attribute.
	Redact func(string) string
	// Clean means that the secrets were already removed from the foreign parts of the texts: the project's own
	// sentences must not lose a word that happens to equal a secret.
	Clean bool
	// Foreign means that a provider or a third-party program worded the problem, so that it has no code.
	Foreign bool
	// Follows means that the problem is probably a consequence of an earlier one in the list, such as of a parse error.
	// It is only shown in JSON.
	Follows bool
	// Number identifies an error of a run in texts that refer to it: see Numbered. Most errors have 0.
	Number int
	syntax bool // found by a parser of the hcl library

	// Extra carries facts for callers that decide on them, such as hcl's function call details. It is never printed as
	// is.
	Extra any
	// Err is the Go error behind the problem, for errors.Is and errors.As, or nil if there is none. It is never
	// printed, and may hold secrets that the texts hide.
	Err error
}

// Deprecation is an Extra of a warning that something uses a deprecated variable or output value of a module. Origin
// names the output value. Remote reports whether the module, or a module around it, has a source that is not a local
// directory.
type Deprecation struct {
	Origin string
	Remote bool
}

// Cause is an Extra with the reason to show operands that are otherwise left out when the values of an expression are
// shown.
type Cause uint8

// The causes.
const (
	CausedByUnknown   Cause = iota + 1 // the problem is that something is known only after apply
	CausedBySensitive                  // the problem is that something is sensitive
)

// DiagnosticCausedByUnknown implements an interface that diagnostics of other programs share.
func (c Cause) DiagnosticCausedByUnknown() bool { return c == CausedByUnknown }

// DiagnosticCausedBySensitive does the same for sensitive values.
func (c Cause) DiagnosticCausedBySensitive() bool { return c == CausedBySensitive }

// Error makes a single diagnostic usable as an error.
func (d *Diagnostic) Error() string {
	var b strings.Builder
	if d.Subject != nil {
		fmt.Fprintf(&b, "%s: ", d.Subject)
	} else if d.Address != "" {
		fmt.Fprintf(&b, "%s: ", d.Address)
	}
	b.WriteString(d.Summary)
	if text := d.Text(Program); text != "" {
		b.WriteString("; ")
		b.WriteString(text)
	}
	return b.String()
}

// Unwrap returns Err.
func (d *Diagnostic) Unwrap() error { return d.Err }

// List is a collection of diagnostics in the order in which they were found. The nil List is empty and ready for use.
type List []*Diagnostic

// HasErrors reports whether at least one member is an error.
func (l List) HasErrors() bool {
	for _, d := range l {
		if d != nil && d.Severity == Error {
			return true
		}
	}
	return false
}

// Err returns the list as an error, or nil if it has no errors.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return listError{l.real()}
}

type listError struct{ list List }

// Error joins the texts of all members.
func (e listError) Error() string {
	parts := make([]string, 0, len(e.list))
	for _, d := range e.list {
		parts = append(parts, d.Error())
	}
	return strings.Join(parts, "\n")
}

// Unwrap returns the members, so that errors.Is and errors.As find the errors behind them.
func (e listError) Unwrap() []error {
	errs := make([]error, 0, len(e.list))
	for _, d := range e.list {
		errs = append(errs, d)
	}
	return errs
}

// Because sets Err of the last member of a list.
func (l List) Because(err error) List {
	l[len(l)-1].Err = err
	return l
}

// With sets Extra of the last member of a list.
func (l List) With(extra any) List {
	l[len(l)-1].Extra = extra
	return l
}

// OnlyErrors returns the errors of a list.
func (l List) OnlyErrors() (out List) {
	for _, d := range l.real() {
		if d.Severity == Error {
			out = append(out, d)
		}
	}
	return out
}

// OnlyWarnings returns the members that are not errors.
func (l List) OnlyWarnings() (out List) {
	for _, d := range l.real() {
		if d.Severity != Error {
			out = append(out, d)
		}
	}
	return out
}

// Append adds diagnostics and returns the longer list.
func (l List) Append(more ...*Diagnostic) List { return append(l, more...) }

// Extend adds all members of another list.
func (l List) Extend(more List) List { return append(l, more.real()...) }

// real returns the list without nil members, which a provider may have added.
func (l List) real() List {
	if !slices.Contains(l, nil) {
		return l
	}
	return slices.DeleteFunc(slices.Clone(l), func(d *Diagnostic) bool { return d == nil })
}

// Errorf adds an error at a range (which may be nil); format and args are those of the detail. The first argument that
// is an error becomes the Err of the new member; for errors of the operating system, advice follows the detail. An
// argument that is a range becomes its Line.
func (l List) Errorf(subject *hcl.Range, summary, format string, args ...any) List {
	text, err := detail(format, args)
	return append(l, &Diagnostic{Severity: Error, Summary: summary, Detail: text, Subject: subject, Err: err})
}

// Warnf adds a warning, like Errorf.
func (l List) Warnf(subject *hcl.Range, summary, format string, args ...any) List {
	text, err := detail(format, args)
	return append(l, &Diagnostic{Severity: Warning, Summary: summary, Detail: text, Subject: subject, Err: err})
}

// detail returns the text of a problem, and the first of its arguments that is an error.
func detail(format string, args []any) (text string, first error) {
	text = fmt.Sprintf(format, lines(args)...)
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			text = join(text, SystemAdvice(err))
			if first == nil {
				first = err
			}
		}
	}
	return text, first
}

// AppendHCL adds diagnostics of the hcl library, with advice and without secrets of the expression's context.
func (l List) AppendHCL(in hcl.Diagnostics) List {
	secrets := oneByOne()
	for _, d := range in {
		severity := Error
		if d.Severity == hcl.DiagWarning {
			severity = Warning
		}
		found := &Diagnostic{
			Severity: severity, Summary: d.Summary, Detail: withoutColumns(d),
			Subject: d.Subject, Context: d.Context,
			Expression: d.Expression, EvalContext: d.EvalContext, Extra: d.Extra,
		}
		if call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d); ok {
			found.Err = call.FunctionCallError()
		}
		found.Fix = meantByHCL(found)
		found.Detail = advised(found)
		hideSecrets(found, secrets)
		if len(l) > 0 {
			markOperands(l[len(l)-1], found)
		}
		l = append(l, found)
	}
	return l
}

// markOperands marks one of two problems as a consequence of the other: the second one, if both are about operands of
// the same operation, and that of the outer operation, if both are about strings in one sum.
func markOperands(first, second *Diagnostic) {
	if second.Summary != "Invalid operand" || first.Summary != second.Summary || first.Context == nil ||
		second.Context == nil {
		return
	}
	a, b := *first.Context, *second.Context
	switch {
	case a == b:
		second.Follows = true
	case !needsNumber(first) || !needsNumber(second):
	case encloses(a, b):
		first.Follows = true
	case encloses(b, a):
		second.Follows = true
	}
}

// encloses reports whether a range contains another.
func encloses(outer, inner hcl.Range) bool {
	return outer.Filename == inner.Filename && outer.Start.Byte <= inner.Start.Byte &&
		inner.End.Byte <= outer.End.Byte
}

// needsNumber reports whether a problem is about a text where a number is needed.
func needsNumber(d *Diagnostic) bool { return strings.Contains(d.Detail, "a number is required") }

// AppendError adds an error: a Diagnostic or List unchanged, any other error under the given summary, with advice for
// errors of the operating system.
func (l List) AppendError(summary string, err error) List {
	switch e := err.(type) {
	case nil:
		return l
	case *Diagnostic:
		return append(l, e)
	case listError:
		return append(l, e.list...)
	default:
		text := err.Error()
		if err == context.Canceled { // Go's message would not help the user who interrupted
			text = "it was interrupted before it finished"
		}
		return append(l, &Diagnostic{Severity: Error, Summary: summary, Err: err,
			Detail: join(sentence(text), SystemAdvice(err)), Advice: adviceOf(err)})
	}
}

// FromError returns a list of one error.
func FromError(summary string, err error) List { return List(nil).AppendError(summary, err) }

// InAddress returns the list with the address set in every member that has none, as new values.
func (l List) InAddress(address string) List {
	l = l.real()
	out := make(List, len(l))
	for i, d := range l {
		if d.Address == "" {
			c := *d
			c.Address = address
			d = &c
		}
		out[i] = d
	}
	return out
}

// InInstance returns the list with Within set in every member that has none, as new values.
func (l List) InInstance(instance string) List {
	l = l.real()
	out := make(List, len(l))
	for i, d := range l {
		if d.Within == "" {
			c := *d
			c.Within = instance
			d = &c
		}
		out[i] = d
	}
	return out
}

// Sorted returns the members in display order: warnings before errors, so that errors are last on the screen; within a
// severity first those without a position, then by file, line and column; and at one position by module instance and
// address, because the order of evaluation is random. Equal members keep their order.
func (l List) Sorted() List {
	out := make(List, len(l))
	copy(out, l)
	sort.SliceStable(out, func(i, j int) bool { return less(out[i], out[j]) })
	return out
}

// Numbered returns the list with its errors numbered in the order in which they were found, consequences last. It is
// sorted by these numbers. A single error gets no number.
func (l List) Numbered() List {
	l = l.real()
	first := l.Causes().OnlyErrors()
	if len(first) < 2 {
		return l
	}
	numbers := map[*Diagnostic]int{}
	for _, list := range []List{first, l.OnlyErrors()} {
		for _, d := range list {
			if numbers[d] == 0 {
				numbers[d] = len(numbers) + 1
			}
		}
	}
	out := make(List, len(l))
	for i, d := range l {
		numbered := *d
		numbered.Number = numbers[d]
		out[i] = &numbered
	}
	return out
}

func less(a, b *Diagnostic) bool {
	if a.Severity != b.Severity {
		return a.Severity == Warning
	}
	switch {
	case a.Number > 0 && b.Number > 0 && a.Number != b.Number:
		return a.Number < b.Number
	case a.Subject == nil && b.Subject == nil:
	case a.Subject == nil || b.Subject == nil:
		return a.Subject == nil
	case a.Subject.Filename != b.Subject.Filename:
		return a.Subject.Filename < b.Subject.Filename
	case a.Subject.Start.Byte != b.Subject.Start.Byte:
		return a.Subject.Start.Byte < b.Subject.Start.Byte
	}
	if a.Within != b.Within {
		return addressLess(a.Within, b.Within)
	}
	return addressLess(a.Address, b.Address)
}

// addressLess compares addresses as text, except that numbers in them compare by value: a[2] comes before a[10].
func addressLess(a, b string) bool {
	for a != "" && b != "" {
		m, n := digits(a), digits(b)
		if m > 0 && n > 0 && (m != n || a[:m] != b[:n]) {
			return m < n || m == n && a[:m] < b[:n]
		}
		if a[0] != b[0] {
			return a[0] < b[0]
		}
		a, b = a[max(m, 1):], b[max(n, 1):]
	}
	return a == "" && b != ""
}

// digits counts the digits at the beginning of a text.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// sentence converts the text of a Go error to a sentence: a capital letter first, a full stop last.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return s
	}
	if c := s[0]; c >= 'a' && c <= 'z' {
		s = string(c-'a'+'A') + s[1:]
	}
	if last := s[len(s)-1]; last != '.' && last != '!' && last != '?' {
		s += "."
	}
	return s
}
