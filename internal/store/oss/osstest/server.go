// Package osstest is a small in-memory Alibaba Cloud for tests: a bucket of OSS, at an address with the bucket in its
// path, and tables of Tablestore. It checks the signatures of both, in all versions that programs use.
//
//	s := &osstest.Server{Bucket: "states"}
//	web := httptest.NewServer(s)
package osstest

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
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

	"github.com/tombolo-iac/tombolo/internal/store/oss/tablestore"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// Credentials that the server accepts.
const (
	AccessKey = "LTAI-canary"
	Secret    = "oss-secret-canary"
)

// Server is the cloud. Its fields are set before its first request.
type Server struct {
	Bucket   string
	Token    string // required in requests, or ""
	Instance string // instance of Tablestore, required in requests, or ""
	PageSize int    // names per page of a list; 0 means 1000
	// Versioned buckets keep former objects and ignore x-oss-forbid-overwrite.
	Versioned bool

	mu      sync.Mutex
	objects map[string]*object
	rows    map[string]tablestore.Row // by table and ID
}

// object is a stored object.
type object struct {
	data      []byte
	etag      string
	meta      http.Header
	appended  bool
	encrypted string
	acl       string
}

// Names returns the names of all objects.
func (s *Server) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

// Stored returns an object's content, encryption and access control.
func (s *Server) Stored(name string) (data []byte, encrypted, acl string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[name]; o != nil {
		return o.data, o.encrypted, o.acl
	}
	return nil, "", ""
}

// Rows returns the rows of all tables, by table and ID.
func (s *Server) Rows() map[string]tablestore.Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.rows)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects, s.rows = map[string]*object{}, map[string]tablestore.Row{}
	}
	if r.Header.Get("X-Ots-Apiversion") != "" {
		s.table(w, r, body)
		return
	}
	if !s.signed(r) || r.Header.Get("X-Oss-Security-Token") != s.Token {
		drivertest.XMLError(w, http.StatusForbidden, "SignatureDoesNotMatch",
			"The request signature we calculated does not match.")
		return
	}
	bucket, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case bucket != s.Bucket:
		drivertest.XMLError(w, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist.")
	case name == "":
		s.list(w, r.URL.Query())
	default:
		s.object(w, r, name, body)
	}
}

