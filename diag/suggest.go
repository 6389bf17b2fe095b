package diag

import "github.com/agext/levenshtein"

// Nearest returns the candidate that the user probably meant by given, or "" when none is close: at most two edits
// away.
func Nearest(given string, candidates []string) string {
	best, bestDistance := "", 3
	for _, c := range candidates {
		if d := levenshtein.Distance(given, c, nil); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// DidYouMean returns ` Did you mean "x"?` for the nearest candidate, or nothing.
func DidYouMean(given string, candidates []string) string {
	if n := Nearest(given, candidates); n != "" {
		return ` Did you mean "` + n + `"?`
	}
	return ""
}
