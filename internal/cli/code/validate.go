package code

import (
	"context"
	"fmt"
	"os"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/suite"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
)

// Validate is the command validate.
func Validate() *command.Command {
	return &command.Command{
		Name: "validate", Short: "Check whether the configuration is valid", Args: "[DIR]", Main: true,
		Long: `Check whether the configuration is valid by itself: syntax, names, references, argument names and
types. This does not read the values of variables, the state or real objects.`,
		Exits: `0  The configuration is valid. There may be warnings.
1  The configuration is not valid.`,
		Example: `~ validate -json
~ validate -sarif=problems.sarif`,
		Setup: func(c *command.Call) command.Run {
			var noTests, query bool
			c.DocumentFlags()
			c.DeprecationFlag()
			files := c.ProblemFiles()
			c.Flags.BoolVar(&noTests, "no-tests", false, "Do not check test files.")
			c.Flags.BoolVar(&query, "query", false, "Check query files (.tfquery.hcl), too.")
			c.ConstantFlags()
			tests := command.TestFlag(c)
			return func(ctx context.Context) command.Outcome {
				dir := "."
				switch len(c.Args) {
				case 0:
				case 1:
					dir = c.Args[0]
				default:
					return c.Misuse("Too many command line arguments",
						"Expected at most one positional argument: the directory.")
				}
				diags := validate(ctx, c, dir, query)
				if !noTests {
					diags = diags.Extend(command.TestDirectory(*tests))
				}
				if !noTests && dir == "." {
					diags = diags.Extend(validateTests(ctx, c, *tests))
				}
				return validity(c, diags.Extend(files.Write(diags)))
			}
		},
	}
}

// validity prints the problems, and returns the outcome.
func validity(c *command.Call, diags diag.List) command.Outcome {
	if to := c.Documents(); to != nil {
		c.ReadSources(diags)
		if err := tfjson.Validate(to, c.Named(diags).Sorted(), c.Sources()); err != nil {
			return c.Finish("Failed to show the result", err)
		}
	}
	switch {
	case !c.Document && !c.Report(diags), diags.HasErrors():
		return command.Failed
	case c.Document:
		return command.Done
	}
	qualified := ""
	if len(c.Shown(diags)) > 0 {
		qualified = ", but there were some validation warnings\nas shown above"
	}
	fmt.Fprintf(c.Out, "%s The configuration is valid%s.\n\n", c.Green("Success!"), qualified)
	return command.Done
}

func validate(ctx context.Context, c *command.Call, dir string, query bool) diag.List {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return diag.List{}.Errorf(nil, "Failed to read module directory", "There is no directory %s that can be read.",
			dir)
	}
	project, diags := c.Load(ctx, command.ProjectOptions{Dir: dir, EachPlugin: true, Query: query})
	if !diags.HasErrors() {
		defer project.Close()
		diags = diags.Extend(project.Validate(ctx))
	}
	if dir != "." {
		diags = command.SeenFromHere(diags, dir)
	}
	return diags
}

// validateTests checks the test files and the modules that they run.
func validateTests(ctx context.Context, c *command.Call, dir string) diag.List {
	files, diags := c.TestFiles(dir)
	if len(files) == 0 {
		return diags
	}
	own, _ := c.TestModule(ctx, nil) // its problems have been reported
	configs := map[*testfile.Run]*config.Config{nil: own}
	seen := map[string]bool{".": true}
	for _, f := range files {
		for _, run := range f.Runs {
			configs[run] = own
			if run.Module == nil || run.Module.Kind == 0 {
				continue
			}
			cfg, more := c.TestModule(ctx, run)
			if configs[run] = cfg; more.HasErrors() {
				diags = diags.Extend(more)
				continue
			}
			if cfg == nil || seen[cfg.Root.Dir] {
				continue
			}
			seen[cfg.Root.Dir] = true
			diags = diags.Extend(validateModule(ctx, c, run))
		}
		diags = diags.Extend(suite.Review(f, func(run *testfile.Run) *config.Config { return configs[run] }))
	}
	return diags
}

// validateModule checks the module of a run of a test file.
func validateModule(ctx context.Context, c *command.Call, run *testfile.Run) diag.List {
	project, diags := c.Load(ctx, command.ProjectOptions{Module: run.Place(), EachPlugin: true})
	if diags.HasErrors() {
		return diags
	}
	defer project.Close()
	return diags.Extend(project.Validate(ctx))
}
