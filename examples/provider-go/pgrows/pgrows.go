// Package pgrows is a complete provider: PostgreSQL tables with reference data (plans, features, currencies), which is
// managed with the rest of the infrastructure.
//
//	provider "pgrows"      the address of the database (this file)
//	pgrows_table           a table with its columns and indexes (table.go, tabledb.go)
//	pgrows_row             one row of a table (row.go)
//	data pgrows_query      the result of a query (query.go)
//	quote_ident            a function (functions.go)
//
// It shows the features of package schema: nested blocks, replacements, computed and sensitive and write-only values,
// defaults and normal forms, checks of a plan, partial state, imports, timeouts.
package pgrows

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// DSNVariable is the environment variable with the address of the database.
const DSNVariable = "PGROWS_DSN"

// Provider describes the provider.
func Provider() *schema.Provider {
	return &schema.Provider{
		Address:     "registry.terraform.io/example/pgrows",
		Description: "Keeps tables of a PostgreSQL database, and the reference data in their rows.",
		Schema: map[string]*schema.Schema{
			"dsn": {
				Type: schema.TypeString, Required: true, Sensitive: true, DefaultFunc: schema.EnvDefaultFunc(
					DSNVariable, nil),
				Description: "The address of the database, such as `postgres://app@db.example.com/shop`. The default " +
					"is the environment variable `" + DSNVariable + "`.",
			},
			"password": {
				Type: schema.TypeString, Optional: true, Sensitive: true,
				Description: "The password, when the address does not hold it.",
			},
			"max_connections": {
				Type: schema.TypeInt, Optional: true, Default: 4, ValidateFunc: atLeast(1),
				Description: "How many connections are used at the same time. The default is 4.",
			},
		},
		ResourcesMap:         map[string]*schema.Resource{"pgrows_table": resourceTable(), "pgrows_row": resourceRow()},
		DataSourcesMap:       map[string]*schema.Resource{"pgrows_query": dataQuery()},
		Functions:            map[string]*schema.Function{"quote_ident": functionQuoteIdent()},
		ConfigureContextFunc: configure,
	}
}

// client is the last parameter of the callbacks. It connects on first use, so that an empty plan needs no database.
type client struct{ *pgxpool.Pool }

// Close closes all connections at the end of the run.
func (c client) Close() error {
	c.Pool.Close()
	return nil
}

func configure(_ context.Context, d *schema.ResourceData) (interface{}, diag.List) {
	config, err := pgxpool.ParseConfig(d.Get("dsn").(string))
	if err != nil {
		return nil, diag.List{{Severity: diag.Error, Summary: "Invalid address of the database", Detail: err.Error(),
			Path: cty.GetAttrPath("dsn")}}
	}
	if password, ok := d.GetOk("password"); ok {
		config.ConnConfig.Password = password.(string)
	}
	config.MaxConns = int32(d.Get("max_connections").(int))
	config.ConnConfig.RuntimeParams["application_name"] = "terraform-provider-pgrows"
	// Column types may change while a connection is open, which invalidates prepared statements.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, diag.FromErr(fmt.Errorf("no connections to the database: %w", err))
	}
	return client{pool}, nil
}

// inTransaction runs statements in one transaction.
func (c client) inTransaction(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, c.Pool, do)
}

// isCode reports whether an error of the server has an SQLSTATE code.
func isCode(err error, code string) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == code
}

// Codes of errors.
const (
	noSuchTable = "42P01"
	nameTaken   = "42P07"
)

func atLeast(least int) schema.SchemaValidateFunc {
	return func(v interface{}, key string) ([]string, []error) {
		if v.(int) < least {
			return nil, []error{fmt.Errorf("%s is %d, expected at least %d", key, v, least)}
		}
		return nil, nil
	}
}
