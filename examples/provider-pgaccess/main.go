// Command pgaccess is a program provider for roles of PostgreSQL, their memberships and privileges. Its types are in
// tombolo-provider.json. Each change is one transaction: a program that is killed leaves all of it, or nothing.
package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tombolo-iac/tombolo/kits/tombolo"
)

func main() {
	tombolo.Run(tombolo.Provider{Resources: map[string]tombolo.Resource{
		"pgaccess_role": {Create: createRole, Read: readRole, Update: updateRole,
			Delete: deleteRole, Import: importRole},
		"pgaccess_grant": {Validate: validateGrant, Create: createGrant, Read: readGrant, Update: updateGrant,
			Delete: deleteGrant, Import: importGrant},
	}})
}

// within calls a function in a transaction, on its own connection. Transactions that change something are performed one
// at a time: PostgreSQL refuses changes of one object's privileges by two transactions.
func within(ctx context.Context, call *tombolo.Call, change bool, f func(tx pgx.Tx) error) error {
	dsn, _ := call.Provider["dsn"].(string)
	if dsn == "" {
		dsn = os.Getenv("PGACCESS_DSN")
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return connecting(err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the transaction has ended
	tx, err := conn.Begin(ctx)
	if err != nil {
		return refused(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // it fails after a commit, which is intended
	if change {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('tombolo pgaccess'))"); err != nil {
			return refused(err)
		}
	}
	if err := f(tx); err != nil {
		return refused(err)
	}
	return refused(tx.Commit(ctx))
}

// connecting returns the error for a connection that failed. It does not contain the connection string.
func connecting(err error) error {
	var wrong *pgconn.ParseConfigError
	if errors.As(err, &wrong) {
		return &tombolo.Error{Summary: "The connection string is not valid", Detail: "Use a form such as " +
			"postgresql://admin:secret@db.example.com/shop, or host=/run/postgresql dbname=shop.",
			Attribute: []any{"dsn"}}
	}
	var answer *pgconn.PgError
	if errors.As(err, &answer) && !strings.HasPrefix(answer.Code, "53") && answer.Code != "57P03" {
		return &tombolo.Error{Summary: "PostgreSQL refused the connection", Detail: answer.Message + "."}
	}
	return tombolo.Temporary(&tombolo.Error{Summary: "There is no connection to PostgreSQL", Detail: err.Error()})
}

// refused returns an error with everything that PostgreSQL reports about it.
func refused(err error) error {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return err
	}
	parts := []string{answer.Message, answer.Detail, answer.Hint}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return &tombolo.Error{Summary: "PostgreSQL refused", Detail: strings.Join(parts, "\n")}
}

// quoted returns a name, with or without a schema, as a part of a statement.
func quoted(parts ...string) string { return pgx.Identifier(parts).Sanitize() }

// texts returns the elements of a set of strings in their order; nil means that the set is null.
func texts(value any) []string {
	list, ok := value.([]any)
	if !ok {
		return nil
	}
	out := make([]string, 0, len(list))
	for _, one := range list {
		if text, ok := one.(string); ok {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// missing returns the elements of a list that are not in another.
func missing(list, in []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(in, s) })
}

func text(o tombolo.Object, name string) string {
	value, _ := o[name].(string)
	return value
}
