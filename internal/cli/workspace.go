package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/state"
)

func cmdWorkspace() *command {
	return &command{
		name: "workspace", short: "Switch between several states of one configuration",
		long:    "Each workspace has a state of its own.",
		members: []*command{cmdWorkspaceDelete(), cmdWorkspaceList(), cmdWorkspaceNew(), cmdWorkspaceSelect(), cmdWorkspaceShow()},
	}
}

func cmdWorkspaceShow() *command {
	return &command{
		name: "show", short: "Print the name of the selected workspace", long: "Print the name of the selected workspace.",
		setup: func(c *call) func(context.Context) outcome {
			return func(context.Context) outcome {
				name, _, err := c.workspace()
				if err != nil {
					return c.finish("Cannot tell which workspace is selected", err)
				}
				fmt.Fprintln(c.out, name)
				return done
			}
		},
	}
}

func cmdWorkspaceList() *command {
	return &command{
		name: "list", short: "List the workspaces", long: "List the workspaces. A star marks the selected one.",
		setup: func(c *call) func(context.Context) outcome {
			return func(ctx context.Context) outcome {
				if len(c.args) > 0 {
					return c.tooMany()
				}
				return c.workspaceList(ctx)
			}
		},
	}
}

func (c *call) workspaceList(ctx context.Context) outcome {
	w, diags := c.workspaces(ctx)
	if diags.HasErrors() {
		return c.end(diags)
	}
	for _, name := range w.names {
		mark := "  "
		if name == w.current {
			mark = "* "
		}
		fmt.Fprintln(c.out, mark+name)
	}
	fmt.Fprintln(c.out)
	if w.overridden {
		fmt.Fprint(c.out, "\n\nThe active workspace is being overridden using the TF_WORKSPACE environment\nvariable.\n\n")
	}
	return done
}

// workspaces is what the commands of the family start from.
type workspaces struct {
	store      state.Store
	names      []string
	current    string
	overridden bool
}

func (c *call) workspaces(ctx context.Context) (w workspaces, diags diag.List) {
	if w.store, diags = c.open(ctx, stateFiles{}); diags.HasErrors() {
		return w, diags
	}
	var err error
	if w.current, w.overridden, err = c.workspace(); err != nil {
		return w, diag.FromError("Cannot tell which workspace is selected", err)
	}
	if w.names, err = w.store.Workspaces(ctx); err != nil {
		return w, diag.FromError("Failed to list the workspaces", err)
	}
	// A folder whose name no workspace can have is none.
	w.names = slices.DeleteFunc(w.names, func(name string) bool {
		_, err := w.store.Workspace(name)
		return err != nil
	})
	return w, nil
}

// choose remembers the selected workspace.
func (c *call) choose(name string) error {
	if err := makeDir(c.dataDir()); err != nil {
		return err
	}
	return replaceFile(filepath.Join(c.dataDir(), "environment"), 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, name)
		return err
	})
}

const overriddenText = `
The selected workspace is currently overridden using the TF_WORKSPACE
environment variable. Unset it, or give it the name of the workspace that you
want, and run the command again.
`

func cmdWorkspaceNew() *command {
	return &command{
		name: "new", short: "Create a workspace and select it", args: "NAME",
		long: `Create a workspace with an empty state, or a copy of another one, and select it.`,
		setup: func(c *call) func(context.Context) outcome {
			l := &locking{}
			l.flags(c)
			var from string
			c.flags.StringVar(&from, "state", "", "Copy the state in `FILE` into the new workspace.")
			return func(ctx context.Context) outcome {
				if len(c.args) != 1 {
					return c.wrongNumber("Expected a single argument: NAME.")
				}
				w, diags := c.workspaces(ctx)
				switch {
				case diags.HasErrors():
					return c.end(diags)
				case w.overridden:
					return c.say(overriddenText)
				case slices.Contains(w.names, c.args[0]):
					return c.say("Workspace %q already exists", c.args[0])
				}
				return c.createWorkspace(ctx, w, c.args[0], l, from)
			}
		},
	}
}

