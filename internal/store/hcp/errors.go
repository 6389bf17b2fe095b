package hcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// problem is an error whose text is for users and contains no secrets.
type problem struct {
	text    string
	passing bool // a retry may succeed
}

// Error implements error.
func (p *problem) Error() string { return p.text }

// failed returns the error for an unexpected response.
func (c *client) failed(r request, a *answer) error {
	text := fmt.Sprintf("%s: the server %s answered with status %d", r.what, c.s.host, a.status)
	if r.address != nil {
		text = fmt.Sprintf("%s: the server %s answered with status %d", r.what, r.address.Host, a.status)
	}
	if name := http.StatusText(a.status); name != "" {
		text += " " + name
	}
	if detail := message(a.body); detail != "" {
		text += ": " + strings.TrimSuffix(detail, ".")
	}
	if hint := c.hint(r, a.status); hint != "" {
		text += ". " + hint
	}
	err := &problem{text: c.clean(text), passing: passing(a, nil)}
	if r.address == nil && a.status == http.StatusUnauthorized {
		return diag.Advised(err, "Get a new token with \"%s\".", login(c.s.host))
	}
	return err
}

// hint returns advice on a status.
func (c *client) hint(r request, status int) string {
	switch {
	case r.address != nil:
		return ""
	case status == http.StatusUnauthorized:
		return fmt.Sprintf("The host %s does not accept the token", c.s.host)
	case status == http.StatusForbidden, status == http.StatusNotFound:
		return "Either the object does not exist, or the token does not have the permission: the service does not " +
			"distinguish the two. Check the organization and the permissions of the token's user or team"
	case status >= 300 && status < 400:
		return "The server redirects to another address, and the token was not sent there. Set hostname to the host " +
			"of the API"
	case status == http.StatusRequestEntityTooLarge:
		return "The state is larger than the server allows"
	}
	return ""
}

// message returns the text of the error objects in a document, or "" if there are none.
func message(body []byte) string {
	var document struct {
		Errors []struct{ Title, Detail string }
	}
	if json.Unmarshal(body, &document) != nil {
		return ""
	}
	var texts []string
	for _, e := range document.Errors {
		if e.Detail != "" {
			e.Title = e.Detail
		}
		if e.Title != "" {
			texts = append(texts, e.Title)
		}
	}
	return web.Short(strings.Join(texts, "; "))
}
