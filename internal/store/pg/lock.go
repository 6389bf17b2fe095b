package pg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// settings are the settings of connections that hold locks. With them, the server notices within a minute, instead of
// two hours, that a machine is gone, and does not end idle connections. Only settings that the server supports are set.
const settings = `(VALUES
('tcp_keepalives_idle', '20'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '4'),
('tcp_user_timeout', '60000'), ('idle_session_timeout', '0'), ('idle_in_transaction_session_timeout', '0'),
('statement_timeout', '0'), ('lock_timeout', '30s'), ('default_transaction_isolation', 'read committed'),
('synchronous_commit', 'on')) v(name, value)`

// Conditions under which Lock tries again.
var (
	errAgain    = errors.New("it has changed in the meantime")
	errCreating = errors.New("another session holds the lock for creating states")
)

// Lock implements remote.Place. For an existing row it takes two round trips: one acquires the lock; the other checks
// that the row is still the same and that it was not just created under a creation lock, and records the holder.
func (p *place) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	for deadline := time.Now().Add(p.o.times.creation); ; {
		h, err := p.lockOnce(ctx, info)
		switch {
		case err == nil:
			p.o.log("locked %s", p)
			return h, nil
		case errors.Is(err, errAgain), errors.Is(err, errCreating):
		default:
			if locked := (*state.LockedError)(nil); errors.As(err, &locked) {
				p.d.rest()
			}
			return nil, p.o.explain(err)
		}
		if time.Now().After(deadline) {
			if errors.Is(err, errCreating) {
				return nil, p.creating(ctx)
			}
			return nil, &state.LockedError{Err: fmt.Errorf("other runs keep taking and releasing the lock of %s", p)}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (p *place) lockOnce(ctx context.Context, info state.LockInfo) (_ *hold, err error) {
	s, old, err := p.d.take(ctx)
	if err != nil {
		return nil, err
	}
	h := &hold{p: p, s: s, lockID: info.ID}
	defer func() {
		if err != nil {
			h.drop()
			if old && (errors.Is(err, errGone) || s.gone.Load()) && ctx.Err() == nil {
				err = errAgain // the idle connection was broken
			}
		}
	}()
	if h.own, err = p.row(ctx, h); err != nil {
		return nil, err
	}
	if h.id == 0 {
		err = p.create(ctx, h)
	}
	if err == nil {
		err = p.confirm(ctx, h, info)
	}
	if err != nil {
		return nil, err
	}
	p.d.mu.Lock()
	p.d.holds[s] = true
	p.d.mu.Unlock()
	if h.creation {
		h.endCreation()
	}
	return h, nil
}

// row looks for the row and tries to lock it. It creates the tables if they are missing.
func (p *place) row(ctx context.Context, h *hold) (own bool, err error) {
	// The lock of a session must not be acquired if the next statement may go to another session.
	const query = "SELECT pg_backend_pid()::text, pg_is_in_recovery()::text, (to_regclass($3) IS NOT NULL)::text, " +
		"s.id::text, CASE WHEN pg_backend_pid() = $2 AND NOT pg_is_in_recovery() THEN " +
		"pg_try_advisory_lock(s.id)::text END, %s::text FROM (SELECT) one LEFT JOIN %s s ON s.name = $1"
	for range 3 {
		r, err := h.s.change(ctx, fmt.Sprintf(query, isNothing, p.o.states()), text(p.name), number(atoi(h.s.pid)),
			text(p.o.history()))
		switch {
		case missing(err):
			if _, err = p.o.ensure(ctx, h.s); err != nil {
				return false, err
			}
			continue
		case err != nil:
			return false, err
		case r.text(0, 0) != h.s.pid:
			if err := p.o.pooler(ctx, h.s); err != nil {
				return false, err
			}
			h.s.pid = r.text(0, 0)
			continue
		case r.true(0, 1):
			return false, &problem{text: "the PostgreSQL server " + p.o.address() +
				" is a standby, which is read-only and has separate locks. Connect to the primary server " +
				"(target_session_attrs=read-write)"}
		}
		if own = r.true(0, 2); !own {
			if own, err = p.o.ensure(ctx, h.s); err != nil {
				p.o.log("there are no tables for journals: %s", err)
				return false, err
			}
		}
		switch id := atoi(r.text(0, 3)); {
		case id == 0:
			return own, nil
		case r.true(0, 4):
			h.id, h.fresh = id, r.true(0, 5)
			return own, nil
		default:
			return own, p.locked(ctx, id)
		}
	}
	return false, errAgain
}

// locked returns the error that names the lock holder of a row.
func (p *place) locked(ctx context.Context, id int64) error {
	other, err := p.holderOf(ctx, id)
	switch {
	case err != nil:
		return err
	case other == nil:
		return errAgain // the lock was released meanwhile
	}
	return &state.LockedError{Info: &other.info}
}

// creating returns the error that names the holder of a creation lock. During the first apply of a state, Terraform
// holds its creation lock throughout.
func (p *place) creating(ctx context.Context) error {
	other, err := p.holderOf(ctx, terraformCreation, p.o.tofuCreation())
	switch {
	case err != nil:
		return err
	case other == nil:
		return &state.LockedError{Err: errCreating}
	}
	if !other.ours {
		other.info.Info = "It holds the lock for creating states, which Terraform holds during the first apply of a " +
			"state, perhaps in another project of this database. " + other.info.Info
	}
	return &state.LockedError{Info: &other.info}
}

// create inserts a row and locks it, under the creation locks of both programs.
func (p *place) create(ctx context.Context, h *hold) error {
	r, err := h.s.change(ctx, "SELECT pg_try_advisory_lock($1)::text, pg_try_advisory_lock($2)::text",
		number(terraformCreation), number(p.o.tofuCreation()))
	if err != nil {
		return err
	}
	h.creation = true
	if !r.true(0, 0) || !r.true(0, 1) {
		return errCreating // drop releases the lock
	}
	r, err = h.s.change(ctx, fmt.Sprintf("INSERT INTO %s AS s (name, data) SELECT $1, $2 WHERE NOT EXISTS "+
		"(SELECT FROM %s x WHERE x.name = $1) ON CONFLICT DO NOTHING RETURNING s.id::text, "+
		"pg_try_advisory_lock(s.id)::text", p.o.states(), p.o.states()), text(p.name), text(placeholder(h.lockID)))
	switch {
	case err != nil:
		return err
	case !r.true(0, 1):
		return errAgain
	}
	h.id, h.fresh = atoi(r.text(0, 0)), true
	return nil
}

// confirm checks that the lock is valid, and records its holder.
func (p *place) confirm(ctx context.Context, h *hold, info state.LockInfo) error {
	note, err := json.Marshal(info)
	if err != nil {
		return err
	}
	// A session with a creation lock may have just created the row and continue with it, unless the session started
	// after this row was first read. Tombolo's sessions lock the rows that they create.
	const query = "%s SELECT EXISTS (SELECT FROM %s s WHERE s.id = $1 AND s.name = $2)::text, " +
		"EXISTS (SELECT FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid WHERE %s " +
		"AND l.pid <> pg_backend_pid() AND coalesce(a.application_name, '') NOT LIKE '" + program + " %%' " +
		"AND (a.backend_start > %s) IS NOT TRUE)::text, set_config('application_name', $3, false), " +
		"(SELECT count(set_config(p.name, v.value, false))::text FROM pg_settings p JOIN " + settings +
		" ON v.name = p.name WHERE p.name <> 'synchronous_commit' OR p.setting = 'off')"
	creators := lockIs(terraformCreation, p.o.tofuCreation())
	application := program + " " + info.ID[:min(len(info.ID), 50)]
	args := []arg{number(h.id), text(p.name), text(application)}
	var r rows
	if h.own {
		me := "WITH me AS (INSERT INTO " + p.o.about() +
			" AS t (id, tab, lock_id, lock_info) VALUES ($1, $4, $5, $6) " +
			"ON CONFLICT (id) DO UPDATE SET lock_id = $5, lock_info = $6 RETURNING t.seen)"
		r, err = h.s.change(ctx, fmt.Sprintf(query, me, p.o.states(), creators, "(SELECT seen FROM me)"),
			append(args, text(p.o.table), text(info.ID), text(string(note)))...)
	}
	h.reported = h.own && err == nil
	if !h.own || code(err, "42501", "25006") { // a user with read permission only can still lock
		r, err = h.s.change(ctx, fmt.Sprintf(query, "", p.o.states(), creators, "NULL"), args...)
	}
	switch {
	case err != nil:
		return err
	case !r.true(0, 0):
		return errAgain
	case r.true(0, 1):
		return errCreating
	}
	return nil
}

// drop releases a lock that was only partly acquired.
func (h *hold) drop() {
	if (h.id != 0 || h.creation) && !h.s.gone.Load() {
		ctx, cancel := context.WithTimeout(context.Background(), h.p.o.times.grace)
		defer cancel()
		err := h.sweep(ctx)
		if err == nil {
			_, err = h.s.change(ctx, "SELECT pg_advisory_unlock_all()::text, set_config('application_name', $1, false)",
				text(program))
		}
		if err != nil {
			h.s.cut() // releases the lock, too
		}
	}
	h.p.d.give(h.s)
}
