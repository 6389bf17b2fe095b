// Package gcstest is a small in-memory Google Cloud Storage for tests: buckets with generations, preconditions, former
// versions and customers' keys, through the JSON API, and reads through the XML API, which Google's client library
// uses. It also issues tokens to everyone, impersonates service accounts, and encrypts keys as Cloud KMS does.
//
//	s := gcstest.New("states")
//	web := httptest.NewServer(s)
package gcstest

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
)

// Server is a service with buckets. Its fields are set before its first request.
type Server struct {
	// Tokens are the access tokens that are accepted. If it is nil, no token is needed.
	Tokens []string
	// PageSize is the number of objects on a page of a list; 0 means 1000.
	PageSize int
	// Accounts lists the service accounts that can be impersonated.
	Accounts []string

	mu      sync.Mutex
	buckets map[string]map[string][]*object // by bucket and name, oldest generation first
	last    int64
	acted   []string // who impersonated which account
}

// object is one generation of an object.
type object struct {
	name       string
	generation int64
	data       []byte
	meta       map[string]string
	created    time.Time
	key        string // digest of the customer's key, or ""
	kms        string
	former     bool
}

// New returns a service with empty buckets, which keep former versions.
func New(buckets ...string) *Server {
	s := &Server{buckets: map[string]map[string][]*object{}, last: 1_700_000_000_000_000}
	for _, name := range buckets {
		s.buckets[name] = map[string][]*object{}
	}
	return s
}

// Object is a stored object.
type Object struct {
	Data       []byte
	Generation int64
	Key        bool   // encrypted with a customer's key
	KMS        string // name of the KMS key that encrypts it
	Meta       map[string]string
}

// Objects returns the objects of a bucket by name.
func (s *Server) Objects(bucket string) map[string]Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]Object{}
	for name := range s.buckets[bucket] {
		if o := s.live(bucket, name); o != nil {
			all[name] = Object{o.data, o.generation, o.key != "", o.kms, o.meta}
		}
	}
	return all
}

// Acted returns the accounts for which tokens were issued, each with the accounts that delegated to it.
func (s *Server) Acted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acted)
}

func (s *Server) live(bucket, name string) *object {
	all := s.buckets[bucket][name]
	if len(all) == 0 || all[len(all)-1].former {
		return nil
	}
	return all[len(all)-1]
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == "/token" {
		reply(w, map[string]any{"access_token": s.token(), "token_type": "Bearer", "expires_in": 3600})
		return
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if s.Tokens != nil && !slices.Contains(s.Tokens, token) {
		fail(w, http.StatusUnauthorized, "authError", "Invalid Credentials")
		return
	}
	path := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(path, "/upload/storage/v1/b/"); ok {
		s.write(w, r, unescape(strings.TrimSuffix(rest, "/o")))
	} else if rest, ok := strings.CutPrefix(path, "/storage/v1/b/"); ok {
		bucket, name, _ := strings.Cut(rest, "/o")
		if name = strings.TrimPrefix(name, "/"); strings.Contains(name, "/") { // escaped slashes are part of a name
			fail(w, http.StatusNotFound, "notFound", "Not Found")
			return
		}
		s.json(w, r, unescape(bucket), unescape(name))
	} else if strings.HasPrefix(path, "/v1/projects/") {
		s.call(w, r)
	} else {
		bucket, name, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		s.read(w, r, unescape(bucket), unescape(name))
	}
}

func unescape(s string) string {
	s, _ = url.PathUnescape(s) // the server has already parsed it
	return s
}

func (s *Server) token() string {
	if len(s.Tokens) > 0 {
		return s.Tokens[0]
	}
	return "a-token"
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_ = json.NewEncoder(w).Encode(v)
}

func fail(w http.ResponseWriter, status int, reason, text string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": status, "message": text,
		"errors": []any{map[string]any{"message": text, "domain": "global", "reason": reason}}}})
}

