package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/state"
)

// editing says how a command changes the state by hand.
type editing struct {
	locking
	stateFiles
	operation string
	// stamped keeps the former state in a file with the time in its name, so that every edit can be undone.
	stamped bool
}

func (e *editing) flags(c *call) {
	e.locking.flags(c)
	e.stateFiles.write(c)
	var ignored bool
	c.flags.BoolVar(&ignored, "ignore-remote-version", false, "Accepted for compatibility; without meaning for local states.")
}

// edit changes the state under its lock. The function gives the new state, or nil when there is nothing to write.
func (c *call) edit(ctx context.Context, e editing, change func(state.Session) (*state.State, diag.List)) outcome {
	session, diags := c.lock(ctx, e)
	if diags.HasErrors() {
		return c.end(diags)
	}
	s, diags := change(session)
	if s != nil && !diags.HasErrors() {
		diags = diags.AppendError("Error saving the state", session.Write(ctx, s))
	}
	return c.end(diags.AppendError("Error releasing the state lock", session.Unlock()))
}

// lock takes the lock of the selected workspace.
func (c *call) lock(ctx context.Context, e editing) (state.Session, diag.List) {
	root, diags := c.rootModule(ctx)
	if diags.HasErrors() {
		return nil, diags
	}
	o, diags := localBackend(root)
	if diags.HasErrors() {
		return nil, diags
	}
	e.stateFiles.apply(&o)
	if e.stamped && e.backup == "" {
		if o.BackupTo, diags = c.stampedBackup(o); diags.HasErrors() {
			return nil, diags
		}
	}
	ws, diags := c.selected(store.New(o))
	if diags.HasErrors() {
		return nil, diags
	}
	return c.lockWorkspace(ctx, ws, e)
}

func (c *call) lockWorkspace(ctx context.Context, ws state.Workspace, e editing) (state.Session, diag.List) {
	req := state.LockRequest{Unlocked: !e.locking.lock, Info: state.LockInfo{Operation: e.operation}}
	session, err := state.Acquire(ctx, ws, req, e.timeout, func(l *state.LockedError) { c.view().Send(event.LockWaiting{Info: l.Info}) })
	if err != nil {
		return nil, tombolo.LockProblem(err)
	}
	c.interrupted(session.Snapshot())
	return session, nil
}

