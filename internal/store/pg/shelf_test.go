//go:build unix

package pg

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/state"
)

// shelfRuns is the number of runs of the test below; more with TOMBOLO_GRANULAR_RUNS.
func shelfRuns() int {
	if n, err := strconv.Atoi(os.Getenv("TOMBOLO_GRANULAR_RUNS")); err == nil {
		return n
	}
	return 120
}

// TestParallelRunsAreSerial lets eight processes perform random runs on one granular state. They are killed, their
// connections are ended, and processes of the server are stopped for a while. In the end, the objects and the state
// must be as if the runs had run one after the other, nothing may be lost, and nothing done twice.
func TestParallelRunsAreSerial(t *testing.T) {
	if of := os.Getenv("TOMBOLO_SHELF_WORKER"); of != "" {
		seed, _ := strconv.ParseUint(os.Getenv("TOMBOLO_SHELF_SEED"), 10, 64)
		if err := work(context.Background(), of, seed, shelfRuns()); err != nil {
			t.Fatal(err)
		}
		return
	}
	dsn := pgtest.Database(t)
	ctx := t.Context()
	w := shelfWorld(t, dsn)
	began := time.Now()
	kills, ends, stops := disturb(t, dsn, w)
	took := time.Since(began)
	for settled := false; !settled; { // a killed run may not have left the server yet
		err := w.perform(ctx, true)
		if settled = err == nil; err != nil && err != errBusy && err != errOutdated {
			t.Fatal(err)
		}
	}
	calls, runs := checkShelf(t, w)
	var refused int
	if err := w.world.QueryRow(ctx, "SELECT n FROM refused").Scan(&refused); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs with %d calls in %s, %d refused; %d kills, %d ended connections, %d stops", runs, calls,
		took.Round(time.Millisecond), refused, kills, ends, stops)
}

// shelfWorld creates the state and the tables of the test.
func shelfWorld(t *testing.T, dsn string) *worker {
	t.Helper()
	w, err := newWorker(t.Context(), dsn, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.world.Close(context.Background()); w.place.d.Close() })
	s, _, err := w.place.d.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.place.o.ensure(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.place.d.give(s)
	if _, err := w.world.Exec(t.Context(), `INSERT INTO terraform_remote_state.states (name, data) VALUES ('default',
		'{"version":4,"serial":3,"terraform_version":"1.11.4","lineage":"x","outputs":{},"resources":[]}');
		CREATE TABLE world (name text, value text);
		CREATE TABLE calls (n bigserial, run text, name text, value text);
		CREATE TABLE plans (run text PRIMARY KEY, lock bigint, saw text);
		CREATE TABLE ended (pid int); CREATE TABLE faults (text text);
		CREATE TABLE refused (n int); INSERT INTO refused VALUES (0)`); err != nil {
		t.Fatal(err)
	}
	return w
}

