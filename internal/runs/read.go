package runs

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// columns are those of a run, in the order of scan.
const columns = `r.id, r.repository, r.commit, r.directory, r.workspace, r.unit, r.lock_digest, r.destroy,
 r.refresh_only, r.targets, r.replace, r.plan_only, r.auto, r.queue, r.accounts, r.after, r.submitter, r.status,
 r.phase,
 r.epoch, r.attempt, r.recovering, r.worker, coalesce(w.name, ''), r.cancel, r.changes, r.plan_digest, r.approver,
 r.problem, r.lines, (extract(epoch FROM r.submitted) * 1000000)::bigint,
 (extract(epoch FROM r.started) * 1000000)::bigint, (extract(epoch FROM r.ended) * 1000000)::bigint`

const from = " FROM @runs r LEFT JOIN @workers w ON w.id = r.worker "

func scan(r row) Run {
	out := Run{ID: r.int(0), Request: Request{Repository: r.text(1), Commit: r.text(2), Directory: r.text(3),
		Workspace: r.text(4), Unit: r.text(5), LockDigest: r.text(6), Destroy: r.bool(7), RefreshOnly: r.bool(8),
		Targets: parseArray(r.text(9)), Replace: parseArray(r.text(10)), PlanOnly: r.bool(11), Auto: r.bool(12),
		Queue: r.text(13), Accounts: parseArray(r.text(14)), Submitter: r.text(16)}, Status: Status(r.text(17)),
		Phase: Phase(r.text(18)), Epoch: r.int(19), Attempt: int(r.int(20)), Recovering: r.bool(21), Worker: r.int(22),
		WorkerName: r.text(23), Cancel: Cancel(r.int(24)), Changes: r.bool(25), PlanDigest: r.text(26),
		Approver: r.text(27), Problem: r.text(28), Lines: r.int(29), Submitted: r.time(30), Started: r.time(31),
		Ended: r.time(32)}
	for _, id := range parseArray(r.text(15)) {
		out.After = append(out.After, row{[]byte(id)}.int(0))
	}
	return out
}

// get returns the run that meets a condition, or nil. The caller has the mutex.
func (q *Queue) get(ctx context.Context, condition string, args ...any) (*Run, error) {
	rows, err := q.do(ctx, "SELECT "+columns+from+"WHERE "+condition, args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	r := scan(rows[0])
	return &r, nil
}

// Get returns a run. It fails with ErrUnknown if there is none with the number.
func (q *Queue) Get(ctx context.Context, id int64) (*Run, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, err := q.get(ctx, "r.id = $1::bigint", id)
	if err == nil && r == nil {
		err = ErrUnknown
	}
	return r, err
}

// Served returns the queues that living workers serve.
func (q *Queue) Served(ctx context.Context) (map[string]bool, error) {
	rows, err := q.ask(ctx, "SELECT DISTINCT unnest(w.queues) FROM @workers w WHERE "+isAlive("w.id"))
	served := map[string]bool{}
	for _, r := range rows {
		served[r.text(0)] = true
	}
	return served, err
}

// PlanText returns the text of the plan of a run.
func (q *Queue) PlanText(ctx context.Context, id int64) (string, error) {
	rows, err := q.ask(ctx, "SELECT plan_text FROM @runs WHERE id = $1::bigint", id)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0].text(0), nil
}

// List returns the runs that have not ended, and the last ones that have, newest first.
func (q *Queue) List(ctx context.Context, ended int) (list []Run, err error) {
	rows, err := q.ask(ctx, "(SELECT "+columns+from+"WHERE r.ended IS NULL) UNION ALL (SELECT "+columns+from+
		"WHERE r.ended IS NOT NULL ORDER BY r.id DESC LIMIT $1::int) ORDER BY 1 DESC", ended)
	for _, r := range rows {
		list = append(list, scan(r))
	}
	return list, err
}

// Several returns the runs with some numbers, in the order of their numbers.
func (q *Queue) Several(ctx context.Context, ids []int64) (list []Run, err error) {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	rows, err := q.ask(ctx, "SELECT "+columns+from+"WHERE r.id = ANY($1::bigint[]) ORDER BY 1", texts)
	for _, r := range rows {
		list = append(list, scan(r))
	}
	return list, err
}

// Line is a line of the log of a run: an object in JSON.
type Line struct {
	N    int64
	Text string
}

// Lines returns at most 1000 lines of the log of a run, after a number.
func (q *Queue) Lines(ctx context.Context, id, after int64) (list []Line, err error) {
	rows, err := q.ask(ctx, "SELECT n, line FROM @lines WHERE run = $1::bigint AND n > $2::bigint ORDER BY n LIMIT "+
		"1000",
		id, after)
	for _, r := range rows {
		list = append(list, Line{N: r.int(0), Text: r.text(1)})
	}
	return list, err
}

// channel is where changes of runs are announced.
const channel = Schema + ".changed"

// Listen makes Wait return early when a run changes.
func (q *Queue) Listen(ctx context.Context) error {
	_, err := q.ask(ctx, `LISTEN "`+channel+`"`)
	return err
}

// Wait waits until a run changes, but not longer than the duration. A notification is only a hint: the caller reads
// again in any case.
func (q *Queue) Wait(ctx context.Context, most time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := q.conn.WaitForNotification(waiting)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil, pgconn.Timeout(err), errors.Is(err, context.DeadlineExceeded):
		return nil
	}
	return err
}
