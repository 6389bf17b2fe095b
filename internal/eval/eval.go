// Package eval evaluates the static module tree: it expands modules, and evaluates variables, local values, output
// values and the bodies of blocks. It implements the language, and does not depend on plans. A Driver handles each
// resource: internal/planning plans it, internal/applying applies it, and both return its value with Block.Set.
//
// Each pass has a package: blocks compiles the body of a block against its schema, linking finds the references of
// every block once and orders the work, and funcs has the functions. This package is the last pass, the Walk: one node
// for each slot of each module instance, on the ready queue of internal/graph. When a node runs, everything that it
// refers to has been evaluated, once, and the value is shared. A walk that is Validating expands nothing, treats every
// variable and object as unknown, and reports all mistakes of the configuration.
//
//	prog, diags := linking.New(cfg, schemas)
//	walk := eval.NewWalk(prog, inputs, driver)
//	walk.Run(ctx)
package eval

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// Inputs holds the inputs of a walk.
type Inputs struct {
	Functions Functions
	// Variables holds the values of the root module's variables, before conversion; missing ones get their default.
	Variables map[string]cty.Value
	// VariableRanges holds the source ranges of values from files, for messages.
	VariableRanges map[string]hcl.Range
	Workspace      string
	// Cwd is path.cwd.
	Cwd string
	// Applying is terraform.applying.
	Applying bool
	// Importing evaluates import blocks; see ImportOf.
	Importing bool
	// Validating means that nothing is expanded: every repeated block and module has one instance with unknown keys and
	// values.
	Validating bool
	// Expansions, if set, are the instances of every module call, so that the graph is complete before the first node
	// runs.
	Expansions Expansions
	// Lenient makes failed conditions warnings, for walks that only display values.
	Lenient bool
	// StrictOutputs makes preconditions of outputs an exception to Lenient: their values are recorded without being
	// shown.
	StrictOutputs bool
	// Unchecked omits check blocks, for walks that only evaluate values.
	Unchecked bool
	// Only, if set, selects the slots to evaluate; the selection must include their dependencies (see Program.Needed).
	Only map[*linking.Slot]bool
	// Partial means that Only excludes parts of the configuration, whose conditions are unknown.
	Partial bool
	// Hold determines which blocks depend on instances that the driver excludes.
	Hold Hold
	// Defers makes an unknown count, for_each or enabled a deferral instead of an error: the slot and its dependents
	// are held. It requires HoldDependents.
	Defers bool
	// Deferred holds the addresses of slots that are held from the start, because a plan deferred them.
	Deferred map[string]bool
	// InUse holds provider configurations that only objects without a block use.
	InUse map[addr.AbsProviderConfig]bool
	// Secrets, if set, are removed from the texts of all diagnostics: providers may report what they received.
	Secrets *value.Secrets
	// StandIns, if set, mock some providers and modules.
	StandIns StandIns
	// Workers limits how many nodes run concurrently.
	Workers int
}

// Expansions lists the instance keys of every module call of every module instance.
type Expansions map[addr.ModuleInstance]map[string][]addr.Key

// Driver handles resources and provider configurations. Its methods are called concurrently, each once for a node,
// after everything that the block refers to has been evaluated. An error fails the node; its text is not shown, only
// the diagnostics are.
type Driver interface {
	// Resource must end with a call of Block.Set, unless it fails.
	Resource(n *graph.Node, b *Block) error
	// Provider receives the evaluated configuration of a provider block, or of one of its instances.
	Provider(s *linking.Slot, key addr.Key, config cty.Value) error
	// RootOutput receives the value of a root output, with marks.
	RootOutput(s *linking.Slot, v cty.Value) error
}

// ErrReported fails a node whose problems are already in the walk's diagnostics.
var ErrReported = errors.New("reported as a diagnostic")
