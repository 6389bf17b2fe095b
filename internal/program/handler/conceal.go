package handler

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// Values of sensitive and write-only attributes in an answer may be new, such as a generated password. They are left
// out where the answer, or a message about it, is shown as text. They are found by the names of the attributes, since
// an answer that cannot be read is shown as well.

// maxConcealed is the maximum length of a text that is searched elsewhere in the program's output.
const maxConcealed = 4 << 10

// span is a part of a text, from its first byte to the one behind its last.
type span struct{ from, to int }

// secretNames returns the names of all attributes of a block, at any depth, that are sensitive or write-only.
func secretNames(b *provider.Block) []string {
	if b == nil {
		return nil
	}
	var names []string
	var attributes func(map[string]*provider.Attribute)
	attributes = func(all map[string]*provider.Attribute) {
		for name, a := range all {
			if a.Sensitive || a.WriteOnly {
				names = append(names, name)
			} else if a.Nested != nil {
				attributes(a.Nested.Attributes)
			}
		}
	}
	attributes(b.Attributes)
	for _, nested := range b.Blocks {
		names = append(names, secretNames(&nested.Block)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// secretSpans finds the values of members with these names in a text that is JSON, or resembles it.
func secretSpans(text []byte, names []string) []span {
	var spans []span
	for _, name := range names {
		quoted, err := json.Marshal(name)
		if err != nil {
			continue
		}
		for at := 0; ; {
			next := bytes.Index(text[at:], quoted)
			if next < 0 {
				break
			}
			at += next + len(quoted)
			rest := bytes.TrimLeft(text[at:], " \t\r\n")
			if len(rest) == 0 || rest[0] != ':' {
				continue
			}
			rest = bytes.TrimLeft(rest[1:], " \t\r\n")
			from := len(text) - len(rest)
			at = from + valueLength(rest)
			spans = append(spans, span{from, at})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return spans
}

// valueLength is how long the JSON value is that a text begins with; one without an end goes to the end of the text.
func valueLength(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			if quoted = !quoted; !quoted && depth == 0 {
				return i + 1
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case depth == 0 && (c == ',' || c == '\n'):
			return i
		}
	}
	return len(text)
}

// conceal remembers the secret attributes of an answer, and returns the answer as it may be shown.
func (r *request) conceal(text []byte) []byte {
	spans := secretSpans(text, append(secretNames(r.block), secretNames(r.hidden)...))
	if len(spans) == 0 {
		return text
	}
	var out bytes.Buffer
	end := 0
	for _, s := range spans {
		if s.from < end {
			continue // within another one
		}
		out.Write(text[end:s.from])
		if part := text[s.from:s.to]; string(part) == "null" {
			out.Write(part)
		} else {
			out.WriteString(`"(sensitive value)"`)
			r.keep(part)
		}
		end = s.to
	}
	out.Write(text[end:])
	return out.Bytes()
}

// keep takes in the texts and numbers of a value, so that they are found elsewhere.
func (r *request) keep(part []byte) {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(part))
	decoder.UseNumber()
	if decoder.Decode(&v) != nil {
		v = string(bytes.Trim(part, `"`))
	}
	var each func(v any)
	each = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) <= maxConcealed {
				r.secrets.Add(cty.StringVal(v), []cty.Path{{}})
			}
		case json.Number:
			r.secrets.Add(cty.StringVal(v.String()), []cty.Path{{}})
		case []any:
			for _, e := range v {
				each(e)
			}
		case map[string]any:
			for _, e := range v {
				each(e)
			}
		}
	}
	each(v)
}
