package pgrows

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

func resourceTable() *schema.Resource {
	return &schema.Resource{
		Description: "A table with its columns and indexes. Columns are added, changed and dropped as the " +
			"configuration says; another name or primary key " +
			"makes another table.",
		CreateContext: createTable,
		ReadContext:   readTable,
		UpdateContext: updateTable,
		DeleteContext: deleteTable,
		Importer:      &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
		CustomizeDiff: checkTable,
		Timeouts: &schema.ResourceTimeout{Create: schema.DefaultTimeout(5 * time.Minute),
			Update: schema.DefaultTimeout(30 * time.Minute)},
		Schema: map[string]*schema.Schema{
			"schema": {Type: schema.TypeString, Optional: true, Default: "public", ForceNew: true,
				Description: "The schema that the table is in. The default is `public`."},
			"name": {Type: schema.TypeString, Required: true, ForceNew: true, ValidateFunc: identifier,
				Description: "The name of the table."},
			"comment": {Type: schema.TypeString, Optional: true, Description: "What the table is for."},
			"primary_key": {
				Type: schema.TypeList, Required: true, ForceNew: true, MinItems: 1, Elem: &schema.Schema{
					Type: schema.TypeString},
				Description: "The columns that name a row.",
			},
			"column": columnSchema(),
			"index":  indexSchema(),
			"force_destroy": {
				Type: schema.TypeBool, Optional: true, Default: false,
				Description: "Whether the table may be dropped with rows in it. The default is `false`.",
			},
			"oid": {Type: schema.TypeInt, Computed: true, Stable: true,
				Description: "The number of the table in the catalog."},
		},
	}
}

func columnSchema() *schema.Schema {
	return &schema.Schema{
		Type: schema.TypeList, Required: true, MinItems: 1, Description: "A column.",
		Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"name": {Type: schema.TypeString, Required: true, ValidateFunc: identifier,
				Description: "The name of the column."},
			"type": {
				Type: schema.TypeString, Required: true, StateFunc: func(v interface{}) string {
					return canonicalType(v.(string))
				},
				Description: "The type, such as `text` or `numeric(10,2)`.",
			},
			"nullable": {Type: schema.TypeBool, Optional: true, Default: false,
				Description: "Whether a row may do without a value. The default is `false`."},
			"default": {Type: schema.TypeString, Optional: true,
				Description: "An SQL expression for rows that do not say."},
		}},
	}
}

func indexSchema() *schema.Schema {
	return &schema.Schema{
		Type: schema.TypeSet, Optional: true,
		Description: "An index, which is built without locking the table.",
		Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"name": {Type: schema.TypeString, Required: true, ValidateFunc: identifier,
				Description: "The name of the index."},
			"columns": {Type: schema.TypeList, Required: true, MinItems: 1, Elem: &schema.Schema{
				Type: schema.TypeString}, Description: "The columns, in their order."},
			"unique": {Type: schema.TypeBool, Optional: true, Default: false,
				Description: "Whether no two rows may be the same in these columns. The default is `false`."},
		}},
	}
}

// column and index hold the content of the blocks with these names.
type column struct {
	name, typ, fallback string
	nullable            bool
}

type index struct {
	name    string
	columns []string
	unique  bool
}

// describe returns an index in a form for comparison.
func (i index) describe() string { return fmt.Sprintf("%s %q %t", i.name, i.columns, i.unique) }

func columnsOf(v interface{}) (out []column) {
	for _, e := range v.([]interface{}) {
		m := e.(map[string]interface{})
		out = append(out, column{m["name"].(string), m["type"].(string), m["default"].(string), m["nullable"].(bool)})
	}
	return out
}

func indexesOf(v interface{}) (out []index) {
	for _, e := range v.(*schema.Set).List() {
		m := e.(map[string]interface{})
		out = append(out, index{m["name"].(string), texts(m["columns"]), m["unique"].(bool)})
	}
	slices.SortFunc(out, func(a, b index) int { return strings.Compare(a.name, b.name) })
	return out
}

func texts(v interface{}) (out []string) {
	for _, e := range v.([]interface{}) {
		out = append(out, e.(string))
	}
	return out
}

// identifier checks a name. PostgreSQL would truncate a long one.
func identifier(v interface{}, key string) ([]string, []error) {
	if name := v.(string); name == "" || len(name) > 63 || strings.ContainsRune(name, 0) {
		return nil, []error{fmt.Errorf("%s: the name %q has %d bytes, expected 1 to 63", key, name, len(name))}
	}
	return nil, nil
}

// checkTable reports errors while planning that the database would only report during an apply.
func checkTable(_ context.Context, d *schema.ResourceDiff, _ interface{}) error {
	columns, known := d.GetKnown("column")
	if !known {
		return nil // some name is unknown
	}
	var names []string
	for _, c := range columnsOf(columns) {
		if slices.Contains(names, c.name) {
			return fmt.Errorf("there are two columns %q", c.name)
		}
		names = append(names, c.name)
	}
	check := func(what string, used []string) error {
		for _, name := range used {
			if !slices.Contains(names, name) {
				return fmt.Errorf("%s: there is no column %q. The columns are: %s", what, name,
					strings.Join(names, ", "))
			}
		}
		return nil
	}
	if key, known := d.GetKnown("primary_key"); known {
		if err := check("primary_key", texts(key)); err != nil {
			return err
		}
	}
	if indexes, known := d.GetKnown("index"); known {
		for _, i := range indexesOf(indexes) {
			if err := check("index "+i.name, i.columns); err != nil {
				return err
			}
		}
	}
	return nil
}

