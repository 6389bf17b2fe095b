// Package excerpt finds the differences between two long one-line texts, and returns them with a few words of context.
//
//	for _, p := range excerpt.Of(before, after) {
//		fmt.Println(p.At, p.Before, "->", p.After)
//	}
//
// Replacing each part of the old text by its new form yields the new text.
package excerpt

import (
	"unicode"
	"unicode/utf8"
)

const (
	// around is the minimum number of characters of context on each side of a part, where available. There are more, up
	// to longest, if a word would be cut otherwise.
	around, longest = 16, 28
	// mostCells limits the table of the comparison, in elements. If it is exceeded, one part contains all changes.
	mostCells = 1 << 20
)

// Part is a place where two texts differ.
type Part struct {
	// At is the number of characters before it in the old text.
	At int
	// Before and After are its old and its new form. Both begin and end with the same context.
	Before, After string
	// First and Last report whether nothing precedes it, and nothing follows it.
	First, Last bool
}

// Of returns the parts in which two texts differ, in order, or nil for equal texts.
func Of(before, after string) []Part {
	a, b := words(before), words(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if head == len(a) && head == len(b) {
		return nil
	}
	changes := compare(a[head:len(a)-tail], b[head:len(b)-tail])
	for i := range changes {
		c := &changes[i]
		c.from, c.to, c.newFrom, c.newTo = c.from+head, c.to+head, c.newFrom+head, c.newTo+head
	}
	return parts(before, after, a, b, joined(a, changes))
}

// words splits a text at the beginning and end of each word; every other character is an element of its own, and so is
// every character of a word that is too long to be shown as a whole, such as base64 text.
func words(text string) []string {
	var list []string
	start, length := 0, 0 // of the present word
	end := func(at int) {
		if length > longest {
			for start < at {
				_, size := utf8.DecodeRuneInString(text[start:])
				list = append(list, text[start:start+size])
				start += size
			}
		} else if start < at {
			list = append(list, text[start:at])
		}
		start, length = at, 0
	}
	for i, r := range text {
		if word := inWords(r); !word || length == 0 {
			end(i)
			if !word {
				continue
			}
		}
		length++
	}
	end(len(text))
	return list
}

func inWords(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// change is a run of words that is replaced by another.
type change struct{ from, to, newFrom, newTo int }

// compare returns the changes between two lists, along a longest common subsequence.
func compare(a, b []string) []change {
	if len(a) == 0 || len(b) == 0 || len(a)*len(b) > mostCells {
		return []change{{0, len(a), 0, len(b)}}
	}
	width := len(b) + 1
	table := make([]int32, (len(a)+1)*width) // the common length of the rest
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	var list []change
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		c := change{from: i, newFrom: j}
		for i < len(a) && j < len(b) && a[i] != b[j] {
			if table[(i+1)*width+j] >= table[i*width+j+1] {
				i++
			} else {
				j++
			}
		}
		if i == len(a) || j == len(b) {
			i, j = len(a), len(b)
		}
		if c.to, c.newTo = i, j; c.to > c.from || c.newTo > c.newFrom {
			list = append(list, c)
		}
		for i < len(a) && j < len(b) && a[i] == b[j] {
			i, j = i+1, j+1
		}
	}
	return list
}

// joined merges changes that are too close to each other for the context of both.
func joined(a []string, list []change) []change {
	out := list[:1]
	for _, c := range list[1:] {
		last := &out[len(out)-1]
		between := 0
		for _, w := range a[last.to:c.from] {
			between += utf8.RuneCountInString(w)
		}
		if between <= 2*around {
			last.to, last.newTo = c.to, c.newTo
			continue
		}
		out = append(out, c)
	}
	return out
}

// parts adds the context to changes.
func parts(before, after string, a, b []string, list []change) []Part {
	out := make([]Part, len(list))
	oldStarts, newStarts := starts(a), starts(b)
	characters, counted := 0, 0 // in before, up to that byte
	for n, c := range list {
		from, to := oldStarts[c.from], oldStarts[c.to]
		lead, trail := ending(before[:from], longest), beginning(before[to:], longest)
		if n > 0 {
			lead = ending(before[:from], room(before[oldStarts[list[n-1].to]:from]))
		}
		if n+1 < len(list) {
			trail = beginning(before[to:], room(before[to:oldStarts[list[n+1].from]]))
		}
		characters += utf8.RuneCountInString(before[counted:from])
		counted = from
		out[n] = Part{
			At:     characters - utf8.RuneCountInString(lead),
			Before: before[from-len(lead) : to+len(trail)],
			After:  lead + after[newStarts[c.newFrom]:newStarts[c.newTo]] + trail,
			First:  len(lead) == from, Last: to+len(trail) == len(before),
		}
	}
	return out
}

// starts returns the byte offsets at which words begin, and the end of the last one.
func starts(list []string) []int {
	out := make([]int, len(list)+1)
	for i, w := range list {
		out[i+1] = out[i] + len(w)
	}
	return out
}

// room returns the number of characters that each of two parts may have as context from the text between them.
func room(between string) int {
	return min(longest, max(around, utf8.RuneCountInString(between)/2))
}

// ending returns the last characters of a text, and more, up to most, if they would begin within a word.
func ending(text string, most int) string {
	at, cut := len(text), 0
	var next rune
	for n := 0; at > 0; n++ {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		if n == around {
			cut = at
		}
		if n >= around && !(inWords(r) && inWords(next)) {
			return text[at:]
		}
		if n == most {
			return text[cut:]
		}
		at, next = at-size, r
	}
	return text
}

// beginning returns the first characters of a text, and more, up to most, if they would end within a word.
func beginning(text string, most int) string {
	at, cut := 0, 0
	var last rune
	for n := 0; at < len(text); n++ {
		r, size := utf8.DecodeRuneInString(text[at:])
		if n == around {
			cut = at
		}
		if n >= around && !(inWords(r) && inWords(last)) {
			return text[:at]
		}
		if n == most {
			return text[:cut]
		}
		at, last = at+size, r
	}
	return text
}
