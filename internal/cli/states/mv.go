package states

import (
	"context"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/state"
)

func cmdStateMv() *command.Command {
	return &command.Command{
		Name: "mv", Short: "Move an object in the state to another address", Args: "SOURCE DESTINATION",
		Long: `Move an instance, a resource or a module in the state to another address, for example after you
renamed it in the configuration. A moved block in the configuration does the same for everyone. With -state-out, it
moves to another state file; with -to-dir or -to-workspace, to another state in any backend.`,
		Example: `~ state mv terraform_data.old terraform_data.new
~ state mv 'terraform_data.a[0]' 'terraform_data.a["first"]'
~ state mv -to-dir=../network module.net`,
		Setup: func(c *command.Call) command.Run {
			e := editing{operation: state.OperationMove, existing: true,
				StateFiles: command.StateFiles{Stamped: true}}
			m := &moving{}
			e.flags(c)
			c.Flags.BoolVar(&m.dry, "dry-run", false, "Show what would be moved, without moving it.")
			c.Flags.StringVar(&m.backupOut, "backup-out", "",
				"Write the backup of the -state-out file's former state to `FILE`.")
			m.elsewhere.flags(c)
			return func(ctx context.Context) command.Outcome {
				switch given := m.elsewhere.given(); {
				case given && len(c.Args) != 1 && len(c.Args) != 2:
					return c.WrongNumber("One or two arguments expected.")
				case !given && len(c.Args) != 2:
					return c.WrongNumber("Exactly two arguments expected.")
				}
				var diags, more diag.List
				m.from, diags = addr.ParseTarget(c.Args[0])
				m.to, more = addr.ParseTarget(c.Args[len(c.Args)-1])
				if diags = diags.Extend(more); diags.HasErrors() {
					return c.End(diags)
				}
				if m.elsewhere.given() {
					return moveToState(ctx, c, e, m)
				}
				if e.Out != "" && e.Out != e.In {
					return moveOut(ctx, c, e, m)
				}
				return edit(ctx, c, e, func(session state.Session) (edited, diag.List) {
					return moveWithin(c, session.Snapshot(), m)
				})
			}
		},
	}
}

// moving is one move of state mv.
type moving struct {
	from, to  addr.Target
	dry       bool
	backupOut string
	elsewhere destination
}

// moved is printed after a move. All instances of an address count as one object.
const moved = "Successfully moved 1 object(s).\n"

// announce prints the move, and reports whether to perform it.
func announce(c *command.Call, m *moving, n int) bool {
	switch {
	case m.dry && n == 0:
		c.Tell("Would have moved nothing.\n")
		return false
	case m.dry:
		c.Tell("Would move %q to %q\n", m.from, m.to)
		return false
	}
	c.Tell("Move %q to %q\n", m.from, m.to)
	return true
}

// plan returns the checked moves of instances from one state to another, which may be the same.
func (m *moving) plan(from, to *state.State) ([]state.MoveObject, diag.List) {
	var diags diag.List
	found := named(from, m.from)
	switch {
	case len(found) == 0:
		return nil, diags.Errorf(nil, "Invalid source address", "Cannot move %s: nothing in the state matches it. "+
			"The command \"state list\" shows the addresses of all instances.%s", m.from,
			didYouMean(from, m.from.String()))
	case m.from.IsModule() != m.to.IsModule():
		return nil, diags.Errorf(nil, "Invalid target address",
			"Cannot move %s to %s: a module can only be moved to a module, and a resource only to a resource.",
			m.from, m.to)
	case m.from.IsModule():
		if len(named(to, m.to)) > 0 {
			return nil, diags.Errorf(nil, "Invalid target address",
				"Cannot move to %s: the state has a module there already.", m.to)
		}
		return m.modules(found), nil
	case m.from.Resource.Mode != m.to.Resource.Mode:
		return nil, diags.Errorf(nil, "Invalid state move request",
			"Cannot move %s to %s: one is a %s resource and the other a %s resource.", m.from, m.to,
			m.from.Resource.Mode, m.to.Resource.Mode)
	case m.from.Resource.Type != m.to.Resource.Type:
		return nil, diags.Errorf(nil, "Invalid state move request", "Cannot move %s to %s: resource types don't match.",
			m.from, m.to)
	}
	whole := !m.from.HasKey && !m.to.HasKey && !(len(found) == 1 && found[0].Key.IsNone())
	target := addr.AbsResource{Module: m.to.Module, Resource: m.to.Resource}
	if whole {
		if to.Resource(target) != nil {
			return nil, diags.Errorf(nil, "Invalid target address",
				"Cannot move to %s: the state has a resource there already.", m.to)
		}
		var steps []state.MoveObject
		for _, a := range found {
			steps = append(steps, state.MoveObject{From: a, To: target.Instance(a.Key)})
		}
		return steps, nil
	}
	if len(found) > 1 || !m.from.HasKey && !found[0].Key.IsNone() {
		return nil, diags.Errorf(nil, "Invalid target address",
			"Cannot move %s to %s: the source is a whole resource (not an instance), so the target must be one too.",
			m.from, m.to)
	}
	if to.Instance(target.Instance(m.to.Key)) != nil {
		return nil, diags.Errorf(nil, "Invalid target address",
			"Cannot move to %s: the state has a resource instance there already.", m.to)
	}
	return []state.MoveObject{{From: found[0], To: target.Instance(m.to.Key)}}, nil
}

