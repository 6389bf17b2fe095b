// Package costest is a small in-memory Tencent Cloud for tests: a bucket of COS and the tag service, each at its usual
// host. It checks the signatures of both. It also issues credentials of roles.
//
//	s := &costest.Server{Bucket: "states-1250000000"}
//	env := (&drivertest.Cloud{Services: s}).Start(t)
package costest

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"hash/crc64"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// Credentials that the server accepts.
const (
	SecretID  = "AKID-canary"
	SecretKey = "cos-secret-canary"
)

// Server is the cloud. Its fields are set before its first request.
type Server struct {
	Bucket   string
	Token    string // required in requests, or ""
	PageSize int    // names per page of a list; 0 means 1000
	// Versioned buckets keep former objects and ignore x-cos-forbid-overwrite.
	Versioned bool
	// Silent makes the server refuse to report whether the bucket has versions.
	Silent bool

	mu      sync.Mutex
	objects map[string]Object
	tags    map[string]bool // "key=value"
}

// Object is an object of the bucket.
type Object struct {
	Data           []byte
	Encrypted, ACL string
	Digest         string // metadata of the other programs
}

// Objects returns the objects of the bucket by name.
func (s *Server) Objects() map[string]Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.objects)
}

// Tags returns the tags of the account as "key=value".
func (s *Server) Tags() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.tags))
}

// ServeHTTP implements http.Handler: each host is a service.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects, s.tags = map[string]Object{}, map[string]bool{}
	}
	bucket, rest, _ := strings.Cut(r.Host, ".")
	switch {
	case strings.HasSuffix(r.Header.Get("X-Tc-Action"), "Tag"), r.Header.Get("X-Tc-Action") == "DescribeTags":
		s.tag(w, r, body)
	case bucket == "sts":
		s.role(w, r, body)
	case r.Host == "metadata.tencentyun.com":
		fmt.Fprintf(w, `{"TmpSecretId":%q,"TmpSecretKey":%q,"Token":%q,"ExpiredTime":%d,"Code":"Success"}`, SecretID,
			SecretKey, s.Token, time.Now().Add(time.Hour).Unix())
	case !s.signed(r):
		drivertest.XMLError(w, http.StatusForbidden, "SignatureDoesNotMatch", "The Signature you specified is invalid.")
	case bucket != s.Bucket && !strings.HasPrefix(rest, "0."): // an IP address has no subdomains
		drivertest.XMLError(w, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist.")
	case r.URL.Path == "/" && r.URL.Query().Has("versioning"):
		if s.Silent {
			drivertest.XMLError(w, http.StatusForbidden, "AccessDenied", "Access Denied.")
			return
		}
		status := ""
		if s.Versioned {
			status = "<Status>Enabled</Status>"
		}
		fmt.Fprintf(w, "<VersioningConfiguration>%s</VersioningConfiguration>", status)
	case r.URL.Path == "/":
		s.list(w, r.URL.Query())
	default:
		s.object(w, r, strings.TrimPrefix(r.URL.Path, "/"), body)
	}
}

// object responds to a request for an object.
func (s *Server) object(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	o, there := s.objects[name]
	tag := func(data []byte) string { return fmt.Sprintf("\"%x\"", md5.Sum(data)) }
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if !there {
			drivertest.XMLError(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
			return
		}
		w.Header().Set("ETag", tag(o.Data))
		w.Header().Set("X-Cos-Meta-Md5", o.Digest)
		w.Header().Set("X-Cos-Hash-Crc64ecma", crc(o.Data))
		w.Header().Set("Content-Length", strconv.Itoa(len(o.Data)))
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		if r.Method == http.MethodGet {
			_, _ = w.Write(o.Data)
		}
	case http.MethodPut:
		sum := md5.Sum(body)
		if want := r.Header.Get("Content-Md5"); want != "" && want != base64.StdEncoding.EncodeToString(sum[:]) {
			drivertest.XMLError(w, http.StatusBadRequest, "InvalidDigest",
				"The Content-MD5 you specified is not valid.")
			return
		}
		if there && r.Header.Get("X-Cos-Forbid-Overwrite") == "true" && !s.Versioned {
			drivertest.XMLError(w, http.StatusConflict, "FileAlreadyExists", "The object you specified already exists.")
			return
		}
		s.objects[name] = Object{Data: bytes.Clone(body), Encrypted: r.Header.Get("X-Cos-Server-Side-Encryption"),
			ACL: r.Header.Get("X-Cos-Acl"), Digest: r.Header.Get("X-Cos-Meta-Md5")}
		w.Header().Set("ETag", tag(body))
		w.Header().Set("X-Cos-Hash-Crc64ecma", crc(body))
		if s.Versioned {
			w.Header().Set("X-Cos-Version-Id", "MTg0")
		}
	case http.MethodDelete:
		delete(s.objects, name)
		w.WriteHeader(http.StatusNoContent)
	}
}

func crc(data []byte) string {
	return strconv.FormatUint(crc64.Checksum(data, crc64.MakeTable(crc64.ECMA)), 10)
}

// list responds with a page of names.
func (s *Server) list(w http.ResponseWriter, q url.Values) {
	tags := map[string]string{}
	for name := range s.objects {
		tags[name] = fmt.Sprintf("\"%x\"", md5.Sum(s.objects[name].Data))
	}
	drivertest.XMLPage(w, q, s.Bucket, tags, cmp.Or(s.PageSize, 1000))
}

