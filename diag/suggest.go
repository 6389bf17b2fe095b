package diag

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Nearest returns the candidate that the user probably meant by given, or "" if none is close: at most two edits away,
// or one in words of two or three letters. Two swapped letters count as one edit, and so does a difference in case.
func Nearest(given string, candidates []string) string {
	best, bestDistance := "", min(max(len(given)/2, 1), 2)+1
	for _, c := range candidates {
		d := levenshtein.Distance(given, c, nil)
		if strings.EqualFold(given, c) || d == 2 && slices.Equal(letters(given), letters(c)) {
			d = min(d, 1)
		}
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

func letters(s string) []byte {
	b := []byte(s)
	slices.Sort(b)
	return b
}

// DidYouMean returns ` Did you mean "x"?` for the nearest candidate, or "".
func DidYouMean(given string, candidates []string) string {
	if n := Nearest(given, candidates); n != "" {
		return ` Did you mean "` + n + `"?`
	}
	return ""
}

// TypeMeant returns the primitive type that the user probably meant by a word, or "".
func TypeMeant(word string) string {
	switch word {
	case "int", "integer", "float", "double", "num":
		return "number"
	case "str", "text":
		return "string"
	case "boolean":
		return "bool"
	}
	return Nearest(word, []string{"any", "bool", "number", "string"})
}
