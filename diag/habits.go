package diag

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// habits returns the changes for a parse error that may be due to a habit from another language: "if x then y else z",
// "not x", "x ** y", or a string without quotes.
func habits(d *Diagnostic, src []byte) []Fix {
	e := expressionAt(*d.Subject, src)
	if e == nil {
		return nil
	}
	if fix := e.decision(); fix != nil {
		return []Fix{fix}
	}
	var list []Fix
	for _, fix := range []Fix{e.words(), e.increment(), e.power(), e.joined(), e.unquoted()} {
		if fix != nil {
			list = append(list, fix)
		}
	}
	return list
}

// foreign is the text that should be an expression: the tokens from an equals sign to the end of the line, or to the
// bracket or comma that ends it before.
type foreign struct {
	src    []byte
	tokens hclsyntax.Tokens
}

// expressionAt returns the expression around a range, or nil if there is none.
func expressionAt(at hcl.Range, src []byte) *foreign {
	tokens, _ := hclsyntax.LexConfig(src, at.Filename, hcl.InitialPos)
	from := -1
	for i, t := range tokens {
		if t.Type == hclsyntax.TokenEqual && t.Range.Start.Line == at.Start.Line && t.Range.Start.Byte < at.Start.Byte {
			from = i + 1
		}
	}
	if from < 0 {
		return nil
	}
	depth, to := 0, from
	for ; to < len(tokens); to++ {
		t := tokens[to]
		if closers[t.Type] != 0 {
			depth++
		} else if isCloser(t.Type) {
			depth--
		}
		ends := t.Type == hclsyntax.TokenNewline || t.Type == hclsyntax.TokenComma || t.Type == hclsyntax.TokenComment
		if depth < 0 || depth == 0 && ends || t.Type == hclsyntax.TokenEOF {
			break
		}
	}
	if from == to {
		return nil
	}
	return &foreign{src, tokens[from:to]}
}

func isCloser(t hclsyntax.TokenType) bool {
	for _, closer := range closers {
		if closer == t {
			return true
		}
	}
	return false
}

func (e *foreign) start() int { return e.tokens[0].Range.Start.Byte }

func (e *foreign) end() int { return e.tokens[len(e.tokens)-1].Range.End.Byte }

func (e *foreign) replaced(text string) Fix {
	return Fix{{Range: stretch(e.tokens[0].Range, e.start(), e.end()), New: text}}
}

// between returns the text after one token and before another.
func (e *foreign) between(after, before int) string {
	from, to := e.start(), e.end()
	if after >= 0 {
		from = e.tokens[after].Range.End.Byte
	}
	if before < len(e.tokens) {
		to = e.tokens[before].Range.Start.Byte
	}
	return strings.TrimSpace(string(e.src[from:to]))
}

// next returns the first token from an index that is one of the words, outside of brackets; len(tokens) for none.
func (e *foreign) next(from int, words ...string) int {
	depth := 0
	for i := from; i < len(e.tokens); i++ {
		t := e.tokens[i]
		if closers[t.Type] != 0 {
			depth++
		} else if isCloser(t.Type) {
			depth--
		}
		if depth == 0 && t.Type == hclsyntax.TokenIdent && slices.Contains(words, string(t.Bytes)) {
			return i
		}
	}
	return len(e.tokens)
}

// decision rewrites "if a then b elseif c then d else e" and "b if a else c" as conditional expressions.
func (e *foreign) decision() Fix {
	n := len(e.tokens)
	at := e.next(0, "if")
	if at == n {
		return nil
	}
	if otherwise := e.next(at, "else"); at > 0 && otherwise < n {
		return e.replaced(e.between(at, otherwise) + " ? " + e.between(-1, at) + " : " + e.between(otherwise, n))
	}
	if at > 0 {
		return nil
	}
	text := ""
	for at < n {
		then := e.next(at+1, "then")
		otherwise := e.next(then, "else", "elseif", "elsif", "elif")
		if otherwise == n {
			return nil
		}
		text += e.between(at, then) + " ? " + e.between(then, otherwise) + " : "
		at = otherwise
		if string(e.tokens[at].Bytes) != "else" {
			continue
		}
		if at+1 == n || string(e.tokens[at+1].Bytes) != "if" {
			return e.replaced(text + e.between(at, n))
		}
		at++
	}
	return nil
}

// words replaces the operators and, or and not.
func (e *foreign) words() (fix Fix) {
	for i, t := range e.tokens {
		if t.Type != hclsyntax.TokenIdent || i > 0 && e.tokens[i-1].Type == hclsyntax.TokenDot {
			continue
		}
		switch string(t.Bytes) {
		case "and":
			fix = append(fix, Edit{Range: t.Range, New: "&&"})
		case "or":
			fix = append(fix, Edit{Range: t.Range, New: "||"})
		case "not":
			if i+1 < len(e.tokens) {
				to := e.tokens[i+1].Range.Start.Byte
				fix = append(fix, Edit{Range: stretch(t.Range, t.Range.Start.Byte, to), New: "!"})
			}
		}
	}
	return fix
}

