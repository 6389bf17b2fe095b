package states

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

// Workspace is the command workspace.
func Workspace() *command.Command {
	return &command.Command{
		Name: "workspace", Short: "Manage workspaces",
		Long: "Each workspace has its own state.",
		Members: []*command.Command{cmdWorkspaceDelete(), cmdWorkspaceList(), cmdWorkspaceNew(), cmdWorkspaceSelect(),
			cmdWorkspaceShow()},
	}
}

func cmdWorkspaceShow() *command.Command {
	return &command.Command{
		Name: "show", Short: "Print the name of the selected workspace",
		Long: "Print the name of the selected workspace.",
		Setup: func(c *command.Call) command.Run {
			return func(context.Context) command.Outcome {
				name, overridden, err := c.Workspace()
				if err != nil {
					return c.Finish("Cannot tell which workspace is selected", err)
				}
				if overridden {
					if _, diags := c.Selected(store.New(store.Options{})); diags.HasErrors() {
						return c.End(diags)
					}
				}
				fmt.Fprintln(c.Out, view.CleanLine(name))
				return command.Done
			}
		},
	}
}

func cmdWorkspaceList() *command.Command {
	return &command.Command{
		Name: "list", Short: "List the workspaces", Long: "List the workspaces. An asterisk marks the selected one.",
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			c.DocumentFlags()
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.TooMany(0)
				}
				return workspaceList(ctx, c)
			}
		},
	}
}

func workspaceList(ctx context.Context, c *command.Call) command.Outcome {
	w, diags := openWorkspaces(ctx, c)
	if c.Flavor() == flavor.OpenTofu {
		c.InLines()
		return workspaceLines(c, w, diags)
	}
	if to := c.Documents(); to != nil {
		if err := workspaceDocument(c, to, w, diags); err != nil {
			return c.Finish("Failed to list the workspaces", err)
		}
	}
	switch {
	case c.Document && !diags.HasErrors():
		return command.Done
	case c.Document:
		return command.Failed
	case diags.HasErrors():
		return c.End(diags)
	}
	c.Tell("%s", w.text())
	return command.Done
}

// workspaceLines prints workspaceList as JSON lines, as OpenTofu does, instead of a document.
func workspaceLines(c *command.Call, w workspaces, diags diag.List) command.Outcome {
	if diags.HasErrors() {
		return c.End(diags)
	}
	c.View().Tell(view.Notice{Text: w.text(), Message: "list of workspaces", Kind: "workspace_list", Members: []any{
		"workspaces", w.names, "current_workspace", w.current}})
	return command.Done
}

// text returns the list for people.
func (w workspaces) text() string {
	var b strings.Builder
	for _, name := range w.names {
		mark := "  "
		if name == w.current {
			mark = "* "
		}
		b.WriteString(mark + view.CleanLine(name) + "\n")
	}
	b.WriteByte('\n')
	if w.overridden {
		b.WriteString(listOverridden + "\n")
	}
	return b.String()
}

const listOverridden = "\n\nThe active workspace is being overridden using the TF_WORKSPACE environment\nvariable.\n"

// workspaceDocument lists the workspaces for programs. Problems are in the document, too.
func workspaceDocument(c *command.Call, to io.Writer, w workspaces, diags diag.List) error {
	if w.overridden && !diags.HasErrors() {
		diags = diags.Warnf(nil, listOverridden, "")
	}
	c.ReadSources(diags)
	return tfjson.Workspaces(to, w.names, w.current, c.Named(diags), c.Sources())
}

// workspaces is the common base of the commands of the family.
type workspaces struct {
	store      state.Store
	names      []string
	current    string
	overridden bool
}

func openWorkspaces(ctx context.Context, c *command.Call) (w workspaces, diags diag.List) {
	if w.store, diags = c.Open(ctx, command.StateFiles{}); diags.HasErrors() {
		return w, diags
	}
	var err error
	if w.current, w.overridden, err = c.Workspace(); err != nil {
		return w, diag.FromError("Cannot tell which workspace is selected", err)
	}
	if w.names, err = w.store.Workspaces(ctx); err != nil {
		return w, diag.FromError("Failed to list the workspaces", err)
	}
	// A folder whose name is not a valid workspace name is not a workspace.
	w.names = slices.DeleteFunc(w.names, func(name string) bool {
		_, err := w.store.Workspace(name)
		return err != nil
	})
	return w, nil
}

