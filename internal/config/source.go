package config

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// ParseSource understands the source argument of a module call and gives its normal form, which the manifest records. A
// version argument makes the source a registry address.
func ParseSource(raw string, hasVersion bool) (SourceKind, string, error) {
	if isLocalSource(raw) {
		if hasVersion {
			return 0, "", fmt.Errorf("%q is a local directory, which has no versions: remove the version argument", raw)
		}
		return SourceLocal, normalLocal(raw), nil
	}
	if normal, ok := normalRegistry(raw); ok {
		return SourceRegistry, normal, nil
	}
	if hasVersion {
		return 0, "", fmt.Errorf("%q is not a registry address, which alone can have a version: expected [HOSTNAME/]NAMESPACE/NAME/SYSTEM", raw)
	}
	normal, err := normalRemote(raw)
	if err != nil {
		return 0, "", err
	}
	return SourceRemote, normal, nil
}

func isLocalSource(raw string) bool {
	for _, prefix := range []string{"./", "../", `.\`, `..\`} {
		if strings.HasPrefix(raw, prefix) {
			return true
		}
	}
	return false
}

// normalLocal cleans the path and keeps the prefix that makes it one.
func normalLocal(raw string) string {
	clean := path.Clean(strings.ReplaceAll(raw, `\`, "/"))
	switch {
	case clean == ".":
		return "./"
	case strings.HasPrefix(clean, "../"):
		return clean
	}
	return "./" + clean
}

// LocalDir gives the directory that a local source means for a module in callerDir.
func LocalDir(callerDir, source string) string { return path.Join(callerDir, source) }

const defaultModuleHost = "registry.terraform.io"

var (
	registryName   = regexp.MustCompile(`^[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?$`)
	registrySystem = regexp.MustCompile(`^[0-9a-z]{1,64}$`)
	registryHost   = regexp.MustCompile(`^[\pL\pN](?:[\pL\pN-]*[\pL\pN])?(?:\.[\pL\pN](?:[\pL\pN-]*[\pL\pN])?)+(?::[0-9]{1,5})?$`)
)

// normalRegistry reads [HOST/]NAMESPACE/NAME/SYSTEM[//SUBDIR].
func normalRegistry(raw string) (string, bool) {
	pkg, sub, hasSub := strings.Cut(raw, "//")
	parts := strings.Split(pkg, "/")
	host := defaultModuleHost
	if len(parts) == 4 {
		host, parts = strings.ToLower(parts[0]), parts[1:]
		// These hosts are shorthands for Git repositories.
		if !registryHost.MatchString(host) || host == "github.com" || host == "bitbucket.org" || host == "gitlab.com" {
			return "", false
		}
	}
	if len(parts) != 3 || !registryName.MatchString(parts[0]) || !registryName.MatchString(parts[1]) || !registrySystem.MatchString(parts[2]) {
		return "", false
	}
	if len(parts) == 3 && strings.Contains(parts[0], ".") {
		return "", false
	}
	normal := host + "/" + strings.Join(parts, "/")
	if hasSub {
		sub = path.Clean(sub)
		if sub == ".." || strings.HasPrefix(sub, "../") {
			return "", false
		}
		if sub != "." {
			normal += "//" + sub
		}
	}
	return normal, true
}

var (
	scpLike = regexp.MustCompile(`^(?:([A-Za-z0-9_.-]+)@)([A-Za-z0-9_.-]+):(.+)$`)
	forced  = regexp.MustCompile(`^([A-Za-z0-9]+)::(.+)$`)
)

// normalRemote reads the sources that need something to be downloaded: a forced getter, a URL or a shorthand for one.
func normalRemote(raw string) (string, error) {
	if raw == "" {
		return "", errors.New("the source is empty")
	}
	getter, rest := "", raw
	if m := forced.FindStringSubmatch(raw); m != nil {
		getter, rest = m[1]+"::", m[2]
	}
	if m := scpLike.FindStringSubmatch(rest); m != nil && !strings.Contains(rest, "://") {
		if getter == "" {
			getter = "git::"
		}
		return getter + "ssh://" + m[1] + "@" + m[2] + "/" + m[3], nil
	}
	if scheme, _, ok := strings.Cut(rest, "://"); ok && scheme != "" {
		if _, err := url.Parse(rest); err != nil {
			return "", fmt.Errorf("%q is not a valid URL", rest)
		}
		return getter + rest, nil
	}
	for _, host := range []string{"github.com/", "gitlab.com/", "bitbucket.org/"} {
		if strings.HasPrefix(rest, host) {
			return normalRepository(rest)
		}
	}
	if strings.HasPrefix(rest, "/") {
		return getter + "file://" + rest, nil
	}
	return "", fmt.Errorf("%q is neither a local path, a registry address nor a URL. For a directory beside this module write %q", raw, "./"+raw)
}

// normalRepository expands the shorthand HOST/OWNER/REPOSITORY[//SUBDIR][?QUERY].
func normalRepository(raw string) (string, error) {
	rest, query, hasQuery := strings.Cut(raw, "?")
	rest, sub, hasSub := strings.Cut(rest, "//")
	parts := strings.SplitN(rest, "/", 4)
	if len(parts) < 3 || parts[1] == "" || parts[2] == "" {
		return "", fmt.Errorf("%q should name a repository as %s/OWNER/REPOSITORY", raw, parts[0])
	}
	if len(parts) == 4 {
		if hasSub {
			sub = parts[3] + "/" + sub
		} else {
			sub, hasSub = parts[3], true
		}
	}
	normal := "git::https://" + strings.TrimSuffix(strings.Join(parts[:3], "/"), ".git") + ".git"
	if hasSub && sub != "" {
		normal += "//" + path.Clean(sub)
	}
	if hasQuery {
		normal += "?" + query
	}
	return normal, nil
}
