//go:build unix

package pg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/claims"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// This file has the worker of TestParallelRunsAreSerial: a process that performs random runs on a granular state. The
// real objects are rows of a table, and a call changes one of them.

const things = 10

func thing(n int) string { return fmt.Sprintf("t.o%d", n) }

func scopeOf(name string) claims.Scope {
	i, diags := addr.ParseInstance(name)
	if diags.HasErrors() {
		panic(diags.Err())
	}
	return claims.Instance(i)
}

// rowOf returns the row of an object with a value.
func rowOf(name, value string) shelfRow {
	return shelfRow{fmt.Sprintf(`{"mode":"managed","type":"t","name":%q,"provider":`+
		`"provider[\"registry.terraform.io/hashicorp/t\"]"`, name[2:]),
		fmt.Sprintf(`{"schema_version":0,"attributes":{"id":%q}}`, value)}
}

// valueIn returns the value in a row, or "".
func valueIn(row shelfRow) string {
	var instance struct{ Attributes struct{ ID string } }
	_ = json.Unmarshal([]byte(row.Content), &instance)
	return instance.Attributes.ID
}

// record is a chunk of a journal in these tests.
type record struct {
	Intent, Result, Value, Was string
}

// journalOf returns the operations without a result, and the results, of a journal.
func journalOf(chunks [][]byte) (open map[string]bool, results map[string]record) {
	open, results = map[string]bool{}, map[string]record{}
	for _, c := range chunks {
		var list []record
		if err := json.Unmarshal(c, &list); err != nil {
			panic(err)
		}
		for _, r := range list {
			if r.Intent != "" {
				open[r.Intent] = true
			} else {
				delete(open, r.Result)
				if first, ok := results[r.Result]; ok {
					r.Was = first.Was
				}
				results[r.Result] = r
			}
		}
	}
	return open, results
}

func chunkOf(list ...record) []byte {
	b, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return b
}

func carry(open map[string]bool) []byte {
	var list []record
	for _, name := range slices.Sorted(maps.Keys(open)) {
		list = append(list, record{Intent: name})
	}
	if list == nil {
		return nil
	}
	return chunkOf(list...)
}

func openClaims(open map[string]bool) claims.Set {
	var list []claims.Claim
	for name := range open {
		list = append(list, claims.Claim{Scope: scopeOf(name), Mode: claims.Write})
	}
	return claims.Of(list...)
}

// worker performs runs until its number is reached.
type worker struct {
	place *place
	world *pgx.Conn
	r     *rand.Rand
}

// errBusy means that a run has to begin again, because another one was faster or holds a claim.
var errBusy = errors.New("another run is in the way")

func newWorker(ctx context.Context, dsn string, seed uint64) (*worker, error) {
	d, diags := Kind().Open(ctx, cty.ObjectVal(map[string]cty.Value{"conn_str": cty.StringVal(dsn)}),
		remote.Surroundings{})
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	p, _ := d.Place("default")
	conn, err := pgx.Connect(ctx, dsn)
	return &worker{p.(*place), conn, rand.New(rand.NewPCG(seed, uint64(os.Getpid())))}, err
}

// shelfRun is one run in progress.
type shelfRun struct {
	*worker
	h     *shelf
	id    string
	lock  int64 // held while the run performs calls, so that others can wait for them
	view  *shelfView
	reads []string
	want  []string // objects to be written
	all   bool     // claims the whole state and changes nothing

	now   map[string]string // real values of what it uses
	epoch uint64
	n     int // next chunk
	open  map[string]bool
	put   map[string]shelfRow
	drop  map[string]bool
	entry claims.Ledger
}

// perform performs one random run, or one that settles everything.
func (w *worker) perform(ctx context.Context, all bool) error {
	id := uuid.NewString()
	h, err := w.place.shelf(ctx, id)
	if err != nil {
		return err
	}
	defer h.close()
	r := &shelfRun{worker: w, h: h, id: id, lock: int64(w.r.Uint64() >> 2), all: all, put: map[string]shelfRow{},
		drop: map[string]bool{}}
	order := w.r.Perm(things)
	for i := range 1 + w.r.IntN(3) {
		r.want = append(r.want, thing(order[i]))
	}
	for i := range w.r.IntN(3) {
		r.reads = append(r.reads, thing(order[things-1-i]))
	}
	for range 50 {
		if err = r.take(ctx); err == nil {
			return r.apply(ctx)
		}
		if !errors.Is(err, errBusy) && !errors.Is(err, errOutdated) && !errors.Is(err, claims.ErrFenced) {
			return err
		}
		if !all && errors.Is(err, errBusy) {
			return err
		}
	}
	return err
}

// claims returns what the run claims.
func (r *shelfRun) claims() claims.Set {
	if r.all {
		return claims.Whole()
	}
	var list []claims.Claim
	for _, name := range r.want {
		list = append(list, claims.Claim{Scope: scopeOf(name), Mode: claims.Write})
	}
	for _, name := range r.reads {
		list = append(list, claims.Claim{Scope: scopeOf(name), Mode: claims.Read})
	}
	return claims.Of(list...)
}

