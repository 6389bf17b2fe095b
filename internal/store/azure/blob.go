package azure

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/store/remote/bucket"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// blob is a blob as it was last read or written.
type blob struct {
	data   []byte // nil if the content was not requested
	etag   string
	size   int64
	leased bool
	meta   map[string]string // names are in lower case
}

const metaPrefix = "x-ms-meta-"

// seen returns the blob that a response describes.
func seen(a *answer) *blob {
	o := &blob{etag: a.header.Get("ETag"), leased: a.header.Get("x-ms-lease-status") == "locked",
		meta: map[string]string{}}
	for name, values := range a.header {
		if name, ok := strings.CutPrefix(strings.ToLower(name), metaPrefix); ok && len(values) > 0 {
			o.meta[name] = values[0]
		}
	}
	return o
}

// withMeta adds metadata to the headers of a request.
func withMeta(header, meta map[string]string) map[string]string {
	header = maps.Clone(header)
	for name, value := range meta {
		header[metaPrefix+name] = value
	}
	return header
}

// sealing returns the headers that make the service encrypt a blob with the user's key.
func (b *blobs) sealing(header map[string]string, writes bool) map[string]string {
	if header == nil {
		header = map[string]string{}
	}
	if b.s.customerKey != "" {
		header["x-ms-encryption-key"], header["x-ms-encryption-key-sha256"] = b.s.customerKey, b.s.customerID
		header["x-ms-encryption-algorithm"] = "AES256"
	}
	if writes && b.s.scope != "" {
		header["x-ms-encryption-scope"] = b.s.scope
	}
	return header
}

// missing reports whether the blob does not exist. A missing container is an error, and so is an HTML page with status
// 404, which did not come from the service.
func missing(a *answer) bool {
	return a.status == http.StatusNotFound && (a.code == "BlobNotFound" || a.code == "ResourceNotFound")
}

// conditionFailed reports whether a condition on the current content does not hold.
func conditionFailed(a *answer) bool {
	return a.code == "ConditionNotMet" || a.code == "BlobAlreadyExists" || a.code == "TargetConditionNotMet"
}

// leaseMissing reports whether a response means that the blob does not have the given lease.
func leaseMissing(a *answer) bool {
	return strings.HasPrefix(a.code, "Lease") && (a.status == http.StatusPreconditionFailed ||
		a.status == http.StatusConflict)
}

// get returns a blob, or nil if it does not exist.
func (b *blobs) get(ctx context.Context, name string) (*blob, error) {
	r := request{what: "read", method: http.MethodGet, blob: name, header: b.sealing(nil, false), most: b.most}
	a, err := b.send(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case missing(a):
		return nil, nil
	case !a.ok():
		return nil, b.refused(r, a)
	}
	o := seen(a)
	if o.etag == "" {
		return nil, b.foreign(r, "it has no ETag")
	}
	o.data, o.size = a.body, int64(len(a.body))
	return o, nil
}

// head returns a blob without its content. With a lease ID, it returns errUnleased if the blob has another lease or
// none.
func (b *blobs) head(ctx context.Context, name, lease string) (*blob, error) {
	r := request{what: "look for", method: http.MethodHead, blob: name,
		header: b.sealing(map[string]string{"x-ms-lease-id": lease}, false)}
	a, err := b.send(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case missing(a), a.status == http.StatusNotFound && a.code == "": // a response to HEAD has no body
		return nil, nil
	case lease != "" && a.status == http.StatusPreconditionFailed:
		return nil, errUnleased
	case !a.ok():
		return nil, b.refused(r, a)
	}
	o := seen(a)
	if o.etag == "" {
		return nil, b.foreign(r, "it has no ETag")
	}
	o.size = a.contentLength()
	return o, nil
}

// put replaces the blob with this tag, or creates it if the tag is "", and returns the new tag.
func (b *blobs) put(ctx context.Context, name string, data []byte, etag, lease string, meta map[string]string) (string,
	error) {
	header := b.sealing(map[string]string{"x-ms-blob-type": "BlockBlob", "x-ms-lease-id": lease,
		"Content-Type": "application/json", "If-Match": etag}, true)
	if etag == "" {
		header["If-None-Match"] = "*"
	}
	r := request{what: "write", method: http.MethodPut, blob: name, body: data, header: withMeta(header, meta)}
	a, err := b.send(ctx, r)
	switch {
	case err != nil:
		return "", err
	case conditionFailed(a), etag != "" && missing(a):
		return "", objects.ErrUnmet
	}
	return b.written(r, a)
}

// written returns the tag of a written blob. A response without a tag does not come from the service.
func (b *blobs) written(r request, a *answer) (string, error) {
	tag := a.header.Get("ETag")
	switch {
	case !a.ok():
		return "", b.refused(r, a)
	case tag == "":
		return "", b.foreign(r, "it has no ETag")
	}
	return tag, nil
}

// errUnleased means that a blob has another lease than the given one, or none.
var errUnleased = errors.New("the lease is not held")

