package kubernetes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// Limits on the size of responses, on the time of a request, and on retries.
const (
	maxAnswer = 256 << 20
	longest   = time.Minute
	retries   = 4
	// maxSecret is the maximum size of a secret, in bytes.
	maxSecret = 1 << 20
)

// client sends requests.
type client struct {
	s    *settings
	http *http.Client
	base *url.URL
	log  func(format string, args ...any)
	wait time.Duration // pause before the first retry
	most int64         // maximum size of a response, in bytes
	// silence limits each step of a response.
	silence time.Duration
}

func newClient(s *settings, o remote.Surroundings) (*client, error) {
	base, _, err := rest.DefaultServerUrlFor(s.rest)
	if err != nil {
		return nil, err
	}
	base.User = nil
	c, err := rest.HTTPClientFor(s.rest)
	if err != nil {
		return nil, err
	}
	transport := c.Transport
	if transport == nil { // the default transport
		transport = web.Transport(nil)
	}
	return &client{s: s, http: web.Over(transport), base: base, log: o.Log, wait: web.FirstPause, most: maxAnswer,
		silence: longest}, nil
}

// metadata holds the relevant metadata of an object.
type metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
}

// secret is a secret, or the metadata of a listed one.
type secret struct {
	APIVersion string            `json:"apiVersion,omitempty"`
	Kind       string            `json:"kind,omitempty"`
	Metadata   metadata          `json:"metadata"`
	Type       string            `json:"type,omitempty"`
	Data       map[string][]byte `json:"data,omitempty"`

	all map[string]any // as sent by the server, so that a replacement keeps all of it
}

// answer is a response of the server.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// missing reports whether the server responds that the object does not exist. An HTML page with status 404 comes from a
// proxy, or from an address that is not a Kubernetes API.
func (a *answer) missing() bool {
	var response struct{ Kind, Reason string }
	return a.status == http.StatusNotFound && json.Unmarshal(a.body, &response) == nil && response.Kind == "Status" &&
		response.Reason == "NotFound"
}

func (c *client) secrets() string { return "/api/v1/namespaces/" + c.s.namespace + "/secrets" }
func (c *client) leases() string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + c.s.namespace + "/leases"
}

// send sends a request, with retries, and returns the final response. All requests may be repeated, because their
// effects depend on versions.
func (c *client) send(ctx context.Context, method, path string, query url.Values, body any) (*answer, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	for try := 0; ; try++ {
		a, err := c.once(ctx, method, path, query, text)
		again := err != nil && ctx.Err() == nil && !web.Lasting(err) || err == nil && web.Busy(a.status)
		if !again || try == retries {
			return a, err
		}
		var headers http.Header
		if a != nil {
			headers = a.header
		}
		if err := web.Wait(ctx, try, c.wait, headers); err != nil {
			return nil, err
		}
	}
}

