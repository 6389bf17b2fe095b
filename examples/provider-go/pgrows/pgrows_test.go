//go:build unix

package pgrows_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/examples/provider-go/pgrows"
	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/sdk/schema"
	. "github.com/tombolo-iac/tombolo/sdk/schema/schematest"
)

// The test binary is also the plugin and the engine, under their names.
func TestMain(m *testing.M) {
	switch name := filepath.Base(os.Args[0]); {
	case strings.HasPrefix(name, "terraform-provider-pgrows"):
		schema.Serve(pgrows.Provider)
	case name == "tombolo":
		os.Exit(cli.Main())
	}
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

func TestProviderIsValid(t *testing.T) {
	t.Parallel()
	if err := pgrows.Provider().InternalValidate(); err != nil {
		t.Fatal(err)
	}
}

// in prepends the provider block for a database to a configuration.
func in(dsn, config string) string {
	return fmt.Sprintf("provider \"pgrows\" {\n  dsn = %q\n}\n%s", dsn, config)
}

// plans returns a table with columns and other blocks.
func plans(columns, more string) string {
	return "resource \"pgrows_table\" \"plans\" {\n  name        = \"plans\"\n  primary_key = [\"code\"]\n  column " +
		"{\n    name = \"code\"\n    type = \"text\"\n  }\n" + columns + more + "}\n"
}

func column(name, typ, more string) string {
	return fmt.Sprintf("  column {\n    name = %q\n    type = %q\n%s\n  }\n", name, typ, more)
}

func index(name string, unique bool, columns string) string {
	return fmt.Sprintf("  index {\n    name    = %q\n    unique  = %t\n    columns = [%s]\n  }\n", name, unique,
		columns)
}

func basic(more string) string {
	return "resource \"pgrows_row\" \"basic\" {\n  table = pgrows_table.plans.id\n  key   = { code = \"basic\" }\n" +
		more + "}\n"
}

// sql is a step's Before that runs a statement.
func sql(dsn, text string) func() error { return func() error { return pgtest.Execute(dsn, text) } }

// noTable checks that a table no longer exists in the database.
func noTable(dsn, name string) func() error {
	return func() error {
		n, err := pgtest.Single(dsn, "SELECT count(*)::text FROM pg_tables WHERE tablename = '"+name+"'")
		if err == nil && n != "0" {
			err = fmt.Errorf("the table %s is still there", name)
		}
		return err
	}
}

func TestTableLifecycle(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	const at = "pgrows_table.plans"
	price := column("price", "DECIMAL( 10,2 )", "    default = \"0\"")
	var oid any
	Run(t, Case{Provider: pgrows.Provider, CheckDestroyed: noTable(dsn, "plans"), Steps: []Step{{
		Name: "create", Config: in(dsn, plans(price, "  comment = \"it's what we sell\"\n"+index("plans_price", false,
			`"price", "code"`))),
		Plan: Actions{at: Create},
		CheckPlan: AllPlanned(PlannedUnknown(at, "id", "oid"), Planned(at, "schema", "public"),
			Planned(at, "column.1.nullable", false)),
		Check: All(Attr(at, "id", "public.plans"), Attr(at, "column.#", 2),
			Attr(at, "column.1.type", "DECIMAL( 10,2 )"), Attr(at, "index.0.columns", []string{"price", "code"}),
			Capture(at, "oid", &oid), Absent(at, "column.0.default", "timeouts")),
	}, {
		Import: &Import{Address: at, Ignore: []string{"column.1.type", "force_destroy"}},
	}, {
		Name: "update", Config: in(dsn, plans(column("price", "numeric(12,2)", "nullable = true")+
			column("since", "date", "default = \"now()\""), index("plans_price", true, `"price"`))),
		Plan: Actions{at: Update}, CheckPlan: Planned(at, "oid", &oid),
		Check: All(Attr(at, "oid", &oid), Attr(at, "column.2.name", "since"), Attr(at, "index.#", 1),
			Absent(at, "comment")),
	}, {
		Name: "drift", Before: sql(dsn, "ALTER TABLE plans DROP COLUMN since, ALTER COLUMN price SET NOT NULL; "+
			"COMMENT ON TABLE plans IS 'changed'"), Refresh: true,
		CheckPlan: Drifted(at), Check: All(Attr(at, "column.#", 2), Attr(at, "column.1.nullable", false),
			Attr(at, "comment", "changed")),
	}, {
		Name: "repair", Plan: Actions{at: Update}, Check: All(Attr(at, "column.#", 3), Absent(at, "comment")),
	}, {
		Name: "lost", Before: sql(dsn, "DROP TABLE plans"), Plan: Actions{at: Create},
	}, {
		Name: "another name", Config: in(dsn, strings.Replace(plans(price, ""), `name        = "plans"`,
			`name        = "tariffs"`, 1)), Plan: Actions{at: Replace}, Check: Attr(at, "id", "public.tariffs"),
	}, {
		Name: "rows are safe", Before: sql(dsn, "INSERT INTO tariffs (code) VALUES ('x')"), Destroy: true,
		Error: "it has rows", Check: Exists(at),
	}, {
		Before: sql(dsn, "DELETE FROM tariffs"), Destroy: true, Check: Gone(at),
	}}})
}

// The columns change together; an index is built separately and fails. The changes so far are recorded, and the next
// apply continues from there.
func TestFailedIndexKeepsOtherChanges(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	const at = "pgrows_table.plans"
	after := in(dsn, plans(column("label", "text", "nullable = true")+column("rank", "int", "default = \"1\""),
		"  comment = \"new\"\n  force_destroy = true\n"+index("a_rank", false, `"rank"`)+index("b_label", true,
			`"label"`)))
	Run(t, Case{Provider: pgrows.Provider, Programs: []string{"terraform"}, CheckDestroyed: noTable(dsn, "plans"),
		Steps: []Step{{
			Config: in(dsn, plans(column("label", "text", "nullable = true"), "  force_destroy = true\n")),
		}, {
			Name: "two rows have one label", Before: sql(dsn, "INSERT INTO plans VALUES ('a', 'same'), ('b', 'same')"),
			Config: after, Error: `create index "b_label".*could not create unique index`,
			Check: All(Attr(at, "column.#", 3), Attr(at, "comment", "new"), Attr(at, "index.#", 1),
				Attr(at, "index.0.name", "a_rank"), Exists(at)),
		}, {
			Name: "still", Plan: Actions{at: Update}, Error: "b_label", Check: Attr(at, "index.#", 1),
		}, {
			Name: "repaired", Before: sql(dsn, "DELETE FROM plans WHERE code = 'b'"), Plan: Actions{at: Update},
			Check: Attr(at, "index.#", 2),
		}}})
}

func TestRowLifecycle(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	table := plans(column("price", "numeric(10,2)", "default = \"7\"")+column("extra", "jsonb", "nullable = true")+
		column("token", "text", "default = \"''\""), "")
	const at = "pgrows_row.basic"
	token := func(want string) func() error {
		return func() error {
			got, err := pgtest.Single(dsn, "SELECT token FROM plans")
			if err == nil && got != want {
				err = fmt.Errorf("the token is %q, expected %q", got, want)
			}
			return err
		}
	}
	var id any
	Run(t, Case{Provider: pgrows.Provider, CheckDestroyed: noTable(dsn, "plans"), Steps: []Step{{
		Config: in(dsn, table+basic("  values = {\n    price = \"10\"\n    extra = jsonencode({ seats = 3 })\n  }\n")),
		Plan:   Actions{"pgrows_table.plans": Create, at: Create},
		Check: All(Attr(at, "id", "public.plans?code=basic"), Capture(at, "id", &id), Attr(at, "values.price", "10"),
			Attr(at, "values.extra", `{"seats":3}`)),
	}, {
		Import: &Import{Address: at, Ignore: []string{"values.price", "values.extra", "values.token"}},
	}, {
		Name: "secret",
		Config: in(dsn,
			table+basic("  values = { price = \"10\" }\n  secrets = { token = \"s3cret\" }\n  secrets_version = 1\n")),
		Plan: Actions{at: Update}, Check: All(Attr(at, "id", &id), Absent(at, "secrets", "values.extra"),
			Attr(at, "secrets_version", 1)),
	}, {
		Name: "the secret stays until its version changes", Before: token("s3cret"),
		Config: in(dsn,
			table+basic(
				"  values = { price = \"10.00\" }\n  secrets = { token = \"other\" }\n  secrets_version = 1\n")),
	}, {
		Before: token("s3cret"),
		Config: in(dsn, table+basic("  secrets = { token = \"other\" }\n  secrets_version = 2\n")),
		Check:  Absent(at, "values.price"),
	}, {
		Name: "default", Before: token("other"), Config: in(dsn, table+basic("")+`data "pgrows_query" "price" {
  sql        = "SELECT price, extra, code FROM plans WHERE code = $1 AND price > $2::int"
  parameters = [pgrows_row.basic.key.code, "1"]
}
output "name" { value = provider::pgrows::quote_ident("a b", "c") }
`),
		Check: All(Attr("data.pgrows_query.price", "rows", []map[string]string{{"price": "7.00", "code": "basic"}}),
			Output("name", `"a b".c`)),
	}, {
		Name: "drift", Config: in(dsn, table+basic("  values = { price = \"1\" }\n")),
	}, {
		Before: sql(dsn, "UPDATE plans SET price = 2"), Refresh: true, CheckPlan: Drifted(at),
		Check: Attr(at, "values.price", "2.00"),
	}, {
		Plan: Actions{at: Update}, Check: Attr(at, "values.price", "1"),
	}, {
		Name: "lost", Before: sql(dsn, "DELETE FROM plans"), Plan: Actions{at: Create},
	}}})
}

func TestMistakesAreFoundByPlans(t *testing.T) {
	t.Parallel()
	const inQuery = "data \"pgrows_query\" \"x\" {\n  sql = \"SELECT 1\"\n}\n"
	row := func(table string) string {
		return fmt.Sprintf("resource \"pgrows_row\" \"x\" {\n  table = %q\n  key   = { a = \"b\" }\n}\n", table)
	}
	for name, c := range map[string]struct {
		config, want string
		planned      bool   // found by the plan
		dsn          string // an address without a database
	}{
		"unknown column of a key": {config: strings.Replace(plans("", ""), `["code"]`, `["kode"]`, 1),
			want: `primary_key: there is no column "kode". The columns are: code`, planned: true},
		"unknown column of an index": {config: plans("", index("i", true, `"kode"`)),
			want: `index i: there is no column "kode"`, planned: true},
		"two columns of one name": {config: plans(column("code", "int", ""), ""), want: `two columns "code"`,
			planned: true},
		"a name that is too long": {config: plans(column(strings.Repeat("x", 64), "int", ""), ""),
			want: "64 bytes, expected 1 to 63", planned: true},
		"no columns": {
			config: "resource \"pgrows_table\" \"x\" {\n  name        = \"x\"\n  primary_key = [\"a\"]\n}\n",
			want:   "column", planned: true},
		"secrets without a version": {config: plans("", "") + basic("secrets = { code = \"x\" }\n"),
			want: "secrets_version", planned: true},
		"a table that is not a name": {config: row("a.b.c"), want: "3 parts, expected schema.table", planned: true},
		"a type that does not exist": {config: plans(column("x", "nothing", ""), ""),
			want: `type "nothing" does not exist`},
		"no such table": {config: row("nothing"), want: "there is no table public.nothing"},
		"no such column": {config: plans("", "") + basic("values = { nothing = \"1\" }\n"),
			want: `no column "nothing"; its columns are: code`},
		"a secret that does not fit": {config: plans(column("n", "int", ""), "") +
			basic("secrets = { n = \"hunter2\" }\nsecrets_version = 1\n"),
			want: `does not fit its column \(SQLSTATE 22P02\)`},
		"a query that writes": {config: strings.Replace(inQuery, "SELECT 1", "CREATE TABLE x (a int)", 1),
			want: "read-only transaction", planned: true},
		"a name that is empty": {config: "output \"x\" {\n  value = provider::pgrows::quote_ident(\"\")\n}\n",
			want: "a name is empty", planned: true},
		"no server": {config: inQuery, dsn: "host=/nowhere password=hunter2", want: "/nowhere",
			planned: true},
		"a bad address": {config: inQuery, dsn: "postgres://a:hunter2@:port/x",
			want: `Invalid address of the database .* on main.tf line 2`, planned: true},
		"few connections": {
			config: "provider \"pgrows\" {\n  alias           = \"few\"\n  dsn             = \"\"\n  max_connections " +
				"= 0\n}\n" + strings.Replace(inQuery, "{", "{\n  provider = pgrows.few", 1),
			want: "max_connections is 0, expected at least 1", planned: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := c.dsn
			if dsn == "" {
				dsn = pgtest.Database(t)
			}
			text := ""
			Run(t, Case{Provider: pgrows.Provider, Steps: []Step{
				{Config: in(dsn, c.config), PlanOnly: c.planned, Error: c.want, Check: func(s *State) error {
					for _, o := range s.Objects {
						text += fmt.Sprint(o.Values)
					}
					if strings.Contains(text, "hunter2") {
						return fmt.Errorf("the secret is in the state")
					}
					return nil
				}}}})
		})
	}
}

// example reads a file of the examples, which are part of the documentation.
func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestExamplesWork(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	config := in(dsn, example(t, "resources/pgrows_table/resource.tf")+example(t, "resources/pgrows_row/resource.tf")+
		example(t, "data-sources/pgrows_query/data-source.tf")+example(t, "functions/quote_ident/function.tf"))
	Run(t, Case{Provider: pgrows.Provider, CheckDestroyed: noTable(dsn, "plans"), Steps: []Step{{
		Config: config, Check: All(Output("cheap_plans", []string{"basic"}), Output("quoted", `shop."Order Lines"`),
			Attr("pgrows_row.basic", "values.price", "9.90")),
	}}})
}
