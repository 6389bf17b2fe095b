package gcs

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	buckets "github.com/tombolo-iac/tombolo/internal/store/remote/bucket"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// bucket is a client for a bucket.
type bucket struct {
	*client
	name string
}

// stored is an object as it was last read.
type stored struct {
	data       []byte
	generation string
}

// described is the service's description of an object.
type described struct {
	Name       string            `json:"name"`
	Generation string            `json:"generation"`
	Updated    time.Time         `json:"updated"`
	Created    time.Time         `json:"timeCreated"`
	Size       string            `json:"size"`
	Metadata   map[string]string `json:"metadata"`
}

// metaWrite is metadata that identifies each write.
const metaWrite = "tombolo-write"

// as selects the encryption of an object.
type as int

const (
	// plain uses the encryption of the bucket, for locks, which all programs read.
	plain as = iota
	// sealed uses the keys of the block, if there are any.
	sealed
)

// url returns the name of an object in messages.
func (b *bucket) url(name string) string { return "gs://" + b.name + "/" + name }

// object returns the address of an object.
func (b *bucket) object(name string, query url.Values) string {
	return b.s.api + "b/" + url.PathEscape(b.name) + "/o/" + url.PathEscape(name) + "?" + query.Encode()
}

// header returns the headers with the customer's key, for objects that are encrypted with it.
func (b *bucket) header(how as) http.Header {
	h := http.Header{}
	if how == sealed && b.s.customerKey != nil {
		sum := sha256.Sum256(b.s.customerKey)
		h.Set("X-Goog-Encryption-Algorithm", "AES256")
		h.Set("X-Goog-Encryption-Key", base64.StdEncoding.EncodeToString(b.s.customerKey))
		h.Set("X-Goog-Encryption-Key-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
	}
	return h
}

// missing reports whether a response means that the object does not exist. A missing bucket is an error, and so is an
// HTML page, which did not come from the service.
func missing(a *web.Answer) bool {
	_, text := message(a.Body)
	begin := bytes.ToLower(bytes.TrimSpace(a.Body[:min(len(a.Body), 100)]))
	page := bytes.HasPrefix(begin, []byte("<html")) || bytes.HasPrefix(begin, []byte("<!doctype"))
	return a.Status == http.StatusNotFound && !page &&
		!strings.Contains(strings.ToLower(text), "bucket does not exist") &&
		!bytes.Contains(a.Body, []byte("NoSuchBucket"))
}

// get returns an object's current or given generation, or nil if it does not exist.
func (b *bucket) get(ctx context.Context, name, generation string, how as) (*stored, error) {
	query := url.Values{"alt": {"media"}}
	if generation != "" {
		query.Set("generation", generation)
	}
	r := web.Request{What: "read", Name: b.url(name), Method: http.MethodGet, Address: b.object(name, query),
		Header: b.header(how), Object: true}
	a, err := b.Send(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case missing(a):
		return nil, nil
	case a.Status != http.StatusOK:
		return nil, b.failed(r, a)
	}
	if generation == "" {
		generation = a.Header.Get("X-Goog-Generation")
	}
	if n, err := strconv.ParseInt(generation, 10, 64); err != nil || n <= 0 {
		return nil, &web.Problem{Text: fmt.Sprintf("read %s: the answer has no generation, so the object cannot be "+
			"replaced safely. The server is not Google Cloud Storage, or a proxy changes its answers", r.Name)}
	}
	if err := intact(a); err != nil {
		return nil, &web.Problem{Text: fmt.Sprintf("read %s: %v. Try again. If it happens again, check the proxies "+
			"between this machine and the service", r.Name, err)}
	}
	return &stored{data: a.Body, generation: generation}, nil
}

// intact compares an object with the digest in the response, if there is one.
func intact(a *web.Answer) error {
	for _, field := range a.Header.Values("X-Goog-Hash") {
		for one := range strings.SplitSeq(field, ",") {
			want, ok := strings.CutPrefix(strings.TrimSpace(one), "md5=")
			if sum := md5.Sum(a.Body); ok && want != base64.StdEncoding.EncodeToString(sum[:]) {
				return fmt.Errorf("the content was changed in transit: its MD5 digest differs")
			}
		}
	}
	return nil
}

// describe returns the description of an object, or nil if it does not exist.
func (b *bucket) describe(ctx context.Context, name string) (*described, error) {
	r := web.Request{What: "look for", Name: b.url(name), Method: http.MethodGet,
		Address: b.object(name, url.Values{"fields": {"name,generation,metadata"}})}
	a, err := b.Send(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case missing(a):
		return nil, nil
	case a.Status != http.StatusOK:
		return nil, b.failed(r, a)
	}
	return b.description(r, a)
}

func (b *bucket) description(r web.Request, a *web.Answer) (*described, error) {
	d := &described{}
	if err := json.Unmarshal(a.Body, d); err != nil || d.Generation == "" {
		return nil, &web.Problem{Text: fmt.Sprintf("%s %s: the answer does not describe an object. The server is not "+
			"Google Cloud Storage", r.What, r.Name)}
	}
	return d, nil
}

// put writes an object and returns its new generation. It replaces generation was, or creates the object if was is "".
// If the condition does not hold because the object is this very write, a response was lost, and put succeeds.
func (b *bucket) put(ctx context.Context, name string, data []byte, meta map[string]string, was string, how as) (string,
	error) {
	if was == "" {
		was = "0"
	}
	sum := md5.Sum(data)
	all := map[string]string{metaWrite: rand.Text()}
	for k, v := range meta {
		all[k] = v
	}
	about, err := json.Marshal(map[string]any{"name": name, "contentType": "application/json", "metadata": all,
		"md5Hash": base64.StdEncoding.EncodeToString(sum[:])})
	if err != nil {
		return "", err
	}
	border := "tombolo" + rand.Text()
	body := bytes.Join([][]byte{[]byte("--" + border + "\r\nContent-Type: application/json\r\n\r\n"), about,
		[]byte("\r\n--" + border + "\r\nContent-Type: application/json\r\n\r\n"), data,
		[]byte("\r\n--" + border + "--\r\n")}, nil)
	query := url.Values{"uploadType": {"multipart"}, "name": {name}, "ifGenerationMatch": {was},
		"fields": {"name,generation"}}
	if how == sealed && b.s.kmsKey != "" {
		query.Set("kmsKeyName", b.s.kmsKey)
	}
	r := web.Request{What: "write", Name: b.url(name), Method: http.MethodPost, Header: b.header(how), Body: body,
		Address: b.s.upload + "b/" + url.PathEscape(b.name) + "/o?" + query.Encode()}
	r.Header.Set("Content-Type", "multipart/related; boundary="+border)
	a, err := b.Send(ctx, r)
	if err != nil {
		return "", err
	}
	if a.OK() {
		d, err := b.description(r, a)
		if err != nil {
			return "", err
		}
		return d.Generation, nil
	}
	if a.Status != http.StatusPreconditionFailed {
		return "", b.failed(r, a)
	}
	there, err := b.describe(ctx, name)
	if err != nil {
		return "", err
	}
	if there != nil && there.Metadata[metaWrite] == all[metaWrite] {
		return there.Generation, nil
	}
	return "", objects.ErrUnmet
}

// remove removes an object, or only a given generation of it. It reports whether the object existed; if a response was
// lost, it reports that it did.
func (b *bucket) remove(ctx context.Context, name, generation string) (was bool, err error) {
	query := url.Values{}
	if generation != "" {
		query.Set("ifGenerationMatch", generation)
	}
	r := web.Request{What: "delete", Name: b.url(name), Method: http.MethodDelete, Address: b.object(name, query)}
	a, err := b.Send(ctx, r)
	switch {
	case err != nil:
		return false, err
	case a.OK():
		return true, nil
	case missing(a):
		return a.Again, nil
	case a.Status == http.StatusPreconditionFailed && a.Again:
		return true, nil
	case a.Status == http.StatusPreconditionFailed:
		return false, objects.ErrUnmet
	}
	return false, b.failed(r, a)
}

// list calls a function for each object whose name has the prefix.
func (b *bucket) list(ctx context.Context, prefix string, more url.Values, each func(described)) error {
	query := url.Values{"prefix": {prefix}, "fields": {"nextPageToken,items(name,generation)"}}
	for name, values := range more {
		query[name] = values
	}
	pages := buckets.Page{Prefix: prefix}
	for {
		r := web.Request{What: "list", Name: b.url(prefix), Method: http.MethodGet,
			Address: b.s.api + "b/" + url.PathEscape(b.name) + "/o?" + query.Encode()}
		a, err := b.Send(ctx, r)
		if err != nil {
			return err
		}
		if a.Status != http.StatusOK {
			return b.failed(r, a)
		}
		var page struct {
			Next  string `json:"nextPageToken"`
			Items []described
		}
		if err := json.Unmarshal(a.Body, &page); err != nil {
			return &web.Problem{Text: fmt.Sprintf("list %s: the answer is not a list of objects. The server is not "+
				"Google Cloud Storage", r.Name)}
		}
		names := make([]string, len(page.Items))
		for i, d := range page.Items {
			names[i] = d.Name
		}
		err = pages.Follows(names, "")
		if err == nil && page.Next != "" && page.Next == query.Get("pageToken") {
			err = errors.New("a page of the list refers to itself as the next page")
		}
		if err != nil {
			return &web.Problem{Text: fmt.Sprintf("list %s: %v. The server is not Google Cloud Storage", r.Name, err)}
		}
		for _, d := range page.Items {
			each(d)
		}
		if page.Next == "" {
			return nil
		}
		query.Set("pageToken", page.Next)
	}
}

// space stores journals in the bucket.
type space struct{ *bucket }

// Get implements objects.Space.
func (s space) Get(ctx context.Context, name string) (data []byte, tag string, err error) {
	o, err := s.get(ctx, name, "", sealed)
	if err != nil || o == nil {
		return nil, "", err
	}
	return o.data, o.generation, nil
}

// Put implements objects.Space.
func (s space) Put(ctx context.Context, name string, data []byte, tag string) (string, error) {
	return s.put(ctx, name, data, nil, tag, sealed)
}

// Remove implements objects.Space.
func (s space) Remove(ctx context.Context, name string) error {
	_, err := s.remove(ctx, name, "")
	return err
}

// Name implements objects.Space.
func (s space) Name(name string) string { return s.url(name) }
