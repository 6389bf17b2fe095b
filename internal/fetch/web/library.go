package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// Login is the login for a repository of artifacts: a user with a password, or tokens. The zero value is anonymous.
type Login struct {
	Username, Password        string
	AccessToken, RefreshToken string
}

// HTTP returns a client for libraries that speak protocols of their own. It has this client's connections and rules for
// redirects, uses only TLS, and gives up an answer that makes no progress. It does not retry, limit sizes or send
// tokens of hosts.
func (c *Client) HTTP() *http.Client {
	return &http.Client{Transport: watched{c}, CheckRedirect: redirect}
}

// Repeat calls try until it goes well, it cannot, or all attempts are used up. try sends requests to u with HTTP; a
// refusal is a *StatusError. Connections that fail or break and statuses that may pass are retried.
func (c *Client) Repeat(ctx context.Context, u *url.URL, try func() error) error {
	return c.repeat(ctx, c.Retries, u, func() error {
		err := try()
		var outer *url.Error
		var status *StatusError
		switch {
		case errors.As(err, &outer):
			return outer.Err // the address may have a signature in it
		case err == nil, errors.As(err, &status), errors.Is(err, io.ErrUnexpectedEOF):
			return err
		}
		return &finalError{err}
	})
}

// finalError is one that another attempt does not change.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

type watched struct{ *Client }

// RoundTrip sends one request.
func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		return nil, &refusedError{bare(r.URL) + " is not protected by TLS"}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	watch := newPace(w.Stall, cancel)
	r = r.Clone(ctx)
	r.Header.Set("User-Agent", w.Agent)
	answer, err := readable{w.Transport}.RoundTrip(r)
	if err != nil {
		watch.stop()
		err = because(ctx, err)
		cancel(nil)
		return nil, err
	}
	answer.Body = &watchedBody{counted{r: answer.Body, watch: watch}, answer.Body, ctx, cancel}
	return answer, nil
}

// watchedBody is read under the watch of a pace, which ends with it.
type watchedBody struct {
	counted
	body   io.Closer
	ctx    context.Context // the cause of an early end stands in it
	cancel context.CancelCauseFunc
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.counted.Read(p)
	if b.failed != nil {
		err = because(b.ctx, err)
	}
	return n, err
}

// Close ends the watch.
func (b *watchedBody) Close() error {
	b.watch.stop()
	b.cancel(nil)
	return b.body.Close()
}
