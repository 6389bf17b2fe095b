package pg

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// place is one state: a row of the table of states.
type place struct {
	d    *driver
	o    *options
	name string
}

// digest returns the version of a state, which the server computes in the same way.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

const sqlDigest = "encode(sha256(convert_to(s.data, 'UTF8')), 'hex')"

// Read implements remote.Place.
func (p *place) Read(ctx context.Context) (remote.Content, error) {
	r, err := p.d.ask(ctx, "SELECT s.data FROM "+p.o.states()+" s WHERE s.name = $1", text(p.name))
	switch {
	case missing(err):
		return remote.Content{}, nil
	case err != nil:
		return remote.Content{}, err
	case r.wide(1) != nil:
		return remote.Content{}, r.wide(1)
	case len(r) == 0 || !stored(r[0][0]):
		return remote.Content{}, nil
	}
	return remote.Content{Data: r[0][0], Version: digest(r[0][0])}, nil
}

// ReadJournal implements remote.Place.
func (p *place) ReadJournal(ctx context.Context) (j remote.Journal, _ error) {
	r, err := p.d.ask(ctx, "SELECT t.id::text, t.epoch::text, j.chunk FROM "+p.o.states()+" s JOIN "+p.o.about()+
		" t ON t.id = s.id AND t.epoch > 0 LEFT JOIN "+p.o.journal()+" j ON j.id = t.id AND j.epoch = t.epoch "+
		"WHERE s.name = $1 ORDER BY j.n", text(p.name))
	switch {
	case missing(err):
		return j, p.o.noRoom()
	case err != nil:
		return j, err
	case r.wide(3) != nil:
		return j, r.wide(3)
	}
	for i := range r {
		j.Version = r.text(i, 0) + "." + r.text(i, 1)
		if chunk := r[i][2]; chunk != nil {
			j.Chunks = append(j.Chunks, chunk)
		}
	}
	return j, nil
}

// epochOf returns the number of a journal from its version, if the version belongs to the state with this ID.
func epochOf(version string, id int64) (int64, bool) {
	if version == "" {
		return 0, true
	}
	before, after, _ := strings.Cut(version, ".")
	epoch, err := strconv.ParseInt(after, 10, 64)
	return epoch, err == nil && before == strconv.FormatInt(id, 10) && epoch > 0
}

// lockIs returns an SQL condition on a row l of pg_locks: it is an advisory lock of this database with one of these
// IDs.
func lockIs(ids ...int64) string {
	var each []string
	for _, id := range ids {
		each = append(each, fmt.Sprintf("(l.classid = %d AND l.objid = %d)", uint32(uint64(id)>>32),
			uint32(uint64(id))))
	}
	return "(l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.database = (SELECT d.oid FROM " +
		"pg_database d " +
		"WHERE d.datname = current_database()) AND (" + strings.Join(each, " OR ") + "))"
}

// holder describes the session that holds a lock.
type holder struct {
	pid, application, began string // as the server reports them

	info state.LockInfo
	ours bool
}

// holderOf returns the holder of one of the given locks, or nil if all are free.
func (p *place) holderOf(ctx context.Context, ids ...int64) (*holder, error) {
	r, err := p.d.ask(ctx, "SELECT l.pid::text, coalesce(a.application_name, ''), coalesce(a.usename, ''), "+
		"coalesce(host(a.client_addr), ''), coalesce(extract(epoch FROM a.backend_start)::text, ''), "+
		"coalesce(extract(epoch FROM a.state_change)::text, '') FROM pg_locks l "+
		"LEFT JOIN pg_stat_activity a ON a.pid = l.pid WHERE "+lockIs(ids...)+" ORDER BY l.pid LIMIT 1")
	if err != nil || len(r) == 0 {
		return nil, err
	}
	h := &holder{pid: r.text(0, 0), application: r.text(0, 1), began: r.text(0, 4)}
	if id, ok := strings.CutPrefix(r.text(0, 1), program+" "); ok {
		h.ours, h.info = true, state.LockInfo{ID: id, Who: "another run of " + program}
		known, err := p.d.ask(ctx, "SELECT t.lock_id, t.lock_info FROM "+p.o.about()+
			" t WHERE t.lock_info IS NOT NULL AND left(t.lock_id, 50) = $1", text(id))
		if err == nil && len(known) > 0 && json.Unmarshal([]byte(known.text(0, 1)), &h.info) == nil {
			return h, nil
		}
	}
	h.foreign(r)
	return h, nil
}

