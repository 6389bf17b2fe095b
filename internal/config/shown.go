package config

import (
	"net/url"
	"regexp"
	"strings"
)

// hidden replaces a secret text.
const hidden = "xxxxx"

var (
	// userPart matches the part of an address with passwords, even if the rest of it is not an address.
	userPart = regexp.MustCompile(`(://)[^/?#]*@`)
	// secretName matches names of parameters whose values give access.
	secretName = regexp.MustCompile(`(?i)token|sig|secret|passw|pwd|key|credential|auth|jwt|session|policy`)
	// ours holds the parameters that configure fetching.
	ours = map[string]bool{"ref": true, "depth": true, "archive": true, "checksum": true, "filename": true}
)

// ShownSource returns a source as people may see it: without passwords, keys and tokens. In a web address it also hides
// the user, which may be a token.
func ShownSource(source string) string {
	return shown(source, func(name string) bool { return secretName.MatchString(name) })
}

// ShownAnswer is ShownSource for an address from a server: of its parameters, it shows only those that configure
// fetching.
func ShownAnswer(source string) string {
	return shown(source, func(string) bool { return true })
}

func shown(source string, secret func(name string) bool) string {
	getter, rest := SplitForced(source)
	if getter != "" {
		getter += "::"
	}
	rest, query, asks := strings.Cut(rest, "?")
	if asks {
		parts := strings.Split(query, "&")
		for i, part := range parts {
			name, value, has := strings.Cut(part, "=")
			plain, err := url.QueryUnescape(name)
			if has && value != "" && (err != nil || !ours[plain] && secret(plain)) {
				parts[i] = name + "=" + hidden
			}
		}
		query = "?" + strings.Join(parts, "&")
	}
	u, err := url.Parse(rest)
	switch {
	case err != nil:
		rest = userPart.ReplaceAllString(rest, "${1}"+hidden+"@")
	case u.User == nil:
	case u.Scheme == "https" || u.Scheme == "http":
		u.User = url.User(hidden)
		rest = u.String()
	default:
		rest = u.Redacted()
	}
	return getter + rest + query
}
