package handler

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// Values of sensitive and write-only attributes in an answer may be new, such as a generated password. They are removed
// when the answer, or a message about it, is shown as text. They are found by attribute name, because invalid answers
// are shown as well.

// maxConcealed is the maximum length of a secret that is also searched for in the program's other output, in bytes.
const maxConcealed = 4 << 10

// span is a half-open range of bytes in a text.
type span struct{ from, to int }

// secretNames returns the names of all sensitive or write-only attributes of a block, at any depth.
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

// secretSpans returns the ranges of values of members with these names in a text that is JSON or resembles it.
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

// valueLength returns the length of the JSON value at the beginning of a text. An incomplete value extends to the end
// of the text.
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

// conceal records the secret attributes of an answer, and returns the answer without them.
func (r *request) conceal(text []byte) []byte {
	spans := secretSpans(text, append(secretNames(r.block), secretNames(r.hidden)...))
	if len(spans) == 0 {
		return text
	}
	var out bytes.Buffer
	end := 0
	for _, s := range spans {
		if s.from < end {
			continue // inside of another one
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

// keep records the strings and numbers of a value, so that they are removed from other texts.
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
