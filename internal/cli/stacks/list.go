package stacks

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/stack"
)

func listCommand() *command.Command {
	return &command.Command{
		Name: "list", Short: "List the units in their order", Args: patternArgs, Mixed: true,
		Long: `List the units whose names match a PATTERN, or all units, each after those that it depends on.`,
		Example: `~ stack list
~ stack list -changed-since=origin/main -with-dependents`,
		Setup: func(c *command.Call) command.Run {
			return showUnits(c, func(w io.Writer, units []*stack.Unit) error {
				for _, u := range units {
					if _, err := fmt.Fprintln(w, u.Name); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// showUnits returns a command that writes the chosen units as text or as a document.
func showUnits(c *command.Call, write func(w io.Writer, units []*stack.Unit) error) command.Run {
	const failed = "Failed to show the units"
	o := &choice{}
	o.flags(c)
	c.DocumentFlags()
	return func(ctx context.Context) command.Outcome {
		s, units, ok := o.load(ctx, c)
		if !ok {
			return command.Failed
		}
		unreadable(c, s, units)
		if to := c.Documents(); to != nil {
			if err := writeUnits(to, units); err != nil || c.Document {
				return c.Finish(failed, err)
			}
		}
		return c.Finish(failed, write(c.Out, units))
	}
}

func graphCommand() *command.Command {
	return &command.Command{
		Name: "graph", Short: "Show which units depend on which", Args: patternArgs, Mixed: true,
		Long: `Show the units whose names match a PATTERN, or all units, with their dependencies, in the DOT language of
Graphviz or as JSON.`,
		Example: `~ stack graph | dot -Tsvg >stack.svg
~ stack graph -json`,
		Setup: func(c *command.Call) command.Run { return showUnits(c, writeDot) },
	}
}

// unitDocument is a unit in the documents of list and graph.
type unitDocument struct {
	Unit      string         `json:"unit"`
	Dir       string         `json:"dir"`
	Workspace string         `json:"workspace,omitempty"`
	DependsOn []edgeDocument `json:"depends_on"`
}

type edgeDocument struct {
	Unit       string   `json:"unit"`
	Kind       string   `json:"kind"`
	Outputs    []string `json:"outputs,omitempty"`
	AllOutputs bool     `json:"all_outputs,omitempty"`
}

func writeUnits(w io.Writer, units []*stack.Unit) error {
	list := []unitDocument{}
	for _, u := range units {
		one := unitDocument{Unit: u.Name, Dir: u.Dir, Workspace: u.Workspace, DependsOn: []edgeDocument{}}
		for _, e := range u.Edges {
			one.DependsOn = append(one.DependsOn, edgeDocument{Unit: e.To.Name, Kind: e.Kind(), Outputs: e.Outputs,
				AllOutputs: e.All})
		}
		list = append(list, one)
	}
	return document(w, struct {
		FormatVersion string         `json:"format_version"`
		Units         []unitDocument `json:"units"`
	}{"1.0", list})
}

// document writes a JSON document.
func document(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func writeDot(w io.Writer, units []*stack.Unit) error {
	chosen := map[*stack.Unit]bool{}
	for _, u := range units {
		chosen[u] = true
	}
	var b strings.Builder
	b.WriteString("digraph G {\n  rankdir = \"RL\";\n  node [shape = rect];\n")
	for _, u := range units {
		fmt.Fprintf(&b, "  %q;\n", u.Name)
		for _, e := range u.Edges {
			if chosen[e.To] {
				fmt.Fprintf(&b, "  %q -> %q [label = %q];\n", u.Name, e.To.Name, label(e))
			}
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func label(e *stack.Edge) string {
	if len(e.Outputs) > 0 {
		return strings.Join(e.Outputs, ", ")
	}
	return e.Kind()
}