const overriddenText = `
The selected workspace is currently overridden using the TF_WORKSPACE
environment variable. Unset it, or give it the name of the workspace that you
want, and run the command again.
`

func cmdWorkspaceNew() *command.Command {
	return &command.Command{
		Name: "new", Short: "Create a workspace and select it", Args: "NAME",
		Long:    "Create a workspace with an empty state, or with a copy of another state, and select it.",
		Example: `~ workspace new staging`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			c.LineFlags()
			l := &command.Locking{}
			l.LockFlags(c)
			var from string
			c.Flags.StringVar(&from, "state", "", "Copy the state in `FILE` into the new workspace.")
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.WrongNumber("Expected a single argument: NAME.")
				}
				w, diags := openWorkspaces(ctx, c)
				switch {
				case diags.HasErrors():
					return c.End(diags)
				case w.overridden:
					return c.Say(overriddenText)
				case slices.Contains(w.names, c.Args[0]):
					return c.Say("Workspace %q already exists", c.Args[0])
				}
				return createWorkspace(ctx, c, w, c.Args[0], l, from)
			}
		},
	}
}

// notAllowed reports that a workspace cannot have a name.
func notAllowed(c *command.Call, name string, err error) command.Outcome {
	if errors.Is(err, state.ErrNoWorkspaces) {
		return c.Say("%s", err)
	}
	return c.Say("\nThe workspace name %q is not allowed. The name must contain only URL safe\ncharacters, and "+
		"no path separators.\n", name)
}

func createWorkspace(ctx context.Context, c *command.Call, w workspaces, name string, l *command.Locking,
	from string) command.Outcome {
	ws, err := w.store.Workspace(name)
	if err != nil {
		return notAllowed(c, name, err)
	}
	var copied *state.State
	if from != "" {
		f, _, err := command.OpenFile(from)
		if err != nil {
			return c.Say("%s", err)
		}
		defer f.Close()
		if copied, err = c.ReadState(ctx, f); err != nil {
			return c.End(diag.List{}.Errorf(nil, "Cannot read the state to copy",
				"The file %q holds no state: %s. No workspace was created.", from, command.StateProblem(err)))
		}
	}
	session, diags := lockWorkspace(ctx, c, ws, editing{Locking: *l, operation: state.OperationNewWorkspace})
	if diags.HasErrors() {
		return c.End(diags)
	}
	if made, ok := session.(state.Creator); copied != nil {
		err = session.Replace(ctx, copied)
	} else if ok {
		err = made.Create()
	}
	if err = errors.Join(err, session.Unlock()); err == nil {
		err = c.SelectWorkspace(name)
	}
	if err != nil {
		return c.Finish("Failed to create the workspace", err)
	}
	c.Tell("%s\n\nThe new workspace is empty. Each workspace has a state of its own: \"%s plan\" does "+
		"not\nsee what %s manages in the others.\n",
		c.Green(fmt.Sprintf("Created and switched to workspace %q!", name)), c.Program, c.Title)
	return command.Done
}

func cmdWorkspaceSelect() *command.Command {
	return &command.Command{
		Name: "select", Short: "Select a workspace", Args: "WORKSPACE",
		Long:    "Select the workspace that all commands in this directory use from now on.",
		Example: `~ workspace select -or-create staging`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			c.LineFlags()
			var create bool
			c.Flags.BoolVar(&create, "or-create", false, "Create the workspace if it does not exist.")
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.WrongNumber("Expected a single argument: NAME.")
				}
				return selectWorkspace(ctx, c, c.Args[0], create)
			}
		},
	}
}

