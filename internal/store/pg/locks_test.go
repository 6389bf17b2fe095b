//go:build unix

package pg

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// another returns a connection of another program.
func another(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func placed(t *testing.T, d *driver, name string) *place {
	t.Helper()
	p, err := d.Place(name)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*place)
}

// written locks, writes and unlocks a state, and returns the ID of its row.
func written(t *testing.T, p *place) int64 {
	t.Helper()
	h := lock(t, p, "writer")
	c, err := p.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Write(t.Context(), remote.Write{Data: []byte(`{"x":1}`), Was: c.Version}); err != nil {
		t.Fatal(err)
	}
	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	id, err := p.id(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func refused(t *testing.T, p *place) *state.LockInfo {
	t.Helper()
	h, err := p.Lock(t.Context(), drivertest.Info("refused"))
	var locked *state.LockedError
	if !errors.As(err, &locked) {
		if h != nil {
			_ = h.Unlock(t.Context())
		}
		t.Fatalf("lock: %v, want a LockedError", err)
	}
	return locked.Info
}

// The description of another program's lock contains everything that the server reports, and the lock can be released
// by its ID.
func TestForeignHolders(t *testing.T) {
	dsn := pgtest.Database(t)
	p := placed(t, opened(t, dsn), "default")
	id := written(t, p)
	other := another(t, dsn+" application_name=psql")
	run(t, other, "SELECT pg_advisory_lock($1)", id)
	info := refused(t, p)
	if info == nil || !strings.HasPrefix(info.ID, fmt.Sprintf("session-%d-", other.PgConn().PID())) ||
		!strings.Contains(info.Who, "user tester") || !strings.Contains(info.Who, "application: psql") ||
		time.Since(info.Created).Abs() > time.Hour {
		t.Fatalf("holder %+v", info)
	}
	if err := p.ForceUnlock(t.Context(), "refused"); !contains(err, info.ID) {
		t.Errorf("another id: %v", err)
	}
	if err := p.ForceUnlock(t.Context(), info.ID); err != nil {
		t.Fatal(err)
	}
	if err := other.Ping(t.Context()); err == nil {
		t.Error("the holder's connection goes on")
	}
	if err := p.ForceUnlock(t.Context(), info.ID); !contains(err, "not locked") {
		t.Errorf("freed twice: %v", err)
	}
	written(t, p)
}

// A user without the permission to end a connection gets an error with advice.
func TestUsersWithoutRights(t *testing.T) {
	dsn := pgtest.Database(t)
	p := placed(t, opened(t, dsn), "default")
	written(t, p)
	admin := another(t, dsn)
	role := fmt.Sprintf("reader%d", time.Now().UnixNano()) // roles belong to the whole server
	for _, sql := range []string{"CREATE ROLE %s LOGIN", "GRANT USAGE ON SCHEMA terraform_remote_state TO %s",
		"GRANT SELECT ON ALL TABLES IN SCHEMA terraform_remote_state TO %s"} {
		run(t, admin, fmt.Sprintf(sql, role))
	}
	reader := placed(t, opened(t, strings.Replace(dsn, "user=tester", "user="+role, 1)), "default")
	held := lock(t, p, "mine")
	if info := refused(t, reader); info.ID != "mine" || info.Who != "me@here" {
		t.Errorf("holder %+v", info)
	}
	if err := reader.ForceUnlock(t.Context(), "mine"); !contains(err, "pg_signal_backend", "pg_terminate_backend") {
		t.Errorf("force-unlock: %v", err)
	}
	if err := held.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := held.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	// A user with read permission only can still lock, for a plan.
	h, err := reader.Lock(t.Context(), drivertest.Info("reading"))
	if err != nil {
		t.Fatal(err)
	}
	if info := refused(t, p); info.ID != "reading" {
		t.Errorf("holder %+v", info)
	}
	_, err = h.Write(t.Context(), remote.Write{Data: []byte("{}"), Was: digest([]byte(`{"x":1}`))})
	if !contains(err, "permission denied", role) || errors.Is(err, remote.ErrLost) ||
		errors.Is(err, remote.ErrChanged) {
		t.Errorf("write: %v", err)
	}
	if err := h.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	writer := role + "w"
	for _, sql := range []string{"CREATE ROLE %s LOGIN", "GRANT USAGE ON SCHEMA terraform_remote_state TO %s",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA terraform_remote_state TO %s",
		"GRANT USAGE ON SEQUENCE public.global_states_id_seq TO %s"} {
		run(t, admin, fmt.Sprintf(sql, writer))
	}
	m := newModel(t, opened(t, strings.Replace(dsn, "user=tester", "user="+writer, 1)), "theirs")
	if m.life(func(int) {}); m.lost || len(m.may) != 1 || m.may[0].data == "" {
		t.Error("these permissions are not enough to write")
	}
	// The role may not create tables either.
	_, err = placed(t, reader.d, "new").Lock(t.Context(), drivertest.Info("reading"))
	if !contains(err, "permission denied") {
		t.Errorf("lock of a state that is not there: %v", err)
	}
	empty := pgtest.Database(t)
	d := opened(t, strings.Replace(empty, "user=tester", "user="+role, 1))
	if _, err := placed(t, d, "default").Lock(t.Context(), drivertest.Info("x")); !contains(err, "permission denied",
		`CREATE SCHEMA IF NOT EXISTS "terraform_remote_state"`, "tombolo_journal") {
		t.Errorf("lock in a database without tables: %v", err)
	}
}

// A session that creates states blocks the locking of states that it may have just created, but not of a state that
// existed before the session.
func TestCreationLocks(t *testing.T) {
	dsn := pgtest.Database(t)
	d := opened(t, dsn)
	d.o.times.creation = 150 * time.Millisecond
	known := placed(t, d, "known")
	written(t, known)
	if key := d.o.tofuCreation(); key != -3797183428 {
		t.Errorf("OpenTofu's creation lock is %d", key)
	}
	for _, key := range []int64{terraformCreation, d.o.tofuCreation()} {
		creator := another(t, dsn)
		run(t, creator, "SELECT pg_advisory_lock($1)", key)
		fresh := placed(t, d, fmt.Sprint("fresh", key))
		run(t, creator, "INSERT INTO terraform_remote_state.states (name, data) VALUES ($1, '{}')", fresh.name)
		if info := refused(t, fresh); !strings.HasPrefix(info.ID, "session-") ||
			!strings.Contains(info.Info, "creating states") {
			t.Errorf("holder %+v", info)
		}
		if info := refused(t, placed(t, d, "absent")); !strings.HasPrefix(info.ID, "session-") {
			t.Errorf("holder %+v", info)
		}
		written(t, known)
		if key == terraformCreation { // its ID releases this lock, too
			info, err := placed(t, d, "absent").Holder(t.Context())
			if err != nil || info == nil {
				t.Fatal(info, err)
			}
			if err := placed(t, d, "absent").ForceUnlock(t.Context(), info.ID); err != nil {
				t.Error(err)
			}
			continue
		}
		run(t, creator, "SELECT pg_advisory_unlock_all()")
	}
	// A program that has found no row and requests a creation lock only now is refused, but only for a short time.
	late := another(t, dsn)
	taken := func(key int64) (got bool) {
		t.Helper()
		if err := late.QueryRow(t.Context(), "SELECT pg_try_advisory_lock($1)", key).Scan(&got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	d.o.times.kept = time.Hour
	h := lock(t, placed(t, d, "absent"), "mine")
	if taken(terraformCreation) || taken(d.o.tofuCreation()) {
		t.Error("a creation lock can be taken at once")
	}
	if err := h.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	d.o.times.kept = time.Millisecond
	h = lock(t, placed(t, d, "absent"), "mine")
	for deadline := time.Now().Add(time.Minute); !taken(terraformCreation); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the creation lock is kept")
		}
	}
	if err := h.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// A lock on a state that was never written leaves nothing behind. Meanwhile, other programs can read the row as a
// state.
func TestLocksLeaveNothingBehind(t *testing.T) {
	dsn := pgtest.Database(t)
	d := opened(t, dsn)
	p := placed(t, d, "empty")
	h := lock(t, p, "0b5c8e7e-6c1f-4d9e-9d6d-000000000001")
	text, err := pgtest.Single(dsn, "SELECT data FROM terraform_remote_state.states")
	if err != nil {
		t.Fatal(err)
	}
	if st, err := state.Read(strings.NewReader(text)); err != nil || !st.IsEmpty() || stored([]byte(text)) {
		t.Errorf("%s: %v", text, err)
	}
	if names, err := d.Workspaces(t.Context()); err != nil || len(names) > 0 {
		t.Errorf("workspaces %q, %v", names, err)
	}
	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"SELECT count(*)::text FROM terraform_remote_state.states",
		"SELECT count(*)::text FROM terraform_remote_state.tombolo_states",
		"SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND pid IN " +
			"(SELECT pid FROM pg_stat_activity WHERE datname = current_database())"} {
		if n, err := pgtest.Single(dsn, sql); err != nil || n != "0" {
			t.Errorf("%s: %s, %v", sql, n, err)
		}
	}
	// If a holder dies, its row remains. The next run ignores it.
	h = lock(t, p, "0b5c8e7e-6c1f-4d9e-9d6d-000000000002")
	h.(*hold).s.close()
	lock(t, p, "next")
	if c, err := p.Read(t.Context()); err != nil || c.Version != "" {
		t.Errorf("read %+v, %v", c, err)
	}
}

// If the tables may not be created, the error names those that are missing. If only Tombolo's own tables are missing,
// journals are kept elsewhere and everything else works.
func TestTablesThatCannotBeCreated(t *testing.T) {
	dsn := pgtest.Database(t)
	d := opened(t, dsn, "PG_SKIP_SCHEMA_CREATION", "1")
	_, err := placed(t, d, "default").Lock(t.Context(), drivertest.Info("x"))
	if !contains(err, "skip_schema_creation", "CREATE SCHEMA") {
		t.Errorf("lock: %v", err)
	}
	d = opened(t, dsn, "PG_SKIP_TABLE_CREATION", "true")
	_, err = placed(t, d, "default").Lock(t.Context(), drivertest.Info("x"))
	if !contains(err, "skip_table_creation", "CREATE TABLE") {
		t.Errorf("lock: %v", err)
	}
	schema, table, _ := d.o.theirs()
	for _, sql := range append([]string{schema}, strings.Split(table, ";\n")...) {
		if err := pgtest.Execute(dsn, sql); err != nil {
			t.Fatal(err)
		}
	}
	p := placed(t, d, "default")
	h := lock(t, p, "mine")
	if _, err := p.ReadJournal(t.Context()); !errors.Is(err, remote.ErrNoJournal) {
		t.Errorf("journal: %v", err)
	}
	if _, err := h.StartJournal(t.Context(), "", []byte("a")); !errors.Is(err, remote.ErrNoJournal) {
		t.Errorf("journal: %v", err)
	}
	if info := refused(t, p); info.ID != "mine" { // the connection's name contains it
		t.Errorf("holder %+v", info)
	}
	if err := h.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	written(t, p)
	if all, err := p.List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("history %v, %v", all, err)
	}
	if err := pgtest.Execute(dsn, "SELECT 1 FROM terraform_remote_state.tombolo_states"); err == nil {
		t.Error("a table was made")
	}
}

// The schema, the table and the index have the configured names, whatever these are.
func TestNamesOfTables(t *testing.T) {
	dsn := pgtest.Database(t)
	d := opened(t, dsn, "PG_SCHEMA_NAME", `my "schema"; --`, "PG_TABLE_NAME", "my$table", "PG_INDEX_NAME", "by name")
	id := written(t, placed(t, d, "default"))
	other := another(t, dsn)
	var data string
	if err := other.QueryRow(t.Context(), `SELECT data FROM "my ""schema""; --"."my$table" WHERE id = $1`,
		id).Scan(&data); err != nil || data != `{"x":1}` {
		t.Errorf("%s, %v", data, err)
	}
	var indexes int
	if err := other.QueryRow(t.Context(), "SELECT count(*) FROM pg_indexes WHERE indexname = 'by name'").
		Scan(&indexes); err != nil || indexes != 1 {
		t.Errorf("%d indexes, %v", indexes, err)
	}
	next := placed(t, opened(t, dsn), "default") // another schema, but the same sequence of IDs
	if n := written(t, next); n == id {
		t.Error("two states have the same number, and so the same lock")
	}
}

// contains reports whether an error contains these texts.
func contains(err error, parts ...string) bool {
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			return false
		}
	}
	return true
}
