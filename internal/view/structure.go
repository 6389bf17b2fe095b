package view

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
)

// structure is what a text holds: function is the name of what would make the text from the value, beside says what can
// differ between two texts with the same value. The zero value is that of a text without one.
type structure struct {
	function, beside string
	value            cty.Value
}

// within returns what a text holds. Scripts and logs get what is not JSON as it is.
func (r *renderer) within(v cty.Value) structure {
	if parsed, ok := parseEmbedded(v); ok {
		return structure{"jsonencode", "whitespace changes", parsed}
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

// base64Of is the function whose texts are base64 of other texts.
const base64Of = "base64encode"

const (
	// maxStructure is how long a text is at most that is looked into.
	maxStructure = 1 << 20
	// maxBlocks limits the blocks of PEM that are told apart: there are bundles of all authorities of the world.
	maxBlocks = 500
	// minBase64 is how long base64 of text is at least: many names and words are base64 of something.
	minBase64 = 24
)

// parsePEM reads a text of PEM blocks: of each its type and its fingerprint, and of a certificate what people know it
// by. The contents are not shown, which of private keys would be harmful.
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

// validText returns a text from outside as a value.
func validText(s string) cty.Value { return cty.StringVal(strings.ToValidUTF8(s, "\uFFFD")) }

// parseBase64 returns the text that a text is the base64 form of. Nothing is lost: the form is the only one of its
// text.
func parseBase64(s string) (string, bool) {
	if len(s) < minBase64 || len(s)%4 != 0 {
		return "", false
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || base64.StdEncoding.EncodeToString(raw) != s || !utf8.Valid(raw) {
		return "", false
	}
	if cty.StringVal(string(raw)).AsString() != string(raw) {
		return "", false // values have one form of each letter alone
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

// yamlPlace returns where in a document of YAML a line stands, such as spec.containers[name: web], as its indentation
// tells; empty if the lines around it do not look like YAML, or if it stands at the top.
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
			// The key of the list may be as far to the left as its items.
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

// maxItem is how long the first line of an item is at most that names it.
const maxItem = 40

// indentation counts the spaces that a line begins with.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
