package pg

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
	"github.com/tombolo-iac/tombolo/state"
)

// safeToRetry reports whether no part of a call has reached the server.
func safeToRetry(err error) bool { return err != nil && pgconn.SafeToRetry(err) }

// connectError returns the error for a failed connection.
func (o *options) connectError(err error) error {
	hint := ""
	switch {
	case strings.Contains(err.Error(), "server refused TLS connection"):
		hint = " The server does not support TLS. To connect without encryption, set sslmode=disable in conn_str, or " +
			"PGSSLMODE."
	case code(err, "28P01", "28000"):
		hint = " Check the user and the password in conn_str, or PGUSER and PGPASSWORD."
	case code(err, tooManyConnections):
		hint = " Several attempts failed. Raise max_connections on the server, or close other connections."
	case code(err, "3D000"):
		hint = " Create the database first: createdb " + o.config.Database + "."
	case code(err, "08P01") && strings.Contains(err.Error(), "unsupported startup parameter"):
		hint = " A connection pooler answered instead of the server. Connect directly to the server."
	}
	var e *pgconn.ConnectError
	if errors.As(err, &e) {
		err = errors.Unwrap(e)
	}
	text := web.Short(o.scrub(err.Error()))
	return &problem{fmt.Sprintf("cannot connect to the PostgreSQL server %s as %s: %s.%s", o.address(),
		quote(o.config.User), strings.TrimSuffix(text, "."), hint), err}
}

// explain returns the error for a statement, with the server's message. It does not change errors of contexts and of
// this package.
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
		return &problem{"the connection to the PostgreSQL server " + o.address() + " broke: " +
			web.Short(o.scrub(err.Error())), err}
	}
	text := fmt.Sprintf("the PostgreSQL server %s answered: %s (SQLSTATE %s)", o.address(), web.Short(e.Message),
		web.Short(e.Code))
	switch e.Code {
	case "42501":
		text += fmt.Sprintf(". The user %s needs this permission; docs/backends/pg.md lists all required permissions",
			quote(o.config.User))
	case "22P05":
		text += ". The database cannot store all characters: create one with the encoding UTF8"
	case "42883":
		text += ". PostgreSQL 11 or newer is required"
	case "25006":
		text += ". The server or the user is read-only. Connect to the primary server " +
			"(target_session_attrs=read-write), or use -lock=false if you only read"
	case "57P01", "57P02", "57P03":
		text += ". The server was stopped, or this connection was terminated"
	}
	return &problem{o.scrub(text), err}
}

// problem is an error whose text is for users and contains no secrets.
type problem struct {
	text  string
	cause error
}

// Error implements error.
func (p *problem) Error() string { return p.text }

// Unwrap returns the server's error.
func (p *problem) Unwrap() error { return p.cause }

// scrub removes the password from a text, in every form that it has in connection strings, as a precaution.
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
