package pg

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// hold is the lock on a state and the connection that holds it, or neither.
type hold struct {
	p *place
	s *session // nil without the lock

	lockID   string
	id       int64 // of the row; 0 without the lock
	own      bool  // Tombolo's own tables exist
	reported bool  // they describe the lock holder

	// creation is set while the creation locks are held as well. stop ends the wait before they are released.
	creation bool
	stop     chan struct{}
	wg       sync.WaitGroup

	mu    sync.Mutex
	fresh bool // the row only contained a placeholder
	over  bool // unlocked
}

// held returns the SQL condition that this connection holds the lock.
func (h *hold) held() string {
	if h.s == nil {
		return "true"
	}
	return "EXISTS (SELECT FROM pg_locks l WHERE l.pid = pg_backend_pid() AND " + lockIs(h.id) + ")"
}

// run runs a statement that writes, on the connection with the lock. The first column of the only row of its result is
// whether the lock is held.
func (h *hold) run(ctx context.Context, sql string, args ...arg) (rows, error) {
	if h.s == nil {
		r, err := h.p.d.change(ctx, sql, args...)
		return r, h.p.o.explain(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	over := h.over
	h.mu.Unlock()
	if over {
		return nil, remote.ErrLost
	}
	r, err := h.s.change(ctx, sql, args...)
	switch {
	case errors.Is(err, errGone), safeToRetry(err) && h.s.gone.Load():
		return nil, remote.ErrLost // no statement was sent
	case err != nil && h.s.gone.Load():
		h.settle()
		return nil, fmt.Errorf("the connection that holds the lock broke: %w", h.p.o.explain(err))
	case err != nil:
		return nil, h.p.o.explain(err)
	case !r.true(0, 0):
		return nil, remote.ErrLost
	}
	return r, nil
}

// settle waits for a limited time until the server has finished the work of a broken connection, so that its result can
// be read.
func (h *hold) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), h.p.o.times.grace)
	defer cancel()
	for {
		r, err := h.p.d.ask(ctx, "SELECT EXISTS (SELECT FROM pg_locks l WHERE l.pid = $1 AND "+lockIs(h.id)+")::text",
			number(atoi(h.s.pid)))
		if err != nil || !r.true(0, 0) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// row returns the ID of the row for a write without the lock. It creates the tables and the row if they are missing.
func (h *hold) row(ctx context.Context) (int64, error) {
	if h.s != nil {
		if !h.own {
			return h.id, h.p.o.noRoom()
		}
		return h.id, nil
	}
	o := h.p.o
	s, _, err := h.p.d.take(ctx)
	if err != nil {
		return 0, err
	}
	defer h.p.d.give(s)
	own, err := o.ensure(ctx, s)
	if err != nil {
		return 0, o.explain(err)
	}
	if h.own = own; !own {
		return 0, o.noRoom()
	}
	if _, err := s.change(ctx, fmt.Sprintf("INSERT INTO %s (name, data) SELECT $1, $2 WHERE NOT EXISTS "+
		"(SELECT FROM %s x WHERE x.name = $1) ON CONFLICT DO NOTHING", o.states(), o.states()),
		text(h.p.name), text(placeholder(uuid.NewString()))); err != nil {
		return 0, o.explain(err)
	}
	r, err := s.change(ctx, "INSERT INTO "+o.about()+" (id, tab) SELECT s.id, $2 FROM "+o.states()+
		" s WHERE s.name = $1 ON CONFLICT DO NOTHING", text(h.p.name), text(o.table))
	if err == nil {
		r, err = s.ask(ctx, "SELECT s.id::text FROM "+o.states()+" s WHERE s.name = $1", text(h.p.name))
	}
	return atoi(r.text(0, 0)), o.explain(err)
}

// StartJournal implements remote.Hold.
func (h *hold) StartJournal(ctx context.Context, was string, first []byte) (string, error) {
	id, err := h.row(ctx)
	if err != nil {
		return "", err
	}
	epoch, ok := epochOf(was, id)
	if !ok {
		return "", remote.ErrChanged
	}
	o := h.p.o
	r, err := h.run(ctx, fmt.Sprintf(`WITH held AS (SELECT %s AS ok),
up AS (UPDATE %s t SET epoch = t.epoch + 1, chunks = CASE WHEN $4::bytea IS NULL THEN 0 ELSE 1 END FROM held
	WHERE held.ok AND t.id = $1 AND t.epoch = $2 AND EXISTS (SELECT FROM %s s WHERE s.id = $1 AND s.name = $3)
	RETURNING t.epoch),
gone AS (DELETE FROM %s j USING up WHERE j.id = $1 AND j.epoch < up.epoch),
first AS (INSERT INTO %s (id, epoch, n, chunk) SELECT $1, up.epoch, 0, $4 FROM up WHERE $4 IS NOT NULL)
SELECT held.ok::text, (SELECT epoch FROM up)::text FROM held`,
		h.held(), o.about(), o.states(), o.journal(), o.journal()),
		number(id), number(epoch), text(h.p.name), binary(first))
	switch {
	case err != nil:
		return "", err
	case r.text(0, 1) == "":
		return "", remote.ErrChanged
	}
	return strconv.FormatInt(id, 10) + "." + r.text(0, 1), nil
}

// Append implements remote.Hold.
func (h *hold) Append(ctx context.Context, version string, n int, chunk []byte) error {
	id := h.id
	if h.s == nil {
		var err error
		if id, err = h.p.id(ctx); err != nil {
			return err
		}
	}
	epoch, ok := epochOf(version, id)
	if err := ctx.Err(); !ok || err != nil {
		if err != nil {
			return err
		}
		return remote.ErrChanged
	}
	if chunk == nil {
		chunk = []byte{}
	}
	o := h.p.o
	r, err := h.run(ctx, fmt.Sprintf(`WITH held AS (SELECT %s AS ok),
up AS (UPDATE %s t SET chunks = t.chunks + 1 FROM held
	WHERE held.ok AND t.id = $1 AND t.epoch = $2 AND t.chunks = $3
	AND EXISTS (SELECT FROM %s s WHERE s.id = $1 AND s.name = $5) RETURNING t.id),
more AS (INSERT INTO %s (id, epoch, n, chunk) SELECT $1, $2, $3, $4 FROM up)
SELECT held.ok::text, EXISTS (SELECT FROM up)::text FROM held`, h.held(), o.about(), o.states(), o.journal()),
		number(id), number(epoch), number(int64(n)), binary(chunk), text(h.p.name))
	if err == nil && !r.true(0, 1) {
		return remote.ErrChanged
	}
	return err
}

// Write implements remote.Hold.
func (h *hold) Write(ctx context.Context, w remote.Write) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	id, err := h.row(ctx)
	if err != nil && !errors.Is(err, remote.ErrNoJournal) { // then write without a history
		return "", err
	}
	version := digest(w.Data)
	changed, err := h.write(ctx, id, w, version)
	if err == nil && !changed && w.Was == "" {
		// The row may be missing because it was deleted under this lock, or because there is no lock.
		insert := "INSERT INTO " + h.p.o.states() + " (name, data) SELECT $1, $2"
		args := []arg{text(h.p.name), text(placeholder(h.lockID))}
		if h.s != nil {
			insert = "INSERT INTO " + h.p.o.states() + " (name, data, id) SELECT $1, $2, $3"
			args = append(args, number(h.id))
		}
		var r rows
		if r, err = h.run(ctx, fmt.Sprintf("WITH held AS (SELECT %s AS ok), more AS (%s FROM held WHERE held.ok "+
			"ON CONFLICT DO NOTHING RETURNING id) SELECT held.ok::text, EXISTS (SELECT FROM more)::text FROM held",
			h.held(), insert), args...); err == nil && r.true(0, 1) {
			changed, err = h.write(ctx, id, w, version)
		}
	}
	switch {
	case err != nil:
		return "", err
	case !changed:
		return "", remote.ErrChanged
	}
	h.mu.Lock()
	h.fresh = false
	h.mu.Unlock()
	return version, nil
}