// once sends a request without retries and reads the response.
func (c *client) once(ctx context.Context, method, path string, query url.Values, body []byte) (a *answer, err error) {
	began := time.Now()
	defer func() {
		message := ""
		if err != nil {
			message = err.Error()
		} else {
			message = strconv.Itoa(a.status)
		}
		c.log("kubernetes: %s %s in %s: %s", method, path, time.Since(began).Round(time.Millisecond),
			c.s.clean(message))
	}()
	limited, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	u := *c.base
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	u.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(limited, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New(c.s.clean(err.Error()))
	}
	r.Header.Set("Accept", "application/json")
	if query.Has("labelSelector") { // only names and labels
		r.Header.Set("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
	}
	r.Header.Set("Content-Type", "application/json")
	in, err := c.http.Do(r)
	if err != nil {
		return nil, c.noResponse(ctx, err)
	}
	defer in.Body.Close()
	data, err := web.Read(limited, cancel, in.Body, c.most, c.silence)
	switch {
	case errors.Is(err, web.ErrLong):
		return nil, fmt.Errorf("the answer of %s is larger than %d bytes", c.base.Host, c.most)
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
	return errors.New(c.s.clean(fmt.Sprintf("Kubernetes at %s cannot be reached, or does not answer: %v", c.base.Host,
		web.Reason(err))))
}

// failed returns the error for an unexpected response.
func (c *client) failed(what, name string, a *answer) error {
	var response struct{ Message string }
	_ = json.Unmarshal(a.body, &response) // a response that is not from Kubernetes is not shown
	text := fmt.Sprintf("%s %s: Kubernetes at %s answered with status %d", what, name, c.base.Host, a.status)
	if message := web.Short(response.Message); message != "" {
		text += ": " + strings.TrimSuffix(message, ".")
	}
	switch a.status {
	case http.StatusUnauthorized:
		text += ". The server rejected these credentials: check config_path, config_context and token"
	case http.StatusForbidden:
		text += ". Allow get, list, create, update and delete of secrets and leases in the namespace " + c.s.namespace
	case http.StatusNotFound:
		text += ". The backend does not create namespaces: create " + c.s.namespace + ", or set another one"
	}
	return errors.New(c.s.clean(text))
}

// decode reads an object, and returns everything that the server has sent.
func decode(a *answer, into any) (all map[string]any, err error) {
	if err = json.Unmarshal(a.body, into); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.UseNumber()
	err = d.Decode(&all)
	return all, err
}

// get returns a secret, or nil if it does not exist.
func (c *client) get(ctx context.Context, name string) (*secret, error) {
	a, err := c.send(ctx, http.MethodGet, c.secrets()+"/"+name, nil, nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the secret %s: %w", name, err)
	case a.missing():
		return nil, nil
	case a.status != http.StatusOK:
		return nil, c.failed("read", "the secret "+name, a)
	}
	s := &secret{}
	if s.all, err = decode(a, s); err != nil || s.Metadata.ResourceVersion == "" {
		return nil, fmt.Errorf("read the secret %s: the server at %s is not Kubernetes. Check the address", name,
			c.base.Host)
	}
	return s, nil
}

// put creates a secret, or replaces the version that it names.
func (c *client) put(ctx context.Context, s *secret) (version string, _ error) {
	s.APIVersion, s.Kind = "v1", "Secret"
	s.Metadata.Namespace = c.s.namespace
	method, path := http.MethodPost, c.secrets()
	if s.Metadata.ResourceVersion != "" {
		method, path = http.MethodPut, path+"/"+s.Metadata.Name
	}
	var body any = s
	if s.all != nil {
		s.all["data"] = s.Data
		body = s.all
	}
	a, err := c.send(ctx, method, path, nil, body)
	switch {
	case err != nil:
		return "", fmt.Errorf("write the secret %s: %w", s.Metadata.Name, err)
	case a.status == http.StatusConflict, a.status == http.StatusNotFound && method == http.MethodPut:
		return "", objects.ErrUnmet
	case a.status != http.StatusOK && a.status != http.StatusCreated:
		return "", c.failed("write", "the secret "+s.Metadata.Name, a)
	}
	var made secret
	if json.Unmarshal(a.body, &made) != nil || made.Metadata.ResourceVersion == "" {
		return "", fmt.Errorf("write the secret %s: the server at %s is not Kubernetes. Check the address",
			s.Metadata.Name, c.base.Host)
	}
	return made.Metadata.ResourceVersion, nil
}

// remove deletes an object that has the given version; "" means any version. A missing object is not an error.
func (c *client) remove(ctx context.Context, path, version string) error {
	var body any
	if version != "" {
		body = map[string]any{"preconditions": map[string]string{"resourceVersion": version}}
	}
	a, err := c.send(ctx, http.MethodDelete, path, nil, body)
	switch {
	case err != nil:
		return fmt.Errorf("delete %s: %w", path, err)
	case a.status == http.StatusConflict:
		return objects.ErrUnmet
	case a.status != http.StatusOK && a.status != http.StatusAccepted && a.status != http.StatusNotFound:
		return c.failed("delete", path, a)
	}
	return nil
}

// list returns the metadata of secrets with labels.
func (c *client) list(ctx context.Context, selector string) (all []metadata, _ error) {
	a, err := c.send(ctx, http.MethodGet, c.secrets(), url.Values{"labelSelector": {selector}}, nil)
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	if a.status != http.StatusOK {
		return nil, c.failed("list", "secrets", a)
	}
	var found struct {
		Items []struct{ Metadata metadata }
	}
	if err := json.Unmarshal(a.body, &found); err != nil {
		return nil, fmt.Errorf("list secrets: the server at %s is not Kubernetes. Check the address", c.base.Host)
	}
	for _, one := range found.Items {
		all = append(all, one.Metadata)
	}
	return all, nil
}

// space stores the journal.
type space struct {
	client *client
	state  string // name of the first secret of the state
}

// ownKey is the key of a secret under which the journal stores its data.
const ownKey = "tombolo"

// secretOf returns the name of the secret of an object.
func secretOf(name string) string { return strings.ToLower(strings.ReplaceAll(name, "/", ".")) }

// label returns a name in a form that is valid for a label.
func label(name string) string { return fmt.Sprintf("%.20x", sha256.Sum256([]byte(name))) }

// Get implements objects.Space.
func (s space) Get(ctx context.Context, name string) (data []byte, tag string, err error) {
	there, err := s.client.get(ctx, secretOf(name))
	if err != nil || there == nil {
		return nil, "", err
	}
	return there.Data[ownKey], there.Metadata.ResourceVersion, nil
}

// Put implements objects.Space.
func (s space) Put(ctx context.Context, name string, data []byte, tag string) (string, error) {
	version, err := s.client.put(ctx, &secret{Type: "Opaque", Data: map[string][]byte{ownKey: data},
		Metadata: metadata{Name: secretOf(name), ResourceVersion: tag,
			Labels: map[string]string{labelOwn: label(s.state)}}})
	if !errors.Is(err, objects.ErrUnmet) {
		return version, err
	}
	there, tag, err := s.Get(ctx, name)
	switch {
	case err != nil:
		return "", err
	case tag != "" && bytes.Equal(there, data):
		return tag, nil
	}
	return "", objects.ErrUnmet
}

// Remove implements objects.Space.
func (s space) Remove(ctx context.Context, name string) error {
	return s.client.remove(ctx, s.client.secrets()+"/"+secretOf(name), "")
}

// Name implements objects.Space.
func (s space) Name(name string) string { return "the secret " + secretOf(name) }
