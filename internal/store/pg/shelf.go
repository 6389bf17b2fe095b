package pg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tombolo-iac/tombolo/internal/claims"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// A granular state has a row for each object beside the usual row of the state, which has the export: the state for
// other programs. internal/claims/DESIGN.md describes the tables and the steps of a run.
//
// shelf is the connection of a run to a granular state. It holds the advisory lock of the state in shared mode: other
// programs take it exclusively.
type shelf struct {
	p   *place
	s   *session
	id  int64
	run string
}

func (o *options) granular() string   { return quote(o.schema) + ".tombolo_granular" }
func (o *options) runs() string       { return quote(o.schema) + ".tombolo_runs" }
func (o *options) objects() string    { return quote(o.schema) + ".tombolo_objects" }
func (o *options) runJournal() string { return quote(o.schema) + ".tombolo_run_journal" }

// shelves returns the statements that create the tables of granular states.
func (o *options) shelves() string {
	return strings.Join([]string{
		"CREATE TABLE IF NOT EXISTS " + o.granular() + " (id bigint PRIMARY KEY, version bigint NOT NULL, " +
			"epoch bigint NOT NULL, lineage text NOT NULL, serial bigint NOT NULL, checks text NOT NULL, " +
			"digest text NOT NULL)",
		"CREATE TABLE IF NOT EXISTS " + o.runs() + " (id bigint, run text, epoch bigint NOT NULL, " +
			"chunks bigint NOT NULL, entry text NOT NULL, PRIMARY KEY (id, run))",
		"CREATE TABLE IF NOT EXISTS " + o.objects() + " (id bigint, name text COLLATE \"C\", block text NOT NULL, " +
			"content text NOT NULL, " +
			"PRIMARY KEY (id, name))",
		"CREATE TABLE IF NOT EXISTS " + o.runJournal() + " (id bigint, run text, n bigint, chunk bytea NOT NULL, " +
			"PRIMARY KEY (id, run, n))",
	}, ";\n")
}

// shelf opens the granular state for a run. The state must be stored; its first shelf has no rows: everything in the
// state counts as written by another program.
func (p *place) shelf(ctx context.Context, run string) (_ *shelf, err error) {
	s, _, err := p.d.take(ctx)
	if err != nil {
		return nil, err
	}
	h := &shelf{p: p, s: s, run: run}
	defer func() {
		if err != nil {
			s.cut()
			p.d.give(s)
		}
	}()
	err = s.do(ctx, true, func(ctx context.Context) error {
		_, err := s.conn.Exec(ctx, "SELECT pg_advisory_xact_lock(1953328495, 1);\n"+p.o.shelves()).ReadAll()
		return err
	})
	if err != nil {
		return nil, p.o.explain(err)
	}
	r, err := s.change(ctx, "SELECT s.id::text, pg_try_advisory_lock_shared(s.id)::text, "+
		"set_config('application_name', $2, false), (SELECT count(set_config(x.name, v.value, false))::text "+
		"FROM pg_settings x JOIN "+settings+
		" ON v.name = x.name) FROM "+p.o.states()+" s WHERE s.name = $1", text(p.name), text(program+" "+run))
	switch {
	case err != nil:
		return nil, p.o.explain(err)
	case len(r) == 0:
		return nil, fmt.Errorf("the state %s is not stored", p)
	}
	h.id = atoi(r.text(0, 0))
	if !r.true(0, 1) {
		return nil, p.locked(ctx, h.id)
	}
	_, err = s.change(ctx, "INSERT INTO "+p.o.granular()+" VALUES ($1, 0, 0, '', 0, 'null', '') ON CONFLICT DO NOTHING",
		number(h.id))
	p.d.mu.Lock()
	p.d.holds[s] = true
	p.d.mu.Unlock()
	return h, p.o.explain(err)
}

// shelfView is a granular state at one moment.
type shelfView struct {
	version  int64
	ledger   claims.Ledger
	alive    map[string]bool // runs whose connections hold the lock
	rows     map[string]shelfRow
	journals map[string][][]byte
	foreign  []byte // the export, if another program wrote it
}

