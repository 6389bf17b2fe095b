package view

import (
	"bytes"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// renderer writes differences as text. Depth counts levels of four columns; the sign of a change is two columns before
// its line's text.
type renderer struct {
	bytes.Buffer
	style
	// brief leaves out details that terminals do not show; scripts and logs get everything.
	brief bool
	// hide, if not nil, replaces secrets in values; see conceal.go.
	hide func(string) (shown string, whole bool)
	// identity holds the places of the parts that identify an object: see blockNode.identifies.
	identity []span
}

// span is a part of the rendered text.
type span struct{ from, to int }

// identify notes that the text from an offset on says which object changes, and not what.
func (r *renderer) identify(from int) {
	for len(r.identity) > 0 && r.identity[len(r.identity)-1].from >= from {
		r.identity = r.identity[:len(r.identity)-1]
	}
	r.identity = append(r.identity, span{from, r.Len()})
}

// how controls how a part is written.
type how struct {
	// quietNull leaves out the ` -> null` after removed values.
	quietNull bool
	// all shows unchanged parts too.
	all bool
}

func (r *renderer) pad(columns int) { r.WriteString(strings.Repeat(" ", max(0, columns))) }

// lead begins a line with the indentation and the sign of the change.
func (r *renderer) lead(depth int, o op) {
	if o == same {
		r.pad(4 * depth)
		return
	}
	r.pad(4*depth - 2)
	r.WriteString(r.symbol(o))
	r.WriteByte(' ')
}

// hiddenCount writes how many parts are not shown.
func (r *renderer) hiddenCount(depth, n int, what string) {
	if n == 0 {
		return
	}
	r.pad(4 * depth)
	if n > 1 {
		what += "s"
	}
	r.WriteString(r.in(gray, fmt.Sprintf("# (%d unchanged %s hidden)", n, what)))
	r.WriteByte('\n')
}

// replaceNote returns the note after a part that forces a replacement.
func (r *renderer) replaceNote(n *node) string {
	if !n.replace || n.op == same {
		return ""
	}
	return " " + r.in(red, "# forces replacement")
}

// orderNote returns the note after a list in which only the order changes.
func (r *renderer) orderNote(n *node) string {
	if !r.brief || !n.reordered {
		return ""
	}
	return " " + r.in(gray, "# only the order changes")
}

func (r *renderer) nullNote(n *node, h how) string {
	if n.op != remove || h.quietNull || n.kind == scalar && n.before.IsNull() {
		return ""
	}
	return " -> " + r.in(gray, "null")
}

// value writes a difference after `name = `, without a newline.
func (r *renderer) value(n *node, depth int, h how) {
	switch n.kind {
	case scalar:
		if n = r.conceal(n); n.kind == secret {
			r.value(n, depth, h)
			return
		}
		r.scalar(n, depth, h)
	case sequence:
		r.sequence(n, depth, h)
	case bag:
		r.bag(n, depth, h)
	case mapping:
		r.mapping(n, depth, h)
	case object:
		r.object(n, depth, h)
	case nested:
		r.object(n, depth, h)
	case unknown:
		if n.was != nil {
			r.former(n.was, depth)
			r.WriteString(" -> ")
		}
		r.WriteString("(known after apply)" + r.replaceNote(n))
	case secret:
		r.WriteString("(sensitive value)" + r.nullNote(n, h) + r.replaceNote(n))
	case writeOnly:
		r.WriteString("(write-only attribute)" + r.nullNote(n, h) + r.replaceNote(n))
	case copied:
		r.WriteString("(the same as input)" + r.nullNote(n, h))
	case retyped:
		r.value(n.was, depth, how{quietNull: true})
		r.WriteString(" -> ")
		r.value(n.is, depth, h)
		r.WriteString(r.replaceNote(n))
	}
}

// maxFormer limits how many lines of a value are shown if it becomes unknown.
const maxFormer = 12

// Limits of a one-line text that becomes unknown, in characters: from the first on, only the beginning is shown.
const longFormer, headOfFormer = 80, 40

// former writes a value that becomes unknown: of a long text only the beginning, and of a value with many lines only
// the first and the last.
func (r *renderer) former(n *node, depth int) {
	if r.brief && n.kind == scalar && isText(n.before) {
		shown := r.conceal(n)
		text := []rune(shown.before.AsString())
		if shown.kind == scalar && len(text) > longFormer && !slices.Contains(text, '\n') {
			left := fmt.Sprintf("... (%d characters)", len(text))
			r.WriteString(quoted(string(text[:headOfFormer])) + r.in(gray, left))
			return
		}
	}
	whole := renderer{style: r.style, hide: r.hide}
	whole.value(n, depth, how{quietNull: true})
	text := whole.String()
	lines := strings.Count(text, "\n") - 1
	if !r.brief || lines <= maxFormer {
		r.WriteString(text)
		return
	}
	r.WriteString(text[:strings.IndexByte(text, '\n')+1])
	r.pad(4 * (depth + 1))
	r.WriteString(r.in(gray, fmt.Sprintf("# (%d lines of the present value hidden)", lines)))
	r.WriteString(text[strings.LastIndexByte(text, '\n'):])
}

// warnings writes a warning before a line whose sensitivity changes.
func (r *renderer) warnings(n *node, depth int, what string) {
	if n.exposure == 0 {
		return
	}
	end := "."
	if n.unchanged {
		end = ". The value is unchanged."
	}
	var lines [2]string
	switch {
	case what == "block" && n.exposure > 0:
		lines = [2]string{"this block will be marked as sensitive and will not",
			"display in UI output after applying this change."}
	case what == "block":
		lines = [2]string{"this block will no longer be marked as sensitive", "after applying this change."}
	case n.exposure > 0:
		lines = [2]string{"this attribute value will be marked as sensitive and will not",
			"display in UI output after applying this change" + end}
	default:
		lines = [2]string{"this attribute value will no longer be marked as sensitive", "after applying this change" +
			end}
	}
	r.pad(4*depth - 2)
	r.WriteString(r.in(yellow, "# Warning:") + " " + lines[0] + "\n")
	r.pad(4*depth - 2)
	r.WriteString("# " + lines[1] + "\n")
}

// sequence writes a list. Of unchanged elements, only the neighbors of changes are shown.
func (r *renderer) sequence(n *node, depth int, h how) {
	if len(n.children) == 0 {
		r.WriteString("[]" + r.nullNote(n, h) + r.replaceNote(n))
		return
	}
	r.WriteString("[" + r.replaceNote(n) + r.orderNote(n) + "\n")
	inner := how{quietNull: true, all: h.all || n.op == same}
	hidden := 0
	for i, c := range n.children {
		if c.op == same && !inner.all && !n.nearChange(i) {
			hidden++
			continue
		}
		r.hiddenCount(depth+1, hidden, "element")
		hidden = 0
		r.element(c, depth+1, inner)
	}
	r.hiddenCount(depth+1, hidden, "element")
	r.pad(4 * depth)
	r.WriteString("]" + r.nullNote(n, h))
}

// nearChange reports whether an element is next to a changed one. Nested attributes are too long to be context.
func (n *node) nearChange(i int) bool {
	if n.ofNested {
		return false
	}
	return i > 0 && n.children[i-1].op != same || i+1 < len(n.children) && n.children[i+1].op != same
}

// element writes one element of a list or set with its line.
func (r *renderer) element(c *node, depth int, h how) {
	if c.op == same {
		h.all = true
	}
	r.warnings(c, depth, "")
	r.lead(depth, c.op)
	r.value(c, depth, h)
	r.WriteString(",\n")
}

func (r *renderer) bag(n *node, depth int, h how) {
	if len(n.children) == 0 {
		r.WriteString("[]" + r.nullNote(n, h) + r.replaceNote(n))
		return
	}
	r.WriteString("[" + r.replaceNote(n) + "\n")
	hidden := 0
	children, paired := n.children, r.brief && n.matched != nil
	if paired {
		children = n.matched
	}
	for _, c := range children {
		if c.op == same && !h.all && n.op != same {
			hidden++
			continue
		}
		r.element(c, depth+1, how{quietNull: true, all: h.all || paired && isSmall(c.children)})
	}
	r.hiddenCount(depth+1, hidden, "element")
	r.pad(4 * depth)
	r.WriteString("]" + r.nullNote(n, h))
}

func (r *renderer) mapping(n *node, depth int, h how) {
	if len(n.children) == 0 {
		r.WriteString("{}" + r.nullNote(n, h) + r.replaceNote(n))
		return
	}
	r.WriteString("{" + r.replaceNote(n) + "\n")
	keys := make([]string, len(n.names))
	width := 0
	for i, name := range n.names {
		keys[i] = quoted(r.name(name))
		width = max(width, utf8.RuneCountInString(keys[i]))
	}
	if n.ofNested {
		width = 0
	}
	inner := how{quietNull: n.op == remove || n.ofNested, all: h.all || n.op == same}
	hidden := 0
	for i, c := range n.children {
		if c.op == same && !inner.all {
			hidden++
			continue
		}
		r.warnings(c, depth+1, "")
		r.lead(depth+1, c.op)
		r.assign(keys[i], width)
		r.value(c, depth+1, inner)
		if n.ofObjects {
			r.WriteByte(',')
		}
		r.WriteByte('\n')
	}
	r.hiddenCount(depth+1, hidden, "element")
	r.pad(4 * depth)
	r.WriteString("}" + r.nullNote(n, h))
}

// isSmall reports whether the unchanged parts of an element of a set are few and short, so that they can be shown
// beside those that change: an element of a set has no name, and they say which one it is.
func isSmall(parts []*node) bool {
	const most, longest = 6, 60
	for _, p := range parts {
		if p.op == same && (p.kind != scalar || isText(p.before) && len(p.before.AsString()) > longest) {
			return false
		}
	}
	return len(parts) <= most
}

// assign writes a name and the equals sign, aligned.
func (r *renderer) assign(name string, width int) {
	r.WriteString(name)
	r.pad(width - utf8.RuneCountInString(name))
	r.WriteString(" = ")
}

// object writes an object of the type system, a dynamic one, or one of a nested attribute.
func (r *renderer) object(n *node, depth int, h how) {
	if len(n.children) == 0 {
		r.WriteString("{}" + r.nullNote(n, h) + r.replaceNote(n))
		return
	}
	r.WriteString("{" + r.replaceNote(n) + "\n")
	r.members(n, depth+1, how{quietNull: n.kind == object, all: h.all || n.op == same})
	r.pad(4 * depth)
	r.WriteString("}" + r.nullNote(n, h))
}

// important reports whether a name is always shown, because it identifies objects.
func important(name string) bool { return name == "id" || name == "name" || name == "tags" }

// members writes the parts of an object, one per line.
func (r *renderer) members(n *node, depth int, h how) {
	keys := make([]string, len(n.names))
	width := 0
	for i, name := range n.names {
		keys[i] = memberName(r.name(name))
		width = max(width, utf8.RuneCountInString(keys[i]))
	}
	hidden := 0
	for i, c := range n.children {
		if c.op == same && !h.all && !important(n.names[i]) {
			hidden++
			continue
		}
		inner := h
		inner.all = h.all || important(n.names[i])
		from := r.Len()
		r.warnings(c, depth, "")
		r.lead(depth, c.op)
		r.assign(keys[i], width)
		r.value(c, depth, inner)
		r.WriteByte('\n')
		if c.op == same && !h.all {
			r.identify(from)
		}
	}
	r.hiddenCount(depth, hidden, "attribute")
}

// memberName returns a name, without quotes if the language permits that.
func memberName(name string) string {
	if ordinary(name) {
		return name
	}
	if hclsyntax.ValidIdentifier(name) {
		return clean(name)
	}
	return quoted(name)
}

// ordinary reports whether a name has only lower-case letters and underscores, as almost all names of attributes: the
// library creates a scanner for each name.
func ordinary(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// quoted returns a string in quotes. Template sequences are not escaped, because the text is only for reading.
func quoted(s string) string { return strconv.Quote(s) }

// literal returns a scalar as text.
func literal(v cty.Value) string {
	switch ty := v.Type(); {
	case v.IsNull():
		return "null"
	case ty == cty.String:
		return quoted(v.AsString())
	case ty == cty.Number:
		return decimal(v.AsBigFloat())
	case ty == cty.Bool:
		return strconv.FormatBool(v.True())
	}
	return "(" + v.Type().FriendlyName() + ")"
}

// decimal returns a number as text. The library takes microseconds for the 512 bits of a number: more than the rest of
// its line. It rounds whole numbers that have more bits than the precision.
func decimal(f *big.Float) string {
	n, accuracy := f.Int64()
	if accuracy == big.Exact && (n != 0 || !f.Signbit()) && f.MantExp(nil) <= int(f.Prec()) {
		return strconv.FormatInt(n, 10)
	}
	return f.Text('f', -1)
}
