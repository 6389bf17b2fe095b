// Package texts finds the longest of many texts that is a prefix of another text, in logarithmic time. Packages diag
// and value use it to remove secrets from messages: there may be thousands of secrets.
//
//	s := texts.Sort(list)
//	n := s.Beginning(message[i:]) // 0: with none
package texts

import (
	"slices"
	"strings"
)

// Sorted is a sorted set of texts. It is immutable and safe for concurrent use.
type Sorted struct {
	texts  []string
	begins []int // for each text, the index of its longest proper prefix in texts, or -1
}

// Sort returns the set of the texts in a list. It takes ownership of the list.
func Sort(list []string) *Sorted {
	slices.Sort(list)
	list = slices.Compact(list)
	s := &Sorted{texts: list, begins: make([]int, len(list))}
	for i := range list {
		at := i - 1
		for at >= 0 && !strings.HasPrefix(list[i], list[at]) {
			at = s.begins[at]
		}
		s.begins[i] = at
	}
	return s
}

// All returns the sorted texts. They must not be changed.
func (s *Sorted) All() []string { return s.texts }

// Has reports whether the set contains a text.
func (s *Sorted) Has(text string) bool {
	_, found := slices.BinarySearch(s.texts, text)
	return found
}

// PrefixLength returns the length of the longest element that is a prefix of the text, or 0. Each prefix of the text
// sorts before it, and all texts between the two begin with that prefix.
func (s *Sorted) PrefixLength(text string) int {
	at, found := slices.BinarySearch(s.texts, text)
	if found {
		return len(text)
	}
	at--
	for at >= 0 && !strings.HasPrefix(text, s.texts[at]) {
		at = s.begins[at]
	}
	if at < 0 {
		return 0
	}
	return len(s.texts[at])
}
