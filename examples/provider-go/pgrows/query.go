package pgrows

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

func dataQuery() *schema.Resource {
	text := &schema.Schema{Type: schema.TypeString}
	return &schema.Resource{
		Description: "What a query gives. It runs in a transaction that cannot change anything.",
		ReadContext: readQuery,
		Schema: map[string]*schema.Schema{
			"sql": {Type: schema.TypeString, Required: true,
				Description: "The query, with `$1`, `$2` and so on for its parameters."},
			"parameters": {Type: schema.TypeList, Optional: true, Elem: text,
				Description: "The parameters, as texts: cast those that are something else, as in `$1::int`."},
			"rows": {
				Type: schema.TypeList, Computed: true, Elem: &schema.Schema{Type: schema.TypeMap, Elem: text},
				Description: "The rows, each with the texts of its columns. What is null is left out.",
			},
		},
	}
}

func readQuery(ctx context.Context, d *schema.ResourceData, meta interface{}) diag.List {
	var args []any
	for _, p := range texts(d.Get("parameters")) {
		args = append(args, p)
	}
	found := []interface{}{}
	err := pgx.BeginTxFunc(ctx, meta.(client).Pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, d.Get("sql").(string), args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			one := map[string]interface{}{}
			for i, f := range rows.FieldDescriptions() {
				switch raw := rows.RawValues()[i]; {
				case raw == nil:
				case f.Format != pgx.TextFormatCode:
					return fmt.Errorf("column %q has no form as a text: cast it with ::text", f.Name)
				default:
					one[f.Name] = string(raw)
				}
			}
			found = append(found, one)
		}
		return rows.Err()
	})
	if err != nil {
		return diag.FromErr(fmt.Errorf("query: %w", err))
	}
	d.Set("rows", found)
	return nil
}
