package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tombolo-iac/tombolo/kits/tombolo"
)

// kinds has the privileges that each type of object has, and the query of those that a role has on one, of which PUBLIC
// is not a part. Its parameters are the role, and the name or the schema and the name.
var kinds = map[string]struct {
	privileges []string
	query      string
}{
	"database": {[]string{"CONNECT", "CREATE", "TEMPORARY"}, `SELECT a.privilege_type FROM pg_database o,
		aclexplode(o.datacl) a WHERE o.datname = $2`},
	"schema": {[]string{"CREATE", "USAGE"}, `SELECT a.privilege_type FROM pg_namespace o,
		aclexplode(o.nspacl) a WHERE o.nspname = $2`},
	"table": {[]string{"DELETE", "INSERT", "REFERENCES", "SELECT", "TRIGGER", "TRUNCATE", "UPDATE"}, `SELECT
		a.privilege_type FROM pg_class o JOIN pg_namespace n ON n.oid = o.relnamespace, aclexplode(o.relacl) a
		WHERE n.nspname = $2 AND o.relname = $3`},
}

// grant is the place of privileges: a role and an object.
type grant struct{ role, on, name string }

func grantOf(o tombolo.Object) grant { return grant{text(o, "role"), text(o, "on"), text(o, "name")} }

func (g grant) id() string { return g.role + ":" + g.on + ":" + g.name }

// parts returns the name of the object, for tables with the schema.
func (g grant) parts() []string {
	if g.on == "table" {
		return strings.SplitN(g.name, ".", 2)
	}
	return []string{g.name}
}

// statement returns GRANT or REVOKE with privileges.
func (g grant) statement(verb, to string, privileges []string) string {
	return fmt.Sprintf("%s %s ON %s %s %s %s", verb, strings.Join(privileges, ", "), strings.ToUpper(g.on),
		quoted(g.parts()...), to, quoted(g.role))
}

// found returns the privileges that the role has on the object.
func (g grant) found(ctx context.Context, tx pgx.Tx) ([]string, error) {
	args := []any{g.role}
	for _, part := range g.parts() {
		args = append(args, part)
	}
	rows, err := tx.Query(ctx, kinds[g.on].query+
		" AND a.grantee = (SELECT oid FROM pg_roles WHERE rolname = $1) ORDER BY 1", args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func validateGrant(_ context.Context, call *tombolo.Call) (any, error) {
	on, name := text(call.Config, "on"), text(call.Config, "name")
	if on == "" { // it is not known yet
		return nil, nil
	}
	schema, table, _ := strings.Cut(name, ".")
	if on == "table" && name != "" && (schema == "" || table == "") {
		return nil, &tombolo.Error{Summary: "The table has no schema", Attribute: []any{"name"},
			Detail: fmt.Sprintf("%q must have the form SCHEMA.TABLE, such as public.%s.", name, name)}
	}
	if wrong := missing(texts(call.Config["privileges"]), kinds[on].privileges); len(wrong) > 0 {
		return nil, &tombolo.Error{Summary: "The privilege does not exist", Attribute: []any{"privileges"},
			Detail: fmt.Sprintf("A %s has the privileges %s, and not %s.", on,
				strings.Join(kinds[on].privileges, ", "), strings.Join(wrong, ", "))}
	}
	return nil, nil
}

func createGrant(ctx context.Context, call *tombolo.Call) (any, error) {
	return setGrant(ctx, call, func(there, want []string) error {
		if len(there) > 0 && !slices.Equal(there, want) {
			// Equal privileges are the result of a creation whose answer was lost.
			g := grantOf(call.Planned)
			return &tombolo.Error{Summary: "The role has privileges already", Attribute: []any{"role"},
				Detail: fmt.Sprintf("%s has %s on the %s %s. Import them with the id %s, or revoke them.", g.role,
					strings.Join(there, ", "), g.on, g.name, g.id())}
		}
		return nil
	})
}

func updateGrant(ctx context.Context, call *tombolo.Call) (any, error) {
	return setGrant(ctx, call, func([]string, []string) error { return nil })
}

// setGrant grants and revokes until the role has exactly the planned privileges, if those that it has are accepted.
func setGrant(ctx context.Context, call *tombolo.Call, accept func(there, want []string) error) (any, error) {
	g, want := grantOf(call.Planned), texts(call.Planned["privileges"])
	return tombolo.Object{"id": g.id()}, within(ctx, call, true, func(tx pgx.Tx) error {
		there, err := g.found(ctx, tx)
		if err == nil {
			err = accept(there, want)
		}
		if more := missing(want, there); err == nil && len(more) > 0 {
			_, err = tx.Exec(ctx, g.statement("GRANT", "TO", more))
		}
		if less := missing(there, want); err == nil && len(less) > 0 {
			_, err = tx.Exec(ctx, g.statement("REVOKE", "FROM", less))
		}
		return err
	})
}

func readGrant(ctx context.Context, call *tombolo.Call) (any, error) {
	return describedGrant(ctx, call, grantOf(call.State))
}

func describedGrant(ctx context.Context, call *tombolo.Call, g grant) (answer any, err error) {
	err = within(ctx, call, false, func(tx pgx.Tx) error {
		there, err := g.found(ctx, tx)
		if err == nil && len(there) > 0 {
			answer = tombolo.Object{"id": g.id(), "role": g.role, "on": g.on, "name": g.name, "privileges": there}
		}
		return err
	})
	return answer, err
}

func deleteGrant(ctx context.Context, call *tombolo.Call) (any, error) {
	g := grantOf(call.State)
	return nil, within(ctx, call, true, func(tx pgx.Tx) error {
		there, err := g.found(ctx, tx)
		if err == nil && len(there) > 0 {
			_, err = tx.Exec(ctx, g.statement("REVOKE", "FROM", there))
		}
		return err
	})
}

func importGrant(ctx context.Context, call *tombolo.Call) (any, error) {
	id := call.ID
	if call.Identity != nil {
		id = text(call.Identity, "id")
	}
	parts := strings.SplitN(id, ":", 3)
	if len(parts) != 3 || kinds[parts[1]].query == "" || parts[1] == "table" && !strings.Contains(parts[2], ".") {
		return nil, &tombolo.Error{Summary: "The id of an import is not valid", Detail: fmt.Sprintf(
			"%q must have the form ROLE:TYPE:NAME, such as app:table:shop.orders.", id)}
	}
	return describedGrant(ctx, call, grant{parts[0], parts[1], parts[2]})
}
