// Package eval turns the static module tree into values: it expands modules, and evaluates variables, local values,
// output values and the bodies of blocks. It implements the language, and knows no plans or states. What happens to a
// resource is decided by a Driver: internal/planning plans it, internal/applying applies it, and both hand its value
// back with Block.Set.
//
// Each pass has a package: blocks compiles the body of a block against its schema, linking finds the references of
// every block once and orders the work, and funcs has the functions. This package is the last pass, the Walk: one node
// for each slot of each module instance, on the ready queue of internal/graph. When a node runs, everything that it
// refers to has its value, which is computed once and shared. A walk that is Validating expands nothing, treats every
// variable and object as unknown, and reports all mistakes of the configuration together.
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

// Inputs holds the surroundings of a walk.
type Inputs struct {
	Functions Functions
	// Variables holds the values of the root module's variables, not converted; missing ones get their default.
	Variables map[string]cty.Value
	// VariableRanges holds the places of values from files, for messages.
	VariableRanges map[string]hcl.Range
	Workspace      string
	// Cwd is path.cwd.
	Cwd string
	// Applying is terraform.applying.
	Applying bool
	// Importing evaluates import blocks; see ImportOf.
	Importing bool
	// Validating expands nothing: every repeated block and module stands for one instance with unknown keys and values.
	Validating bool
	// Expansions, when set, fixes the instances of every module call beforehand: the graph is complete before the first
	// node runs.
	Expansions Expansions
	// Lenient makes failed conditions warnings: the walk is only for display.
	Lenient bool
	// StrictOutputs excepts preconditions of outputs from that: their values are recorded without being shown.
	StrictOutputs bool
	// Unchecked leaves check blocks out, for walks that only evaluate values.
	Unchecked bool
	// Only, when set, selects the slots to evaluate; the selection must include their dependencies (see
	// Program.Needed).
	Only map[*linking.Slot]bool
	// Partial means that Only leaves out parts of the configuration: their conditions are listed as unknown.
	Partial bool
	// Hold decides about blocks that depend on instances which the driver leaves alone.
	Hold Hold
	// InUse holds provider configurations that no block uses, but objects whose blocks are gone.
	InUse map[addr.AbsProviderConfig]bool
	// Secrets, when set, are removed from the texts of all diagnostics: providers may report what they received.
	Secrets *value.Secrets
	// StandIns, when set, mock some providers and modules.
	StandIns StandIns
	// Workers limits how many nodes run at once.
	Workers int
}

// Expansions lists the instance keys of every module call of every module instance.
type Expansions map[addr.ModuleInstance]map[string][]addr.Key

// Driver decides what happens to resources and provider configurations. Its methods are called concurrently, each once
// for a node, after everything that the block refers to has its value. An error fails the node; its text is not shown,
// the diagnostics are.
type Driver interface {
	// Resource must end with a call of Block.Set, unless it fails.
	Resource(n *graph.Node, b *Block) error
	// Provider receives the evaluated configuration of a provider block, or of one of its instances.
	Provider(s *linking.Slot, key addr.Key, config cty.Value) error
	// RootOutput receives the value of an output value of the root module, marks included.
	RootOutput(s *linking.Slot, v cty.Value) error
}

// ErrReported fails a node whose problems are in the walk's diagnostics already.
var ErrReported = errors.New("reported as a diagnostic")