func selectWorkspace(ctx context.Context, c *command.Call, name string, create bool) command.Outcome {
	w, diags := openWorkspaces(ctx, c)
	switch {
	case diags.HasErrors():
		return c.End(diags)
	case w.overridden:
		return c.Say(overriddenText)
	}
	if _, err := w.store.Workspace(name); err != nil {
		return notAllowed(c, name, err)
	}
	switch {
	case name == w.current:
		return command.Done
	case slices.Contains(w.names, name):
		if err := c.SelectWorkspace(name); err != nil {
			return c.Finish("Failed to select the workspace", err)
		}
		c.Tell("%s\n", c.Green(fmt.Sprintf("Switched to workspace %q.", name)))
		return command.Done
	case create:
		return createWorkspace(ctx, c, w, name, &command.Locking{Lock: true}, "")
	}
	return noWorkspace(c, name)
}

func noWorkspace(c *command.Call, name string) command.Outcome {
	return c.Say("\nWorkspace %q doesn't exist.\n\nYou can create this workspace with the \"new\" subcommand \nor "+
		"include the \"-or-create\" flag with the \"select\" subcommand.", name)
}

func cmdWorkspaceDelete() *command.Command {
	return &command.Command{
		Name: "delete", Short: "Delete a workspace and its state", Args: "WORKSPACE",
		Long: `Delete a workspace and its state. If the state still has objects, -force is required. The objects are
not destroyed.`,
		Example: `~ workspace delete staging`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			c.LineFlags()
			l := &command.Locking{}
			l.LockFlags(c)
			var force bool
			c.Flags.BoolVar(&force, "force", false,
				"Delete the workspace even if its state still has objects. The objects become unmanaged.")
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.WrongNumber("Expected a single argument: NAME.")
				}
				return deleteWorkspace(ctx, c, c.Args[0], l, force)
			}
		},
	}
}

func deleteWorkspace(ctx context.Context, c *command.Call, name string, l *command.Locking,
	force bool) command.Outcome {
	w, diags := openWorkspaces(ctx, c)
	switch {
	case diags.HasErrors():
		return c.End(diags)
	case !slices.Contains(w.names, name):
		return noWorkspace(c, name)
	case name == state.DefaultWorkspace && name != w.current:
		return c.Say("The default workspace cannot be deleted: it always exists.")
	case name == w.current:
		return c.Say("Workspace %q is your active workspace.\n\nThe active workspace cannot be deleted. Select "+
			"another one first.", name)
	}
	ws, err := w.store.Workspace(name)
	if err != nil {
		return c.Finish("Failed to delete the workspace", err)
	}
	// The lock is held until the end, so the state that is checked is the one that is deleted.
	session, diags := lockWorkspace(ctx, c, ws, editing{Locking: *l, operation: state.OperationDeleteWorkspace})
	if diags.HasErrors() {
		return c.End(diags)
	}
	left := managed(session.Snapshot().State)
	if len(left) > 0 && !force {
		diags = diags.AppendError("Error releasing the state lock", session.Unlock())
		return c.End(diags.Errorf(nil, "Workspace is not empty", "The workspace %q has these objects:\n  - %s\n\n"+
			"Destroy them first, or use -force to delete the workspace and leave them unmanaged.", name,
			strings.Join(left, "\n  - ")))
	}
	if err := deleteLocked(ctx, w.store, name, session); err != nil {
		return c.Finish("Failed to delete the workspace", err)
	}
	c.Tell("%s\n", c.Green(fmt.Sprintf("Deleted workspace %q!", name)))
	if len(left) > 0 {
		c.Tell("WARNING: %q was non-empty.\nIts objects may still exist, but %s no longer manages them.\n\n", name,
			c.Title)
	}
	return command.Done
}

// deleteLocked deletes a workspace whose lock is held, and releases the lock.
func deleteLocked(ctx context.Context, st state.Store, name string, session state.Session) error {
	if d, ok := session.(state.Deleter); ok {
		return d.Delete()
	}
	if err := session.Unlock(); err != nil {
		return err
	}
	return st.DeleteWorkspace(ctx, name)
}

// managed returns the managed objects of a state.
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
