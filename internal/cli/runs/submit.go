package runs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/cli/remote"
	"github.com/tombolo-iac/tombolo/internal/runs"
	"github.com/tombolo-iac/tombolo/internal/view"
)

func sorted(limits map[string]int) []string { return slices.Sorted(maps.Keys(limits)) }

func planCommand() *command.Command {
	return &command.Command{
		Name: "plan", Short: "Let a worker plan this directory",
		Long: `Let a worker plan the root module in this directory, as it is in a commit, and show its log. The plan is
not applied: "~ runs apply" makes one that may be.`,
		Example: "~ runs plan\n~ runs plan -queue=eu -detach",
		Setup:   func(c *command.Call) command.Run { return setupSubmit(c, true) },
	}
}

func applyCommand() *command.Command {
	return &command.Command{
		Name: "apply", Short: "Let a worker plan and apply this directory",
		Long: `Let a worker plan the root module in this directory, as it is in a commit, show the plan, ask for
approval, and let a worker apply exactly that plan. With -detach, the command ends at once; "~ runs approve" continues
later.`,
		Example: "~ runs apply\n~ runs apply -auto-approve -account=aws-prod",
		Setup:   func(c *command.Call) command.Run { return setupSubmit(c, false) },
	}
}

func setupSubmit(c *command.Call, planOnly bool) command.Run {
	var source remote.Source
	var more runs.Request
	var detach bool
	source.Flags(c)
	c.Flags.BoolVar(&detach, "detach", false, "Print the number of the run and end, without waiting for it.")
	c.Flags.StringVar(&more.Workspace, "workspace", "", "The `WORKSPACE` of the state. The default is the default one.")
	c.Flags.BoolVar(&more.Destroy, "destroy", false, "Plan to destroy all objects.")
	c.Flags.BoolVar(&more.RefreshOnly, "refresh-only", false, "Only update the state to match the real objects.")
	c.StringsFlag(&more.Targets, "target", "Plan only `ADDRESS` and what it depends on. May be given more than once.")
	c.StringsFlag(&more.Replace, "replace", "Replace the object at `ADDRESS`. May be given more than once.")
	c.Flags.BoolVar(&c.JSON, "json", false, "Print JSON, one object per line, instead of text.")
	if !planOnly {
		c.Flags.BoolVar(&more.Auto, "auto-approve", false, "Apply the plan without approval.")
	}
	return c.Stoppable(func(ctx context.Context) command.Outcome {
		if len(c.Args) > 0 {
			return c.TooMany(0)
		}
		r, err := source.Request(ctx)
		if err != nil {
			return c.End(diag.List{}.AppendError("Failed to submit the run", err))
		}
		r.PlanOnly, r.Auto, r.Workspace, r.Destroy, r.RefreshOnly = planOnly, more.Auto, more.Workspace, more.Destroy,
			more.RefreshOnly
		r.Targets, r.Replace = more.Targets, more.Replace
		if err := r.Check(); err != nil {
			return c.End(diag.List{}.AppendError("Failed to submit the run", err))
		}
		return submit(ctx, c, r, detach)
	})
}

func submit(ctx context.Context, c *command.Call, r runs.Request, detach bool) command.Outcome {
	q, ok := remote.Open(ctx, c)
	if !ok {
		return command.Failed
	}
	defer q.Close()
	ids, err := q.Submit(ctx, []runs.Request{r})
	if err != nil {
		return c.End(remote.Problem(err))
	}
	c.Tell("Submitted the run %d to the queue %s.\n", ids[0], r.Queue)
	if served, err := q.Served(ctx); err == nil && !served[r.Queue] {
		c.Tell("No worker serves this queue now: the run waits until one does.\n")
	}
	if detach {
		return command.Done
	}
	return follow(ctx, c, q, ids[0], !r.PlanOnly)
}

// follow shows a run to its end, and asks for approval of its plan.
func follow(ctx context.Context, c *command.Call, q *runs.Queue, id int64, asks bool) command.Outcome {
	for after := int64(0); ; {
		r, last, err := remote.Follow(ctx, c, q, id, after)
		after = last
		switch {
		case ctx.Err() != nil:
			c.Tell("The run %d continues. To stop it: %s runs cancel %[1]d\n", id, c.Program)
			return command.Failed
		case err != nil:
			return c.End(remote.Problem(err))
		}
		if text, err := q.PlanText(ctx, id); err == nil && text != "" && (r.Status == runs.Planned || r.PlanOnly) &&
			!c.JSON {
			fmt.Fprintf(c.Out, "\n%s\n", view.Clean(text))
		}
		if r.Status != runs.Planned || !asks {
			return remote.Outcome(c, r)
		}
		answer, err := c.Ask(ctx, "Do you want a worker to perform these actions?", "The plan above is applied "+
			"exactly as it is.\nOnly 'yes' will be accepted to approve.", false)
		switch {
		case err != nil:
			c.Tell("The run %d waits for approval: %s runs approve %[1]d, or %[2]s runs cancel %[1]d\n", id, c.Program)
			return command.Failed
		case strings.TrimSpace(answer) != "yes":
			if _, err := q.Cancel(ctx, id, runs.Stop); err != nil {
				return c.End(remote.Problem(err))
			}
			c.Tell("Apply cancelled.\n")
			return command.Failed
		}
		if err := q.Approve(ctx, id, r.PlanDigest, remote.Me()); err != nil {
			return notApproved(c, id, err)
		}
	}
}

func approveCommand() *command.Command {
	return &command.Command{
		Name: "approve", Short: "Approve the plan of a run", Args: "NUMBER", Mixed: true,
		Long: `Let a worker apply the plan of a run, which "~ runs show" shows. With -expect-plan, approve it only if it
has a hash, as "~ runs show" prints it.`,
		Example: "~ runs approve 12",
		Setup: func(c *command.Call) command.Run {
			expected := c.Flags.String("expect-plan", "", "Approve the plan only if it has this `HASH`.")
			detach := c.Flags.Bool("detach", false, "End without waiting for the run.")
			c.Flags.BoolVar(&c.JSON, "json", false, "Print JSON, one object per line, instead of text.")
			return ofRun(c, func(ctx context.Context, q *runs.Queue, r *runs.Run) command.Outcome {
				digest := r.PlanDigest
				if *expected != "" {
					digest = strings.TrimPrefix(*expected, "sha256:")
				}
				if err := q.Approve(ctx, r.ID, digest, remote.Me()); err != nil {
					return notApproved(c, r.ID, err)
				}
				if *detach {
					return command.Done
				}
				end, _, err := remote.Follow(ctx, c, q, r.ID, r.Lines)
				if err != nil {
					return c.End(remote.Problem(err))
				}
				return remote.Outcome(c, end)
			})
		},
	}
}

func notApproved(c *command.Call, id int64, err error) command.Outcome {
	const title = "Run cannot be approved"
	switch {
	case errors.Is(err, runs.ErrNotWaiting):
		return c.End(diag.List{}.Errorf(nil, title, "The run %d does not wait for approval. \"%s runs show %[1]d\" "+
			"says how it stands.", id, c.Program))
	case errors.Is(err, runs.ErrOtherPlan):
		return c.End(diag.List{}.Errorf(nil, title, "The run %d has another plan than the one that was to be "+
			"approved. Look at it again: %s runs show %[1]d", id, c.Program))
	}
	return c.End(remote.Problem(err))
}
