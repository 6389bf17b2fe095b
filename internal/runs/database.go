package runs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tombolo-iac/tombolo/internal/store/pg"
)

// Schema is the schema of the tables, those of River included.
const Schema = "tombolo_runs"

// Variable is the environment variable with the address of the database.
const Variable = "TOMBOLO_RUNS"

// Errors of the queue.
var (
	// ErrNoDatabase means that the environment names no database.
	ErrNoDatabase = errors.New("the environment names no database")
	// ErrNotPrepared means that the database has no tables for runs.
	ErrNotPrepared = errors.New("the database has no tables for runs")
	// ErrStale means that the run belongs to another worker now, or has ended.
	ErrStale = errors.New("the run belongs to another worker, or has ended")
	// ErrBusy means that a limit, or another run of the same state, does not let the run start now.
	ErrBusy = errors.New("the run has to wait")
	// ErrUnknown means that there is no such run.
	ErrUnknown = errors.New("there is no such run")
	// ErrNotWaiting means that a run does not wait for approval.
	ErrNotWaiting = errors.New("the run does not wait for approval")
	// ErrOtherPlan means that the plan of a run is not the one that was approved.
	ErrOtherPlan = errors.New("the run has another plan")
)

// Queue is a connection to the database of the runs. Its methods may be called concurrently; they run one at a time.
type Queue struct {
	mu     sync.Mutex
	conn   *pgconn.PgConn
	worker int64 // which this connection keeps alive
}

// Config returns the settings of the database: from TOMBOLO_RUNS, or else from PG_CONN_STR and the variables of
// PostgreSQL's programs, as for the backend pg.
func Config(getenv func(string) string) (*pgconn.Config, error) {
	text := getenv(Variable)
	if text == "" {
		text = getenv("PG_CONN_STR")
	}
	if text == "" && getenv("PGHOST") == "" && getenv("PGDATABASE") == "" && getenv("PGSERVICE") == "" {
		return nil, ErrNoDatabase
	}
	return pg.Connection(text, getenv)
}

// Open connects to the database that the environment names.
func Open(ctx context.Context, getenv func(string) string) (*Queue, error) {
	config, err := Config(getenv)
	if err != nil {
		return nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 30 * time.Second
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to the database of the runs: %w", err)
	}
	return &Queue{conn: conn}, nil
}

// Close closes the connection. The worker that it kept alive counts as ended.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = q.conn.Close(ctx) // the server notices the end in any case
}

// Lost reports whether the connection is closed.
func (q *Queue) Lost() bool { return q.conn.IsClosed() }

// row is a row of a result, as texts.
type row [][]byte

func (r row) text(i int) string { return string(r[i]) }

func (r row) int(i int) int64 {
	n, _ := strconv.ParseInt(string(r[i]), 10, 64) // NULL is 0; the column is a number
	return n
}

func (r row) bool(i int) bool { return string(r[i]) == "t" }

func (r row) time(i int) time.Time {
	n := r.int(i)
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// array is a list of texts as an array of the database.
func array(list []string) string {
	quoted := make([]string, len(list))
	for i, item := range list {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(item) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}

// parseArray reads an array of the database.
func parseArray(text string) (list []string) {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
	var item strings.Builder
	quoted, any := false, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted, any = !quoted, true
		case c == '\\' && i+1 < len(text):
			i++
			item.WriteByte(text[i])
		case c == ',' && !quoted:
			list, any = append(list, item.String()), false
			item.Reset()
		default:
			any = true
			item.WriteByte(c)
		}
	}
	if any || len(list) > 0 {
		list = append(list, item.String())
	}
	return list
}

// Limits on the time of a statement: without an answer the connection counts as lost. Large arguments get more.
const (
	answerTime = time.Minute
	leastRate  = 1 << 20 // bytes in a second
)

// do runs a statement. The caller has the mutex.
func (q *Queue) do(ctx context.Context, sql string, args ...any) ([]row, error) {
	limit := answerTime
	values, formats := make([][]byte, len(args)), make([]int16, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case []byte:
			values[i], formats[i] = v, 1
		case string:
			values[i] = []byte(v)
		case []string:
			values[i] = []byte(array(v))
		default:
			values[i] = fmt.Append(nil, v)
		}
		limit += time.Duration(len(values[i])/leastRate) * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result := q.conn.ExecParams(ctx, strings.ReplaceAll(sql, "@", Schema+"."), values, nil, formats, nil).Read()
	if result.Err != nil {
		var problem *pgconn.PgError
		if errors.As(result.Err, &problem) && (problem.Code == "42P01" || problem.Code == "3F000") {
			return nil, ErrNotPrepared
		}
		return nil, fmt.Errorf("the database of the runs: %w", result.Err)
	}
	rows := make([]row, len(result.Rows))
	for i, r := range result.Rows {
		rows[i] = r
	}
	return rows, nil
}

// ask runs a statement of its own.
func (q *Queue) ask(ctx context.Context, sql string, args ...any) ([]row, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.do(ctx, sql, args...)
}