// twice returns the index of the first two adjacent tokens of these types, or -1.
func (e *foreign) twice(first, second hclsyntax.TokenType) int {
	for i := range len(e.tokens) - 1 {
		a, b := e.tokens[i], e.tokens[i+1]
		if a.Type == first && b.Type == second && a.Range.End.Byte == b.Range.Start.Byte {
			return i
		}
	}
	return -1
}

// increment replaces x++ by x + 1.
func (e *foreign) increment() Fix {
	i := e.twice(hclsyntax.TokenPlus, hclsyntax.TokenPlus)
	if i <= 0 || i+2 != len(e.tokens) {
		return nil
	}
	at := e.tokens[i-1].Range.End.Byte
	return Fix{{Range: stretch(e.tokens[0].Range, at, e.end()), New: " + 1"}}
}

// power replaces x ** y by pow(x, y).
func (e *foreign) power() Fix {
	i := e.twice(hclsyntax.TokenStar, hclsyntax.TokenStar)
	op := e.operation(i, hclsyntax.OpMultiply)
	if op == nil {
		return nil
	}
	if _, nested := op.LHS.(*hclsyntax.BinaryOpExpr); nested {
		return nil // a power binds closer
	}
	left, right := op.LHS.Range(), op.RHS.Range()
	return Fix{inserted(left, left.Start.Byte, "pow(")[0],
		{Range: stretch(left, left.End.Byte, right.Start.Byte), New: ", "}, inserted(left, right.End.Byte, ")")[0]}
}

// joined replaces x ++ y by one string.
func (e *foreign) joined() Fix {
	op := e.operation(e.twice(hclsyntax.TokenPlus, hclsyntax.TokenPlus), hclsyntax.OpAdd)
	if op == nil {
		return nil
	}
	return concatenated(op)
}

// operation returns the operation whose operator is written twice at a token, or nil.
func (e *foreign) operation(token int, kind *hclsyntax.Operation) *hclsyntax.BinaryOpExpr {
	if token < 0 {
		return nil
	}
	text := bytes.Clone(e.src)
	second := e.tokens[token+1].Range.Start.Byte
	text[second] = ' '
	file, diags := hclsyntax.ParseConfig(text, e.tokens[0].Range.Filename, hcl.InitialPos)
	if diags.HasErrors() {
		return nil
	}
	var found *hclsyntax.BinaryOpExpr
	_ = hclsyntax.VisitAll(file.Body.(*hclsyntax.Body), func(node hclsyntax.Node) hcl.Diagnostics {
		op, ok := node.(*hclsyntax.BinaryOpExpr)
		if ok && op.Op == kind && op.LHS.Range().End.Byte <= second && second <= op.RHS.Range().Start.Byte {
			found = op
		}
		return nil
	})
	return found
}

// unquoted puts words in quotes.
func (e *foreign) unquoted() Fix {
	for i, t := range e.tokens {
		word := t.Type == hclsyntax.TokenIdent || t.Type == hclsyntax.TokenNumberLit
		if !word || i > 0 && bytes.Equal(e.tokens[i-1].Bytes, t.Bytes) { // or one is there twice
			return nil
		}
		switch string(t.Bytes) {
		case "if", "then", "else", "and", "or", "not":
			return nil
		}
	}
	return e.replaced(`"` + string(e.src[e.start():e.end()]) + `"`)
}

// concatenated returns the change of a sum with strings to a template, or nil if none of its operands is a literal
// string, or one of them is null, which no template can contain.
func concatenated(op *hclsyntax.BinaryOpExpr) (fix Fix) {
	parts, ok := summands(op)
	if !ok {
		return nil
	}
	opened := false // the part before is an interpolation without an end
	for i, part := range parts {
		is := part.Range()
		from, to, text := is.Start.Byte, is.Start.Byte, ""
		if i > 0 {
			from = parts[i-1].Range().End.Byte
			if isTemplate(parts[i-1]) {
				from-- // its quote
			}
		}
		if opened {
			text = "}"
		}
		word, plain := plainText(part)
		opened = !plain && !isTemplate(part)
		switch {
		case isNull(part):
			return nil
		case isTemplate(part) && i > 0:
			to++ // its quote
		case isTemplate(part):
		case i == 0:
			text = `"`
		}
		if plain {
			text, to = text+word, is.End.Byte
		} else if opened {
			text += "${"
		}
		if from < to || text != "" {
			fix = append(fix, Edit{Range: stretch(is, from, to), New: text})
		}
	}
	switch last := parts[len(parts)-1]; {
	case opened:
		fix = append(fix, inserted(last.Range(), last.Range().End.Byte, `}"`)...)
	case !isTemplate(last):
		fix[len(fix)-1].New += `"`
	}
	return fix
}

// plainText returns the text of a literal number or bool in a string.
func plainText(e hclsyntax.Expression) (string, bool) {
	literal, ok := e.(*hclsyntax.LiteralValueExpr)
	if !ok || literal.Val.IsNull() {
		return "", false
	}
	text, err := convert.Convert(literal.Val, cty.String)
	if err != nil {
		return "", false
	}
	return text.AsString(), true
}

