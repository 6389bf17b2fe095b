// Package texts finds the longest of many texts that another text begins with, in logarithmic time. Packages diag and
// value remove secrets from messages with it: there may be thousands, and they decide what is one.
//
//	s := texts.Sort(list)
//	n := s.Beginning(message[i:]) // 0: with none
package texts

import (
	"slices"
	"strings"
)

// Sorted are texts in their order, each once. It does not change, so many goroutines may use it.
type Sorted struct {
	texts  []string
	begins []int // for each, which is the longest other that it begins with; -1 for none
}

// Sort returns texts in their order. It keeps the list.
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

// All returns the texts. They must not be changed.
func (s *Sorted) All() []string { return s.texts }

// Has reports whether a text is one of these.
func (s *Sorted) Has(text string) bool {
	_, found := slices.BinarySearch(s.texts, text)
	return found
}

// Beginning returns the length of the longest of these that a text begins with, 0 for none. Each prefix of the text
// comes before it in the order, and all texts between the two begin with that prefix.
func (s *Sorted) Beginning(text string) int {
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
