// Package oraclecloudtest is a small in-memory Object Storage of Oracle Cloud for tests: a bucket with entity tags,
// conditions and customers' keys. It checks the signatures of requests.
//
//	s := oraclecloudtest.New("acme", "states")
//	web := httptest.NewServer(s)
package oraclecloudtest

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Identity of the signer of requests.
const (
	Tenancy     = "ocid1.tenancy.oc1..canary"
	User        = "ocid1.user.oc1..canary"
	Fingerprint = "20:3b:97:13:55:1c:5b:0d:d3:37:d8:50:4e:c5:3a:34"
)

// Server is the service. Its fields are set before its first request.
type Server struct {
	Namespace, Bucket string
	Key               *rsa.PrivateKey // key that signs requests
	Token             string          // of a session; then it replaces the user in signatures
	PageSize          int             // names per page of a list; 0 means 1000

	mu      sync.Mutex
	objects map[string]Object
	last    int
}

// Object is an object of the bucket.
type Object struct {
	Data []byte
	Tag  string
	Key  string // digest of the customer's key, or ""
	KMS  string
	Meta http.Header
}

// New returns a service with an empty bucket and a key for requests.
func New(namespace, bucket string) *Server {
	key, err := rsa.GenerateKey(rand.Reader, 1024) // small, because it signs thousands of requests
	if err != nil {
		panic(err) // no random numbers
	}
	return &Server{Namespace: namespace, Bucket: bucket, Key: key, objects: map[string]Object{}}
}

// PEM returns the key that signs requests, in PEM.
func (s *Server) PEM() string {
	der, err := x509.MarshalPKCS8PrivateKey(s.Key)
	if err != nil {
		panic(err) // the key is valid
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// Objects returns the objects of the bucket by name.
func (s *Server) Objects() map[string]Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.objects)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Opc-Request-Id", "request-1")
	if text := s.signed(r, body); text != "" {
		fail(w, http.StatusUnauthorized, "NotAuthenticated", text)
		return
	}
	base := "/n/" + s.Namespace + "/b/"
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), base)
	bucket, name, _ := strings.Cut(path, "/o")
	if !ok || bucket != s.Bucket {
		fail(w, http.StatusNotFound, "BucketNotFound", "Either the bucket does not exist, or you are not authorized.")
		return
	}
	if name == "" || name == "/" {
		s.list(w, r.URL.Query())
		return
	}
	name, err = url.PathUnescape(strings.TrimPrefix(name, "/"))
	if err != nil {
		return
	}
	s.object(w, r, name, body)
}

func fail(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "message": text})
}

// object responds to a request for an object.
func (s *Server) object(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	o, there := s.objects[name]
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case match != "" && (!there || o.Tag != match):
		fail(w, http.StatusPreconditionFailed, "IfMatchFailed", "The If-Match header does not match the ETag.")
		return
	case none == "*" && there:
		fail(w, http.StatusPreconditionFailed, "IfNoneMatchFailed", "The object exists.")
		return
	case !there && r.Method != http.MethodPut:
		fail(w, http.StatusNotFound, "ObjectNotFound", "The object was not found in the bucket.")
		return
	}
	key := r.Header.Get("Opc-Sse-Customer-Key-Sha256")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if o.Key != "" && o.Key != key {
			fail(w, http.StatusBadRequest, "IncorrectEncryptionKey", "The provided encryption key is wrong.")
			return
		}
		sum := md5.Sum(o.Data)
		maps.Copy(w.Header(), o.Meta)
		w.Header().Set("ETag", o.Tag)
		w.Header().Set("Content-Md5", base64.StdEncoding.EncodeToString(sum[:]))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(o.Data)))
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		if r.Method == http.MethodGet {
			_, _ = w.Write(o.Data)
		}
	case http.MethodPut:
		sum := md5.Sum(body)
		if want := r.Header.Get("Content-Md5"); want != "" && want != base64.StdEncoding.EncodeToString(sum[:]) {
			fail(w, http.StatusBadRequest, "UnmatchedContentMD5", "The Content-MD5 does not match.")
			return
		}
		s.last++
		o = Object{Data: bytes.Clone(body), Tag: fmt.Sprintf("tag-%d", s.last), Key: key,
			KMS: r.Header.Get("Opc-Sse-Kms-Key-Id"), Meta: http.Header{}}
		for field, values := range r.Header {
			if strings.HasPrefix(field, "Opc-Meta-") {
				o.Meta[field] = values
			}
		}
		s.objects[name] = o
		w.Header().Set("ETag", o.Tag)
		w.Header().Set("Opc-Content-Md5", base64.StdEncoding.EncodeToString(sum[:]))
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
	case http.MethodDelete:
		delete(s.objects, name)
		w.WriteHeader(http.StatusNoContent)
	}
}

