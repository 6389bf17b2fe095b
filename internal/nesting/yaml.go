package nesting

import (
	"strings"

	scanning "go.yaml.in/yaml/v2"
)

// MaxYAML is how deep collections of YAML may nest. It is what encoding/json allows.
const MaxYAML = 10000

// YAML reports whether collections of a YAML document nest more than MaxYAML levels deep. Only a scanner of YAML knows
// which of the brackets are quoted or part of a comment. One that measures as it reads is asked where there are enough
// of them, or where a line begins so far to the right that as many may be open without brackets.
func YAML(text string) bool {
	if strings.Count(text, "[")+strings.Count(text, "{") <= MaxYAML && !beginsFarRight(text) {
		return false
	}
	err := scanning.Unmarshal([]byte(text), new(unread))
	return err != nil && strings.Contains(err.Error(), "exceeded max depth")
}

// beginsFarRight reports whether before the first word of some line there is more than MaxYAML white space or
// marks of YAML: each collection without brackets begins farther to the right than the one around it.
func beginsFarRight(text string) bool {
	run := 0
	for i := range len(text) {
		switch text[i] {
		case ' ', '\t', '-', '?', ':':
			if run++; run > MaxYAML {
				return true
			}
		default: // the end of a line, or a word: whatever comes behind it is closer to the left than it seems
			run = 0
		}
	}
	return false
}

// unread is a document that was read and not decoded.
type unread struct{}

// UnmarshalYAML implements scanning.Unmarshaler.
func (*unread) UnmarshalYAML(func(any) error) error { return nil }
