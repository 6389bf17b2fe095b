//go:build unix

package pg

import (
	"os"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

func TestMain(m *testing.M) {
	for name := range variables {
		os.Unsetenv(name)
	}
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

// opened opens a driver for tests: of a connection string, and an environment in pairs.
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

func TestDriver(t *testing.T) {
	drivertest.Run(t, drivertest.Options{}, func(t *testing.T) (a, b remote.Driver) {
		dsn := pgtest.Database(t)
		return opened(t, dsn), opened(t, dsn)
	})
}
