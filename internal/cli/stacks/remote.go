package stacks

import (
	"context"
	"slices"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/cli/remote"
	"github.com/tombolo-iac/tombolo/internal/runs"
	"github.com/tombolo-iac/tombolo/internal/stack"
)

// leaving holds the flags of commands that can leave units to workers.
type leaving struct {
	remote.Source

	on, detach bool
}

func (l *leaving) flags(c *command.Call) {
	c.Flags.BoolVar(&l.on, "remote", false,
		"Leave each unit to a worker: one run for each, after those that it depends on. Needs -auto-approve.")
	c.Flags.BoolVar(&l.detach, "detach", false, "With -remote: end without waiting for the runs.")
	l.Source.Flags(c)
}

// check reports options that do not fit.
func (l *leaving) check(c *command.Call, approved bool) bool {
	if !l.on {
		for _, name := range []string{"detach", "repository", "commit", "queue", "account"} {
			if c.FlagGiven(name) {
				c.Misuse("Incompatible options", "The option -%s is for workers: add -remote, or remove it.", name)
				return false
			}
		}
		return true
	}
	for _, name := range []string{"refresh", "minimal-refresh", "parallelism", "units-at-once", "lock",
		"lock-timeout"} {
		if c.FlagGiven(name) {
			c.Misuse("Incompatible options", "Workers choose themselves what -%s says: remove it, or -remote.", name)
			return false
		}
	}
	if c.FlagGiven("commit") {
		c.Misuse("Incompatible options", "With -remote, the units are those of the working directory. Check out the "+
			"commit, and remove -commit.")
		return false
	}
	if !approved {
		c.Misuse("Plan file or auto-approve required", "With -remote, workers apply the plan of each unit as soon as "+
			"the units that it depends on are applied, so nobody can be asked. Add -auto-approve, or use \"runs "+
			"apply\" in the directory of a unit.")
		return false
	}
	return true
}

// leave submits a run for each chosen unit, and follows them.
func (o *running) leave(ctx context.Context, c *command.Call, l *leaving) command.Outcome {
	s, units, ok := o.load(ctx, c)
	if !ok {
		return command.Failed
	}
	if len(units) == 0 {
		c.Tell("No units are selected.\n")
		return command.Done
	}
	base, err := l.Request(ctx)
	if err != nil {
		return c.End(diag.List{}.AppendError("Failed to submit the run", err))
	}
	base.LockDigest, base.Auto, base.Destroy = "", true, o.destroy // the units' own lock files are in the commit
	requests := requestsFor(s, units, base)
	for i := range requests {
		if err := requests[i].Check(); err != nil {
			return c.End(diag.List{}.AppendError("Failed to submit the run", err))
		}
	}
	q, ok := remote.Open(ctx, c)
	if !ok {
		return command.Failed
	}
	defer q.Close()
	ids, err := q.Submit(ctx, requests)
	if err != nil {
		return c.End(remote.Problem(err))
	}
	c.Tell("Submitted %d runs, %d to %d, to the queue %s.\n", len(ids), ids[0], ids[len(ids)-1], base.Queue)
	if l.detach {
		return command.Done
	}
	return followAll(ctx, c, q, ids, o.destroy)
}

// requestsFor returns a request for each unit, in their order, or in the reverse one if they are destroyed. Each waits
// for the units that it needs, also through units that were not chosen.
func requestsFor(s *stack.Stack, units []*stack.Unit, base runs.Request) (list []runs.Request) {
	needs := map[*stack.Unit]map[*stack.Unit]bool{}
	for _, u := range s.Units { // each after those that it depends on
		needs[u] = map[*stack.Unit]bool{}
		for _, e := range u.Edges {
			needs[u][e.To] = true
			if !slices.Contains(units, e.To) {
				for further := range needs[e.To] {
					needs[u][further] = true
				}
			}
		}
	}
	var order []*stack.Unit
	for _, u := range s.Units {
		if slices.Contains(units, u) {
			order = append(order, u)
		}
	}
	if base.Destroy {
		slices.Reverse(order)
	}
	for i, u := range order {
		r := base
		r.Unit = u.Name
		for j, other := range order[:i] {
			if first, second := other, u; base.Destroy && needs[first][second] || needs[second][first] {
				r.After = append(r.After, j)
			}
		}
		list = append(list, r)
	}
	return list
}

// followAll shows the logs of runs until all have ended.
func followAll(ctx context.Context, c *command.Call, q *runs.Queue, ids []int64, destroy bool) command.Outcome {
	err := q.Listen(ctx)
	shown, told := map[int64]int64{}, map[int64]bool{}
	for err == nil {
		var list []runs.Run
		if list, err = q.Several(ctx, ids); err != nil {
			break
		}
		open := len(ids)
		for i := range list {
			r := &list[i]
			for shown[r.ID] < r.Lines && err == nil {
				var lines []runs.Line
				if lines, err = q.Lines(ctx, r.ID, shown[r.ID]); len(lines) == 0 {
					break
				}
				for _, line := range lines {
					remote.Show(c.Out, "["+r.Unit+"] ", line, c.JSON)
					shown[r.ID] = line.N
				}
			}
			if !r.Status.Ended() {
				continue
			}
			open--
			if !told[r.ID] {
				told[r.ID] = true
				c.Tell("[%s] %s\n", r.Unit, r.Status)
			}
		}
		if open == 0 {
			return conclusion(c, list, destroy)
		}
		if err == nil {
			err = q.Wait(ctx, remote.Interval)
		}
	}
	if ctx.Err() != nil {
		c.Tell("The runs continue. To stop one: %s runs cancel NUMBER\n", c.Program)
		return command.Failed
	}
	return c.End(remote.Problem(err))
}

// conclusion reports the runs that did not succeed.
func conclusion(c *command.Call, list []runs.Run, destroy bool) command.Outcome {
	outcome := command.Done
	for i := range list {
		if o := remote.Outcome(c, &list[i]); o != command.Done {
			outcome = o
		}
	}
	if outcome == command.Done {
		what := "applied"
		if destroy {
			what = "destroyed"
		}
		c.Tell("\nAll %d units are %s.\n", len(list), what)
	}
	return outcome
}
