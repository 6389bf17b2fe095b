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

// HTTP returns a client for libraries with their own protocols. It has this client's connections and rules for
// redirections, only uses TLS, and abandons a response without progress. It does not retry, limit sizes or send tokens
// of hosts.
func (c *Client) HTTP() *http.Client {
	return &http.Client{Transport: watched{c}, CheckRedirect: redirect}
}

// Repeat calls try until it succeeds, fails permanently, or all attempts are used. try sends requests to u with HTTP,
// and returns a *StatusError for an error status. Failed or broken connections and temporary statuses are retried.
func (c *Client) Repeat(ctx context.Context, u *url.URL, try func() error) error {
	return c.repeat(ctx, c.Retries, u, func() error {
		err := try()
		var outer *url.Error
		var status *StatusError
		switch {
		case errors.As(err, &outer):
			return outer.Err // the address may contain a signature
		case err == nil, errors.As(err, &status), errors.Is(err, io.ErrUnexpectedEOF):
			return err
		}
		return &finalError{err}
	})
}

// finalError is an error that a retry would not change.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

type watched struct{ *Client }

// RoundTrip implements http.RoundTripper.
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

// watchedBody is a body whose progress a pace checks.
type watchedBody struct {
	counted
	body   io.Closer
	ctx    context.Context // its cause is the reason of an early end
	cancel context.CancelCauseFunc
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.counted.Read(p)
	if b.failed != nil {
		err = because(b.ctx, err)
	}
	return n, err
}

// Close ends the checks.
func (b *watchedBody) Close() error {
	b.watch.stop()
	b.cancel(nil)
	return b.body.Close()
}
