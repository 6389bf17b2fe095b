package provision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/provider"
)

var localExec = &provider.Block{Attributes: map[string]*provider.Attribute{
	"command":     {Type: cty.String, Required: true},
	"interpreter": {Type: cty.List(cty.String), Optional: true},
	"working_dir": {Type: cty.String, Optional: true},
	"environment": {Type: cty.Map(cty.String), Optional: true},
	"quiet":       {Type: cty.Bool, Optional: true},
}}

// maxKept limits the output that an error repeats, in bytes.
const maxKept = 64 << 10

// commandError is the error of a failed command, in Terraform's words.
type commandError struct {
	command string
	err     error
}

func (e *commandError) Error() string {
	return "Error running command '" + e.command + "': " + e.err.Error()
}

func (e *commandError) Unwrap() error { return e.err }

// runLocal runs the command of a local-exec block.
func runLocal(ctx context.Context, req Request, tell func(line string)) error {
	command := req.text("command")
	if command == "" {
		return &ArgumentError{"command", "it must be a non-empty string"}
	}
	argv := append(interpreter(req.Config.GetAttr("interpreter")), command)
	if quiet := req.Config.GetAttr("quiet"); !quiet.IsNull() && quiet.True() {
		tell("local-exec: Executing: Suppressed by quiet=true")
	} else {
		tell(fmt.Sprintf("Executing: %q", argv))
	}
	res, err := program.Run(ctx, program.Command{
		Argv: argv, Dir: req.text("working_dir"), Base: req.Dir, Env: slices.Concat(os.Environ(),
			environment(req.Config.GetAttr("environment"))),
		Joined: true, Stderr: tell, MaxStderr: maxKept, Linger: program.Unlimited,
	})
	if req.Instead != "" {
		command = req.Instead
	}
	var output []byte
	if res != nil && req.Instead == "" {
		output = res.Stderr
	}
	var stopped *program.StoppedError
	switch {
	case errors.As(err, &stopped):
		err = withOutput(err, "\n", output)
	case err == nil && res.ExitCode != 0:
		err = withOutput(errors.New(res.State), ". ", output)
	}
	if err != nil {
		return &commandError{command, err}
	}
	return nil
}

// withOutput adds the output of a command to its error, if there is any.
func withOutput(err error, separator string, output []byte) error {
	if len(bytes.TrimSpace(output)) == 0 {
		return err
	}
	return fmt.Errorf("%w%sOutput: %s", err, separator, output)
}

func interpreter(v cty.Value) []string {
	var argv []string
	if !v.IsNull() {
		for _, part := range v.AsValueSlice() {
			if !part.IsNull() {
				argv = append(argv, part.AsString())
			}
		}
	}
	switch {
	case len(argv) > 0:
		return argv
	case runtime.GOOS == "windows":
		return []string{"cmd", "/C"}
	}
	return []string{"/bin/sh", "-c"}
}

func environment(v cty.Value) []string {
	var out []string
	if v.IsNull() {
		return nil
	}
	for name, value := range v.AsValueMap() {
		if !value.IsNull() && !strings.ContainsRune(name, '=') {
			out = append(out, name+"="+value.AsString())
		}
	}
	slices.Sort(out)
	return out
}
