package view

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/internal/view/excerpt"
	"github.com/tombolo-iac/tombolo/provider"
)

// scalar writes the difference of two scalars. Strings with JSON are compared as JSON values, and multi-line strings
// line by line.
func (r *renderer) scalar(n *node, depth int, h how) {
	if isText(n.before) || isText(n.after) {
		if r.embedded(n, depth, h) || r.lines(n, depth, h) || r.excerpts(n, depth) {
			return
		}
	}
	switch n.op {
	case create:
		r.WriteString(r.literal(n.after))
	case update:
		before, after := r.literals(n.before, n.after)
		r.WriteString(before + " -> " + after)
	default:
		r.WriteString(r.literal(n.before) + r.nullNote(n, h))
	}
	r.WriteString(r.replaceNote(n))
}

// literals returns the two sides of a change as texts. Of two long ones, it leaves out what both begin and end with,
// because what is left out in the middle of each could be what changes.
func (r *renderer) literals(before, after cty.Value) (string, string) {
	if !r.brief || !isText(before) || !isText(after) ||
		max(len(before.AsString()), len(after.AsString())) < hugeText {
		return r.literal(before), r.literal(after)
	}
	a, b := []rune(before.AsString()), []rune(after.AsString())
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	head, tail = equalPart(head), equalPart(tail)
	side := func(text []rune) string {
		text = text[head : len(text)-tail]
		return ellipsis(head > 0) + r.literal(cty.StringVal(string(text))) + ellipsis(tail > 0)
	}
	return side(a), side(b)
}

// equalPart returns how many of n equal characters are left out: all of many, except for some as context.
func equalPart(n int) int {
	const context = 40
	if n <= 2*context {
		return 0
	}
	return n - context
}

// Limits above which a terminal shows only the beginning and end of a value: characters of a one-line text, lines of
// others.
const (
	hugeText, textHead, textTail = 2000, 400, 200
	hugeLines, linesHead         = 60, 20
)

// literal returns a scalar as text. For terminals, a long one is abbreviated in the middle.
func (r *renderer) literal(v cty.Value) string {
	if !r.brief || !isText(v) || len(v.AsString()) < hugeText {
		return literal(v)
	}
	runes := []rune(v.AsString())
	if len(runes) <= textHead+textTail {
		return literal(v)
	}
	left := fmt.Sprintf("... (%d of %d characters; -full shows all) ...", len(runes)-textHead-textTail,
		len(runes))
	return quoted(string(runes[:textHead])) + r.in(gray, left) + quoted(string(runes[len(runes)-textTail:]))
}

// wholeText writes the lines of a text that is unchanged, added or removed.
func (r *renderer) wholeText(lines []string, depth int) {
	write := func(list []string) {
		for _, l := range list {
			r.pad(4 * (depth + 1))
			r.WriteString(clean(strings.TrimSuffix(l, "\r")) + "\n")
		}
	}
	if !r.brief || len(lines) < hugeLines {
		write(lines)
		return
	}
	write(lines[:linesHead])
	r.pad(4 * (depth + 1))
	note := fmt.Sprintf("# (%d of %d lines hidden: -full shows all)", len(lines)-2*linesHead, len(lines))
	r.WriteString(r.in(gray, note) + "\n")
	write(lines[len(lines)-linesHead:])
}

const (
	// longText is the minimum number of bytes of a one-line text of which only the changes are shown.
	longText = 120
	// maxParts is the maximum number of changed places in it.
	maxParts = 12
)

// excerpts writes, for terminals, the differences between two long one-line texts, with a few words of context. It
// returns false if most of the texts differs.
func (r *renderer) excerpts(n *node, depth int) bool {
	if !r.brief || n.op != update || !isText(n.before) || !isText(n.after) {
		return false
	}
	before, after := n.before.AsString(), n.after.AsString()
	if len(before) < longText || len(after) < longText {
		return false
	}
	list := excerpt.Of(before, after)
	sum := 0
	for _, p := range list {
		sum += len(p.Before) + len(p.After)
	}
	if len(list) > maxParts || sum > (len(before)+len(after))/2 {
		return false
	}
	r.WriteString("excerpts(" + r.replaceNote(n) + "\n")
	for _, p := range list {
		at := fmt.Sprintf("# at character %d of %d", p.At+1, utf8.RuneCountInString(before))
		r.pad(4 * (depth + 1))
		r.WriteString(r.in(gray, at) + "\n")
		for _, side := range []struct {
			op   op
			text string
		}{{remove, p.Before}, {create, p.After}} {
			r.lead(depth+1, side.op)
			r.WriteString(ellipsis(!p.First) + quoted(side.text) + ellipsis(!p.Last) + "\n")
		}
	}
	r.pad(4 * depth)
	r.WriteByte(')')
	return true
}

