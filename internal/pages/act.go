package pages

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/tombolo-iac/tombolo/internal/view"
)

// What has effects: getting rights, approving a plan, checking for drift, ending a session. All are forms; admit has
// checked where they come from.

// rights shows the rights of the server, and asks for the token that gives them to the session.
func (s *Server) rights(w http.ResponseWriter, r *request) error {
	s.showRights(w, r, http.StatusOK, "")
	return nil
}

// texts of the rights.
var rightTexts = map[Right]string{Approve: "Approve: apply saved plans, as the command apply does with the file of a " +
	"plan.", Check: "Drift: read all real objects to find changes made outside, as the command drift does."}

func (s *Server) showRights(w http.ResponseWriter, r *request, status int, problem string) {
	items := el("ul")
	for _, right := range s.o.Allow {
		items.content = append(items.content, el("li", rightTexts[right]))
	}
	body := list{el("p", class("intro"), "This server was started with these rights:"), items}
	if problem != "" {
		body = append(body, note("error", el("p", problem)))
	}
	if s.gate.entitled(r.who) {
		body = append(body, note("", el("p", "This session has them.")))
	} else {
		body = append(body, s.form(r, "/rights", class("ask"), el("label", attr{"for", "rights"}, "Token for rights"),
			el("input", attr{"id", "rights"}, attr{"name", "token"}, attr{"type", "password"},
				attr{"autocomplete", "off"}, attr{"required", ""}), el("button", "Get the rights")),
			el("p", class("intro"), "The server has printed this token when it started, or its administrator has it."))
	}
	s.show(w, r, status, page{title: "Rights", body: body})
}

// getRights adds the rights to the session.
func (s *Server) getRights(w http.ResponseWriter, r *request) error {
	ok, busy := s.gate.entitle(r.who, r.PostForm.Get("token"))
	switch {
	case busy:
		return &problem{http.StatusTooManyRequests, "Too many wrong tokens", "Wait a minute, and use the token for " +
			"rights that the server has printed."}
	case !ok:
		s.showRights(w, r, http.StatusForbidden, "This token is not valid. It is not the one of the link.")
		return nil
	}
	http.Redirect(w, r.Request, s.link("/rights"), http.StatusSeeOther)
	return nil
}

// may returns an error if a session does not have the rights.
func (s *Server) may(r *request) error {
	if !s.gate.entitled(r.who) {
		return &problem{http.StatusForbidden, "The session may only read",
			"Get the rights first: the page Rights asks " +
				"for the token."}
	}
	return nil
}

// approval is the form that applies a plan.
func (s *Server) approval(r *request, p *Plan) node {
	switch {
	case p.Plan.Errored:
		return note("warning", el("p", "Planning ended with errors: this plan cannot be applied."))
	case !p.Plan.Applyable():
		return note("", el("p", "There is nothing to apply."))
	case !s.gate.entitled(r.who):
		return note("", el("p", "To apply this plan here, ", anchor(s.link("/rights"), "get the rights"), " first."))
	}
	return s.form(r, "/approve", class("note"), hidden("plan", p.Name), hidden("hash", p.Hash),
		el("p", "This applies exactly the plan that this page shows. If the state has changed so that the plan is "+
			"stale, or if the file has changed, nothing is done."),
		el("p", el("input", attr{"type", "checkbox"}, attr{"id", "sure"}, attr{"name", "sure"}, attr{"value", "yes"},
			attr{"required", ""}), el("label", attr{"for", "sure"}, " I have read the plan: "+view.Summary(p.Plan))),
		el("p", el("button", "Approve and apply")))
}

// approve starts the apply of a plan.
func (s *Server) approve(w http.ResponseWriter, r *request) error {
	if err := s.may(r); err != nil {
		return err
	}
	if r.PostForm.Get("sure") != "yes" || r.PostForm.Get("hash") == "" {
		return &problem{http.StatusBadRequest, "The approval is not complete",
			"Open the page of the plan, read it, and " +
				"check the box of the form."}
	}
	id, err := s.o.Runs.Approve(r.Context(), r.PostForm.Get("plan"), r.PostForm.Get("hash"), s.by(r))
	return s.started(w, r, id, err)
}

