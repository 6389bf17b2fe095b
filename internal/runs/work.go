package runs

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Claim is a run that a worker has. Every change of the run needs it, and fails with ErrStale when the run was taken.
type Claim struct {
	Run
	// Plan is the plan file to apply, if the phase is Apply.
	Plan []byte
}

// Register adds a worker, which is alive as long as the connection is open. It returns the number of the worker.
func (q *Queue) Register(ctx context.Context, name string, queues []string) (int64, error) {
	rows, err := q.ask(ctx, "INSERT INTO @workers (name, queues) VALUES ($1, $2::text[]) RETURNING id", name, queues)
	if err != nil {
		return 0, err
	}
	id := rows[0].int(0)
	if _, err = q.ask(ctx, fmt.Sprintf("SELECT pg_advisory_lock(%d, $1::int)", lockKey), id); err != nil {
		return 0, err
	}
	// A machine that is gone counts as alive until the server notices, which takes hours unless it is told otherwise.
	_, err = q.ask(ctx, `SELECT set_config(p.name, v.value, false) FROM pg_settings p JOIN (VALUES
 ('tcp_keepalives_idle', '20'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '4'),
 ('tcp_user_timeout', '60000'), ('idle_session_timeout', '0')) v(name, value) ON v.name = p.name`)
	q.mu.Lock()
	q.worker = id
	q.mu.Unlock()
	return id, err
}

// Claim takes a run for the worker of this connection. It fails with ErrStale if the epoch is not that of the run, and
// with ErrBusy if another run of the same state is under way or was there first, or a limit is reached.
func (q *Queue) Claim(ctx context.Context, id, epoch int64) (c *Claim, err error) {
	return c, q.transact(ctx, func() error {
		r, err := q.get(ctx, "r.id = $1::bigint AND r.epoch = $2::bigint AND r.status = 'waiting'", id, epoch)
		if err != nil {
			return err
		}
		if r == nil {
			return ErrStale
		}
		reason, err := q.obstacle(ctx, r)
		if err != nil {
			return err
		}
		if reason != "" {
			return fmt.Errorf("%w: %s", ErrBusy, reason)
		}
		status := Planning
		if r.Phase == Apply {
			status = Applying
		}
		rows, err := q.do(ctx, `UPDATE @runs SET status = $2, worker = $3::int, started = coalesce(started,
 clock_timestamp()), problem = '' WHERE id = $1::bigint RETURNING CASE WHEN phase = 'apply' THEN plan END`, id,
			string(status), q.worker)
		if err != nil {
			return err
		}
		r.Status, r.Worker = status, q.worker
		c = &Claim{Run: *r}
		if c.Plan, err = bytea(rows[0][0]); err != nil {
			return err
		}
		return nil
	})
}

// obstacle returns why a run cannot start now, or "".
func (q *Queue) obstacle(ctx context.Context, r *Run) (string, error) {
	rows, err := q.do(ctx, `SELECT o.id FROM @runs o WHERE o.repository = $2 AND o.directory = $3 AND o.workspace = $4
 AND o.unit = $5 AND o.id <> $1::bigint AND o.ended IS NULL AND (o.status IN ('planning', 'applying') OR
 o.status = 'waiting' AND o.id < $1::bigint AND o.queue = $6) ORDER BY 1 LIMIT 1`, r.ID, r.Repository, r.Directory,
		r.Workspace, r.Unit, r.Queue)
	if err != nil {
		return "", err
	}
	if len(rows) > 0 {
		return fmt.Sprintf("the run %d of the same state is first", rows[0].int(0)), nil
	}
	rows, err = q.do(ctx, `SELECT l.name FROM @limits l WHERE l.name = ANY($1::text[]) AND l.at_once <= (SELECT count(*)
 FROM @runs o WHERE o.ended IS NULL AND o.status IN ('planning', 'applying') AND l.name = ANY(o.accounts)) ORDER BY 1
 LIMIT 1`, r.Accounts)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return fmt.Sprintf("the limit of the account %s is reached", rows[0].text(0)), nil
}

// own runs statements that change a claimed run, if the claim still holds.
func (q *Queue) own(ctx context.Context, c *Claim, do func() error) error {
	return q.transact(ctx, func() error { return q.held(ctx, c, do) })
}

