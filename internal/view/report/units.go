package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/plan"
)

// Unit is one of many root modules in a report.
type Unit struct {
	Name string
	// Phase is a word for what has become of the unit, such as planned or failed, and Reason says why or how.
	Phase, Reason string
	// Notes say what the plan takes for granted.
	Notes []string
	// Options are those of the report of the unit.
	Options Options
	// Plan is its plan, or nil. Without a plan and without problems, the unit has only a line.
	Plan    *plan.Plan
	Schemas tfjson.Schemas
}

// unit is a unit in the payload.
type unit struct {
	Name   string    `json:"name"`
	Phase  string    `json:"phase"`
	Reason string    `json:"reason,omitempty"`
	Notes  []string  `json:"notes,omitempty"`
	Report *document `json:"report,omitempty"`
}

// Units writes one page for many units: a list, and the report of each unit that has a plan or problems. The title is
// that of the list, such as "Plans of 3 units".
func Units(w io.Writer, o Options, title string, list []Unit) error {
	d := &document{Kind: "units", Title: title, Objects: []object{}, Bodies: []string{}, Units: []unit{}}
	d.about(o, o.now())
	counts, phases := map[string]int{}, []string{}
	for _, u := range list {
		if counts[u.Phase]++; counts[u.Phase] == 1 {
			phases = append(phases, u.Phase)
		}
		one := unit{Name: u.Name, Phase: u.Phase, Reason: view.CleanLine(u.Reason)}
		for _, note := range u.Notes {
			one.Notes = append(one.Notes, view.CleanLine(note))
		}
		switch {
		case u.Plan != nil:
			one.Report = planDocument(u.Options, u.Plan, u.Schemas)
		case len(u.Options.Problems) > 0:
			details := view.NewDetails(u.Options.View, &plan.Plan{}, u.Schemas)
			one.Report = &document{Kind: "plan", Title: "No plan", Headline: one.Reason, Objects: []object{},
				Bodies: []string{}}
			one.Report.about(u.Options, o.now())
			for _, p := range u.Options.Problems.Sorted() {
				one.Report.problem(p, details.Problem(p))
			}
		}
		if one.Report != nil {
			one.Report.Title = u.Name + ": " + strings.ToLower(one.Report.Title[:1]) + one.Report.Title[1:]
			d.Failed = d.Failed || one.Report.Failed
		}
		d.Units = append(d.Units, one)
	}
	for i, phase := range phases {
		phases[i] = fmt.Sprintf("%d %s", counts[phase], phase)
	}
	d.Headline = strings.Join(phases, ", ")
	return write(w, d)
}