// setMeta replaces the metadata of a blob under a lease.
func (b *blobs) setMeta(ctx context.Context, name, lease string, meta map[string]string) (string, error) {
	r := request{what: "write the metadata of", method: http.MethodPut, blob: name,
		query:  url.Values{"comp": {"metadata"}},
		header: withMeta(b.sealing(map[string]string{"x-ms-lease-id": lease}, true), meta)}
	a, err := b.send(ctx, r)
	switch {
	case err != nil:
		return "", err
	case missing(a), leaseMissing(a):
		return "", errUnleased
	}
	return b.written(r, a)
}

// lease performs an action on the lease of a blob: acquire, release or break.
func (b *blobs) lease(ctx context.Context, name, action, id string) (*answer, request, error) {
	header := map[string]string{"x-ms-lease-action": action}
	switch action {
	case "acquire":
		header["x-ms-lease-duration"], header["x-ms-proposed-lease-id"] = "-1", id
	case "break":
		header["x-ms-lease-break-period"] = "0"
	default:
		header["x-ms-lease-id"] = id
	}
	r := request{what: action + " the lease on", method: http.MethodPut, blob: name,
		query: url.Values{"comp": {"lease"}}, header: header}
	a, err := b.send(ctx, r)
	done := map[string]int{"acquire": http.StatusCreated, "break": http.StatusAccepted}[action]
	if err == nil && done != 0 && a.ok() && a.status != done {
		err = b.foreign(r, fmt.Sprintf("its status is %d, and not %d", a.status, done))
	}
	return a, r, err
}

// snapshot takes a snapshot of a blob.
func (b *blobs) snapshot(ctx context.Context, name, lease string) error {
	r := request{what: "make a snapshot of", method: http.MethodPut, blob: name,
		query: url.Values{"comp": {"snapshot"}}, header: b.sealing(map[string]string{"x-ms-lease-id": lease}, true)}
	a, err := b.send(ctx, r)
	switch {
	case err != nil:
		return err
	case !a.ok():
		return b.refused(r, a)
	case a.status != http.StatusCreated:
		return b.foreign(r, fmt.Sprintf("its status is %d, and not %d", a.status, http.StatusCreated))
	}
	return nil
}

// remove removes a blob. It is not an error if the blob does not exist.
func (b *blobs) remove(ctx context.Context, name, lease, etag string, snapshots bool) error {
	header := map[string]string{"x-ms-lease-id": lease, "If-Match": etag}
	if snapshots {
		header["x-ms-delete-snapshots"] = "include"
	}
	r := request{what: "delete", method: http.MethodDelete, blob: name, header: header}
	a, err := b.send(ctx, r)
	switch {
	case err != nil:
		return err
	case a.ok(), missing(a):
		return nil
	case conditionFailed(a), a.code == "SnapshotsPresent":
		return objects.ErrUnmet
	case leaseMissing(a):
		return errUnleased
	}
	return b.refused(r, a)
}

// list calls a function for each blob whose name has the prefix.
func (b *blobs) list(ctx context.Context, prefix string, each func(name string, size int64)) error {
	pages := bucket.Page{Prefix: prefix}
	for marker := ""; ; {
		query := url.Values{"restype": {"container"}, "comp": {"list"}, "prefix": {prefix}}
		if marker != "" {
			query.Set("marker", marker)
		}
		r := request{what: "list", method: http.MethodGet, query: query, most: 64 << 20}
		a, err := b.send(ctx, r)
		if err != nil {
			return err
		}
		if !a.ok() {
			return b.refused(r, a)
		}
		var page struct {
			Blobs []struct {
				Name string
				Size int64 `xml:"Properties>Content-Length"`
			} `xml:"Blobs>Blob"`
			NextMarker string
		}
		if err := xml.Unmarshal(bytes.TrimPrefix(a.body, []byte("\ufeff")), &page); err != nil {
			return &problem{text: "list " + b.name("") + ": the answer cannot be read: " + web.Short(err.Error())}
		}
		if err := pages.Follows(nil, ""); err != nil {
			return &problem{text: "list " + b.name("") + ": " + err.Error()}
		}
		for _, one := range page.Blobs {
			if strings.HasPrefix(one.Name, prefix) {
				each(one.Name, one.Size)
			}
		}
		if marker = page.NextMarker; marker == "" {
			return nil
		}
	}
}

// space stores journals in the container.
type space struct{ *blobs }

// Get implements objects.Space.
func (s space) Get(ctx context.Context, name string) (data []byte, tag string, err error) {
	o, err := s.get(ctx, name)
	if err != nil || o == nil {
		return nil, "", err
	}
	return o.data, o.etag, nil
}

// Put implements objects.Space. If the object already has this content, the answer to an earlier try was lost.
func (s space) Put(ctx context.Context, name string, data []byte, tag string) (string, error) {
	etag, err := s.put(ctx, name, data, tag, "", nil)
	if !errors.Is(err, objects.ErrUnmet) {
		return etag, err
	}
	there, err := s.get(ctx, name)
	if err != nil {
		return "", err
	}
	if there != nil && bytes.Equal(there.data, data) {
		return there.etag, nil
	}
	return "", objects.ErrUnmet
}

// Remove implements objects.Space.
func (s space) Remove(ctx context.Context, name string) error {
	return s.remove(ctx, name, "", "", false)
}

// Name implements objects.Space.
func (s space) Name(name string) string { return s.name(name) }
