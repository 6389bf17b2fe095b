package states

import (
	"context"
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

func cmdStateShow() *command.Command {
	return &command.Command{
		Name: "show", Short: "Show one instance in the state", Args: "ADDRESS",
		Long:    "Show the attributes of one instance. \"~ state list\" lists the addresses.",
		Example: `~ state show 'terraform_data.a["first"]'`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			var files command.StateFiles
			c.StateReadFlags(&files)
			c.DocumentFlags()
			c.SecretsFlag()
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.WrongNumber("Exactly one argument expected.")
				}
				return stateShow(ctx, c, files)
			}
		},
	}
}

func stateShow(ctx context.Context, c *command.Call, files command.StateFiles) command.Outcome {
	f, diags := findInstance(ctx, c, files)
	if f.project != nil {
		defer f.project.Close()
	}
	if f.missing != "" || len(diags) > 0 {
		return notShown(c, f.missing, diags)
	}
	var err error
	if !c.Document {
		err = view.Object(c.ViewOptions(), f.state, f.at, f.project.Schemas(f.state))
	}
	if to := c.Documents(); to != nil && err == nil {
		err = tfjson.Instance(to, f.state, f.at, f.project.Schemas(f.state))
	}
	return c.Finish("Failed to show the instance", err)
}

// notShown reports why there is nothing to show, in the JSON document for programs.
func notShown(c *command.Call, missing string, diags diag.List) command.Outcome {
	if to := c.Documents(); to != nil {
		all := diags
		if missing != "" {
			all = all.Errorf(nil, missing, "")
		}
		c.ReadSources(all)
		if err := tfjson.NoInstance(to, c.Named(all), c.Sources()); err != nil {
			return c.Finish("Failed to show the instance", err)
		}
	}
	switch {
	case c.Document:
		return command.Failed
	case missing != "":
		return c.Say("%s", missing)
	}
	return c.End(diags)
}

// found is an instance of the state, with its provider's schema.
type found struct {
	project *engine.Project // nil if there is none; otherwise the caller must close it
	state   *state.State
	at      addr.AbsResourceInstance
	missing string // the error if the state lacks the instance
}

// findInstance returns the instance at the address of the command line.
func findInstance(ctx context.Context, c *command.Call, files command.StateFiles) (f found, diags diag.List) {
	if f.at, diags = addr.ParseInstance(c.Args[0]); diags.HasErrors() {
		f.missing = fmt.Sprintf(
			"Error parsing instance address: %s\n\n%s See \"%s state list\" for the addresses of all instances.",
			c.Args[0], diags[0].Detail, c.Program)
		return f, nil
	}
	f.project, diags = c.Project(ctx, command.ProjectOptions{Files: files})
	if diags = diags.OnlyErrors(); len(diags) > 0 {
		return f, diags
	}
	snapshot, diags := c.SnapshotOf(ctx, f.project.Store())
	if len(diags) > 0 {
		return f, diags
	}
	if f.state = stored(snapshot); f.state == nil {
		f.missing = noStateText(c)
		return f, nil
	}
	if i := f.state.Instance(f.at); i != nil && i.Current != nil {
		return f, nil
	}
	f.missing = fmt.Sprintf("No instance found for the given address!\n\nThe state holds nothing at %s. ", f.at)
	if r := f.state.Resource(f.at.AbsResource()); r != nil {
		f.missing += fmt.Sprintf("The state has these instances of the resource: %s.", instancesOf(r))
	} else {
		f.missing += fmt.Sprintf("See \"%s state list\" for the addresses of all instances.%s", c.Program,
			didYouMean(f.state, f.at.String()))
	}
	return f, nil
}

// mostInstances is the maximum number of instances in a message.
const mostInstances = 10

// instancesOf returns the addresses of a resource's instances for a message.
func instancesOf(r *state.Resource) string {
	var list []string
	for i, key := range r.Keys() {
		if i == mostInstances {
			list = append(list, fmt.Sprintf("and %d more", len(r.Instances)-i))
			break
		}
		list = append(list, r.Addr.Instance(key).String())
	}
	return strings.Join(list, ", ")
}
