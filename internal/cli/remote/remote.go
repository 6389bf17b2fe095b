// Package remote has what commands need that leave their work to workers: the queue, the commit and the directory to
// name, and following a run to its end.
package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/runs"
	"github.com/tombolo-iac/tombolo/internal/view"
)

const failed = "Failed to access the runs"

// Problem returns the diagnostic for an error of the queue.
func Problem(err error) diag.List {
	var diags diag.List
	switch {
	case errors.Is(err, runs.ErrNoDatabase):
		return diags.Errorf(nil, failed, "The environment names no database with runs. Set %s or PG_CONN_STR to a "+
			"connection string, or PostgreSQL's own variables such as PGHOST and PGDATABASE.", runs.Variable)
	case errors.Is(err, runs.ErrNotPrepared):
		return diags.Errorf(nil, failed, "The database has no tables for runs, because no worker has used it yet. "+
			"Start tombolo-worker with this database, or correct %s.", runs.Variable)
	case errors.Is(err, runs.ErrUnknown):
		return diags.Errorf(nil, failed, "There is no run with this number. \"runs list\" shows all.")
	}
	return diags.AppendError(failed, err)
}

// Open connects to the queue, or reports why that is not possible.
func Open(ctx context.Context, c *command.Call) (*runs.Queue, bool) {
	q, err := runs.Open(ctx, c.Getenv)
	if err != nil {
		c.Report(Problem(err))
		return nil, false
	}
	return q, true
}

// Source are the flags that say what runs of this directory shall be made from, and where.
type Source struct {
	repository, commit, queue string
	accounts                  []string
}

// Flags declares the flags.
func (s *Source) Flags(c *command.Call) {
	c.Flags.StringVar(&s.repository, "repository", "",
		"The `URL` of the Git repository, as workers know it. The default is that of the remote origin.")
	c.Flags.StringVar(&s.commit, "commit", "",
		"Use this `COMMIT`. The default is HEAD, if no file differs from it. Workers must be able to fetch it.")
	c.Flags.StringVar(&s.queue, "queue", "default", "Put runs into the queue `NAME`, for the workers that serve it.")
	c.StringsFlag(&s.accounts, "account", "Count runs for the limit of the account `NAME`. May be given more than "+
		"once.")
}

// Request returns a request for the working directory. Its errors say what to do.
func (s *Source) Request(ctx context.Context) (runs.Request, error) {
	r := runs.Request{Queue: s.queue, Accounts: s.accounts, Submitter: Me()}
	if _, err := exec.LookPath("git"); err != nil {
		return r, errors.New("the program git was not found on the PATH, and workers take configurations from " +
			"commits of git: install it")
	}
	prefix, err := git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return r, fmt.Errorf("this directory is in no repository of git, and workers take configurations from "+
			"commits: %w",
			err)
	}
	r.Directory = strings.TrimSuffix(strings.TrimSuffix(prefix, "\n"), "/")
	if r.Directory == "" {
		r.Directory = "."
	}
	address := s.repository
	if address == "" {
		if address, err = git(ctx, "remote", "get-url", "origin"); err != nil {
			return r, errors.New("the repository has no remote called origin. Name the repository from which workers " +
				"fetch (-repository)")
		}
	}
	r.Repository = runs.Address(address)
	commit := s.commit
	if commit == "" {
		commit = "HEAD"
		changed, err := git(ctx, "status", "--porcelain", "--", ":(top)")
		if err != nil {
			return r, err
		}
		if first, _, _ := strings.Cut(changed, "\n"); first != "" {
			return r, fmt.Errorf("files differ from the last commit, such as %q. Commit and push them, or name a "+
				"commit (-commit)", strings.TrimSpace(first))
		}
	}
	if commit, err = git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}"); err != nil {
		return r, fmt.Errorf("git does not know the commit %q", s.commit)
	}
	r.Commit = strings.TrimSpace(commit)
	if lock, err := git(ctx, "show", r.Commit+":./.terraform.lock.hcl"); err == nil {
		r.LockDigest = fmt.Sprintf("%x", sha256.Sum256([]byte(lock)))
	}
	return r, nil
}

func git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}

// Me returns the user and the machine, for other people.
func Me() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		return name
	}
	return name + "@" + host
}

// Number returns the number of a run from the only argument of a command, or reports that there is none.
func Number(c *command.Call) (int64, bool) {
	if len(c.Args) == 1 {
		if id, err := strconv.ParseInt(c.Args[0], 10, 64); err == nil && id > 0 {
			return id, true
		}
	}
	c.Misuse("Number of a run required", "Expected the number of one run, as \"runs list\" shows it.")
	return 0, false
}

// Show writes a line of a log.
func Show(out io.Writer, prefix string, line runs.Line, raw bool) {
	if raw {
		fmt.Fprintln(out, line.Text)
		return
	}
	var said struct {
		Message string `json:"@message"`
	}
	if err := json.Unmarshal([]byte(line.Text), &said); err != nil || said.Message == "" {
		return
	}
	for text := range strings.Lines(said.Message) {
		fmt.Fprintf(out, "%s%s\n", prefix, view.CleanLine(strings.TrimRight(text, "\n")))
	}
}

// Interval is how long to wait for a notification before the rows are read again.
const Interval = time.Second

// Follow shows the log of a run after a line until the run has ended or waits for approval, and returns it with the
// number of the last line.
func Follow(ctx context.Context, c *command.Call, q *runs.Queue, id, after int64) (*runs.Run, int64, error) {
	if err := q.Listen(ctx); err != nil {
		return nil, after, err
	}
	for {
		r, err := q.Get(ctx, id) // before its lines, so that none is missing when it has ended
		if err != nil {
			return nil, after, err
		}
		for {
			lines, err := q.Lines(ctx, id, after)
			if err != nil {
				return r, after, err
			}
			for _, line := range lines {
				Show(c.Out, "", line, c.JSON)
				after = line.N
			}
			if len(lines) == 0 {
				break
			}
		}
		if r.Status.Ended() || r.Status == runs.Planned {
			return r, after, nil
		}
		if err := q.Wait(ctx, Interval); err != nil {
			return r, after, err
		}
	}
}

// Outcome reports how a run ended.
func Outcome(c *command.Call, r *runs.Run) command.Outcome {
	if r.Status == runs.Done || r.Status == runs.Planned {
		return command.Done
	}
	problem := r.Problem
	if problem == "" {
		problem = "It was ended before a worker had it."
	}
	return c.End(diag.List{}.Errorf(nil, "Run did not succeed", "The run %d (%s) is %s. %s", r.ID,
		view.CleanLine(r.Where()),
		r.Status, view.Clean(problem)))
}
