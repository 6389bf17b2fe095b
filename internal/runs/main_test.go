//go:build unix

package runs

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

// environment returns a lookup of variables with the address of a database.
func environment(dsn string) func(string) string {
	return func(name string) string {
		if name == Variable {
			return dsn
		}
		return ""
	}
}

// connected opens a connection that the end of the test closes.
func connected(t *testing.T, dsn string) *Queue {
	t.Helper()
	q, err := Open(t.Context(), environment(dsn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// prepared returns the address of a database with all tables.
func prepared(t *testing.T) string {
	t.Helper()
	dsn := pgtest.Database(t)
	q := connected(t, dsn)
	err := q.Prepare(t.Context(), func(ctx context.Context) error {
		pool, err := pgxpool.New(ctx, dsn)
		if err != nil {
			return err
		}
		defer pool.Close()
		m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: Schema})
		if err == nil {
			_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}
