// Package switched refuses responses with status 101. A server that sends one keeps the connection for another
// protocol: net/http hands it over as the body, which then ends neither with the context of the request nor after the
// client's timeout. Nothing here asks for another protocol, so such a response is always wrong.
package switched

import (
	"errors"
	"net/http"
)

// Err is the error in place of such a response.
var Err = errors.New("the server switched to another protocol (status 101), which is not supported")

// Refuse returns the result of a request unchanged, or closes the response and returns Err if its status is 101. It is
// used as Refuse(transport.RoundTrip(request)).
func Refuse(response *http.Response, err error) (*http.Response, error) {
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		return response, err
	}
	response.Body.Close()
	return nil, Err
}

// Over returns a transport that refuses such responses of another one.
func Over(next http.RoundTripper) http.RoundTripper { return over{next} }

type over struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (o over) RoundTrip(request *http.Request) (*http.Response, error) {
	return Refuse(o.RoundTripper.RoundTrip(request))
}

// CloseIdleConnections closes the idle connections of the other transport.
func (o over) CloseIdleConnections() {
	if c, ok := o.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
