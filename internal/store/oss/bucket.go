package oss

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/bucket"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// client is a client for the bucket.
type client struct {
	s *settings
	*web.Client
}

// stored is an object as it was last read.
type stored struct {
	data []byte
	etag string
}

// Name returns the name of an object in messages.
func (c *client) Name(name string) string { return "oss://" + c.s.bucket + "/" + name }

// address returns the address of an object, or of the bucket if name is "".
func (c *client) address(name string, query url.Values) string {
	u := *c.s.endpoint
	if c.s.inPath() {
		u.Path += "/" + c.s.bucket
	} else {
		u.Host = c.s.bucket + "." + u.Host
	}
	u.Path += "/"
	for i, part := range strings.Split(name, "/") {
		if i > 0 {
			u.RawPath += "/"
		}
		u.RawPath += escape(part)
	}
	u.RawPath, u.Path, u.RawQuery = u.Path+u.RawPath, u.Path+name, query.Encode()
	return u.String()
}

// ask sends a request for an object.
func (c *client) ask(ctx context.Context, what, method, name string, query url.Values, header http.Header,
	body []byte) (*web.Answer, web.Request, error) {
	if header == nil {
		header = http.Header{}
	}
	if body != nil {
		sum := md5.Sum(body)
		header.Set("Content-Md5", base64.StdEncoding.EncodeToString(sum[:]))
		header.Set("Content-Type", "application/json")
	}
	r := web.Request{What: what, Name: c.Name(name), Method: method, Address: c.address(name, query), Header: header,
		Body: body, Object: method == http.MethodGet && name != ""}
	a, err := c.Send(ctx, r)
	return a, r, err
}

// failed returns the error for an unexpected response.
func (c *client) failed(r web.Request, a *web.Answer) error {
	code, text := bucket.DescribeError(a)
	permission := map[string]string{"read": "oss:GetObject", "look for": "oss:GetObject", "write": "oss:PutObject",
		"delete": "oss:DeleteObject", "list": "oss:ListObjects"}[r.What]
	hint := ""
	switch {
	case code == "NoSuchBucket":
		hint = "The backend does not create buckets: create it, or check bucket, region and endpoint"
	case code == "InvalidAccessKeyId", code == "SignatureDoesNotMatch":
		hint = "The credentials are wrong, or the region is another one. Check access_key, secret_key and region"
	case code == "SecurityTokenExpired", code == "InvalidSecurityToken":
		hint = "The credentials have expired. Get new ones, and run again: the journal in the bucket has the results " +
			"so far"
	case code == "RequestTimeTooSkewed":
		hint = "The clock of this machine is wrong. Correct it"
	case a.Status == http.StatusForbidden:
		hint = "Allow " + permission + " to these credentials"
	}
	return c.Failed(r, a, text, hint)
}

// get returns an object, or nil if it does not exist.
func (c *client) get(ctx context.Context, name string) (*stored, error) {
	a, r, err := c.ask(ctx, "read", http.MethodGet, name, nil, nil, nil)
	switch {
	case err != nil:
		return nil, err
	case bucket.Missing(a):
		return nil, nil
	case a.Status != http.StatusOK:
		return nil, c.failed(r, a)
	}
	o := &stored{data: a.Body, etag: bucket.Tag(a.Header.Get("ETag"))}
	if o.etag == "" {
		return nil, &web.Problem{Text: fmt.Sprintf("read %s: the answer has no tag, so the object cannot be replaced "+
			"safely. The server is not OSS, or a proxy changes its answers", r.Name)}
	}
	sum := md5.Sum(o.data)
	for field, got := range map[string]string{"Content-Md5": base64.StdEncoding.EncodeToString(sum[:]),
		checksumField: checksum(o.data)} {
		if want := a.Header.Get(field); want != "" && want != got {
			return nil, &web.Problem{Text: fmt.Sprintf("read %s: the content was changed in transit: its %s differs. "+
				"Try again", r.Name, field)}
		}
	}
	return o, nil
}

// checksumField contains the checksum that the service computes for every object.
const checksumField = "X-Oss-Hash-Crc64ecma"

var polynomial = crc64.MakeTable(crc64.ECMA)

func checksum(data []byte) string { return strconv.FormatUint(crc64.Checksum(data, polynomial), 10) }

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
	return bucket.Tagged("OSS", r, a)
}

// header returns the block's settings for storing objects.
func (c *client) header() http.Header {
	h := http.Header{}
	if c.s.encrypt {
		h.Set("X-Oss-Server-Side-Encryption", "AES256")
	}
	return h
}