func (c *call) createWorkspace(ctx context.Context, w workspaces, name string, l *locking, from string) outcome {
	ws, err := w.store.Workspace(name)
	if err != nil {
		return c.say("\nThe workspace name %q is not allowed. The name must contain only URL safe\ncharacters, and no path separators.\n", name)
	}
	var copied *state.State
	if from != "" {
		f, _, err := openFile(from)
		if err != nil {
			return c.say("%s", err)
		}
		defer f.Close()
		if copied, err = state.Read(f); err != nil {
			return c.finish("Cannot read the state to copy", fmt.Errorf("%s: %w", from, err))
		}
	}
	session, diags := c.lockWorkspace(ctx, ws, editing{locking: *l, operation: "workspace-new"})
	if diags.HasErrors() {
		return c.end(diags)
	}
	if copied != nil {
		err = session.Replace(ctx, copied)
	}
	if err = errors.Join(err, session.Unlock()); err == nil {
		err = c.choose(name)
	}
	if err != nil {
		return c.finish("Failed to create the workspace", err)
	}
	fmt.Fprintf(c.out, "%s\n\nYou're now on a new, empty workspace. Workspaces isolate their state,\nso if you run \"%s plan\" %s will not see any existing state\nfor this configuration.\n",
		c.green(fmt.Sprintf("Created and switched to workspace %q!", name)), c.program, c.title)
	return done
}

func cmdWorkspaceSelect() *command {
	return &command{
		name: "select", short: "Select a workspace", args: "NAME",
		long: `Select the workspace that all commands in this directory work on from now on.`,
		setup: func(c *call) func(context.Context) outcome {
			var create bool
			c.flags.BoolVar(&create, "or-create", false, "Create the workspace if there is none of that name.")
			return func(ctx context.Context) outcome {
				if len(c.args) != 1 {
					return c.wrongNumber("Expected a single argument: NAME.")
				}
				return c.selectWorkspace(ctx, c.args[0], create)
			}
		},
	}
}

func (c *call) selectWorkspace(ctx context.Context, name string, create bool) outcome {
	w, diags := c.workspaces(ctx)
	switch {
	case diags.HasErrors():
		return c.end(diags)
	case w.overridden:
		return c.say(overriddenText)
	}
	if _, err := w.store.Workspace(name); err != nil {
		return c.say("\nThe workspace name %q is not allowed. The name must contain only URL safe\ncharacters, and no path separators.\n", name)
	}
	switch {
	case name == w.current:
		return done
	case slices.Contains(w.names, name):
		if err := c.choose(name); err != nil {
			return c.finish("Failed to select the workspace", err)
		}
		fmt.Fprintln(c.out, c.green(fmt.Sprintf("Switched to workspace %q.", name)))
		return done
	case create:
		return c.createWorkspace(ctx, w, name, &locking{lock: true}, "")
	}
	return c.noWorkspace(name)
}

func (c *call) noWorkspace(name string) outcome {
	return c.say("\nWorkspace %q doesn't exist.\n\nYou can create this workspace with the \"new\" subcommand \nor include the \"-or-create\" flag with the \"select\" subcommand.", name)
}

func cmdWorkspaceDelete() *command {
	return &command{
		name: "delete", short: "Delete a workspace with its state", args: "NAME",
		long: `Delete a workspace with its state. Objects that the state knows are not destroyed; while there
are any, -force is needed.`,
		setup: func(c *call) func(context.Context) outcome {
			l := &locking{}
			l.flags(c)
			var force bool
			c.flags.BoolVar(&force, "force", false, "Delete the workspace even if its state knows objects, which nobody manages from then on.")
			return func(ctx context.Context) outcome {
				if len(c.args) != 1 {
					return c.wrongNumber("Expected a single argument: NAME.")
				}
				return c.deleteWorkspace(ctx, c.args[0], l, force)
			}
		},
	}
}

