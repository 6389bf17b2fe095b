package runs

import (
	"context"
	"fmt"
	"slices"
)

// Kind is the kind of the jobs of River.
const Kind = "tombolo_run"

// enqueue writes the job of a waiting run.
func (q *Queue) enqueue(ctx context.Context, condition string, args ...any) error {
	const sql = `WITH chosen AS (SELECT id, epoch, queue FROM @runs WHERE status = 'waiting' AND %s),
 ready AS (SELECT nextval('@river_job_id_seq') AS job, id, epoch, queue FROM chosen),
 jobs AS (INSERT INTO @river_job (id, args, kind, max_attempts, queue) SELECT job,
 jsonb_build_object('run', id, 'epoch', epoch), '` + Kind + `', 1, queue FROM ready),
 told AS (UPDATE @runs r SET job = ready.job FROM ready WHERE r.id = ready.id)
 SELECT pg_notify('` + Schema + `.river_insert', json_build_object('queue', queue)::text) FROM (SELECT DISTINCT queue
 FROM ready) q`
	_, err := q.do(ctx, fmt.Sprintf(sql, condition), args...)
	return err
}

// Submit adds runs, all or none. It returns their numbers.
func (q *Queue) Submit(ctx context.Context, list []Request) (ids []int64, err error) {
	for i := range list {
		if err := list[i].Check(); err != nil {
			return nil, err
		}
		for _, j := range list[i].After {
			if j < 0 || j >= i {
				return nil, fmt.Errorf("run %d of the list waits for run %d, which is not before it", i, j)
			}
		}
	}
	return ids, q.transact(ctx, func() error {
		ids = nil
		for _, r := range list {
			status, after := Waiting, []string{}
			for _, j := range r.After {
				status, after = Blocked, append(after, fmt.Sprint(ids[j]))
			}
			rows, err := q.do(ctx, `INSERT INTO @runs (repository, commit, directory, workspace, unit, lock_digest,
 destroy, refresh_only, targets, replace, plan_only, auto, queue, accounts, after, submitter, status) VALUES ($1, $2,
 $3, $4, $5, $6, $7::boolean, $8::boolean, $9::text[], $10::text[], $11::boolean, $12::boolean, $13, $14::text[],
 $15::bigint[], $16, $17) RETURNING id`, r.Repository, r.Commit, r.Directory, r.Workspace, r.Unit, r.LockDigest,
				r.Destroy, r.RefreshOnly, r.Targets, r.Replace, r.PlanOnly, r.Auto, r.Queue, r.Accounts, after,
				r.Submitter, string(status))
			if err != nil {
				return err
			}
			id := rows[0].int(0)
			ids = append(ids, id)
			if err := q.enqueue(ctx, "id = $1::bigint", id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Approve lets the plan of a run be applied. The digest is that of the plan that was approved.
func (q *Queue) Approve(ctx context.Context, id int64, digest, approver string) error {
	return q.transact(ctx, func() error {
		rows, err := q.do(ctx, "SELECT status, plan_only, plan_digest FROM @runs WHERE id = $1::bigint FOR UPDATE", id)
		switch {
		case err != nil:
			return err
		case len(rows) == 0:
			return ErrUnknown
		case Status(rows[0].text(0)) != Planned || rows[0].bool(1):
			return ErrNotWaiting
		case rows[0].text(2) != digest:
			return ErrOtherPlan
		}
		_, err = q.do(ctx, `UPDATE @runs SET status = 'waiting', phase = 'apply', epoch = epoch + 1, approver = $2,
 problem = '' WHERE id = $1::bigint`, id, approver)
		if err != nil {
			return err
		}
		return q.enqueue(ctx, "id = $1::bigint", id)
	})
}

// Cancel ends a run: one that no living worker has ends at once, and the worker of another one is asked to stop it. It
// returns the status, which is the old one if a worker has the run or it has ended.
func (q *Queue) Cancel(ctx context.Context, id int64, how Cancel) (status Status, err error) {
	return status, q.transact(ctx, func() error {
		rows, err := q.do(ctx, "SELECT status, "+isAlive("worker")+" FROM @runs WHERE id = $1::bigint FOR UPDATE", id)
		switch {
		case err != nil:
			return err
		case len(rows) == 0:
			return ErrUnknown
		}
		switch status = Status(rows[0].text(0)); status {
		case Blocked, Waiting, Planned:
			status = Cancelled
			return q.end(ctx, id, Cancelled, "")
		case Planning, Applying:
			_, err = q.do(ctx, "UPDATE @runs SET cancel = greatest(cancel, $2::int) WHERE id = $1::bigint", id,
				int(how))
			if err == nil && !rows[0].bool(1) {
				status, err = q.again(ctx, id, "its worker has ended")
			}
		}
		return err
	})
}

// end ends a run, and starts or skips those that waited for it. The caller has checked that it may end.
func (q *Queue) end(ctx context.Context, id int64, status Status, problem string) error {
	if _, err := q.do(ctx, `UPDATE @runs SET status = $2, problem = $3, ended = clock_timestamp(), epoch = epoch + 1,
 plan = NULL WHERE id = $1::bigint`, id, string(status), clean(problem)); err != nil {
		return err
	}
	if status == Done {
		rows, err := q.do(ctx, `UPDATE @runs r SET status = 'waiting' WHERE status = 'blocked' AND $1::bigint =
 ANY(after)
 AND NOT EXISTS (SELECT FROM @runs o WHERE o.id = ANY(r.after) AND o.status <> 'done') RETURNING id`, id)
		if err != nil || len(rows) == 0 {
			return err
		}
		var ready []string
		for _, r := range rows {
			ready = append(ready, r.text(0))
		}
		return q.enqueue(ctx, "id = ANY($1::bigint[])", ready)
	}
	_, err := q.do(ctx, `WITH RECURSIVE later AS (SELECT id FROM @runs WHERE status = 'blocked' AND
 $1::bigint = ANY(after) UNION SELECT r.id FROM @runs r JOIN later ON later.id = ANY(r.after) WHERE
 r.status = 'blocked') UPDATE @runs SET status = 'skipped', ended = clock_timestamp(), epoch = epoch + 1, problem =
 'the run ' || $1 || ', for which it waited, did not succeed' WHERE id IN (SELECT id FROM later)`, id)
	return err
}

// Limits are how many runs may name an account at a time, over all workers.
func (q *Queue) Limits(ctx context.Context) (map[string]int, error) {
	rows, err := q.ask(ctx, "SELECT name, at_once FROM @limits")
	limits := map[string]int{}
	for _, r := range rows {
		limits[r.text(0)] = int(r.int(1))
	}
	return limits, err
}

// Limit sets the limit of an account. A negative number removes it.
func (q *Queue) Limit(ctx context.Context, account string, atOnce int) error {
	if err := CheckName(account); err != nil {
		return err
	}
	var err error
	if atOnce < 0 {
		_, err = q.ask(ctx, "DELETE FROM @limits WHERE name = $1", account)
	} else {
		_, err = q.ask(ctx, `INSERT INTO @limits (name, at_once) VALUES ($1, $2::int) ON CONFLICT (name) DO UPDATE SET
 at_once = excluded.at_once`, account, atOnce)
	}
	return err
}

// clean makes a text fit for the database, which has no zero bytes, and limits its size.
func clean(text string) string {
	const most = 16 << 10
	b := []byte(text)
	b = slices.DeleteFunc(b[:min(len(b), most)], func(c byte) bool { return c == 0 })
	return string(toValid(b))
}
