// Package runs has the commands of the family runs, which leave plans and applies to workers. Package runs below
// internal is the queue; this package has a file for the commands that submit runs, and one for those that look at
// them.
package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/cli/remote"
	"github.com/tombolo-iac/tombolo/internal/runs"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// Runs is the family of commands.
func Runs() *command.Command {
	return &command.Command{
		Name: "runs", Short: "Plan and apply at workers on other machines",
		Long: `Leave plans and applies to workers, and look at what they do. The runs are in a PostgreSQL
database, which TOMBOLO_RUNS, PG_CONN_STR or PostgreSQL's own variables name.`,
		Members: []*command.Command{applyCommand(), approveCommand(), cancelCommand(), limitCommand(), listCommand(),
			logsCommand(), planCommand(), showCommand()},
	}
}

func listCommand() *command.Command {
	return &command.Command{
		Name: "list", Short: "List what runs, waits and has ended",
		Long:    "List the runs that have not ended, and the last ones that have, newest first.",
		Example: "~ runs list -ended=50",
		Setup: func(c *command.Call) command.Run {
			c.DocumentFlags()
			ended := c.Flags.Int("ended", 20, "Show the last `N` runs that have ended.")
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.TooMany(0)
				}
				return list(ctx, c, max(0, *ended))
			})
		},
	}
}

func list(ctx context.Context, c *command.Call, ended int) command.Outcome {
	q, ok := remote.Open(ctx, c)
	if !ok {
		return command.Failed
	}
	defer q.Close()
	all, err := q.List(ctx, ended)
	if err != nil {
		return c.End(remote.Problem(err))
	}
	if to := c.Documents(); to != nil {
		documents := []document{}
		for i := range all {
			documents = append(documents, describe(&all[i]))
		}
		err := json.NewEncoder(to).Encode(struct {
			FormatVersion string     `json:"format_version"`
			Runs          []document `json:"runs"`
		}{"1.0", documents})
		if err != nil || c.Document {
			return c.Finish("Failed to access the runs", err)
		}
	}
	if len(all) == 0 {
		c.Tell("There are no runs.\n")
	}
	served, err := q.Served(ctx)
	if err != nil {
		return c.End(remote.Problem(err))
	}
	for i := range all {
		r := &all[i]
		fmt.Fprintf(c.Out, "%6d  %-9s  %-7s  %s%s\n", r.ID, view.CleanLine(string(r.Status)),
			view.CleanLine(r.Commit[:min(len(r.Commit), 7)]), view.CleanLine(r.Where()), note(r, served))
	}
	return command.Done
}

// note returns what else is worth knowing about a run in a list. served are the queues that workers serve.
func note(r *runs.Run, served map[string]bool) string {
	switch {
	case r.Status == runs.Waiting && !served[r.Queue]:
		return fmt.Sprintf("  no worker serves the queue %s", view.CleanLine(r.Queue))
	case r.Status == runs.Planning || r.Status == runs.Applying:
		return fmt.Sprintf("  at %s since %s", view.CleanLine(r.WorkerName), r.Started.Format(time.TimeOnly))
	case r.Problem != "":
		first, _, _ := strings.Cut(r.Problem, "\n")
		return "  " + view.CleanLine(first)
	}
	return ""
}

// document is a run for programs.
type document struct {
	ID          int64     `json:"id"`
	Status      string    `json:"status"`
	Phase       string    `json:"phase"`
	Repository  string    `json:"repository"`
	Commit      string    `json:"commit"`
	Directory   string    `json:"directory"`
	Workspace   string    `json:"workspace,omitempty"`
	Unit        string    `json:"unit,omitempty"`
	LockDigest  string    `json:"lock_digest,omitempty"`
	Destroy     bool      `json:"destroy"`
	RefreshOnly bool      `json:"refresh_only"`
	Targets     []string  `json:"targets,omitempty"`
	Replace     []string  `json:"replace,omitempty"`
	PlanOnly    bool      `json:"plan_only"`
	Auto        bool      `json:"auto_approve"`
	Queue       string    `json:"queue"`
	Accounts    []string  `json:"accounts,omitempty"`
	After       []int64   `json:"after,omitempty"`
	Submitter   string    `json:"submitter"`
	Approver    string    `json:"approver,omitempty"`
	Epoch       int64     `json:"epoch"`
	Attempt     int       `json:"attempt"`
	Recovering  bool      `json:"recovering"`
	Worker      string    `json:"worker,omitempty"`
	Changes     bool      `json:"changes"`
	PlanDigest  string    `json:"plan_digest,omitempty"`
	Problem     string    `json:"problem,omitempty"`
	Submitted   time.Time `json:"submitted"`
	Started     time.Time `json:"started,omitzero"`
	Ended       time.Time `json:"ended,omitzero"`
}

