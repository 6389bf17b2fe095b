package console

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// depth counts the open brackets of an input line by line. Each line is scanned once; only a template that spans lines
// keeps them.
type depth struct {
	brackets int
	// text is the current line, or all lines since the start of a heredoc, whose tokens must be scanned together.
	text   []byte
	marker string // closing marker of the open heredoc, if any
}

// open reports whether the expression continues. A surplus closing bracket ends it, with an error.
func (d *depth) open() bool { return d.brackets > 0 || d.marker != "" }

// add adds a line.
func (d *depth) add(line string) {
	if d.marker != "" {
		d.text = append(append(d.text, line...), '\n')
		if strings.TrimSpace(line) != d.marker {
			return
		}
	} else {
		d.text = append([]byte(line), '\n')
	}
	brackets, marker := scan(d.text)
	if d.marker = marker; marker != "" {
		return
	}
	d.brackets += brackets
}

// scan counts the brackets that a text leaves open, and returns the marker of an open heredoc.
func scan(text []byte) (brackets int, marker string) {
	tokens, _ := hclsyntax.LexExpression(text, Filename, hcl.InitialPos)
	var heredocs []string
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOParen, hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenTemplateInterp,
			hclsyntax.TokenTemplateControl:
			brackets++
		case hclsyntax.TokenCParen, hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenTemplateSeqEnd:
			brackets--
		case hclsyntax.TokenOHeredoc:
			heredocs = append(heredocs, strings.TrimLeft(strings.TrimSpace(string(t.Bytes)), "<-"))
		case hclsyntax.TokenCHeredoc:
			if len(heredocs) > 0 {
				heredocs = heredocs[:len(heredocs)-1]
			}
		}
	}
	if len(heredocs) > 0 {
		return 0, heredocs[len(heredocs)-1]
	}
	return brackets, ""
}
