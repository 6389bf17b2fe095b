// Package tombolo is the library form of the engine: load a project, plan it, apply the plan.
//
//	project, diags := tombolo.Load(ctx, tombolo.Options{Dir: "examples/quickstart"})
//	run, diags := project.Open(ctx, tombolo.OpenOptions{})        // takes the state's lock
//	defer run.Close()
//	p, diags := run.Plan(ctx, tombolo.PlanOptions{})
//	diags = run.Apply(ctx, p)
//
// The command line is a client of this package. Stores, providers, parallelism and the sink of events are options; everything
// has a useful zero value. The package starts no goroutines that outlive a call.
package tombolo

import (
	"context"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Version is the version of the engine itself; the language version is state.LanguageVersion.
const Version = "0.1.0"

// Options describe a project and its surroundings.
type Options struct {
	// Dir is the directory of the root module; empty means ".".
	Dir string
	// DataDir holds what init installed; empty means ".terraform" in Dir.
	DataDir string
	// OriginalDir is path.cwd; empty means the process's working directory.
	OriginalDir string
	// Workspace is the selected workspace; empty means "default".
	Workspace string
	// Store keeps the state; nil means the local store at Dir/terraform.tfstate.
	Store state.Store
	// Providers are started on demand, one instance per provider configuration. They come before the built-in ones.
	Providers map[addr.Provider]provider.Factory
	// Parallelism bounds concurrent provider calls; 0 means 10.
	Parallelism int
	// Events receives what happens; nil drops it.
	Events event.Sink
}

// Variables are the values of root input variables, as Load's caller gives them; see ParseVariables for files and text.
type Variables map[string]cty.Value

// OpenOptions say how to take the state's lock.
type OpenOptions struct {
	// Operation is shown to others who find the lock, such as OperationTypeApply.
	Operation string
	// NoLock does without the shared lock; Timeout waits for another holder.
	NoLock  bool
	Timeout time.Duration
}

// PlanOptions say what to plan.
type PlanOptions struct {
	Mode         plan.Mode
	SkipRefresh  bool
	Targets      []addr.Target
	ForceReplace []addr.AbsResourceInstance
	Variables    map[string]config.InputValue
	// KeepConfig puts the source files into the plan, for saving it.
	KeepConfig bool
}
