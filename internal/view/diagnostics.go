package view

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/internal/view/live"
)

// Diagnostics returns problems as text, in order. Each begins with an empty line, or is framed if the options select
// color. Warnings with the same summary are shown once, and counted.
func Diagnostics(o Options, list diag.List) string {
	var b strings.Builder
	w := diagnosticWriter{style: style{o.Color}, width: o.width(), more: o.more}
	excerpts := tfjson.NewExcerpts(o.sources())
	for _, g := range grouped(o, list) {
		line, code := excerpts.Fixed(g.first)
		shown := excerpts.Diagnostic(g.first)
		w.number = g.first.Number
		b.WriteString(w.diagnostic(shown, fixed(line, code)+o.sidesOf(g.first), g.others))
	}
	return b.String()
}

// Annotations returns the lines that make a CI service show problems beside lines of files, or "" if the service does
// not support them.
func Annotations(o Options, list diag.List) string {
	var b strings.Builder
	for _, d := range o.Shown(list) {
		shown := *d
		shown.Summary, shown.Detail = cleanLine(d.Summary), clean(d.Text(o.program()))
		b.WriteString(o.CI.Annotation(&shown, o.Repository))
	}
	return b.String()
}

func (o Options) sources() map[string][]byte {
	if o.Sources == nil {
		return nil
	}
	return o.Sources()
}

// group is a diagnostic and the number of similar ones that it represents.
type group struct {
	first  *diag.Diagnostic
	others int
}

// doNotConsolidate is implemented by the Extra of a diagnostic that must not be grouped with others.
type doNotConsolidate interface{ DoNotConsolidateDiagnostic() bool }

// Deprecations selects warnings about deprecated variables and output values of modules.
type Deprecations uint8

// The choices.
const (
	AllDeprecations   Deprecations = iota
	LocalDeprecations              // only of modules in local directories
	NoDeprecations
)

// Shown returns the problems that the text shows: all except for the consequences of others, and deprecation warnings
// that are not selected.
func (o Options) Shown(list diag.List) diag.List {
	var out diag.List
	if !o.AllDiagnostics {
		list = list.Causes()
	}
	for _, d := range list {
		deprecation, is := d.Extra.(diag.Deprecation)
		if !is || o.Deprecations == AllDeprecations || o.Deprecations == LocalDeprecations && !deprecation.Remote {
			out = append(out, d)
		}
	}
	return out
}

// grouped groups warnings with the same summary: a deprecated argument that is used a hundred times needs one warning.
// Those without a location often differ despite their summary, and are not grouped. Of these and of errors, the first
// of each kind are shown and the others counted.
func grouped(o Options, list diag.List) []group {
	var out []group
	at := map[sameTitle]int{}
	list = o.Shown(list)
	if !o.AllDiagnostics {
		list = bounded(list, func(d *diag.Diagnostic) bool {
			return o.foldable(d) || standsApart(d) || o.SeparateWarnings && d.Severity == diag.Warning
		})
	}
	for _, d := range list {
		if !o.foldable(d) {
			out = append(out, group{first: d})
			continue
		}
		k := sameTitle{d.Severity, d.Summary}
		if i, ok := at[k]; ok {
			out[i].others++
			continue
		}
		at[k] = len(out)
		out = append(out, group{first: d})
	}
	return out
}

// foldable reports whether warnings with the same summary are shown as one.
func (o Options) foldable(d *diag.Diagnostic) bool {
	if d.Subject == nil || standsApart(d) {
		return false
	}
	if d.Severity == diag.Warning {
		return !o.SeparateWarnings
	}
	return o.ConsolidateErrors
}

// standsApart reports whether a diagnostic must be shown even if there are many of its kind.
func standsApart(d *diag.Diagnostic) bool {
	extra, ok := d.Extra.(doNotConsolidate)
	return ok && extra.DoNotConsolidateDiagnostic()
}

type diagnosticWriter struct {
	style
	width int
	more  func(code string) string
	// number is the number of the next problem, which the balance refers to, or 0 for none. It is not in the title,
	// which programs search for.
	number int
}

// more returns where to read more about a problem's code.
func (o Options) more(code string) string {
	if o.Embedded {
		return "Code: " + code
	}
	return "More: " + o.program() + " explain " + code
}

// fixed returns the suggested line; number 0 means that there is no suggestion.
func fixed(number int, code string) string {
	if number == 0 {
		return ""
	}
	return fmt.Sprintf("Change line %d to:\n    %s\n", number, clean(code))
}

