package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

func cmdState() *command {
	return &command{
		name: "state", short: "Look at the state and change it by hand",
		long: `These commands look at the state of the selected workspace, and change it without
touching any real object. Their output suits grep and the like.`,
		members: []*command{cmdStateList(), cmdStateMv(), cmdStatePull(), cmdStatePush(), cmdStateReplaceProvider(), cmdStateRm(), cmdStateShow()},
	}
}

func cmdStateList() *command {
	return &command{
		name: "list", short: "List the instances in the state", args: "[ADDRESS...]",
		long: `List the addresses of all instances in the state, or of those at the given addresses: modules, resources or instances.`,
		setup: func(c *call) func(context.Context) outcome {
			var files stateFiles
			var id string
			files.read(c)
			c.flags.StringVar(&id, "id", "", "List only objects whose attribute id is `ID`.")
			return func(ctx context.Context) outcome { return c.stateList(ctx, files, id) }
		},
	}
}

func (c *call) stateList(ctx context.Context, files stateFiles, id string) outcome {
	snapshot, diags := c.snapshot(ctx, files)
	if diags.HasErrors() {
		return c.end(diags)
	}
	s := snapshot.State
	if s == nil {
		return c.noState()
	}
	targets, diags := parseTargets(s, c.args)
	if diags.HasErrors() {
		return c.end(diags)
	}
	for _, r := range s.Resources() {
		for _, key := range r.Keys() {
			a := r.Addr.Instance(key)
			if within(targets, a) && (id == "" || hasID(r.Instances[key], id)) {
				fmt.Fprintln(c.out, a)
			}
		}
	}
	return done
}

// noState says that there is no state at all.
func (c *call) noState() outcome {
	fmt.Fprintf(c.err, "No state file was found!\n\nThis command works on a state. Run it in a directory where %s has run, or name the file with -state.\n", c.title)
	return failed
}

// parseTargets reads addresses, each of which must match something in the state.
func parseTargets(s *state.State, texts []string) (targets []addr.Target, diags diag.List) {
	for _, text := range texts {
		t, more := addr.ParseTarget(text)
		if diags = diags.Extend(more); more.HasErrors() {
			continue
		}
		if len(matching(s, t)) == 0 {
			diags = diags.Extend(notInState(t))
			continue
		}
		targets = append(targets, t)
	}
	return targets, diags
}

func notInState(t addr.Target) diag.List {
	const advice = "What was just written stands in the state after the next apply; \"state list\" shows what is there now."
	switch {
	case t.IsModule():
		return diag.List{}.Errorf(nil, "Unknown module", "The state contains no module at %s. %s", t, advice)
	case t.HasKey:
		return diag.List{}.Errorf(nil, "Unknown resource instance", "The state contains no resource instance %s. %s", t, advice)
	}
	return diag.List{}.Errorf(nil, "Unknown resource", "The state contains no resource %s. %s", t, advice)
}

