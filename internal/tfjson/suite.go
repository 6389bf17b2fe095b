package tfjson

import (
	"io"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Documents of a test run, for the verbose stream of tests.

// TestPlan writes the plan of a run.
func TestPlan(w io.Writer, p *plan.Plan, schemas Schemas) error {
	s := newStream(w)
	s.open('{')
	s.member("plan_format_version", planFormat)
	s.outputChanges(p.Outputs)
	s.changes("resource_drift", SortedChanges(p.Drift), schemas)
	changes := SortedChanges(p.Changes)
	if p.Mode == plan.RefreshOnly {
		changes = nil
	}
	s.changes("resource_changes", changes, schemas)
	s.invocations(p.Invocations, schemas)
	s.relevant(p.Relevant)
	s.schemasOf(schemas)
	s.close('}')
	return s.end()
}

// TestState writes the state after a run.
func TestState(w io.Writer, st *state.State, schemas Schemas) error {
	s := newStream(w)
	s.open('{')
	s.member("state_format_version", stateFormat)
	s.key("root_module")
	tree := moduleTree(st.Resources(), func(r *state.Resource) addr.ModuleInstance { return r.Addr.Module })
	if err := writeModule(s, tree, func(r *state.Resource) error { return s.stateResource(r, schemas) }); err != nil {
		return err
	}
	s.stateOutputs(st)
	s.schemasOf(schemas)
	s.close('}')
	return s.end()
}

func (s *stream) schemasOf(schemas Schemas) {
	s.member("provider_format_version", schemaFormat)
	s.schemas(schemas)
}
