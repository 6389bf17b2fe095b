package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

// mostFormer limits how many former states a page lists.
const mostFormer = 500

// formers returns the history of the state that a request names, newest first.
func (s *Server) formers(r *request) (p Place, workspace string, h history.Historian, all []history.Former,
	err error) {
	if p, workspace, err = s.where(r); err != nil {
		return nil, "", nil, nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTime)
	defer cancel()
	if h, err = p.History(ctx, workspace); err == nil {
		all, err = h.List(ctx)
	}
	if errors.Is(err, history.ErrNoHistory) {
		return nil, "", nil, nil, &problem{http.StatusNotFound, "No former states", "This workspace has no stored " +
			"former states. For states in files, set the environment variable " + history.Variable + " to the number " +
			"to keep for each workspace. The backend \"pg\" always keeps some; buckets keep them if they have " +
			"versioning."}
	}
	if err != nil {
		return nil, "", nil, nil, unreadable("The history cannot be read", err)
	}
	return p, workspace, h, all, nil
}

// history lists the former states of a workspace.
func (s *Server) history(w http.ResponseWriter, r *request) error {
	p, workspace, _, all, err := s.formers(r)
	if err != nil {
		return err
	}
	query := []string{"unit", p.Name(), "workspace", workspace}
	var rows []list
	for _, f := range all[:min(len(all), mostFormer)] {
		rows = append(rows, s.formerRow(f, query))
	}
	body := list{el("p", class("intro"), anchor(s.link("/state", query...), "The current state")),
		table("Former states", []string{"ID", "Written", "Serial", "Command", "Changes", "Who", "Commit",
			"Compared with " +
				"the one before"}, rows)}
	if len(all) > mostFormer {
		body = append(body, note("", el("p", fmt.Sprintf("%d older states are stored, too. The command state history "+
			"lists all.", len(all)-mostFormer))))
	}
	if len(all) == 0 {
		body = append(body, note("", el("p", "There are no former states of this workspace yet.")))
	}
	if len(all) > 1 {
		body = append(body, s.compare(all[:min(len(all), mostFormer)], query))
	}
	s.show(w, r, http.StatusOK, page{title: "History: " + stateName(p, workspace), body: body})
	return nil
}

func (s *Server) formerRow(f history.Former, query []string) list {
	of := append(slices.Clone(query), "id", f.ID)
	name := anchor(s.link("/history/state", of...), code(f.ID))
	changes := anchor(s.link("/history/changes", of...), "changes")
	if f.Foreign {
		return list{name, moment(f.Written), text("-"), text("-"), text("-"), text("another program"), text("-"),
			changes}
	}
	rev := f.Revision
	return list{name, moment(f.Written), text(fmt.Sprint(f.Serial)), word(rev.Run.Command),
		text(fmt.Sprintf("+%d ~%d -%d", rev.Created, rev.Updated, rev.Deleted)), word(rev.Who),
		word(rev.Commit[:min(len(rev.Commit), 12)]), changes}
}

// word returns a text of the history.
func word(s string) node {
	if s == "" {
		return text("-")
	}
	return text(view.CleanLine(s))
}

// compare is the form that compares any two states.
func (s *Server) compare(all []history.Former, query []string) node {
	form := el("form", class("toolbar"), attr{"method", "get"}, attr{"action", s.link("/history/changes")})
	for i := 0; i < len(query); i += 2 {
		form.content = append(form.content, hidden(query[i], query[i+1]))
	}
	choose := func(name, label string, chosen int) {
		list := el("select", attr{"id", name}, attr{"name", name})
		for i, f := range all {
			option := el("option", attr{"value", f.ID}, f.ID+", "+f.Written.UTC().Format("2006-01-02 15:04:05 UTC"))
			if i == chosen {
				option.attrs = append(option.attrs, attr{"selected", ""})
			}
			list.content = append(list.content, option)
		}
		form.content = append(form.content, el("div", class("choice"), el("label", attr{"for", name}, label), list))
	}
	choose("from", "From", len(all)-1)
	choose("id", "To", 0)
	form.content = append(form.content, el("button", "Compare"))
	return list{el("h2", "Compare two states"), form}
}

// read1 reads a former state that is in the list.
func readFormer(ctx context.Context, h history.Historian, all []history.Former, id string) (*state.State, error) {
	if !slices.ContainsFunc(all, func(f history.Former) bool { return f.ID == id }) {
		return nil, missing("There is no former state with this ID, or it is no longer stored.")
	}
	data, err := h.Snapshot(ctx, id)
	if errors.Is(err, history.ErrNoRevision) {
		return nil, missing("The former state " + id + " is no longer stored.")
	}
	if err != nil {
		return nil, unreadable("The former state cannot be read", err)
	}
	st, err := state.Read(bytes.NewReader(data))
	if err != nil {
		return nil, unreadable("The former state cannot be read", err)
	}
	return st, nil
}

// former shows a former state.
func (s *Server) former(w http.ResponseWriter, r *request) error {
	p, workspace, h, all, err := s.formers(r)
	if err != nil {
		return err
	}
	id := r.URL.Query().Get("id")
	st, err := readFormer(r.Context(), h, all, id)
	if err != nil {
		return err
	}
	query := []string{"unit", p.Name(), "workspace", workspace, "id", id}
	content, err := s.content(r, p, st, "/history/state", query)
	if err != nil {
		return err
	}
	s.show(w, r, http.StatusOK, page{title: "Former state " + view.CleanLine(id) + ": " + stateName(p, workspace),
		body: append(list{el("p", class("intro"), anchor(s.link("/history", query[:4]...), "History"), " ",
			anchor(s.link("/history/changes", query...), "Compared with the one before"))}, content...)})
	return nil
}

// changes compares a former state with another one, by default with the stored one before it.
func (s *Server) changes(w http.ResponseWriter, r *request) error {
	p, workspace, h, all, err := s.formers(r)
	if err != nil {
		return err
	}
	id, from := r.URL.Query().Get("id"), r.URL.Query().Get("from")
	now, err := readFormer(r.Context(), h, all, id)
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(all, func(f history.Former) bool { return f.ID == id }); from == "" && at+1 < len(all) {
		from = all[at+1].ID
	}
	var before *state.State
	if from != "" {
		if before, err = readFormer(r.Context(), h, all, from); err != nil {
			return err
		}
	}
	title := "What changed from " + from + " to " + id
	if from == "" {
		title = "The first stored state, " + id
	}
	signs := map[state.Action][2]string{state.ActionCreate: {"+", "add"}, state.ActionUpdate: {"~", "chg"},
		state.ActionDelete: {"-", "del"}}
	var rows []list
	for _, c := range state.Changes(before, now) {
		sign := signs[c.Action]
		rows = append(rows, list{code(c.Addr.String()), el("span", class("badge "+sign[1]), el("span",
			attr{"aria-hidden", "true"}, sign[0]), el("span", " "+string(c.Action)))})
	}
	query := []string{"unit", p.Name(), "workspace", workspace}
	body := list{el("p", class("intro"), anchor(s.link("/history", query...), "History"))}
	if len(rows) == 0 {
		body = append(body, note("", el("p", "The objects of the two states are the same.")))
	} else {
		body = append(body, table("Changes", []string{"Object", "Change"}, rows))
	}
	s.show(w, r, http.StatusOK, page{title: view.CleanLine(title), body: body})
	return nil
}
