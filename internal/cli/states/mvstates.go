package states

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/transfer"
	"github.com/tombolo-iac/tombolo/state"
)

// destination is another state to which objects move, in any backend: of another working directory, of another
// workspace, or both.
type destination struct{ dir, workspace string }

func (d *destination) flags(c *command.Call) {
	c.Flags.StringVar(&d.dir, "to-dir", "", "Move to the state of the working directory `DIR`, in any backend. "+
		"Without DESTINATION, the address stays the same.")
	c.Flags.StringVar(&d.workspace, "to-workspace", "", "Move to the state of the workspace `NAME`, in this "+
		"directory or in that of -to-dir.")
}

// given reports whether objects move to another state.
func (d destination) given() bool { return d != destination{} }

// args returns the arguments for this destination, to repeat the command.
func (d destination) args() (out []string, err error) {
	if d.dir != "" {
		dir, err := filepath.Abs(d.dir)
		if err != nil {
			return nil, err
		}
		out = append(out, "-to-dir="+dir)
	}
	if d.workspace != "" {
		out = append(out, "-to-workspace="+d.workspace)
	}
	return out, nil
}

// side is one of the two states.
type side struct {
	workspace state.Workspace
	session   state.Session // after it is locked
	backend   *backend.Backend
	place     string
}

// moveToState moves to the state of another working directory or workspace.
func moveToState(ctx context.Context, c *command.Call, e editing, m *moving) command.Outcome {
	if e.StateFiles != (command.StateFiles{Stamped: true}) || m.backupOut != "" {
		return c.Misuse("Options conflict", "-to-dir and -to-workspace name states of working directories, so they "+
			"cannot be used together with -state, -state-out, -backup and -backup-out.")
	}
	source, diags := openSide(ctx, c, &c.Surroundings, "")
	if diags.HasErrors() {
		return c.End(diags)
	}
	there := &c.Surroundings
	if m.elsewhere.dir != "" {
		there = c.At(m.elsewhere.dir)
	}
	target, diags := openSide(ctx, c, there, m.elsewhere.workspace)
	if diags.HasErrors() {
		return c.End(inDirectory(diags, m.elsewhere.dir))
	}
	if source.place == target.place && (source.backend == nil || source.backend.SamePlace(target.backend)) {
		return c.End(diags.Errorf(nil, "Source and target are the same state", "Both are %s. To move to another "+
			"address of the same state, leave out -to-dir and -to-workspace.", source.place))
	}
	if diags = lockBoth(ctx, c, e, source, target); diags.HasErrors() {
		return c.End(diags)
	}
	var done string
	if source.session.Snapshot().State == nil {
		diags = diags.Errorf(nil, "No state file was found!", "There is no state yet, so there is nothing to move.")
	} else {
		done, diags = handOver(ctx, c, m, source, target)
	}
	for _, s := range []*side{target, source} {
		diags = diags.AppendError("Error releasing the state lock", s.session.Unlock())
	}
	if !diags.HasErrors() {
		c.Tell("%s", done)
	}
	return c.End(diags)
}

// openSide opens the state of a working directory: of the selected workspace, or of the given one.
func openSide(ctx context.Context, c *command.Call, at *engine.Surroundings, workspace string) (*side, diag.List) {
	root, diags := at.RootModule(ctx)
	if diags.HasErrors() {
		return nil, diags.OnlyErrors()
	}
	switch {
	case at == &c.Surroundings:
		c.AddSources(root.Files)
	case len(root.Files) == 0: // a state here would not be found again
		return nil, diags.Errorf(nil, "No configuration files", "The directory has no configuration, so it is not a "+
			"working directory with a state.")
	}
	s := &side{}
	if s.backend, diags = at.Backend(root.Root); diags.HasErrors() {
		return nil, diags
	}
	name, _, err := at.Workspace()
	if err != nil {
		return nil, diag.FromError("Cannot tell which workspace is selected", err)
	}
	if workspace != "" {
		name = workspace
	}
	if s.place, err = at.StatePlace(s.backend, name); err != nil {
		return nil, diag.FromError("Cannot tell where the state is", err)
	}
	st, diags := at.StoreOf(ctx, root.Root, engine.StateFiles{Stamped: true})
	if diags.HasErrors() {
		return nil, diags
	}
	if workspace != "" {
		names, err := st.Workspaces(ctx)
		switch {
		case err != nil:
			return nil, diag.FromError("Failed to list the workspaces", err)
		case !slices.Contains(names, workspace):
			return nil, diags.Errorf(nil, "Workspace does not exist", "There is no workspace %q. Create it first with "+
				"\"workspace new\".%s", workspace, diag.DidYouMean(workspace, names))
		}
	}
	if s.workspace, err = st.Workspace(name); err != nil {
		return nil, diag.FromError("Invalid workspace name", err)
	}
	return s, nil
}