func describe(r *runs.Run) document {
	return document{ID: r.ID, Status: string(r.Status), Phase: string(r.Phase), Repository: r.Repository,
		Commit: r.Commit, Directory: r.Directory, Workspace: r.Workspace, Unit: r.Unit, LockDigest: r.LockDigest,
		Destroy: r.Destroy, RefreshOnly: r.RefreshOnly, Targets: r.Targets, Replace: r.Replace, PlanOnly: r.PlanOnly,
		Auto: r.Auto, Queue: r.Queue, Accounts: r.Accounts, After: r.After, Submitter: r.Submitter,
		Approver: r.Approver, Epoch: r.Epoch, Attempt: r.Attempt, Recovering: r.Recovering, Worker: r.WorkerName,
		Changes: r.Changes, PlanDigest: r.PlanDigest, Problem: r.Problem, Submitted: r.Submitted, Started: r.Started,
		Ended: r.Ended}
}

// ofRun returns a command that works on one run.
func ofRun(c *command.Call, do func(ctx context.Context, q *runs.Queue, r *runs.Run) command.Outcome) command.Run {
	return c.Stoppable(func(ctx context.Context) command.Outcome {
		id, ok := remote.Number(c)
		if !ok {
			return command.Misused
		}
		q, ok := remote.Open(ctx, c)
		if !ok {
			return command.Failed
		}
		defer q.Close()
		r, err := q.Get(ctx, id)
		if err != nil {
			return c.End(remote.Problem(err))
		}
		return do(ctx, q, r)
	})
}

func showCommand() *command.Command {
	return &command.Command{
		Name: "show", Short: "Show a run and its plan", Args: "NUMBER", Mixed: true,
		Long: "Show a run, with its plan if it has one.", Example: "~ runs show 12",
		Setup: func(c *command.Call) command.Run {
			c.DocumentFlags()
			return ofRun(c, func(ctx context.Context, q *runs.Queue, r *runs.Run) command.Outcome {
				text, err := q.PlanText(ctx, r.ID)
				if err != nil {
					return c.End(remote.Problem(err))
				}
				if to := c.Documents(); to != nil {
					err := json.NewEncoder(to).Encode(struct {
						FormatVersion string `json:"format_version"`
						document
						PlanText string `json:"plan_text,omitempty"`
					}{"1.0", describe(r), text})
					if err != nil || c.Document {
						return c.Finish("Failed to access the runs", err)
					}
				}
				show(c, r)
				if text != "" {
					fmt.Fprintf(c.Out, "\n%s\n", view.Clean(text))
				}
				return command.Done
			})
		},
	}
}

func show(c *command.Call, r *runs.Run) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(c.Out, "%-12s %s\n", name, view.CleanLine(value))
		}
	}
	line("run", fmt.Sprint(r.ID))
	line("status", string(r.Status))
	line("problem", r.Problem)
	line("of", r.Where())
	line("directory", r.Directory)
	line("repository", r.Repository)
	line("commit", r.Commit)
	line("queue", r.Queue)
	line("accounts", strings.Join(r.Accounts, ", "))
	line("submitted", r.Submitted.Format(time.DateTime)+" by "+r.Submitter)
	line("approved by", r.Approver)
	line("worker", r.WorkerName)
	line("attempt", fmt.Sprint(r.Attempt))
	line("plan", r.PlanDigest)
}

