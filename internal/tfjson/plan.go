package tfjson

import (
	"io"

	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Plan writes the plan document on one line: what `show -json PLANFILE` prints. prior is p.Prior(), which the caller may hold already;
// cfg is the configuration of the plan, or nil when there is none (the document then has no configuration member).
func Plan(w io.Writer, p *plan.Plan, prior *state.State, cfg *config.Config, schemas Schemas) error {
	return nil
}
