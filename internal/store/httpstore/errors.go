package httpstore

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
	text := fmt.Sprintf("%s %s: the server answered with status %d", r.what, c.s.name, a.status)
	if name := http.StatusText(a.status); name != "" {
		text += " " + name
	}
	if detail := message(a.body); detail != "" {
		text += ": " + strings.TrimSuffix(detail, ".")
	}
	if hint := c.hint(r, a.status); hint != "" {
		text += ". " + hint
	}
	return &problem{text: c.s.clean(text), passing: again(a, nil)}
}

// page returns the error for a successful response with an HTML page, which probably did not come from the server.
func (c *client) page(r request) error {
	return &problem{passing: true, text: fmt.Sprintf("%s %s: the answer is an HTML page. Check the address: the "+
		"server may be a proxy, or the page may be a sign-in page", r.what, c.s.name)}
}

// hint returns advice on a status.
func (c *client) hint(r request, status int) string {
	switch {
	case status == http.StatusUnauthorized && c.s.user == "":
		return "Set username and password, or the variables TF_HTTP_USERNAME and TF_HTTP_PASSWORD"
	case status == http.StatusUnauthorized:
		return "The server does not accept this user and password"
	case status == http.StatusForbidden:
		return "This user does not have the permission. Grant it, or set another user"
	case status == http.StatusMethodNotAllowed, status == http.StatusNotImplemented:
		return fmt.Sprintf(
			"The server does not support the method %s at this address. Set update_method, lock_method and "+
				"unlock_method to those it supports", r.method)
	case status == http.StatusNotFound:
		return "Nothing exists at this address. Check address, lock_address and unlock_address"
	case status == http.StatusRequestEntityTooLarge:
		return "The state is larger than the server allows. Raise its limit for request bodies"
	}
	return ""
}

// message returns the message in the body of an error response, or "" if that is not readable text.
func message(body []byte) string {
	text := strings.TrimSpace(string(body))
	var named map[string]any
	if json.Unmarshal(body, &named) == nil {
		text = ""
		for _, name := range []string{"message", "error", "detail"} {
			if detail, ok := named[name].(string); ok && detail != "" {
				text = detail
				break
			}
		}
	}
	if strings.HasPrefix(text, "<") {
		return ""
	}
	return web.Short(text)
}
