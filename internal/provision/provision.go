// Package provision runs provisioners: programs that the configuration starts after an object was created or before it
// is destroyed. local-exec runs a command on this machine, remote-exec runs scripts on another one, and file copies
// files there.
//
// The callers evaluate the block and its connection, decide about failures and keep the journal. This package runs
// local commands in their own process group, reports their output line by line, and ends everything when the context
// ends.
//
//	err := provision.Run(ctx, "local-exec", provision.Request{Config: config, Output: func(line string) { ... }})
package provision

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/provision/machines"
	"github.com/tombolo-iac/tombolo/provider"
)

// A kind is one type of provisioner.
type kind struct {
	schema *provider.Block
	// check reports problems that the schema cannot find, in a block with possibly unknown parts. It may be nil.
	check func(config cty.Value) diag.List
	run   func(ctx context.Context, req Request, tell func(line string)) error
}

var kinds = map[string]kind{
	"local-exec":  {schema: localExec, run: runLocal},
	"remote-exec": {schema: remoteExec, check: checkRemote, run: runRemote},
	"file":        {schema: fileSchema, check: checkFile, run: runFile},
}

// Schema returns the schema of a provisioner's block, or nil for an unknown type.
func Schema(typ string) *provider.Block { return kinds[typ].schema }

// Connection describes the connection block of provisioners.
var Connection = machines.Schema

// Check reports problems of a provisioner's block and of its connection (cty.NilVal if there is none) that the schemas
// cannot find. Parts of both may be unknown, and neither has marks. Each problem has the path of its argument.
func Check(typ string, config, connection cty.Value) (block, conn diag.List) {
	if check := kinds[typ].check; check != nil && config.IsKnown() && !config.IsNull() {
		block = check(config)
	}
	if connection != cty.NilVal && connection.IsKnown() && !connection.IsNull() {
		conn = machines.Check(connection)
	}
	return block, conn
}

// Secrets lists the secret arguments of a connection.
var Secrets = machines.Secrets

// Suppressed returns the text that replaces every line of a program whose configuration is secret, or "" if it is not.
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

// Request describes a command to run.
type Request struct {
	// Config is the evaluated block, wholly known and without marks.
	Config cty.Value
	// Connection is the evaluated connection block, likewise, or cty.NilVal if there is none.
	Connection cty.Value
	// Instead, if set, replaces every line, because the block contains secrets. See Suppressed.
	Instead string
	// Dir is the base of relative names; "" means the working directory of this process.
	Dir string
	// Output is called with each line as it is printed, never concurrently.
	Output func(line string)
}

// ArgumentError means that an argument of the block is invalid. Nothing was run.
type ArgumentError struct{ Name, Problem string }

// Error names the argument.
func (e *ArgumentError) Error() string { return e.Name + ": " + e.Problem }

// Run runs a provisioner to its end. Errors other than *ArgumentError are texts for users: how the program ended, with
// its output.
func Run(ctx context.Context, typ string, req Request) error {
	k, ok := kinds[typ]
	if !ok {
		return fmt.Errorf("there is no provisioner %q", typ)
	}
	return k.run(ctx, req, func(text string) {
		if req.Instead != "" && strings.TrimSpace(text) != "" {
			text = req.Instead
		}
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimRightFunc(line, unicode.IsSpace)
			if line != "" { // empty lines are omitted, as in Terraform
				req.Output(line)
			}
		}
	})
}

// text returns a string argument, or "" if it is not set.
func (r *Request) text(name string) string {
	if v := r.Config.GetAttr(name); !v.IsNull() {
		return v.AsString()
	}
	return ""
}
