package cos

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/bucket"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// client is a client for the bucket.
type client struct {
	s *settings
	*web.Client

	mu      sync.Mutex
	asked   bool // it is known whether the bucket has versions
	history bool // the bucket has versions
}

// Name returns the name of an object in messages.
func (c *client) Name(name string) string { return "cos://" + c.s.bucket + "/" + name }

// ask sends a request for an object, or for the bucket if name is "".
func (c *client) ask(ctx context.Context, what, method, name string, query url.Values, header http.Header,
	body []byte) (*web.Answer, web.Request, error) {
	u := *c.s.endpoint
	var escaped []string
	for part := range strings.SplitSeq(name, "/") {
		escaped = append(escaped, escape(part))
	}
	u.Path, u.RawPath, u.RawQuery = "/"+name, "/"+strings.Join(escaped, "/"), query.Encode()
	r := web.Request{What: what, Name: c.Name(name), Method: method, Address: u.String(), Header: header, Body: body,
		Object: method == http.MethodGet && name != ""}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if body != nil {
		sum := md5.Sum(body)
		r.Header.Set("Content-Md5", base64.StdEncoding.EncodeToString(sum[:]))
		r.Header.Set("Content-Type", "application/json")
		// The other programs compare this with what they read, and use it as the ID of a lock.
		r.Header.Set("X-Cos-Meta-Md5", hex.EncodeToString(sum[:]))
		r.Header.Set("X-Cos-Acl", c.s.acl)
		if c.s.encrypt {
			r.Header.Set("X-Cos-Server-Side-Encryption", "AES256")
		}
	}
	a, err := c.Send(ctx, r)
	return a, r, err
}

// failed returns the error for an unexpected response.
func (c *client) failed(r web.Request, a *web.Answer) error {
	code, text := bucket.DescribeError(a)
	permission := map[string]string{"read": "cos:GetObject", "look for": "cos:HeadObject", "write": "cos:PutObject",
		"delete": "cos:DeleteObject", "list": "cos:GetBucket"}[r.What]
	hint := ""
	switch {
	case code == "NoSuchBucket":
		hint = "The backend does not create buckets: create it, or check bucket and region. Its name ends with the " +
			"ID of the account"
	case code == "InvalidAccessKeyId", code == "SignatureDoesNotMatch":
		hint = "The credentials are wrong. Check secret_id and secret_key"
	case code == "ExpiredToken", code == "InvalidSecurityToken":
		hint = "The credentials have expired. Get new ones, and run again: the journal has the results so far"
	case code == "RequestTimeTooSkewed", code == "RequestIsExpired":
		hint = "The clock of this machine is wrong. Correct it"
	case a.Status == http.StatusForbidden:
		hint = "Allow " + permission + " to these credentials"
	}
	return c.Failed(r, a, text, hint)
}

// get returns an object and its tag. The tag is "" if the object does not exist.
func (c *client) get(ctx context.Context, name string) (data []byte, etag string, _ error) {
	a, r, err := c.ask(ctx, "read", http.MethodGet, name, nil, nil, nil)
	switch {
	case err != nil:
		return nil, "", err
	case bucket.Missing(a):
		return nil, "", nil
	case a.Status != http.StatusOK:
		return nil, "", c.failed(r, a)
	}
	if etag, err = bucket.Tagged("COS", r, a); err != nil {
		return nil, "", err
	}
	sum := md5.Sum(a.Body)
	if want := a.Header.Get("X-Cos-Meta-Md5"); want != "" && want != hex.EncodeToString(sum[:]) {
		return nil, "", &web.Problem{Text: fmt.Sprintf("read %s: the content has changed since it was written: its "+
			"MD5 digest differs. Try again, or restore an older version", r.Name)}
	}
	return a.Body, etag, nil
}

// head returns the tag of an object, or "" if it does not exist.
func (c *client) head(ctx context.Context, name string) (string, error) {
	a, r, err := c.ask(ctx, "look for", http.MethodHead, name, nil, nil, nil)
	switch {
	case err != nil:
		return "", err
	case bucket.Missing(a):
		return "", nil
	case a.Status != http.StatusOK:
		return "", c.failed(r, a)
	}
	return bucket.Tagged("COS", r, a)
}

// put writes an object and returns its tag, or "" if the object already has the data. With fresh set, it returns
// objects.ErrUnmet if the object exists with other content; buckets with versions ignore that condition.
func (c *client) put(ctx context.Context, name string, data []byte, fresh bool) (string, error) {
	h := http.Header{}
	if fresh {
		h.Set("X-Cos-Forbid-Overwrite", "true")
	}
	a, r, err := c.ask(ctx, "write", http.MethodPut, name, nil, h, data)
	switch {
	case err != nil:
		return "", err
	case fresh && a.Status == http.StatusConflict, fresh && a.Status == http.StatusPreconditionFailed:
		return "", c.same(ctx, name, data)
	case !a.OK():
		return "", c.failed(r, a)
	}
	return bucket.Tagged("COS", r, a)
}