func noBucket(w http.ResponseWriter) {
	fail(w, http.StatusNotFound, "notFound", "The specified bucket does not exist.")
}

// json serves metadata, lists and content, and deletes objects.
func (s *Server) json(w http.ResponseWriter, r *http.Request, bucket, name string) {
	q := r.URL.Query()
	switch {
	case s.buckets[bucket] == nil:
		noBucket(w)
	case name == "" && r.Method == http.MethodGet:
		s.list(w, q, bucket)
	case r.Method == http.MethodGet && q.Get("alt") == "media":
		s.read(w, r, bucket, name)
	case r.Method == http.MethodGet:
		if o := s.find(w, r, bucket, name); o != nil {
			reply(w, o.describe(bucket))
		}
	case r.Method == http.MethodDelete:
		o := s.find(w, r, bucket, name)
		if o == nil || !s.met(w, q, o.generation) {
			return
		}
		o.former = true
		w.WriteHeader(http.StatusNoContent)
	default:
		fail(w, http.StatusMethodNotAllowed, "methodNotAllowed", "not here")
	}
}

// find returns the current or the requested generation of an object.
func (s *Server) find(w http.ResponseWriter, r *http.Request, bucket, name string) *object {
	o := s.live(bucket, name)
	if g := r.URL.Query().Get("generation"); g != "" {
		o = nil
		for _, one := range s.buckets[bucket][name] {
			if strconv.FormatInt(one.generation, 10) == g {
				o = one
			}
		}
	}
	if o == nil {
		fail(w, http.StatusNotFound, "notFound", "No such object: "+bucket+"/"+name)
	}
	return o
}

// met checks the condition of a request.
func (s *Server) met(w http.ResponseWriter, q url.Values, generation int64) bool {
	if want := q.Get("ifGenerationMatch"); want != "" && want != strconv.FormatInt(generation, 10) {
		fail(w, http.StatusPreconditionFailed, "conditionNotMet",
			"At least one of the pre-conditions you specified did not hold.")
		return false
	}
	return true
}

// keyOf returns the digest of a request's customer key; ok reports whether the headers are valid.
func keyOf(w http.ResponseWriter, r *http.Request) (digest string, ok bool) {
	given := r.Header.Get("X-Goog-Encryption-Key")
	if given == "" {
		return "", true
	}
	key, err := base64.StdEncoding.DecodeString(given)
	sum := sha256.Sum256(key)
	digest = base64.StdEncoding.EncodeToString(sum[:])
	if err != nil || len(key) != 32 || r.Header.Get("X-Goog-Encryption-Algorithm") != "AES256" ||
		r.Header.Get("X-Goog-Encryption-Key-Sha256") != digest {
		fail(w, http.StatusBadRequest, "customerEncryptionKeyFormatIsInvalid", "Invalid encryption key.")
		return "", false
	}
	return digest, true
}

// read sends the content of an object.
func (s *Server) read(w http.ResponseWriter, r *http.Request, bucket, name string) {
	if s.buckets[bucket] == nil {
		noBucket(w)
		return
	}
	o := s.find(w, r, bucket, name)
	if o == nil {
		return
	}
	key, ok := keyOf(w, r)
	switch {
	case !ok:
		return
	case key == "" && o.key != "":
		fail(w, http.StatusBadRequest, "resourceIsEncryptedWithCustomerEncryptionKey",
			"The target object is encrypted by a customer-supplied encryption key.")
		return
	case key != "" && o.key == "":
		fail(w, http.StatusBadRequest, "resourceNotEncryptedWithCustomerEncryptionKey",
			"The target object is not encrypted by a customer-supplied encryption key.")
		return
	case key != o.key:
		fail(w, http.StatusBadRequest, "customerEncryptionKeyIsIncorrect",
			"The provided encryption key is incorrect.")
		return
	}
	crc, sum := digests(o.data)
	h := w.Header()
	h.Set("X-Goog-Generation", strconv.FormatInt(o.generation, 10))
	h.Set("X-Goog-Metageneration", "1")
	h.Set("X-Goog-Hash", "crc32c="+crc+",md5="+sum)
	h.Set("X-Goog-Stored-Content-Length", strconv.Itoa(len(o.data)))
	h.Set("X-Goog-Stored-Content-Encoding", "identity")
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(o.data)))
	h.Set("Last-Modified", o.created.UTC().Format(http.TimeFormat))
	_, _ = w.Write(o.data)
}

