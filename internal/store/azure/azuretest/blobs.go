// Package azuretest runs the parts of Azure that tests need on one machine: a small in-memory Blob Storage, Azurite if
// it is installed, a Key Vault, a token service, and a proxy that serves all of them under their usual addresses.
package azuretest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// The only account and its container.
const (
	Account   = "tombolostates"
	Container = "states"
	// Token is the token that the token service issues.
	Token = "token-canary"
)

// Key is the access key of the account.
var Key = base64.StdEncoding.EncodeToString([]byte("access-key-canary-0123456789"))

// Blobs is a Blob Storage with one container. It implements leases, tags and metadata as the service documents them.
// The zero value is ready to use.
type Blobs struct {
	mu        sync.Mutex
	blobs     map[string]*blob
	count     int
	Snapshots []string // content of states at each snapshot, in order
}

type blob struct {
	data  []byte
	etag  string
	meta  http.Header
	lease string // "" for none
}

var guid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Text returns the content of a blob, or "" if it does not exist.
func (b *Blobs) Text(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if o := b.blobs[name]; o != nil {
		return string(o.data)
	}
	return ""
}

// Names returns the names of all blobs.
func (b *Blobs) Names() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.blobs))
}

// Authorized reports whether a request has a valid signature or token.
func Authorized(r *http.Request) bool {
	given := r.Header.Get("Authorization")
	if given == "Bearer "+Token || r.URL.Query().Get("sig") == "sas-canary" {
		return true
	}
	return given == "SharedKey "+Account+":"+signature(r)
}

// signature returns the signature of a request.
func signature(r *http.Request) string {
	key, err := base64.StdEncoding.DecodeString(Key)
	if err != nil {
		return ""
	}
	length := r.Header.Get("Content-Length")
	if r.ContentLength > 0 {
		length = fmt.Sprint(r.ContentLength)
	} else if length == "0" {
		length = ""
	}
	text := r.Method + "\n"
	for _, name := range []string{"Content-Encoding", "Content-Language", "", "Content-MD5", "Content-Type", "Date",
		"If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"} {
		if name == "" {
			text += length + "\n"
			continue
		}
		text += r.Header.Get(name) + "\n"
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if low := strings.ToLower(name); strings.HasPrefix(low, "x-ms-") {
			text += low + ":" + r.Header.Get(name) + "\n"
		}
	}
	text += "/" + Account + r.URL.EscapedPath()
	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		text += "\n" + name + ":" + strings.Join(query[name], ",")
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// Refuse responds with an error in the format of the service.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("x-ms-error-code", code)
	w.WriteHeader(status)
	fmt.Fprintf(w, xml.Header+"<Error><Code>%s</Code><Message>a test</Message></Error>", code)
}

// ServeHTTP implements http.Handler.
func (b *Blobs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	container, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case !Authorized(r):
		Refuse(w, http.StatusForbidden, "AuthenticationFailed")
	case container != Container:
		Refuse(w, http.StatusNotFound, "ContainerNotFound")
	case name == "" && r.URL.Query().Get("comp") == "list":
		b.list(w, r.URL.Query().Get("prefix"), r.URL.Query().Get("marker"))
	default:
		b.blob(w, r, name, body)
	}
}

// list responds with two blobs a page.
func (b *Blobs) list(w http.ResponseWriter, prefix, marker string) {
	type entry struct {
		Name string
		Size int    `xml:"Properties>Content-Length"`
		Kind string `xml:"Properties>BlobType"`
	}
	var page struct {
		XMLName    xml.Name `xml:"EnumerationResults"`
		Blobs      []entry  `xml:"Blobs>Blob"`
		NextMarker string
	}
	for _, name := range slices.Sorted(maps.Keys(b.blobs)) {
		if !strings.HasPrefix(name, prefix) || name < marker {
			continue
		}
		if len(page.Blobs) == 2 {
			page.NextMarker = name
			break
		}
		page.Blobs = append(page.Blobs, entry{name, len(b.blobs[name].data), "BlockBlob"})
	}
	w.Header().Set("Content-Type", "application/xml")
	io.WriteString(w, xml.Header)
	_ = xml.NewEncoder(w).Encode(page)
}