// named returns the instances of an address. Unlike in other commands, module.m does not include module.m[0].
func named(s *state.State, t addr.Target) (out []addr.AbsResourceInstance) {
	for _, r := range s.Resources() {
		for _, key := range r.Keys() {
			a := r.Addr.Instance(key)
			if t.IsModule() && t.Module.Contains(a.Module) || !t.IsModule() && matches(t, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// modules moves everything in and below a module.
func (m *moving) modules(found []addr.AbsResourceInstance) (steps []state.MoveObject) {
	depth := len(m.from.Module.Steps())
	for _, a := range found {
		to := a
		to.Module = m.to.Module
		for _, step := range a.Module.Steps()[depth:] {
			to.Module = to.Module.Child(step.Call, step.Key)
		}
		steps = append(steps, state.MoveObject{From: a, To: to})
	}
	return steps
}

// moveWithin moves to another address of the same state.
func moveWithin(c *command.Call, snapshot *state.Snapshot, m *moving) (edited, diag.List) {
	s := snapshot.State
	if diags := m.open(snapshot, snapshot); diags.HasErrors() {
		return edited{}, diags
	}
	steps, diags := m.plan(s, s)
	if diags.HasErrors() || !announce(c, m, len(steps)) {
		return edited{}, diags
	}
	b := s.Builder()
	for _, step := range steps {
		b.Fold(state.Edit{Move: &step})
	}
	b.Rename(s.Moves(steps)) // also in dependencies of other instances
	return edited{b.State(), moved}, nil
}

// moveOut moves to another state file. It writes the target first, so that no object is lost between the two writes; it
// is in both states then.
func moveOut(ctx context.Context, c *command.Call, e editing, m *moving) command.Outcome {
	source := e
	source.Out, source.apart = "", []string{e.Out}
	target := editing{Locking: e.Locking, operation: e.operation, StateFiles: command.StateFiles{In: e.Out,
		Out: e.Out, Backup: m.backupOut, Stamped: true}}
	return edit(ctx, c, source, func(session state.Session) (edited, diag.List) {
		target.apart = []string{e.from(c)}
		s := session.Snapshot()
		other, diags := lock(ctx, c, target)
		if diags.HasErrors() {
			return edited{}, diags
		}
		next, diags := moveBetween(ctx, c, s, other, m)
		return next, diags.AppendError("Error releasing the state lock", other.Unlock())
	})
}

func moveBetween(ctx context.Context, c *command.Call, snapshot *state.Snapshot, other state.Session,
	m *moving) (edited, diag.List) {
	s, there := snapshot.State, other.Snapshot().State
	if diags := m.open(snapshot, other.Snapshot()); diags.HasErrors() {
		return edited{}, diags
	}
	steps, diags := m.plan(s, there)
	if diags.HasErrors() || !announce(c, m, len(steps)) {
		return edited{}, diags
	}
	to, from, names := there.Builder(), s.Builder(), s.Moves(steps)
	for _, step := range steps {
		i, r := s.Instance(step.From), s.Resource(step.From.AbsResource())
		if i.Current != nil {
			to.Fold(state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: step.To},
				Provider: r.Manager(i.Current), Object: names.Object(i.Current)}})
		}
		for _, key := range i.DeposedKeys() {
			to.Fold(state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: step.To, Deposed: key},
				Provider: r.Manager(i.Deposed[key]), Object: names.Object(i.Deposed[key])}})
		}
		from.Fold(forget(s, step.From)...)
	}
	if err := other.Write(ctx, to.State()); err != nil {
		return edited{}, diags.AppendError("Error saving the target state", err)
	}
	return edited{from.State(), moved}, diags
}
