package pages

import (
	"errors"
	"net/http"
)

// problem is an error with the status of its answer.
type problem struct {
	status        int
	title, detail string
}

// Error returns the detail.
func (p *problem) Error() string { return p.detail }

func missing(detail string) error { return &problem{http.StatusNotFound, "Not found", detail} }

func unreadable(title string, err error) error {
	return &problem{http.StatusBadGateway, title, "Reading has failed: " + err.Error()}
}

// fail answers with the page of an error.
func (s *Server) fail(w http.ResponseWriter, r *request, err error) {
	p := &problem{http.StatusInternalServerError, "The page cannot be shown", err.Error()}
	if known := (*problem)(nil); errors.As(err, &known) {
		p = known
	}
	s.show(w, r, p.status, page{title: p.title, body: list{note("error", el("p", p.detail))}})
}
