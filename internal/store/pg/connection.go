package pg

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// variables maps the environment variables of PostgreSQL's programs to the connection string keywords that they set.
var variables = map[string]string{
	"PGHOST": "host", "PGPORT": "port", "PGDATABASE": "dbname", "PGUSER": "user", "PGPASSWORD": "password",
	"PGPASSFILE": "passfile", "PGSERVICE": "service", "PGSERVICEFILE": "servicefile", "PGSSLMODE": "sslmode",
	"PGSSLCERT": "sslcert", "PGSSLKEY": "sslkey", "PGSSLROOTCERT": "sslrootcert", "PGSSLPASSWORD": "sslpassword",
	"PGOPTIONS": "options", "PGCONNECT_TIMEOUT": "connect_timeout", "PGTARGETSESSIONATTRS": "target_session_attrs",
}

// clientWords are keywords that other clients handle themselves and that a server refuses.
var clientWords = []string{"fallback_application_name", "binary_parameters", "disable_prepared_binary_result",
	"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"}

// errConnection is the error for all mistakes in a connection string. It contains no details: if the string is split at
// the wrong place, any part may contain the password.
var errConnection = errors.New(`it has to look like "postgres://user@host:5432/database?sslmode=require", ` +
	`with special characters in its parts written as in %2F, or like "host=... user=... dbname=..."`)

var service = regex.Lazy(`\bservice\s*=`)

// connection parses a connection string, as Terraform does: missing values come from the environment, and encryption is
// required unless sslmode disables it. Errors contain no part of the string.
func connection(text string, getenv func(string) string) (*pgconn.Config, error) {
	isURL := strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
	defaults := map[string]string{}
	for name, word := range variables {
		if value := getenv(name); value != "" && value != os.Getenv(name) {
			defaults[word] = value
		}
	}
	if getenv("PGSERVICE") == "" && !service().MatchString(text) { // a service may set it as well
		if getenv("PGSSLMODE") == "" {
			defaults["sslmode"] = "require"
		}
		if getenv("PGHOST") == "" {
			defaults["host"] = "localhost" // not a socket
		}
	}
	if err := judgeFiles(text, isURL); err != nil {
		return nil, err
	}
	full := withDefaults(text, isURL, defaults)
	config, err := pgconn.ParseConfig(full)
	if err != nil {
		return nil, parseProblem(err)
	}
	hosts := []string{config.Host}
	for _, next := range config.Fallbacks {
		hosts = append(hosts, next.Host)
	}
	if isURL && strings.Contains(config.Database, "@") || slices.ContainsFunc(hosts, notHost) {
		return nil, errConnection // a password with a slash or an @, which must not become a host name
	}
	for _, word := range clientWords {
		delete(config.RuntimeParams, word)
	}
	config.RuntimeParams["client_encoding"] = "UTF8"
	config.RuntimeParams["application_name"] = program
	return config, nil
}

// Connection returns the settings for a connection string, as for the argument conn_str: what it lacks comes from the
// environment. Errors contain nothing of the string, because any part of it may be a password.
func Connection(text string, getenv func(string) string) (*pgconn.Config, error) {
	return connection(text, getenv)
}

// fileWords are keywords whose values are file names.
var fileWords = []string{"passfile", "servicefile", "sslcert", "sslkey", "sslrootcert"}

var fileWord = regex.Lazy(`\b(?:` + strings.Join(fileWords, "|") + `)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|(\S+))`)

// judgeFiles refuses files named by a connection string, or by a service file that it names, if the client would wait
// for them or read them without end.
func judgeFiles(text string, isURL bool) error {
	for _, name := range filesOf(text, isURL) {
		if err := regular.CheckFile(name, regular.Record); err != nil {
			return err
		}
		content, err := regular.Read(name, regular.Record)
		if err != nil {
			continue // reported where it is needed
		}
		for _, setting := range remote.Settings(content, fileWords...) {
			if err := regular.CheckFile(setting.Value, regular.Record); err != nil {
				return fmt.Errorf("%s: %s: %w", name, setting.Key, err)
			}
		}
	}
	return nil
}

// filesOf returns the files that a connection string names.
func filesOf(text string, isURL bool) (names []string) {
	if !isURL {
		for _, found := range fileWord().FindAllStringSubmatch(text, -1) {
			names = append(names, escaped().ReplaceAllString(found[1]+found[2], "$1"))
		}
		return names
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil // reported where it is needed
	}
	for _, word := range fileWords {
		names = append(names, u.Query()[word]...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

var escaped = regex.Lazy(`\\(.)`)

// hostName matches host names.
var hostName = regex.Lazy(`^[\pL\pN._-]+$`)

// notHost reports whether a text cannot be a host: neither a name, nor an address, nor the folder of a socket.
func notHost(host string) bool {
	_, err := netip.ParseAddr(host)
	return err != nil && !filepath.IsAbs(host) && !strings.HasPrefix(host, "/") && !hostName().MatchString(host)
}

// parseProblem returns the parser's reason if it cannot contain a secret.
func parseProblem(err error) error {
	for _, known := range []string{"failed to configure TLS", "invalid sslcertmode", "invalid connect_timeout",
		"failed to read service", "unknown target_session_attrs", "could not match"} {
		if strings.Contains(err.Error(), known) {
			var path *os.PathError
			if errors.As(err, &path) {
				return fmt.Errorf("%s: %s %s: %w", known, path.Op, path.Path, path.Err)
			}
			return fmt.Errorf("%s; %w", known, errConnection)
		}
	}
	return errConnection
}

// withDefaults adds keywords that a connection string lacks.
func withDefaults(text string, isURL bool, defaults map[string]string) string {
	if !isURL {
		var b strings.Builder
		for word, value := range defaults { // of two equal keywords the second counts
			value = strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value)
			fmt.Fprintf(&b, "%s='%s' ", word, value)
		}
		return b.String() + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return text // reported by the parser
	}
	has := u.Query()
	_, password := u.User.Password()
	given := map[string]bool{"host": u.Hostname() != "", "port": u.Port() != "", "user": u.User.Username() != "",
		"password": password, "dbname": strings.Trim(u.Path, "/") != "", "sslmode": has.Has("ssl")}
	more := url.Values{}
	for word, value := range defaults {
		if !given[word] && !has.Has(word) {
			more.Set(word, value)
		}
	}
	switch add := strings.ReplaceAll(more.Encode(), "+", "%20"); {
	case add == "":
		return text
	case u.RawQuery != "":
		return text + "&" + add
	case u.ForceQuery:
		return text + add
	default:
		return text + "?" + add
	}
}

// programs returns the password from the environment if it is sent to a host from the block. A block cannot start
// programs.
func programs(config cty.Value, o remote.Surroundings) (all []remote.Program) {
	const password = "PGPASSWORD"
	text := remote.Written(config, "conn_str")
	if text == "" || o.Getenv == nil || o.Getenv(password) == "" {
		return nil
	}
	c, err := connection(text, o.Getenv)
	if err != nil {
		return nil // reported where it is needed
	}
	add := func(host, secret string) {
		if secret == o.Getenv(password) && host != o.Getenv("PGHOST") && !strings.HasPrefix(host, "/") {
			all = append(all, o.SentTo("conn_str", "postgres://"+host, password)...)
		}
	}
	add(c.Host, c.Password)
	for _, next := range c.Fallbacks {
		add(next.Host, c.Password)
	}
	return all
}
