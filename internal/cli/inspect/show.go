package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

// Show is the command show.
func Show() *command.Command {
	return &command.Command{
		Name: "show", Short: "Show the state or a saved plan", Args: "[FILE]",
		Long: `Show the current state, or the plan or state in a file.

With -json, the document contains sensitive values in plain text.`,
		Example: `~ show
~ plan -out=change.plan && ~ show -json change.plan`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			c.DocumentFlags()
			return func(ctx context.Context) command.Outcome {
				switch len(c.Args) {
				case 0:
					return showState(ctx, c)
				case 1:
					return showFile(ctx, c, c.Args[0])
				}
				return c.TooMany(1)
			}
		},
	}
}

func showState(ctx context.Context, c *command.Call) command.Outcome {
	snapshot, diags := c.Snapshot(ctx, command.StateFiles{})
	switch {
	case diags.HasErrors():
		return c.End(diags)
	case snapshot.State == nil:
		return noState(c)
	}
	return showIn(ctx, c, snapshot.State)
}

func noState(c *command.Call) command.Outcome {
	if !c.Document {
		fmt.Fprintln(c.Out, "No state.")
	}
	if to := c.Documents(); to != nil {
		return c.Finish("Failed to show the state", tfjson.State(to, nil, nil))
	}
	return command.Done
}

// showIn shows a state with the schemas of the configuration at hand.
func showIn(ctx context.Context, c *command.Call, s *state.State) command.Outcome {
	project, diags := c.Project(ctx, command.ProjectOptions{})
	if diags = diags.OnlyErrors(); len(diags) > 0 {
		return c.End(diags)
	}
	defer project.Close()
	return printState(c, project, s)
}

func printState(c *command.Call, project *engine.Project, s *state.State) command.Outcome {
	var err error
	if !c.Document {
		err = view.State(c.ViewOptions(), s, project.Schemas(s))
	}
	if to := c.Documents(); to != nil && err == nil {
		err = tfjson.State(to, s, project.Schemas(s))
	}
	return c.Finish("Failed to show the state", err)
}

// sealedPlan reports whether a file is an encrypted plan: unlike a state, it has no lineage outside of the encrypted
// part.
func sealedPlan(f io.ReaderAt) bool {
	head := make([]byte, 256)
	n, _ := f.ReadAt(head, 0)
	return bytes.HasPrefix(head[:n], []byte(`{"meta":`))
}

// showFile distinguishes plans and states by their first bytes.
func showFile(ctx context.Context, c *command.Call, name string) command.Outcome {
	const summary = "Failed to read the given file as a state or plan file"
	f, _, err := command.OpenFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.End(diag.List{}.Errorf(nil, summary, "There is no file %q.", name))
	case err != nil:
		return c.Finish(summary, err)
	}
	defer f.Close()
	head := make([]byte, 4)
	if _, err := f.ReadAt(head, 0); err == nil && bytes.Equal(head, []byte("PK\x03\x04")) {
		return showPlan(ctx, c, name)
	}
	if sealedPlan(f) {
		return showPlan(ctx, c, name)
	}
	s, err := c.ReadState(ctx, f)
	if err != nil {
		return c.End(diag.List{}.Errorf(nil, summary, "The file %q holds neither a plan nor a state: %s.", name,
			command.StateProblem(err)))
	}
	return showIn(ctx, c, s)
}

func showPlan(ctx context.Context, c *command.Call, name string) command.Outcome {
	pl, diags := c.ReadPlan(ctx, name)
	if len(diags) > 0 {
		return c.End(diags)
	}
	project, diags := c.Project(ctx, command.ProjectOptions{Saved: pl})
	if diags = diags.OnlyErrors(); len(diags) > 0 {
		return c.End(diags)
	}
	defer project.Close()
	prior := pl.Prior()
	all := project.Schemas(prior, pl.Changes...)
	if !c.Document {
		c.View().Plan(pl, all)
	}
	if to := c.Documents(); to != nil {
		return c.Finish("Failed to show the plan", tfjson.Plan(to, pl, prior, project.Config(), all))
	}
	return command.Done
}