// ellipsis returns an ellipsis if some text is left out.
func ellipsis(some bool) string {
	if some {
		return "..."
	}
	return ""
}

func isText(v cty.Value) bool {
	return !isAbsent(v) && v.IsKnown() && !v.IsNull() && v.Type() == cty.String
}

// sideOf returns the difference that only adds or removes one side of a scalar.
func sideOf(n *node, o op) *node {
	if o == create {
		return &node{kind: scalar, op: create, after: n.after}
	}
	return &node{kind: scalar, op: remove, before: n.before}
}

// parseEmbedded parses a string that contains a JSON object or array. The text is arbitrary: neither its depth nor its
// numbers may prevent this program from showing it.
func parseEmbedded(v cty.Value) (cty.Value, bool) {
	if !isText(v) {
		return cty.NilVal, false
	}
	s := strings.Trim(v.AsString(), " \t\r\n") // the white space of JSON
	if s == "" || s[0] != '{' && s[0] != '[' {
		return cty.NilVal, false
	}
	raw := []byte(s)
	if !json.Valid(raw) { // also limits the depth
		return cty.NilVal, false
	}
	ty, err := ctyjson.ImpliedType(raw)
	if err != nil || provider.CheckNumbers(raw, ty, ctyjson.Unmarshal) != nil {
		return cty.NilVal, false
	}
	parsed, err := ctyjson.Unmarshal(raw, ty)
	return parsed, err == nil && !repeatsKeys(raw)
}

// repeatsKeys reports whether an object in a valid JSON text has a key twice: a value has only the last of them.
func repeatsKeys(raw []byte) bool {
	type level struct {
		keys map[string]bool // nil for an array
		key  bool            // a key is next
	}
	var levels []level
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := d.Token()
		if err != nil {
			return false
		}
		top := len(levels) - 1
		if text, ok := token.(string); ok && top >= 0 && levels[top].key {
			if levels[top].keys[text] {
				return true
			}
			levels[top].keys[text], levels[top].key = true, false
			continue
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			levels, top = levels[:top], top-1
		} else if top >= 0 {
			levels[top].key = levels[top].keys != nil
		}
		switch token {
		case json.Delim('{'):
			levels = append(levels, level{map[string]bool{}, true})
		case json.Delim('['):
			levels = append(levels, level{})
		default:
			if top >= 0 {
				levels[top].key = levels[top].keys != nil
			}
		}
	}
}

// besideJSON describes how two JSON texts with the same value differ.
func besideJSON(before, after cty.Value) string {
	var a, b bytes.Buffer
	if json.Compact(&a, []byte(before.AsString())) == nil && json.Compact(&b, []byte(after.AsString())) == nil &&
		bytes.Equal(a.Bytes(), b.Bytes()) {
		return "whitespace changes"
	}
	return "the order of its keys or the form of its values changes"
}

// embedded writes strings with structured content, and returns false if neither side has any.
func (r *renderer) embedded(n *node, depth int, h how) bool {
	before, after := r.within(n.before), r.within(n.after)
	switch {
	case n.op == create && after.function != "":
		r.call(compareDynamic(sides{after: after.value}), after.function, create, depth, r.replaceNote(n))
	case n.op == remove && before.function != "":
		r.call(compareDynamic(sides{before: before.value}), before.function, remove, depth, r.replaceNote(n))
		r.WriteString(r.nullNote(n, h))
	case n.op == same && before.function != "":
		r.call(compareDynamic(sides{before: before.value, after: before.value}), before.function, same, depth, "")
	case n.op == update && before.function == base64Of && after.function == base64Of &&
		strings.TrimSpace(before.value.AsString()) == strings.TrimSpace(after.value.AsString()):
		return false // the difference would not be visible
	case n.op == update && before.function != "" && before.function == after.function:
		if before.function == "jsonencode" {
			before.beside = besideJSON(n.before, n.after)
		}
		r.bothEmbedded(compareDynamic(sides{before: before.value, after: after.value}), before, depth,
			r.replaceNote(n))
	case n.op == update && (before.function != "" || after.function != ""):
		// Only one side has structured content: each side is shown unchanged.
		r.value(sideOf(n, remove), depth, how{quietNull: true})
		r.WriteString(" -> ")
		r.value(sideOf(n, create), depth, h)
		r.WriteString(r.replaceNote(n))
	default:
		return false
	}
	return true
}

