// Package format writes configuration in the canonical style: byte for byte like "terraform fmt" of the language
// version.
//
//	out, diags := format.Source(src, "main.tf")
//
// Spaces, indentation and alignment are those of hclwrite. Beyond these, some tokens are changed to their modern form:
//
//   - labels of blocks are quoted, with as few escapes as possible; comments between labels are lost;
//   - an argument that consists of one interpolation, "${x}", becomes the expression itself, in parentheses if it has
//     line breaks;
//   - the type of a variable block is not a string ("string", "list", "map"), and a collection has an element type
//     (list(any)).
//
// As in Terraform, these rules are applied once from outside to inside: "${"${x}"}" becomes "${x}", and x in another
// run. There are two differences, for which Terraform's output is broken: a comment line before the expression in an
// interpolation, and labels with a single % or $, which Terraform removes.
//
// Text with syntax errors is not formatted. The package reads and writes no files.
package format

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/nesting"
)

// Source returns the canonical form of a text in native syntax. After syntax errors it returns only diagnostics.
func Source(src []byte, filename string) ([]byte, diag.List) {
	if diags := nesting.Check(src, filename); diags.HasErrors() {
		return nil, diags
	}
	file, problems := hclwrite.ParseConfig(src, filename, hcl.InitialPos)
	if problems.HasErrors() {
		return nil, diag.List{}.AppendHCL(problems)
	}
	parsed, problems := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	if problems.HasErrors() {
		return nil, diag.List{}.AppendHCL(problems)
	}
	body(file.Body(), parsed.Body.(*hclsyntax.Body), isRoot)
	return file.Bytes(), nil
}

// place is the kind of a body, as far as it matters.
type place uint8

const (
	isRoot place = iota
	isVariable
	isOther
)

// body formats a body. It takes the labels of blocks from the parsed body, because hclwrite does not support labels of
// several tokens.
func body(b *hclwrite.Body, parsed *hclsyntax.Body, at place) {
	for name, attr := range b.Attributes() {
		modern := unwrapped
		if at == isVariable && name == "type" {
			modern = typeExpression
		}
		if tokens := modern(attr.Expr().BuildTokens(nil)); tokens != nil {
			b.SetAttributeRaw(name, tokens)
		}
	}
	for i, block := range b.Blocks() {
		block.SetLabels(parsed.Blocks[i].Labels)
		inside := isOther
		if at == isRoot && block.Type() == "variable" {
			inside = isVariable
		}
		body(block.Body(), parsed.Blocks[i].Body, inside)
	}
}

// unwrapped returns the expression of an interpolation that is the whole text, or nil if there is no interpolation or
// other text.
func unwrapped(tokens hclwrite.Tokens) hclwrite.Tokens {
	n := len(tokens)
	if n < 5 || tokens[0].Type != hclsyntax.TokenOQuote || tokens[1].Type != hclsyntax.TokenTemplateInterp ||
		tokens[n-2].Type != hclsyntax.TokenTemplateSeqEnd || tokens[n-1].Type != hclsyntax.TokenCQuote {
		return nil
	}
	inside := tokens[2 : n-2]
	depth := 0
	for _, token := range inside {
		switch token.Type {
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenTemplateSeqEnd:
			if depth--; depth < 0 {
				return nil // a second interpolation follows
			}
		}
	}
	inside = trimNewlines(inside)
	for i, token := range inside {
		// A comment includes its line break. At the end it is harmless; at the start, Terraform's output has no value
		// for the argument.
		comment := token.Type == hclsyntax.TokenComment && bytes.HasSuffix(token.Bytes, []byte("\n")) &&
			i < len(inside)-1
		if token.Type == hclsyntax.TokenNewline || comment {
			return parenthesized(inside)
		}
	}
	return inside
}

func trimNewlines(tokens hclwrite.Tokens) hclwrite.Tokens {
	for len(tokens) > 0 && tokens[0].Type == hclsyntax.TokenNewline {
		tokens = tokens[1:]
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].Type == hclsyntax.TokenNewline {
		tokens = tokens[:len(tokens)-1]
	}
	return tokens
}

func parenthesized(tokens hclwrite.Tokens) hclwrite.Tokens {
	out := make(hclwrite.Tokens, 0, len(tokens)+2)
	out = append(out, &hclwrite.Token{Type: hclsyntax.TokenOParen, Bytes: []byte("(")})
	out = append(out, tokens...)
	return append(out, &hclwrite.Token{Type: hclsyntax.TokenCParen, Bytes: []byte(")")})
}

// typeExpression returns the modern form of a variable's type, or nil if it already has that form.
func typeExpression(tokens hclwrite.Tokens) hclwrite.Tokens {
	switch {
	case len(tokens) == 1 && tokens[0].Type == hclsyntax.TokenIdent:
		switch name := string(tokens[0].Bytes); name {
		case "list", "map", "set":
			return collection(name, "any")
		}
	case len(tokens) == 3 && tokens[0].Type == hclsyntax.TokenOQuote && tokens[1].Type == hclsyntax.TokenQuotedLit &&
		tokens[2].Type == hclsyntax.TokenCQuote:
		switch name := string(tokens[1].Bytes); name {
		case "string":
			return hclwrite.Tokens{identifier("string")}
		case "list", "map":
			return collection(name, "string")
		}
	}
	return nil
}

func identifier(name string) *hclwrite.Token {
	return &hclwrite.Token{Type: hclsyntax.TokenIdent, Bytes: []byte(name)}
}

func collection(of, element string) hclwrite.Tokens {
	return append(hclwrite.Tokens{identifier(of)}, parenthesized(hclwrite.Tokens{identifier(element)})...)
}
