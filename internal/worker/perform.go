package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/internal/runs"
)

// patience is how long a run waits for the lock of its state, such as for the end of an apply whose worker has died.
const patience = "-lock-timeout=15m"

// step is a run at work.
type step struct {
	*Worker

	claim  *runs.Claim
	active *active
	log    *log
	plan   string // the plan file

	checkedOut
	repo *Repository
	kept bool // the results in the checkout are safe
}

// perform performs a claimed run, and returns its new status. It fails only if that could not be recorded. fetching
// ends when the run is asked to end; its children are asked by signals.
func (w *Worker) perform(ctx, fetching context.Context, c *runs.Claim, a *active) (runs.Status, error) {
	s := &step{Worker: w, claim: c, active: a, log: &log{queue: w.queue, claim: c, ctx: ctx}}
	repo, err := w.accept(&c.Run)
	if err != nil {
		return s.finish(ctx, runs.Failed, err.Error())
	}
	s.note("The worker %s makes the attempt %d of this run (%s).", w.Name, c.Attempt, c.Phase)
	if c.Recovering {
		s.note("An apply of this run was interrupted. It plans again, from the journal of the state.")
	}
	out, err := w.checkout(fetching, &c.Run, repo)
	if err != nil {
		return s.ended(ctx, err, "")
	}
	s.checkedOut, s.repo, a.out = out, repo, out
	defer func() {
		if err := s.keepResults(ctx); err != nil {
			w.Log.Error("results of a run cannot be kept", "run", c.ID, "folder", s.root, "error", err.Error())
		}
		if s.kept {
			s.remove()
		}
	}()
	files, err := os.MkdirTemp(w.Dir, "plan-")
	if err != nil {
		return s.broken(ctx, err)
	}
	defer os.RemoveAll(files)
	s.plan = filepath.Join(files, "run.plan")
	if code, err := s.initialize(); err != nil || code != 0 {
		return s.ended(ctx, err, "Init failed. The log has the reason.")
	}
	if err := w.checkUnchanged(ctx, s.dir); err != nil {
		return s.broken(ctx, err)
	}
	if c.Phase == runs.Plan {
		status, err := s.makePlan(ctx)
		if err != nil || status != runs.Applying {
			return status, err
		}
		return s.apply(ctx)
	}
	if found := fmt.Sprintf("%x", sha256.Sum256(c.Plan)); found != c.PlanDigest {
		return s.finish(ctx, runs.Failed, fmt.Sprintf("The stored plan has the hash %s. The one that was approved "+
			"has %s.", found, c.PlanDigest))
	}
	if err := os.WriteFile(s.plan, c.Plan, 0o600); err != nil {
		return s.broken(ctx, err)
	}
	return s.apply(ctx)
}

func (s *step) note(format string, args ...any) {
	s.log.add(fmt.Appendf(nil, format, args...), "worker")
}

// run runs the program with its output in the log.
func (s *step) run(args ...string) (int, error) { return s.start(s.log, s.active, s.dir, nil, args...) }

func (s *step) initialize() (int, error) {
	if s.claim.Unit != "" {
		args := []string{"stack", "init", "-with-dependencies"} // its plan reads the states of others
		if s.claim.Destroy {
			args = append(args, "-with-dependents")
		}
		return s.run(append(args, s.claim.Unit)...)
	}
	return s.run("init", "-input=false", "-json", "-lockfile=readonly")
}

