// Package worker performs runs from the queue of package runs. It is the program tombolo-worker.
//
//	w := worker.New(worker.Options{...})
//	err := w.Run(ctx, stop, force)
//
// A run is data from outside. A worker accepts only the repositories, branches and directories that it was started
// with, clones from its own addresses, and passes nothing of a run to a shell or to the environment. It performs a run
// by starting the program tombolo in a fresh checkout of the commit (checkout.go, perform.go, child.go), so that a run
// that crashes ends one process.
//
// River delivers the jobs. Its timeout is off and its rescue of stuck jobs is long, because it does not know whether a
// run is alive: the lock of the worker and the epoch of the run decide (package runs). The package owns the goroutines
// of River, one that looks for dead workers and cancellations, one that ends runs, and two for each run that read what
// it prints.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/tombolo-iac/tombolo/internal/runs"
)

// Options are the settings of a worker.
type Options struct {
	// Name is shown to people, such as the name of the machine.
	Name string
	// Queues are the names of the queues that it serves, with the number of runs at a time.
	Queues map[string]int
	// Repositories are those that it accepts.
	Repositories []Repository
	// Dir is where it keeps clones and checkouts. Nothing else may use it.
	Dir string
	// Program is the path of the program tombolo, and Self that of the program that calls Guard.
	Program, Self string
	// Environ is the environment of the worker, from which that of each run is made.
	Environ []string
	Getenv  func(string) string
	// Log is for the messages of the worker, and RiverLog for those of the library below it.
	Log, RiverLog *slog.Logger
}

// Worker performs runs.
type Worker struct {
	Options

	queue  *runs.Queue
	number int64
	git    sync.Mutex // of the clones

	mu     sync.Mutex // guards the fields below
	active map[int64]*active
	ending runs.Cancel // how all runs shall end
}

// active is a run that this worker has.
type active struct {
	mu    sync.Mutex
	asked runs.Cancel // how it was asked to end
	stop  func()      // ends what runs beside children
	out   checkedOut  // once there is one
	given bool        // the worker ends, not the run
	child *os.Process
	sent  runs.Cancel // what the child was sent
	last  time.Time   // when
}

// arguments are those of a job of River.
type arguments struct {
	Run   int64 `json:"run"`
	Epoch int64 `json:"epoch"`
}

// Kind implements river.JobArgs.
func (arguments) Kind() string { return runs.Kind }

// New returns a worker. Run starts it.
func New(o Options) *Worker { return &Worker{Options: o, active: map[int64]*active{}} }

// errLost is returned when the connection that keeps the worker alive is gone.
var errLost = errors.New("the connection to the database is lost, so other workers take over the runs of this one. " +
	"Start it again")

// pause is the time between looks for dead workers and cancellations, and between tries of a run that has to wait.
const pause = time.Second

// rescue is how long a job must be running until River ends it. Jobs are not repeated by River in any case.
const rescue = 30 * 24 * time.Hour

// Run serves the queues until the first context ends; then it takes no more runs and waits for those that it has. When
// the second one ends, it stops them as Ctrl-C does, and when the third one ends, it aborts them. Runs that it stopped
// wait for other workers.
func (w *Worker) Run(ctx, stop, force context.Context) (err error) {
	background := context.WithoutCancel(ctx)
	for _, dir := range []string{"clones", "checkouts"} {
		if err := os.MkdirAll(filepath.Join(w.Dir, dir), 0o700); err != nil {
			return err
		}
	}
	w.sweep(time.Now().Add(-leftover))
	if w.queue, err = runs.Open(ctx, w.Getenv); err != nil {
		return err
	}
	defer w.queue.Close()
	pool, err := w.pool(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	err = w.queue.Prepare(ctx, func(ctx context.Context) error { return migrate(ctx, pool, w.RiverLog) })
	if err != nil {
		return err
	}
	if err := w.uploadAll(ctx); err != nil {
		return err
	}
	var names []string
	queues := map[string]river.QueueConfig{}
	for name, n := range w.Queues {
		names = append(names, name)
		queues[name] = river.QueueConfig{MaxWorkers: n}
	}
	if w.number, err = w.queue.Register(ctx, w.Name, names); err != nil {
		return err
	}
	client, err := w.client(pool, queues)
	if err != nil {
		return err
	}
	if err := client.Start(background); err != nil {
		return err
	}
	w.Log.Info("started", "worker", w.number, "queues", names)
	lost, ended := make(chan struct{}), make(chan struct{})
	go w.obey(stop, force, ended)
	go w.watch(background, lost, ended)
	select {
	case <-ctx.Done():
	case <-lost:
	}
	w.Log.Info("ending", "runs", w.count())
	err = client.Stop(background)
	close(ended)
	select {
	case <-lost:
		return errLost
	default:
		return err
	}
}

// client returns the client of River that delivers jobs to this worker.
func (w *Worker) client(pool *pgxpool.Pool, queues map[string]river.QueueConfig) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(w.work))
	return river.NewClient(riverpgxv5.New(pool), &river.Config{ID: strconv.FormatInt(w.number, 10),
		Schema: runs.Schema, Queues: queues, Workers: workers, JobTimeout: -1, RescueStuckJobsAfter: rescue,
		MaxAttempts: 1, Logger: w.RiverLog})
}

