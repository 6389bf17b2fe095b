//go:build unix

package runs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
)

const commit = "0123456789012345678901234567890123456789"

// request returns a request for a directory.
func request(dir string) Request {
	return Request{Repository: "example.com/a/b", Commit: commit, Directory: dir, Queue: "default", Submitter: "me"}
}

// fetched is a job that a worker has fetched, as River would.
type fetched struct{ run, epoch, job int64 }

// fetch takes a job as River does, or returns false if there is none. River puts the name of the client, which is the
// number of the worker, at the end of attempted_by.
func fetch(t *testing.T, q *Queue) (f fetched, ok bool) {
	t.Helper()
	rows, err := q.ask(t.Context(), `UPDATE @river_job SET state = 'running', attempted_by = array_append(attempted_by,
 $1), attempt = attempt + 1 WHERE id = (SELECT id FROM @river_job WHERE state = 'available' ORDER BY random() LIMIT 1
 FOR UPDATE SKIP LOCKED) RETURNING args->>'run', args->>'epoch', id`, fmt.Sprint(q.worker))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		return f, false
	}
	return fetched{rows[0].int(0), rows[0].int(1), rows[0].int(2)}, true
}

// finished sets the state of a job as River does when its work has ended.
func finished(t *testing.T, q *Queue, job int64, state string) {
	t.Helper()
	_, err := q.ask(t.Context(), `UPDATE @river_job SET state = $2::text::@river_job_state, finalized_at = CASE
 WHEN $2 =
 'completed' THEN now() END WHERE id = $1::bigint`, job, state)
	if err != nil {
		t.Fatal(err)
	}
}

func registered(t *testing.T, dsn string) *Queue {
	t.Helper()
	q := connected(t, dsn)
	if _, err := q.Register(t.Context(), "w", []string{"default"}); err != nil {
		t.Fatal(err)
	}
	return q
}

// holder is a claim with the connection that has it.
type holder struct {
	*Claim
	q *Queue
}

// TestRandomWorkersThatDie lets workers fetch, claim, finish, fail and die at random, and compares with a model: no two
// living claims have the same state, no limit is exceeded, nobody writes with a claim that was taken, every run ends,
// and no run begins before those that it waits for are done.
func TestRandomWorkersThatDie(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomWorkers(t, seed) })
	}
}