// makePlan makes and stores the plan. If the new status is Applying, the file is to be applied at once.
func (s *step) makePlan(ctx context.Context) (runs.Status, error) {
	r, args := s.claim, []string{}
	report := filepath.Join(filepath.Dir(s.plan), "report")
	if r.Unit != "" {
		args = append(args, "stack")
	}
	args = append(args, "plan", "-json", "-detailed-exitcode", "-out="+s.plan, patience)
	if r.Destroy {
		args = append(args, "-destroy")
	}
	if r.RefreshOnly {
		args = append(args, "-refresh-only")
	}
	for _, address := range r.Targets {
		args = append(args, "-target="+address)
	}
	for _, address := range r.Replace {
		args = append(args, "-replace="+address)
	}
	if r.Unit != "" {
		args = append(args, "-report="+report, r.Unit)
	} else {
		args = append(args, "-input=false")
	}
	code, err := s.run(args...)
	if err != nil || code != 0 && code != 2 {
		return s.ended(ctx, err, "The plan failed. The log has the reason.")
	}
	if code == 0 {
		return s.store(ctx, runs.Made{})
	}
	made := runs.Made{Changes: true}
	if made.File, err = readPlan(s.plan); err != nil {
		return s.broken(ctx, err)
	}
	made.Digest = fmt.Sprintf("%x", sha256.Sum256(made.File))
	if made.Text, err = s.text(report); err != nil {
		return s.ended(ctx, err, "The plan cannot be shown. The log has the reason.")
	}
	return s.store(ctx, made)
}

// store stores the plan.
func (s *step) store(ctx context.Context, made runs.Made) (runs.Status, error) {
	return s.queue.StorePlan(ctx, s.claim, made)
}

// maxShown is the maximum size of the text of a plan.
const maxShown = 8 << 20

// text returns the plan for people.
func (s *step) text(report string) (string, error) {
	var out bytes.Buffer
	if s.claim.Unit != "" {
		f, err := os.Open(report)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if _, err := io.Copy(&out, io.LimitReader(f, maxShown)); err != nil {
			return "", err
		}
	} else if code, err := s.start(s.log, s.active, s.dir, &out, "show", "-no-color", s.plan); err != nil || code != 0 {
		return "", errors.Join(err, fmt.Errorf("show ended with the exit code %d", code))
	}
	return string(out.Bytes()[:min(out.Len(), maxShown)]), nil
}

func readPlan(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > runs.MaxPlan {
		return nil, refuse("The plan file has %d bytes. At most %d MiB are stored: choose fewer objects.", info.Size(),
			runs.MaxPlan>>20)
	}
	return os.ReadFile(name)
}

// apply applies the plan file.
func (s *step) apply(ctx context.Context) (runs.Status, error) {
	args := []string{"apply", "-json", "-input=false", patience, s.plan}
	if s.claim.Unit != "" {
		args = []string{"stack", "apply", "-json", patience, s.plan}
	}
	code, err := s.run(args...)
	if err != nil || code != 0 {
		return s.ended(ctx, err, "The apply failed. The log has the reason.")
	}
	return s.finish(ctx, runs.Done, "")
}

// ended ends a run whose command did not succeed, which may be because the command was asked to stop.
func (s *step) ended(ctx context.Context, err error, problem string) (runs.Status, error) {
	how, given := s.active.how()
	switch {
	case errors.Is(err, runs.ErrStale):
		return "", err
	case how > 0 && given:
		return s.release(ctx, "the worker "+s.Name+" was stopped", false)
	case how > 0:
		return s.finish(ctx, runs.Cancelled, "It was cancelled while a worker had it.")
	case err != nil:
		return s.broken(ctx, err)
	}
	return s.finish(ctx, runs.Failed, problem)
}

// broken ends a run, or gives it back, because of a problem outside of its commands.
func (s *step) broken(ctx context.Context, err error) (runs.Status, error) {
	if errors.As(err, &refusal{}) {
		return s.finish(ctx, runs.Failed, err.Error())
	}
	if errors.Is(err, runs.ErrStale) {
		return "", err
	}
	return s.release(ctx, err.Error(), true)
}

func (s *step) finish(ctx context.Context, status runs.Status, problem string) (runs.Status, error) {
	if problem != "" {
		s.note("%s", problem)
	}
	if err := errors.Join(s.keepResults(ctx), s.log.write()); err != nil {
		return "", err
	}
	return status, s.queue.Finish(ctx, s.claim, status, problem)
}

func (s *step) release(ctx context.Context, problem string, counts bool) (runs.Status, error) {
	s.note("%s", problem)
	if err := errors.Join(s.keepResults(ctx), s.log.write()); err != nil {
		return "", err
	}
	return s.queue.Release(ctx, s.claim, problem, counts)
}
