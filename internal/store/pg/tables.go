package pg

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// program is the name of connections in pg_stat_activity. For one that holds a lock, the lock's ID follows.
const program = "tombolo"

// While a state that was never written is locked, it has a row, because the lock is on the row's ID. The row contains
// an empty state, because Terraform fails on a row without a state. Its lineage is the lock's ID, and its format
// distinguishes it from states that a program wrote.
const (
	placeholderStart = `{"version":4,"serial":0,"terraform_version":"1.11.4","outputs":{},"resources":[],` +
		`"check_results":null,"lineage":"tombolo-`
	placeholderEnd = `"}`
)

func placeholder(lockID string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, lockID)
	return placeholderStart + clean + placeholderEnd
}

// isPlaceholder is an SQL condition that holds for such a row s. isNothing also holds for a row without any content.
var (
	isPlaceholder = fmt.Sprintf("(octet_length(s.data) < %d AND left(s.data, %d) = '%s')", len(placeholderStart)+100,
		len(placeholderStart), placeholderStart)
	isNothing = "(s.data IS NULL OR s.data = '' OR " + isPlaceholder + ")"
)

// stored reports whether the text of a row is a state and not a placeholder.
func stored(data []byte) bool {
	return len(data) > 0 && !(len(data) < len(placeholderStart)+100 && strings.HasPrefix(string(data),
		placeholderStart))
}

// quote returns a text as the quoted name of a database object.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (o *options) states() string { return quote(o.schema) + "." + quote(o.table) }

// Tombolo's own tables.
func (o *options) about() string   { return quote(o.schema) + ".tombolo_states" }
func (o *options) journal() string { return quote(o.schema) + ".tombolo_journal" }
func (o *options) history() string { return quote(o.schema) + ".tombolo_history" }

const sequence = "public.global_states_id_seq"

// theirs returns the statements that create Terraform's tables, as Terraform does.
func (o *options) theirs() (schema, sequenceAndTable, index string) {
	return "CREATE SCHEMA IF NOT EXISTS " + quote(o.schema),
		"CREATE SEQUENCE IF NOT EXISTS " + sequence + " AS bigint;\n" +
			"CREATE TABLE IF NOT EXISTS " + o.states() + " (id bigint NOT NULL DEFAULT nextval('" + sequence +
			"') PRIMARY KEY, name text UNIQUE, data text)",
		"CREATE UNIQUE INDEX IF NOT EXISTS " + quote(o.index) + " ON " + o.states() + " (name)"
}

// ours returns the statements that create Tombolo's own tables.
func (o *options) ours() string {
	return strings.Join([]string{
		"CREATE TABLE IF NOT EXISTS " + o.about() + " (id bigint PRIMARY KEY, tab text NOT NULL, " +
			"seen timestamptz NOT NULL DEFAULT clock_timestamp(), lock_id text, lock_info text, " +
			"epoch bigint NOT NULL DEFAULT 0, chunks bigint NOT NULL DEFAULT 0, revisions bigint NOT NULL DEFAULT 0)",
		"CREATE TABLE IF NOT EXISTS " + o.journal() + " (id bigint, epoch bigint, n bigint, chunk bytea NOT NULL, " +
			"PRIMARY KEY (id, epoch, n))",
		"CREATE TABLE IF NOT EXISTS " + o.history() + " (id bigint, n bigint, " +
			"written timestamptz NOT NULL DEFAULT clock_timestamp(), serial bigint, lineage text, " +
			"digest text NOT NULL, size bigint NOT NULL, run text, revision text, gzip boolean NOT NULL, " +
			"data bytea NOT NULL, PRIMARY KEY (id, n))",
	}, ";\n")
}

// ensure creates the schema, the tables and the index if they are missing and may be created. It reports whether
// Tombolo's own tables exist.
func (o *options) ensure(ctx context.Context, s *session) (own bool, err error) {
	for range 3 {
		own, err = o.ensureOnce(ctx, s)
		// Another program may create the same objects concurrently, and PostgreSQL does not wait for it.
		if !code(err, "23505", "42P06", "42P07", "42710", "XX000") {
			break
		}
	}
	return own, err
}

func (o *options) ensureOnce(ctx context.Context, s *session) (bool, error) {
	r, err := s.ask(ctx, "SELECT (to_regnamespace($1) IS NOT NULL)::text, (to_regclass($2) IS NOT NULL)::text, "+
		"(to_regclass($3) IS NOT NULL AND to_regclass($4) IS NOT NULL AND to_regclass($5) IS NOT NULL)::text",
		text(quote(o.schema)), text(o.states()), text(o.about()), text(o.journal()), text(o.history()))
	if err != nil {
		return false, err
	}
	hasSchema, hasTable, own := r.true(0, 0), r.true(0, 1), r.true(0, 2)
	schema, table, index := o.theirs()
	var todo []string
	switch {
	case !hasSchema && o.skipSchema:
		return false, fmt.Errorf("the schema %s does not exist, and skip_schema_creation is set: someone with the "+
			"permission must create it (%s)", quote(o.schema), schema)
	case !hasSchema:
		todo = append(todo, schema)
	}
	switch {
	case !hasTable && o.skipTable:
		return false, fmt.Errorf("the table %s does not exist, and skip_table_creation is set: someone with the "+
			"permission must create it (%s)", o.states(), table)
	case !hasTable:
		todo = append(todo, table)
		if !o.skipIndex {
			todo = append(todo, index)
		}
	}
	if !own && !o.skipTable {
		todo = append(todo, o.ours())
		own = true
	}
	if len(todo) == 0 {
		return own, nil
	}
	// In one transaction; runs of Tombolo do this one at a time.
	sql := "SELECT pg_advisory_xact_lock(1953328495, 1);\n" + strings.Join(todo, ";\n")
	err = s.do(ctx, true, func(ctx context.Context) error {
		_, err := s.conn.Exec(ctx, sql).ReadAll()
		return err
	})
	if code(err, "42501") {
		var e *pgconn.PgError
		errors.As(err, &e)
		err = &problem{
			fmt.Sprintf(
				"the user %s may not create the missing objects (%s). Someone with the permission must run once: %s",
				quote(o.config.User), e.Message, strings.Join(todo, ";\n")), err}
	}
	return own, err
}

// code reports whether err is a server error with one of these codes.
func code(err error, codes ...string) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	for _, c := range codes {
		if e.Code == c {
			return true
		}
	}
	return false
}

// missing reports whether a table does not exist, or its schema.
func missing(err error) bool { return code(err, "42P01", "3F000") }

// noRoom returns the error for journals and histories without tables.
func (o *options) noRoom() error {
	if o.skipTable {
		return remote.ErrNoJournal // the tables may not be created
	}
	return nil
}