// matching gives the instances of a state at an address.
func matching(s *state.State, t addr.Target) (out []addr.AbsResourceInstance) {
	for _, r := range s.Resources() {
		for _, key := range r.Keys() {
			if a := r.Addr.Instance(key); matches(t, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// matches tells whether an address is that of an instance or of something around it. A module without a key stands for all its
// instances.
func matches(t addr.Target, a addr.AbsResourceInstance) bool {
	switch {
	case t.IsModule():
		want, have := t.Module.Steps(), a.Module.Steps()
		for i, step := range want {
			if i >= len(have) || step.Call != have[i].Call || !step.Key.IsNone() && step.Key != have[i].Key {
				return false
			}
		}
		return true
	case t.Module != a.Module || t.Resource != a.Resource:
		return false
	}
	return !t.HasKey || t.Key == a.Key
}

func within(targets []addr.Target, a addr.AbsResourceInstance) bool {
	for _, t := range targets {
		if matches(t, a) {
			return true
		}
	}
	return len(targets) == 0
}

// hasID tells whether an object's attribute id is the given one. No schema is needed for that.
func hasID(i *state.Instance, id string) bool {
	if i.Current == nil {
		return false
	}
	if i.Current.Attributes == nil {
		return i.Current.Flat["id"] == id
	}
	var found struct {
		ID any `json:"id"`
	}
	if json.Unmarshal(i.Current.Attributes, &found) != nil {
		return false
	}
	text, ok := found.ID.(string)
	return ok && text == id
}

func cmdStateShow() *command {
	return &command{
		name: "show", short: "Show one instance of the state", args: "ADDRESS",
		long: `Show the attributes of one instance. "~ state list" lists the addresses.`,
		setup: func(c *call) func(context.Context) outcome {
			var files stateFiles
			files.read(c)
			return func(ctx context.Context) outcome { return c.stateShow(ctx, files) }
		},
	}
}

func (c *call) stateShow(ctx context.Context, files stateFiles) outcome {
	if len(c.args) != 1 {
		return c.wrongNumber("Exactly one argument expected.")
	}
	a, diags := addr.ParseInstance(c.args[0])
	if diags.HasErrors() {
		return c.say("Error parsing instance address: %s\n\n%s See \"%s state list\" for the addresses of all instances.", c.args[0], diags[0].Detail, c.program)
	}
	project, diags := c.project(ctx, projectOptions{files: files})
	if diags = errorsOnly(diags); len(diags) > 0 {
		return c.end(diags)
	}
	defer project.Close()
	snapshot, diags := c.snapshotOf(ctx, project.Store())
	if len(diags) > 0 {
		return c.end(diags)
	}
	s := snapshot.State
	if s == nil {
		return c.noState()
	}
	if i := s.Instance(a); i == nil || i.Current == nil {
		return c.say("No instance found for the given address!\n\nThe state holds nothing at %s. See \"%s state list\" for the addresses of all instances.", a, c.program)
	}
	return c.finish("Failed to show the instance", view.Object(c.viewOptions(), s, a, schemas(project, s)))
}

// say reports a problem in one paragraph, as the commands that look at the state do.
func (c *call) say(format string, args ...any) outcome {
	fmt.Fprintf(c.err, format+"\n", args...)
	return failed
}

// wrongNumber reports a wrong number of arguments, with the help of the command.
func (c *call) wrongNumber(text string) outcome {
	fmt.Fprintln(c.err, text)
	c.help()
	return misused
}

func cmdStatePull() *command {
	return &command{
		name: "pull", short: "Print the state",
		long: `Print the state as it is stored, in the newest version of the format.`,
		setup: func(c *call) func(context.Context) outcome {
			return func(ctx context.Context) outcome {
				if len(c.args) > 0 {
					return c.wrongNumber("No arguments expected.")
				}
				snapshot, diags := c.snapshot(ctx, stateFiles{})
				if diags.HasErrors() {
					return c.end(diags)
				}
				if snapshot.State == nil {
					return done
				}
				return c.finish("Failed to print the state", snapshot.State.Encode(c.out))
			}
		},
	}
}
func cmdStatePush() *command {
	return &command{
		name: "push", short: "Replace the state by that of a file", args: "FILE",
		long: `Replace the state by that of a file, or of the standard input if the file is "-". A state of
another lineage or with a lower serial is refused, unless forced.`,
		setup: func(c *call) func(context.Context) outcome {
			var force bool
			l := &locking{}
			l.flags(c)
			c.flags.BoolVar(&force, "force", false, "Write the state even if lineage or serial speak against it.")
			return func(ctx context.Context) outcome {
				if len(c.args) != 1 {
					return c.wrongNumber("Exactly one argument expected.")
				}
				return c.statePush(ctx, l, c.args[0], force)
			}
		},
	}
}

func (c *call) statePush(ctx context.Context, l *locking, name string, force bool) outcome {
	var in io.Reader = c.in.reader
	if name != "-" {
		f, _, err := openFile(name)
		if err != nil {
			return c.say("%s", err)
		}
		defer f.Close()
		in = f
	}
	s, err := state.Read(in)
	var damaged *state.DecodeError
	switch {
	case errors.As(err, &damaged) && damaged.Damage == state.Empty:
		return c.say("Error reading source state %q: it is empty (zero bytes), and was not pushed.", name)
	case err != nil:
		return c.say("Error reading source state %q: %s", name, err)
	}
	return c.edit(ctx, editing{locking: *l, operation: "state-push"}, func(session state.Session) (*state.State, diag.List) {
		write := session.Write
		if force {
			write = session.Replace
		}
		return nil, diag.FromError("Failed to write state", write(ctx, s))
	})
}
