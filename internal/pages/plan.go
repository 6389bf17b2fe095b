package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/internal/view/report"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// mostChanges limits how many changes the page of a plan shows without a script. The report has all.
const mostChanges = 500

// planList lists the saved plans.
func (s *Server) planList(w http.ResponseWriter, r *request) error {
	all, err := s.o.Plans.List(r.Context())
	if err != nil {
		return unreadable("The plans cannot be listed", err)
	}
	var rows []list
	for _, f := range all {
		rows = append(rows, list{anchor(s.link("/plan", "name", f.Name), code(f.Name)), moment(f.Modified),
			text(fmt.Sprintf("%d kB", (f.Size+999)/1000))})
	}
	body := list{el("p", class("intro"), "Saved plans in the folder ", code(s.o.Plans.Folder()), ".")}
	if len(rows) == 0 {
		body = append(body, note("", el("p", "There are no plans. Save one with plan -out=FILE.")))
	} else {
		body = append(body, table("Plans", []string{"File", "Saved", "Size"}, rows))
	}
	s.show(w, r, http.StatusOK, page{title: "Plans", topic: topic("page", "plans"), body: body})
	return nil
}

// openPlan returns the plan that a request names. It is read again if its file has changed.
func (s *Server) openPlan(r *request) (*Plan, error) {
	name := r.URL.Query().Get("name")
	all, err := s.o.Plans.List(r.Context())
	if err != nil {
		return nil, unreadable("The plans cannot be listed", err)
	}
	for _, f := range all {
		if f.Name != name {
			continue
		}
		p, err := s.plans.get(r.Context(), fmt.Sprintf("%s\n%d\n%d", f.Name, f.Size, f.Modified.UnixNano()), time.Hour,
			func(ctx context.Context) (*Plan, error) { return s.o.Plans.Open(ctx, f.Name) })
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, missing("The file of the plan has been removed.")
		case err != nil:
			return nil, &problem{http.StatusUnprocessableEntity, "The plan cannot be shown", err.Error()}
		}
		return p, nil
	}
	return nil, missing("There is no plan with this name.")
}

// plan is the page of a plan.
func (s *Server) plan(w http.ResponseWriter, r *request) error {
	p, err := s.openPlan(r)
	if err != nil {
		return err
	}
	body := list{el("p", class("intro"), anchor(s.link("/plan/report", "name", p.Name), "Report with graph")),
		facts("Result", view.Summary(p.Plan), "Workspace", code(p.Plan.Workspace), "Planned", moment(p.Plan.Created),
			"Made for", s.basis(r, p.Plan), "Hash", code(p.Hash))}
	if s.allows(Approve) {
		body = append(body, s.approval(r, p))
	}
	o := p.View
	o.Secrets = &view.Secrets{}
	details := view.NewDetails(o, p.Plan, p.Schemas)
	changes := view.Shown(p.Plan)
	body = append(body, el("h2", "Changes"))
	for i, c := range changes {
		if i == mostChanges {
			body = append(body, note("", el("p", fmt.Sprintf("%d more changes are in the report.", len(changes)-i))))
			break
		}
		body = append(body, change(details.Change(c)))
	}
	if len(changes) == 0 {
		body = append(body, note("", el("p", "No objects change.")))
	}
	var rows []list
	for _, out := range details.Outputs(p.Plan) {
		rows = append(rows, list{code(out.Name), block(out.Body)})
	}
	if len(rows) > 0 {
		body = append(body, el("h2", "Outputs"), table("Outputs", []string{"Output", "Value"}, rows))
	}
	s.show(w, r, http.StatusOK, page{title: "Plan: " + p.Name, body: body})
	return nil
}

// basis says which state a plan was made for, and whether that is still the current one.
func (s *Server) basis(r *request, p *plan.Plan) any {
	if p.Base == nil {
		return "a workspace without a state"
	}
	made := fmt.Sprintf("serial %d", p.Base.Serial)
	for _, place := range s.o.Places {
		if place.Name() != "" {
			continue
		}
		now, err := s.read(r.Context(), place, p.Workspace, s.o.Every)
		switch st := (*state.State)(nil); {
		case err != nil:
		default:
			if st = now.Snapshot.State; st == nil || st.Lineage != p.Base.Lineage {
				return list{text(made + " "), el("span", class("flag"), "of another state")}
			}
			if st.Serial != p.Base.Serial {
				return list{text(made + " "), el("span", class("flag"), fmt.Sprintf("the state has serial %d now",
					st.Serial))}
			}
			return made + ", the current one"
		}
	}
	return made
}

// fates are the signs and classes of what becomes of an object, as in reports.
var fates = map[string][2]string{"destroy": {"\u2212", "del"}, "replace": {"\u00b1", "rep"}, "forget": {".", "fgt"},
	"update": {"~", "chg"}, "create": {"+", "add"}, "import": {"\u2913", "oth"}, "move": {"\u2192", "oth"},
	"read": {"\u2264", "oth"}}

// change shows a change, folded.
func change(d view.Detail) node {
	fate := fates[d.Fate]
	if fate[1] == "" {
		fate = [2]string{"\u00b7", "non"}
	}
	address := view.CleanLine(d.Object.String())
	summary := el("summary", el("span", class("badge "+fate[1]), el("span", attr{"aria-hidden", "true"}, fate[0]),
		el("span", " "+d.Fate)), el("span", class("address"), code(address)))
	if d.Why != "" {
		summary.content = append(summary.content, el("span", class("why"), d.Why))
	}
	body := el("div", class("body"), el("p", class("headline"), d.Headline))
	for _, remark := range d.Remarks {
		body.content = append(body.content, el("p", class("remark"), remark))
	}
	if d.Body != "" {
		body.content = append(body.content, block(d.Body))
	}
	return el("details", class("row"), attr{"data-name", address}, summary, body)
}

// planReport is the report of a plan.
func (s *Server) planReport(w http.ResponseWriter, r *request) error {
	p, err := s.openPlan(r)
	if err != nil {
		return err
	}
	return s.report(w, r, func(_ context.Context, b *bytes.Buffer) error {
		o := report.Options{View: p.View, Version: s.o.Version, Now: s.o.Now}
		o.View.Secrets = &view.Secrets{}
		return report.Plan(b, o, p.Plan, p.Schemas)
	})
}