func (w *Worker) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.active)
}

// pool returns the connections of River.
func (w *Worker) pool(ctx context.Context) (*pgxpool.Pool, error) {
	config, err := runs.Config(w.Getenv)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, fmt.Errorf("the variables of PostgreSQL in the environment: %w", err)
	}
	pool.ConnConfig.Config = *config
	pool.MaxConns = 4
	return pgxpool.NewWithConfig(ctx, pool)
}

func migrate(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) error {
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: runs.Schema, Logger: log})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// obey ends the runs as the contexts demand, until the worker has ended. It makes no calls to the database, which may
// not answer.
func (w *Worker) obey(stop, force context.Context, ended <-chan struct{}) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	stopped, forced := stop.Done(), force.Done()
	for {
		select {
		case <-ended:
			return
		case <-stopped:
			stopped = nil
			w.Log.Info("stopping", "runs", w.count())
			w.endAll(runs.Stop)
		case <-forced:
			forced = nil
			w.Log.Info("aborting", "runs", w.count())
			w.endAll(runs.Force)
		case <-tick.C:
			w.endAll(runs.Continue) // the second signals
		}
	}
}

// watch looks for dead workers and cancellations until the worker has ended, or until it has lost its connection: then
// it stops all runs and closes lost.
func (w *Worker) watch(ctx context.Context, lost chan<- struct{}, ended <-chan struct{}) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		if err := w.look(ctx); err != nil {
			w.Log.Warn("database", "error", err.Error())
		}
		if w.queue.Lost() {
			w.endAll(runs.Stop)
			close(lost)
			return
		}
	}
}

func (w *Worker) look(ctx context.Context) error {
	taken, err := w.queue.TakeOver(ctx)
	if err != nil {
		return err
	}
	for _, id := range taken {
		w.Log.Info("took over a run of a worker that has ended", "run", id)
	}
	list, err := w.queue.Cancellations(ctx)
	if err != nil {
		return err
	}
	for id, how := range list {
		w.mu.Lock()
		a := w.active[id]
		w.mu.Unlock()
		if a != nil {
			a.end(how, false)
		}
	}
	return nil
}

// endAll ends all runs because the worker ends, and sends signals that were put off.
func (w *Worker) endAll(how runs.Cancel) {
	w.mu.Lock()
	w.ending = max(w.ending, how)
	var list []*active
	for _, a := range w.active {
		list = append(list, a)
	}
	w.mu.Unlock()
	for _, a := range list {
		a.end(how, true)
	}
}

// end asks a run to end.
func (a *active) end(how runs.Cancel, given bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if how > a.asked {
		a.asked, a.given = how, a.given || given
		a.stop()
	}
	a.signal()
}

// apart is the least time between two signals to a child: of signals that arrive together, a process sees one.
const apart = pause / 2

// signal sends the child the next signal that it was not sent yet. The caller has the mutex.
func (a *active) signal() {
	if a.child != nil && a.sent < a.asked && time.Since(a.last) >= apart {
		_ = interrupt(a.child) // it has ended
		a.sent++
		a.last = time.Now()
	}
}

// how returns how the run was asked to end, and whether only its worker ends.
func (a *active) how() (runs.Cancel, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked, a.given
}

// work performs a job of River. It fails only if the database does; then the run is taken over later.
func (w *Worker) work(ctx context.Context, job *river.Job[arguments]) error {
	c, err := w.queue.Claim(ctx, job.Args.Run, job.Args.Epoch)
	switch {
	case errors.Is(err, runs.ErrStale):
		return nil
	case errors.Is(err, runs.ErrBusy):
		return river.JobSnooze(pause)
	case err != nil:
		return err
	}
	log := w.Log.With("run", c.ID, "where", c.Where(), "phase", string(c.Phase))
	log.Info("began")
	fetching, stop := context.WithCancel(ctx)
	defer stop()
	a := &active{stop: stop}
	w.mu.Lock()
	w.active[c.ID] = a
	ending := w.ending
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.active, c.ID)
		w.mu.Unlock()
	}()
	if ending > 0 {
		a.end(ending, true)
	}
	status, err := w.perform(ctx, fetching, c, a)
	if errors.Is(err, runs.ErrStale) {
		log.Warn("another worker has taken over the run")
		return nil
	}
	if err != nil {
		// The state of the run is unknown: without its connection this worker counts as ended, and others take over.
		log.Warn("could not record the end of the run", "error", err.Error())
		w.queue.Close()
		return err
	}
	log.Info("ended", "status", string(status))
	return nil
}