// transact runs statements that take effect together, or not at all. Those of all connections take turns: each claim
// and each end of a run sees what the others have done, and none waits for a row while another waits for it.
func (q *Queue) transact(ctx context.Context, do func() error) error {
	return q.together(ctx, func() error {
		if _, err := q.do(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d, 0)", lockKey)); err != nil {
			return err
		}
		return do()
	})
}

// conflicts is how often a transaction is tried that the database ends because of others.
const conflicts = 5

// together is transact without turns, for statements that change one run only.
func (q *Queue) together(ctx context.Context, do func() error) (err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range conflicts {
		err = q.once(ctx, do)
		var problem *pgconn.PgError
		if !errors.As(err, &problem) || problem.Code != "40P01" && problem.Code != "40001" {
			return err
		}
	}
	return err
}

func (q *Queue) once(ctx context.Context, do func() error) error {
	if _, err := q.do(ctx, "BEGIN"); err != nil {
		return err
	}
	err := do()
	end := "COMMIT"
	if err != nil {
		end = "ROLLBACK"
	}
	if _, problem := q.do(context.WithoutCancel(ctx), end); err == nil {
		err = problem
	}
	return err
}

// lockKey is the first number of all advisory locks of this package; the second is the number of a worker, or 0 while
// the tables are created or a run is claimed. Locks of states have one large number, so that they never meet these.
const lockKey = 0x746d626c

// isAlive is a condition: whether the worker with a number is alive.
func isAlive(worker string) string {
	return fmt.Sprintf("EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = %d AND "+
		"l.objid::bigint = %s AND l.objsubid = 2 AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE "+
		"datname = current_database()))", lockKey, worker)
}

// tables creates the tables of this package. Those of River exist before.
var tables = []string{
	`CREATE TABLE IF NOT EXISTS @workers (id serial PRIMARY KEY, name text NOT NULL, queues text[] NOT NULL,
 started timestamptz NOT NULL DEFAULT clock_timestamp())`,
	`CREATE TABLE IF NOT EXISTS @limits (name text PRIMARY KEY, at_once int NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS @runs (id bigserial PRIMARY KEY,
 repository text NOT NULL, commit text NOT NULL, directory text NOT NULL, workspace text NOT NULL, unit text NOT NULL,
 lock_digest text NOT NULL, destroy boolean NOT NULL, refresh_only boolean NOT NULL, targets text[] NOT NULL,
 replace text[] NOT NULL, plan_only boolean NOT NULL, auto boolean NOT NULL, queue text NOT NULL,
 accounts text[] NOT NULL, after bigint[] NOT NULL, submitter text NOT NULL,
 status text NOT NULL, phase text NOT NULL DEFAULT 'plan', epoch bigint NOT NULL DEFAULT 1,
 attempt int NOT NULL DEFAULT 1, recovering boolean NOT NULL DEFAULT false, job bigint NOT NULL DEFAULT 0,
 worker bigint NOT NULL DEFAULT 0, cancel int NOT NULL DEFAULT 0, changes boolean NOT NULL DEFAULT false,
 plan bytea, plan_digest text NOT NULL DEFAULT '', plan_text text NOT NULL DEFAULT '',
 approver text NOT NULL DEFAULT '', problem text NOT NULL DEFAULT '', lines bigint NOT NULL DEFAULT 0,
 submitted timestamptz NOT NULL DEFAULT clock_timestamp(), started timestamptz, ended timestamptz)`,
	`CREATE INDEX IF NOT EXISTS runs_active ON @runs (status) WHERE ended IS NULL`,
	`CREATE INDEX IF NOT EXISTS runs_after ON @runs USING gin (after) WHERE ended IS NULL`,
	`CREATE TABLE IF NOT EXISTS @results (repository text, name text, content bytea NOT NULL, PRIMARY KEY (repository,
 name))`,
	`CREATE TABLE IF NOT EXISTS @lines (run bigint NOT NULL REFERENCES @runs ON DELETE CASCADE, n bigint NOT NULL,
 written timestamptz NOT NULL DEFAULT clock_timestamp(), line text NOT NULL, PRIMARY KEY (run, n))`,
}

// Prepare creates the tables. River creates its own between the creation of the schema and that of the other tables, by
// the function that is passed. Several workers may start at the same time: they take turns.
func (q *Queue) Prepare(ctx context.Context, river func(context.Context) error) error {
	const lock = "SELECT pg_%s(%d, 0)"
	if _, err := q.ask(ctx, fmt.Sprintf(lock, "advisory_lock", lockKey)); err != nil {
		return err
	}
	defer func() {
		// If this fails, the connection is closed, and so the lock is released.
		_, _ = q.ask(context.WithoutCancel(ctx), fmt.Sprintf(lock, "advisory_unlock", lockKey))
	}()
	if _, err := q.ask(ctx, "CREATE SCHEMA IF NOT EXISTS "+Schema); err != nil {
		return err
	}
	if err := river(ctx); err != nil {
		return err
	}
	for _, sql := range tables {
		if _, err := q.ask(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}
