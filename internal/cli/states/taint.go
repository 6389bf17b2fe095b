package states

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/state"
)

func Taint() *command.Command   { return markCommand("taint") }
func Untaint() *command.Command { return markCommand("untaint") }

// markCommand is taint or untaint.
func markCommand(name string) *command.Command {
	operation := state.OperationTaint
	cmd := &command.Command{
		Name: name, Short: "Mark an instance for replacement by the next apply", Args: "ADDRESS",
		Long: "Mark an instance as tainted. The next apply replaces it. To replace it now, use\n\"~ apply " +
			"-replace=ADDRESS\".",
		Example: "~ " + name + " 'terraform_data.a[0]'",
	}
	if name == "untaint" {
		operation = state.OperationUntaint
		cmd.Short = "Remove the taint from an instance"
		cmd.Long = "Remove the taint from a resource instance: the next apply does not replace it."
	}
	cmd.Setup = func(c *command.Call) command.Run {
		e := editing{operation: operation}
		var allowMissing bool
		e.flags(c)
		c.Flags.BoolVar(&allowMissing, "allow-missing", false, "Succeed even if the instance is not in the state.")
		return func(ctx context.Context) command.Outcome {
			if len(c.Args) != 1 {
				return c.WrongUse("The " + name + " command expects exactly one argument.")
			}
			a, diags := addr.ParseInstance(c.Args[0])
			switch {
			case diags.HasErrors():
				return c.End(diags)
			case name == "taint" && a.Resource.Mode != addr.Managed:
				return c.Say("Resource instance %s cannot be tainted", a)
			}
			return edit(ctx, c, e, func(session state.Session) (edited, diag.List) {
				return mark(session.Snapshot().State, a, name == "taint", allowMissing)
			})
		}
	}
	return cmd
}

func mark(s *state.State, a addr.AbsResourceInstance, taint, allowMissing bool) (edited, diag.List) {
	object := addr.Object{Instance: a}
	o := s.Object(object)
	switch {
	case o == nil && allowMissing:
		return edited{}, diag.List{}.Warnf(nil, "No such resource instance",
			"The state has no instance %s, which is not an error because of -allow-missing.", a)
	case o == nil:
		return edited{}, diag.List{}.Errorf(nil, "No such resource instance", "The state has no instance %s. New "+
			"configuration appears in the state after the next apply; \"state list\" shows the current objects.%s", a,
			didYouMean(s, a.String()))
	case !taint && o.Status != state.Tainted:
		return edited{}, diag.List{}.Errorf(nil, "Resource instance is not tainted",
			"The instance %s is not tainted, so there is no taint to remove.", a)
	}
	status, text := state.Ready, "Resource instance %s has been successfully untainted.\n"
	if taint {
		status, text = state.Tainted, "Resource instance %s has been marked as tainted.\n"
	}
	b := s.Builder()
	b.Fold(state.Edit{Put: &state.PutObject{Addr: object, Provider: s.Resource(a.AbsResource()).Manager(o),
		Object: o.WithStatus(status)}})
	return edited{b.State(), fmt.Sprintf(text, a)}, nil
}
