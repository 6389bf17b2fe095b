package oraclecloud

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/bucket"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// client is a client for the bucket.
type client struct {
	s      *settings
	access *access
	*web.Client
}

// stored is an object as it was last read.
type stored struct {
	data []byte
	etag string
}

// Name returns the name of an object in messages.
func (c *client) Name(name string) string {
	return "oci://" + c.s.namespace + "/" + c.s.bucket + "/" + name
}

// ask sends a request for an object, or for the bucket if name is "". It omits empty header fields.
func (c *client) ask(ctx context.Context, what, method, name string, query url.Values, header map[string]string,
	body []byte) (*web.Answer, web.Request, error) {
	r := web.Request{What: what, Name: c.Name(name), Method: method, Header: http.Header{}, Body: body,
		Object: method == http.MethodGet && name != ""}
	base, err := c.access.base(ctx)
	if err != nil {
		return nil, r, &web.Problem{Text: what + " " + r.Name + ": " + err.Error(), Err: err}
	}
	r.Address = base + "/n/" + url.PathEscape(c.s.namespace) + "/b/" + url.PathEscape(c.s.bucket) + "/o"
	if name != "" {
		r.Address += "/" + strings.ReplaceAll(url.PathEscape(name), "%2F", "/")
	} else {
		r.Address += "?" + query.Encode()
	}
	for field, value := range header {
		if value != "" {
			r.Header.Set(field, value)
		}
	}
	if body != nil {
		sum := md5.Sum(body)
		r.Header.Set("Content-Md5", base64.StdEncoding.EncodeToString(sum[:]))
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := c.Send(ctx, r)
	return a, r, err
}

// sealed returns the header fields with the customer's key, for objects that are encrypted with it.
func (c *client) sealed() map[string]string {
	h := map[string]string{}
	if c.s.customerKey != "" {
		h["Opc-Sse-Customer-Algorithm"] = "AES256"
		h["Opc-Sse-Customer-Key"], h["Opc-Sse-Customer-Key-Sha256"] = c.s.customerKey, c.s.customerSum
	}
	return h
}

// description returns the service's description of an error.
func description(a *web.Answer) (code, text string) {
	var named struct{ Code, Message string }
	if json.Unmarshal(a.Body, &named) != nil {
		return "", ""
	}
	return named.Code, strings.TrimPrefix(named.Code+": "+named.Message, ": ")
}

// missing reports whether a response means that the object does not exist. A missing bucket is an error, and a response
// without an error code did not come from the service.
func missing(a *web.Answer) bool {
	code, _ := description(a)
	return a.Status == http.StatusNotFound && (code == "ObjectNotFound" || a.Method == http.MethodHead &&
		len(a.Body) == 0)
}

// failed returns the error for an unexpected response.
func (c *client) failed(r web.Request, a *web.Answer) error {
	code, text := description(a)
	if id := a.Header.Get("Opc-Request-Id"); id != "" && text != "" {
		text = strings.TrimSuffix(text, ".") + " (request " + id + ")"
	}
	permission := map[string]string{"read": "OBJECT_READ", "look for": "OBJECT_READ", "delete": "OBJECT_DELETE",
		"write": "OBJECT_CREATE and OBJECT_OVERWRITE", "list": "OBJECT_INSPECT"}[r.What]
	hint := ""
	switch {
	case code == "BucketNotFound", code == "NamespaceNotFound":
		hint = "The backend does not create buckets: create it, or check bucket, namespace and region, and that " +
			"these credentials are allowed " + permission
	case a.Status == http.StatusUnauthorized:
		hint = "The credentials are wrong or have expired, or the clock of this machine is wrong"
	case a.Status == http.StatusForbidden, a.Status == http.StatusNotFound:
		hint = "Allow " + permission + " to these credentials"
	case strings.Contains(code, "EncryptionKey"):
		hint = "The object is encrypted with another key, or not encrypted. Check sse_customer_key"
	}
	return c.Failed(r, a, text, hint)
}

// get returns an object, or nil if it does not exist.
func (c *client) get(ctx context.Context, name string, header map[string]string) (*stored, error) {
	a, r, err := c.ask(ctx, "read", http.MethodGet, name, nil, header, nil)
	switch {
	case err != nil:
		return nil, err
	case missing(a):
		return nil, nil
	case a.Status != http.StatusOK:
		return nil, c.failed(r, a)
	}
	o := &stored{data: a.Body, etag: a.Header.Get("ETag")}
	if o.etag == "" {
		return nil, &web.Problem{Text: fmt.Sprintf("read %s: the answer has no entity tag, so the object cannot be "+
			"replaced safely. The server is not Object Storage, or a proxy changes its answers", r.Name)}
	}
	sum := md5.Sum(o.data)
	if want := a.Header.Get("Content-Md5"); want != "" && want != base64.StdEncoding.EncodeToString(sum[:]) {
		return nil, &web.Problem{Text: fmt.Sprintf("read %s: the content was changed in transit: its MD5 digest "+
			"differs. Try again", r.Name)}
	}
	return o, nil
}

// put replaces the object with the tag was, or creates it if was is "", and returns the new tag. No two writes to a
// name have the same data: if the object already has it, a response was lost.
func (c *client) put(ctx context.Context, name string, data []byte, was string, header map[string]string) (string,
	error) {
	h := map[string]string{"If-Match": was}
	if was == "" {
		h["If-None-Match"] = "*"
	}
	for field, value := range header {
		h[field] = value
	}
	a, r, err := c.ask(ctx, "write", http.MethodPut, name, nil, h, data)
	switch {
	case err != nil:
		return "", err
	case a.Status == http.StatusPreconditionFailed, was != "" && missing(a):
		there, err := c.get(ctx, name, header)
		if err != nil {
			return "", err
		}
		if there == nil || !bytes.Equal(there.data, data) {
			return "", objects.ErrUnmet
		}
		return there.etag, nil
	case !a.OK():
		return "", c.failed(r, a)
	}
	tag := a.Header.Get("ETag")
	if tag == "" {
		return "", &web.Problem{Text: fmt.Sprintf("write %s: the answer has no entity tag. The server is not Object "+
			"Storage, or a proxy changes its answers", r.Name)}
	}
	return tag, nil
}

// remove deletes an object, or only one with the given tag. A missing object is not an error.
func (c *client) remove(ctx context.Context, name, tag string) error {
	a, r, err := c.ask(ctx, "delete", http.MethodDelete, name, nil, map[string]string{"If-Match": tag}, nil)
	switch {
	case err != nil:
		return err
	case a.OK():
		return nil
	case missing(a), a.Status == http.StatusPreconditionFailed:
		if tag == "" || a.Again {
			return nil // if it is another run's by now, the first try has removed ours
		}
		return objects.ErrUnmet
	}
	return c.failed(r, a)
}

// List implements bucket.Store.
func (c *client) List(ctx context.Context, prefix string, each func(name string)) error {
	query := url.Values{"prefix": {prefix}, "limit": {"1000"}, "fields": {"name"}}
	pages := bucket.Page{Prefix: prefix}
	for {
		a, r, err := c.ask(ctx, "list", http.MethodGet, "", query, nil, nil)
		if err != nil {
			return err
		}
		r.Name = c.Name(prefix)
		if a.Status != http.StatusOK {
			return c.failed(r, a)
		}
		var page struct {
			Objects []struct{ Name string }
			Next    string `json:"nextStartWith"`
		}
		if err := json.Unmarshal(a.Body, &page); err != nil {
			return &web.Problem{Text: fmt.Sprintf("list %s: the answer is not a list of objects. The server is not "+
				"Object Storage", r.Name)}
		}
		names := make([]string, len(page.Objects))
		for i, o := range page.Objects {
			names[i] = o.Name
		}
		if err := pages.Follows(names, page.Next); err != nil {
			return &web.Problem{Text: fmt.Sprintf("list %s: %v. The server is not Object Storage", r.Name, err)}
		}
		for _, name := range names {
			each(name)
		}
		if page.Next == "" {
			return nil
		}
		query.Set("start", page.Next)
	}
}

// Read implements bucket.Store.
func (c *client) Read(ctx context.Context, name string) (remote.Content, error) {
	o, err := c.get(ctx, name, c.sealed())
	if err != nil || o == nil {
		return remote.Content{}, err
	}
	return remote.Content{Data: o.data, Version: o.etag}, nil
}

// Write implements bucket.Store.
func (c *client) Write(ctx context.Context, name string, w remote.Write) (string, error) {
	return c.Put(ctx, name, w.Data, w.Was)
}

// Forget implements bucket.Store.
func (c *client) Forget(ctx context.Context, name string) error { return c.remove(ctx, name, "") }

// Get implements objects.Space.
func (c *client) Get(ctx context.Context, name string) (data []byte, tag string, err error) {
	o, err := c.get(ctx, name, c.sealed())
	if err != nil || o == nil {
		return nil, "", err
	}
	return o.data, o.etag, nil
}

// Put implements objects.Space. State and journal are encrypted with the keys of the block.
func (c *client) Put(ctx context.Context, name string, data []byte, tag string) (string, error) {
	h := c.sealed()
	if c.s.kmsKey != "" {
		h["Opc-Sse-Kms-Key-Id"] = c.s.kmsKey
	}
	return c.put(ctx, name, data, tag, h)
}

// Remove implements objects.Space.
func (c *client) Remove(ctx context.Context, name string) error { return c.remove(ctx, name, "") }

// slot is the lock object of a state. It is not encrypted with the customer's key, but locks of other programs may be.
type slot struct {
	*client
	name string
}

// Look implements bucket.Slot.
func (s slot) Look(ctx context.Context) (*bucket.Found, error) {
	o, err := s.get(ctx, s.name, nil)
	if err != nil && s.s.customerKey != "" {
		o, err = s.get(ctx, s.name, s.sealed())
	}
	if err != nil || o == nil {
		return nil, err
	}
	return bucket.ParseLock(string(o.data), o.etag), nil
}

// Put implements bucket.Slot.
func (s slot) Put(ctx context.Context, raw string) error {
	_, err := s.put(ctx, s.name, []byte(raw), "", nil)
	return err
}

// Remove implements bucket.Slot.
func (s slot) Remove(ctx context.Context, f *bucket.Found) error { return s.remove(ctx, s.name, f.Tag) }
