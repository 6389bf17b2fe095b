package states

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/state"
)

func cmdStateRm() *command.Command {
	return &command.Command{
		Name: "rm", Short: "Remove instances from the state without destroying them", Args: "ADDRESS...",
		Long: `Remove instances from the state. The objects continue to exist, but ~~ no longer manages them. An
address can be that of a module, a resource or an instance.`,
		Example: `~ state rm terraform_data.old module.gone`,
		Setup: func(c *command.Call) command.Run {
			e := editing{operation: state.OperationRemove, inPlace: true, existing: true,
				StateFiles: command.StateFiles{Stamped: true}}
			var dry bool
			e.flags(c)
			c.Flags.BoolVar(&dry, "dry-run", false, "Show what would be removed, without removing it.")
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) == 0 {
					return c.WrongNumber("At least one address is required.")
				}
				return edit(ctx, c, e, func(session state.Session) (edited, diag.List) {
					return stateRm(c, session.Snapshot(), dry)
				})
			}
		},
	}
}

func stateRm(c *command.Call, snapshot *state.Snapshot, dry bool) (edited, diag.List) {
	s := snapshot.State
	var edits []state.Edit
	var gone []addr.AbsResourceInstance
	taken := map[addr.AbsResourceInstance]bool{}
	var none diag.List
	suggested := ""
	for _, text := range c.Args {
		t, diags := addr.ParseTarget(text)
		if diags.HasErrors() {
			return edited{}, diags
		}
		if diags := stillOpen(snapshot, "remove "+t.String(), at(t)); diags.HasErrors() {
			return edited{}, diags
		}
		found := matching(s, t)
		if len(found) == 0 {
			meant := didYouMean(s, t.String())
			suggested = cmp.Or(suggested, meant)
			none = none.Warnf(nil, "No matching object", "Nothing in the state matches %s, so nothing was removed "+
				"for it. The command \"state list\" shows the addresses of all instances.%s", text, meant)
		}
		for _, a := range found {
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
		c.Tell("%s %s\n", word, a)
	}
	switch {
	case dry && len(gone) == 0:
		c.Tell("Would have removed nothing.\n")
		return edited{}, nil
	case dry:
		return edited{}, none
	case len(gone) == 0:
		return edited{}, diag.List{}.Errorf(nil, "Invalid target address",
			"Nothing in the state matches %s. The command \"state list\" shows the addresses of all instances.%s",
			strings.Join(c.Args, " or "), suggested)
	}
	b := s.Builder()
	b.Fold(edits...)
	return edited{b.State(), fmt.Sprintf("Successfully removed %d resource instance(s).\n", len(gone))}, none
}

// forget returns the edits that remove an instance with all its objects.
func forget(s *state.State, a addr.AbsResourceInstance) []state.Edit {
	edits := []state.Edit{{Drop: &state.DropObject{Addr: addr.Object{Instance: a}}}}
	for _, key := range s.Instance(a).DeposedKeys() {
		edits = append(edits, state.Edit{Drop: &state.DropObject{Addr: addr.Object{Instance: a, Deposed: key}}})
	}
	return edits
}