// foreign describes a session of another program, from the server's information alone.
func (h *holder) foreign(r rows) {
	application, user, from := r.text(0, 1), r.text(0, 2), r.text(0, 3)
	began, active := moment(r.text(0, 4)), moment(r.text(0, 5))
	if from == "" {
		from = "the server's machine"
		if began.IsZero() {
			from = "an address that only the user " + user + " may see"
		}
	}
	note := "The server has no other information about the connection that holds the lock. It was opened at the time " +
		"shown"
	if !active.IsZero() {
		note += ", and last used at " + active.Format(time.RFC3339)
	}
	h.info.Info, h.info.Created = note+".", began
	if h.ours {
		return
	}
	if application == "" {
		application = "no name, as with Terraform"
	}
	h.info.Operation = "unknown"
	h.info.Who = fmt.Sprintf("process %s of the server (user %s, from %s, application: %s)", h.pid, user, from,
		application)
	h.info.ID = "session-" + h.pid
	if !began.IsZero() {
		h.info.ID += "-" + strconv.FormatInt(began.UnixMicro(), 36)
	}
}

// moment parses seconds since 1970, with microsecond precision.
func moment(seconds string) time.Time {
	whole, part, _ := strings.Cut(seconds, ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}
	}
	micro, _ := strconv.ParseInt((part + "000000")[:6], 10, 64)
	return time.Unix(sec, micro*1000).UTC()
}

// id returns the ID of the row, or 0 if it does not exist.
func (p *place) id(ctx context.Context) (int64, error) {
	r, err := p.d.ask(ctx, "SELECT s.id::text FROM "+p.o.states()+" s WHERE s.name = $1", text(p.name))
	if missing(err) || err == nil && len(r) == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(r.text(0, 0), 10, 64)
}

// now returns the holder that prevents locking: that of the row's lock or, if there is no row, that of a creation lock.
func (p *place) now(ctx context.Context) (*holder, error) {
	id, err := p.id(ctx)
	if err != nil {
		return nil, err
	}
	if id == 0 {
		return p.holderOf(ctx, terraformCreation, p.o.tofuCreation())
	}
	return p.holderOf(ctx, id)
}

// Holder implements remote.Place.
func (p *place) Holder(ctx context.Context) (*state.LockInfo, error) {
	h, err := p.now(ctx)
	if h == nil || err != nil {
		return nil, err
	}
	return &h.info, nil
}

// ForceUnlock implements remote.Place. It ends the session that holds the lock.
func (p *place) ForceUnlock(ctx context.Context, lockID string) error {
	h, err := p.now(ctx)
	switch {
	case err != nil:
		return err
	case h == nil:
		return remote.ErrNotLocked
	case h.info.ID != lockID:
		return remote.AnotherLock(lockID, h.info.ID)
	}
	// The process must still be the one that was found, because process IDs are reused.
	r, err := p.d.change(ctx, "SELECT pg_terminate_backend(a.pid)::text FROM pg_stat_activity a WHERE a.pid = $1 AND "+
		"a.application_name = $2 AND coalesce(extract(epoch FROM a.backend_start)::text, '') = $3 AND "+
		"EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory')", number(atoi(h.pid)),
		text(h.application), text(h.began))
	if code(err, "42501") {
		return fmt.Errorf("the lock is held by process %s of the server, a connection of another user: only that "+
			"user, a member of pg_signal_backend or a superuser can end it, with SELECT pg_terminate_backend(%s): %w",
			h.pid, h.pid, err)
	}
	if err != nil {
		return err
	}
	if len(r) == 0 {
		return errors.New("the state is no longer locked")
	}
	for deadline := time.Now().Add(p.o.times.freed); ; {
		next, err := p.now(ctx)
		if err != nil || next == nil || next.pid != h.pid {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server was asked to end process %s, which holds the lock, but the process is "+
				"still running", h.pid)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func atoi(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// Unlocked implements remote.Place.
func (p *place) Unlocked(ctx context.Context) (remote.Hold, error) {
	return &hold{p: p}, ctx.Err()
}