// answer responds to a call of the API.
func answer(w http.ResponseWriter, v map[string]any) {
	v["RequestId"] = "request-1"
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"Response": v})
}

func refuse(w http.ResponseWriter, code, text string) {
	answer(w, map[string]any{"Error": map[string]string{"Code": code, "Message": text}})
}

// tag creates or deletes a tag of the account.
func (s *Server) tag(w http.ResponseWriter, r *http.Request, body []byte) {
	var in struct{ TagKey, TagValue string }
	if !s.called(r, body) {
		refuse(w, "AuthFailure.SignatureFailure", "The provided credentials could not be validated.")
		return
	}
	if err := json.Unmarshal(body, &in); err != nil {
		refuse(w, "InvalidParameter", err.Error())
		return
	}
	tag := in.TagKey + "=" + in.TagValue
	switch there := s.tags[tag]; {
	case r.Header.Get("X-Tc-Action") == "DescribeTags":
		all := []map[string]any{}
		if there {
			all = append(all, map[string]any{"TagKey": in.TagKey, "TagValue": in.TagValue, "CanDelete": 1})
		}
		answer(w, map[string]any{"TotalCount": len(all), "Offset": 0, "Limit": 15, "Tags": all})
		return
	case r.Header.Get("X-Tc-Action") == "CreateTag" && there:
		refuse(w, "ResourceInUse.TagDuplicate", "tag exists")
		return
	case r.Header.Get("X-Tc-Action") == "CreateTag":
		s.tags[tag] = true
	case !there:
		refuse(w, "ResourceNotFound.TagNonExist", "tag does not exist")
		return
	default:
		delete(s.tags, tag)
	}
	answer(w, map[string]any{})
}

// role issues credentials of a role, with a token.
func (s *Server) role(w http.ResponseWriter, r *http.Request, body []byte) {
	var in struct{ RoleArn string }
	if err := json.Unmarshal(body, &in); err != nil || in.RoleArn != "qcs::cam::uin/1:roleName/states" {
		refuse(w, "UnauthorizedOperation", "not allowed")
		return
	}
	answer(w, map[string]any{"ExpiredTime": time.Now().Add(time.Hour).Unix(), "Credentials": map[string]string{
		"TmpSecretId": SecretID, "TmpSecretKey": SecretKey, "Token": s.Token}})
}

func seal(digest func() hash.Hash, key []byte, text string) []byte {
	h := hmac.New(digest, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// called checks the signature of a call of the API.
func (s *Server) called(r *http.Request, body []byte) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "TC3-HMAC-SHA256 ")
	fields := map[string]string{}
	for field := range strings.SplitSeq(given, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		fields[name] = value
	}
	scope, known := strings.CutPrefix(fields["Credential"], SecretID+"/")
	if !ok || !known || r.Header.Get("X-Tc-Token") != s.Token {
		return false
	}
	headers := ""
	for name := range strings.SplitSeq(fields["SignedHeaders"], ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		headers += name + ":" + strings.ToLower(strings.TrimSpace(value)) + "\n"
	}
	digest := sha256.Sum256(body)
	canonical := sha256.Sum256([]byte(strings.Join([]string{r.Method, "/", "", headers, fields["SignedHeaders"],
		hex.EncodeToString(digest[:])}, "\n")))
	text := strings.Join([]string{"TC3-HMAC-SHA256", r.Header.Get("X-Tc-Timestamp"), scope,
		hex.EncodeToString(canonical[:])}, "\n")
	key := []byte("TC3" + SecretKey)
	for word := range strings.SplitSeq(scope, "/") {
		key = seal(sha256.New, key, word)
	}
	return hex.EncodeToString(seal(sha256.New, key, text)) == fields["Signature"]
}

// signed checks the signature of a request for an object.
func (s *Server) signed(r *http.Request) bool {
	fields, err := url.ParseQuery(strings.ReplaceAll(r.Header.Get("Authorization"), ";", "%3B"))
	if err != nil || fields.Get("q-ak") != SecretID || r.Header.Get("X-Cos-Security-Token") != s.Token {
		return false
	}
	pairs := func(list string, get func(string) string) string {
		var all []string
		for name := range strings.SplitSeq(list, ";") {
			if name != "" {
				all = append(all, name+"="+escape(get(name)))
			}
		}
		return strings.Join(all, "&")
	}
	query := map[string]string{}
	for name, values := range r.URL.Query() {
		query[strings.ToLower(escape(name))] = values[0]
	}
	headers := pairs(fields.Get("q-header-list"), func(name string) string {
		name, _ = url.QueryUnescape(name)
		if name == "host" {
			return r.Host
		}
		return r.Header.Get(name)
	})
	request := strings.Join([]string{strings.ToLower(r.Method), r.URL.Path, pairs(fields.Get("q-url-param-list"),
		func(name string) string { return query[name] }), headers, ""}, "\n")
	digest := sha1.Sum([]byte(request))
	text := strings.Join([]string{"sha1", fields.Get("q-sign-time"), hex.EncodeToString(digest[:]), ""}, "\n")
	key := hex.EncodeToString(seal(sha1.New, []byte(SecretKey), fields.Get("q-key-time")))
	return hex.EncodeToString(seal(sha1.New, []byte(key), text)) == fields.Get("q-signature")
}

func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