// bothEmbedded writes the difference of two structured texts, which may differ only outside of their values.
func (r *renderer) bothEmbedded(d *node, of structure, depth int, note string) {
	if d.op == same {
		r.call(d, of.function, same, depth, " "+r.in(gray, "# "+of.beside)+note)
		return
	}
	r.call(d, of.function, update, depth, note)
}

// call writes jsonencode(...) or a similar function around a value. The sign of the value itself is only written if
// both sides have one.
func (r *renderer) call(d *node, function string, o op, depth int, note string) {
	if len(d.children) == 0 && (d.kind != retyped || len(d.was.children) == 0 && len(d.is.children) == 0) {
		r.WriteString(function + "(")
		r.value(d, depth, how{quietNull: true})
		r.WriteString(")" + note)
		return
	}
	r.WriteString(function + "(" + note + "\n")
	if o != update {
		o = same
	}
	r.lead(depth+1, o)
	r.value(d, depth+1, how{quietNull: true})
	r.WriteByte('\n')
	r.pad(4 * depth)
	r.WriteByte(')')
}

// lines writes multi-line strings as a here document, and returns false if there are none.
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
	r.WriteString("<<-EOT" + r.spaceNote(n) + r.replaceNote(n) + "\n")
	switch n.op {
	case update:
		r.changedLines(textItems(n.before), textItems(n.after), depth)
	default:
		v := n.after
		if isAbsent(v) {
			v = n.before
		}
		r.wholeText(textLines(v), depth)
	}
	r.pad(4 * depth)
	r.WriteString("EOT" + r.nullNote(n, h))
	return true
}

// spaceNote returns the note after the beginning of a text whose lines do not show what changes.
func (r *renderer) spaceNote(n *node) string {
	if n.op != update {
		return ""
	}
	before, after := n.before.AsString(), n.after.AsString()
	switch {
	case strings.TrimSpace(before) == strings.TrimSpace(after):
		return " " + r.in(gray, "# whitespace at its ends changes")
	case strings.ReplaceAll(before, "\r\n", "\n") == strings.ReplaceAll(after, "\r\n", "\n"):
		return " " + r.in(gray, "# line endings change")
	}
	return ""
}

// The number of context lines around a change, and the minimum number of unchanged lines to hide.
const (
	contextLines = 3
	worthHiding  = 6
)

// changedLine is a line of a text and the change to it.
type changedLine struct {
	op   op
	text string
}

// changedLines writes the difference of two texts, with only the context of changes.
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
		from, to := i, end // the hidden part of an unchanged run
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
		r.hiddenLines(depth+1, to-from, lines, to)
		r.textLines(lines[to:end], depth)
		if i = end; i < len(lines) {
			r.textLines(lines[i:i+1], depth)
			i++
		}
	}
}

// hiddenLines writes how many lines are hidden before a line and, for people, the path of that line in a document.
func (r *renderer) hiddenLines(depth, n int, lines []changedLine, next int) {
	place := ""
	if r.brief && n > 0 && next < len(lines) {
		if place = yamlPlace(lines, next); place != "" {
			place = ", in " + cleanLine(place)
		}
	}
	if n == 0 {
		return
	}
	what := "lines"
	if n == 1 {
		what = "line"
	}
	r.pad(4 * depth)
	r.WriteString(r.in(gray, fmt.Sprintf("# (%d unchanged %s hidden%s)", n, what, place)) + "\n")
}

func (r *renderer) textLines(lines []changedLine, depth int) {
	for _, l := range lines {
		r.lead(depth+1, l.op)
		r.WriteString(clean(l.text) + "\n")
	}
}

// textLines splits a string into lines, without leading and trailing white space.
func textLines(v cty.Value) []string { return strings.Split(strings.TrimSpace(v.AsString()), "\n") }

func textItems(v cty.Value) []item {
	lines := textLines(v)
	out := make([]item, len(lines))
	for i, l := range lines {
		out[i].value = cty.StringVal(l)
	}
	return out
}

// structure is the structured content of a text: function is the function that would encode the value as the text,
// beside describes how texts with the same value may differ. The zero value means no structure.
type structure struct {
	function, beside string
	value            cty.Value
}

// within returns the structured content of a text. For scripts and logs, only JSON counts.
func (r *renderer) within(v cty.Value) structure {
	if parsed, ok := parseEmbedded(v); ok {
		return structure{"jsonencode", "", parsed}
	}
	if !r.brief || !isText(v) || len(v.AsString()) > maxStructure {
		return structure{}
	}
	if parsed, ok := parsePEM(v.AsString()); ok {
		return structure{"pem", "text around the blocks changes", parsed}
	}
	if text, ok := parseBase64(v.AsString()); ok {
		return structure{base64Of, "", cty.StringVal(text)}
	}
	return structure{}
}