// diagnostic returns one problem with its frame or without. below follows the text, such as the difference of a
// comparison.
func (w diagnosticWriter) diagnostic(d tfjson.Diagnostic, below string, others int) string {
	color, word := red, "Error: "
	if d.Severity == diag.Warning.String() {
		color, word = yellow, "Warning: "
	}
	width := w.width - 1
	if w.on {
		width -= 2
	}
	var b strings.Builder
	b.WriteString(w.in(bold, w.in(color, word)+w.in(bold, heading(d.Summary))) + "\n\n")
	if place := w.place(d); place != "" {
		b.WriteString(place + "\n")
	}
	if text := strings.TrimRight(clean(d.Detail), "\n"); text != "" {
		b.WriteString(wrap(text, width) + "\n")
	}
	if below != "" {
		b.WriteString("\n" + below)
	}
	if others > 0 {
		b.WriteString("\n" + similar(others, d.Severity) + "\n")
	}
	foot := ""
	if w.number > 0 {
		foot = fmt.Sprintf("Error %d. ", w.number)
	}
	if d.Code != "" && d.Severity == diag.Error.String() {
		foot += w.more(d.Code)
	}
	if foot != "" {
		b.WriteString("\n" + w.in(gray, strings.TrimSpace(foot)) + "\n")
	}
	if !w.on {
		return "\n" + b.String()
	}
	var framed strings.Builder
	framed.WriteString(w.in(color, "╷") + "\n")
	for _, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		framed.WriteString(w.in(color, "│") + " " + line + "\n")
	}
	framed.WriteString(w.in(color, "╵") + "\n")
	return framed.String()
}