// held is own within a transaction.
func (q *Queue) held(ctx context.Context, c *Claim, do func() error) error {
	rows, err := q.do(ctx, `SELECT id FROM @runs WHERE id = $1::bigint AND epoch = $2::bigint AND worker =
 $3::int AND status IN ('planning', 'applying') FOR UPDATE`, c.ID, c.Epoch, q.worker)
	if err == nil && len(rows) == 0 {
		err = ErrStale
	}
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	_, err = q.do(ctx, "SELECT pg_notify('"+channel+"', $1)", c.ID)
	return err
}

// AddLines adds lines to the log of a run.
func (q *Queue) AddLines(ctx context.Context, c *Claim, lines []string) error {
	for i, line := range lines {
		lines[i] = string(toValid(bytes.ReplaceAll([]byte(line), []byte{0}, nil)))
	}
	return q.together(ctx, func() error { return q.held(ctx, c, func() error { return q.addLines(ctx, c, lines) }) })
}

func (q *Queue) addLines(ctx context.Context, c *Claim, lines []string) error {
	_, err := q.do(ctx, `WITH have AS (UPDATE @runs SET lines = lines + $2::int WHERE id = $1::bigint RETURNING
 lines - $2::int AS n) INSERT INTO @lines (run, n, line) SELECT $1::bigint, have.n + x.i, x.line FROM have,
 unnest($3::text[]) WITH ORDINALITY x(line, i)`, c.ID, len(lines), lines)
	return err
}

// Made is a plan that a worker has made.
type Made struct {
	File         []byte
	Digest, Text string
	Changes      bool
}

// StorePlan records the plan of a run. If the run needs no approval, the claim continues with its apply; otherwise the
// run is given back until it is approved, or ends if there is nothing to approve or it was cancelled.
func (q *Queue) StorePlan(ctx context.Context, c *Claim, made Made) (Status, error) {
	if len(made.File) > MaxPlan {
		return "", fmt.Errorf("the plan file has more than %d MiB", MaxPlan>>20)
	}
	status := Planned
	switch {
	case !made.Changes || c.PlanOnly:
		status = Done
	case c.Auto:
		status = Applying
	}
	err := q.own(ctx, c, func() error {
		rows, err := q.do(ctx, "SELECT cancel FROM @runs WHERE id = $1::bigint", c.ID)
		if err != nil {
			return err
		}
		if rows[0].int(0) != 0 { // it was asked to end when the plan was almost made
			status = Cancelled
			return q.end(ctx, c.ID, Cancelled, "It was cancelled while a worker had it.")
		}
		var file any = made.File
		if status != Planned {
			file = []byte{}
		}
		_, err = q.do(ctx, `UPDATE @runs SET plan = $2, plan_digest = $3, plan_text = $4, changes = $5::boolean,
 status = $6, phase = CASE WHEN $6 = 'applying' THEN 'apply' ELSE phase END WHERE id = $1::bigint`, c.ID, file,
			made.Digest, string(toValid([]byte(made.Text))), made.Changes, string(status))
		if err == nil && status == Done {
			err = q.end(ctx, c.ID, Done, "")
		}
		return err
	})
	if err == nil {
		c.Status = status
	}
	return status, err
}

// Finish ends a run.
func (q *Queue) Finish(ctx context.Context, c *Claim, status Status, problem string) error {
	return q.own(ctx, c, func() error { return q.end(ctx, c.ID, status, problem) })
}

// Release makes a run wait for another worker, because of a problem outside of its configuration. A plan is made again,
// at most three times. An apply that had begun is never repeated: the run plans again, which reads the journal of what
// was interrupted. It returns the new status.
func (q *Queue) Release(ctx context.Context, c *Claim, problem string, counts bool) (status Status, err error) {
	return status, q.own(ctx, c, func() error {
		if counts && c.Attempt >= planAttempts && c.Status == Planning {
			status = Failed
			return q.end(ctx, c.ID, Failed, problem)
		}
		status, err = q.again(ctx, c.ID, problem)
		return err
	})
}