// stampedBackup names the file that keeps the state as it was before an edit.
func (c *call) stampedBackup(o store.Options) (string, diag.List) {
	name, _, err := c.workspace()
	if err != nil {
		return "", diag.FromError("Cannot tell which workspace is selected", err)
	}
	file := first(o.WriteTo, o.ReadFrom)
	if file == "" && name == state.DefaultWorkspace {
		file = first(o.Path, "terraform.tfstate")
	} else if file == "" {
		file = filepath.Join(first(o.WorkspaceDir, "terraform.tfstate.d"), name, "terraform.tfstate")
	}
	return fmt.Sprintf("%s.%d.backup", file, time.Now().Unix()), nil
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

func cmdStateRm() *command {
	return &command{
		name: "rm", short: "Forget instances without destroying them", args: "ADDRESS...",
		long: `Remove instances from the state: the objects go on to exist, but ~~ no longer knows them. An
address may be that of a module, a resource or an instance.`,
		setup: func(c *call) func(context.Context) outcome {
			e := editing{operation: "state-rm", stamped: true}
			var dry bool
			e.flags(c)
			c.flags.BoolVar(&dry, "dry-run", false, "Only say what would be removed.")
			return func(ctx context.Context) outcome {
				if len(c.args) == 0 {
					return c.wrongNumber("At least one address is required.")
				}
				return c.edit(ctx, e, func(session state.Session) (*state.State, diag.List) {
					return c.stateRm(session.Snapshot().State, dry)
				})
			}
		},
	}
}

func (c *call) stateRm(s *state.State, dry bool) (*state.State, diag.List) {
	var edits []state.Edit
	var gone []addr.AbsResourceInstance
	taken := map[addr.AbsResourceInstance]bool{}
	for _, text := range c.args {
		t, diags := addr.ParseTarget(text)
		if diags.HasErrors() {
			return nil, diags
		}
		for _, a := range matching(s, t) {
			if !taken[a] {
				taken[a] = true
				gone = append(gone, a)
				edits = append(edits, forget(s, a)...)
			}
		}
	}
	word := "Removed"
	if dry {
		word = "Would remove"
	}
	for _, a := range gone {
		fmt.Fprintln(c.out, word, a)
	}
	switch {
	case dry && len(gone) == 0:
		fmt.Fprintln(c.out, "Would have removed nothing.")
		return nil, nil
	case dry:
		return nil, nil
	case len(gone) == 0:
		return nil, diag.List{}.Errorf(nil, "Invalid target address", "Nothing in the state matches. The command \"state list\" shows the addresses of all instances.")
	}
	b := s.Builder()
	b.Fold(edits...)
	fmt.Fprintf(c.out, "Successfully removed %d resource instance(s).\n", len(gone))
	return b.State(), nil
}

// forget gives the edits that remove an instance with all its objects.
func forget(s *state.State, a addr.AbsResourceInstance) []state.Edit {
	edits := []state.Edit{{Drop: &state.DropObject{Addr: addr.Object{Instance: a}}}}
	for _, key := range s.Instance(a).DeposedKeys() {
		edits = append(edits, state.Edit{Drop: &state.DropObject{Addr: addr.Object{Instance: a, Deposed: key}}})
	}
	return edits
}

func cmdTaint() *command   { return markCommand("taint") }
func cmdUntaint() *command { return markCommand("untaint") }

// markCommand is taint or untaint.
func markCommand(name string) *command {
	cmd := &command{
		name: name, short: "Have an instance replaced by the next apply", args: "ADDRESS",
		long: "Mark an instance as not whole: the next apply replaces it. To replace it at once, use\n\"~ apply -replace=ADDRESS\" instead.",
	}
	if name == "untaint" {
		cmd.short = "Take back the mark of taint"
		cmd.long = "Take back that an instance is not whole: the next apply leaves it alone."
	}
	cmd.setup = func(c *call) func(context.Context) outcome {
		e := editing{operation: name}
		var allowMissing bool
		e.flags(c)
		c.flags.BoolVar(&allowMissing, "allow-missing", false, "Succeed even if there is no such instance.")
		return func(ctx context.Context) outcome {
			if len(c.args) != 1 {
				return c.wrongNumber("The " + name + " command expects exactly one argument.")
			}
			a, diags := addr.ParseInstance(c.args[0])
			switch {
			case diags.HasErrors():
				return c.end(diags)
			case a.Resource.Mode != addr.Managed:
				return c.say("Resource instance %s cannot be %sed", a, name)
			}
			return c.edit(ctx, e, func(session state.Session) (*state.State, diag.List) {
				return c.mark(session.Snapshot().State, a, name == "taint", allowMissing)
			})
		}
	}
	return cmd
}

func (c *call) mark(s *state.State, a addr.AbsResourceInstance, taint, allowMissing bool) (*state.State, diag.List) {
	object := addr.Object{Instance: a}
	o := s.Object(object)
	switch {
	case o == nil && allowMissing:
		return nil, diag.List{}.Warnf(nil, "No such resource instance", "The state has no instance %s, which is no error because of -allow-missing.", a)
	case o == nil:
		return nil, diag.List{}.Errorf(nil, "No such resource instance", "The state has no instance %s. What was just written stands in the state after the next apply; \"state list\" shows what is there now.", a)
	case !taint && o.Status != state.Tainted:
		return nil, diag.List{}.Errorf(nil, "Resource instance is not tainted", "The instance %s is not tainted, so there is nothing to take back.", a)
	}
	status, text := state.Ready, "Resource instance %s has been successfully untainted.\n"
	if taint {
		status, text = state.Tainted, "Resource instance %s has been marked as tainted.\n"
	}
	b := s.Builder()
	b.Fold(state.Edit{Put: &state.PutObject{Addr: object, Provider: s.Resource(a.AbsResource()).Provider, Object: o.WithStatus(status)}})
	fmt.Fprintf(c.out, text, a)
	return b.State(), nil
}

func cmdStateReplaceProvider() *command {
	return &command{
		name: "replace-provider", short: "Have resources managed by another provider", args: "FROM TO",
		long: `Write another provider into all resources of the state that have the first one, such as
registry.acme.com/acme/aws instead of hashicorp/aws.`,
		setup: func(c *call) func(context.Context) outcome {
			e := editing{operation: "state-replace-provider", stamped: true}
			var approved bool
			e.flags(c)
			c.flags.BoolVar(&approved, "auto-approve", false, "Do not ask for approval.")
			return func(ctx context.Context) outcome {
				if len(c.args) != 2 {
					return c.wrongNumber("Exactly two arguments expected.")
				}
				var ends [2]addr.Provider
				for i, text := range c.args {
					p, err := addr.ParseProvider(text)
					if err != nil {
						return c.finish("Invalid provider address", fmt.Errorf("%q: %w", text, err))
					}
					ends[i] = p
				}
				return c.edit(ctx, e, func(session state.Session) (*state.State, diag.List) {
					return c.replaceProvider(ctx, session.Snapshot().State, ends[0], ends[1], approved)
				})
			}
		},
	}
}

func (c *call) replaceProvider(ctx context.Context, s *state.State, from, to addr.Provider, approved bool) (*state.State, diag.List) {
	var edits []state.Edit
	var names []string
	for _, r := range s.Resources() {
		if r.Provider.Provider != from {
			continue
		}
		p := r.Provider
		p.Provider = to
		names = append(names, r.Addr.String())
		for _, key := range r.Keys() {
			i := r.Instances[key]
			put := func(deposed addr.DeposedKey, o *state.Object) {
				edits = append(edits, state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: r.Addr.Instance(key), Deposed: deposed}, Provider: p, Object: o}})
			}
			if i.Current != nil {
				put("", i.Current)
			}
			for _, deposed := range i.DeposedKeys() {
				put(deposed, i.Deposed[deposed])
			}
		}
	}
	if len(names) == 0 {
		fmt.Fprintln(c.out, "No matching resources found.")
		return nil, nil
	}
	fmt.Fprintf(c.out, "%s will perform the following actions:\n\n  ~ Updating provider:\n    - %s\n    + %s\n\nChanging %d resources:\n\n", c.title, from, to, len(names))
	for _, name := range names {
		fmt.Fprintln(c.out, "  "+name)
	}
	fmt.Fprintln(c.out)
	if !approved {
		answer, err := c.ask(ctx, "Do you want to make these changes?", "Only 'yes' will be accepted to continue.", false)
		if err != nil || answer != "yes" {
			fmt.Fprintln(c.out, "Cancelled replacing providers.")
			return nil, nil
		}
	}
	b := s.Builder()
	b.Fold(edits...)
	fmt.Fprintf(c.out, "Successfully replaced provider for %d resources.\n", len(names))
	return b.State(), nil
}