// view reads everything in one statement, and so as of one moment.
func (h *shelf) view(ctx context.Context) (*shelfView, error) {
	return h.read(ctx, "UNION ALL SELECT 'o', x.name, '', x.block, convert_to(x.content, 'UTF8') FROM "+
		h.p.o.objects()+" x WHERE x.id = $1\nUNION ALL (SELECT 'j', j.run, '', '', j.chunk FROM "+h.p.o.runJournal()+
		" j WHERE j.id = $1 ORDER BY j.run, j.n)")
}

// ledger is like view without the rows and journals.
func (h *shelf) ledger(ctx context.Context) (*shelfView, error) { return h.read(ctx, "") }

func (h *shelf) read(ctx context.Context, more string) (*shelfView, error) {
	o := h.p.o
	r, err := h.s.ask(ctx, fmt.Sprintf(`SELECT 'g', g.version::text, g.epoch::text, '', ''::bytea FROM %s g
	WHERE g.id = $1
UNION ALL SELECT 'f', '', '', '', convert_to(s.data, 'UTF8') FROM %s s, %s g WHERE s.id = $1 AND g.id = $1
	AND g.digest <> %s
UNION ALL SELECT 'r', r.run, r.epoch::text, '', convert_to(r.entry, 'UTF8') FROM %s r WHERE r.id = $1
UNION ALL SELECT 'a', a.application_name, '', '', '' FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE %s
%s`, o.granular(), o.states(), o.granular(), sqlDigest, o.runs(), lockIs(h.id), more), number(h.id))
	if err != nil {
		return nil, o.explain(err)
	}
	if err := r.wide(5); err != nil {
		return nil, err
	}
	v := &shelfView{alive: map[string]bool{}, rows: map[string]shelfRow{}, journals: map[string][][]byte{}}
	for i, row := range r {
		switch name := r.text(i, 1); r.text(i, 0) {
		case "g":
			v.version, v.ledger.Epoch = atoi(name), uint64(atoi(r.text(i, 2)))
		case "f":
			v.foreign = row[4]
		case "r":
			var e claims.Entry
			if err := json.Unmarshal(row[4], &e); err != nil {
				return nil, fmt.Errorf("the claims of run %s cannot be read: %w", name, err)
			}
			v.ledger.Entries = append(v.ledger.Entries, e)
		case "a":
			if run, ok := strings.CutPrefix(name, program+" "); ok {
				v.alive[run] = true
			}
		case "o":
			v.rows[name] = shelfRow{r.text(i, 3), string(row[4])}
		case "j":
			v.journals[name] = append(v.journals[name], row[4])
		}
	}
	return v, nil
}

// held returns the SQL condition that this connection holds the lock.
func (h *shelf) held() string {
	return "EXISTS (SELECT FROM pg_locks l WHERE l.pid = pg_backend_pid() AND " + lockIs(h.id) + ")"
}

// add adds chunk n to the journal of the run, if the epoch is still its own. The chunk is durable when add returns.
func (h *shelf) add(ctx context.Context, epoch uint64, n int, chunk []byte) error {
	r, err := h.s.change(ctx, fmt.Sprintf(`WITH held AS (SELECT %s AS ok),
up AS (UPDATE %s t SET chunks = t.chunks + 1 FROM held
	WHERE held.ok AND t.id = $1 AND t.run = $2 AND t.epoch = $3 AND t.chunks = $4 RETURNING t.id),
more AS (INSERT INTO %s (id, run, n, chunk) SELECT $1, $2, $4, $5 FROM up)
SELECT held.ok::text, EXISTS (SELECT FROM up)::text FROM held`, h.held(), h.p.o.runs(), h.p.o.runJournal()),
		number(h.id), text(h.run), number(int64(epoch)), number(int64(n)), binary(chunk))
	switch {
	case err != nil:
		return h.p.o.explain(err)
	case !r.true(0, 0):
		return remote.ErrLost
	case !r.true(0, 1):
		return claims.ErrFenced
	}
	return nil
}

// shelfChange holds the changes of one transaction, of which all happen or none.
type shelfChange struct {
	// seen is the version that must still be current; -1 means any.
	seen int64
	// run and epoch must be in the ledger, unless run is empty.
	run   string
	epoch uint64
	// was and is are the ledgers before and after; only their differences count.
	was, is claims.Ledger
	// journal is the first chunk of the journals of the runs whose entries change, by run; nil removes a journal. Runs
	// that are not listed keep theirs.
	journal map[string][]byte
	// put and drop are changes of rows.
	put  map[string]shelfRow
	drop []string
	// imported is what another program wrote, which the rows contain after the change.
	imported *shelfState
	// export writes the rows to the export.
	export bool
}

