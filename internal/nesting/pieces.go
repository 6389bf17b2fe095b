package nesting

import (
	"bytes"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
)

// piece is the number of consecutive literal tokens that hcl has to join at once. It joins them in quadratic time, and
// each line and each "%" of a template is a token.
const piece = 64

// ParseTemplate checks the nesting of a template and parses it as hclsyntax.ParseTemplate does, but in linear time. The
// result has the same value and the same ranges. Its errors are those of the first piece that has any.
func ParseTemplate(source []byte, filename string) (hclsyntax.Expression, hcl.Diagnostics, diag.List) {
	if deep := CheckTemplate(source, filename); deep.HasErrors() {
		return nil, nil, deep
	}
	e, diags := parsePieces(source, filename, piece)
	return e, diags, nil
}

// parsePieces parses a template. Long literal text outside of directives is parsed in pieces of size tokens.
func parsePieces(source []byte, filename string, size int) (hclsyntax.Expression, hcl.Diagnostics) {
	cuts := cuts(source, filename, size)
	if len(cuts) == 0 {
		return hclsyntax.ParseTemplate(source, filename, hcl.InitialPos)
	}
	whole := &hclsyntax.TemplateExpr{SrcRange: hcl.Range{Filename: filename, Start: hcl.InitialPos}}
	var literal joined
	begin := hcl.InitialPos
	for i := 0; i <= len(cuts); i++ {
		end := len(source)
		if i < len(cuts) {
			end = cuts[i].Byte
		}
		e, diags := hclsyntax.ParseTemplate(source[begin.Byte:end], filename, begin)
		if diags.HasErrors() {
			return nil, diags
		}
		t, ok := e.(*hclsyntax.TemplateExpr)
		if !ok {
			return hclsyntax.ParseTemplate(source, filename, hcl.InitialPos)
		}
		for _, part := range t.Parts {
			if !literal.add(part) {
				whole.Parts = append(literal.flush(whole.Parts), part)
			}
		}
		whole.SrcRange.End = t.SrcRange.End
		if i < len(cuts) {
			begin = cuts[i]
		}
	}
	whole.Parts = literal.flush(whole.Parts)
	return whole, nil
}

// cuts returns the positions at which a template can be cut into pieces. They are within literal text that is outside
// of directives, and far enough from a sequence that "~" trims only within its piece.
func cuts(source []byte, filename string, size int) []hcl.Pos {
	tokens, _ := hclsyntax.LexTemplate(source, filename, hcl.InitialPos)
	var positions []hcl.Pos
	depth, blocks := 0, 0 // open sequences, open directives
	for i := 0; i < len(tokens); i++ {
		switch tokens[i].Type {
		case hclsyntax.TokenTemplateInterp:
			depth++
		case hclsyntax.TokenTemplateControl:
			if depth == 0 {
				blocks += opens(tokens[i+1:])
			}
			depth++
		case hclsyntax.TokenTemplateSeqEnd:
			depth--
		case hclsyntax.TokenStringLit:
			end := i + 1
			for end < len(tokens) && tokens[end].Type == hclsyntax.TokenStringLit {
				end++
			}
			if depth == 0 && blocks == 0 {
				positions = append(positions, cutsOfText(tokens[i:end], size)...)
			}
			i = end - 1
		}
	}
	return positions
}

// opens returns 1 for the tokens of a directive that begins a block, -1 for one that ends a block, and 0 otherwise.
func opens(tokens hclsyntax.Tokens) int {
	for _, token := range tokens {
		if token.Type != hclsyntax.TokenIdent {
			continue // the "~" of a trimming sequence
		}
		switch string(token.Bytes) {
		case "if", "for":
			return 1
		case "endif", "endfor":
			return -1
		}
		return 0
	}
	return 0
}

// cutsOfText returns the positions at which consecutive literal tokens are cut.
func cutsOfText(tokens hclsyntax.Tokens, size int) []hcl.Pos {
	first, last := 0, len(tokens)-1
	for first < len(tokens) && blank(tokens[first]) {
		first++
	}
	for last > first && blank(tokens[last]) {
		last--
	}
	var positions []hcl.Pos
	latest := first
	for i := first + 1; i <= last; i++ {
		if i-latest < size || maySplitAnEscape(tokens[i-1].Bytes) {
			continue
		}
		positions = append(positions, tokens[i].Range.Start)
		latest = i
	}
	return positions
}

func blank(token hclsyntax.Token) bool { return len(bytes.TrimSpace(token.Bytes)) == 0 }

// maySplitAnEscape reports whether what follows a token could belong to an escape or sequence that the token begins.
func maySplitAnEscape(before []byte) bool {
	return len(before) == 0 || bytes.IndexByte([]byte("$%{"), before[len(before)-1]) >= 0
}

// joined is literal text that is read in pieces.
type joined struct {
	text strings.Builder
	at   hcl.Range
	any  bool
}

// add appends a part of a template, and reports whether the part is literal text.
func (j *joined) add(part hclsyntax.Expression) bool {
	literal, ok := part.(*hclsyntax.LiteralValueExpr)
	if !ok || literal.Val.Type() != cty.String || !literal.Val.IsKnown() || literal.Val.IsNull() {
		return false
	}
	if !j.any {
		j.any, j.at = true, literal.SrcRange
	}
	j.at.End = literal.SrcRange.End
	j.text.WriteString(literal.Val.AsString())
	return true
}

// flush appends the literal text, if there is any, to parts.
func (j *joined) flush(parts []hclsyntax.Expression) []hclsyntax.Expression {
	if !j.any {
		return parts
	}
	parts = append(parts, &hclsyntax.LiteralValueExpr{Val: cty.StringVal(j.text.String()), SrcRange: j.at})
	*j = joined{}
	return parts
}
