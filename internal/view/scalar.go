package view

import (
	"encoding/json"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/provider"
)

// scalar writes the difference of two scalars. Strings with JSON are compared as JSON values, strings of several lines
// line by line.
func (r *renderer) scalar(n *node, depth int, h how) {
	if isText(n.before) || isText(n.after) {
		if r.embedded(n, depth, h) || r.lines(n, depth, h) {
			return
		}
	}
	switch n.op {
	case create:
		r.WriteString(literal(n.after))
	case update:
		r.WriteString(literal(n.before) + " -> " + literal(n.after))
	default:
		r.WriteString(literal(n.before) + r.nullNote(n, h))
	}
	r.WriteString(r.replaceNote(n))
}

func isText(v cty.Value) bool {
	return !isAbsent(v) && v.IsKnown() && !v.IsNull() && v.Type() == cty.String
}

// sideOf returns the difference that adds or removes one side of a scalar alone.
func sideOf(n *node, o op) *node {
	if o == create {
		return &node{kind: scalar, op: create, after: n.after}
	}
	return &node{kind: scalar, op: remove, before: n.before}
}

// parseEmbedded reads a string that holds a JSON object or array. What it holds is anyone's: neither its depth nor its
// numbers may keep this program from showing it.
func parseEmbedded(v cty.Value) (cty.Value, bool) {
	if !isText(v) {
		return cty.NilVal, false
	}
	s := strings.Trim(v.AsString(), " \t\r\n") // the white space of JSON
	if s == "" || s[0] != '{' && s[0] != '[' {
		return cty.NilVal, false
	}
	raw := []byte(s)
	if !json.Valid(raw) { // which also limits the depth
		return cty.NilVal, false
	}
	ty, err := ctyjson.ImpliedType(raw)
	if err != nil || provider.CheckNumbers(raw, ty, ctyjson.Unmarshal) != nil {
		return cty.NilVal, false
	}
	parsed, err := ctyjson.Unmarshal(raw, ty)
	return parsed, err == nil
}

// embedded writes strings that hold JSON; it reports false when neither side does.
func (r *renderer) embedded(n *node, depth int, h how) bool {
	before, beforeOK := parseEmbedded(n.before)
	after, afterOK := parseEmbedded(n.after)
	switch {
	case n.op == create && afterOK:
		r.call(compareDynamic(sides{after: after}), create, depth, r.replaceNote(n))
	case n.op == remove && beforeOK:
		r.call(compareDynamic(sides{before: before}), remove, depth, r.replaceNote(n))
		r.WriteString(r.nullNote(n, h))
	case n.op == same && beforeOK:
		r.call(compareDynamic(sides{before: before, after: before}), same, depth, "")
	case n.op == update && beforeOK && afterOK:
		r.bothEmbedded(compareDynamic(sides{before: before, after: after}), depth, r.replaceNote(n))
	case n.op == update && (beforeOK || afterOK):
		// One side only: each is shown as it is.
		r.value(sideOf(n, remove), depth, how{quietNull: true})
		r.WriteString(" -> ")
		r.value(sideOf(n, create), depth, h)
		r.WriteString(r.replaceNote(n))
	default:
		return false
	}
	return true
}

// bothEmbedded writes the difference of two JSON texts, which may be none but white space.
func (r *renderer) bothEmbedded(d *node, depth int, note string) {
	if d.op == same {
		r.call(d, same, depth, " "+r.in(gray, "# whitespace changes")+note)
		return
	}
	r.call(d, update, depth, note)
}

// call writes jsonencode(...) around a value. The sign of the value itself is only written where both sides have one.
func (r *renderer) call(d *node, o op, depth int, note string) {
	if len(d.children) == 0 && (d.kind != retyped || len(d.was.children) == 0 && len(d.is.children) == 0) {
		r.WriteString("jsonencode(")
		r.value(d, depth, how{quietNull: true})
		r.WriteString(")" + note)
		return
	}
	r.WriteString("jsonencode(" + note + "\n")
	if o != update {
		o = same
	}
	r.lead(depth+1, o)
	r.value(d, depth+1, how{quietNull: true})
	r.WriteByte('\n')
	r.pad(4 * depth)
	r.WriteByte(')')
}

// lines writes strings of several lines as a here document; it reports false without any.
func (r *renderer) lines(n *node, depth int, h how) bool {
	multi := func(v cty.Value) bool { return isText(v) && strings.Contains(v.AsString(), "\n") }
	if !multi(n.before) && !multi(n.after) {
		return false
	}
	if n.op == update && !(isText(n.before) && isText(n.after)) {
		r.value(sideOf(n, remove), depth, how{quietNull: true})
		r.WriteString(" -> ")
		r.value(sideOf(n, create), depth, h)
		r.WriteString(r.replaceNote(n))
		return true
	}
	r.WriteString("<<-EOT" + r.replaceNote(n) + "\n")
	switch n.op {
	case update:
		r.changedLines(textItems(n.before), textItems(n.after), depth)
	default:
		v := n.after
		if isAbsent(v) {
			v = n.before
		}
		for _, l := range textLines(v) {
			r.pad(4 * (depth + 1))
			r.WriteString(clean(strings.TrimSuffix(l, "\r")) + "\n")
		}
	}
	r.pad(4 * depth)
	r.WriteString("EOT" + r.nullNote(n, h))
	return true
}

// The lines around a change that are shown, and how many unchanged ones have to be left over to be worth hiding.
const (
	contextLines = 3
	worthHiding  = 6
)

// changedLine is a line of a text with what happens to it.
type changedLine struct {
	op   op
	text string
}

// changedLines writes the difference of two texts, of what is unchanged only the neighbourhood of changes.
func (r *renderer) changedLines(before, after []item, depth int) {
	number(before, after)
	var lines []changedLine
	align(before, after, func(_, _ item) bool { return false }, func(i, j int) {
		switch {
		case j < 0:
			lines = append(lines, changedLine{remove, before[i].value.AsString()})
		case i < 0:
			lines = append(lines, changedLine{create, after[j].value.AsString()})
		default:
			lines = append(lines, changedLine{same, strings.TrimSuffix(after[j].value.AsString(), "\r")})
		}
	})
	for i := 0; i < len(lines); {
		end := i
		for end < len(lines) && lines[end].op == same {
			end++
		}
		from, to := i, end // of an unchanged run, what is hidden
		if i > 0 {
			from += contextLines
		}
		if end < len(lines) {
			to -= contextLines
		}
		if to-from < worthHiding {
			from, to = end, end
		}
		r.textLines(lines[i:from], depth)
		r.hiddenCount(depth+1, to-from, "line")
		r.textLines(lines[to:end], depth)
		if i = end; i < len(lines) {
			r.textLines(lines[i:i+1], depth)
			i++
		}
	}
}

func (r *renderer) textLines(lines []changedLine, depth int) {
	for _, l := range lines {
		r.lead(depth+1, l.op)
		r.WriteString(clean(l.text) + "\n")
	}
}

// textLines cuts a string into lines; white space around the whole of it does not count.
func textLines(v cty.Value) []string { return strings.Split(strings.TrimSpace(v.AsString()), "\n") }

func textItems(v cty.Value) []item {
	lines := textLines(v)
	out := make([]item, len(lines))
	for i, l := range lines {
		out[i].value = cty.StringVal(l)
	}
	return out
}