func digests(data []byte) (crc, sum string) {
	four := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	md := md5.Sum(data)
	return base64.StdEncoding.EncodeToString([]byte{byte(four >> 24), byte(four >> 16), byte(four >> 8), byte(four)}),
		base64.StdEncoding.EncodeToString(md[:])
}

func (o *object) describe(bucket string) map[string]any {
	d := map[string]any{"kind": "storage#object", "bucket": bucket, "name": o.name, "size": strconv.Itoa(len(o.data)),
		"generation": strconv.FormatInt(o.generation, 10), "metageneration": "1", "contentType": "application/json",
		"timeCreated": o.created.UTC().Format(time.RFC3339Nano), "updated": o.created.UTC().Format(time.RFC3339Nano),
		"metadata": o.meta}
	if o.key == "" { // without the key, the service does not report them
		d["crc32c"], d["md5Hash"] = digests(o.data)
	}
	if o.kms != "" {
		d["kmsKeyName"] = o.kms
	}
	return d
}

// list responds with a page of a list.
func (s *Server) list(w http.ResponseWriter, q url.Values, bucket string) {
	var entries []string // names of objects, with generations if versions are requested, and prefixes
	items := map[string]*object{}
	for name, all := range s.buckets[bucket] {
		rest, ok := strings.CutPrefix(name, q.Get("prefix"))
		if !ok {
			continue
		}
		if d := q.Get("delimiter"); d != "" && strings.Contains(rest, d) {
			before, _, _ := strings.Cut(rest, d)
			if p := q.Get("prefix") + before + d; !slices.Contains(entries, p) && s.anyLive(bucket, p) {
				entries = append(entries, p)
			}
			continue
		}
		for _, o := range all {
			if !o.former || q.Get("versions") == "true" {
				entry := fmt.Sprintf("%s\x00%d", name, o.generation)
				entries, items[entry] = append(entries, entry), o
			}
		}
	}
	slices.Sort(entries)
	out := map[string]any{"kind": "storage#objects"}
	var objects []any
	var prefixes []string
	size := s.PageSize
	if size == 0 {
		size = 1000
	}
	for _, entry := range entries {
		if entry <= q.Get("pageToken") {
			continue
		}
		if len(objects)+len(prefixes) == size {
			break
		}
		if o := items[entry]; o != nil {
			objects = append(objects, o.describe(bucket))
		} else {
			prefixes = append(prefixes, entry)
		}
		out["nextPageToken"] = entry
	}
	if len(entries) == 0 || out["nextPageToken"] == nil || out["nextPageToken"] == entries[len(entries)-1] {
		delete(out, "nextPageToken")
	}
	out["items"], out["prefixes"] = objects, prefixes
	reply(w, out)
}

func (s *Server) anyLive(bucket, prefix string) bool {
	for name := range s.buckets[bucket] {
		if strings.HasPrefix(name, prefix) && s.live(bucket, name) != nil {
			return true
		}
	}
	return false
}