// base64Of is the function that encodes text as base64.
const base64Of = "base64encode"

const (
	// maxStructure limits the length of texts that are searched for structured content, in bytes.
	maxStructure = 1 << 20
	// maxBlocks limits the number of PEM blocks that are shown individually, because bundles of certificate authorities
	// have many.
	maxBlocks = 500
	// minBase64 is the minimum length of base64 text: many names and words are valid base64.
	minBase64 = 24
)

// parsePEM parses PEM blocks. It returns the type and fingerprint of each, and for certificates also the subject and
// similar fields. The contents are not shown, because they may be private keys.
func parsePEM(text string) (cty.Value, bool) {
	rest, blocks := []byte(text), []cty.Value(nil)
	for len(blocks) <= maxBlocks {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		blocks = append(blocks, pemBlock(block))
	}
	if len(blocks) == 0 || len(blocks) > maxBlocks {
		return cty.NilVal, false
	}
	return cty.TupleVal(blocks), true
}

func pemBlock(b *pem.Block) cty.Value {
	sum := sha256.Sum256(b.Bytes)
	parts := map[string]cty.Value{"type": cty.StringVal(b.Type), "sha256": cty.StringVal(hex.EncodeToString(sum[:]))}
	if b.Type == "CERTIFICATE" {
		if c, err := x509.ParseCertificate(b.Bytes); err == nil {
			parts["subject"] = validText(c.Subject.String())
			parts["issuer"] = validText(c.Issuer.String())
			parts["not_before"] = cty.StringVal(c.NotBefore.UTC().Format(time.RFC3339))
			parts["not_after"] = cty.StringVal(c.NotAfter.UTC().Format(time.RFC3339))
			if c.SerialNumber != nil {
				parts["serial"] = cty.StringVal(c.SerialNumber.Text(16))
			}
			names := make([]cty.Value, len(c.DNSNames))
			for i, name := range c.DNSNames {
				names[i] = validText(name)
			}
			parts["dns_names"] = cty.TupleVal(names)
		}
	}
	return cty.ObjectVal(parts)
}

// validText returns arbitrary text as a value.
func validText(s string) cty.Value { return cty.StringVal(strings.ToValidUTF8(s, "\uFFFD")) }

// parseBase64 returns the text that s encodes as base64, if that is its only encoding.
func parseBase64(s string) (string, bool) {
	if len(s) < minBase64 || len(s)%4 != 0 {
		return "", false
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || base64.StdEncoding.EncodeToString(raw) != s || !utf8.Valid(raw) {
		return "", false
	}
	if cty.StringVal(string(raw)).AsString() != string(raw) {
		return "", false // each letter has only one form in values
	}
	words := false
	for _, c := range string(raw) {
		switch {
		case c == ' ' || c == '\n':
			words = true
		case c != '\t' && c != '\r' && !unicode.IsPrint(c):
			return "", false
		}
	}
	return string(raw), words
}

// yamlPlace returns the path of a line in a YAML document, such as spec.containers[name: web], derived from its
// indentation, or "" if the lines around it do not look like YAML or it is at the top level.
func yamlPlace(lines []changedLine, at int) string {
	depth, place := indentation(lines[at].text), ""
	for i := at - 1; i >= 0 && depth > 0; i-- {
		words := strings.TrimSpace(lines[i].text)
		indent := indentation(lines[i].text)
		if lines[i].op == remove || words == "" || words[0] == '#' || indent >= depth {
			continue
		}
		switch key, isKey := strings.CutSuffix(words, ":"); {
		case strings.HasPrefix(words, "- ") && len(words) <= maxItem:
			place = "[" + strings.TrimSuffix(words[2:], ":") + "]" + place
			// The key of the list may be indented as little as its items.
			depth = indent + 1
			for i > 0 && (indentation(lines[i-1].text) > indent || strings.HasPrefix(
				strings.TrimSpace(lines[i-1].text), "- ") && indentation(lines[i-1].text) == indent) {
				i--
			}
		case isKey && !strings.ContainsAny(key, " {}()[]"):
			if place != "" && place[0] != '[' {
				place = "." + place
			}
			place, depth = key+place, indent
		default:
			return ""
		}
	}
	return place
}

// maxItem is the maximum length of an item's first line that identifies the item.
const maxItem = 40

// indentation returns the number of leading spaces of a line.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
