package patience

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regex"
)

// maxText limits how much of a provider's message is searched, in bytes.
const maxText = 64 << 10

// textOf returns the texts of errors, one per line.
func textOf(problems diag.List) string {
	var b strings.Builder
	for _, d := range problems {
		if d.Severity != diag.Error {
			continue
		}
		for _, s := range []string{d.Summary, d.Detail} {
			if b.Len() < maxText {
				b.WriteString(s[:min(len(s), maxText)])
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// firstOf returns the summary of the first error.
func firstOf(problems diag.List) string {
	for _, d := range problems {
		if d.Severity == diag.Error {
			return d.Summary
		}
	}
	return ""
}

// These patterns match messages of services and their libraries about too many requests: the HTTP status 429 in words
// and numbers, the header Retry-After, and the error codes of large services.
var (
	tooManyWords = regex.Lazy(`(?i)\btoo many requests\b` +
		`|\brate ?limit(?:ed|ing)?\b.{0,20}\b(?:exceeded|reached)` +
		`|\b(?:status|http|code|error)\b[^\n]{0,20}\b429\b|\b429\b[^\n]{0,20}\b(?:status|http|response|error)\b` +
		`|\b(?:Throttling(?:Exception)?|ThrottledException|RequestLimitExceeded|TooManyRequests(?:Exception)?` +
		`|rateLimitExceeded|userRateLimitExceeded)\b|\bretry-after\b`)
	retryAfter = regex.Lazy(`(?i)\bretry[-_ ]after\b["']?\s*(?:[:=]|\bis\b)?\s*["'\[]?` +
		`(\d{1,7})(?:\.\d+)?\s*(ms|milliseconds?|m|min|minutes?)?\b`)
	retryDate = regex.Lazy(
		`(?i)\bretry-after\b["']?\s*[:=]?\s*["'\[]?([a-z]{3}, \d\d [a-z]{3} \d{4} \d\d:\d\d:\d\d GMT)`)
)

// tooMany reports whether a text means that a service has too many requests, and the pause that it requests, or 0.
func tooMany(text string, now time.Time) (wait time.Duration, ok bool) {
	if !tooManyWords().MatchString(text) {
		return 0, false
	}
	if m := retryDate().FindStringSubmatch(text); m != nil {
		if at, err := time.Parse(http.TimeFormat, m[1]); err == nil {
			return max(0, at.Sub(now)), true
		}
	}
	m := retryAfter().FindStringSubmatch(text)
	if m == nil {
		return 0, true
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0, true
	}
	unit := time.Second
	switch word := strings.ToLower(m[2]); {
	case strings.HasPrefix(word, "ms"), strings.HasPrefix(word, "milli"):
		unit = time.Millisecond
	case strings.HasPrefix(word, "m"):
		unit = time.Minute
	}
	return time.Duration(n) * unit, true
}