// look returns the tag of a state, and whether it already has the data to write because a response was lost. It returns
// objects.ErrUnmet if the tag is not was; "" means that the state must not exist.
func (c *client) look(ctx context.Context, name string, data []byte, was string) (tag string, done bool, err error) {
	there, err := c.head(ctx, name)
	if err != nil || there == was {
		return there, false, err
	}
	err = c.unmet(ctx, name, data, &there)
	return there, err == nil, err
}

// put writes a state. In buckets without versions, creating one is conditional.
func (c *client) put(ctx context.Context, name string, data []byte, was string) (string, error) {
	h := c.header()
	if c.s.acl != "" {
		h.Set("X-Oss-Object-Acl", c.s.acl)
	}
	if was == "" {
		h.Set("X-Oss-Forbid-Overwrite", "true")
	}
	a, r, err := c.ask(ctx, "write", http.MethodPut, name, nil, h, data)
	if err != nil {
		return "", err
	}
	if code, _ := bucket.DescribeError(a); code == "FileAlreadyExists" {
		there := ""
		err := c.unmet(ctx, name, data, &there)
		return there, err
	}
	if !a.OK() {
		return "", c.failed(r, a)
	}
	return bucket.Tagged("OSS", r, a)
}

// unmet returns nil and the tag if the object already has the data to write, because a response was lost.
func (c *client) unmet(ctx context.Context, name string, data []byte, tag *string) error {
	o, err := c.get(ctx, name)
	if err != nil {
		return err
	}
	if o == nil || !bytes.Equal(o.data, data) {
		return objects.ErrUnmet
	}
	*tag = o.etag
	return nil
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
	return bucket.Pages{Service: "OSS", Name: c.Name, Escaped: true, Ask: func(ctx context.Context, query url.Values) (
		*web.Answer, error) {
		a, r, err := c.ask(ctx, "list", http.MethodGet, "", query, nil, nil)
		if err == nil && a.Status != http.StatusOK {
			r.Name = c.Name(query.Get("prefix"))
			err = c.failed(r, a)
		}
		return a, err
	}}
}

// once is the bucket as a store of objects that are written once: an append at position 0 fails if the object exists,
// even in buckets with versions.
type once struct{ *client }

// Get implements objects.Once.
func (o once) Get(ctx context.Context, name string) ([]byte, error) {
	there, err := o.get(ctx, name)
	if err != nil || there == nil {
		return nil, err
	}
	return there.data, nil
}

// Create implements objects.Once.
func (o once) Create(ctx context.Context, name string, data []byte) error {
	a, r, err := o.ask(ctx, "write", http.MethodPost, name, url.Values{"append": {""}, "position": {"0"}}, o.header(),
		data)
	switch {
	case err != nil:
		return err
	case a.Status == http.StatusConflict:
		return objects.ErrUnmet
	case !a.OK():
		return o.failed(r, a)
	}
	_, err = bucket.Tagged("OSS", r, a)
	return err
}

// First implements objects.Once.
func (o once) First(ctx context.Context, prefix string, most int) ([]objects.Entry, error) {
	return o.pages().First(ctx, prefix, most)
}

// store keeps states in the bucket, with their digests in the table.
type store struct {
	*client
	table *table    // nil if none is configured
	seen  *sync.Map // digests of states that were read or written, by tag
	// patience is how long a state may differ from its digest.
	patience time.Duration
}

// List implements bucket.Store.
func (s store) List(ctx context.Context, prefix string, each func(name string)) error {
	return s.pages().All(ctx, prefix, each)
}

// Forget implements bucket.Store.
func (s store) Forget(ctx context.Context, name string) error {
	if err := s.Remove(ctx, name); err != nil || s.table == nil {
		return err
	}
	return s.table.forget(ctx, name)
}

// Write implements bucket.Store. With a table, it first replaces the digest of the previous state with the new one,
// which fails for a run that has lost its lock.
func (s store) Write(ctx context.Context, name string, w remote.Write) (string, error) {
	there, done, err := s.look(ctx, name, w.Data, w.Was)
	if err != nil || done && s.table == nil {
		return there, err
	}
	if s.table == nil {
		return s.put(ctx, name, w.Data, w.Was)
	}
	was := w.Was // the tag of a state written by one request is its digest
	if known, ok := s.seen.Load(w.Was); ok {
		was = known.(string)
	}
	if err := s.table.note(ctx, name, digest(w.Data), strings.ToLower(was)); err != nil {
		return "", err
	}
	if done {
		return there, nil
	}
	version, err := s.put(ctx, name, w.Data, w.Was)
	if err == nil {
		s.seen.Store(version, digest(w.Data))
	}
	if err != nil && !errors.Is(err, objects.ErrUnmet) {
		err = &remote.UnfinishedError{Err: err} // others would take a state that differs from its digest for damaged
	}
	return version, err
}
