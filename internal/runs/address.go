package runs

import (
	"net/url"
	"strings"
)

// Address returns the name of a repository for runs: its address without scheme, user, password and the ending ".git",
// so that ssh://git@example.com/a/b.git, git@example.com:a/b and https://example.com/a/b are the same repository. An
// absolute path stays as it is.
func Address(text string) string {
	text = strings.TrimSpace(text)
	if u, err := url.Parse(text); err == nil && u.Scheme != "" && strings.Contains(text, "://") {
		if u.Scheme == "file" {
			return u.Path
		}
		return trimmed(strings.ToLower(u.Host) + "/" + strings.TrimLeft(u.Path, "/"))
	}
	if strings.HasPrefix(text, "/") {
		return text
	}
	host, path, isSCP := strings.Cut(text, ":")
	if !isSCP || strings.Contains(host, "/") {
		return trimmed(text)
	}
	if _, after, ok := strings.Cut(host, "@"); ok {
		host = after
	}
	return trimmed(strings.ToLower(host) + "/" + strings.TrimLeft(path, "/"))
}

func trimmed(text string) string { return strings.TrimSuffix(strings.TrimRight(text, "/"), ".git") }
