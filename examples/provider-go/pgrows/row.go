package pgrows

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

func resourceRow() *schema.Resource {
	text := &schema.Schema{Type: schema.TypeString}
	return &schema.Resource{
		Description: "One row of a table. Columns that are not mentioned belong to somebody else and are left " +
			"alone; one that is not mentioned any more gets its default.",
		CreateContext: createRow,
		ReadContext:   readRow,
		UpdateContext: updateRow,
		DeleteContext: deleteRow,
		Importer:      &schema.ResourceImporter{StateContext: importRow},
		Schema: map[string]*schema.Schema{
			"table": {
				Type: schema.TypeString, Required: true, ForceNew: true, StateFunc: func(v interface{}) string {
					return normalTable(v.(string))
				},
				ValidateFunc: func(v interface{}, key string) ([]string, []error) {
					if _, err := parseTableID(v.(string)); err != nil {
						return nil, []error{fmt.Errorf("%s: %w", key, err)}
					}
					return nil, nil
				},
				Description: "The table, such as `plans` or `shop.plans`.",
			},
			"key": {Type: schema.TypeMap, Required: true, ForceNew: true, Elem: text,
				Description: "The columns of the primary key, with the values that name the row."},
			"values": {Type: schema.TypeMap, Optional: true, Elem: text,
				Description: "Further columns with their values, as SQL writes them without quotes."},
			"secrets": {
				Type: schema.TypeMap, Optional: true, WriteOnly: true, Sensitive: true, Elem: text,
				RequiredWith: []string{"secrets_version"},
				Description: "Further columns whose values are stored nowhere but in the database. They are written " +
					"when `secrets_version` changes.",
			},
			"secrets_version": {Type: schema.TypeInt, Optional: true,
				Description: "A number that is changed to write the secrets again."},
		},
	}
}

// normalTable returns the name of a table in the form of tableID.
func normalTable(name string) string {
	at, err := parseTableID(name)
	if err != nil {
		return name
	}
	return tableID(at)
}

// row identifies a row by its key.
type row struct {
	table pgx.Identifier
	key   map[string]string
}

func (r row) id() string {
	key := url.Values{}
	for name, v := range r.key {
		key.Set(name, v)
	}
	return tableID(r.table) + "?" + key.Encode()
}

func parseRowID(id string) (row, error) {
	i := strings.LastIndexByte(id, '?')
	if i < 0 {
		return row{}, fmt.Errorf("%q names no row, expected a form such as public.plans?code=basic", id)
	}
	at, err := parseTableID(id[:i])
	if err != nil {
		return row{}, err
	}
	query, err := url.ParseQuery(id[i+1:])
	if err != nil {
		return row{}, fmt.Errorf("%q names no row: %w", id, err)
	}
	r := row{table: at, key: map[string]string{}}
	for name, values := range query {
		r.key[name] = values[0]
	}
	return r, nil
}

// statement collects the parts of a statement that depend on columns. Values are parameters, and get the types of their
// columns.
type statement struct {
	types map[string]string
	args  []any
	err   error
}

// columnTypes returns the columns of a table; none if the table does not exist.
func columnTypes(ctx context.Context, db client, at pgx.Identifier) (map[string]string, error) {
	f, err := lookAt(ctx, db, at)
	if f == nil {
		return nil, err
	}
	types := map[string]string{}
	for _, c := range f.columns {
		types[c.name] = c.typ
	}
	return types, nil
}

// value adds a parameter for a column and returns its placeholder.
func (s *statement) value(column, v string) string {
	typ, ok := s.types[column]
	if !ok && s.err == nil {
		s.err = fmt.Errorf("the table has no column %q; its columns are: %s", column,
			strings.Join(slices.Sorted(maps.Keys(s.types)), ", "))
	}
	s.args = append(s.args, v)
	return fmt.Sprintf("$%d::text::%s", len(s.args), typ)
}

// where returns the condition for the row with a key.
func (s *statement) where(key map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(key)) {
		parts = append(parts, pgx.Identifier{name}.Sanitize()+" = "+s.value(name, key[name]))
	}
	if len(parts) == 0 && s.err == nil {
		s.err = errors.New("the key is empty")
	}
	return " WHERE " + strings.Join(parts, " AND ")
}

// stringsOf converts a map of the framework.
func stringsOf(v interface{}) map[string]string {
	out := map[string]string{}
	for k, e := range v.(map[string]interface{}) {
		out[k] = e.(string)
	}
	return out
}

// problem returns an error about a row. Errors of the server may quote values, so they are omitted if any value is
// secret.
func problem(what string, r row, secret bool, err error) diag.List {
	var refused *pgconn.PgError
	if secret && errors.As(err, &refused) && strings.HasPrefix(refused.Code, "22") {
		err = fmt.Errorf("a value does not fit its column (SQLSTATE %s); it is not shown because some are secret",
			refused.Code)
	}
	return diag.FromErr(fmt.Errorf("%s row %s: %w", what, r.id(), err))
}

