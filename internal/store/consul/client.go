package consul

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// Limits on the size of responses, on the time without data, and on retries.
const (
	maxAnswer = 64 << 20
	silence   = time.Minute
	retries   = 4
)

// client sends requests.
type client struct {
	s    *settings
	http *http.Client
	log  func(format string, args ...any)
	wait time.Duration // pause before the first retry
	most int64         // maximum size of a response, in bytes
	// silence limits each step of a response.
	silence time.Duration
}

func newClient(s *settings, o remote.Surroundings) *client {
	transport := web.Transport(s.tls)
	if s.socket != "" {
		dial := transport.DialContext
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial(ctx, "unix", s.socket)
		}
	}
	return &client{s: s, log: o.Log, wait: web.FirstPause, http: web.Over(transport), most: maxAnswer,
		silence: silence}
}

// answer is a response of the server.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send sends an idempotent request, with retries, and returns the final response.
func (c *client) send(ctx context.Context, method, path string, query url.Values, body []byte) (*answer, error) {
	for try := 0; ; try++ {
		a, err := c.once(ctx, method, path, query, body)
		again := err != nil && ctx.Err() == nil && !errors.As(err, new(*permanentError)) && !web.Lasting(err) ||
			err == nil && web.Busy(a.status)
		if !again || try == retries {
			return a, err
		}
		var header http.Header
		if a != nil {
			header = a.header
		}
		if err := web.Wait(ctx, try, c.wait, header); err != nil {
			return nil, err
		}
	}
}

// permanentError is an error that a retry would not change.
type permanentError struct{ text string }

// Error implements error.
func (l *permanentError) Error() string { return l.text }

// once sends a request without retries and reads the response.
func (c *client) once(ctx context.Context, method, path string, query url.Values, body []byte) (a *answer, err error) {
	began := time.Now()
	defer func() {
		result := ""
		if err != nil {
			result = err.Error()
		} else {
			result = strconv.Itoa(a.status)
		}
		c.log("consul: %s %s in %s: %s", method, path, time.Since(began).Round(time.Millisecond), c.s.clean(result))
	}()
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	u := *c.s.address
	u.Path += path
	all := url.Values{}
	for _, values := range []url.Values{c.s.query, query} {
		for name, value := range values {
			all[name] = value
		}
	}
	u.RawQuery = all.Encode()
	r, err := http.NewRequestWithContext(limited, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, &permanentError{c.s.clean(err.Error())}
	}
	if c.s.token != "" {
		r.Header.Set("X-Consul-Token", c.s.token)
	}
	if c.s.basic {
		r.SetBasicAuth(c.s.user, c.s.password)
	}
	in, err := c.http.Do(r)
	if err != nil {
		return nil, c.noResponse(ctx, err)
	}
	defer in.Body.Close()
	data, err := web.Read(limited, cancel, in.Body, c.most, c.silence)
	switch {
	case errors.Is(err, web.ErrLong):
		return nil, &permanentError{fmt.Sprintf("the answer of %s is larger than %d bytes", c.s.address.Host, c.most)}
	case err != nil:
		return nil, c.noResponse(ctx, err)
	}
	return &answer{status: in.StatusCode, header: in.Header, body: data}, nil
}

// noResponse returns the error for a request without a response. The request may have been performed.
func (c *client) noResponse(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.New(c.s.clean(fmt.Sprintf("Consul at %s cannot be reached, or does not answer: %v", c.s.address.Host,
		web.Reason(err))))
}

// failed returns the error for an unexpected response.
func (c *client) failed(what, key string, a *answer) error {
	text := fmt.Sprintf("%s %s: Consul at %s answered with status %d", what, key, c.s.address.Host, a.status)
	if reason := web.Short(string(a.body)); reason != "" {
		text += ": " + strings.TrimSuffix(reason, ".")
	}
	switch a.status {
	case http.StatusForbidden, http.StatusUnauthorized:
		text += fmt.Sprintf(". Set access_token, or CONSUL_HTTP_TOKEN, to a token that may write keys below %q and "+
			"sessions", c.s.path)
	case http.StatusRequestEntityTooLarge:
		text += ". The server's limits are lower than usual: check its settings kv_max_value_size and txn_max_req_len"
	}
	return errors.New(c.s.clean(text))
}

// pair is a key with its value.
type pair struct {
	Key         string
	Value       []byte
	Flags       uint64
	Session     string
	ModifyIndex uint64
}

// linear returns the parameters of a consistent read.
func linear() url.Values { return url.Values{"consistent": {""}} }

// get returns a key, or nil if it does not exist.
func (c *client) get(ctx context.Context, key string) (*pair, error) {
	a, err := c.send(ctx, http.MethodGet, "/v1/kv/"+key, linear(), nil)
	var pairs []*pair
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", key, err)
	case a.status == http.StatusNotFound && len(a.body) == 0:
		return nil, nil
	case a.status != http.StatusOK:
		return nil, c.failed("read", key, a)
	}
	if err := json.Unmarshal(a.body, &pairs); err != nil || len(pairs) != 1 || pairs[0] == nil || pairs[0].Key != key {
		return nil, fmt.Errorf("read %s: the server at %s is not Consul. Check the address", key, c.s.address.Host)
	}
	return pairs[0], nil
}

// keys lists the keys with the prefix. A key that contains the separator after the prefix is cut there.
func (c *client) keys(ctx context.Context, prefix, separator string) (keys []string, err error) {
	query := linear()
	query.Set("keys", "")
	query.Set("separator", separator)
	a, err := c.send(ctx, http.MethodGet, "/v1/kv/"+prefix, query, nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	case a.status == http.StatusNotFound && len(a.body) == 0:
		return nil, nil
	case a.status != http.StatusOK:
		return nil, c.failed("list", prefix, a)
	}
	if err := json.Unmarshal(a.body, &keys); err != nil {
		return nil, fmt.Errorf("list %s: the server at %s is not Consul. Check the address", prefix,
			c.s.address.Host)
	}
	return keys, nil
}

// put writes a value without a condition.
func (c *client) put(ctx context.Context, key string, value []byte) error {
	a, err := c.send(ctx, http.MethodPut, "/v1/kv/"+key, nil, value)
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	if a.status != http.StatusOK || strings.TrimSpace(string(a.body)) != "true" {
		return c.failed("write", key, a)
	}
	return nil
}

// remove removes a key.
func (c *client) remove(ctx context.Context, key string) error {
	a, err := c.send(ctx, http.MethodDelete, "/v1/kv/"+key, nil, nil)
	if err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	if a.status != http.StatusOK {
		return c.failed("delete", key, a)
	}
	return nil
}
