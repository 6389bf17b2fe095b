// Package provision runs provisioners: programs that the configuration starts when an object has been created or before
// it is destroyed. There is one, local-exec, which runs a command on this machine.
//
// The callers evaluate the block, decide what a failure means and keep the journal; this package runs the program in a
// process group of its own, passes on what it prints line by line, and makes it end with its descendants when the
// context ends. Run starts no goroutines beyond those that package program owns.
//
//	out, err := provision.Run(ctx, "local-exec", provision.Request{Config: config, Output: func(line string) { ... }})
package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"unicode"

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

// Schema describes the block of a provisioner; nil when there is none of that type.
func Schema(typ string) *provider.Block {
	if typ == "local-exec" {
		return localExec
	}
	return nil
}

// Remote reports that the language knows the provisioner, as one that works on another machine, but this package does
// not have it.
func Remote(typ string) bool { return typ == "file" || typ == "remote-exec" }

// Suppressed returns what stands for every line of a program whose configuration is secret; empty when it is not.
func Suppressed(sensitive, ephemeral bool) string {
	var why []string
	if sensitive {
		why = append(why, "sensitive")
	}
	if ephemeral {
		why = append(why, "ephemeral")
	}
	if why == nil {
		return ""
	}
	return "(output suppressed due to " + strings.Join(why, ", ") + " value in config)"
}

// maxKept is how much of the output an error repeats.
const maxKept = 64 << 10

// Request is what to run.
type Request struct {
	// Config is the evaluated block, wholly known and without marks.
	Config cty.Value
	// Instead, when set, is shown instead of every line: the block holds what must not be shown. See Suppressed.
	Instead string
	// Dir is what relative names are relative to; empty means the working directory of this process.
	Dir string
	// Output gets each line as it is printed. It is called from one goroutine at a time.
	Output func(line string)
}

// ArgumentError means that an argument of the block cannot be used. Nothing was run.
type ArgumentError struct{ Name, Problem string }

// Error names the argument.
func (e *ArgumentError) Error() string { return e.Name + ": " + e.Problem }

// Run runs a provisioner to its end. Errors that are not *ArgumentError are for people: they tell how the program
// ended, with its output.
func Run(ctx context.Context, typ string, req Request) error {
	if typ != "local-exec" {
		return fmt.Errorf("there is no provisioner %q", typ)
	}
	get := func(name string) string {
		if v := req.Config.GetAttr(name); !v.IsNull() {
			return v.AsString()
		}
		return ""
	}
	command := get("command")
	if command == "" {
		return &ArgumentError{"command", "it must be a non-empty string"}
	}
	tell := func(line string) {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		switch {
		case line == "": // says nothing; Terraform leaves it out too
		case req.Instead != "":
			req.Output(req.Instead)
		default:
			req.Output(line)
		}
	}
	argv := append(interpreter(req.Config.GetAttr("interpreter")), command)
	if quiet := req.Config.GetAttr("quiet"); !quiet.IsNull() && quiet.True() {
		tell("local-exec: Executing: Suppressed by quiet=true")
	} else {
		tell(fmt.Sprintf("Executing: %q", argv))
	}
	res, err := program.Run(ctx, program.Command{
		Argv: argv, Dir: get("working_dir"), Base: req.Dir, Env: slices.Concat(os.Environ(),
			environment(req.Config.GetAttr("environment"))),
		Joined: true, Stderr: tell, MaxStderr: maxKept, Linger: program.Unlimited,
	})
	var output []byte
	if res != nil && req.Instead == "" {
		output = res.Stderr
	}
	var stopped *program.StoppedError
	switch {
	case errors.As(err, &stopped):
		return fmt.Errorf("%w\nOutput: %s", err, output)
	case err != nil:
		return err
	case res.ExitCode != 0:
		return fmt.Errorf("%s. Output: %s", res.State, output)
	}
	return nil
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
