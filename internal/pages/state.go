package pages

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/internal/view/report"
	"github.com/tombolo-iac/tombolo/state"
)

// perPage is how many objects a page shows.
const perPage = 200

// where returns the place and the workspace that a request names. The workspace must exist.
func (s *Server) where(r *request) (Place, string, error) {
	q := r.URL.Query()
	p, err := s.place(q.Get("unit"))
	if err != nil {
		return nil, "", err
	}
	name := q.Get("workspace")
	if name == "" {
		name = p.Selected()
	}
	all, err := s.workspaces(r.Context(), p, s.o.Every)
	if err != nil {
		return nil, "", unreadable("The workspaces cannot be listed", err)
	}
	if !slices.Contains(all, name) && name != p.Selected() {
		return nil, "", missing(fmt.Sprintf("There is no workspace with the name %q.", view.CleanLine(name)))
	}
	return p, name, nil
}

// state is the page of a state.
func (s *Server) state(w http.ResponseWriter, r *request) error {
	p, workspace, err := s.where(r)
	if err != nil {
		return err
	}
	reading, err := s.read(r.Context(), p, workspace, s.o.Every)
	if err != nil {
		return unreadable("The state cannot be read", err)
	}
	query := []string{"unit", p.Name(), "workspace", workspace}
	body := list{el("p", class("intro"), anchor(s.link("/history", query...), "History"), " ",
		anchor(s.link("/state/report", query...), "Report with graph"))}
	body = append(body, facts("Backend", p.Where(), "Lock", lock(reading), "Run", running(reading.Snapshot)))
	body = append(body, inFlight(reading.Snapshot)...)
	content, err := s.content(r, p, reading.Snapshot.State, "/state", query)
	if err != nil {
		return err
	}
	s.show(w, r, http.StatusOK, page{title: "State: " + stateName(p, workspace),
		topic: topic("page", "state", "unit", p.Name(), "workspace", workspace), body: append(body, content...)})
	return nil
}

// running describes the run that writes the state.
func running(s *state.Snapshot) any {
	if s.Running == nil {
		return nil
	}
	return list{text(view.CleanLine(s.Running.Command) + ", since "), moment(s.Running.Started)}
}

// inFlight lists operations that have begun, and results that do not fit the state.
func inFlight(s *state.Snapshot) (body list) {
	var rows []list
	for _, f := range s.InFlight {
		rows = append(rows, list{code(f.Object.String()), text(f.Action), moment(f.Started), code(f.Token())})
	}
	columns := []string{"Object", "Operation", "Begun", "Token"}
	switch {
	case len(rows) > 0 && s.Running != nil:
		body = append(body, el("h2", "Operations in flight"), table("Operations in flight", columns, rows))
	case len(rows) > 0:
		body = append(body, el("h2", "Operations without a result"), note("warning", el("p", "A run has ended in the "+
			"middle of these operations. It is not known whether they took effect: the command recover resolves "+
			"them.")), table("Operations without a result", columns, rows))
	}
	rows = nil
	for _, u := range s.Unfolded {
		rows = append(rows, list{code(u.Token()), text(view.CleanLine(u.Run.Command)), text(u.Why)})
	}
	if len(rows) > 0 {
		body = append(body, el("h2", "Results that do not fit the state"), table("Results that do not fit the state",
			[]string{"Token", "Run", "Reason"}, rows))
	}
	return body
}

// content shows what a state has.
func (s *Server) content(r *request, p Place, st *state.State, path string, query []string) (list, error) {
	if st == nil {
		return list{note("", el("p", "There is no state yet."))}, nil
	}
	schemas, problem := p.Schemas(r.Context(), st)
	o := p.View()
	o.Secrets = &view.Secrets{}
	details := view.NewStateDetails(o, st, schemas)
	body := list{facts("Serial", fmt.Sprint(st.Serial), "Lineage", code(st.Lineage), "Written by", writer(st))}
	if problem != "" {
		body = append(body, note("warning", el("p", details.Text(problem))))
	}
	var rows []list
	for _, out := range details.Outputs() {
		rows = append(rows, list{code(out.Name), block(out.Body)})
	}
	if len(rows) > 0 {
		body = append(body, el("h2", "Outputs"), table("Outputs", []string{"Output", "Value"}, rows))
	}
	body = append(body, checks(st, details)...)
	return append(body, s.objects(r, st, details, path, query)...), nil
}

// writer returns the program that wrote a state.
func writer(st *state.State) any {
	if st.TerraformVersion == "" {
		return nil
	}
	return "version " + st.TerraformVersion + " of the language"
}