func (r *shelfRun) uses() []string {
	if r.all {
		var all []string
		for n := range things {
			all = append(all, thing(n))
		}
		return all
	}
	return slices.Concat(r.want, r.reads)
}

// overlay returns the rows with the results of all journals, and all operations of dead runs.
func (r *shelfRun) overlay(v *shelfView) (rows map[string]shelfRow, open map[string]bool) {
	rows, open = maps.Clone(v.rows), map[string]bool{}
	for _, e := range v.ledger.Entries {
		mine, results := journalOf(v.journals[e.Run])
		for name, res := range results {
			if valueIn(rows[name]) == res.Was {
				set(rows, name, res.Value)
			}
		}
		if e.Open || !v.alive[e.Run] {
			maps.Copy(open, mine)
		}
	}
	return rows, open
}

// set stores a row, or removes it if its value is empty.
func set(rows map[string]shelfRow, name, value string) {
	if value == "" {
		delete(rows, name)
	} else {
		rows[name] = rowOf(name, value)
	}
}

// take plans, deals with dead runs, and takes the claims.
func (r *shelfRun) take(ctx context.Context) error {
	planned, err := r.h.view(ctx)
	if err != nil {
		return err
	}
	if planned.foreign != nil {
		return r.adopt(ctx, planned)
	}
	seen, seenOpen := r.overlay(planned)
	if err := r.refresh(ctx, planned); err != nil {
		return err
	}
	v, err := r.h.view(ctx)
	if err != nil {
		return err
	}
	var over []claims.Entry
	for _, c := range v.ledger.Conflicts(r.claims()) {
		switch {
		case c.With.Open:
			over = append(over, c.With)
		case v.alive[c.With.Run]:
			return errBusy
		default:
			return r.bury(ctx, v, c.With)
		}
	}
	rows, open := r.overlay(v)
	for _, name := range r.uses() {
		if rows[name] != seen[name] || open[name] != seenOpen[name] {
			return errOutdated
		}
	}
	next, conflicts, err := v.ledger.Take(claims.Entry{Run: r.id, Claims: r.claims()}, over...)
	if err != nil || len(conflicts) > 0 {
		return fmt.Errorf("claims were refused: %v %w", conflicts, err)
	}
	r.open = map[string]bool{}
	for _, o := range over {
		mine, _ := journalOf(v.journals[o.Run])
		maps.Copy(r.open, mine)
	}
	first := carry(r.open)
	if r.n = 0; first != nil {
		r.n = 1
	}
	r.view, r.entry, r.epoch = v, next, next.Epoch
	if err := r.plan(ctx); err != nil {
		return err
	}
	return r.h.commit(ctx, shelfChange{seen: v.version, was: v.ledger, is: next,
		journal: map[string][]byte{r.id: first}})
}

// refresh reads the real values of what the run uses, when the calls of dead runs have ended.
func (r *shelfRun) refresh(ctx context.Context, v *shelfView) error {
	for _, e := range v.ledger.Entries {
		if e.Open || !v.alive[e.Run] {
			var lock int64
			err := r.world.QueryRow(ctx, "SELECT lock FROM plans WHERE run = $1", e.Run).Scan(&lock)
			if err != nil {
				return err
			}
			if _, err := r.world.Exec(ctx, "SELECT pg_advisory_lock($1), pg_advisory_unlock($1)", lock); err != nil {
				return err
			}
		}
	}
	r.now = map[string]string{}
	for _, name := range r.uses() {
		var value string
		switch err := r.world.QueryRow(ctx, "SELECT value FROM world WHERE name = $1", name).Scan(&value); {
		case errors.Is(err, pgx.ErrNoRows):
		case err != nil:
			return err
		default:
			r.now[name] = value
		}
	}
	return nil
}

// plan records what the run has read.
func (r *shelfRun) plan(ctx context.Context) error {
	saw := map[string]string{}
	for _, name := range r.uses() {
		saw[name] = r.now[name]
	}
	b, _ := json.Marshal(saw)
	_, err := r.world.Exec(ctx, "INSERT INTO plans VALUES ($1, $2, $3) ON CONFLICT (run) DO UPDATE SET saw = $3", r.id,
		r.lock, string(b))
	return err
}

// adopt reads the state of another program into the rows.
func (r *shelfRun) adopt(ctx context.Context, v *shelfView) error {
	theirs, err := rowsOf(v.foreign)
	if err != nil {
		return err
	}
	c := shelfChange{seen: v.version, imported: theirs, put: theirs.rows}
	for name := range v.rows {
		if _, ok := c.put[name]; !ok {
			c.drop = append(c.drop, name)
		}
	}
	if err := r.h.commit(ctx, c); err != nil {
		return err
	}
	return errOutdated
}