func logsCommand() *command.Command {
	return &command.Command{
		Name: "logs", Short: "Show the log of a run", Args: "NUMBER", Mixed: true,
		Long: `Show what the commands of a run have printed. With -follow, wait for more until the run has ended
or waits for approval.`,
		Example: "~ runs logs -follow 12",
		Setup: func(c *command.Call) command.Run {
			c.Flags.BoolVar(&c.JSON, "json", false, "Print JSON, one object per line, instead of text.")
			follow := c.Flags.Bool("follow", false, "Wait for more lines until the run has ended or waits for "+
				"approval.")
			return ofRun(c, func(ctx context.Context, q *runs.Queue, r *runs.Run) command.Outcome {
				if *follow {
					r, _, err := remote.Follow(ctx, c, q, r.ID, 0)
					if err != nil {
						return c.End(remote.Problem(err))
					}
					return remote.Outcome(c, r)
				}
				for after := int64(0); ; {
					lines, err := q.Lines(ctx, r.ID, after)
					if err != nil {
						return c.End(remote.Problem(err))
					}
					for _, line := range lines {
						remote.Show(c.Out, "", line, c.JSON)
						after = line.N
					}
					if len(lines) == 0 {
						return command.Done
					}
				}
			})
		},
	}
}

func cancelCommand() *command.Command {
	return &command.Command{
		Name: "cancel", Short: "Cancel a run", Args: "NUMBER", Mixed: true,
		Long: `Cancel a run. One that waits ends at once. A worker that has the run finishes the operations in flight
and starts no others, as after Ctrl-C. With -force, it aborts the operations in flight, as after the second Ctrl-C.`,
		Example: "~ runs cancel 12\n~ runs cancel -force 12",
		Setup: func(c *command.Call) command.Run {
			force := c.Flags.Bool("force", false, "Abort the operations in flight.")
			return ofRun(c, func(ctx context.Context, q *runs.Queue, r *runs.Run) command.Outcome {
				how := runs.Stop
				if *force {
					how = runs.Force
				}
				before := r.Status
				status, err := q.Cancel(ctx, r.ID, how)
				switch {
				case err != nil:
					return c.End(remote.Problem(err))
				case before.Ended() || status.Ended() && status != runs.Cancelled:
					c.Tell("The run %d is already %s.\n", r.ID, status)
				case status == runs.Cancelled:
					c.Tell("The run %d is cancelled.\n", r.ID)
				default:
					c.Tell("The run %d will end: %s was asked to stop it.\n", r.ID, view.CleanLine(r.WorkerName))
				}
				return command.Done
			})
		},
	}
}

func limitCommand() *command.Command {
	return &command.Command{
		Name: "limit", Short: "Set how many runs may use an account at a time", Args: "[ACCOUNT [N]]", Mixed: true,
		Long: `Without N, show the limits, or that of ACCOUNT. With ACCOUNT and N, let at most N
runs that name the account be at workers at a time, over all workers. N is none to remove the limit.`,
		Example: "~ runs limit aws-prod 4\n~ runs limit aws-prod none",
		Setup: func(c *command.Call) command.Run {
			return c.Stoppable(func(ctx context.Context) command.Outcome { return limit(ctx, c) })
		},
	}
}

func limit(ctx context.Context, c *command.Call) command.Outcome {
	n := -1
	switch {
	case len(c.Args) > 2:
		return c.Misuse("Invalid limit", "Expected an account and a number of runs, or an account, or no arguments.")
	case len(c.Args) == 2 && c.Args[1] != "none":
		number, err := strconv.ParseInt(c.Args[1], 10, 32)
		if err != nil || number < 0 {
			return c.Misuse("Invalid limit", "The limit is %q. Expected a number of runs from 0 to %d, or none.",
				c.Args[1], math.MaxInt32)
		}
		n = int(number)
	}
	q, ok := remote.Open(ctx, c)
	if !ok {
		return command.Failed
	}
	defer q.Close()
	if len(c.Args) == 2 {
		if err := q.Limit(ctx, c.Args[0], n); err != nil {
			return c.End(remote.Problem(err))
		}
		return command.Done
	}
	limits, err := q.Limits(ctx)
	if err != nil {
		return c.End(remote.Problem(err))
	}
	for _, name := range sorted(limits) {
		if len(c.Args) == 1 && name != c.Args[0] {
			continue
		}
		fmt.Fprintf(c.Out, "%s %d\n", name, limits[name])
	}
	return command.Done
}