// again makes a run wait for another worker, with a higher epoch. The caller has checked that no worker has it.
func (q *Queue) again(ctx context.Context, id int64, problem string) (Status, error) {
	rows, err := q.do(ctx, "SELECT cancel, attempt, status FROM @runs WHERE id = $1::bigint FOR UPDATE", id)
	if err != nil {
		return "", err
	}
	switch was := Status(rows[0].text(2)); {
	case rows[0].int(0) != 0:
		if was == Applying {
			problem += ". The apply was interrupted: the next run reads its journal"
		}
		return Cancelled, q.end(ctx, id, Cancelled, problem)
	case rows[0].int(1) >= MaxAttempts:
		return Failed, q.end(ctx, id, Failed, fmt.Sprintf("%d workers have ended during this run. The last one: "+
			"%s", MaxAttempts, problem))
	}
	if _, err := q.do(ctx, `UPDATE @runs SET recovering = recovering OR status = 'applying', phase = CASE WHEN status
 IN ('planning', 'applying') THEN 'plan' ELSE phase END, epoch = epoch + 1, attempt = attempt + CASE WHEN status =
 'waiting' THEN 0 ELSE 1 END, status = 'waiting', problem = $2, plan = CASE WHEN status = 'waiting' THEN plan END
 WHERE id = $1::bigint`, id, clean(problem)); err != nil {
		return "", err
	}
	return Waiting, q.enqueue(ctx, "id = $1::bigint", id)
}

// TakeOver looks for runs whose worker has died, and for waiting runs without a job that a living worker could have,
// and makes each wait again with a higher epoch. It returns their numbers.
func (q *Queue) TakeOver(ctx context.Context) (taken []int64, err error) {
	return taken, q.transact(ctx, func() error {
		taken = nil
		rows, err := q.do(ctx, `SELECT r.id, r.status, r.worker, coalesce(w.name, '') FROM @runs r LEFT JOIN
 @river_job j ON
 j.id = r.job LEFT JOIN @workers w ON w.id = r.worker WHERE r.ended IS NULL AND (r.status IN ('planning', 'applying')
 AND NOT `+isAlive("r.worker")+` OR r.status = 'waiting' AND (j.id IS NULL OR j.state IN ('cancelled', 'completed',
 'discarded') OR j.state = 'running' AND NOT `+isAlive(`(CASE WHEN j.attempted_by[array_upper(j.attempted_by, 1)] ~
 '^[0-9]{1,9}$' THEN j.attempted_by[array_upper(j.attempted_by, 1)] ELSE '0' END)::bigint`)+`)) ORDER BY r.id FOR
 UPDATE OF r SKIP LOCKED`)
		if err != nil {
			return err
		}
		for _, r := range rows {
			problem := "the worker that had taken its job has ended"
			if r.int(2) != 0 {
				problem = fmt.Sprintf("the worker %d (%s) has ended", r.int(2), r.text(3))
			}
			if _, err := q.again(ctx, r.int(0), problem); err != nil {
				return err
			}
			taken = append(taken, r.int(0))
		}
		return nil
	})
}

// MaxResult is the most bytes of a file with results.
const MaxResult = 256 << 20

// Results returns the files with results that the service of a state did not take, of all directories of a repository,
// by their names in it.
func (q *Queue) Results(ctx context.Context, repository string) (map[string][]byte, error) {
	rows, err := q.ask(ctx, "SELECT name, content FROM @results WHERE repository = $1", repository)
	if err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	for _, r := range rows {
		if found[r.text(0)], err = bytea(r[1]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// AddResult stores such a file. Its name is never used again.
func (q *Queue) AddResult(ctx context.Context, repository, name string, content []byte) error {
	if len(content) > MaxResult {
		return fmt.Errorf("the results have %d bytes, at most %d MiB can be stored", len(content), MaxResult>>20)
	}
	_, err := q.ask(ctx, "INSERT INTO @results (repository, name, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
		repository, name, content)
	return err
}

// DropResult removes such a file after its results have become part of a state.
func (q *Queue) DropResult(ctx context.Context, repository, name string) error {
	_, err := q.ask(ctx, "DELETE FROM @results WHERE repository = $1 AND name = $2", repository, name)
	return err
}

// Cancellations returns the runs of the worker of this connection that shall end, by number.
func (q *Queue) Cancellations(ctx context.Context) (map[int64]Cancel, error) {
	rows, err := q.ask(ctx, `SELECT id, cancel FROM @runs WHERE ended IS NULL AND worker = $1::int AND cancel > 0 AND
 status IN ('planning', 'applying')`, q.worker)
	out := map[int64]Cancel{}
	for _, r := range rows {
		out[r.int(0)] = Cancel(r.int(1))
	}
	return out, err
}

var errHex = errors.New("the database returned a plan in an unknown format")

// bytea reads binary data in the text format of the database.
func bytea(text []byte) ([]byte, error) {
	if text == nil {
		return nil, nil
	}
	digits, ok := bytes.CutPrefix(text, []byte(`\x`))
	if !ok {
		return nil, errHex
	}
	return hex.AppendDecode(nil, digits)
}

// toValid returns a text without bytes that are not UTF-8.
func toValid(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\uFFFD"))
}