// disturb starts the processes, and disturbs them until enough runs have ended.
func disturb(t *testing.T, dsn string, w *worker) (kills, ends, stops int) {
	r := rand.New(rand.NewPCG(7, 8))
	seed := uint64(0)
	start := func() (*exec.Cmd, chan error, *strings.Builder) {
		seed++
		c := exec.Command(os.Args[0], "-test.run=^TestParallelRunsAreSerial$")
		c.Env = append(os.Environ(), "TOMBOLO_SHELF_WORKER="+dsn, fmt.Sprint("TOMBOLO_SHELF_SEED=", seed))
		var out strings.Builder
		c.Stdout, c.Stderr = &out, &out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		return c, ended, &out
	}
	type process struct {
		*exec.Cmd
		ended chan error
		out   *strings.Builder
	}
	var all []*process
	for range 8 {
		c, ended, out := start()
		all = append(all, &process{c, ended, out})
	}
	defer func() {
		for _, p := range all {
			_ = p.Process.Kill()
		}
	}()
	for {
		var done int
		if err := w.world.QueryRow(t.Context(), "SELECT count(*) FROM ended").Scan(&done); err != nil {
			t.Fatal(err)
		}
		if done >= shelfRuns() {
			break
		}
		p := all[r.IntN(len(all))]
		switch r.IntN(4) {
		case 0:
			kills++
			_ = p.Process.Kill()
			<-p.ended
			p.Cmd, p.ended, p.out = start()
		case 1:
			ends += endOne(t, w.world, r)
		case 2:
			stops += stopOne(t, w.world, r)
		}
		for _, p := range all {
			select {
			case err := <-p.ended:
				if err != nil {
					t.Fatalf("a process failed: %s\n%s", err, p.out)
				}
				p.ended <- nil
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	for _, p := range all {
		if err := <-p.ended; err != nil {
			t.Fatalf("a process failed: %s\n%s", err, p.out)
		}
	}
	return kills, ends, stops
}

// backends returns processes of the server that serve shelves.
func backends(t *testing.T, c *pgx.Conn) []int {
	rows, err := c.Query(t.Context(), "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'tombolo %'")
	if err != nil {
		t.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// endOne ends a connection.
func endOne(t *testing.T, c *pgx.Conn, r *rand.Rand) int {
	pids := backends(t, c)
	if len(pids) == 0 {
		return 0
	}
	if _, err := c.Exec(t.Context(), "SELECT pg_terminate_backend($1)", pids[r.IntN(len(pids))]); err != nil {
		t.Fatal(err)
	}
	return 1
}

// stopOne stops a process of the server for a while.
func stopOne(t *testing.T, c *pgx.Conn, r *rand.Rand) int {
	pids := backends(t, c)
	if len(pids) == 0 || syscall.Kill(pids[0], 0) != nil {
		return 0
	}
	pid := pids[r.IntN(len(pids))]
	if syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return 0
	}
	time.Sleep(100 * time.Millisecond)
	_ = syscall.Kill(pid, syscall.SIGCONT)
	return 1
}

// checkShelf compares the rows, the export and the world, and the calls with a serial order.
func checkShelf(t *testing.T, w *worker) (calls, runs int) {
	ctx := t.Context()
	h, err := w.place.shelf(ctx, "check")
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	v, err := h.view(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.ledger.Entries)+len(v.journals) > 0 || v.foreign != nil {
		t.Errorf("left: %+v %v", v.ledger, v.journals)
	}
	want := map[string]shelfRow{}
	rows, err := w.world.Query(ctx, "SELECT name, value FROM world")
	if err != nil {
		t.Fatal(err)
	}
	var name, value string
	if _, err := pgx.ForEachRow(rows, []any{&name, &value}, func() error {
		if want[name] != (shelfRow{}) {
			t.Errorf("%s was created twice", name)
		}
		want[name] = rowOf(name, value)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for n := range things {
		if v.rows[thing(n)] != want[thing(n)] {
			t.Errorf("the row of %s is\n%v\nwant\n%v", thing(n), v.rows[thing(n)], want[thing(n)])
		}
	}
	c, err := w.place.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	st, err := state.Decode(c.Data)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(st.Resources()); n != len(want) {
		t.Errorf("the export has %d objects, want %d", n, len(want))
	}
	return serialOrder(t, w)
}

// serialOrder checks that an order of the runs explains what each of them read: a run comes after the one that wrote
// what it read, and before the one that wrote the next value.
func serialOrder(t *testing.T, w *worker) (calls, runs int) {
	ctx := t.Context()
	type write struct{ run, value string }
	history := map[string][]write{} // by object
	rows, err := w.world.Query(ctx, "SELECT run, name, value FROM calls ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	var run, name, value string
	acted := map[string]bool{}
	once := map[string]bool{}
	if _, err := pgx.ForEachRow(rows, []any{&run, &name, &value}, func() error {
		calls++
		if key := run + name; once[key] {
			t.Errorf("run %s called %s twice", run, name)
		} else {
			once[key] = true
		}
		history[name] = append(history[name], write{run, value})
		acted[run] = true
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	after := map[string]map[string]bool{}
	edge := func(a, b string) {
		if a == b || a == "" || b == "" {
			return
		}
		if after[a] == nil {
			after[a] = map[string]bool{}
		}
		after[a][b] = true
	}
	for _, list := range history {
		for i := range list[1:] {
			edge(list[i].run, list[i+1].run)
		}
	}
	if rows, err = w.world.Query(ctx, "SELECT run, saw FROM plans"); err != nil {
		t.Fatal(err)
	}
	if _, err := pgx.ForEachRow(rows, []any{&run, &value}, func() error {
		saw := map[string]string{}
		if err := json.Unmarshal([]byte(value), &saw); err != nil || !acted[run] {
			return err
		}
		runs++
		for name, value := range saw {
			list, found := history[name], 0
			var by, next string
			for i := -1; i < len(list); i++ { // an absent object may have been absent several times
				was, wrote, then := "", "", ""
				if i >= 0 {
					was, wrote = list[i].value, list[i].run
				}
				if i+1 < len(list) {
					then = list[i+1].run
				}
				if was == value && (!once[run+name] || then == run) {
					found, by, next = found+1, wrote, then
				}
			}
			if found == 1 {
				edge(by, run)
				edge(run, next)
			}
			if found == 0 {
				t.Errorf("run %s read %q of %s, which it never was", run, value, name)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	acyclic(t, after)
	return calls, runs
}

// acyclic reports an error if runs come before each other.
func acyclic(t *testing.T, after map[string]map[string]bool) {
	const active, done = 1, 2
	marks := map[string]int{}
	var visit func(run string) bool
	visit = func(run string) bool {
		marks[run] = active
		for next := range after[run] {
			if marks[next] == active || marks[next] == 0 && !visit(next) {
				return false
			}
		}
		marks[run] = done
		return true
	}
	for run := range after {
		if marks[run] == 0 && !visit(run) {
			t.Error("the runs have no serial order")
			return
		}
	}
}
