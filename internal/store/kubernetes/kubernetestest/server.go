// Package kubernetestest is a small in-memory API server of Kubernetes for tests: secrets and leases with their
// versions, preconditions, labels and limits.
package kubernetestest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
	coordination "k8s.io/api/coordination/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tombolo-iac/tombolo/internal/regex"
)

// maxSecret is the maximum size of all values of a secret, in bytes.
const maxSecret = 1 << 20

// Server is an API server. Its zero value is empty.
type Server struct {
	// Token, if set, is required in all requests.
	Token string

	mu      sync.Mutex
	version int
	objects map[string]map[string]any // by path
}

// Names returns the sorted names of all objects of a resource.
func (s *Server) Names(resource string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path := range s.objects {
		if folder, name, _ := cut(path); strings.HasSuffix(folder, "/"+resource) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// cut splits the path of an object, or of a resource, for which name is "".
func cut(path string) (folder, name string, ok bool) {
	for _, resource := range []string{"/secrets", "/leases"} {
		if before, rest, found := strings.Cut(path, resource); found && strings.Contains(before, "/namespaces/") {
			return before + resource, strings.TrimPrefix(rest, "/"), true
		}
	}
	return "", "", false
}

// plain returns a body as JSON: newer clients send leases in Protocol Buffers.
func plain(body []byte) ([]byte, error) {
	packed, ok := bytes.CutPrefix(body, []byte("k8s\x00"))
	if !ok {
		return body, nil
	}
	var outer runtime.Unknown
	var options meta.DeleteOptions
	var lease coordination.Lease
	if err := outer.Unmarshal(packed); err != nil {
		return nil, err
	}
	if outer.Kind == "DeleteOptions" {
		err := options.Unmarshal(outer.Raw)
		text, jsonErr := json.Marshal(options)
		return text, errors.Join(err, jsonErr)
	}
	err := lease.Unmarshal(outer.Raw)
	text, jsonErr := json.Marshal(lease)
	return text, errors.Join(err, jsonErr)
}

// status responds with an error.
func status(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{},
		"status": "Failure", "message": message, "reason": reason, "code": code})
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token {
		status(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return
	}
	if body, err = plain(body); err != nil {
		status(w, http.StatusUnsupportedMediaType, "UnsupportedMediaType", err.Error())
		return
	}
	folder, name, ok := cut(r.URL.Path)
	var object map[string]any
	if len(body) > 0 && json.Unmarshal(body, &object) != nil {
		status(w, http.StatusBadRequest, "BadRequest", "the body is no object")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = map[string]map[string]any{}
	}
	switch {
	case !ok:
		status(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
	case r.Method == http.MethodGet && name == "":
		s.list(w, r, folder)
	case r.Method == http.MethodGet:
		s.answer(w, http.StatusOK, folder, name)
	case r.Method == http.MethodPost && name == "":
		s.create(w, folder, object)
	case r.Method == http.MethodPut && name != "":
		s.update(w, folder, name, object)
	case r.Method == http.MethodDelete && name != "":
		s.remove(w, folder, name, object)
	default:
		status(w, http.StatusMethodNotAllowed, "MethodNotAllowed", r.Method)
	}
}

func (s *Server) answer(w http.ResponseWriter, code int, folder, name string) {
	there := s.objects[folder+"/"+name]
	if there == nil {
		status(w, http.StatusNotFound, "NotFound", fmt.Sprintf("%q not found", name))
		return
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(there)
}

// part returns a nested object, and creates it if it is missing.
func part(of map[string]any, name string) map[string]any {
	inner, ok := of[name].(map[string]any)
	if !ok && of == nil {
		return nil
	}
	if !ok {
		inner = map[string]any{}
		of[name] = inner
	}
	return inner
}

// list responds with the objects that have the labels, or only with their metadata if the request asks for that.
func (s *Server) list(w http.ResponseWriter, r *http.Request, folder string) {
	kind := "SecretList"
	if strings.HasSuffix(folder, "/leases") {
		kind = "LeaseList"
	}
	items := []any{}
	alone := strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList")
	for path, object := range s.objects {
		in, _, _ := cut(path)
		if in != folder || !selected(part(object, "metadata"), r.URL.Query().Get("labelSelector")) {
			continue
		}
		if alone {
			object = map[string]any{"metadata": object["metadata"]}
		}
		items = append(items, object)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": kind, "apiVersion": "v1", "items": items,
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}})
}

// selected reports whether an object has labels: "a=b,c=d".
func selected(meta map[string]any, selector string) bool {
	labels := part(meta, "labels")
	for _, one := range strings.Split(selector, ",") {
		name, value, _ := strings.Cut(one, "=")
		if got, ok := labels[name].(string); selector != "" && (!ok || got != strings.TrimPrefix(value, "=")) {
			return false
		}
	}
	return true
}

// valid reports whether an object may be stored. If not, it sends an error response.
func valid(w http.ResponseWriter, object map[string]any) bool {
	size := 0
	for name, value := range part(object, "data") {
		text, _ := value.(string)
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			status(w, http.StatusBadRequest, "BadRequest", "illegal base64 data in "+name)
			return false
		}
		size += len(b)
	}
	if size > maxSecret {
		status(w, http.StatusUnprocessableEntity, "Invalid", "data: Too long: may not be more than 1048576 bytes")
		return false
	}
	for name, value := range part(part(object, "metadata"), "labels") {
		if text, _ := value.(string); len(text) > 63 {
			status(w, http.StatusUnprocessableEntity, "Invalid", "metadata.labels: Invalid value of "+name)
			return false
		}
	}
	if len(part(object, "data")) == 0 {
		delete(object, "data")
	}
	return true
}

