package pgrows

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// tableID returns the name of a table in SQL, quoted where necessary.
func tableID(at pgx.Identifier) string {
	var parts []string
	for _, p := range at {
		parts = append(parts, quoteIdent(p))
	}
	return strings.Join(parts, ".")
}

// plain matches a name that needs no quotes.
var plain = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

func quoteIdent(name string) string {
	if plain.MatchString(name) {
		return name
	}
	return pgx.Identifier{name}.Sanitize()
}

// parseTableID parses the output of tableID, and names in other spellings; a name without a schema is in "public".
func parseTableID(id string) (pgx.Identifier, error) {
	var at pgx.Identifier
	rest := id
	for {
		part, after, err := cutName(rest)
		if err != nil {
			return nil, fmt.Errorf("%q is not the name of a table: %w", id, err)
		}
		at = append(at, part)
		if after == "" {
			break
		}
		rest = after[1:]
	}
	switch len(at) {
	case 1:
		return pgx.Identifier{"public", at[0]}, nil
	case 2:
		return at, nil
	}
	return nil, fmt.Errorf("%q is not the name of a table: it has %d parts, expected schema.table", id, len(at))
}

// cutName splits the first name off a text; rest is empty or begins with a dot.
func cutName(s string) (name, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		i := strings.IndexByte(s, '.')
		if i < 0 {
			i = len(s)
		}
		if i == 0 {
			return "", "", errors.New("a name is empty")
		}
		return s[:i], s[i:], nil
	}
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '"':
		case i+1 < len(s) && s[i+1] == '"':
			i++
		case i+1 < len(s) && s[i+1] != '.':
			return "", "", errors.New("something follows a closing quote")
		default:
			return strings.ReplaceAll(s[1:i], `""`, `"`), s[i+1:], nil
		}
	}
	return "", "", errors.New("a quote is not closed")
}

// aliases are other names of types, with the catalog's name.
var aliases = map[string]string{
	"int": "integer", "int4": "integer", "int2": "smallint", "int8": "bigint", "bool": "boolean",
	"varchar": "character varying", "char": "character",
	"decimal": "numeric", "float": "double precision", "float8": "double precision", "float4": "real",
	"timestamptz": "timestamp with time zone",
	"timestamp":   "timestamp without time zone", "timetz": "time with time zone", "time": "time without time zone",
	"varbit": "bit varying",
}

var typeParts = regexp.MustCompile(`^([^(\[]*)(\([^)]*\))?(.*)$`)

// canonicalType returns the catalog's name of a type, which is the same for all spellings.
func canonicalType(typ string) string {
	m := typeParts.FindStringSubmatch(strings.Join(strings.Fields(strings.ToLower(typ)), " "))
	base, size, rest := strings.TrimSpace(m[1]), strings.ReplaceAll(m[2], " ", ""), strings.TrimRight(m[3], " ")
	if full, ok := aliases[base]; ok {
		base = full
	}
	if name, zone, ok := strings.Cut(base, " "); ok && size != "" && (name == "timestamp" || name == "time") {
		return name + size + " " + zone + rest
	}
	return base + size + rest
}

func (c column) definition() string {
	text := pgx.Identifier{c.name}.Sanitize() + " " + c.typ
	if !c.nullable {
		text += " NOT NULL"
	}
	if c.fallback != "" {
		text += " DEFAULT " + c.fallback
	}
	return text
}

func sanitized(names []string) string {
	var out []string
	for _, name := range names {
		out = append(out, pgx.Identifier{name}.Sanitize())
	}
	return strings.Join(out, ", ")
}

func makeTable(ctx context.Context, tx pgx.Tx, at pgx.Identifier, columns []column, key []string) error {
	var parts []string
	for _, c := range columns {
		parts = append(parts, c.definition())
	}
	parts = append(parts, "PRIMARY KEY ("+sanitized(key)+")")
	_, err := tx.Exec(ctx, "CREATE TABLE "+at.Sanitize()+" ("+strings.Join(parts, ", ")+")")
	return err
}

// commentOn sets the comment. Such a statement cannot have parameters, so the text is quoted.
func commentOn(ctx context.Context, tx pgx.Tx, at pgx.Identifier, text string) error {
	var quoted string
	if err := tx.QueryRow(ctx, "SELECT quote_nullable(nullif($1::text, ''))", text).Scan(&quoted); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "COMMENT ON TABLE "+at.Sanitize()+" IS "+quoted)
	return err
}

