package nesting

import (
	"strings"

	scanning "go.yaml.in/yaml/v2"
)

// MaxYAML is the maximum nesting depth of YAML collections. It is the limit of encoding/json.
const MaxYAML = 10000

// YAML reports whether collections of a YAML document nest more than MaxYAML levels deep. Only a YAML scanner can
// recognise brackets in quotes and comments. A scanner that measures the depth is only used if there are enough
// brackets, or if a line is indented so far that the limit may be exceeded without brackets.
func YAML(text string) bool {
	if strings.Count(text, "[")+strings.Count(text, "{") <= MaxYAML && !beginsFarRight(text) {
		return false
	}
	err := scanning.Unmarshal([]byte(text), new(unread))
	return err != nil && strings.Contains(err.Error(), "exceeded max depth")
}

// beginsFarRight reports whether more than MaxYAML white space or YAML markers precede the first word of some line:
// each collection without brackets is indented further than the one around it.
func beginsFarRight(text string) bool {
	run := 0
	for i := range len(text) {
		switch text[i] {
		case ' ', '\t', '-', '?', ':':
			if run++; run > MaxYAML {
				return true
			}
		default: // after the end of a line or a word, further markers do not add indentation
			run = 0
		}
	}
	return false
}

// unread is a document that is scanned but not decoded.
type unread struct{}

// UnmarshalYAML implements scanning.Unmarshaler.
func (*unread) UnmarshalYAML(func(any) error) error { return nil }
