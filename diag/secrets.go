package diag

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyset"
)

// secrets are the texts of everything marked that an expression can refer to. They are taken out of what was found when it was evaluated:
// expressions in JSON see the elements of a marked collection without their marks (see internal/iteration for all others), and a message
// about one quotes it.
//
// A secret may be a word that every message has. So a text in quotes is hidden when it is a secret or has one of four bytes and more in it,
// and elsewhere only secrets of eight bytes and more are.
type secrets struct {
	texts map[string]bool
	any   bool // something is marked, which may have no text
}

const (
	inQuotes = 4
	anywhere = 8
)

const withheld = "(sensitive value)"

// secretsOf gathers the secrets of a context and all around it.
func secretsOf(ctx *hcl.EvalContext) *secrets {
	s := &secrets{texts: map[string]bool{}}
	for ; ctx != nil; ctx = ctx.Parent() {
		for _, v := range ctx.Variables {
			s.gather(v, false)
		}
	}
	return s
}

func (s *secrets) gather(v cty.Value, within bool) {
	if v == cty.NilVal || !within && !ctyset.ContainsMarked(v) {
		return
	}
	v, marks := v.Unmark()
	within = within || len(marks) > 0
	s.any = s.any || within
	switch ty := v.Type(); {
	case !v.IsKnown() || v.IsNull():
	case ty == cty.String && within:
		s.add(v.AsString())
	case ty == cty.Number && within:
		s.add(numeral(v.AsBigFloat()))
	case v.CanIterateElements():
		for key, element := range ctyset.Each(v) {
			if within && ty.IsMapType() {
				s.add(key.AsString())
			}
			s.gather(element, within)
		}
	}
}

// numeral writes a number as messages do; "" for one that nobody writes out.
func numeral(f *big.Float) string {
	const maxBits = 4096
	if exp := f.MantExp(nil); exp > maxBits || exp < -maxBits {
		return ""
	}
	return f.Text('f', -1)
}

func (s *secrets) add(text string) {
	for _, part := range append(strings.Split(text, "\n"), text) {
		if part = strings.TrimSpace(part); part != "" && part != "true" && part != "false" && part != "null" {
			s.texts[part] = true
		}
	}
}

// hide takes the secrets out of a message.
func (s *secrets) hide(text string) string {
	if s == nil || len(s.texts) == 0 || text == "" {
		return text
	}
	out := s.hideQuoted(text)
	for _, secret := range s.long() {
		out = strings.ReplaceAll(out, secret, withheld)
	}
	return out
}

// hideQuoted takes the secrets out of what stands in quotes. All else of a title is fixed words, which programs look for.
func (s *secrets) hideQuoted(text string) string {
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
		if s.tells(rest[:n]) {
			b.WriteString(withheld)
		} else {
			b.WriteString(`"` + rest[:n] + `"`)
		}
		text = rest[n+1:]
	}
	return b.String()
}

// hideStatement takes the secrets out of what is said of an operand, where even a number of one digit is the value itself.
func (s *secrets) hideStatement(text string) string {
	if is, ok := strings.CutPrefix(text, "is "); ok && s.texts[is] {
		return "has a sensitive value"
	}
	return s.hide(text)
}

// long gives the secrets that are hidden wherever they stand, long ones first: one may be a part of another.
func (s *secrets) long() []string {
	var list []string
	for secret := range s.texts {
		if len(secret) >= anywhere {
			list = append(list, secret)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return list
}

// tells reports whether what stands in quotes is a secret, or has one in it.
func (s *secrets) tells(quoted string) bool {
	plain := quoted
	if text, err := strconv.Unquote(`"` + quoted + `"`); err == nil {
		plain = text
	}
	if s.texts[plain] || s.texts[quoted] {
		return true
	}
	for secret := range maps.Keys(s.texts) {
		if len(secret) >= inQuotes && (strings.Contains(plain, secret) || strings.Contains(quoted, secret)) {
			return true
		}
	}
	return false
}

// quotedLen gives the length of a text up to the quote that ends it, or -1.
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

// hideSecrets takes out of a diagnostic what the context of its expression marks, and keeps it out of the values that are shown with it.
func hideSecrets(d *Diagnostic, of func(*hcl.EvalContext) *secrets) {
	if d.EvalContext == nil {
		return
	}
	s := of(d.EvalContext)
	if !s.any {
		return
	}
	d.Summary, d.Detail, d.Redact = s.hideQuoted(d.Summary), s.hide(d.Detail), s.hideStatement
	if d.Subject != nil && strings.HasSuffix(d.Subject.Filename, ".json") && d.EvalContext.Parent() != nil {
		hideDerived(d)
	}
}

// hideDerived takes out of a diagnostic whatever may have been made of a secret. Inside of a for expression in JSON nobody knows what has been.
func hideDerived(d *Diagnostic) {
	call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](&hcl.Diagnostic{Extra: d.Extra})
	switch {
	case ok && call.FunctionCallError() != nil:
		d.Detail = fmt.Sprintf("Call to function %q failed: the reason is withheld because it could show a value that is sensitive or ephemeral.",
			call.CalledFunctionName())
	case d.Summary == "Duplicate object key":
		d.Detail = duplicateSecret
	}
	d.Redact = func(string) string { return "may be sensitive" }
}

// oneByOne remembers the secrets of the last context that was asked for: problems of one expression come together.
func oneByOne() func(*hcl.EvalContext) *secrets {
	var last *hcl.EvalContext
	var s *secrets
	return func(ctx *hcl.EvalContext) *secrets {
		if ctx != last || s == nil {
			last, s = ctx, secretsOf(ctx)
		}
		return s
	}
}

// duplicateSecret is said of a key that two items of a for expression have, instead of the key.
const duplicateSecret = "Two different items produced the same key in this 'for' expression. The key is withheld because it could show a value that is sensitive or ephemeral. " +
	"If duplicates are expected, use the ellipsis (...) after the value expression to enable grouping by key."

// secretKey reports whether the key that two items of a for expression have is to be kept secret.
func secretKey(d *Diagnostic) bool {
	if d.EvalContext == nil || d.Expression == nil {
		return false
	}
	for _, v := range d.EvalContext.Variables { // the key and the element
		if ctyset.ContainsMarked(v) {
			return true
		}
	}
	key, _ := d.Expression.Value(d.EvalContext)
	return ctyset.ContainsMarked(key)
}