func cmdStateMv() *command {
	return &command{
		name: "mv", short: "Give something in the state another address", args: "SOURCE DESTINATION",
		long: `Give an instance, a resource or a module in the state another address, as after renaming it in
the configuration (where a moved block does the same for everyone). With -state-out it moves to
another state file.`,
		setup: func(c *call) func(context.Context) outcome {
			e := editing{operation: "state-mv", stamped: true}
			m := &moving{}
			e.flags(c)
			c.flags.BoolVar(&m.dry, "dry-run", false, "Only say what would be moved.")
			c.flags.StringVar(&m.backupOut, "backup-out", "", "Keep the former state of the file of -state-out in `FILE`.")
			return func(ctx context.Context) outcome {
				if len(c.args) != 2 {
					return c.wrongNumber("Exactly two arguments expected.")
				}
				var diags, more diag.List
				m.from, diags = addr.ParseTarget(c.args[0])
				m.to, more = addr.ParseTarget(c.args[1])
				if diags = diags.Extend(more); diags.HasErrors() {
					return c.end(diags)
				}
				if e.out != "" && e.out != e.in {
					return c.moveOut(ctx, e, m)
				}
				return c.edit(ctx, e, func(session state.Session) (*state.State, diag.List) {
					s := session.Snapshot().State
					steps, diags := m.plan(s, s)
					if diags.HasErrors() || !c.announce(m, len(steps)) {
						return nil, diags
					}
					b := s.Builder()
					for _, step := range steps {
						b.Fold(state.Edit{Move: &step})
					}
					return b.State(), nil
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
}

// announce says what is moved, and tells whether to do it.
func (c *call) announce(m *moving, n int) bool {
	switch {
	case m.dry && n == 0:
		fmt.Fprintln(c.out, "Would have moved nothing.")
		return false
	case m.dry:
		fmt.Fprintf(c.out, "Would move %q to %q\n", m.from, m.to)
		return false
	}
	fmt.Fprintf(c.out, "Move %q to %q\nSuccessfully moved 1 object(s).\n", m.from, m.to)
	return true
}

// plan gives the moves of instances from one state to another, which may be the same, after checking that they make sense.
func (m *moving) plan(from, to *state.State) ([]state.MoveObject, diag.List) {
	var diags diag.List
	found := m.found(from)
	switch {
	case len(found) == 0:
		return nil, diags.Errorf(nil, "Invalid source address", "Cannot move %s: nothing in the state matches it. The command \"state list\" shows the addresses of all instances.", m.from)
	case m.from.IsModule() != m.to.IsModule():
		return nil, diags.Errorf(nil, "Invalid target address", "Cannot move %s to %s: a module can only become a module, and a resource only a resource.", m.from, m.to)
	case m.from.IsModule():
		if len(matching(to, m.to)) > 0 {
			return nil, diags.Errorf(nil, "Invalid target address", "Cannot move to %s: the state has a module there already.", m.to)
		}
		return m.modules(found), nil
	case m.from.Resource.Mode != m.to.Resource.Mode:
		return nil, diags.Errorf(nil, "Invalid state move request", "Cannot move %s to %s: one is a %s resource and the other a %s resource.", m.from, m.to, m.from.Resource.Mode, m.to.Resource.Mode)
	case m.from.Resource.Type != m.to.Resource.Type:
		return nil, diags.Errorf(nil, "Invalid state move request", "Cannot move %s to %s: resource types don't match.", m.from, m.to)
	}
	whole := !m.from.HasKey && !m.to.HasKey && !(len(found) == 1 && found[0].Key.IsNone())
	target := addr.AbsResource{Module: m.to.Module, Resource: m.to.Resource}
	if whole {
		if to.Resource(target) != nil {
			return nil, diags.Errorf(nil, "Invalid target address", "Cannot move to %s: the state has a resource there already.", m.to)
		}
		var steps []state.MoveObject
		for _, a := range found {
			steps = append(steps, state.MoveObject{From: a, To: target.Instance(a.Key)})
		}
		return steps, nil
	}
	if len(found) > 1 || !m.from.HasKey && !found[0].Key.IsNone() {
		return nil, diags.Errorf(nil, "Invalid target address", "Cannot move %s to %s: the source is a whole resource (not an instance), so the target must be one too.", m.from, m.to)
	}
	if to.Instance(target.Instance(m.to.Key)) != nil {
		return nil, diags.Errorf(nil, "Invalid target address", "Cannot move to %s: the state has a resource instance there already.", m.to)
	}
	return []state.MoveObject{{From: found[0], To: target.Instance(m.to.Key)}}, nil
}

// found gives the instances that the source names. Unlike for other commands, module.m does not stand for module.m[0].
func (m *moving) found(s *state.State) (out []addr.AbsResourceInstance) {
	for _, r := range s.Resources() {
		for _, key := range r.Keys() {
			a := r.Addr.Instance(key)
			if m.from.IsModule() && m.from.Module.Contains(a.Module) || !m.from.IsModule() && matches(m.from, a) {
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

// moveOut moves to another state file. The target is written first: between the two writes the objects are in both states, and in none of
// them lost.
func (c *call) moveOut(ctx context.Context, e editing, m *moving) outcome {
	source := e
	source.out = ""
	target := editing{locking: e.locking, operation: e.operation, stamped: true, stateFiles: stateFiles{in: e.out, out: e.out, backup: m.backupOut}}
	return c.edit(ctx, source, func(session state.Session) (*state.State, diag.List) {
		s := session.Snapshot().State
		other, diags := c.lock(ctx, target)
		if diags.HasErrors() {
			return nil, diags
		}
		next, diags := c.moveBetween(ctx, s, other, m)
		return next, diags.AppendError("Error releasing the state lock", other.Unlock())
	})
}

func (c *call) moveBetween(ctx context.Context, s *state.State, other state.Session, m *moving) (*state.State, diag.List) {
	there := other.Snapshot().State
	steps, diags := m.plan(s, there)
	if diags.HasErrors() || !c.announce(m, len(steps)) {
		return nil, diags
	}
	to, from := there.Builder(), s.Builder()
	for _, step := range steps {
		i, p := s.Instance(step.From), s.Resource(step.From.AbsResource()).Provider
		if i.Current != nil {
			to.Fold(state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: step.To}, Provider: p, Object: i.Current}})
		}
		for _, key := range i.DeposedKeys() {
			to.Fold(state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: step.To, Deposed: key}, Provider: p, Object: i.Deposed[key]}})
		}
		from.Fold(forget(s, step.From)...)
	}
	if err := other.Write(ctx, to.State()); err != nil {
		return nil, diags.AppendError("Error saving the target state", err)
	}
	return from.State(), diags
}
