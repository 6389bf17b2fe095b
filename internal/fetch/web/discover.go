package web

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	svchost "github.com/hashicorp/terraform-svchost"
)

// discoveryPath is the path of the document with which a host announces its services: an object of names and addresses.
const discoveryPath = "/.well-known/terraform.json"

// maxDiscovery limits that document, in bytes; real ones have some hundred.
const maxDiscovery = 1 << 20

// NoServiceError means that a host was reached but does not have a service.
type NoServiceError struct{ Host, Service string }

func (e *NoServiceError) Error() string {
	return fmt.Sprintf("the host %s does not offer the service %s", e.Host, e.Service)
}

// announced holds the services of a host, which are fetched once.
type announced struct {
	once     sync.Once
	found    atomic.Bool // the fields below are set
	base     *url.URL
	services map[string]any
	forced   bool // the services come from the CLI configuration
	moved    bool // the document comes from another host, to which this one has redirected
	err      error
}

// Service returns the address of a service of a host, such as providers.v1, ending in a slash. It requests the services
// of a host only once, even if that fails, because the request includes the allowed retries.
func (c *Client) Service(ctx context.Context, host, id string) (*url.URL, error) {
	c.mu.Lock()
	known := c.hosts[host]
	if known == nil {
		known = &announced{}
		c.hosts[host] = known
	}
	c.mu.Unlock()
	known.once.Do(func() {
		known.err = c.discover(ctx, host, known)
		known.found.Store(true)
	})
	if known.err != nil {
		return nil, fmt.Errorf("the services of the host %s could not be read: %w", host, known.err)
	}
	text, ok := known.services[id].(string)
	if !ok {
		return nil, &NoServiceError{host, id}
	}
	u, err := Resolve(known.base, text)
	if err == nil && !known.forced {
		err = Protected(known.base, u)
	}
	if err != nil {
		return nil, fmt.Errorf("the address that the host %s has for the service %s cannot be used: %w", host, id, err)
	}
	if !strings.HasSuffix(u.Path, "/") {
		u = u.JoinPath("/")
	}
	return u, nil
}

func (c *Client) discover(ctx context.Context, host string, to *announced) error {
	ascii, err := svchost.ForComparison(host)
	if err != nil {
		return err
	}
	to.base = &url.URL{Scheme: "https", Host: string(ascii), Path: discoveryPath}
	if services, ok := c.Services[host]; ok {
		to.services, to.forced = services, true
		return nil
	}
	doc, err := c.Get(ctx, Request{URL: to.base, Host: host, Accept: mediaJSON, Limit: maxDiscovery})
	if IsNotFound(err) {
		return nil // a host without services
	}
	if err != nil {
		return err
	}
	if kind, _, err := mime.ParseMediaType(doc.Header.Get("Content-Type")); err != nil || kind != mediaJSON {
		return fmt.Errorf("%s: the answer has the type %.100q, not %s", bare(to.base), doc.Header.Get("Content-Type"),
			mediaJSON)
	}
	to.moved = doc.URL.Host != to.base.Host
	to.base = doc.URL
	if err := Decode(doc.Body, &to.services); err != nil {
		return fmt.Errorf("%s: %w", bare(to.base), err)
	}
	return nil
}

// Resolve resolves an address in a document at base. The result must be an HTTP address. It has no password, except for
// that of base if it is on the same host.
func Resolve(base *url.URL, text string) (*url.URL, error) {
	ref, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it is not a web address")
	}
	u := base.ResolveReference(ref)
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return nil, fmt.Errorf("%.200q is not a web address", bare(u))
	case ref.User != nil:
		return nil, fmt.Errorf("%.200q has a user or password in it", bare(u))
	}
	u.Fragment = ""
	return u, nil
}