// bury takes over a dead run and folds its results.
func (r *shelfRun) bury(ctx context.Context, v *shelfView, dead claims.Entry) error {
	next, epoch, err := v.ledger.TakeOver(dead.Run, dead.Epoch)
	if err == nil {
		err = r.h.commit(ctx, shelfChange{seen: v.version, was: v.ledger, is: next})
	}
	if err != nil {
		return err
	}
	if v, err = r.h.view(ctx); err != nil {
		return err
	}
	open, results := journalOf(v.journals[dead.Run])
	reduced, err := v.ledger.Reduce(dead.Run, epoch, openClaims(open))
	if err != nil {
		return err
	}
	c := shelfChange{seen: -1, run: dead.Run, epoch: epoch, was: v.ledger, is: reduced, put: map[string]shelfRow{},
		journal: map[string][]byte{dead.Run: carry(open)}, export: true}
	for name, res := range results {
		if valueIn(v.rows[name]) != res.Was {
			return fmt.Errorf("the result of %s for %s does not fit", dead.Run, name)
		}
		if res.Value == "" {
			c.drop = append(c.drop, name)
		} else {
			c.put[name] = rowOf(name, res.Value)
		}
	}
	if err := r.h.commit(ctx, c); err != nil {
		return err
	}
	return errOutdated
}

// result records a result and keeps it for the end.
func (r *shelfRun) result(ctx context.Context, name, value string) error {
	was := valueIn(r.view.rows[name])
	if err := r.h.add(ctx, r.epoch, r.n, chunkOf(record{Result: name, Value: value, Was: was})); err != nil {
		return err
	}
	r.n++
	delete(r.open, name)
	if delete(r.put, name); value != "" {
		r.put[name] = rowOf(name, value)
	}
	r.drop[name] = value == ""
	return nil
}

// apply resolves open operations, performs those of the run, and ends it.
func (r *shelfRun) apply(ctx context.Context) error {
	for _, name := range r.uses() {
		if r.open[name] {
			if err := r.result(ctx, name, r.now[name]); err != nil {
				return err
			}
		}
	}
	if !r.all {
		for i, name := range r.want {
			if err := r.operate(ctx, i, name); err != nil {
				return err
			}
		}
	}
	reduced, err := r.entry.Reduce(r.id, r.epoch, openClaims(r.open))
	if err != nil {
		return err
	}
	c := shelfChange{seen: -1, run: r.id, epoch: r.epoch, was: r.entry, is: reduced, put: r.put,
		journal: map[string][]byte{r.id: carry(r.open)}, export: true}
	for name, gone := range r.drop {
		if gone {
			c.drop = append(c.drop, name)
		}
	}
	return r.h.commit(ctx, c)
}

// operate performs one operation: it creates an object that does not exist, and updates or deletes others.
func (r *shelfRun) operate(ctx context.Context, i int, name string) (err error) {
	if _, err := r.world.Exec(ctx, "SELECT pg_advisory_lock($1)", r.lock); err != nil {
		return err
	}
	defer func() {
		_, unlock := r.world.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", r.lock)
		err = errors.Join(err, unlock)
	}()
	if err := r.h.add(ctx, r.epoch, r.n, chunkOf(record{Intent: name})); err != nil {
		return err
	}
	r.n++
	value, sql := r.id+"-"+strconv.Itoa(i), "UPDATE world SET value = $2 WHERE name = $1"
	switch {
	case r.now[name] == "":
		sql = "INSERT INTO world (name, value) VALUES ($1, $2)"
	case r.r.IntN(3) == 0:
		value, sql = "", "DELETE FROM world WHERE name = $1 AND $2 = ''"
	}
	tag, err := r.world.Exec(ctx, "WITH done AS ("+sql+" RETURNING name) INSERT INTO calls (run, name, value) "+
		"SELECT $3, name, $2 FROM done", name, value, r.id)
	if err == nil && tag.RowsAffected() != 1 {
		err = fmt.Errorf("%w: a call found %d objects for %s", errBroken, tag.RowsAffected(), name)
	}
	if err != nil {
		return err
	}
	return r.result(ctx, name, value)
}

// errBroken means that the world is not as the run knew it: the claims did not protect it.
var errBroken = errors.New("broken")

// work performs runs until the table of runs that ended is long enough.
func work(ctx context.Context, dsn string, seed uint64, runs int) error {
	var w *worker
	var err error
	for {
		if w == nil {
			if w, err = newWorker(ctx, dsn, seed); err != nil {
				return err
			}
		}
		var done int
		if err := w.world.QueryRow(ctx, "SELECT count(*) FROM ended").Scan(&done); err == nil && done >= runs {
			return nil
		}
		err := w.perform(ctx, false)
		switch {
		case errors.Is(err, errBroken):
			return err
		case err == nil:
			_, err = w.world.Exec(ctx, "INSERT INTO ended (pid) VALUES ($1)", os.Getpid())
		case errors.Is(err, errBusy):
			_, err = w.world.Exec(ctx, "UPDATE refused SET n = n + 1")
			time.Sleep(time.Duration(w.r.IntN(20)) * time.Millisecond)
		default:
			_, _ = w.world.Exec(ctx, "INSERT INTO faults (text) VALUES ($1)", err.Error())
		}
		if err != nil && ctx.Err() == nil { // the world's connection may have been ended, too
			w.world.Close(ctx)
			w.place.d.Close()
			w = nil
		}
	}
}