func randomWorkers(t *testing.T, seed uint64) {
	rnd, dsn := rand.New(rand.NewPCG(seed, 1)), prepared(t)
	client := connected(t, dsn)
	if err := client.Limit(t.Context(), "acc", 2); err != nil {
		t.Fatal(err)
	}
	var list []Request
	for i := range 20 {
		r := request(fmt.Sprintf("d%d", rnd.IntN(8)))
		r.Auto = rnd.IntN(2) == 0
		if rnd.IntN(2) == 0 {
			r.Accounts = []string{"acc"}
		}
		for j := range i {
			if rnd.IntN(15) == 0 {
				r.After = append(r.After, j)
			}
		}
		list = append(list, r)
	}
	ids, err := client.Submit(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	m := &model{t: t, rnd: rnd, dsn: dsn, client: client, held: map[int64]holder{}, list: list, ids: ids}
	for range 4 {
		m.workers = append(m.workers, registered(t, dsn))
	}
	for step := 0; !m.ended(); step++ {
		if step > 5000 {
			t.Fatalf("runs do not end: %v", m.statuses())
		}
		m.step()
	}
	if len(m.held) > 0 {
		t.Errorf("runs have ended, but are held: %v", m.held)
	}
	t.Logf("%d claims, %d deaths, %d stale writes refused", m.claims, m.deaths, m.stale)
}

type model struct {
	t       *testing.T
	rnd     *rand.Rand
	dsn     string
	client  *Queue
	workers []*Queue
	held    map[int64]holder
	old     []holder // claims of which the run was given up, taken or ended
	list    []Request
	ids     []int64

	claims, deaths, stale int
}

func (m *model) statuses() map[int64]Status {
	all, err := m.client.List(m.t.Context(), 1000)
	if err != nil {
		m.t.Fatal(err)
	}
	out := map[int64]Status{}
	for _, r := range all {
		out[r.ID] = r.Status
	}
	return out
}

func (m *model) ended() bool {
	for _, status := range m.statuses() {
		if !status.Ended() {
			return false
		}
	}
	return true
}

func (m *model) step() {
	m.t.Helper()
	i := m.rnd.IntN(len(m.workers))
	q := m.workers[i]
	switch m.rnd.IntN(12) {
	case 0: // a worker dies, perhaps with a job that it has fetched and not claimed
		if m.rnd.IntN(2) == 0 {
			fetch(m.t, q)
		}
		m.die(i)
	case 1, 2:
		if _, err := q.TakeOver(m.t.Context()); err != nil {
			m.t.Fatal(err)
		}
	case 3, 4, 5, 6:
		m.claim(q)
	case 7:
		m.writeStale()
	default:
		m.proceed()
	}
}

func (m *model) die(i int) {
	q := m.workers[i]
	var mine []holder
	for id, h := range m.held {
		if h.q == q {
			mine = append(mine, h)
			delete(m.held, id)
		}
	}
	q.Close()
	if err := m.gone(q.worker); err != nil {
		m.t.Fatal(err)
	}
	m.workers[i] = registered(m.t, m.dsn)
	for _, h := range mine { // the new connection has another number, but the same claim
		m.old = append(m.old, holder{h.Claim, m.workers[i]})
	}
	m.deaths++
}

// gone waits until the server has noticed the end of a connection.
func (m *model) gone(worker int64) error {
	for {
		rows, err := m.client.ask(m.t.Context(), "SELECT "+isAlive("$1::bigint"), worker)
		if err != nil || !rows[0].bool(0) {
			return err
		}
	}
}

func (m *model) claim(q *Queue) {
	m.t.Helper()
	f, ok := fetch(m.t, q)
	if !ok {
		return
	}
	c, err := q.Claim(m.t.Context(), f.run, f.epoch)
	switch {
	case errors.Is(err, ErrStale):
		finished(m.t, q, f.job, "completed")
		return
	case errors.Is(err, ErrBusy):
		finished(m.t, q, f.job, "available")
		return
	case err != nil:
		m.t.Fatal(err)
	}
	finished(m.t, q, f.job, "completed")
	m.claims++
	accounts := len(c.Accounts)
	for _, h := range m.held {
		if h.ID == c.ID || h.Directory == c.Directory {
			m.t.Fatalf("run %d was claimed while run %d of the same state is held", c.ID, h.ID)
		}
		accounts += len(h.Accounts)
	}
	if accounts > 2 && len(c.Accounts) > 0 {
		m.t.Fatalf("%d runs have the account, the limit is 2", accounts)
	}
	status := m.statuses()
	for _, j := range m.list[c.ID-m.ids[0]].After {
		if status[m.ids[j]] != Done {
			m.t.Fatalf("run %d began, and run %d is %s", c.ID, m.ids[j], status[m.ids[j]])
		}
	}
	m.held[c.ID] = holder{c, q}
}

// proceed lets a random claim go on.
func (m *model) proceed() {
	m.t.Helper()
	for id, h := range m.held {
		var err error
		ctx := m.t.Context()
		switch m.rnd.IntN(8) {
		case 0:
			err = h.q.Finish(ctx, h.Claim, Failed, "x")
			delete(m.held, id)
		case 1:
			_, err = h.q.Release(ctx, h.Claim, "x", false)
			delete(m.held, id)
		case 2, 3:
			err = h.q.AddLines(ctx, h.Claim, []string{"{}", "{}"})
		default:
			if h.Status == Applying {
				err = h.q.Finish(ctx, h.Claim, Done, "")
				delete(m.held, id)
				break
			}
			var status Status
			made := Made{File: []byte("plan"), Digest: "d", Changes: m.rnd.IntN(4) > 0}
			status, err = h.q.StorePlan(ctx, h.Claim, made)
			if status == Planned && err == nil {
				err = m.client.Approve(ctx, id, "d", "me")
			}
			if status != Applying {
				delete(m.held, id)
			}
		}
		if err != nil {
			m.t.Fatal(err)
		}
		if _, kept := m.held[id]; !kept {
			m.old = append(m.old, h)
		}
		return
	}
}

// writeStale writes with a claim that does not hold any more.
func (m *model) writeStale() {
	m.t.Helper()
	if len(m.old) == 0 {
		return
	}
	h := m.old[m.rnd.IntN(len(m.old))]
	if h.q.conn.IsClosed() {
		return
	}
	if err := h.q.AddLines(m.t.Context(), h.Claim, []string{"{}"}); !errors.Is(err, ErrStale) {
		m.t.Fatalf("a write with an old claim of run %d: %v, want %v", h.ID, err, ErrStale)
	}
	m.stale++
}

// TestLinesAreNumberedWithoutGaps adds lines with characters that arrays and the database treat specially.
func TestLinesAreNumberedWithoutGaps(t *testing.T) {
	dsn := prepared(t)
	q := registered(t, dsn)
	ids, err := q.Submit(t.Context(), []Request{request(".")})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := fetch(t, q)
	c, err := q.Claim(t.Context(), ids[0], f.epoch)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{`{"a":"\"b\\"}`, "", "NULL", "a,b{}", "\xff\x00x", strings.Repeat("é", 1000)}
	want := []string{`{"a":"\"b\\"}`, "", "NULL", "a,b{}", "\uFFFDx", strings.Repeat("é", 1000)}
	for _, line := range lines {
		if err := q.AddLines(t.Context(), c, []string{line}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := q.Lines(t.Context(), ids[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range got {
		if line.N != int64(i+1) || line.Text != want[i] {
			t.Errorf("line %d is %d %q, want %q", i+1, line.N, line.Text, want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
}

// TestPlansAreApprovedByTheirHash approves a plan with the wrong hash, twice, and after a takeover.
func TestPlansAreApprovedByTheirHash(t *testing.T) {
	dsn := prepared(t)
	q := registered(t, dsn)
	r := request(".")
	r.Targets = []string{`a.b["x, \"y\""]`, "{}"}
	ids, err := q.Submit(t.Context(), []Request{r})
	if err != nil {
		t.Fatal(err)
	}
	claim := func(q *Queue) *Claim {
		t.Helper()
		f, _ := fetch(t, q)
		c, err := q.Claim(t.Context(), f.run, f.epoch)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := claim(q)
	if diff := cmp.Diff(r.Targets, c.Targets); diff != "" {
		t.Errorf("targets differ (-want +got):\n%s", diff)
	}
	file := []byte{0, 1, 'x', 0xff}
	if _, err := q.StorePlan(t.Context(), c, Made{File: file, Digest: "right", Changes: true}); err != nil {
		t.Fatal(err)
	}
	if err := q.Approve(t.Context(), ids[0], "wrong", "me"); !errors.Is(err, ErrOtherPlan) {
		t.Errorf("the wrong hash: %v", err)
	}
	if err := q.Approve(t.Context(), ids[0], "right", "me"); err != nil {
		t.Error(err)
	}
	if err := q.Approve(t.Context(), ids[0], "right", "me"); !errors.Is(err, ErrNotWaiting) {
		t.Errorf("the second approval: %v", err)
	}
	c = claim(q)
	if c.Phase != Apply || string(c.Plan) != string(file) {
		t.Errorf("the claim has the phase %s and the plan %x", c.Phase, c.Plan)
	}
	other := registered(t, dsn)
	q.Close()
	for taken := []int64{}; len(taken) == 0; {
		if taken, err = other.TakeOver(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c = claim(other)
	if c.Phase != Plan || !c.Recovering || c.Plan != nil || c.Attempt != 2 {
		t.Errorf("after the takeover: %+v", c)
	}
}

// TestInvalidRequestsAreRefused checks what must never reach a command line or a path.
func TestInvalidRequestsAreRefused(t *testing.T) {
	for _, change := range []func(*Request){
		func(r *Request) { r.Commit = "main" },
		func(r *Request) { r.Commit = "--upload-pack=x" },
		func(r *Request) { r.Directory = "/etc" },
		func(r *Request) { r.Directory = "../x" },
		func(r *Request) { r.Directory = "a/../../x" },
		func(r *Request) { r.Directory = "" },
		func(r *Request) { r.Directory = `a\..\b` },
		func(r *Request) { r.Repository = "" },
		func(r *Request) { r.Unit = "-out=x" },
		func(r *Request) { r.Unit = "*" },
		func(r *Request) { r.Workspace = "-x" },
		func(r *Request) { r.Unit, r.Workspace = "a", "b" },
		func(r *Request) { r.Queue = "" },
		func(r *Request) { r.Queue = "A" },
		func(r *Request) { r.Accounts = []string{"a b"} },
		func(r *Request) { r.Targets = []string{"a\nb"} },
		func(r *Request) { r.Targets = make([]string, 300) },
		func(r *Request) { r.Destroy, r.RefreshOnly = true, true },
		func(r *Request) { r.PlanOnly, r.Auto = true, true },
		func(r *Request) { r.LockDigest = "x" },
	} {
		r := request("live/app")
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		change(&r)
		if err := r.Check(); err == nil {
			t.Errorf("accepted: %+v", r)
		}
	}
}

func TestAddressesNameTheSameRepository(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.com/a/b.git":            "example.com/a/b",
		"https://user:secret@Example.com/a/b":    "example.com/a/b",
		"ssh://git@example.com/a/b.git/":         "example.com/a/b",
		"git@example.com:a/b.git":                "example.com/a/b",
		"file:///srv/git/b.git":                  "/srv/git/b.git",
		"/srv/git/b.git":                         "/srv/git/b.git",
		"ssh://git@example.com:2222/a/b.git":     "example.com:2222/a/b",
		"https://token@example.com/~user/b.git/": "example.com/~user/b",
	} {
		if got := Address(text); got != want {
			t.Errorf("Address(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestAddressesHaveNoPasswords forms addresses with random passwords, also of characters that must not be there.
func TestAddressesHaveNoPasswords(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	const odd = `abcXYZ019^{}|\"<>%[]:/?#&=+ $!*'(),;~-_.`
	for range 20000 {
		var secret strings.Builder
		secret.WriteString("x7") // not a number, which would be a port
		for range rnd.IntN(8) {
			secret.WriteByte(odd[rnd.IntN(len(odd))])
		}
		secret.WriteString("q9")
		scheme := []string{"https", "http", "ssh", "git"}[rnd.IntN(4)]
		for _, text := range []string{
			fmt.Sprintf("%s://user:%s@Example.com/a/b.git", scheme, secret.String()),
			fmt.Sprintf("%s://user:%s@example.com:8443/a/b", scheme, secret.String()),
		} {
			if got := Address(text); strings.Contains(got, "q9") || !strings.HasPrefix(got, "example.com") {
				t.Fatalf("Address(%q) = %q", text, got)
			}
			if !HasPassword(text) {
				t.Fatalf("%q has no password", text)
			}
		}
		if got := Address("git:x7q9@example.com:a/b"); strings.Contains(got, "q9") {
			t.Fatalf("the password of an address without a scheme is in %q", got)
		}
	}
	for _, text := range []string{"https://example.com/a@b/c", "git@example.com:a/b", "ssh://git@example.com/a/b",
		"ssh://example.com:22/a@b", "/srv/git/b.git"} {
		if HasPassword(text) {
			t.Errorf("%q has a password", text)
		}
	}
}

// TestACancellationIsNotLost cancels a run while its worker makes the plan, and one whose worker has died.
func TestACancellationIsNotLost(t *testing.T) {
	dsn := prepared(t)
	client, q := connected(t, dsn), registered(t, dsn)
	ids, err := client.Submit(t.Context(), []Request{request("a"), request("b")})
	if err != nil {
		t.Fatal(err)
	}
	claims := map[int64]*Claim{}
	for range ids {
		f, _ := fetch(t, q)
		if claims[f.run], err = q.Claim(t.Context(), f.run, f.epoch); err != nil {
			t.Fatal(err)
		}
	}
	if status, err := client.Cancel(t.Context(), ids[0], Stop); err != nil || status != Planning {
		t.Fatalf("cancel: %s, %v", status, err)
	}
	made := Made{File: []byte("plan"), Digest: "d", Text: "t", Changes: true}
	if status, err := q.StorePlan(t.Context(), claims[ids[0]], made); err != nil || status != Cancelled {
		t.Errorf("the plan of a cancelled run: %s, %v", status, err)
	}
	q.Close()
	for {
		served, err := client.Served(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !served["default"] { // the server has noticed the end of the connection
			break
		}
	}
	if status, err := client.Cancel(t.Context(), ids[1], Stop); err != nil || status != Cancelled {
		t.Errorf("cancel the run of a dead worker: %s, %v", status, err)
	}
	for _, id := range ids {
		if r, err := client.Get(t.Context(), id); err != nil || r.Status != Cancelled {
			t.Errorf("run %d: %+v, %v", id, r, err)
		}
	}
}

// TestQueueWithoutTables checks the error of a database that no worker has prepared.
func TestQueueWithoutTables(t *testing.T) {
	q := connected(t, pgtest.Database(t))
	if _, err := q.List(t.Context(), 1); !errors.Is(err, ErrNotPrepared) {
		t.Errorf("%v, want %v", err, ErrNotPrepared)
	}
	if _, err := Open(t.Context(), func(string) string { return "" }); !errors.Is(err, ErrNoDatabase) {
		t.Errorf("%v, want %v", err, ErrNoDatabase)
	}
}

// TestManyHandsDoNotBlockEachOther claims, ends and cancels runs that wait for each other from several connections at
// the same time. No call may fail because of others, and everything ends.
func TestManyHandsDoNotBlockEachOther(t *testing.T) {
	dsn := prepared(t)
	client := connected(t, dsn)
	list := []Request{request("first")}
	for i := range 30 {
		r := request(fmt.Sprint("d", i))
		r.After = []int{0}
		list = append(list, r)
	}
	ids, err := client.Submit(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	var hands sync.WaitGroup
	for i := range 4 {
		q := connected(t, dsn)
		hands.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 9))
			for range 40 {
				if _, err := q.Cancel(t.Context(), ids[1+rnd.IntN(30)], Stop); err != nil {
					t.Errorf("cancel: %v", err)
				}
			}
		})
		w := registered(t, dsn)
		hands.Go(func() {
			for range 20 {
				f, ok := fetch(t, w)
				if !ok {
					continue
				}
				c, err := w.Claim(t.Context(), f.run, f.epoch)
				if errors.Is(err, ErrStale) {
					continue
				}
				if err == nil {
					err = w.AddLines(t.Context(), c, []string{"{}"})
				}
				if err == nil {
					err = w.Finish(t.Context(), c, Done, "")
				}
				if err != nil {
					t.Errorf("run %d: %v", f.run, err)
				}
				finished(t, w, f.job, "completed")
			}
		})
	}
	hands.Wait()
}
