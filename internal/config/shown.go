package config

import (
	"net/url"
	"regexp"
	"strings"
)

// hidden replaces a secret text.
const hidden = "xxxxx"

var (
	// userPart is the part of an address in which passwords stand, also where the rest of it is no address.
	userPart = regexp.MustCompile(`(://)[^/?#]*@`)
	// secretName are words in names of parameters whose values let whoever has them in.
	secretName = regexp.MustCompile(`(?i)token|sig|secret|passw|pwd|key|credential|auth|jwt|session|policy`)
	// ours are the parameters that say how to fetch.
	ours = map[string]bool{"ref": true, "depth": true, "archive": true, "checksum": true, "filename": true}
)

// ShownSource is a source as people may see it: without passwords, keys and tokens. In an address of the web, where
// tokens stand as users too, the user does not show either.
func ShownSource(source string) string {
	return shown(source, func(name string) bool { return secretName.MatchString(name) })
}

// ShownAnswer is ShownSource for an address that a server has given: of its parameters only those show that say how to
// fetch.
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
