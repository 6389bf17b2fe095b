package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
)

func cmdValidate() *command {
	return &command{
		name: "validate", short: "Check the configuration", main: true,
		long: `Check that the configuration is valid in itself: syntax, names, references, argument names and
types. Values of variables, the state and real objects are not looked at.`,
		setup: func(c *call) func(context.Context) outcome {
			var asJSON, noTests bool
			var testDir string
			c.flags.BoolVar(&asJSON, "json", false, "Print a JSON document for programs.")
			c.flags.BoolVar(&noTests, "no-tests", false, "Leave test files alone, as this version always does.")
			c.flags.StringVar(&testDir, "test-directory", "tests", "The `DIR` of test files, which this version does not look at.")
			return func(ctx context.Context) outcome {
				if len(c.args) > 0 {
					return c.tooMany()
				}
				return c.runValidate(ctx, asJSON)
			}
		},
	}
}

func (c *call) runValidate(ctx context.Context, asJSON bool) outcome {
	diags := c.validate(ctx)
	if asJSON {
		c.readSources(diags)
		if err := tfjson.Validate(c.out, diags.Sorted(), c.shown.sources); err != nil {
			return c.finish("Failed to show the result", err)
		}
		if diags.HasErrors() {
			return failed
		}
		return done
	}
	ok := c.report(diags)
	if !ok {
		return failed
	}
	qualified := ""
	if len(diags) > 0 {
		qualified = ", but there were some\nvalidation warnings as shown above"
	}
	fmt.Fprintf(c.out, "%s The configuration is valid%s.\n\n", c.green("Success!"), qualified)
	return done
}

func (c *call) validate(ctx context.Context) diag.List {
	project, diags := c.load(ctx, projectOptions{})
	if diags.HasErrors() {
		return diags
	}
	defer project.Close()
	return diags.Extend(project.Validate(ctx))
}

func (c *call) green(text string) string {
	if c.color() {
		return "\x1b[32m\x1b[1m" + text + "\x1b[0m"
	}
	return text
}

func cmdProviders() *command {
	return &command{
		name: "providers", short: "Show which modules need which providers",
		long: `Show the tree of modules with the providers that each needs, and the providers that the
state needs.`,
		setup: func(c *call) func(context.Context) outcome {
			return func(ctx context.Context) outcome {
				if len(c.args) > 0 {
					return c.tooMany()
				}
				return c.runProviders(ctx)
			}
		},
	}
}

func (c *call) runProviders(ctx context.Context) outcome {
	project, diags := c.project(ctx, projectOptions{})
	if diags.HasErrors() {
		return c.end(diags)
	}
	defer project.Close()
	snapshot, diags := c.snapshotOf(ctx, project.Store())
	if diags.HasErrors() {
		return c.end(diags)
	}
	fmt.Fprint(c.out, "\nProviders required by configuration:\n.\n")
	c.providerTree(project.Config().Root, "")
	fmt.Fprintln(c.out)
	if s := snapshot.State; s != nil && len(s.Resources()) > 0 {
		used := map[string]bool{}
		for _, r := range s.Resources() {
			used[r.Provider.Provider.String()] = true
		}
		fmt.Fprint(c.out, "Providers required by state:\n\n")
		for _, name := range slices.Sorted(maps.Keys(used)) {
			fmt.Fprintf(c.out, "    provider[%s]\n\n", name)
		}
	}
	return done
}

// providerTree draws what a module needs and calls, below a prefix of lines.
func (c *call) providerTree(m *config.Module, prefix string) {
	needs := moduleProviders(m)
	names := make([]string, 0, len(needs))
	for p, need := range needs {
		text := "provider[" + p.String() + "]"
		if need.version != "" {
			text += " " + need.version
		}
		names = append(names, text)
	}
	slices.Sort(names)
	children := m.SortedChildren()
	for i, name := range names {
		branch, _ := branches(i == len(names)-1 && len(children) == 0)
		fmt.Fprintln(c.out, prefix+branch+name)
	}
	for i, child := range children {
		branch, below := branches(i == len(children)-1)
		fmt.Fprintln(c.out, prefix+branch+"module."+child.Call.Name)
		c.providerTree(child, prefix+below)
	}
}

func branches(last bool) (branch, below string) {
	if last {
		return "└── ", "    "
	}
	return "├── ", "│   "
}

// need is how a module asks for a provider.
type need struct {
	version string
	where   hcl.Range
}

// moduleProviders gives what one module needs: written requirements, provider blocks, and what its resources imply.
func moduleProviders(m *config.Module) map[addr.Provider]need {
	out := map[addr.Provider]need{}
	add := func(p addr.Provider, version string, where hcl.Range) {
		old, ok := out[p]
		if !ok {
			old = need{where: where}
		}
		if version != "" {
			old.version = strings.Join(append(nonEmpty(old.version), version), ", ")
		}
		out[p] = old
	}
	for _, r := range m.SortedRequiredProviders() {
		add(r.Source, r.Version.Text, r.Range)
	}
	for _, p := range m.SortedProviderConfigs() {
		add(p.Provider, p.Version.Text, p.Range)
	}
	for _, r := range m.SortedResources() {
		add(r.Provider, "", r.DeclRange)
	}
	return out
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// requiredProviders gives all providers of a configuration with a place that asks for each.
func requiredProviders(cfg *config.Config) map[addr.Provider]hcl.Range {
	out := map[addr.Provider]hcl.Range{}
	for _, m := range cfg.SortedModules() {
		for p, need := range moduleProviders(m) {
			if _, ok := out[p]; !ok {
				out[p] = need.where
			}
		}
	}
	return out
}