// inDirectory makes the places in problems of another working directory relative to this one.
func inDirectory(diags diag.List, dir string) (out diag.List) {
	if dir == "" {
		return diags
	}
	for _, d := range diags {
		moved := *d
		where := "In the directory " + dir
		if d.Subject != nil {
			where += fmt.Sprintf(", on %s line %d", d.Subject.Filename, d.Subject.Start.Line)
		}
		moved.Subject, moved.Context, moved.Expression = nil, nil, nil
		moved.Detail = where + ": " + d.Detail
		out = append(out, &moved)
	}
	return out
}

// lockBoth takes both locks, always in the same order, so that two moves in opposite directions cannot deadlock.
func lockBoth(ctx context.Context, c *command.Call, e editing, source, target *side) (diags diag.List) {
	order := []*side{source, target}
	if source.place > target.place {
		slices.Reverse(order)
	}
	for i, s := range order {
		req := state.LockRequest{Unlocked: !e.Locking.Lock, Info: state.LockInfo{Operation: e.operation}}
		var err error
		if s.session, err = state.Acquire(ctx, s.workspace, req, e.Timeout, func(l *state.LockedError) {
			c.View().Send(event.LockWaiting{Info: l.Info})
		}); err != nil {
			diags = engine.LockProblem(err)
			diags[0].Detail = "This concerns the state " + s.place + ". " + diags[0].Detail
			for _, held := range order[:i] {
				diags = diags.AppendError("Error releasing the state lock", held.session.Unlock())
			}
			return diags
		}
	}
	return nil
}

// handOver moves the objects between the two locked states.
func handOver(ctx context.Context, c *command.Call, m *moving, source, target *side) (done string, diags diag.List) {
	again, err := m.elsewhere.args()
	if err != nil {
		return "", diag.FromError("Cannot tell where the directory is", err)
	}
	dir, err := filepath.Abs(c.Surroundings.In("."))
	if err != nil {
		return "", diag.FromError("Cannot tell where the directory is", err)
	}
	t := &transfer.Transfer{From: transfer.Side{Session: source.session, Place: source.place},
		To: transfer.Side{Session: target.session, Place: target.place}, Dir: dir,
		Args: append(append([]string{"state", "mv"}, again...), c.Args...)}
	from, to := others(t, source.session.Snapshot()), others(t, target.session.Snapshot())
	c.Interrupted(from)
	c.Interrupted(to)
	if diags := m.open(from, to); diags.HasErrors() {
		return "", diags
	}
	free := to.State.Builder() // objects that an earlier run has moved there do not conflict
	for _, o := range t.Arrived() {
		free.Fold(state.Edit{Drop: &state.DropObject{Addr: o}})
	}
	if t.Moves, diags = m.plan(from.State, free.State()); diags.HasErrors() {
		return "", diags
	}
	if diags := sameEnds(t, m); diags.HasErrors() || !announce(c, m, len(t.Moves)) {
		return "", diags
	}
	if err := t.Run(ctx); err != nil {
		return "", diags.Errorf(nil, "Failed to move between states", "%s. Nothing is lost: until the move is "+
			"finished, the source has the objects, and both states name them. Remove the cause, then run the same "+
			"command again.", err)
	}
	return moved, diags
}

// others returns a snapshot without the operations of the transfer itself, which this run completes.
func others(t *transfer.Transfer, s *state.Snapshot) *state.Snapshot {
	rest := *s
	rest.InFlight = slices.DeleteFunc(slices.Clone(s.InFlight), t.Known)
	return &rest
}

// sameEnds returns an error if an object moves to another address than in the killed run.
func sameEnds(t *transfer.Transfer, m *moving) (diags diag.List) {
	to := map[addr.AbsResourceInstance]string{}
	for _, move := range t.Moves {
		to[move.From] = move.To.String()
	}
	for _, f := range t.From.Session.Snapshot().InFlight {
		h, _ := f.Handover()
		if want, moves := to[f.Object.Instance]; t.Known(f) && moves && want != h.To {
			diags = diags.Errorf(nil, "Interrupted move is not resolved", "Cannot move %s to %s: an earlier run "+
				"ended while it moved %s to %s. Finish that move first, then move the object from there.", m.from, m.to,
				h.From, h.To)
		}
	}
	return diags
}
