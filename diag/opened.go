package diag

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// closers holds, by what opens something, what closes it.
var closers = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOBrace: hclsyntax.TokenCBrace, hclsyntax.TokenOBrack: hclsyntax.TokenCBrack,
	hclsyntax.TokenOParen: hclsyntax.TokenCParen, hclsyntax.TokenOQuote: hclsyntax.TokenCQuote,
	hclsyntax.TokenOHeredoc: hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateInterp: hclsyntax.TokenTemplateSeqEnd,
	hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
}

// opened returns a sentence about what is open where the parser noticed that something is missing, if that began before
// the line above: a parser notices a missing bracket where it cannot go on, which may be the end of the file.
func opened(src []byte, at *hcl.Range) string {
	if at == nil {
		return ""
	}
	tokens, _ := hclsyntax.LexConfig(src, at.Filename, hcl.InitialPos)
	var open []hclsyntax.Token
	for _, t := range tokens {
		if t.Range.Start.Byte >= at.Start.Byte && t.Type != hclsyntax.TokenEOF {
			break
		}
		switch n := len(open); {
		case closers[t.Type] != 0:
			open = append(open, t)
		case n > 0 && closers[open[n-1].Type] == t.Type:
			open = open[:n-1]
		}
	}
	if len(open) == 0 {
		return ""
	}
	last := open[len(open)-1]
	if last.Range.Start.Line >= at.Start.Line-1 {
		return ""
	}
	return fmt.Sprintf(" Still open here is the %s in line %d.", firstLine(last.Bytes), last.Range.Start.Line)
}

func firstLine(text []byte) string {
	for i, b := range text {
		if b == '\n' || b == '\r' {
			return string(text[:i])
		}
	}
	return string(text)
}