// errOutdated means that a change was refused, because the state or the ledger has changed since it was read.
var errOutdated = errors.New("the state has changed since it was read")

// asJSON returns a value as an argument.
func asJSON(v any) arg {
	b, err := json.Marshal(v)
	if err != nil {
		panic("pg: a value without a JSON form: " + err.Error())
	}
	return text(string(b))
}

// commit makes a change. If the error is neither errOutdated nor remote.ErrLost, the change may have happened.
func (h *shelf) commit(ctx context.Context, c shelfChange) error {
	b := &batch{id: h.id}
	h.check(b, &c)
	h.changeLedger(b, &c)
	o := h.p.o
	put := c.put
	if put == nil {
		put = map[string]shelfRow{}
	}
	b.add("DELETE FROM "+o.objects()+" t USING json_array_elements_text($2::json) x WHERE "+still+
		" AND t.id = $1 AND t.name = x.value", asJSON(nonNil(c.drop)))
	b.add("INSERT INTO "+o.objects()+" (id, name, block, content) SELECT $1, x.key, x.value->>'block', "+
		"x.value->>'content' FROM json_each($2::json) x WHERE "+still+" ON CONFLICT (id, name) DO UPDATE SET "+
		"block = excluded.block, content = excluded.content", asJSON(put))
	set, args := "version = g.version + 1, epoch = greatest(g.epoch, $2)", []arg{number(int64(c.is.Epoch))}
	if i := c.imported; i != nil {
		set += ", lineage = $3, serial = $4, checks = $5"
		args = append(args, text(i.lineage), number(i.serial), text(i.checks))
	}
	b.add("UPDATE "+o.granular()+" g SET "+set+" WHERE "+still+" AND g.id = $1", args...)
	if c.export {
		b.add("UPDATE " + o.granular() + " g SET serial = g.serial + 1 WHERE " + still + " AND g.id = $1")
		b.add("UPDATE " + o.states() + " s SET data = " + o.exported() + " FROM " + o.granular() + " g WHERE " + still +
			" AND s.id = $1 AND g.id = $1")
	}
	if c.export || c.imported != nil {
		b.add("UPDATE " + o.granular() + " g SET digest = " + sqlDigest + " FROM " + o.states() + " s WHERE " + still +
			" AND g.id = $1 AND s.id = $1")
	}
	return h.send(ctx, &b.Batch)
}

// batch collects statements that run in one transaction. Their first argument is the ID of the state.
type batch struct {
	pgconn.Batch
	id int64
}

func (b *batch) add(sql string, args ...arg) {
	args = append([]arg{number(b.id)}, args...)
	values, oids, formats := make([][]byte, len(args)), make([]uint32, len(args)), make([]int16, len(args))
	for i, a := range args {
		values[i], oids[i], formats[i] = a.value, a.oid, a.format
	}
	b.ExecParams(sql, values, oids, formats, []int16{1})
}

// still is the SQL condition that the change was found to be possible.
const still = "current_setting('tombolo.ok') = 'true'"

// check adds the statements that lock the rows which the change depends on, and determine whether it is possible. They
// are separate statements, so that the last one sees what others have committed before the locks were available.
func (h *shelf) check(b *batch, c *shelfChange) {
	o, now := h.p.o, "g.digest"
	b.add("SELECT g.id::text FROM " + o.granular() + " g WHERE g.id = $1 FOR UPDATE")
	b.add("SELECT r.run FROM "+o.runs()+" r WHERE r.id = $1 AND r.run = $2 FOR UPDATE", text(c.run))
	args := []arg{number(c.seen), text(c.run), number(int64(c.epoch))}
	if c.imported != nil {
		now, args = "$5", append(args, text(digest(c.imported.data)))
	}
	b.add(fmt.Sprintf(`SELECT set_config('tombolo.ok', (%s AND EXISTS (SELECT FROM %s g, %s s
	WHERE g.id = $1 AND s.id = $1 AND (g.version = $2 OR $2 < 0) AND %s = %s
	AND ($3 = '' OR EXISTS (SELECT FROM %s r WHERE r.id = $1 AND r.run = $3 AND r.epoch = $4))))::text, true),
	(%s)::text`, h.held(), o.granular(), o.states(), sqlDigest, now, o.runs(), h.held()), args...)
}