// same returns nil if the object already has the data to write, because a response was lost.
func (c *client) same(ctx context.Context, name string, data []byte) error {
	there, etag, err := c.get(ctx, name)
	if err == nil && (etag == "" || !bytes.Equal(there, data)) {
		err = objects.ErrUnmet
	}
	return err
}

// Remove implements objects.Once.
func (c *client) Remove(ctx context.Context, name string) error {
	a, r, err := c.ask(ctx, "delete", http.MethodDelete, name, nil, nil, nil)
	if err == nil && !a.OK() && !bucket.Missing(a) {
		err = c.failed(r, a)
	}
	return err
}

// pages returns the pages of a list of objects.
func (c *client) pages() bucket.Pages {
	return bucket.Pages{Service: "COS", Name: c.Name, Ask: func(ctx context.Context, query url.Values) (
		*web.Answer, error) {
		a, r, err := c.ask(ctx, "list", http.MethodGet, "", query, nil, nil)
		if err == nil && a.Status != http.StatusOK {
			r.Name = c.Name(query.Get("prefix"))
			err = c.failed(r, a)
		}
		return a, err
	}}
}

// versioned reports whether the bucket has versions: such a bucket ignores the condition that an object does not exist.
// It asks only once. Without the permission to ask, it finds out by writing an object; without that permission either,
// the result does not matter.
func (c *client) versioned(ctx context.Context, probe string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked {
		return c.history, nil
	}
	a, r, err := c.ask(ctx, "read the versioning of", http.MethodGet, "", url.Values{"versioning": {""}}, nil, nil)
	var about struct {
		XMLName xml.Name `xml:"VersioningConfiguration"`
		Status  string
	}
	switch {
	case err != nil:
		return false, err
	case a.Status == http.StatusForbidden:
		a, r, err = c.ask(ctx, "write", http.MethodPut, probe, nil, http.Header{"X-Cos-Forbid-Overwrite": {"true"}},
			[]byte("Tombolo checks here whether the bucket has versioning."))
		if err != nil {
			return false, err
		}
		if !a.OK() && a.Status != http.StatusConflict && a.Status != http.StatusForbidden {
			return false, c.failed(r, a)
		}
		c.history = a.OK() && a.Header.Get("X-Cos-Version-Id") != ""
	case a.Status != http.StatusOK:
		return false, c.failed(r, a)
	case xml.Unmarshal(a.Body, &about) != nil:
		return false, &web.Problem{Text: fmt.Sprintf("read the versioning of %s: the server is not COS", r.Name)}
	default:
		c.history = about.Status != ""
	}
	c.asked = true
	return c.history, nil
}

// once is the bucket as a store of objects that are written once.
type once struct{ *client }

// Get implements objects.Once.
func (o once) Get(ctx context.Context, name string) ([]byte, error) {
	data, etag, err := o.get(ctx, name)
	if err != nil || etag == "" {
		return nil, err
	}
	return data, nil
}

// Create implements objects.Once.
func (o once) Create(ctx context.Context, name string, data []byte) error {
	_, err := o.put(ctx, name, data, true)
	return err
}

// First implements objects.Once.
func (o once) First(ctx context.Context, prefix string, most int) ([]objects.Entry, error) {
	return o.pages().First(ctx, prefix, most)
}

// Read implements bucket.Store.
func (c *client) Read(ctx context.Context, name string) (remote.Content, error) {
	data, etag, err := c.get(ctx, name)
	if err != nil || etag == "" {
		return remote.Content{}, err
	}
	return remote.Content{Data: data, Version: etag}, nil
}

// Write implements bucket.Store. It first checks the current content.
func (c *client) Write(ctx context.Context, name string, w remote.Write) (string, error) {
	there, err := c.head(ctx, name)
	if err != nil {
		return "", err
	}
	if there != w.Was {
		if err := c.same(ctx, name, w.Data); err != nil {
			return "", err
		}
		return there, nil
	}
	if etag, err := c.put(ctx, name, w.Data, w.Was == ""); err != nil || etag != "" {
		return etag, err
	}
	sum := md5.Sum(w.Data) // the tag of the existing object
	return hex.EncodeToString(sum[:]), nil
}

// Forget implements bucket.Store.
func (c *client) Forget(ctx context.Context, name string) error { return c.Remove(ctx, name) }

// List implements bucket.Store.
func (c *client) List(ctx context.Context, prefix string, each func(name string)) error {
	return c.pages().All(ctx, prefix, each)
}
