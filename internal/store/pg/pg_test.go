//go:build unix

package pg

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

func TestMain(m *testing.M) {
	for name := range variables {
		os.Unsetenv(name)
	}
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

// opened opens a driver for tests, with a connection string and pairs of environment variables.
func opened(t *testing.T, conn string, env ...string) *driver {
	t.Helper()
	getenv := func(name string) string {
		for i := 0; i < len(env); i += 2 {
			if env[i] == name {
				return env[i+1]
			}
		}
		return ""
	}
	d, diags := Kind().Open(t.Context(), cty.ObjectVal(map[string]cty.Value{"conn_str": cty.StringVal(conn)}),
		remote.Surroundings{Getenv: getenv, Log: t.Logf})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	t.Cleanup(func() { d.Close() })
	return d.(*driver)
}

// two opens two drivers for the same empty schema of a database.
func two(t *testing.T, dsn string, number int) (a, b remote.Driver) {
	schema := fmt.Sprint("schema", number)
	return opened(t, dsn, "PG_SCHEMA_NAME", schema), opened(t, dsn, "PG_SCHEMA_NAME", schema)
}

func TestDriver(t *testing.T) {
	dsn, n := pgtest.Database(t), 0
	drivertest.Run(t, drivertest.Options{}, func(t *testing.T) (a, b remote.Driver) {
		n++
		return two(t, dsn, n)
	})
}

func TestStore(t *testing.T) {
	dsn, n := pgtest.Database(t), 0
	storetest.Run(t, func(t *testing.T) (a, b state.Store) {
		over := func(d remote.Driver) state.Store {
			return remote.New(remote.Options{Driver: d, Rescue: []string{t.TempDir()}, Pause: time.Millisecond,
				Beat: 5 * time.Millisecond, Who: "me@here"})
		}
		n++
		one, other := two(t, dsn, n)
		return over(one), over(other)
	})
}
