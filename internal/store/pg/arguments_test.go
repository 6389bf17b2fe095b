//go:build unix

package pg

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Arguments come from the block, or else from the environment, or have their default values.
func TestArguments(t *testing.T) {
	env := map[string]string{"PG_SCHEMA_NAME": "env", "PG_SKIP_INDEX_CREATION": "1", "PG_SKIP_TABLE_CREATION": "true",
		"PG_CONN_STR": "host=env.example.org", "PGPASSWORD": "from env'\\", "PGUSER": "env", "PGPORT": "17"}
	try := func(values map[string]cty.Value) (*options, error) {
		d, diags := Kind().Open(t.Context(), cty.ObjectVal(values), remote.Surroundings{
			Getenv: func(name string) string {
				return env[name]
			}})
		if diags.HasErrors() {
			return nil, diags.Err()
		}
		return d.(*driver).o, nil
	}
	null := cty.NullVal(cty.String)
	o, err := try(map[string]cty.Value{"conn_str": null, "schema_name": null, "skip_table_creation": cty.False,
		"table_name": cty.StringVal("t")})
	if err != nil {
		t.Fatal(err)
	}
	if o.schema != "env" || o.table != "t" || o.index != "states_by_name" || o.skipTable || !o.skipIndex ||
		o.skipSchema || o.keep != defaultKeep || o.config.Host != "env.example.org" || o.config.Port != 17 ||
		o.config.User != "env" || o.config.Password != `from env'\` || o.config.TLSConfig == nil ||
		len(o.config.Fallbacks) > 0 {
		t.Errorf("options %+v", o)
	}
	o, err = try(map[string]cty.Value{"conn_str": cty.StringVal("postgres://me:mine@example.org/db?sslmode=disable" +
		"&fallback_application_name=x"), "schema_name": cty.StringVal("s")})
	if err != nil {
		t.Fatal(err)
	}
	if o.schema != "s" || o.config.Host != "example.org" || o.config.Port != 17 || o.config.User != "me" ||
		o.config.Password != "mine" || o.config.Database != "db" || o.config.TLSConfig != nil ||
		o.config.RuntimeParams["fallback_application_name"] != "" {
		t.Errorf("options %+v", o)
	}
	clear(env)
	for _, text := range []string{"", "postgres:///db", "dbname=db"} {
		if o, err := try(map[string]cty.Value{"conn_str": cty.StringVal(text)}); err != nil ||
			o.config.Host != "localhost" || o.config.TLSConfig == nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for name, c := range map[string]struct{ variable, text, want string }{
		"a word for a switch":      {"PG_SKIP_SCHEMA_CREATION", "banana", "PG_SKIP_SCHEMA_CREATION"},
		"a name that is too long":  {"PG_SCHEMA_NAME", strings.Repeat("x", 64), "1 to 63"},
		"a history of less than 0": {history.Variable, "-1", history.Variable},
	} {
		before := env[c.variable]
		env[c.variable] = c.text
		if _, err := try(nil); !contains(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		env[c.variable] = before
	}
	if _, err := try(map[string]cty.Value{"schema_name": cty.StringVal("")}); !contains(err, "schema_name") {
		t.Errorf("an empty name: %v", err)
	}
}

// Errors of the server are reported, with advice.
func TestServersThatRefuse(t *testing.T) {
	dsn := pgtest.Database(t)
	between := newProxy(t, dsn)
	for _, c := range []struct{ from, to, want string }{
		{"dbname=", "dbname=no", "createdb no"},
		{"user=tester", "user=nobody", `"nobody"`},
	} {
		_, err := opened(t, strings.Replace(between.conn, c.from, c.to, 1)).Workspaces(t.Context())
		if !contains(err, "cannot connect to the PostgreSQL server 127.0.0.1", c.want) {
			t.Errorf("%s: %v", c.to, err)
		}
	}
	// Encryption is required unless sslmode disables it, as in Terraform.
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	go func() {
		for {
			c, err := plain.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, 8)) // the client's request for encryption
			_, _ = c.Write([]byte("N"))
			c.Close()
		}
	}()
	_, err = opened(t, "postgres://u@"+plain.Addr().String()+"/db").Workspaces(t.Context())
	if !contains(err, "refused TLS", "sslmode=disable") {
		t.Errorf("a server that does not encrypt: %v", err)
	}
}