// changeColumns changes the columns of a table to the given ones. Columns with the same name keep their content.
func changeColumns(ctx context.Context, tx pgx.Tx, at pgx.Identifier, before, after []column) error {
	find := func(list []column, name string) *column {
		if i := slices.IndexFunc(list, func(c column) bool { return c.name == name }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	var steps []string
	for _, c := range before {
		if find(after, c.name) == nil {
			steps = append(steps, "DROP COLUMN "+pgx.Identifier{c.name}.Sanitize())
		}
	}
	for _, c := range after {
		was, name := find(before, c.name), pgx.Identifier{c.name}.Sanitize()
		if was == nil {
			steps = append(steps, "ADD COLUMN "+c.definition())
			continue
		}
		change := func(differs bool, what string) {
			if differs {
				steps = append(steps, "ALTER COLUMN "+name+" "+what)
			}
		}
		change(was.fallback != c.fallback, "DROP DEFAULT") // it may not be valid for the new type
		change(canonicalType(was.typ) != canonicalType(c.typ), "TYPE "+c.typ+" USING "+name+"::"+c.typ)
		change(was.fallback != c.fallback && c.fallback != "", "SET DEFAULT "+c.fallback)
		change(was.nullable && !c.nullable, "SET NOT NULL")
		change(!was.nullable && c.nullable, "DROP NOT NULL")
	}
	for _, s := range steps {
		if _, err := tx.Exec(ctx, "ALTER TABLE "+at.Sanitize()+" "+s); err != nil {
			return fmt.Errorf("%s: %w", strings.ToLower(s[:strings.IndexByte(s, ' ')])+" "+
				s[strings.IndexByte(s, ' ')+1:], err)
		}
	}
	return nil
}

// changeIndexes drops and builds indexes, and returns those that exist afterwards, even after an error. An index is not
// built in a transaction; if that fails, it is dropped.
func changeIndexes(ctx context.Context, db client, at pgx.Identifier, before, after []index) ([]index, error) {
	has := func(list []index, i index) bool {
		return slices.ContainsFunc(list, func(o index) bool { return o.describe() == i.describe() })
	}
	present := slices.Clone(before)
	for _, i := range before {
		if has(after, i) {
			continue
		}
		if _, err := db.Exec(ctx, "DROP INDEX CONCURRENTLY IF EXISTS "+pgx.Identifier{
			at[0], i.name}.Sanitize()); err != nil {
			return present, fmt.Errorf("drop index %q: %w", i.name, err)
		}
		present = slices.DeleteFunc(present, func(o index) bool { return o.name == i.name })
	}
	for _, i := range after {
		if has(before, i) {
			continue
		}
		unique := ""
		if i.unique {
			unique = "UNIQUE "
		}
		_, err := db.Exec(ctx, "CREATE "+unique+"INDEX CONCURRENTLY "+pgx.Identifier{i.name}.Sanitize()+" ON "+
			at.Sanitize()+" ("+sanitized(i.columns)+")")
		if err != nil {
			if !isCode(err, nameTaken) { // then the index with that name is not managed here
				// an incomplete index is harmful
				_, _ = db.Exec(context.WithoutCancel(ctx), "DROP INDEX IF EXISTS "+pgx.Identifier{
					at[0], i.name}.Sanitize())
			}
			return present, fmt.Errorf("create index %q: %w", i.name, err)
		}
		present = append(present, i)
	}
	return present, nil
}

// found is a table in the catalog.
type found struct {
	oid     int64
	comment string
	columns []column
	key     []string
	indexes []index
}

// inOrderOf returns the columns in the order of others for the same names, because the order in the table cannot be
// changed.
func (f *found) inOrderOf(others []column) []column {
	place := func(c column) int {
		if i := slices.IndexFunc(others, func(o column) bool { return o.name == c.name }); i >= 0 {
			return i
		}
		return len(others)
	}
	out := slices.Clone(f.columns)
	slices.SortStableFunc(out, func(a, b column) int { return place(a) - place(b) })
	return out
}

// lookAt reads a table from the catalog; nil if it does not exist.
func lookAt(ctx context.Context, db client, at pgx.Identifier) (*found, error) {
	f := &found{}
	err := db.QueryRow(ctx, `SELECT c.oid::bigint, coalesce(obj_description(c.oid, 'pg_class'), '')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p')`, at[0], at[1]).Scan(&f.oid, &f.comment)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := db.Query(ctx, `SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, coalesce(pg_get_expr(d.adbin, d.adrelid), '')
		FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE a.attrelid = $1::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, f.oid)
	if err != nil {
		return nil, err
	}
	f.columns, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c column, err error) {
		return c, row.Scan(&c.name, &c.typ, &c.nullable, &c.fallback)
	})
	if err != nil {
		return nil, err
	}
	rows, err = db.Query(ctx, `SELECT i.relname, x.indisunique, x.indisprimary,
			array(SELECT a.attname::text FROM unnest(x.indkey::int2[]) WITH ORDINALITY AS k(num, place)
				JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.num ORDER BY k.place)
		FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
		WHERE x.indrelid = $1::bigint::oid AND x.indisvalid AND x.indexprs IS NULL AND x.indpred IS NULL ORDER BY i.relname`, f.oid)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var i index
		var primary bool
		if err := rows.Scan(&i.name, &i.unique, &primary, &i.columns); err != nil {
			return nil, err
		}
		if primary {
			f.key = i.columns
			continue
		}
		f.indexes = append(f.indexes, i)
	}
	return f, rows.Err()
}
