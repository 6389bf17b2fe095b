package install

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
)

// Providers is the command providers.
func Providers() *command.Command {
	return &command.Command{
		Name: "providers", Short: "Show which modules need which providers",
		Long: `Show the tree of modules with the providers that each module needs, and the providers that the state
needs.`,
		Members: []*command.Command{cmdProvidersLock(), cmdProvidersMirror(), cmdProvidersSchema()},
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			tests := command.TestFlag(c)
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.Say("Too many command line arguments. Did you mean to use -chdir?")
				}
				return runProviders(ctx, c, *tests)
			}
		},
	}
}

func runProviders(ctx context.Context, c *command.Call, tests string) command.Outcome {
	project, diags := c.Project(ctx, command.ProjectOptions{NoPlugins: true})
	if diags.HasErrors() {
		return c.End(diags)
	}
	defer project.Close()
	if project.Config().IsEmpty() {
		return c.End(diags.Errorf(nil, "No configuration files",
			"The directory %s has no configuration (no .tf files).", workingDir()))
	}
	_, more := engine.Wanted(project.Config())
	if diags = diags.Extend(more); diags.HasErrors() {
		return c.End(diags)
	}
	files, more := c.TestFiles(tests)
	if diags = diags.Extend(more).Extend(command.TestDirectory(tests)); diags.HasErrors() {
		return c.End(diags)
	}
	root := needs(project.Config().Root)
	ofTests, more := needsOfTests(ctx, c, files)
	if diags = diags.Extend(more); diags.HasErrors() {
		return c.End(diags)
	}
	root.below = append(ofTests, root.below...)
	snapshot, more := c.SnapshotOf(ctx, project.Store())
	if diags = diags.Extend(more); diags.HasErrors() {
		return c.End(diags)
	}
	fmt.Fprint(c.Out, "\nProviders required by configuration:\n.\n")
	root.draw(c.Out, "")
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

// branch is a module or a test file with the providers that it requires and the modules that it calls.
type branch struct {
	name      string
	providers []string
	below     []*branch
}

func needs(m *config.Module) *branch {
	b := &branch{}
	wanted, _ := engine.WantedBy(m) // constraints were checked for all modules together
	for p, constraints := range wanted {
		b.providers = append(b.providers, strings.TrimSpace("provider["+p.String()+"] "+constraints.String()))
	}
	slices.Sort(b.providers)
	for _, child := range m.SortedChildren() {
		below := needs(child)
		below.name = "module." + child.Call.Name
		b.below = append(b.below, below)
	}
	return b
}

// needsOfTests returns a branch for each test file, with the modules that its runs use.
func needsOfTests(ctx context.Context, c *command.Call, files []*testfile.File) (out []*branch, diags diag.List) {
	for _, f := range files {
		b := &branch{name: "test." + strings.ReplaceAll(strings.TrimSuffix(f.Name, ".tftest.hcl"), "/", ".")}
		for _, run := range testfile.Calls([]*testfile.File{f}) {
			cfg, more := c.TestModule(ctx, run)
			if diags = diags.Extend(more.OnlyErrors()); more.HasErrors() {
				continue
			}
			_, more = engine.Wanted(cfg)
			diags = diags.Extend(more)
			below := needs(cfg.Root)
			below.name = "run." + run.Name
			b.below = append(b.below, below)
		}
		out = append(out, b)
	}
	return out, diags
}

// draw prints the content of the branch, with a prefix before each line.
func (b *branch) draw(w io.Writer, prefix string) {
	for i, name := range b.providers {
		twig, _ := branches(i == len(b.providers)-1 && len(b.below) == 0)
		fmt.Fprintln(w, prefix+twig+name)
	}
	for i, child := range b.below {
		twig, below := branches(i == len(b.below)-1)
		fmt.Fprintln(w, prefix+twig+child.name)
		child.draw(w, prefix+below)
	}
}

func branches(last bool) (twig, below string) {
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