func isNull(e hclsyntax.Expression) bool {
	literal, ok := e.(*hclsyntax.LiteralValueExpr)
	return ok && literal.Val.IsNull()
}

// isTemplate reports whether an expression is a string in quotes.
func isTemplate(e hclsyntax.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.TemplateExpr:
		return e.Range().Start.Line == e.Range().End.Line // no heredoc
	case *hclsyntax.TemplateWrapExpr:
		return true
	}
	return false
}

// summands returns the operands of a sum, and reports whether a literal string is among them. A sum without one is a
// single operand.
func summands(e hclsyntax.Expression) (list []hclsyntax.Expression, strings bool) {
	op, ok := e.(*hclsyntax.BinaryOpExpr)
	if !ok || op.Op != hclsyntax.OpAdd {
		return []hclsyntax.Expression{e}, isTemplate(e)
	}
	left, inLeft := summands(op.LHS)
	right, inRight := summands(op.RHS)
	if !inLeft && !inRight {
		return []hclsyntax.Expression{e}, false
	}
	return append(left, right...), true
}

// decided returns the change of if(a, b, c) to (a ? b : c), or nil.
func decided(call *hclsyntax.FunctionCallExpr) Fix {
	if len(call.Args) != 3 || call.ExpandFinal {
		return nil
	}
	if _, nested := call.Args[0].(*hclsyntax.ConditionalExpr); nested {
		return nil
	}
	at, condition := call.Range(), call.Args[0].Range()
	fix := Fix{{Range: stretch(at, at.Start.Byte, condition.Start.Byte), New: "("}}
	for i, sign := range []string{" ? ", " : "} {
		from, to := call.Args[i].Range().End.Byte, call.Args[i+1].Range().Start.Byte
		fix = append(fix, Edit{Range: stretch(at, from, to), New: sign})
	}
	return append(fix, Edit{Range: stretch(at, call.Args[2].Range().End.Byte, at.End.Byte), New: ")"})
}

// FixIn returns the change that would probably solve the problem: its Fix, if that fits the source around it, or one
// that can only be found in the source. That is a template in place of a sum with strings, or an equals sign that is
// missing or too much.
func (d *Diagnostic) FixIn(source []byte) Fix {
	if d.Subject == nil || d.Subject.End.Byte > len(source) || len(source) > longestRepaired ||
		strings.HasSuffix(d.Subject.Filename, ".json") {
		return d.Fix
	}
	switch {
	case len(d.Fix) == 2 && d.Fix[0].New == `"` && !whole(*d.Subject, source):
		return nil
	case len(d.Fix) > 0:
		return d.Fix
	case d.Summary == "Invalid operand":
		return d.template(source)
	case d.Summary == "Unsupported argument" && (strings.Contains(d.Detail, "It is a block:") ||
		strings.Contains(d.Detail, "define a block of type")):
		rest := bytes.TrimLeft(source[d.Subject.End.Byte:], " \t")
		if bytes.HasPrefix(rest, []byte("=")) {
			to := len(source) - len(bytes.TrimLeft(rest[1:], " \t"))
			return Fix{{Range: stretch(*d.Subject, d.Subject.End.Byte, to), New: " "}}
		}
	case d.Summary == "Unsupported block type" && strings.Contains(d.Detail, "use the equals sign"):
		return inserted(*d.Subject, d.Subject.End.Byte, " =")
	}
	return nil
}

// whole reports whether a range seems to be a whole value: of an argument, or of an element.
func whole(at hcl.Range, source []byte) bool {
	before := bytes.TrimRight(source[:at.Start.Byte], " \t\r\n")
	rest := bytes.TrimLeft(source[at.End.Byte:], " \t")
	begins := len(before) > 0 && bytes.IndexByte([]byte("=[,("), before[len(before)-1]) >= 0
	return begins && (len(rest) == 0 || bytes.IndexByte([]byte("\r\n,])}#"), rest[0]) >= 0)
}

// template returns the change of the sum around an operand to a template, or nil if it has no literal string.
func (d *Diagnostic) template(source []byte) Fix {
	file, diags := hclsyntax.ParseConfig(source, d.Subject.Filename, hcl.InitialPos)
	if diags.HasErrors() {
		return nil
	}
	var sum *hclsyntax.BinaryOpExpr // the outermost
	_ = hclsyntax.VisitAll(file.Body.(*hclsyntax.Body), func(node hclsyntax.Node) hcl.Diagnostics {
		op, ok := node.(*hclsyntax.BinaryOpExpr)
		if ok && op.Op == hclsyntax.OpAdd && sum == nil && op.Range().Start.Byte <= d.Subject.Start.Byte &&
			d.Subject.End.Byte <= op.Range().End.Byte {
			sum = op
		}
		return nil
	})
	if sum == nil {
		return nil
	}
	if fix := concatenated(sum); parses(fix, source, d.Subject.Filename) {
		return fix
	}
	return nil
}
