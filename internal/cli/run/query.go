package run

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Query is the command query.
func Query() *command.Command {
	return &command.Command{
		Name: "query", Short: "Find existing objects",
		Long: `Find the objects that the list blocks in query files (.tfquery.hcl) describe, whether or not they are
managed. Nothing is changed.

With -generate-config-out, the command writes configuration to a file: a resource block and an import block for each
object. With -json, these blocks are also part of the output.`,
		Exits: `0  The query finished, whether or not it found anything.
1  There were errors.`,
		Example: `~ query -generate-config-out=found.tf`,
		Setup: func(c *command.Call) command.Run {
			p := &planning{}
			p.VariableFlags(c)
			c.Flags.StringVar(&p.generate, "generate-config-out", "",
				"Write configuration for the objects found to `FILE`, which must not exist yet.")
			p.limits(c)
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) > 0 {
					return c.TooMany(0)
				}
				return runQuery(ctx, c, p)
			}
		},
	}
}

func runQuery(ctx context.Context, c *command.Call, p *planning) command.Outcome {
	p.refresh, p.query = true, true
	s, ok := begin(ctx, c, p, kind{operation: state.OperationPlan, reading: true, withoutConfiguration: true})
	if !ok {
		return command.Failed
	}
	defer s.end()
	lists, diags := s.run.Query(s.ctx, engine.QueryOptions{GenerateConfig: p.generate != "",
		Variables: s.options.Variables, VariableRanges: s.options.VariableRanges})
	diags = s.warnings.Extend(diags)
	if p.generate != "" && !diags.HasErrors() {
		diags = diags.Extend(writeFound(c.Surroundings.In("."), p.generate, c.Title, lists))
	}
	if diags.HasErrors() { // then the lists are not reported as empty
		lists = slices.DeleteFunc(lists, func(l *plan.List) bool { return len(l.Found) == 0 })
	}
	c.View().Lists(lists)
	ok = c.Report(diags)
	if s.release() && ok {
		return command.Done
	}
	return command.Failed
}

// writeFound writes the blocks that a query has generated. If it found nothing, there is no file.
func writeFound(base, name, title string, lists []*plan.List) diag.List {
	if !slices.ContainsFunc(lists, func(l *plan.List) bool { return len(l.Found) > 0 }) {
		return nil
	}
	err := output(base, name, func(w io.Writer) error {
		_, err := io.WriteString(w, generatedHead(title))
		for _, l := range lists {
			for i, found := range l.Found {
				head := "\n"
				if i == 0 {
					head = fmt.Sprintf("\n# __generated__ by %s from %s\n", title, l.Addr)
				}
				if err == nil {
					_, err = fmt.Fprintf(w, "%s%s\n\n%s\n", head, found.GeneratedConfig, found.GeneratedImport)
				}
			}
		}
		return err
	})
	return diag.FromError("Failed to create target generated file", err)
}
