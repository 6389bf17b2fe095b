// Package pg keeps states in a PostgreSQL database, in the tables that Terraform and OpenTofu use: all three share a
// state, its workspaces and its lock.
//
// The lock is a session-level advisory lock, and a session is a connection. Everything written under the lock goes
// through its connection, in statements that check that the lock is held; a closed connection is never replaced. So a
// run that has lost the lock cannot write. Reads may use any connection.
//
// Journals, former states and descriptions of lock holders are in tables of the same schema whose names begin with
// "tombolo_". Other programs ignore them.
//
//	kind := pg.Kind()
//	driver, diags := kind.Open(ctx, config, remote.Surroundings{Getenv: os.Getenv})
package pg

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/provider"
)

// Kind describes the backend "pg". Its schema is Terraform's; table_name and index_name are OpenTofu's.
func Kind() remote.Kind {
	optional := func(ty cty.Type, text string) *provider.Attribute {
		return &provider.Attribute{Type: ty, Optional: true, Description: text}
	}
	secret := func(ty cty.Type, text string) *provider.Attribute {
		a := optional(ty, text)
		a.Sensitive = true // it may contain a password
		return a
	}
	return remote.Kind{
		Name:     "pg",
		Locating: []string{"conn_str", "schema_name"},
		Location: location,
		Programs: programs,
		Place:    "a PostgreSQL database",
		Schema: &provider.Block{Attributes: map[string]*provider.Attribute{
			"conn_str": secret(cty.String, "Connection string of the database: a URL that begins with postgres://, "+
				"or settings such as host=... dbname=.... Missing settings are read from PGHOST, PGPASSWORD and the "+
				"other variables of PostgreSQL's programs."),
			"schema_name":          optional(cty.String, "Name of the schema with the tables."),
			"skip_schema_creation": optional(cty.Bool, "If set, the schema must exist: it is not created."),
			"skip_table_creation":  optional(cty.Bool, "If set, the tables must exist: they are not created."),
			"skip_index_creation":  optional(cty.Bool, "If set, the index of the table of states is not created."),
		}},
		More: map[string]*provider.Attribute{
			"table_name": optional(cty.String, "Name of the table of states. The default is states."),
			"index_name": optional(cty.String, "Name of the table's index. The default is states_by_name."),
		},
		Open: open,
	}
}

// location returns the server, the database and the names in it that have the state of a workspace. All names of the
// own machine are the same.
func location(config cty.Value, workspace string, s remote.Surroundings) string {
	a := &arguments{config: config, getenv: s.Getenv}
	if a.getenv == nil {
		a.getenv = func(string) string { return "" }
	}
	c, err := connection(a.text("conn_str", "PG_CONN_STR", ""), a.getenv)
	if err != nil {
		return ""
	}
	host := c.Host
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		host = "localhost"
	}
	return fmt.Sprintf("pg %q %q %d %q %q %q", workspace, host, c.Port, cmp.Or(c.Database, c.User),
		a.text("schema_name", "PG_SCHEMA_NAME", "terraform_remote_state"),
		a.text("table_name", "PG_TABLE_NAME", "states"))
}

// options holds the settings of the block and the environment.
type options struct {
	config *pgconn.Config // contains the password

	schema, table, index             string
	skipSchema, skipTable, skipIndex bool

	keep      int   // number of former states kept of each workspace
	keepBytes int64 // maximum total size of former states
	log       func(format string, args ...any)
	times     times
	most      int64 // maximum size of the response to a statement
}

// Defaults for the size of the history.
const (
	defaultKeep = 100
	keepBytes   = 256 << 20
)

// open reads the settings. It does not connect.
func open(_ context.Context, config cty.Value, s remote.Surroundings) (remote.Driver, diag.List) {
	a := &arguments{config: config, getenv: s.Getenv}
	if a.getenv == nil {
		a.getenv = func(string) string { return "" }
	}
	o := &options{
		schema:     a.text("schema_name", "PG_SCHEMA_NAME", "terraform_remote_state"),
		table:      a.text("table_name", "PG_TABLE_NAME", "states"),
		index:      a.text("index_name", "PG_INDEX_NAME", "states_by_name"),
		skipSchema: a.flag("skip_schema_creation", "PG_SKIP_SCHEMA_CREATION"),
		skipTable:  a.flag("skip_table_creation", "PG_SKIP_TABLE_CREATION"),
		skipIndex:  a.flag("skip_index_creation", "PG_SKIP_INDEX_CREATION"),
		keep:       defaultKeep,
		keepBytes:  keepBytes,
		log:        s.Log,
		times:      usualTimes,
		most:       mostAnswer,
	}
	if o.log == nil {
		o.log = func(string, ...any) {}
	}
	for name, value := range map[string]string{"schema_name": o.schema, "table_name": o.table, "index_name": o.index} {
		if value == "" || len(value) > 63 {
			a.wrong(name, "Invalid name of a database object",
				"The argument %s is %q. Names in PostgreSQL have 1 to 63 bytes.", name, value)
		}
	}
	var err error
	if o.keep, err = history.Keep(a.getenv, defaultKeep); err != nil {
		a.diags = a.diags.Extend(diag.FromError("Invalid value of an environment variable", err))
	}
	if o.config, err = connection(a.text("conn_str", "PG_CONN_STR", ""), a.getenv); err != nil {
		a.wrong("conn_str", "Invalid PostgreSQL connection string", "The argument conn_str, or PG_CONN_STR, "+
			"cannot be used: %s. It is not shown here, because it may contain a password.", err)
	}
	if a.diags.HasErrors() {
		return nil, a.diags
	}
	return newDriver(o), a.diags
}

// arguments reads the arguments of the block, and the environment variables that replace them.
type arguments struct {
	config cty.Value
	getenv func(string) string
	diags  diag.List
}

func (a *arguments) wrong(name, summary, format string, args ...any) {
	a.diags = a.diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: summary,
		Detail: fmt.Sprintf(format, args...), Path: cty.GetAttrPath(name)})
}

func (a *arguments) text(name, env, usual string) string {
	if v, ok := attribute(a.config, name); ok {
		return v.AsString()
	}
	if v := a.getenv(env); v != "" {
		return v
	}
	return usual
}

func (a *arguments) flag(name, env string) bool {
	if v, ok := attribute(a.config, name); ok {
		return v.True()
	}
	v := a.getenv(env)
	if v == "" {
		return false
	}
	set, err := strconv.ParseBool(v)
	if err != nil {
		a.wrong(name, "Invalid value of an environment variable",
			"The environment variable %s is %q. It stands for the argument %s and must be true or false.", env, v,
			name)
	}
	return set
}

// attribute returns the value of an argument that is set.
func attribute(config cty.Value, name string) (cty.Value, bool) {
	if config == cty.NilVal || config.IsNull() || !config.Type().HasAttribute(name) {
		return cty.NilVal, false
	}
	v, _ := config.GetAttr(name).Unmark()
	return v, !v.IsNull() && v.IsKnown()
}

// The locks under which a state is created: Terraform has one for the entire database, OpenTofu one for each table.
const terraformCreation = -1

func (o *options) tofuCreation() int64 {
	h := fnv.New32()
	h.Write([]byte(o.schema + "\x00" + o.table))
	return -int64(h.Sum32())
}