// write replaces the state if its version is the expected one, and reports whether it did.
func (h *hold) write(ctx context.Context, id int64, w remote.Write, version string) (bool, error) {
	o := h.p.o
	is, which := sqlDigest+" = $2", "s.name = $1"
	if w.Was == "" {
		is = "($2::text IS NOT NULL AND " + isNothing + ")"
	}
	args := []arg{text(h.p.name), text(w.Was), text(string(w.Data))}
	if h.s != nil {
		which += " AND s.id = " + strconv.FormatInt(h.id, 10)
	}
	also := ""
	if h.own && o.keep > 0 {
		var more []arg
		var err error
		if also, more, err = o.keeping(id, w, version, len(args)); err != nil {
			return false, err
		}
		args = append(args, more...)
	}
	r, err := h.run(ctx, fmt.Sprintf(`WITH held AS (SELECT %s AS ok),
up AS (UPDATE %s s SET data = $3 FROM held WHERE held.ok AND %s AND %s RETURNING s.id)%s
SELECT held.ok::text, EXISTS (SELECT FROM up)::text FROM held`, h.held(), o.states(), which, is, also), args...)
	return err == nil && r.true(0, 1), err
}

// Check implements remote.Hold. It closes a connection without traffic after a while.
func (h *hold) Check(ctx context.Context) error {
	h.mu.Lock()
	over := h.over
	h.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case h.s == nil:
		return nil
	case over:
		return remote.ErrLost
	}
	limited, cancel := context.WithTimeout(ctx, h.p.o.times.check)
	defer cancel()
	r, err := h.s.ask(limited, "SELECT ("+h.held()+")::text")
	switch {
	case err == nil && r.true(0, 0):
		return nil
	case err == nil || h.s.gone.Load():
		return remote.ErrLost
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		silent := time.Since(*h.s.answered.Load())
		if silent > h.p.o.times.patience {
			h.s.cut()
			return remote.ErrLost
		}
		return fmt.Errorf("the PostgreSQL server %s has not answered for %s", h.p.o.address(),
			silent.Round(time.Second))
	}
	return h.p.o.explain(err)
}

