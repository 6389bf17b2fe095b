// Package web performs the calls of a provider without a program as HTTP requests, which the manifest defines
// (docs/http-providers.md).
//
// A Client performs the calls of the protocol, and answers as a program would. It owns connections, tokens and locks,
// and keeps no state of objects. Its failures contain none of the secrets that it has: credentials, tokens and values
// of the environment. The handler, which has the schema, removes secret attributes.
//
//	c := web.New(m, web.Surroundings{})
//	answer, err := c.Call(ctx, web.Call{Action: "read", Type: "inventory_host", Params: params})
package web

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// Surroundings holds the environment of a client. The zero value means that of this process.
type Surroundings struct {
	// Env is the environment as "key=value"; nil means that of this process.
	Env []string
}

// Call is one call of an action.
type Call struct {
	Action, Type string
	Params       []byte
	// Intent is the engine's token for an operation that changes something, or "".
	Intent string
	// Progress is called with the reason for which a call waits. It may be nil.
	Progress func(message string)
}

// Answer is the answer to a call, as a program would send it.
type Answer struct {
	Result  []byte
	Failure *Failure // nil if the call succeeded
	// Request is the method and the address, without the query, of the last request. Its parts may be secret.
	Request string
}

// Failure describes how a call failed.
type Failure struct {
	// State is a clause such as "it answered with status 409 Conflict".
	State string
	// Message is the text of the server, Advice what the user can do.
	Message, Advice string
	// Lost means that the effect of the request is unknown.
	Lost bool
	// Unsent means that no request was sent that could change something.
	Unsent bool
}

// Error returns State.
func (f *Failure) Error() string { return f.State }

// Client sends requests. It is safe for concurrent use.
type Client struct {
	m       *manifest.Manifest
	env     map[string]string
	secrets *value.Secrets

	mu         sync.Mutex
	transports map[string]*http.Transport // by TLS settings
	tokens     map[string]*token          // by the parameters of their requests
	locks      map[string]chan struct{}
}

// New returns a client.
func New(m *manifest.Manifest, s Surroundings) *Client {
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	c := &Client{m: m, env: map[string]string{}, secrets: &value.Secrets{}, transports: map[string]*http.Transport{},
		tokens: map[string]*token{}, locks: map[string]chan struct{}{}}
	wanted := map[string]bool{}
	for _, name := range m.HTTP.Env {
		wanted[name] = true
	}
	for _, entry := range env {
		if name, text, ok := strings.Cut(entry, "="); ok && wanted[name] {
			c.env[name] = text
			if !plainAddress(text) {
				c.hide(text)
			}
		}
	}
	return c
}

// plainAddress reports whether a text is only the address of a server, which messages must be able to show.
func plainAddress(text string) bool {
	_, err := serverOf(text)
	return err == nil
}

// hide records a secret in all its encodings.
func (c *Client) hide(text string) {
	for _, form := range []string{text, base64.StdEncoding.EncodeToString([]byte(text))} {
		c.secrets.Add(cty.StringVal(form), []cty.Path{{}})
	}
}

// Redact removes the secrets of the client from a text.
func (c *Client) Redact(text string) string { return c.secrets.Redact(text) }

// Close closes idle connections.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
	return nil
}

// Call performs one call of the protocol.
func (c *Client) Call(ctx context.Context, call Call) *Answer {
	v := &visit{c: c, ctx: ctx, call: call}
	result, err := v.run()
	a := &Answer{Result: result, Request: v.request}
	if err == nil {
		return a
	}
	if !errors.As(err, &a.Failure) {
		a.Failure = &Failure{State: "the request could not be sent: " + err.Error(), Unsent: !v.sent}
	}
	a.Failure.State, a.Failure.Message = c.Redact(a.Failure.State), c.Redact(a.Failure.Message)
	a.Request = c.Redact(a.Request)
	return a
}

// lock waits until no other request holds the name.
func (c *Client) lock(ctx context.Context, name string) (release func(), err error) {
	c.mu.Lock()
	held := c.locks[name]
	if held == nil {
		held = make(chan struct{}, 1)
		c.locks[name] = held
	}
	c.mu.Unlock()
	select {
	case held <- struct{}{}:
		return func() { <-held }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// sleep waits for d, or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// unsent returns a failure before any request was sent.
func unsent(format string, args ...any) *Failure {
	return &Failure{State: fmt.Sprintf(format, args...), Unsent: true}
}