func checks(st *state.State, details *view.StateDetails) (body list) {
	var rows []list
	for _, c := range st.Checks() {
		for _, o := range c.Objects {
			var why list
			for _, f := range o.Failures {
				why = append(why, el("p", details.Text(f)))
			}
			rows = append(rows, list{code(o.Addr), text(c.Kind), text(o.Status), why})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return list{el("h2", "Checks"), table("Checks", []string{"Object", "Kind", "Status", "Failures"}, rows)}
}

// stored is an object of a state.
type stored struct {
	resource *state.Resource
	object   addr.Object
}

// objectsOf returns the objects of a state whose address contains a text.
func objectsOf(st *state.State, search string) (all []stored) {
	for _, r := range st.Resources() {
		for _, key := range r.Keys() {
			instance := r.Instances[key]
			one := []addr.Object{}
			if instance.Current != nil {
				one = append(one, addr.Object{Instance: r.Addr.Instance(key)})
			}
			for _, deposed := range instance.DeposedKeys() {
				one = append(one, addr.Object{Instance: r.Addr.Instance(key), Deposed: deposed})
			}
			for _, o := range one {
				if strings.Contains(o.String(), search) {
					all = append(all, stored{r, o})
				}
			}
		}
	}
	return all
}

// objects shows the objects of a state, in pages, with a search.
func (s *Server) objects(r *request, st *state.State, details *view.StateDetails, path string, query []string) (
	body list) {
	q := r.URL.Query()
	search := q.Get("search")
	all := objectsOf(st, search)
	from, _ := strconv.Atoi(q.Get("from")) // anything else is the first page
	if from = max(0, from); from >= len(all) {
		from = 0
	}
	to := min(from+perPage, len(all))
	form := el("form", class("toolbar"), attr{"method", "get"}, attr{"action", s.link(path)})
	for i := 0; i < len(query); i += 2 {
		form.content = append(form.content, hidden(query[i], query[i+1]))
	}
	form.content = append(form.content, el("div", class("choice wide"), el("label", attr{"for", "search"},
		"Addresses that contain"), el("input", attr{"id", "search"}, attr{"name", "search"}, attr{"type", "search"},
		attr{"value", search})), el("button", "Search"))
	body = append(body, el("h2", "Objects"), form, el("p", class("found"), fmt.Sprintf("%s, shown: %d to %d.",
		count(len(all), "object"), min(from+1, to), to)))
	for _, o := range all[from:to] {
		body = append(body, objectOf(details, o))
	}
	pages := el("p", class("pages"))
	add := func(at int, name string) {
		pages.content = append(pages.content, anchor(s.link(path, append(slices.Clone(query), "search", search, "from",
			strconv.Itoa(at))...), name), text(" "))
	}
	if from > 0 {
		add(max(0, from-perPage), "Previous objects")
	}
	if to < len(all) {
		add(to, "Next objects")
	}
	return append(body, pages)
}

// objectOf shows an object, folded.
func objectOf(details *view.StateDetails, o stored) node {
	address := view.CleanLine(o.object.String())
	summary := el("summary", el("span", class("address"), code(address)))
	d, err := details.Object(o.resource, o.object)
	if d.Why != "" {
		summary.content = append(summary.content, el("span", class("why"), d.Why))
	}
	if err != nil {
		summary.content = append(summary.content, el("span", class("flag"), "not shown"))
		return el("details", class("row"), attr{"data-name", address}, summary, el("div", class("body"),
			el("p", details.Text(err.Error()))))
	}
	return el("details", class("row"), attr{"data-name", address}, summary, el("div", class("body"), block(d.Body)))
}

// stateReport is the report of a state, as show -html writes it.
func (s *Server) stateReport(w http.ResponseWriter, r *request) error {
	p, workspace, err := s.where(r)
	if err != nil {
		return err
	}
	reading, err := s.read(r.Context(), p, workspace, s.o.Every)
	if err != nil {
		return unreadable("The state cannot be read", err)
	}
	st := reading.Snapshot.State
	if st == nil {
		st = st.Builder().State()
	}
	schemas, _ := p.Schemas(r.Context(), st)
	return s.report(w, r, func(ctx context.Context, b *bytes.Buffer) error {
		o := report.Options{View: p.View(), Version: s.o.Version, Workspace: workspace, Now: s.o.Now}
		o.View.Secrets = &view.Secrets{}
		return report.State(b, o, st, schemas)
	})
}

// report answers with a report, which has its own policy.
func (s *Server) report(w http.ResponseWriter, r *request, write func(context.Context, *bytes.Buffer) error) error {
	var b bytes.Buffer
	if err := write(r.Context(), &b); err != nil {
		return &problem{http.StatusConflict, "There is no report", err.Error() + ". Run init in the directory, so " +
			"that all providers are installed, and reload the page."}
	}
	w.Header().Set("Content-Security-Policy", report.Policy()+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // an error means that the client has gone
	return nil
}
