package diag

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// closers maps each opening token to its closing token.
var closers = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOBrace: hclsyntax.TokenCBrace, hclsyntax.TokenOBrack: hclsyntax.TokenCBrack,
	hclsyntax.TokenOParen: hclsyntax.TokenCParen, hclsyntax.TokenOQuote: hclsyntax.TokenCQuote,
	hclsyntax.TokenOHeredoc: hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateInterp: hclsyntax.TokenTemplateSeqEnd,
	hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
}

// brackets finds the open brackets at positions of a text. It scans the text once for all of its problems.
type brackets struct {
	tokens hclsyntax.Tokens
	next   int
	open   []hclsyntax.Token
}

func newBrackets(src []byte, filename string) *brackets {
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	return &brackets{tokens: tokens}
}

// opened returns a sentence about the block or bracket that is open at the position of a parse error, if it was opened
// before the line above: a parser notices a missing bracket only where it cannot continue, which may be at the end of
// the file. Positions must be passed in ascending order.
func (b *brackets) opened(at *hcl.Range) string {
	for ; b.next < len(b.tokens) && b.tokens[b.next].Range.Start.Byte < at.Start.Byte; b.next++ {
		t := b.tokens[b.next]
		switch n := len(b.open); {
		case closers[t.Type] != 0:
			b.open = append(b.open, t)
		case n > 0 && closers[b.open[n-1].Type] == t.Type:
			b.open = b.open[:n-1]
		}
	}
	if len(b.open) == 0 {
		return ""
	}
	last := b.open[len(b.open)-1]
	if last.Range.Start.Line >= at.Start.Line-1 {
		return ""
	}
	return fmt.Sprintf(" Still open here is the %s in line %d.", firstLine(last.Bytes), last.Range.Start.Line)
}

// addOpened adds to the problems of a text which block or bracket is open at each.
func addOpened(found List, src []byte) {
	order := slices.Clone(found)
	slices.SortStableFunc(order, func(a, b *Diagnostic) int { return start(a) - start(b) })
	var b *brackets
	for _, d := range order {
		if d.Subject == nil || !d.unreadable() || strings.HasSuffix(d.Subject.Filename, ".json") ||
			d.Summary == "Unclosed configuration block" {
			continue
		}
		if b == nil {
			b = newBrackets(src, d.Subject.Filename)
		}
		d.Detail += b.opened(d.Subject)
	}
}

func firstLine(text []byte) string {
	for i, b := range text {
		if b == '\n' || b == '\r' {
			return string(text[:i])
		}
	}
	return string(text)
}
