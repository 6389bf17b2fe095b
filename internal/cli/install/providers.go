package install

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// Providers is the command providers.
func Providers() *command.Command {
	return &command.Command{
		Name: "providers", Short: "Show which modules need which providers",
		Long: `Show the tree of modules with the providers that each needs, and the providers that the
state needs.`,
		Members: []*command.Command{cmdProvidersLock(), cmdProvidersMirror(), cmdProvidersSchema()},
		Setup: func(c *command.Call) command.Run {
			command.TestFlag(c)
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.Say("Too many command line arguments. Did you mean to use -chdir?")
				}
				return runProviders(ctx, c)
			}
		},
	}
}

func runProviders(ctx context.Context, c *command.Call) command.Outcome {
	project, diags := c.Project(ctx, command.ProjectOptions{NoPlugins: true})
	if diags.HasErrors() {
		return c.End(diags)
	}
	defer project.Close()
	if project.Config().IsEmpty() {
		return c.End(diags.Errorf(nil, "No configuration files", "The directory %s has no configuration (no .tf files).", workingDir()))
	}
	_, more := command.Wanted(project.Config())
	if diags = diags.Extend(more); diags.HasErrors() {
		return c.End(diags)
	}
	snapshot, more := c.SnapshotOf(ctx, project.Store())
	if diags = diags.Extend(more); diags.HasErrors() {
		return c.End(diags)
	}
	fmt.Fprint(c.Out, "\nProviders required by configuration:\n.\n")
	providerTree(c, project.Config().Root, "")
	fmt.Fprintln(c.Out)
	if s := snapshot.State; s != nil && len(s.Resources()) > 0 {
		used := map[string]bool{}
		for _, r := range s.Resources() {
			used[r.Provider.Provider.String()] = true
		}
		fmt.Fprint(c.Out, "Providers required by state:\n\n")
		for _, name := range slices.Sorted(maps.Keys(used)) {
			fmt.Fprintf(c.Out, "    provider[%s]\n\n", name)
		}
	}
	return c.End(diags)
}

// providerTree draws what a module needs and calls, below a prefix of lines.
func providerTree(c *command.Call, m *config.Module, prefix string) {
	needs, _ := command.WantedBy(m) // whose constraints were checked for all modules together
	names := make([]string, 0, len(needs))
	for p, constraints := range needs {
		names = append(names, strings.TrimSpace("provider["+p.String()+"] "+constraints.String()))
	}
	slices.Sort(names)
	children := m.SortedChildren()
	for i, name := range names {
		branch, _ := branches(i == len(names)-1 && len(children) == 0)
		fmt.Fprintln(c.Out, prefix+branch+name)
	}
	for i, child := range children {
		branch, below := branches(i == len(children)-1)
		fmt.Fprintln(c.Out, prefix+branch+"module."+child.Call.Name)
		providerTree(c, child, prefix+below)
	}
}

func branches(last bool) (branch, below string) {
	if last {
		return "└── ", "    "
	}
	return "├── ", "│   "
}

func workingDir() string {
	wd, err := os.Getwd()
	if err != nil {
		return "."
	}
	return wd
}
