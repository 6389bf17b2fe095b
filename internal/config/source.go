package config

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/regex"
)

// ParseSource parses the source argument of a module call and returns its normal form, which the manifest records. A
// version argument makes the source a registry address.
func ParseSource(raw string, hasVersion bool) (SourceKind, string, error) {
	return ParseSourceIn(raw, hasVersion, flavor.Terraform.RegistryHost())
}

// ParseSourceIn is like ParseSource, with host as the registry of sources without one.
func ParseSourceIn(raw string, hasVersion bool, host string) (SourceKind, string, error) {
	if isLocalSource(raw) {
		if hasVersion {
			return 0, "", fmt.Errorf("%q is a local directory, which has no versions: remove the version argument", raw)
		}
		return SourceLocal, normalLocal(raw), nil
	}
	if normal, ok := normalRegistry(raw, host); ok {
		return SourceRegistry, normal, nil
	}
	if hasVersion {
		return 0, "",
			fmt.Errorf("%q is not a registry address, and only those have versions: expected "+
				"[HOSTNAME/]NAMESPACE/NAME/SYSTEM", ShownSource(raw))
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

// normalLocal cleans the path and keeps the prefix of a local source.
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

// LocalDir returns the directory of a local source in a call from a module in callerDir.
func LocalDir(callerDir, source string) string { return path.Join(callerDir, source) }

var (
	registryName   = regex.Lazy(`^[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?$`)
	registrySystem = regex.Lazy(`^[0-9a-z]{1,64}$`)
	registryHost   = regex.Lazy(
		`^[\pL\pN](?:[\pL\pN-]*[\pL\pN])?(?:\.[\pL\pN](?:[\pL\pN-]*[\pL\pN])?)+(?::[0-9]{1,5})?$`)
)

// normalRegistry reads [HOST/]NAMESPACE/NAME/SYSTEM[//SUBDIR].
func normalRegistry(raw, host string) (string, bool) {
	pkg, sub, hasSub := strings.Cut(raw, "//")
	parts := strings.Split(pkg, "/")
	if len(parts) == 4 {
		host, parts = strings.ToLower(parts[0]), parts[1:]
		// Sources at these hosts are shorthands for Git repositories.
		if !registryHost().MatchString(host) || host == "github.com" || host == "bitbucket.org" {
			return "", false
		}
	}
	if len(parts) != 3 || !registryName().MatchString(parts[0]) || !registryName().MatchString(parts[1]) ||
		!registrySystem().MatchString(parts[2]) {
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

var forced = regex.Lazy(`^([A-Za-z0-9]+)::(.+)$`)

// SplitForced splits the name of a download method, such as git, off the beginning of a source; getter is "" if there
// is none.
func SplitForced(source string) (getter, rest string) {
	if m := forced().FindStringSubmatch(source); m != nil {
		return m[1], m[2]
	}
	return "", source
}

// SplitSubdir splits the folder within a package, which follows a double slash, off a source.
func SplitSubdir(source string) (pkg, sub string) {
	end := len(source)
	if i := strings.IndexByte(source, '?'); i >= 0 {
		end = i
	}
	begin := 0
	if i := strings.Index(source[:end], "://"); i >= 0 {
		begin = i + len("://")
	}
	i := strings.Index(source[begin:end], "//")
	if i < 0 {
		return source, ""
	}
	i += begin
	return source[:i] + source[end:], source[i+len("//") : end]
}

// normalRemote reads the sources that need a download: an explicit getter, a URL or a shorthand for one.
func normalRemote(raw string) (string, error) {
	if raw == "" {
		return "", errors.New("the source is empty")
	}
	getter, rest := SplitForced(raw)
	rest, sub := SplitSubdir(rest)
	found, err := detect(rest)
	if err != nil {
		return "", err
	}
	implied, found := SplitForced(found)
	if getter == "" {
		getter = implied
	}
	found, inner := SplitSubdir(found)
	if sub = path.Join(inner, sub); sub == ".." || strings.HasPrefix(sub, "../") {
		return "", fmt.Errorf("its folder %q is outside of the package", sub)
	}
	return joinSource(getter, found, strings.TrimPrefix(sub, "/")), nil
}

// joinSource is the inverse of SplitForced and SplitSubdir.
func joinSource(getter, pkg, sub string) string {
	if sub != "" && sub != "." {
		base, query, hasQuery := strings.Cut(pkg, "?")
		if pkg = base + "//" + sub; hasQuery {
			pkg += "?" + query
		}
	}
	if getter != "" {
		return getter + "::" + pkg
	}
	return pkg
}

var scpLike = regex.Lazy(`^git@([^:]+):/?(.+)$`)

// detect returns the URL for a source without a folder, perhaps with a getter and a folder.
func detect(source string) (string, error) {
	if u, err := url.Parse(source); err == nil && u.Scheme != "" {
		return source, nil
	}
	base, query, hasQuery := strings.Cut(source, "?")
	if hasQuery {
		query = "?" + query
	}
	parts := strings.Split(base, "/")
	switch {
	case parts[0] == "github.com" && len(parts) > 1:
		if len(parts) < 3 || parts[1] == "" || parts[2] == "" {
			return "", fmt.Errorf("%q must name a repository in the form github.com/OWNER/REPOSITORY",
				ShownSource(source))
		}
		return joinSource("git", "https://"+withGit(strings.Join(parts[:3], "/"))+query, path.Join(parts[3:]...)), nil
	case parts[0] == "bitbucket.org" && len(parts) > 1:
		return "git::https://" + withGit(base) + query, nil
	case scpLike().MatchString(source):
		m := scpLike().FindStringSubmatch(source)
		return "git::ssh://git@" + m[1] + "/" + m[2], nil
	case strings.HasSuffix(parts[0], ".amazonaws.com") || parts[0] == "www.googleapis.com":
		return storage(parts, base+query), nil
	case strings.HasPrefix(source, "/"):
		return "file://" + source, nil
	}
	return "",
		fmt.Errorf(
			"%q is neither a local path, a registry address nor a URL. For a directory beside this module write %q",
			ShownSource(source), "./"+ShownSource(source))
}

func withGit(repository string) string { return strings.TrimSuffix(repository, ".git") + ".git" }

// storage returns the cloud service of an address. Downloads from these are not supported.
func storage(parts []string, source string) string {
	if parts[0] == "www.googleapis.com" {
		return "gcs::https://" + source
	}
	return "s3::https://" + source
}

// hidden replaces a secret text.
const hidden = "xxxxx"

var (
	// userPart matches the part of an address with passwords, even if the rest of it is not an address.
	userPart = regex.Lazy(`(://)[^/?#]*@`)
	// secretName matches names of parameters whose values are credentials.
	secretName = regex.Lazy(`(?i)token|sig|secret|passw|pwd|key|credential|auth|jwt|session|policy`)
	// ours are the parameters that configure downloads.
	ours = map[string]bool{"ref": true, "depth": true, "archive": true, "checksum": true, "filename": true}
)

// ShownSource returns a source without passwords, keys and tokens, for display. In a web address it also hides the
// user, which may be a token.
func ShownSource(source string) string {
	return shown(source, func(name string) bool { return secretName().MatchString(name) })
}

// ShownAnswer is like ShownSource, for an address from a server: it only shows the parameters that configure downloads.
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
		rest = userPart().ReplaceAllString(rest, "${1}"+hidden+"@")
	case u.User == nil:
	case u.Scheme == "https" || u.Scheme == "http":
		u.User = url.User(hidden)
		rest = u.String()
	default:
		rest = u.Redacted()
	}
	return getter + rest + query
}
