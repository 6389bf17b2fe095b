package diag

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// secrets are the texts of all marked values that an expression can refer to. They are removed from the problems of its
// evaluation: expressions in JSON get the elements of a marked collection without their marks (see internal/iteration
// for all others), and a message may quote one.
//
// A secret may equal a common word of messages. So quoted text is hidden if it is a secret or contains one of at least
// four bytes; in other text, only secrets of at least eight bytes are hidden.
type secrets []*texts

const (
	inQuotes = 4
	anywhere = 8
)

const withheld = "(sensitive value)"

// secretsOf returns the secrets of a context and its parents.
func secretsOf(ctx *hcl.EvalContext) secrets {
	g := newGathering()
	for ; ctx != nil; ctx = ctx.Parent() {
		for _, v := range ctx.Variables {
			g.gather(v, false)
		}
	}
	return g.all()
}

// has reports whether a text is a secret.
func (s secrets) has(text string) bool {
	return slices.ContainsFunc(s, func(t *texts) bool { return t.has(text) })
}

// beginning returns the length of the longest secret that a text begins with, or 0.
func (s secrets) beginning(text string) (n int) {
	for _, t := range s {
		n = max(n, t.beginning(text))
	}
	return n
}

// hide removes the secrets from a message; overlapping ones are removed together.
func (s secrets) hide(text string) string {
	text = s.hideQuoted(text)
	var b strings.Builder
	end := 0 // of the hidden part
	for i := range len(text) {
		switch n := s.beginning(text[i:]); {
		case n >= anywhere && i >= end:
			b.WriteString(withheld)
			fallthrough
		case n >= anywhere:
			end = max(end, i+n)
		case i >= end:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// hideQuoted removes the secrets from quoted text. The rest of a title consists of fixed words that programs search
// for.
func (s secrets) hideQuoted(text string) string {
	var b strings.Builder
	for text != "" {
		before, rest, ok := strings.Cut(text, `"`)
		b.WriteString(before)
		if !ok {
			break
		}
		n := quotedLen(rest)
		if n < 0 {
			b.WriteString(`"` + rest)
			break
		}
		if s.hasSecret(rest[:n]) {
			b.WriteString(withheld)
		} else {
			b.WriteString(`"` + rest[:n] + `"`)
		}
		text = rest[n+1:]
	}
	return b.String()
}

// hideStatement removes the secrets from a statement about an operand, where even a number of one digit is the value
// itself.
func (s secrets) hideStatement(text string) string {
	if is, ok := strings.CutPrefix(text, "is "); ok && s.has(is) {
		return "has a sensitive value"
	}
	return s.hide(text)
}

// hasSecret reports whether quoted text is a secret or contains one.
func (s secrets) hasSecret(quoted string) bool {
	plain := quoted
	if text, err := strconv.Unquote(`"` + quoted + `"`); err == nil {
		plain = text
	}
	if s.has(plain) || s.has(quoted) {
		return true
	}
	return s.containsLong(plain) || s.containsLong(quoted)
}

// containsLong reports whether a text contains a secret that is long enough to be hidden in quotes.
func (s secrets) containsLong(text string) bool {
	for i := range len(text) {
		if s.beginning(text[i:]) >= inQuotes {
			return true
		}
	}
	return false
}

// quotedLen returns the length of a text up to the quote that ends it, or -1.
func quotedLen(text string) int {
	for i := 0; i < len(text); {
		switch text[i] {
		case '"':
			return i
		case '\\':
			i++
		}
		_, size := utf8.DecodeRuneInString(text[min(i, len(text)-1):])
		i += size
	}
	return -1
}

// hideSecrets removes from a diagnostic the secrets that the context of its expression marks, and from the values that
// are shown with it.
func hideSecrets(d *Diagnostic, of func(*hcl.EvalContext) secrets) {
	if d.EvalContext == nil {
		return
	}
	s := of(d.EvalContext)
	if len(s) == 0 {
		return
	}
	d.Summary, d.Detail, d.Redact = s.hideQuoted(d.Summary), s.hide(d.Detail), s.hideStatement
	if d.Subject != nil && strings.HasSuffix(d.Subject.Filename, ".json") && d.EvalContext.Parent() != nil {
		hideDerived(d)
	}
}

// hideDerived removes from a diagnostic everything that may be derived from a secret. Within a for expression in JSON
// it is not known which values are.
func hideDerived(d *Diagnostic) {
	call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](&hcl.Diagnostic{Extra: d.Extra})
	switch {
	case ok && call.FunctionCallError() != nil:
		d.Detail = fmt.Sprintf("Call to function %q failed: the reason is withheld because it could show a value "+
			"that is sensitive or ephemeral.",
			call.CalledFunctionName())
	case d.Summary == "Duplicate object key":
		d.Detail = duplicateSecret
	}
	d.Redact = func(string) string { return "may be sensitive" }
}

// oneByOne caches the secrets of the last context: problems of one expression are adjacent.
func oneByOne() func(*hcl.EvalContext) secrets {
	var last *hcl.EvalContext
	var s secrets
	return func(ctx *hcl.EvalContext) secrets {
		if ctx != last || s == nil {
			last, s = ctx, secretsOf(ctx)
		}
		return s
	}
}

// duplicateSecret is the message about a secret key that occurs twice in a for expression.
const duplicateSecret = "Two different items produced the same key in this 'for' expression. The key is withheld " +
	"because it could show a value that is sensitive or ephemeral. " +
	"If duplicates are expected, use the ellipsis (...) after the value expression to enable grouping by key."

// secretKey reports whether the key that occurs twice in a for expression is secret.
func secretKey(d *Diagnostic) bool {
	if d.EvalContext == nil || d.Expression == nil {
		return false
	}
	for _, v := range d.EvalContext.Variables { // the key and the element
		if ctyfast.ContainsMarked(v) {
			return true
		}
	}
	key, _ := d.Expression.Value(d.EvalContext)
	return ctyfast.ContainsMarked(key)
}