func (c *call) deleteWorkspace(ctx context.Context, name string, l *locking, force bool) outcome {
	w, diags := c.workspaces(ctx)
	switch {
	case diags.HasErrors():
		return c.end(diags)
	case !slices.Contains(w.names, name):
		return c.noWorkspace(name)
	case name == state.DefaultWorkspace && name != w.current:
		return c.say("The default workspace cannot be deleted: it always exists.")
	case name == w.current:
		return c.say("Workspace %q is your active workspace.\n\nYou cannot delete the currently active workspace. Please switch\nto another workspace and try again.", name)
	}
	ws, err := w.store.Workspace(name)
	if err != nil {
		return c.finish("Failed to delete the workspace", err)
	}
	// Waiting for the lock is done here: deleting takes it without waiting.
	session, diags := c.lockWorkspace(ctx, ws, editing{locking: *l, operation: "workspace-delete"})
	if diags.HasErrors() {
		return c.end(diags)
	}
	s := session.Snapshot().State
	if err := session.Unlock(); err != nil {
		return c.finish("Error releasing the state lock", err)
	}
	left := managed(s)
	if len(left) > 0 && !force {
		return c.end(diags.Errorf(nil, "Workspace is not empty", "The workspace %q knows these objects:\n  - %s\n\nDeleting it would leave them to nobody. Destroy them first, or use -force to delete the workspace all the same.", name, strings.Join(left, "\n  - ")))
	}
	if err := w.store.DeleteWorkspace(ctx, name); err != nil {
		return c.finish("Failed to delete the workspace", err)
	}
	fmt.Fprintln(c.out, c.green(fmt.Sprintf("Deleted workspace %q!", name)))
	if len(left) > 0 {
		fmt.Fprintf(c.out, "WARNING: %q was non-empty.\nThe resources managed by the deleted workspace may still exist,\nbut are no longer manageable by %s since the state has\nbeen deleted.\n\n", name, c.title)
	}
	return done
}

// managed lists the objects of a state that are not mere data.
func managed(s *state.State) (list []string) {
	if s == nil {
		return nil
	}
	for _, r := range s.Resources() {
		if r.Addr.Resource.Mode != addr.Managed {
			continue
		}
		for _, key := range r.Keys() {
			list = append(list, r.Addr.Instance(key).String())
		}
	}
	return list
}

func cmdForceUnlock() *command {
	return &command{
		name: "force-unlock", short: "Remove the lock that a dead run left behind", args: "LOCK_ID",
		long: `Remove the lock of the selected workspace's state, given its id, which stands in the message
of the command that met it. Nothing else is changed. The lock of a local state that a living process
holds cannot be removed.`,
		setup: func(c *call) func(context.Context) outcome {
			var force bool
			c.flags.BoolVar(&force, "force", false, "Do not ask for approval.")
			return func(ctx context.Context) outcome {
				if len(c.args) != 1 {
					return c.wrongNumber("Expected a single argument: LOCK_ID")
				}
				return c.forceUnlock(ctx, c.args[0], force)
			}
		},
	}
}

func (c *call) forceUnlock(ctx context.Context, id string, force bool) outcome {
	st, diags := c.open(ctx, stateFiles{})
	if diags.HasErrors() {
		return c.end(diags)
	}
	ws, diags := c.selected(st)
	if diags.HasErrors() {
		return c.end(diags)
	}
	if !force {
		answer, err := c.ask(ctx, "Do you really want to force-unlock?", c.title+" will remove the lock of the state. Others who are just working on it would then be\nworking on it at the same time. Only 'yes' will be accepted to confirm.", false)
		switch {
		case err != nil:
			return c.say("Error asking for confirmation: %s", err)
		case answer != "yes":
			fmt.Fprintln(c.out, "force-unlock cancelled.")
			return failed
		}
	}
	if err := ws.ForceUnlock(ctx, id); err != nil {
		return c.say("Failed to unlock state: %s", err)
	}
	fmt.Fprintf(c.out, "%s\n\nThe state has been unlocked, and commands should now be able to take the lock\nof it again.\n", c.green(c.title+" state has been successfully unlocked!"))
	return done
}