func createRow(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.List {
	db := meta.(client)
	at, err := parseTableID(d.Get("table").(string))
	if err != nil {
		return diag.FromErr(err)
	}
	r := row{at, stringsOf(d.Get("key"))}
	types, err := columnTypes(ctx, db, at)
	if err != nil {
		return problem("create", r, false, err)
	}
	if types == nil {
		return diag.FromErr(fmt.Errorf("create row %s: there is no table %s", r.id(), tableID(at)))
	}
	all := stringsOf(d.Get("values"))
	secrets := stringsOf(d.Get("secrets"))
	maps.Copy(all, secrets)
	maps.Copy(all, r.key)
	s := statement{types: types}
	var values []string
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names {
		values = append(values, s.value(name, all[name]))
	}
	if err = s.err; err == nil {
		_, err = db.Exec(ctx, "INSERT INTO "+at.Sanitize()+" ("+sanitized(names)+") VALUES ("+
			strings.Join(values, ", ")+")", s.args...)
	}
	if err != nil {
		return problem("create", r, len(secrets) > 0, err)
	}
	d.SetId(r.id())
	return readRow(ctx, d, meta)
}

// readRow keeps the configured spelling of a value that is equal to the one in the database, such as 10 and 10.00.
func readRow(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.List {
	db := meta.(client)
	r, err := parseRowID(d.Id())
	if err != nil {
		return diag.FromErr(err)
	}
	types, err := columnTypes(ctx, db, r.table)
	if err != nil {
		return problem("read", r, false, err)
	}
	if types == nil {
		d.SetId("")
		return nil
	}
	want := stringsOf(d.Get("values"))
	imported := d.Get("table").(string) == ""
	s := statement{types: types}
	var names, parts []string
	for _, name := range slices.Sorted(maps.Keys(types)) {
		configured, ok := want[name]
		if _, isKey := r.key[name]; isKey || !ok && !imported {
			continue
		}
		same := "NULL"
		if ok {
			same = s.value(name, configured) + "::text"
		}
		names = append(names, name)
		parts = append(parts, pgx.Identifier{name}.Sanitize()+"::text", same)
	}
	found := make([]*string, 2*len(names))
	dest := make([]any, len(found))
	for i := range found {
		dest[i] = &found[i]
	}
	query := "SELECT " + strings.Join(parts, ", ") + " FROM " + r.table.Sanitize() + s.where(r.key)
	if err = s.err; err == nil {
		err = db.QueryRow(ctx, query, s.args...).Scan(dest...)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		d.SetId("")
		return nil
	}
	if err != nil {
		return problem("read", r, false, err)
	}
	values := readValues(names, found, want)
	d.Set("table", tableID(r.table))
	d.Set("key", r.key)
	if len(values) > 0 || len(want) > 0 {
		d.Set("values", values)
	}
	return nil
}

// readValues returns the values of the named columns. found has two texts for each: the value in the row, and the
// configured value in the database's form. Equal values are returned as configured.
func readValues(names []string, found []*string, want map[string]string) map[string]any {
	values := map[string]any{}
	for i, name := range names {
		switch is, same := found[2*i], found[2*i+1]; {
		case is == nil:
		case same != nil && *is == *same:
			values[name] = want[name]
		default:
			values[name] = *is
		}
	}
	return values
}

func updateRow(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.List {
	db := meta.(client)
	r, err := parseRowID(d.Id())
	if err != nil {
		return diag.FromErr(err)
	}
	types, err := columnTypes(ctx, db, r.table)
	if err != nil {
		return problem("change", r, false, err)
	}
	before, after := d.GetChange("values")
	was, is := stringsOf(before), stringsOf(after)
	s := statement{types: types}
	var sets []string
	set := func(name, value string) { sets = append(sets, pgx.Identifier{name}.Sanitize()+" = "+value) }
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if old, ok := was[name]; !ok || old != is[name] {
			set(name, s.value(name, is[name]))
		}
	}
	secrets := map[string]string{}
	if d.HasChange("secrets_version") {
		secrets = stringsOf(d.Get("secrets"))
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		set(name, s.value(name, secrets[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		_, stays := is[name]
		_, secret := secrets[name]
		if _, exists := types[name]; !stays && !secret && exists {
			set(name, "DEFAULT")
		}
	}
	if len(sets) > 0 {
		var done pgconn.CommandTag
		where := s.where(r.key)
		if err = s.err; err == nil {
			done, err = db.Exec(ctx, "UPDATE "+r.table.Sanitize()+" SET "+strings.Join(sets, ", ")+where, s.args...)
		}
		if err == nil && done.RowsAffected() == 0 {
			err = errors.New("it is not there any more")
		}
		if err != nil {
			return problem("change", r, len(secrets) > 0, err)
		}
	}
	return readRow(ctx, d, meta)
}

func deleteRow(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.List {
	db := meta.(client)
	r, err := parseRowID(d.Id())
	if err != nil {
		return diag.FromErr(err)
	}
	types, err := columnTypes(ctx, db, r.table)
	if err != nil || types == nil {
		return diag.FromErr(err) // if the table does not exist, the row does not either
	}
	s := statement{types: types}
	where := s.where(r.key)
	if err = s.err; err == nil {
		_, err = db.Exec(ctx, "DELETE FROM "+r.table.Sanitize()+where, s.args...)
	}
	if err != nil {
		return problem("delete", r, false, err)
	}
	return nil
}

// importRow accepts an id in any spelling; the stored one is normalized.
func importRow(_ context.Context, d *schema.ResourceData, _ interface{}) ([]*schema.ResourceData, error) {
	r, err := parseRowID(d.Id())
	if err != nil {
		return nil, err
	}
	d.SetId(r.id())
	return []*schema.ResourceData{d}, nil
}
