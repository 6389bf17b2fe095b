package hcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

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
	if said := message(a.body); said != "" {
		text += ": " + strings.TrimSuffix(said, ".")
	}
	if hint := c.hint(r, a.status); hint != "" {
		text += ". " + hint
	}
	return &problem{text: c.clean(text), passing: passing(a, nil)}
}

// hint returns advice on a status.
func (c *client) hint(r request, status int) string {
	switch {
	case r.address != nil:
		return ""
	case status == http.StatusUnauthorized:
		return fmt.Sprintf("The host %s does not accept the token. Get a new one with \"login%s\"", c.s.host,
			hostArgument(c.s.host))
	case status == http.StatusForbidden, status == http.StatusNotFound:
		return "There is no such thing, or the token may not do that: the service does not tell the two apart. Check " +
			"the organization and the permissions of the token's user or team"
	case status >= 300 && status < 400:
		return "The server redirects the API to another address, which the token must not go to. Set hostname to the " +
			"host that the API belongs to"
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
	var said []string
	for _, e := range document.Errors {
		if e.Detail != "" {
			e.Title = e.Detail
		}
		if e.Title != "" {
			said = append(said, e.Title)
		}
	}
	return web.Short(strings.Join(said, "; "))
}

// capital returns a text with its first letter in upper case.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