// write stores the object of a multipart request.
func (s *Server) write(w http.ResponseWriter, r *http.Request, bucket string) {
	q := r.URL.Query()
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/related" || q.Get("uploadType") != "multipart" {
		fail(w, http.StatusBadRequest, "badRequest", "only uploads in several parts are known here")
		return
	}
	var about struct {
		Name, MD5Hash, Crc32c, KmsKeyName string
		Metadata                          map[string]string
	}
	parts := multipart.NewReader(r.Body, params["boundary"])
	var content [2][]byte
	for i := range content {
		part, err := parts.NextPart()
		if err == nil {
			content[i], err = io.ReadAll(part)
		}
		if err != nil {
			fail(w, http.StatusBadRequest, "badRequest", "Malformed multipart body.")
			return
		}
	}
	if err := json.Unmarshal(content[0], &about); err != nil {
		fail(w, http.StatusBadRequest, "parseError", "Parse Error")
		return
	}
	if about.Name == "" {
		about.Name = q.Get("name")
	}
	key, ok := keyOf(w, r)
	if !ok {
		return
	}
	if s.buckets[bucket] == nil {
		noBucket(w)
		return
	}
	crc, sum := digests(content[1])
	if about.MD5Hash != "" && about.MD5Hash != sum || about.Crc32c != "" && about.Crc32c != crc {
		fail(w, http.StatusBadRequest, "invalid", "Provided digest doesn't match calculated value")
		return
	}
	generation := int64(0)
	was := s.live(bucket, about.Name)
	if was != nil {
		generation = was.generation
	}
	if !s.met(w, q, generation) {
		return
	}
	if was != nil {
		was.former = true
	}
	s.last++
	o := &object{name: about.Name, generation: s.last, data: bytes.Clone(content[1]), meta: about.Metadata, key: key,
		created: time.Now(), kms: cmpOr(q.Get("kmsKeyName"), about.KmsKeyName)}
	s.buckets[bucket][o.name] = append(s.buckets[bucket][o.name], o)
	reply(w, o.describe(bucket))
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// call serves the other services: impersonation of accounts, and encryption and decryption of keys.
func (s *Server) call(w http.ResponseWriter, r *http.Request) {
	at := strings.LastIndex(r.URL.Path, ":")
	name, verb := r.URL.Path[len("/v1/"):max(at, len("/v1/"))], r.URL.Path[at+1:]
	var in struct {
		Delegates, Scope      []string
		Plaintext, Ciphertext []byte
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		fail(w, http.StatusBadRequest, "parseError", "Parse Error")
		return
	}
	switch verb {
	case "generateAccessToken":
		account := strings.TrimPrefix(name, "projects/-/serviceAccounts/")
		if !slices.Contains(s.Accounts, account) {
			fail(w, http.StatusForbidden, "forbidden", "Permission 'iam.serviceAccounts.getAccessToken' denied")
			return
		}
		s.acted = append(s.acted, strings.Join(append(in.Delegates, account), " "))
		reply(w, map[string]any{"accessToken": s.token(), "expireTime": time.Now().Add(time.Hour).UTC()})
	case "encrypt":
		text, err := s.seal(name, in.Plaintext)
		if err != nil {
			fail(w, http.StatusNotFound, "notFound", err.Error())
			return
		}
		reply(w, map[string]any{"name": name + "/cryptoKeyVersions/1", "ciphertext": text})
	case "decrypt":
		text, err := s.unseal(name, in.Ciphertext)
		if err != nil {
			fail(w, http.StatusBadRequest, "invalid", err.Error())
			return
		}
		reply(w, map[string]any{"plaintext": text})
	default:
		fail(w, http.StatusNotFound, "notFound", "not here")
	}
}

func (s *Server) seal(name string, plain []byte) ([]byte, error) {
	if !strings.Contains(name, "/cryptoKeys/states") {
		return nil, fmt.Errorf("crypto key %s not found", name)
	}
	return encryptiontest.Wrap(name, plain), nil
}

func (s *Server) unseal(name string, text []byte) ([]byte, error) {
	plain, ok := encryptiontest.Unwrap(name, text)
	if !ok {
		return nil, fmt.Errorf("decryption failed: the ciphertext is invalid")
	}
	return plain, nil
}

// Seal encrypts as the method encrypt does, for other protocols.
func (s *Server) Seal(name string, plain []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seal(name, plain)
}

// Open decrypts as the method decrypt does, for other protocols.
func (s *Server) Open(name string, text []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unseal(name, text)
}
