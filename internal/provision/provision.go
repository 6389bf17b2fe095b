// Package provision runs provisioners: programs that the configuration starts when an object has been created or before
// it is destroyed. local-exec runs a command on this machine, remote-exec runs scripts on another one, and file copies
// files there.
//
// The callers evaluate the block and its connection, decide what a failure means and keep the journal. This package
// runs local commands in a process group of their own, passes on line by line what is printed, and makes everything end
// when the context ends.
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
	// check reports problems that the schema cannot find, in a block with possibly unknown parts; nil if there are
	// none.
	check func(config cty.Value) diag.List
	run   func(ctx context.Context, req Request, tell func(line string)) error
}

var kinds = map[string]kind{
	"local-exec":  {schema: localExec, run: runLocal},
	"remote-exec": {schema: remoteExec, check: checkRemote, run: runRemote},
	"file":        {schema: fileSchema, check: checkFile, run: runFile},
}

// Schema describes the block of a provisioner, or nil if there is none of that type.
func Schema(typ string) *provider.Block { return kinds[typ].schema }

// Connection describes the connection block of provisioners.
var Connection = machines.Schema

// Check reports problems of a provisioner's block and of its connection that the schemas cannot find, which is
// cty.NilVal if there is none. Parts of both may be unknown, and neither has marks. Each problem has the path of its
// argument.
func Check(typ string, config, connection cty.Value) (block, conn diag.List) {
	if check := kinds[typ].check; check != nil && config.IsKnown() && !config.IsNull() {
		block = check(config)
	}
	if connection != cty.NilVal && connection.IsKnown() && !connection.IsNull() {
		conn = machines.Check(connection)
	}
	return block, conn
}

// Secrets holds the secret arguments of a connection.
var Secrets = machines.Secrets

// Suppressed returns the replacement for every line of a program whose configuration is secret; empty if it is not.
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
	// Instead, when set, is shown instead of every line: the block holds secrets. See Suppressed.
	Instead string
	// Dir is the base of relative names; empty means the working directory of this process.
	Dir string
	// Output gets each line as it is printed. It is called from one goroutine at a time.
	Output func(line string)
}

// ArgumentError means that an argument of the block cannot be used. Nothing was run.
type ArgumentError struct{ Name, Problem string }

// Error names the argument.
func (e *ArgumentError) Error() string { return e.Name + ": " + e.Problem }

// Run runs a provisioner to its end. Errors that are not *ArgumentError are for people: how the program ended, with its
// output.
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
			if line != "" { // one that says nothing is left out, as in Terraform
				req.Output(line)
			}
		}
	})
}

// text returns an argument that is a string; "" if it is not set.
func (r *Request) text(name string) string {
	if v := r.Config.GetAttr(name); !v.IsNull() {
		return v.AsString()
	}
	return ""
}