func (b *Blobs) blob(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	o := b.blobs[name]
	comp := r.URL.Query().Get("comp")
	if o == nil && (r.Method != http.MethodPut || comp != "") {
		Refuse(w, http.StatusNotFound, "BlobNotFound")
		return
	}
	if comp == "lease" {
		b.lease(w, r, o)
		return
	}
	if code := condition(r, o, comp); code != "" {
		status := http.StatusPreconditionFailed
		if code == "BlobAlreadyExists" {
			status = http.StatusConflict
		}
		Refuse(w, status, code)
		return
	}
	switch {
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		maps.Copy(w.Header(), o.meta)
		w.Header().Set("ETag", o.etag)
		w.Header().Set("x-ms-blob-type", "BlockBlob")
		w.Header().Set("x-ms-lease-status", map[bool]string{true: "unlocked", false: "locked"}[o.lease == ""])
		w.Header().Set("Content-Length", fmt.Sprint(len(o.data)))
		if r.Method == http.MethodGet {
			w.Write(o.data)
		}
	case r.Method == http.MethodDelete:
		delete(b.blobs, name)
		w.WriteHeader(http.StatusAccepted)
	case comp == "snapshot":
		b.Snapshots = append(b.Snapshots, string(o.data))
		w.WriteHeader(http.StatusCreated)
	case comp == "metadata":
		o.meta = metadata(r)
		b.stamp(w, o)
		w.WriteHeader(http.StatusOK)
	case comp == "" && r.Header.Get("x-ms-blob-type") == "BlockBlob":
		if o == nil {
			o = &blob{}
		}
		if b.blobs == nil {
			b.blobs = map[string]*blob{}
		}
		b.blobs[name] = o
		o.data, o.meta = bytes.Clone(body), metadata(r)
		b.stamp(w, o)
		w.WriteHeader(http.StatusCreated)
	default:
		Refuse(w, http.StatusBadRequest, "UnsupportedHeader")
	}
}

// stamp sets a new tag for a blob.
func (b *Blobs) stamp(w http.ResponseWriter, o *blob) {
	b.count++
	o.etag = fmt.Sprintf(`"0x%X"`, 0x8DC000000000000+b.count)
	w.Header().Set("ETag", o.etag)
}

func metadata(r *http.Request) http.Header {
	meta := http.Header{}
	for name, values := range r.Header {
		if strings.HasPrefix(name, "X-Ms-Meta-") {
			meta[name] = values
		}
	}
	return meta
}

// condition returns the error code of the first condition of a request that does not hold, or "".
func condition(r *http.Request, o *blob, comp string) string {
	lease, match := r.Header.Get("x-ms-lease-id"), r.Header.Get("If-Match")
	writes := r.Method != http.MethodGet && r.Method != http.MethodHead && comp != "snapshot"
	switch {
	case o == nil && lease != "":
		return "LeaseNotPresentWithBlobOperation"
	case o == nil && match != "":
		return "ConditionNotMet"
	case o == nil:
		return ""
	case r.Header.Get("If-None-Match") == "*":
		return "BlobAlreadyExists"
	case lease != "" && o.lease == "":
		return "LeaseNotPresentWithBlobOperation"
	case lease != "" && lease != o.lease:
		return "LeaseIdMismatchWithBlobOperation"
	case lease == "" && o.lease != "" && writes:
		return "LeaseIdMissing"
	case match != "" && match != o.etag:
		return "ConditionNotMet"
	}
	return ""
}

func (b *Blobs) lease(w http.ResponseWriter, r *http.Request, o *blob) {
	id := r.Header.Get("x-ms-lease-id")
	switch action := r.Header.Get("x-ms-lease-action"); {
	case action == "acquire":
		proposed := r.Header.Get("x-ms-proposed-lease-id")
		switch {
		case r.Header.Get("x-ms-lease-duration") != "-1" || !guid.MatchString(proposed):
			Refuse(w, http.StatusBadRequest, "InvalidHeaderValue")
			return
		case o.lease != "" && o.lease != proposed:
			Refuse(w, http.StatusConflict, "LeaseAlreadyPresent")
			return
		}
		o.lease = proposed
		w.Header().Set("x-ms-lease-id", proposed)
		w.WriteHeader(http.StatusCreated)
	case action == "break" && o.lease != "":
		o.lease = ""
		w.WriteHeader(http.StatusAccepted)
	case o.lease == "":
		Refuse(w, http.StatusConflict, "LeaseNotPresentWithLeaseOperation")
	case action == "release" && id == o.lease:
		o.lease = ""
		w.WriteHeader(http.StatusOK)
	default:
		Refuse(w, http.StatusConflict, "LeaseIdMismatchWithLeaseOperation")
	}
}

// sign signs a request without a body that names the account in its path.
func sign(r *http.Request) {
	r.Header.Set("x-ms-version", "2021-12-02")
	r.Header.Set("x-ms-date", time.Now().UTC().Format(http.TimeFormat))
	r.Header.Set("Authorization", "SharedKey "+Account+":"+signature(r))
}
