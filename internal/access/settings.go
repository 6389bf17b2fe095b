package access

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/patience"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// Settings configures a walk. The options of planning and of applying embed it, and the engine sets it in one place, so
// that no walk lacks the secrets to hide or the limits of services.
type Settings struct {
	Functions eval.Functions
	// Variables and VariableRanges are as in eval.Inputs.
	Variables      map[string]cty.Value
	VariableRanges map[string]hcl.Range
	Workspace      string
	Cwd            string
	// Parallelism is the maximum number of concurrent provider calls; values below one mean one.
	Parallelism int
	// Gate delays calls to services; nil means no limits.
	Gate *patience.Gate
	// Secrets collects the sensitive strings that providers receive, to hide them in the providers' messages.
	Secrets *value.Secrets
	Events  event.Sink
	// StandIns, if set, replace some providers and modules by mocks.
	StandIns eval.StandIns
	// Walked is called with the walk after its end, to evaluate more expressions with its values; it may be nil.
	Walked func(*eval.Walk)
}

// Inputs returns the inputs of a walk with these settings. More nodes run than provider calls, since some only
// evaluate.
func (s Settings) Inputs() eval.Inputs {
	return eval.Inputs{
		Functions: s.Functions, Variables: s.Variables, VariableRanges: s.VariableRanges, Workspace: s.Workspace,
		Cwd: s.Cwd, Secrets: s.Secrets, StandIns: s.StandIns, Workers: max(1, s.Parallelism) + 4,
	}
}