// list responds with a page of names.
func (s *Server) list(w http.ResponseWriter, q url.Values) {
	type entry struct {
		Name string `json:"name"`
		ETag string `json:"etag"`
	}
	page := struct {
		Objects  []entry  `json:"objects"`
		Prefixes []string `json:"prefixes"`
		Next     string   `json:"nextStartWith,omitempty"`
	}{Objects: []entry{}}
	size := cmp.Or(s.PageSize, 1000)
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		rest, ok := strings.CutPrefix(name, q.Get("prefix"))
		if !ok || name < q.Get("start") {
			continue
		}
		if d := q.Get("delimiter"); d != "" && strings.Contains(rest, d) {
			before, _, _ := strings.Cut(rest, d)
			if p := q.Get("prefix") + before + d; !slices.Contains(page.Prefixes, p) {
				page.Prefixes = append(page.Prefixes, p)
			}
			continue
		}
		if len(page.Objects) == size {
			page.Next = name
			break
		}
		page.Objects = append(page.Objects, entry{name, s.objects[name].Tag})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(page)
}

// signed checks the signature of a request. It returns the reason why it is invalid, or "".
func (s *Server) signed(r *http.Request, body []byte) string {
	fields := map[string]string{}
	given := strings.TrimPrefix(r.Header.Get("Authorization"), "Signature ")
	for field := range strings.SplitSeq(given, ",") {
		name, value, _ := strings.Cut(field, "=")
		fields[strings.TrimSpace(name)] = strings.Trim(value, `"`)
	}
	id := Tenancy + "/" + User + "/" + Fingerprint
	if s.Token != "" {
		id = "ST$" + s.Token
	}
	at, err := http.ParseTime(r.Header.Get("Date"))
	switch {
	case fields["keyId"] != id || fields["algorithm"] != "rsa-sha256" || fields["version"] != "1":
		return "The key is not known: " + fields["keyId"]
	case err != nil || time.Since(at).Abs() > 5*time.Minute:
		return "The date is not now."
	}
	sum := sha256.Sum256(body)
	if want := r.Header.Get("X-Content-Sha256"); want != "" && want != base64.StdEncoding.EncodeToString(sum[:]) {
		return "The digest of the content differs."
	}
	var lines []string
	for name := range strings.SplitSeq(fields["headers"], " ") {
		value := r.Header.Get(name)
		switch name {
		case "(request-target)":
			value = strings.ToLower(r.Method) + " " + r.URL.RequestURI()
			if r.URL.IsAbs() { // to a proxy
				value = strings.ToLower(r.Method) + " " + r.URL.EscapedPath()
			}
		case "host":
			value = r.Host
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		lines = append(lines, name+": "+value)
	}
	for _, name := range []string{"date", "(request-target)", "host"} {
		if !slices.Contains(strings.Fields(fields["headers"]), name) {
			return "The signature does not cover " + name
		}
	}
	digest := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	signature, err := base64.StdEncoding.DecodeString(fields["signature"])
	if err != nil || rsa.VerifyPKCS1v15(&s.Key.PublicKey, crypto.SHA256, digest[:], signature) != nil {
		return "The signature is not the right one: " + hex.EncodeToString(digest[:4])
	}
	return ""
}
