package fetchtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// OCI is a registry of OCI artifacts.
type OCI struct {
	// Host is the name under which it is served.
	Host string
	// User and Password are the required login, or "".
	User, Password string
	// Tokens makes the registry issue a token for the password, and require the token.
	Tokens bool
	// Page is the number of tags on a page of a list; 0 means all.
	Page int

	mu    sync.Mutex
	tags  map[string]map[string]string // repository -> tag -> digest
	blobs map[string][]byte            // by repository and digest
	media map[string]string            // media types of manifests, by repository and digest
}

const ociToken = "token-of-the-registry"

// Put stores a blob in a repository and returns its descriptor.
func (o *OCI) Put(repository, media string, content []byte) map[string]any {
	o.mu.Lock()
	defer o.mu.Unlock()
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	if o.blobs == nil {
		o.blobs, o.media, o.tags = map[string][]byte{}, map[string]string{}, map[string]map[string]string{}
	}
	o.blobs[repository+"@"+digest] = content
	return map[string]any{"mediaType": media, "digest": digest, "size": len(content)}
}

// PutManifest stores a manifest, with tags if there are any, and returns its descriptor.
func (o *OCI) PutManifest(repository string, manifest map[string]any, tags ...string) map[string]any {
	text, err := json.Marshal(manifest)
	if err != nil {
		panic(err)
	}
	media, _ := manifest["mediaType"].(string)
	d := o.Put(repository, media, text)
	if artifact, ok := manifest["artifactType"]; ok {
		d["artifactType"] = artifact
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	digest := d["digest"].(string)
	o.media[repository+"@"+digest] = media
	for _, tag := range tags {
		if o.tags[repository] == nil {
			o.tags[repository] = map[string]string{}
		}
		o.tags[repository][tag] = digest
	}
	return d
}

// Image returns an image manifest with one layer.
func (o *OCI) Image(repository, artifact, layer string, content []byte) map[string]any {
	return map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": artifact,
		"config": o.Put(repository, "application/vnd.oci.empty.v1+json", []byte("{}")),
		"layers": []any{o.Put(repository, layer, content)},
	}
}

// AddModule publishes a module, and returns the digest of its manifest.
func (o *OCI) AddModule(repository, tag string, files map[string]string) string {
	d := o.PutManifest(repository, o.Image(repository, "application/vnd.opentofu.modulepkg", "archive/zip", Zip(files)),
		tag)
	return d["digest"].(string)
}

// AddProvider publishes a release for its platforms.
func (o *OCI) AddProvider(repository string, release Release, platforms ...string) {
	var manifests []any
	for _, platform := range platforms {
		_, content := release.Archive(platform)
		d := o.PutManifest(repository, o.Image(repository, "application/vnd.opentofu.provider-target", "archive/zip",
			content))
		system, arch, _ := strings.Cut(platform, "_")
		d["platform"] = map[string]any{"os": system, "architecture": arch}
		manifests = append(manifests, d)
	}
	o.PutManifest(repository, map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
		"artifactType": "application/vnd.opentofu.provider", "manifests": manifests,
	}, strings.ReplaceAll(release.Version, "+", "_"))
}

// ServeHTTP implements the reading part of the distribution protocol.
func (o *OCI) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.URL.Path == "/token" {
		o.token(w, q)
		return
	}
	if !o.authorized(w, q) {
		return
	}
	if q.URL.Path == "/v2/" {
		JSON(w, map[string]any{})
		return
	}
	rest, ok := strings.CutPrefix(q.URL.Path, "/v2/")
	if repository, isTags := strings.CutSuffix(rest, "/tags/list"); ok && isTags {
		o.list(w, q, repository)
		return
	}
	for _, kind := range []string{"manifests", "blobs"} {
		repository, reference, found := strings.Cut(rest, "/"+kind+"/")
		if !ok || !found {
			continue
		}
		o.mu.Lock()
		if digest := o.tags[repository][reference]; digest != "" && kind == "manifests" {
			reference = digest
		}
		content, have := o.blobs[repository+"@"+reference]
		media := o.media[repository+"@"+reference]
		o.mu.Unlock()
		if !have || (kind == "manifests") != (media != "") {
			break
		}
		w.Header().Set("Docker-Content-Digest", reference)
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		w.Header().Set("Content-Type", "application/octet-stream")
		if media != "" {
			w.Header().Set("Content-Type", media)
		}
		if q.Method != http.MethodHead {
			_, _ = w.Write(content)
		}
		return
	}
	w.WriteHeader(http.StatusNotFound)
	JSON(w, map[string]any{"errors": []any{map[string]any{"code": "NAME_UNKNOWN", "message": "it is not here"}}})
}

func (o *OCI) token(w http.ResponseWriter, q *http.Request) {
	user, password, _ := q.BasicAuth()
	if user != o.User || password != o.Password {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	JSON(w, map[string]any{"token": ociToken, "access_token": ociToken, "expires_in": 300})
}

// authorized checks the password or the token.
func (o *OCI) authorized(w http.ResponseWriter, q *http.Request) bool {
	header := q.Header.Get("Authorization")
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(o.User+":"+o.Password))
	switch {
	case o.User == "", o.Tokens && header == "Bearer "+ociToken, !o.Tokens && header == basic:
		return true
	case o.Tokens:
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="https://%s/token",service="%s"`, o.Host, o.Host))
	default:
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
	}
	http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"log in"}]}`, http.StatusUnauthorized)
	return false
}

func (o *OCI) list(w http.ResponseWriter, q *http.Request, repository string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var tags []string
	for tag := range o.tags[repository] {
		tags = append(tags, tag)
	}
	if len(tags) == 0 {
		http.NotFound(w, q)
		return
	}
	slices.Sort(tags)
	if last := q.URL.Query().Get("last"); last != "" {
		tags = slices.DeleteFunc(tags, func(tag string) bool { return tag <= last })
	}
	if o.Page > 0 && len(tags) > o.Page {
		tags = tags[:o.Page]
		w.Header().Set("Link", fmt.Sprintf(`</v2/%s/tags/list?last=%s>; rel="next"`, repository, tags[o.Page-1]))
	}
	JSON(w, map[string]any{"name": repository, "tags": tags})
}