// changeLedger adds the statements that change entries and journals.
func (h *shelf) changeLedger(b *batch, c *shelfChange) {
	o := h.p.o
	gone, entries := ledgerChange(c.was, c.is)
	journals := slices.Clone(gone)
	for run := range c.journal {
		journals = append(journals, run)
	}
	b.add("DELETE FROM "+o.runJournal()+" j USING json_array_elements_text($2::json) x WHERE "+still+
		" AND j.id = $1 AND j.run = x.value", asJSON(nonNil(journals)))
	b.add("DELETE FROM "+o.runs()+" r USING json_array_elements_text($2::json) x WHERE "+still+
		" AND r.id = $1 AND r.run = x.value", asJSON(nonNil(gone)))
	b.add("INSERT INTO "+o.runs()+" AS r (id, run, epoch, chunks, entry) SELECT $1, e.value->>'run', "+
		"(e.value->>'epoch')::bigint, 0, e.value::text FROM json_array_elements($2::json) e WHERE "+still+
		" ON CONFLICT (id, run) DO UPDATE SET epoch = excluded.epoch, entry = excluded.entry", asJSON(entries))
	for run, chunk := range c.journal {
		if chunk != nil {
			b.add("INSERT INTO "+o.runJournal()+" (id, run, n, chunk) SELECT $1, $2, 0, $3 WHERE "+still, text(run),
				binary(chunk))
		}
		b.add("UPDATE "+o.runs()+" SET chunks = $3 WHERE "+still+" AND id = $1 AND run = $2", text(run),
			number(int64(min(len(chunk), 1))))
	}
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// ledgerChange returns the runs whose entries are removed, and the entries that are new or differ.
func ledgerChange(was, is claims.Ledger) (gone []string, entries []claims.Entry) {
	entries = []claims.Entry{}
	for _, e := range was.Entries {
		if _, ok := is.Entry(e.Run); !ok {
			gone = append(gone, e.Run)
		}
	}
	for _, e := range is.Entries {
		old, ok := was.Entry(e.Run)
		if !ok || old.Epoch != e.Epoch || old.Open != e.Open || !old.Claims.Equal(e.Claims) {
			entries = append(entries, e)
		}
	}
	return gone, entries
}

// send runs the statements of a change in one transaction: the server commits at the end of the batch.
func (h *shelf) send(ctx context.Context, b *pgconn.Batch) error {
	var results []*pgconn.Result
	err := h.s.do(ctx, true, func(ctx context.Context) (err error) {
		h.s.net.begin(h.s.o.most)
		results, err = h.s.conn.ExecBatch(ctx, b).ReadAll()
		return err
	})
	switch {
	case errors.Is(err, errGone):
		return remote.ErrLost
	case err != nil:
		return h.p.o.explain(err)
	}
	checked := rows(results[2].Rows)
	switch {
	case !checked.true(0, 1):
		return remote.ErrLost
	case !checked.true(0, 0):
		return errOutdated
	}
	return nil
}

// exported is the SQL expression of the export: a document of version 4, composed of the rows. The instances of a
// resource are together.
func (o *options) exported() string {
	rows := "(SELECT string_agg(%s, ',' ORDER BY x.name) FROM " + o.objects() + " x WHERE x.id = s.id AND %s)"
	resources := "(SELECT string_agg(b.block || ',\"instances\":[' || b.list || ']}', ',' ORDER BY b.block) FROM " +
		"(SELECT x.block, string_agg(x.content, ',' ORDER BY x.name) AS list FROM " + o.objects() +
		" x WHERE x.id = s.id AND x.block <> '' GROUP BY x.block) b)"
	return `'{"version":4,"terraform_version":"1.11.4","serial":' || g.serial::text || ',"lineage":' ||
	to_json(g.lineage)::text || ',"outputs":{' || coalesce(` +
		fmt.Sprintf(rows, "x.content", "x.block = ''") + `, '') || '},"resources":[' || coalesce(` + resources +
		`, '') || '],"check_results":' || g.checks || '}'`
}

// close releases the lock.
func (h *shelf) close() { h.s.close(); h.p.d.give(h.s) }