func createTable(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.List {
	db := meta.(client)
	at := pgx.Identifier{d.Get("schema").(string), d.Get("name").(string)}
	err := db.inTransaction(ctx, func(tx pgx.Tx) error {
		if err := makeTable(ctx, tx, at, columnsOf(d.Get("column")), texts(d.Get("primary_key"))); err != nil {
			return err
		}
		return commentOn(ctx, tx, at, d.Get("comment").(string))
	})
	if err != nil {
		return diag.FromErr(fmt.Errorf("create table %s: %w", at.Sanitize(), err))
	}
	d.SetId(tableID(at))
	// From here on the table exists, even if its indexes fail: only those that were built are recorded.
	if diags := finishTable(ctx, d, db, at); diags.HasErrors() {
		return diags
	}
	return readTable(ctx, d, meta)
}

func updateTable(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.List {
	db := meta.(client)
	at := pgx.Identifier{d.Get("schema").(string), d.Get("name").(string)}
	if diags := finishTable(ctx, d, db, at); diags.HasErrors() {
		return diags
	}
	return readTable(ctx, d, meta)
}

// finishTable changes a table to its configuration. Columns change together, and indexes one by one, because building
// an index without locking the table is not possible in a transaction. If one of them fails, the changes before it are
// recorded, and the next apply continues from there.
func finishTable(ctx context.Context, d *schema.ResourceData, db client, at pgx.Identifier) diag.List {
	d.Partial(true)
	if !d.IsNewResource() {
		before, after := d.GetChange("column")
		err := db.inTransaction(ctx, func(tx pgx.Tx) error {
			if err := changeColumns(ctx, tx, at, columnsOf(before), columnsOf(after)); err != nil {
				return err
			}
			return commentOn(ctx, tx, at, d.Get("comment").(string))
		})
		if err != nil {
			return diag.FromErr(fmt.Errorf("change table %s: %w", at.Sanitize(), err))
		}
	}
	for _, done := range []string{"schema", "name", "primary_key", "column", "comment", "force_destroy"} {
		d.SetPartial(done)
	}
	before, after := d.GetChange("index")
	built, err := changeIndexes(ctx, db, at, indexesOf(before), indexesOf(after))
	if err != nil {
		d.Set("index", indexBlocks(built))
		d.SetPartial("index")
		return diag.FromErr(fmt.Errorf("indexes of table %s: %w", at.Sanitize(), err))
	}
	d.Partial(false)
	return nil
}

func readTable(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.List {
	at, err := parseTableID(d.Id())
	if err != nil {
		return diag.FromErr(err)
	}
	found, err := lookAt(ctx, meta.(client), at)
	if err != nil {
		return diag.FromErr(fmt.Errorf("look at table %s: %w", at.Sanitize(), err))
	}
	if found == nil {
		d.SetId("")
		return nil
	}
	configured := columnsOf(d.Get("column"))
	d.Set("schema", at[0])
	d.Set("name", at[1])
	d.Set("oid", found.oid)
	d.Set("comment", orNull(found.comment))
	d.Set("primary_key", found.key)
	d.Set("column", columnBlocks(found.inOrderOf(configured), configured))
	d.Set("index", indexBlocks(found.indexes))
	return nil
}

func indexBlocks(list []index) (out []interface{}) {
	for _, i := range list {
		out = append(out, map[string]interface{}{"name": i.name, "columns": i.columns, "unique": i.unique})
	}
	return out
}

// columnBlocks returns columns as blocks. The text of a default is kept as configured, because the database normalizes
// it.
func columnBlocks(columns, configured []column) (out []interface{}) {
	for _, c := range columns {
		for _, was := range configured {
			if was.name == c.name && was.fallback != "" && c.fallback != "" {
				c.fallback = was.fallback
			}
		}
		out = append(out, map[string]interface{}{"name": c.name, "type": c.typ, "nullable": c.nullable,
			"default": orNull(c.fallback)})
	}
	return out
}

func orNull(text string) interface{} {
	if text == "" {
		return nil
	}
	return text
}

func deleteTable(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.List {
	at, err := parseTableID(d.Id())
	if err != nil {
		return diag.FromErr(err)
	}
	err = meta.(client).inTransaction(ctx, func(tx pgx.Tx) error {
		if !d.Get("force_destroy").(bool) {
			var rows bool
			if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+at.Sanitize()+")").Scan(&rows); err != nil {
				return err
			}
			if rows {
				return fmt.Errorf("it has rows. Delete them, or set force_destroy and apply")
			}
		}
		_, err := tx.Exec(ctx, "DROP TABLE "+at.Sanitize())
		return err
	})
	if err != nil && !isCode(err, noSuchTable) {
		return diag.FromErr(fmt.Errorf("drop table %s: %w", at.Sanitize(), err))
	}
	return nil
}
