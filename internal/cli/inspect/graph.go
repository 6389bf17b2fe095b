package inspect

import (
	"cmp"
	"context"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
)

// Graph is the command graph.
func Graph() *command.Command {
	return &command.Command{
		Name: "graph", Short: "Print the dependency graph",
		Long: `Print the resources of the configuration and their dependencies in the DOT language of Graphviz, or as
a Mermaid flowchart, or as a JSON document. With -type, the graph has everything that an operation of that type
evaluates.`,
		Example: `~ graph | dot -Tsvg > graph.svg`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			g := &graphing{call: c}
			var ignored struct {
				cycles, verbose bool
				depth           int
			}
			c.Flags.StringVar(&g.kind, "type", "", "Print everything that is evaluated for an operation of `TYPE`: "+
				"plan, plan-refresh-only, plan-destroy or apply.")
			c.Flags.StringVar(&g.planFile, "plan", "",
				"Print the graph of the configuration in the plan `FILE`, as with -type=apply.")
			c.Flags.StringVar(&g.format, "format", "dot", "The `FORMAT` of the graph: dot, mermaid or json.")
			c.Flags.BoolVar(&ignored.cycles, "draw-cycles", false,
				"Accepted for compatibility; has no effect. Cycles are always reported as errors.")
			c.Flags.BoolVar(&ignored.verbose, "verbose", false, "Accepted for compatibility; has no effect.")
			c.Flags.IntVar(&ignored.depth, "module-depth", -1, "Accepted for compatibility; `DEPTH` has no effect.")
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.Say("Too many command line arguments. Did you mean to use -chdir?")
				}
				return g.run(ctx)
			}
		},
	}
}

type graphing struct {
	call           *command.Call
	kind, planFile string
	format         string
}

func (g *graphing) run(ctx context.Context) command.Outcome {
	c := g.call
	var options command.ProjectOptions
	g.format = cmp.Or(g.format, "dot")
	if g.format != "dot" && g.format != "mermaid" && g.format != "json" {
		return c.End(diag.List{}.Errorf(nil, "Unsupported graph format",
			"There is no format %q. The formats are dot, mermaid and json.", g.format))
	}
	if g.planFile != "" {
		saved, diags := c.ReadPlan(ctx, g.planFile)
		if diags.HasErrors() {
			return c.End(diags)
		}
		options.Saved = saved
		if g.kind == "" {
			g.kind = "apply"
		}
	}
	switch g.kind {
	case "", "plan", "plan-refresh-only", "plan-destroy", "apply":
	case "validate", "input", "refresh", "legacy":
		return c.End(diag.List{}.Errorf(nil, "Graph type no longer available",
			"Graphs of the type %q no longer exist. The type \"plan\" prints a similar one.", g.kind))
	default:
		return c.End(diag.List{}.Errorf(nil, "Unsupported graph type",
			"There is no graph of the type %q. The types are plan, plan-refresh-only, plan-destroy and apply.", g.kind))
	}
	project, diags := c.Project(ctx, options)
	if diags.HasErrors() {
		return c.End(diags)
	}
	defer project.Close()
	slots, edges, diags := project.Dependencies()
	if diags.HasErrors() {
		return c.End(diags)
	}
	d := drawing{slots: slots, edges: edges}
	text := ""
	switch {
	case g.kind == "" && g.format == "mermaid":
		text = d.mermaidResources()
	case g.kind == "" && g.format == "json":
		text = d.jsonResources()
	case g.kind == "":
		text = d.resources()
	case g.kind == "plan-destroy":
		text = d.destruction().in(g.format, g.kind)
	default:
		text = d.evaluation().in(g.format, g.kind)
	}
	_, err := c.Out.Write([]byte(text))
	return c.Finish("Failed to write the graph", err)
}
