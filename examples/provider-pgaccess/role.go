package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/tombolo-iac/tombolo/kits/tombolo"
)

// role holds the attributes of a role that PostgreSQL reports.
type role struct {
	Login    bool     `json:"login"`
	Database bool     `json:"create_database"`
	Limit    int      `json:"connection_limit"`
	MemberOf []string `json:"member_of"` // nil: not managed
}

// foundRole returns a role, or nil if it does not exist.
func foundRole(ctx context.Context, tx pgx.Tx, name string) (*role, error) {
	r := &role{}
	err := tx.QueryRow(ctx, `SELECT r.rolcanlogin, r.rolcreatedb, r.rolconnlimit, ARRAY(SELECT g.rolname::text
		FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid ORDER BY 1)
		FROM pg_roles r WHERE r.rolname = $1`, name).Scan(&r.Login, &r.Database, &r.Limit, &r.MemberOf)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return r, err
}

func plannedRole(planned tombolo.Object) (*role, error) {
	limit, err := strconv.Atoi(string(planned["connection_limit"].(json.Number)))
	return &role{Login: planned["login"].(bool), Database: planned["create_database"].(bool), Limit: limit,
		MemberOf: texts(planned["member_of"])}, err
}

func createRole(ctx context.Context, call *tombolo.Call) (any, error) {
	name := text(call.Planned, "name")
	want, err := plannedRole(call.Planned)
	if err != nil {
		return nil, err
	}
	return tombolo.Object{"id": name}, within(ctx, call, true, func(tx pgx.Tx) error {
		there, err := foundRole(ctx, tx, name)
		if err != nil {
			return err
		}
		if there == nil {
			if _, err := tx.Exec(ctx, "CREATE ROLE "+quoted(name)); err != nil {
				return err
			}
			there = &role{}
		} else if there.Login != want.Login || there.Database != want.Database || there.Limit != want.Limit ||
			len(missing(there.MemberOf, want.MemberOf)) > 0 {
			// An equal role is the result of a creation whose answer was lost.
			return &tombolo.Error{Summary: "The role exists already", Attribute: []any{"name"},
				Detail: fmt.Sprintf("The server has a role %q with other attributes. Import it with the id %s, or "+
					"choose another name.", name, name)}
		}
		return setRole(ctx, tx, name, want, there.MemberOf, text(call.Config, "password"))
	})
}

// setRole sets all attributes of a role that exists, and its memberships; "" keeps the password.
func setRole(ctx context.Context, tx pgx.Tx, name string, want *role, memberOf []string, password string) error {
	words := map[bool]string{true: "", false: "NO"}
	statement := fmt.Sprintf("ALTER ROLE %s %sLOGIN %sCREATEDB CONNECTION LIMIT %d", quoted(name), words[want.Login],
		words[want.Database], want.Limit)
	if password != "" {
		verifier, err := scram(password)
		if err != nil {
			return err
		}
		statement += " PASSWORD '" + verifier + "'" // it has only characters of base64, $ and :
	}
	if _, err := tx.Exec(ctx, statement); err != nil {
		return err
	}
	if want.MemberOf == nil {
		return nil
	}
	for _, group := range missing(memberOf, want.MemberOf) {
		if _, err := tx.Exec(ctx, "REVOKE "+quoted(group)+" FROM "+quoted(name)); err != nil {
			return err
		}
	}
	for _, group := range missing(want.MemberOf, memberOf) {
		if _, err := tx.Exec(ctx, "GRANT "+quoted(group)+" TO "+quoted(name)); err != nil {
			return err
		}
	}
	return nil
}

func readRole(ctx context.Context, call *tombolo.Call) (any, error) {
	return describedRole(ctx, call, text(call.State, "name"), call.State["member_of"] != nil)
}

// describedRole returns the attributes of a role; its memberships only if they are managed.
func describedRole(ctx context.Context, call *tombolo.Call, name string, managed bool) (answer any, err error) {
	err = within(ctx, call, false, func(tx pgx.Tx) error {
		there, err := foundRole(ctx, tx, name)
		if err != nil || there == nil {
			return err
		}
		found := tombolo.Object{"id": name, "name": name, "login": there.Login, "create_database": there.Database,
			"connection_limit": there.Limit, "member_of": nil}
		if managed {
			found["member_of"] = there.MemberOf
		}
		answer = found
		return nil
	})
	return answer, err
}

func updateRole(ctx context.Context, call *tombolo.Call) (any, error) {
	name, password := text(call.Planned, "name"), ""
	if call.Planned["password_version"] != call.Prior["password_version"] {
		password = text(call.Config, "password")
	}
	want, err := plannedRole(call.Planned)
	if err != nil {
		return nil, err
	}
	return tombolo.Object{}, within(ctx, call, true, func(tx pgx.Tx) error {
		there, err := foundRole(ctx, tx, name)
		if err != nil {
			return err
		}
		if there == nil {
			return &tombolo.Error{Summary: "The role is gone", Detail: fmt.Sprintf(
				"Somebody dropped %q since it was read. Plan again.", name)}
		}
		return setRole(ctx, tx, name, want, there.MemberOf, password)
	})
}

func deleteRole(ctx context.Context, call *tombolo.Call) (any, error) {
	return nil, within(ctx, call, true, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "DROP ROLE IF EXISTS "+quoted(text(call.State, "name")))
		return err
	})
}

func importRole(ctx context.Context, call *tombolo.Call) (any, error) {
	name := call.ID
	if call.Identity != nil {
		name = text(call.Identity, "name")
	}
	return describedRole(ctx, call, name, true)
}
