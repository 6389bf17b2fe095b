package pages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/view"
)

// drift shows the last report of drift.
func (s *Server) drift(w http.ResponseWriter, r *request) error {
	document, made, err := s.o.Drift.Last(r.Context())
	if err != nil {
		return unreadable("The report of drift cannot be read", err)
	}
	body := list{}
	if s.allows(Check) {
		if s.gate.entitled(r.who) {
			body = append(body, s.form(r, "/drift", el("p", el("button", "Check for drift now"))))
		} else {
			body = append(body, note("", el("p", "To check for drift here, ", anchor(s.link("/rights"),
				"get the rights"),
				" first.")))
		}
	}
	if document == nil {
		body = append(body, note("", el("p", "There is no report yet.")))
		s.show(w, r, http.StatusOK, page{title: "Drift", topic: topic("page", "drift"), body: body})
		return nil
	}
	var d driftDocument
	if err := json.Unmarshal(document, &d); err != nil || !strings.HasPrefix(d.FormatVersion, "1.") {
		return &problem{http.StatusUnprocessableEntity, "The report of drift cannot be shown",
			"Expected the document " +
				"of drift -json with the format version 1.0. Write it again with this version of " + s.o.Title + "."}
	}
	clean := s.known(r)
	body = append(body, facts("Made", moment(made), "Objects read", fmt.Sprint(d.Objects), "Drifted",
		fmt.Sprint(len(d.Drifted)), "Accepted", fmt.Sprint(len(d.Accepted))))
	body = append(body, el("h2", "Drifted"), drifted(d.Drifted, clean, "No object has drifted."))
	if len(d.Accepted) > 0 {
		body = append(body, el("h2", "Accepted"), drifted(d.Accepted, clean, ""))
	}
	if len(d.Unused) > 0 {
		items := el("ul")
		for _, a := range d.Unused {
			items.content = append(items.content, el("li", code(a.Objects), " (until "+view.CleanLine(a.Until)+"): "+
				clean(a.Reason)))
		}
		body = append(body, el("h2", "Acceptances without drift"), items)
	}
	s.show(w, r, http.StatusOK, page{title: "Drift", topic: topic("page", "drift"), body: body})
	return nil
}

// known returns a function that removes the secrets of the current state from a text: providers may copy them into
// attributes that are not declared as sensitive.
func (s *Server) known(r *request) func(string) string {
	for _, p := range s.o.Places {
		if p.Name() != "" {
			continue
		}
		reading, err := s.read(r.Context(), p, p.Selected(), s.o.Every)
		if err != nil || reading.Snapshot.State == nil {
			break
		}
		schemas, _ := p.Schemas(r.Context(), reading.Snapshot.State)
		o := p.View()
		o.Secrets = &view.Secrets{}
		return view.NewStateDetails(o, reading.Snapshot.State, schemas).Text
	}
	return view.Clean
}

// drifted shows objects that differ.
func drifted(all []driftObject, clean func(string) string, none string) node {
	if len(all) == 0 {
		return note("", el("p", none))
	}
	var rows []list
	for _, o := range all {
		why := list{}
		if a := o.Acceptance; a != nil {
			why = append(why, text(clean(a.Reason)+" (until "+view.CleanLine(a.Until)+")"))
		}
		if o.Gone {
			rows = append(rows, list{code(o.Address), el("span", class("badge del"), el("span", "gone")), text(""),
				text(""),
				why})
		}
		for _, d := range o.Differences {
			before, after := node(text("(sensitive value)")), node(text("(sensitive value)"))
			if !d.Sensitive {
				before, after = code(clean(string(d.Before))), code(clean(string(d.After)))
			}
			rows = append(rows, list{code(o.Address), code(d.Path), before, after, why})
		}
	}
	return table("Objects", []string{"Object", "Attribute", "Stored", "Real", "Accepted"}, rows)
}
