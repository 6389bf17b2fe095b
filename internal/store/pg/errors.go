package pg

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/tombolo-iac/tombolo/state"
)

// safeToRetry reports whether nothing of a call has reached the server.
func safeToRetry(err error) bool { return err != nil && pgconn.SafeToRetry(err) }

// connectError returns why there is no connection.
func (o *options) connectError(err error) error {
	hint := ""
	switch {
	case strings.Contains(err.Error(), "server refused TLS connection"):
		hint = " The server does not encrypt connections: set sslmode=disable in conn_str, or PGSSLMODE, if that is " +
			"fine."
	case code(err, "28P01", "28000"):
		hint = " Check the user and the password in conn_str, or PGUSER and PGPASSWORD."
	case code(err, tooManyConnections):
		hint = " It has been asked again and again. Raise max_connections there, or end what else is connected."
	case code(err, "3D000"):
		hint = " The database must be made before: createdb " + o.config.Database + "."
	case code(err, "08P01") && strings.Contains(err.Error(), "unsupported startup parameter"):
		hint = " There is a pooler in front of the server: connect to the server itself."
	}
	var e *pgconn.ConnectError
	if errors.As(err, &e) {
		err = errors.Unwrap(e)
	}
	text := strings.Join(strings.Fields(o.scrub(err.Error())), " ")
	return &problem{fmt.Sprintf("cannot connect to the PostgreSQL server %s as %s: %s.%s", o.address(),
		quote(o.config.User), strings.TrimSuffix(text, "."), hint), err}
}

// explain returns what the server has against a statement. Errors of contexts and of this package stay what they are.
func (o *options) explain(err error) error {
	var known *problem
	var locked *state.LockedError
	var e *pgconn.PgError
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, errGone), errors.As(err, &locked):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case !errors.As(err, &e):
		return &problem{"the connection to the PostgreSQL server " + o.address() + " broke: " + o.scrub(err.Error()),
			err}
	}
	text := fmt.Sprintf("the PostgreSQL server %s answered: %s (SQLSTATE %s)", o.address(), e.Message, e.Code)
	switch e.Code {
	case "42501":
		text += fmt.Sprintf(". The user %s needs this permission; docs/state.md lists all that are needed",
			quote(o.config.User))
	case "22P05":
		text += ". The database cannot keep all characters: make one with the encoding UTF8"
	case "42883":
		text += ". PostgreSQL 11 or newer is needed"
	case "25006":
		text += ". The server or the user may only read. Connect to the primary server " +
			"(target_session_attrs=read-write), or run without the lock (-lock=false) if nothing is to be written"
	case "57P01", "57P02", "57P03":
		text += ". The server was stopped, or somebody ended this connection"
	}
	return &problem{o.scrub(text), err}
}

// problem is an error with a text that people can read, and no secrets.
type problem struct {
	text  string
	cause error
}

// Error implements error.
func (p *problem) Error() string { return p.text }

// Unwrap returns what was answered.
func (p *problem) Unwrap() error { return p.cause }

// scrub takes the password out of a text, in every form that it has in connection strings. Nothing is known that puts
// it there.
func (o *options) scrub(text string) string {
	password := o.config.Password
	if len(password) < 4 {
		return text
	}
	for _, form := range []string{password, url.QueryEscape(password), url.PathEscape(password),
		strings.TrimPrefix(url.UserPassword("", password).String(), ":")} {
		text = strings.ReplaceAll(text, form, "(password)")
	}
	return text
}