// store stores an object under a new version.
func (s *Server) store(folder, name string, object map[string]any) {
	s.version++
	object["apiVersion"], object["kind"] = "v1", "Secret"
	if strings.HasSuffix(folder, "/leases") {
		object["apiVersion"], object["kind"] = "coordination.k8s.io/v1", "Lease"
	}
	part(object, "metadata")["resourceVersion"] = strconv.Itoa(s.version)
	s.objects[folder+"/"+name] = object
}

// named matches valid names of objects, which have at most 253 bytes.
var named = regex.Lazy(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func (s *Server) create(w http.ResponseWriter, folder string, object map[string]any) {
	meta := part(object, "metadata")
	name, _ := meta["name"].(string)
	switch {
	case meta["resourceVersion"] != nil && meta["resourceVersion"] != "":
		status(w, http.StatusBadRequest, "BadRequest", "resourceVersion should not be set on objects to be created")
	case len(name) > 253 || !named().MatchString(name):
		status(w, http.StatusUnprocessableEntity, "Invalid", "metadata.name: Invalid value")
	case !valid(w, object):
	case s.objects[folder+"/"+name] != nil:
		status(w, http.StatusConflict, "AlreadyExists", fmt.Sprintf("%q already exists", name))
	default:
		meta["uid"] = uuid.NewString()
		s.store(folder, name, object)
		s.answer(w, http.StatusCreated, folder, name)
	}
}

// update replaces an object, unless nothing changes. It can also create leases, and refuses to replace them without a
// version.
func (s *Server) update(w http.ResponseWriter, folder, name string, object map[string]any) {
	there, leases := s.objects[folder+"/"+name], strings.HasSuffix(folder, "/leases")
	now, was := part(object, "metadata"), part(there, "metadata")
	version, _ := now["resourceVersion"].(string)
	id, _ := now["uid"].(string)
	switch {
	case there == nil && !leases:
		status(w, http.StatusNotFound, "NotFound", fmt.Sprintf("%q not found", name))
	case id != "" && id != was["uid"]:
		conflict(w)
	case there == nil:
		delete(now, "resourceVersion")
		s.create(w, folder, object)
	case leases && version == "":
		status(w, http.StatusUnprocessableEntity, "Invalid", "metadata.resourceVersion: must be set for an update")
	case version != "" && version != was["resourceVersion"]:
		conflict(w)
	case valid(w, object):
		if now["uid"] = was["uid"]; !same(there, object) {
			s.store(folder, name, object)
		}
		s.answer(w, http.StatusOK, folder, name)
	}
}

// same reports whether two objects are equal except for their versions.
func same(one, other map[string]any) bool {
	for _, what := range []string{"data", "spec", "type"} {
		if !reflect.DeepEqual(one[what], other[what]) {
			return false
		}
	}
	a, b := part(one, "metadata"), part(other, "metadata")
	return reflect.DeepEqual(a["labels"], b["labels"]) && reflect.DeepEqual(a["annotations"], b["annotations"])
}

func conflict(w http.ResponseWriter) {
	status(w, http.StatusConflict, "Conflict", "the object has been modified; please apply your changes to the "+
		"latest version and try again")
}

func (s *Server) remove(w http.ResponseWriter, folder, name string, options map[string]any) {
	there := s.objects[folder+"/"+name]
	if there == nil {
		status(w, http.StatusNotFound, "NotFound", fmt.Sprintf("%q not found", name))
		return
	}
	if options == nil {
		options = map[string]any{}
	}
	for _, what := range []string{"resourceVersion", "uid"} {
		if want := part(options, "preconditions")[what]; want != nil && want != part(there, "metadata")[what] {
			status(w, http.StatusConflict, "Conflict", "the "+what+" in the precondition does not match")
			return
		}
	}
	s.version++
	delete(s.objects, folder+"/"+name)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
}
