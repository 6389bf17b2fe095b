package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

// Import is the command import.
func Import() *command.Command {
	return &command.Command{
		Name: "import", Short: "Import an existing object into the state", Args: "ADDRESS ID",
		Long: `Find the object with the given ID and record it in the state at ADDRESS. The configuration must have a
block for ADDRESS. The real object is not changed; the next plan shows how it differs from its block. The provider
decides what an ID looks like.

An import block in the configuration does the same as part of a plan, for many objects at once.`,
		Example: `~ import 'aws_instance.web[0]' i-0123456789abcdef0`,
		Setup: func(c *command.Call) command.Run {
			p := &planning{refreshOnly: true, refresh: true, editing: true}
			p.Variables.VariableFlags(c)
			p.Locking.LockFlags(c)
			c.StateWriteFlags(&p.StateFiles)
			c.LineFlags()
			var ignored bool
			c.Flags.StringVar(&p.dir, "config", "",
				"The `FOLDER` with the configuration. The default is the working directory.")
			c.Flags.BoolVar(&p.input, "input", true, "Do not ask for input. If a value is missing, the command fails.")
			c.Flags.IntVar(&p.parallelism, "parallelism", 10,
				"Run at most `N` provider operations at the same time.")
			c.Flags.BoolVar(&ignored, "ignore-remote-version", false,
				"Accepted for compatibility; has no effect.")
			return func(ctx context.Context) command.Outcome {
				if len(c.Args) != 2 {
					return c.WrongUse("The import command expects two arguments.")
				}
				return runImport(ctx, c, p, c.Args[0], c.Args[1])
			}
		},
	}
}

func runImport(ctx context.Context, c *command.Call, p *planning, address, id string) command.Outcome {
	target, diags := importTarget(c, address)
	if diags.HasErrors() {
		return c.End(diags)
	}
	if target.Resource.Mode != addr.Managed {
		return c.End(
			diags.Errorf(nil, "A managed resource address is required. Importing into a data resource is not allowed.",
				"%s is not a managed resource.", target))
	}
	s, ok := begin(ctx, c, p, kind{operation: state.OperationImport})
	if !ok {
		return command.Failed
	}
	defer s.end()
	if diags := importable(s.project.Config(), target); diags.HasErrors() {
		c.Report(s.warnings.Extend(diags))
		return command.Failed
	}
	say := func(format string, args ...any) { c.Tell("%s\n", view.Clean(fmt.Sprintf(format, args...))) }
	say("%s: Importing from ID %q...", target, id)
	s.options.SkipRefresh = true
	s.options.Import = &engine.Import{Target: target, ID: id, Found: func() {
		say("%s: Import prepared!\n  Prepared %s for import", target, target.Resource.Type)
	}}
	pl, diags := s.plan()
	if pl == nil || pl.Errored || diags.HasErrors() {
		c.Report(diags)
		return command.Failed
	}
	_, more := s.run.Apply(s.ctx, pl, ephemeral(pl, s.options.Variables))
	diags = diags.Extend(more)
	if !diags.HasErrors() && s.run.IsOpen(target) { // an import of the object resolves its interrupted creation
		diags = diags.Extend(s.run.Recover(s.ctx, target, engine.Recovery{Retry: true}, nil))
		say("%s: this resolves its interrupted creation", target)
	}
	if !c.Report(diags) || !s.release() {
		return command.Failed
	}
	c.Tell("\n%s\n\nThe object is now in the state, and %s manages it from now on.\n\n",
		c.Green("Import successful!"), c.Title)
	return command.Done
}

// importTarget parses the address. Its errors show the address as source code.
func importTarget(c *command.Call, address string) (target addr.AbsResourceInstance, diags diag.List) {
	const source = "<import-address>"
	c.AddSources(map[string][]byte{source: []byte(address)})
	traversal, problems := hclsyntax.ParseTraversalAbs([]byte(address), source, hcl.InitialPos)
	if problems.HasErrors() {
		return target, diags.AppendHCL(problems)
	}
	t, diags := addr.TargetFromTraversal(traversal)
	if !diags.HasErrors() && t.IsModule() {
		diags = diags.Errorf(traversal.SourceRange().Ptr(), "Invalid address",
			"%s is a module. Objects can only be imported as instances of a resource: %s.aws_instance.web.", t, t)
	}
	return addr.AbsResourceInstance{Module: t.Module, Resource: t.Resource, Key: t.Key}, diags
}

// importable returns an error if the configuration has no block for an object.
func importable(cfg *config.Config, target addr.AbsResourceInstance) diag.List {
	m := cfg.Module(target.Module.Config())
	if m == nil {
		return diag.List{}.Errorf(nil, "Import to non-existent module",
			"%s is not part of the configuration. Call the module first.", target.Module)
	}
	if m.Resources[target.Resource] != nil {
		return nil
	}
	where := "the root module"
	if !m.Path.IsRoot() {
		where = m.Path.String()
	}
	example := strings.Join([]string{`resource "` + target.Resource.Type + `" "` + target.Resource.Name + `" {`,
		"  # arguments", "}"}, "\n")
	var blocks []addr.AbsResourceInstance
	for r := range m.Resources {
		blocks = append(blocks, addr.AbsResourceInstance{Module: target.Module, Resource: r})
	}
	block := addr.AbsResource{Module: target.Module, Resource: target.Resource}
	advice := fmt.Sprintf("Write its block in %s before you import it, for example:\n\n%s", where, example)
	if meant := diag.DidYouMean(block.String(), addr.Names(blocks)); meant != "" {
		advice = meant[1:] + "\n\n" + advice
	}
	return diag.List{}.Errorf(nil, fmt.Sprintf("resource address %q does not exist in the configuration.", target),
		"%s", advice)
}