// check starts a check for drift.
func (s *Server) check(w http.ResponseWriter, r *request) error {
	if err := s.may(r); err != nil {
		return err
	}
	id, err := s.o.Runs.Check(r.Context(), s.by(r))
	return s.started(w, r, id, err)
}

func (s *Server) started(w http.ResponseWriter, r *request, id string, err error) error {
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		return &problem{http.StatusConflict, "The run was not started", refused.Why}
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r.Request, s.link("/run", "id", id), http.StatusSeeOther)
	return nil
}

// logout ends the session.
func (s *Server) logout(w http.ResponseWriter, r *request) error {
	s.gate.end(r.who)
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: s.o.Prefix + "/", MaxAge: -1, HttpOnly: true,
		Secure: s.o.Secure, SameSite: http.SameSiteStrictMode})
	s.show(w, nil, http.StatusOK, page{title: "The session has ended", body: list{el("p", "Close this page.")}})
	return nil
}

// runList lists the runs.
func (s *Server) runList(w http.ResponseWriter, r *request) error {
	all, err := s.o.Runs.List(r.Context())
	if err != nil {
		return unreadable("The runs cannot be listed", err)
	}
	var rows []list
	for _, one := range all {
		rows = append(rows, list{anchor(s.link("/run", "id", one.ID), one.Title), outcome(one), moment(one.Started),
			moment(one.Ended), text(one.By)})
	}
	body := list{el("p", class("intro"), "What this server was asked to do since it started. Runs of other programs "+
		"are on the pages of their states while they write them.")}
	if len(rows) == 0 {
		body = append(body, note("", el("p", "There are no runs yet.")))
	} else {
		body = append(body, table("Runs", []string{"Run", "Result", "Begun", "Ended", "Started by"}, rows))
	}
	s.show(w, r, http.StatusOK, page{title: "Runs", topic: topic("page", "runs"), body: body})
	return nil
}

// outcome is the result of a run.
func outcome(r Run) node {
	switch {
	case r.Ended.IsZero():
		return el("span", class("outcome half"), "running")
	case r.Failed:
		return el("span", class("outcome failed"), "failed")
	}
	return el("span", class("outcome done"), "done")
}

// run is the page of a run, with its operations and its log.
func (s *Server) run(w http.ResponseWriter, r *request) error {
	id := r.URL.Query().Get("id")
	one, err := s.o.Runs.Run(r.Context(), id)
	switch {
	case err != nil:
		return unreadable("The run cannot be read", err)
	case one == nil:
		return missing("There is no run with this ID. The server forgets its runs when it ends.")
	}
	var rows []list
	for _, o := range one.Operations {
		state := outcome(Run{Ended: one.Ended, Failed: o.Failed})
		took := text("")
		if o.Ended {
			state, took = outcome(Run{Ended: one.Started, Failed: o.Failed}), text(fmt.Sprintf("%.1f s",
				o.Elapsed.Seconds()))
		}
		rows = append(rows, list{code(o.Address), text(o.Action), state, moment(o.Started), took})
	}
	body := list{facts("Result", outcome(*one), "Begun", moment(one.Started), "Ended", when(!one.Ended.IsZero(),
		moment(one.Ended)), "Started by", one.By)}
	if len(rows) > 0 {
		body = append(body, el("h2", "Operations"), table("Operations", []string{"Object", "Action", "Result", "Begun",
			"Took"}, rows))
	}
	body = append(body, el("h2", "Log"), el("pre", class("diff log"), attr{"tabindex", "0"}, one.Log))
	p := page{title: one.Title, body: body, topic: topic("page", "run", "id", id)}
	if !one.Ended.IsZero() {
		p.topic = ""
	}
	s.show(w, r, http.StatusOK, p)
	return nil
}