// heading returns a summary, which may have several lines, because providers include the errors of others. All lines
// after the first are indented, so that none resembles the beginning of another diagnostic.
func heading(summary string) string {
	lines := strings.Split(strings.TrimSpace(clean(summary)), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(strings.ReplaceAll(lines[i], "\t", "  "), " ")
		if i > 0 && lines[i] != "" {
			lines[i] = "  " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

func similar(n int, what string) string {
	if n == 1 {
		return "(and one more similar " + what + " elsewhere)"
	}
	return fmt.Sprintf("(and %d more similar %ss elsewhere)", n, what)
}

// place returns the location of the problem, with the source lines and the values of the operands.
func (w diagnosticWriter) place(d tfjson.Diagnostic) string {
	var b strings.Builder
	about := d.Address
	if about == "" && strings.Contains(d.Within, "[") { // the source does not show which instance it is
		about = d.Within
	}
	if about != "" {
		b.WriteString("  with " + cleanLine(about))
		if d.Range == nil {
			b.WriteString("\n")
			return b.String()
		}
		b.WriteString(",\n")
	}
	if d.Range == nil {
		return ""
	}
	fmt.Fprintf(&b, "  on %s line %d", cleanLine(d.Range.Filename), d.Range.Start.Line)
	if d.Snippet == nil {
		b.WriteString(":\n  (source code not available)\n")
		return b.String()
	}
	if d.Snippet.Context != nil {
		b.WriteString(", in " + cleanLine(*d.Snippet.Context))
	}
	b.WriteString(":\n")
	w.excerpt(&b, d.Snippet)
	w.operands(&b, d.Snippet)
	return b.String()
}

// Limits of an excerpt. A generated file may be a single line of megabytes.
const (
	longestLine = 1000 // bytes
	lineMargin  = 200  // the context on each side of the subject in a longer line
	mostLines   = 200
	numberWidth = len("   1: ")
)

// excerpt writes the source lines, with the subject underlined if there is color.
func (w diagnosticWriter) excerpt(b *strings.Builder, s *tfjson.Snippet) {
	code, offset := s.Code, 0
	// A problem at a line break is shown after the end of the line, without the next one.
	broken := strings.TrimSpace(subjectOf(s)) == "" && strings.Contains(subjectOf(s), "\n")
	if broken {
		code = s.Code[:s.HighlightStartOffset]
	}
	for i, line := range strings.Split(code, "\n") {
		if i == mostLines {
			b.WriteString("      ...\n")
			return
		}
		from := min(max(s.HighlightStartOffset-offset, 0), len(line))
		to := min(max(s.HighlightEndOffset-offset, from), len(line))
		before, subject, after := line[:from], line[from:to], line[to:]
		if len(line) > longestLine {
			before, subject, after = cutStart(before), cutEnd(subject), cutEnd(after)
		}
		fmt.Fprintf(b, "%4d: %s%s%s\n", s.StartLine+i, clean(before), w.in(underline, clean(subject)), clean(after))
		switch {
		case broken && offset+len(line) == len(code):
			b.WriteString(w.pointer(before, " ", ""))
		case !strings.Contains(strings.TrimSpace(subjectOf(s)), "\n"):
			b.WriteString(w.pointer(before, subject, after))
		}
		offset += len(line) + 1
	}
}

// subjectOf returns the part of an excerpt that a problem is about.
func subjectOf(s *tfjson.Snippet) string {
	return s.Code[min(s.HighlightStartOffset, len(s.Code)):min(s.HighlightEndOffset, len(s.Code))]
}

// pointer returns a line that marks the subject in the line above it, or "" if color does, if the subject is the entire
// line or the header of a block, or if the marker does not fit on the screen.
func (w diagnosticWriter) pointer(before, subject, after string) string {
	rest := strings.TrimSpace(after)
	if w.on || subject == "" || strings.TrimSpace(before) == "" && (rest == "" || rest == "{") {
		return ""
	}
	before = clean(before)
	start := columnAfter(before, numberWidth)
	end := columnAfter(clean(subject), start)
	if end >= w.width || end == start {
		return ""
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", numberWidth))
	for _, r := range before {
		if r == '\t' { // as wide as above, wherever the tab stops are
			b.WriteByte('\t')
		} else {
			b.WriteString(strings.Repeat(" ", live.Width(string(r))))
		}
	}
	return b.String() + strings.Repeat("^", end-start) + "\n"
}

// columnAfter returns the column of a terminal after a text that begins in another.
func columnAfter(text string, column int) int {
	const tab = 8
	for i, part := range strings.Split(text, "\t") {
		if i > 0 {
			column += tab - column%tab
		}
		column += live.Width(part)
	}
	return column
}

// cutStart and cutEnd keep one end of a long text.
func cutStart(text string) string {
	if len(text) <= lineMargin {
		return text
	}
	return "..." + strings.ToValidUTF8(text[len(text)-lineMargin:], "")
}

func cutEnd(text string) string {
	if len(text) <= lineMargin {
		return text
	}
	return strings.ToValidUTF8(text[:lineMargin], "") + "..."
}

func (w diagnosticWriter) operands(b *strings.Builder, s *tfjson.Snippet) {
	if len(s.Values) == 0 && s.FunctionCall == nil {
		return
	}
	bar := "    " + w.in(gray, "│") + " "
	b.WriteString("    " + w.in(gray, "├────────────────") + "\n")
	if f := s.FunctionCall; f != nil {
		b.WriteString(bar + "while calling " + w.in(bold, cleanLine(f.CalledAs)) + "(" + parameters(f.Signature) +
			")\n")
	}
	for _, v := range s.Values {
		b.WriteString(bar + w.in(bold, cleanLine(v.Traversal)) + " " + cleanLine(v.Statement) + "\n")
	}
}

func parameters(s *tfjson.FuncSignature) string {
	if s == nil {
		return "..."
	}
	var names []string
	for _, p := range s.Params {
		names = append(names, p.Name)
	}
	if s.VariadicParam != nil {
		names = append(names, s.VariadicParam.Name+"...")
	}
	return strings.Join(names, ", ")
}

// CompactWarnings returns warnings as a list of their summaries.
func CompactWarnings(o Options, list diag.List) string {
	var b strings.Builder
	s := style{o.Color}
	b.WriteString("\n" + s.in(bold, s.in(yellow, "Warnings:")) + "\n\n")
	for _, g := range grouped(o, list) {
		b.WriteString("- " + cleanLine(g.first.Summary) + "\n")
		if r := g.first.Subject; r != nil {
			fmt.Fprintf(&b, "  on %s line %d", cleanLine(r.Filename), r.Start.Line)
			if g.others > 0 {
				fmt.Fprintf(&b, " (and %d more)", g.others)
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString("\n" + wrap("To see the full warning notes, run "+o.title()+" without -compact-warnings.",
		o.width()-1) + "\n")
	return b.String()
}

// Limits for diagnostics with the same severity and summary, of which there may be thousands.
const (
	mostOfKind = 50 // in full
	mostPlaces = 3  // of the counted ones
)

// sameTitle is the key that groups diagnostics for counting.
type sameTitle struct {
	severity diag.Severity
	summary  string
}

// bounded returns the first diagnostics of each kind, and after the last of these one diagnostic that counts the
// others. A kind is a severity and a summary. Diagnostics for which apart returns true are always kept, and not
// counted. Documents for programs, such as that of `validate -json`, are not bounded, because each problem has a
// location there.
func bounded(list diag.List, apart func(*diag.Diagnostic) bool) diag.List {
	if len(list) <= mostOfKind {
		return list
	}
	seen, counted := map[sameTitle]int{}, map[sameTitle]*diag.Diagnostic{}
	left := map[sameTitle][]string{}
	out := make(diag.List, 0, len(list))
	for _, d := range list {
		k := sameTitle{d.Severity, d.Summary}
		if apart != nil && apart(d) {
			out = append(out, d)
			continue
		}
		if seen[k]++; seen[k] <= mostOfKind {
			out = append(out, d)
			continue
		}
		if counted[k] == nil {
			counted[k] = &diag.Diagnostic{Severity: d.Severity}
			out = append(out, counted[k])
		}
		if p := placeOf(d); p != "" && len(left[k]) < mostPlaces {
			left[k] = append(left[k], p)
		}
	}
	for k, d := range counted {
		rest := seen[k] - mostOfKind
		d.Summary = fmt.Sprintf("%s (and %d more like this)", k.summary, rest)
		d.Detail = fmt.Sprintf("%d problems have this title. The first %d of them are shown.", seen[k], mostOfKind)
		if len(left[k]) > 0 {
			d.Detail += " The next are at " + strings.Join(left[k], ", ") + "."
		}
	}
	return out
}

// placeOf returns a short description of the location of a problem, or "" if it is not known.
func placeOf(d *diag.Diagnostic) string {
	switch {
	case d.Address != "":
		return d.Address
	case d.Subject != nil:
		return fmt.Sprintf("%s line %d", d.Subject.Filename, d.Subject.Start.Line)
	}
	return ""
}

// asserts is implemented by the Extra of a diagnostic about a failed assertion, for which the two sides of a comparison
// are shown.
type asserts interface{ AssertsCondition() bool }

// sidesOf returns the difference of the sides of each comparison that makes an assertion false, or "" if it is not one
// of a == b, or of several of these joined by &&.
func (o Options) sidesOf(d *diag.Diagnostic) string {
	if a, ok := d.Extra.(asserts); !ok || !a.AssertsCondition() || d.Expression == nil {
		return ""
	}
	var b strings.Builder
	for _, e := range comparisons(d.Expression) {
		b.WriteString(o.difference(e, d))
	}
	return b.String()
}

// comparisons returns the parts a == b of an expression that must all be true for it to be true.
func comparisons(e hcl.Expression) []*hclsyntax.BinaryOpExpr {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return comparisons(e.Expression)
	case *hclsyntax.BinaryOpExpr:
		switch e.Op {
		case hclsyntax.OpEqual:
			return []*hclsyntax.BinaryOpExpr{e}
		case hclsyntax.OpLogicalAnd:
			return append(comparisons(e.LHS), comparisons(e.RHS)...)
		}
	}
	return nil
}

// difference returns the sides of a failed comparison as a change from the left one to the right one, without secrets.
func (o Options) difference(e *hclsyntax.BinaryOpExpr, d *diag.Diagnostic) string {
	left, problems := e.LHS.Value(d.EvalContext)
	right, more := e.RHS.Value(d.EvalContext)
	if problems.HasErrors() || more.HasErrors() || !left.IsWhollyKnown() || !right.IsWhollyKnown() {
		return ""
	}
	for _, side := range []cty.Value{left, right} {
		if value.HasDeepSensitive(side) || value.HasDeepEphemeral(side) {
			return "" // the operands are already shown above
		}
	}
	left, _ = left.UnmarkDeep()
	right, _ = right.UnmarkDeep()
	if ctyfast.RawEquals(left, right) {
		return ""
	}
	r := renderer{style: style{o.Color}, brief: o.brief(), hide: o.hidingIn(d)}
	n := compareDynamic(sides{before: left, after: right})
	if n.op == same {
		return wrap("The sides of == look the same, but the left one is "+left.Type().FriendlyName()+
			" and the right one is "+right.Type().FriendlyName()+". Values of different types are never equal.",
			o.width()-1) + "\n"
	}
	r.WriteString("The sides of == differ, from left to right:\n")
	if n.kind == scalar || n.kind == retyped {
		r.pad(4)
	} else {
		r.lead(1, update)
	}
	r.value(n, 1, how{quietNull: true})
	return r.String() + "\n"
}

// hidingIn returns the function that hides secrets in the values of a diagnostic.
func (o Options) hidingIn(d *diag.Diagnostic) func(string) (string, bool) {
	known := o.concealing()
	if d.Redact == nil || o.ShowSensitive {
		return known
	}
	return func(text string) (string, bool) {
		if shown := d.Redact(text); shown != text {
			return shown, false
		}
		if known == nil {
			return text, false
		}
		return known(text)
	}
}