// Delete implements remote.Hold.
func (h *hold) Delete(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := h.p.o
	id := h.id
	if h.s == nil {
		var err error
		if id, err = h.p.id(ctx); id == 0 || err != nil {
			return err
		}
	}
	also := ""
	if h.own || h.s == nil {
		also = fmt.Sprintf(", j AS (DELETE FROM %s j USING held WHERE held.ok AND j.id = $1), "+
			"hist AS (DELETE FROM %s t USING held WHERE held.ok AND t.id = $1), "+
			"a AS (UPDATE %s t SET epoch = t.epoch + 1, chunks = 0 FROM held WHERE held.ok AND t.id = $1 AND t.epoch "+
			"> 0)",
			o.journal(), o.history(), o.about())
	}
	const query = "WITH held AS (SELECT %s AS ok), s AS (DELETE FROM %s s USING held WHERE held.ok AND s.id = $1)%s " +
		"SELECT held.ok::text FROM held"
	_, err := h.run(ctx, fmt.Sprintf(query, h.held(), o.states(), also), number(id))
	if h.s == nil && missing(err) {
		_, err = h.run(ctx, fmt.Sprintf(query, h.held(), o.states(), ""), number(id))
	}
	h.mu.Lock()
	h.fresh = true // there may be leftovers to sweep
	h.mu.Unlock()
	return err
}

// sweep removes a row that only existed for the lock and never had a state or a journal.
func (h *hold) sweep(ctx context.Context) error {
	h.mu.Lock()
	fresh := h.fresh
	h.mu.Unlock()
	if !fresh || h.id == 0 {
		return nil
	}
	o := h.p.o
	if !h.own {
		_, err := h.s.change(ctx, "DELETE FROM "+o.states()+" s WHERE s.id = $1 AND "+isPlaceholder, number(h.id))
		return err
	}
	_, err := h.s.change(ctx, fmt.Sprintf("WITH gone AS (DELETE FROM %s s WHERE s.id = $1 AND %s AND NOT EXISTS "+
		"(SELECT FROM %s j WHERE j.id = $1 AND j.epoch > 0) RETURNING s.id) DELETE FROM %s t WHERE t.id = $1 AND "+
		"(EXISTS (SELECT FROM gone) OR NOT EXISTS (SELECT FROM %s s WHERE s.id = $1))",
		o.states(), isPlaceholder, o.about(), o.about(), o.states()), number(h.id))
	return err
}

// endCreation releases the creation locks after a delay: a program that looked for the row before it existed may
// request one of them only now.
func (h *hold) endCreation() {
	h.stop = make(chan struct{})
	h.wg.Go(func() {
		select {
		case <-h.stop:
			return // Unlock releases them
		case <-h.s.ctx.Done():
			return
		case <-time.After(h.p.o.times.kept):
		}
		ctx, cancel := context.WithTimeout(h.s.ctx, h.p.o.times.grace)
		defer cancel()
		_, _ = h.s.change(ctx, "SELECT pg_advisory_unlock($1)::text, pg_advisory_unlock($2)::text",
			number(terraformCreation), number(h.p.o.tofuCreation())) // or the end of the connection releases them
	})
}

// Unlock implements remote.Hold. It makes the connection available again.
func (h *hold) Unlock(ctx context.Context) error {
	if err := ctx.Err(); err != nil || h.s == nil {
		return err
	}
	h.mu.Lock()
	over := h.over
	h.over = true
	h.mu.Unlock()
	if over {
		return remote.ErrLost
	}
	if h.stop != nil {
		close(h.stop)
		h.wg.Wait()
	}
	defer h.p.d.give(h.s)
	if h.s.gone.Load() {
		return remote.ErrLost
	}
	err := h.sweep(ctx)
	if err != nil && !h.s.gone.Load() {
		h.p.o.log("removing the record of the lock: %s", h.p.o.explain(err)) // the lock is released in any case
	}
	me := ""
	if h.reported {
		me = "WITH me AS (UPDATE " + h.p.o.about() +
			" t SET lock_id = NULL, lock_info = NULL WHERE t.id = $1 AND t.lock_id = $2) "
	}
	r, err := h.s.change(ctx, me+"SELECT pg_advisory_unlock($1)::text, "+
		"CASE WHEN $2::text IS NOT NULL THEN pg_advisory_unlock_all()::text END, set_config('application_name', $3, "+
		"false)",
		number(h.id), text(h.lockID), text(program))
	switch {
	case err != nil:
		gone := h.s.gone.Load()
		h.s.cut() // releases the lock
		if gone {
			return remote.ErrLost
		}
		return h.p.o.explain(err)
	case !r.true(0, 0):
		return remote.ErrLost
	}
	h.p.o.log("unlocked %s", h.p)
	return nil
}