// object responds to a request for an object.
func (s *Server) object(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	o := s.objects[name]
	if want := r.Header.Get("Content-Md5"); want != "" {
		if got := md5.Sum(body); base64.StdEncoding.EncodeToString(got[:]) != want {
			drivertest.XMLError(w, http.StatusBadRequest, "InvalidDigest",
				"The Content-MD5 you specified is not valid.")
			return
		}
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if o == nil {
			drivertest.XMLError(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
			return
		}
		maps.Copy(w.Header(), o.meta)
		w.Header().Set("ETag", o.etag)
		w.Header().Set("X-Oss-Hash-Crc64ecma",
			strconv.FormatUint(crc64.Checksum(o.data, crc64.MakeTable(crc64.ECMA)), 10))
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", strconv.Itoa(len(o.data)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(o.data)
		}
	case http.MethodPut:
		if o != nil && r.Header.Get("X-Oss-Forbid-Overwrite") == "true" && !s.Versioned {
			drivertest.XMLError(w, http.StatusConflict, "FileAlreadyExists", "The object you specified already exists.")
			return
		}
		s.store(w, r, name, body, false)
	case http.MethodPost:
		position := r.URL.Query().Get("position")
		switch {
		case !r.URL.Query().Has("append"):
			drivertest.XMLError(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "not here")
		case o != nil && !o.appended:
			drivertest.XMLError(w, http.StatusConflict, "ObjectNotAppendable", "The object is not appendable.")
		case o != nil && position != strconv.Itoa(len(o.data)), o == nil && position != "0":
			drivertest.XMLError(w, http.StatusConflict, "PositionNotEqualToLength",
				"Position is not equal to file length.")
		case o != nil:
			o.data = append(bytes.Clone(o.data), body...)
		default:
			s.store(w, r, name, body, true)
		}
	case http.MethodDelete:
		delete(s.objects, name)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) store(w http.ResponseWriter, r *http.Request, name string, body []byte, appended bool) {
	o := &object{data: body, etag: fmt.Sprintf("\"%X\"", md5.Sum(body)), meta: http.Header{}, appended: appended,
		encrypted: r.Header.Get("X-Oss-Server-Side-Encryption"), acl: r.Header.Get("X-Oss-Object-Acl")}
	for field, values := range r.Header {
		if strings.HasPrefix(field, "X-Oss-Meta-") {
			o.meta[field] = values
		}
	}
	s.objects[name] = o
	w.Header().Set("ETag", o.etag)
	if appended {
		w.Header().Set("X-Oss-Next-Append-Position", strconv.Itoa(len(body)))
	}
}

// list responds with a page of names.
func (s *Server) list(w http.ResponseWriter, q url.Values) {
	tags := map[string]string{}
	for name := range s.objects {
		tags[name] = s.objects[name].etag
	}
	drivertest.XMLPage(w, q, s.Bucket, tags, cmp.Or(s.PageSize, 1000))
}

// table responds to a request for a row.
func (s *Server) table(w http.ResponseWriter, r *http.Request, body []byte) {
	refuse := func(status int, code, text string) {
		w.WriteHeader(status)
		_, _ = w.Write(tablestore.EncodeError(code, text))
	}
	m, err := tablestore.Parse(body)
	switch {
	case !tableSigned(r, body) || r.Header.Get("X-Ots-Ststoken") != s.Token,
		s.Instance != "" && r.Header.Get("X-Ots-Instancename") != s.Instance:
		refuse(http.StatusForbidden, "OTSAuthFailed", "Signature mismatch, or no such instance.")
		return
	case err != nil:
		refuse(http.StatusBadRequest, "OTSParameterInvalid", err.Error())
		return
	case string(m.Bytes(1)) != "locks":
		refuse(http.StatusNotFound, "OTSObjectNotExist", "Requested table does not exist.")
		return
	case r.URL.Path == "/DescribeTable":
		_, _ = w.Write(description)
		return
	}
	asked, err := tablestore.DecodeRow(m.Bytes(2))
	if err != nil || asked == nil || asked.Key != "LockID" {
		refuse(http.StatusBadRequest, "OTSParameterInvalid", fmt.Sprint("bad row: ", err))
		return
	}
	row, there := s.rows["locks/"+asked.ID]
	if r.URL.Path != "/GetRow" {
		c, err := tablestore.DecodeCondition(m.Bytes(3))
		value, has := row.Columns[c.Column]
		switch {
		case err != nil:
			refuse(http.StatusBadRequest, "OTSParameterInvalid", err.Error())
			return
		case c.Row == tablestore.There && !there, c.Row == tablestore.Missing && there,
			c.Column != "" && (!has || value != c.Value):
			refuse(http.StatusForbidden, "OTSConditionCheckFail", "Condition check failed.")
			return
		}
	}
	// a consumed capacity of zero
	answer := []byte{0x0a, 0x06, 0x0a, 0x04, 0x08, 0, 0x10, 0}
	switch r.URL.Path {
	case "/GetRow":
		var encoded []byte
		if there {
			encoded = row.Encode()
		}
		answer = append(answer, tablestore.EncodeError("", string(encoded))[2:]...)
	case "/PutRow":
		s.rows["locks/"+asked.ID] = *asked
	case "/DeleteRow":
		delete(s.rows, "locks/"+asked.ID)
	default:
		refuse(http.StatusBadRequest, "OTSUnsupportOperation", "not here")
		return
	}
	_, _ = w.Write(answer)
}

// description describes the table "locks": its name, its key, and the other required fields.
var description = slices.Concat(
	[]byte{0x0a, 0x13, 0x0a, 0x05}, []byte("locks"),
	[]byte{0x12, 0x0a, 0x0a, 0x06}, []byte("LockID"), []byte{0x10, 2},
	[]byte{0x12, 0x08, 0x0a, 0x04, 0x08, 0, 0x10, 0, 0x10, 0},
	[]byte{0x1a, 0x06, 0x08, 0, 0x10, 1, 0x28, 0}, []byte{0x20, 0x01})

// tableSigned checks the signature of a request for a row.
func tableSigned(r *http.Request, body []byte) bool {
	digest := md5.Sum(body)
	if r.Header.Get("X-Ots-Contentmd5") != base64.StdEncoding.EncodeToString(digest[:]) ||
		r.Header.Get("X-Ots-Accesskeyid") != AccessKey || r.Header.Get("X-Ots-Instancename") == "" {
		return false
	}
	text := r.URL.Path + "\nPOST\n\n"
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if strings.HasPrefix(name, "X-Ots-") && name != "X-Ots-Signature" {
			text += strings.ToLower(name) + ":" + r.Header.Get(name) + "\n"
		}
	}
	return r.Header.Get("X-Ots-Signature") == seal(text)
}

func seal(text string) string {
	h := hmac.New(sha1.New, []byte(Secret))
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// signed checks the signature of a request for an object, in version 1 or 4.
func (s *Server) signed(r *http.Request) bool {
	given := r.Header.Get("Authorization")
	if strings.HasPrefix(given, "OSS4-") {
		return s.signedV4(r, given)
	}
	text := r.Method + "\n" + r.Header.Get("Content-Md5") + "\n" + r.Header.Get("Content-Type") + "\n" +
		r.Header.Get("Date") + "\n"
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if strings.HasPrefix(name, "X-Oss-") {
			text += strings.ToLower(name) + ":" + r.Header.Get(name) + "\n"
		}
	}
	return given == "OSS "+AccessKey+":"+seal(text+r.URL.Path+queryV1(r.URL.Query()))
}

// queryV1 returns the part of a query that version 1 of the signature covers.
func queryV1(q url.Values) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(q)) {
		switch name {
		case "acl", "append", "objectMeta", "position", "versioning", "versions", "uploads":
			part := name
			if q.Get(name) != "" {
				part += "=" + q.Get(name)
			}
			parts = append(parts, part)
		}
	}
	if parts == nil {
		return ""
	}
	return "?" + strings.Join(parts, "&")
}
