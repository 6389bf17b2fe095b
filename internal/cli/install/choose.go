package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

// choose selects a workspace if there is no default one: the only one, or the user's choice.
func (s *backendSetup) choose(ctx context.Context, c *command.Call, root *config.Module) diag.List {
	st, diags := c.StoreOf(ctx, root, command.StateFiles{})
	if diags.HasErrors() {
		return diags
	}
	only, named := remote.NoDefault(st)
	current, overridden, err := c.Workspace()
	switch {
	case err != nil:
		return diag.FromError("Cannot tell which workspace is selected", err)
	case !named || overridden: // the variable is an explicit choice
		return nil
	case only != "" && current == only:
		return nil
	case only != "":
		return diag.FromError("Failed to select the workspace", c.SelectWorkspace(only))
	}
	names, err := st.Workspaces(ctx)
	if err != nil {
		return diag.FromError("Failed to list the workspaces", err)
	}
	if slices.Contains(names, current) {
		return nil
	}
	name, diags := s.pick(ctx, c, st, names, current)
	if diags.HasErrors() {
		return diags
	}
	return diag.FromError("Failed to select the workspace", c.SelectWorkspace(name))
}

// pick returns the workspace to select. The summaries are those of Terraform.
func (s *backendSetup) pick(ctx context.Context, c *command.Call, st state.Store, names []string,
	current string) (string, diag.List) {
	asks := s.input && c.InputAllowed() && !c.JSON
	switch {
	case len(names) == 1:
		return names[0], nil
	case len(names) == 0 && asks:
		return s.first(ctx, c, st)
	case len(names) == 0:
		return "", diag.List{}.Errorf(nil, "No existing workspaces.", "The backend has no default workspace and no "+
			"other workspace yet. Create one with \"%s workspace new NAME\". Everything else is set up.", c.Program)
	case !asks:
		return "", diag.List{}.Errorf(nil, fmt.Sprintf("Currently selected workspace %q does not exist", current),
			"Select one of the existing workspaces with \"%s workspace select NAME\". Everything else is set up. The "+
				"workspaces are %s.", c.Program, view.CleanLine(few(names)))
	}
	var b strings.Builder
	fmt.Fprint(&b, "Enter the number of a workspace to select it:\n\n")
	for n, name := range names {
		fmt.Fprintf(&b, "%d. %s\n", n+1, name)
	}
	answer, err := c.Ask(ctx, fmt.Sprintf("The currently selected workspace (%s) does not exist.", current), b.String(),
		false)
	n, wrong := strconv.Atoi(strings.TrimSpace(answer))
	if err == nil && (wrong != nil || n < 1 || n > len(names)) {
		err = fmt.Errorf("%q is not the number of a workspace", answer)
	}
	if err != nil {
		return "", diag.List{}.Errorf(nil, "Failed to select workspace", "%s. Select one with \"%s workspace select "+
			"NAME\". Everything else is set up.", err, c.Program)
	}
	return names[n-1], nil
}

// few returns a text with at most a few names of workspaces.
func few(names []string) string {
	const most = 10
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d others", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// first prompts for the name of a first workspace, and creates it.
func (s *backendSetup) first(ctx context.Context, c *command.Call, st state.Store) (string, diag.List) {
	name, err := c.Ask(ctx, "No workspaces found.", "There are no workspaces of this configuration yet, and at least "+
		"one is needed.\nEnter a name to create one.", false)
	if err != nil {
		return "", diag.List{}.Errorf(nil, "No existing workspaces.", "%s. Create one with \"%s workspace new "+
			"NAME\". Everything else is set up.", err, c.Program)
	}
	ws, err := st.Workspace(strings.TrimSpace(name))
	if err != nil {
		return "", diag.FromError("Invalid workspace name", err)
	}
	return ws.Name(), s.create(ctx, ws)
}

// create creates a workspace with an empty state.
func (s *backendSetup) create(ctx context.Context, ws state.Workspace) diag.List {
	session, err := state.Acquire(ctx, ws, state.LockRequest{Unlocked: !s.Lock, Info: state.LockInfo{
		Operation: state.OperationInit}}, s.Timeout, func(*state.LockedError) {})
	if err != nil {
		return engine.LockProblem(err)
	}
	if made, ok := session.(state.Creator); ok {
		err = made.Create()
	}
	return diag.FromError("Failed to create the workspace", errors.Join(err, session.Unlock()))
}

// renamed prompts for the new name of the default workspace's state, if the location has no default workspace.
func (s *backendSetup) renamed(ctx context.Context, c *command.Call, others []string) (string, diag.List) {
	advise := func(l diag.List) diag.List {
		return l.Advise("Nothing was changed. To create a workspace and bring the state there, run:\n  %s\n  %s\n  %s",
			diag.Run("init", "-reconfigure"), diag.Run("workspace", "new", "NAME"), diag.Run("state", "push", "FILE"))
	}
	if !s.input || !c.InputAllowed() || c.JSON {
		return "", advise(diag.List{}.Errorf(nil, "Default workspace not supported", "The new location has no default "+
			"workspace, so the state of the default workspace needs another name, and init may not ask for one."))
	}
	name, err := c.Ask(ctx, "The new location has no default workspace.", "Enter the name of a workspace that gets "+
		"the state of the default workspace, such as \"dev\".", false)
	switch name = strings.TrimSpace(name); {
	case err != nil:
	case name == "":
		err = errors.New("no name was given")
	case name != state.DefaultWorkspace && slices.Contains(others, name):
		err = fmt.Errorf("%q is the name of another workspace, whose state is copied, too", name)
	}
	if err != nil {
		return "", advise(diag.List{}.Errorf(nil, "Default workspace not supported", "The state of the default "+
			"workspace needs another name: %s.", err))
	}
	return name, nil
}
