package install

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/state"
)

// trust asks whether the program may run that a backend block names. A directory may have been cloned from a stranger,
// and init is what people run first in it. What the command line names, and what init has recorded before, may run.
// Where nobody can be asked, init does without the program, unless states are to be copied.
func (s *backendSetup) trust(ctx context.Context, c *command.Call, b, recorded *backend.Backend) (warnings,
	diags diag.List) {
	if b == nil || b.Command() == nil || slices.Contains(s.named(), "command") ||
		recorded != nil && slices.Equal(recorded.Command(), b.Command()) {
		return nil, nil
	}
	words := strings.Join(b.Command(), " ")
	const why = "The configuration of this directory stores its states with a program. To access them, this command " +
		"must run:"
	if s.input && c.InputAllowed() && !c.JSON {
		text := why + "\n\n" + words + "\n\nEnter \"yes\" to run it now."
		answer, err := c.Ask(ctx, "Do you want to run a program that this directory names?", text, false)
		if err == nil && answer == "yes" {
			return nil, nil
		}
	}
	left, err := s.leaves(ctx, c, recorded)
	switch {
	case err != nil:
		return nil, diag.FromError("Error loading the state", err)
	case left && !s.reconfigure:
		return nil, diags.Errorf(nil, "Program of the backend was not run",
			"%s\n  %s\n\nIt is needed now, because there are states to copy. Nothing was changed. If you trust this "+
				"directory, approve the command when init asks, or set it with "+
				"-backend-config='command=[...]'.", why, words)
	}
	s.distrusted = true
	return warnings.Warnf(nil, "Program of the backend was not run",
		"%s\n  %s\n\nIt was not run, and init has not read the states. If you trust this directory, continue: "+
			"commands that need a state run the program. To approve it in advance, use "+
			"-backend-config='command=[...]'.", why,
		words), nil
}

// leaves reports whether there are states in the former location.
func (s *backendSetup) leaves(ctx context.Context, c *command.Call, recorded *backend.Backend) (bool, error) {
	if recorded != nil {
		return true, nil
	}
	st, diags := c.Store(ctx, nil, recorded.Options().Store())
	if diags.HasErrors() {
		return false, diags.Err()
	}
	names, err := st.Workspaces(ctx)
	for _, name := range names {
		ws, wsErr := st.Workspace(name)
		if err = errors.Join(err, wsErr); err != nil {
			break
		}
		var snapshot *state.Snapshot
		if snapshot, err = ws.Read(ctx); err != nil {
			break
		}
		if !isEmpty(snapshot.State) || leftOpen(snapshot) {
			return true, nil
		}
	}
	return false, err
}

// named returns the arguments that the command line sets individually.
func (s *backendSetup) named() (names []string) {
	for _, text := range s.settings {
		if name, _, ok := strings.Cut(text, "="); ok {
			names = append(names, name)
		}
	}
	return names
}
