package cli

import (
	"context"
	"fmt"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/tracing"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// traced runs a command and records a trace if the environment requests that. Problems of the trace or its collector
// are only warnings.
func traced(ctx context.Context, a *command.App, path string,
	run func(context.Context) command.Outcome) command.Outcome {
	r, err := tracing.New(tracing.Options{Getenv: a.Getenv, Name: a.Title, Version: engine.Version})
	if err != nil {
		fmt.Fprintf(a.Err, "Warning: Traces are not recorded: %s.\n", view.Clean(err.Error()))
	}
	ctx, span := r.Begin(ctx, a.Program+" "+path)
	o := run(ctx)
	span.End(o == command.Done || o == command.Changes || o == command.Unformatted)
	if err := r.Close(); err != nil {
		fmt.Fprintf(a.Err, "Warning: Traces are incomplete: %s.\n", view.Clean(err.Error()))
	}
	return o
}
