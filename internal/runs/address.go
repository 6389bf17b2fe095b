package runs

import (
	"net/url"
	"strings"
)

// Address returns the name of a repository for runs: its address without scheme, user, password and the ending ".git",
// so that ssh://git@example.com/a/b.git, git@example.com:a/b and https://example.com/a/b are the same repository. An
// absolute path stays as it is. Users and passwords are removed from texts that are not valid addresses, too, as git
// accepts some of them.
func Address(text string) string {
	text = strings.TrimSpace(text)
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		_, rest = cutUser(rest)
		if u, err := url.Parse(scheme + "://" + rest); err == nil && u.Scheme != "" {
			if u.Scheme == "file" {
				return u.Path
			}
			rest = u.Host + "/" + strings.TrimLeft(u.Path, "/")
		}
		host, path, _ := strings.Cut(rest, "/")
		return trimmed(strings.ToLower(host) + "/" + strings.TrimLeft(path, "/"))
	}
	if strings.HasPrefix(text, "/") {
		return text
	}
	host, path, isSCP := strings.Cut(text, ":")
	if !isSCP || strings.Contains(host, "/") {
		return trimmed(text)
	}
	if before, _, _ := strings.Cut(text, "/"); strings.Contains(before, "@") { // a password may have a colon
		_, text = cutUser(text)
		host, path, _ = strings.Cut(text, ":")
	}
	return trimmed(strings.ToLower(host) + "/" + strings.TrimLeft(path, "/"))
}

// cutUser returns the user, with the password, of an address without its scheme, and what follows. A password may
// contain a slash although it should not: without a port in this place, everything before the last "@" is one.
func cutUser(text string) (user, rest string) {
	authority, _, _ := strings.Cut(text, "/")
	end := strings.LastIndex(authority, "@")
	if _, port, ok := strings.Cut(authority, ":"); end < 0 && ok && strings.Trim(port, "0123456789") != "" {
		end = strings.LastIndex(text, "@")
	}
	if end < 0 {
		return "", text
	}
	return text[:end], text[end+1:]
}

// HasPassword reports whether an address contains a password, or a user that may be a token.
func HasPassword(text string) bool {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return false
	}
	user, _ := cutUser(rest)
	return strings.Contains(user, ":") || user != "" && strings.HasPrefix(strings.ToLower(scheme), "http")
}

func trimmed(text string) string { return strings.TrimSuffix(strings.TrimRight(text, "/"), ".git") }
