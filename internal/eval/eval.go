// Package eval turns the static module tree into values: it expands modules, and evaluates variables, local values,
// output values and the bodies of blocks. It knows what the language means and nothing of plans or states. What happens
// to a resource is decided by a Driver: internal/planning plans it, internal/applying applies it, and both hand its
// value back with Block.Set.
//
// Each pass has a package. Below it, blocks compiles the body of a block against its schema, linking finds the
// references of every block once and orders the work, and funcs has the functions. This package is the last pass, the
// Walk: one node for each slot of each module instance, on the ready queue of internal/graph. By the time a node runs,
// all that it refers to has its value, which is computed once and shared. A walk that is Validating expands nothing,
// takes every variable and object for unknown, and finds all mistakes of the configuration together.
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

// Inputs are the surroundings of a walk.
type Inputs struct {
	Functions Functions
	// Variables are the values of the root module's variables as given, not converted; missing ones take their default.
	Variables map[string]cty.Value
	// VariableRanges are the places where those were written that stand in a file; messages are about that place.
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
	// Expansions, when set, fixes the instances of every module call beforehand: the whole graph stands before the
	// first node runs.
	Expansions Expansions
	// Lenient makes conditions that do not hold warnings: somebody only wants to see what is there.
	Lenient bool
	// StrictOutputs excepts preconditions of outputs from that: what was seen is recorded without being shown.
	StrictOutputs bool
	// Unchecked leaves check blocks out: what they are to warn of does not happen when somebody only asks for values.
	Unchecked bool
	// Only, when set, chooses the slots that do anything; the choice must be closed over dependencies (see
	// Program.Needed).
	Only map[*linking.Slot]bool
	// Partial means that Only leaves out parts of what is wanted: their conditions are listed as unknown.
	Partial bool
	// Hold decides about blocks that depend on instances which the driver leaves alone.
	Hold Hold
	// InUse are provider configurations that are needed though no block is managed by them: by objects whose blocks are
	// gone.
	InUse map[addr.AbsProviderConfig]bool
	// Secrets, when set, are taken out of the texts of all diagnostics: providers may report what they were given.
	Secrets *value.Secrets
	// StandIns, when set, answer in place of some providers and modules.
	StandIns StandIns
	// Workers bounds how many nodes run at once.
	Workers int
}

// Expansions lists the instance keys of every module call of every module instance.
type Expansions map[addr.ModuleInstance]map[string][]addr.Key

// Driver decides what happens to resources and provider configurations. Its methods are called concurrently, each once
// for a node, when everything that the block refers to has its value. An error fails the node; its text is not shown,
// the diagnostics are.
type Driver interface {
	// Resource must end with a call of Block.Set, unless it fails.
	Resource(n *graph.Node, b *Block) error
	// Provider takes the evaluated configuration of a provider block, or of one of its instances.
	Provider(s *linking.Slot, key addr.Key, config cty.Value) error
	// RootOutput takes the value of an output value of the root module, marks included.
	RootOutput(s *linking.Slot, v cty.Value) error
}

// ErrReported fails a node whose problems are in the walk's diagnostics already.
var ErrReported = errors.New("reported as a diagnostic")
