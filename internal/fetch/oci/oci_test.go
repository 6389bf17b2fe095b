package oci_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
	"github.com/tombolo-iac/tombolo/internal/fetch/oci"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

const host, name = "oci.example", "corp/network"

// registry is a registry with one module, and a client for it.
type registry struct {
	*fetchtest.OCI
	net    *fetchtest.Net
	client *oci.Client
	asked  []string // repositories whose login was requested
	login  web.Login
}

func newRegistry(t *testing.T) *registry {
	r := &registry{OCI: &fetchtest.OCI{Host: host}, net: fetchtest.New(t)}
	r.net.Serve(host, r.OCI)
	r.AddModule(name, "1.0.0", map[string]string{"main.tf": "# one"})
	r.client = oci.New(web.New(web.Options{
		Transport: r.net.Transport(), Stall: time.Minute, Retries: 2,
		Pause: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Logins: func(_ context.Context, host, repository string) (web.Login, error) {
			r.asked = append(r.asked, host+"/"+repository)
			return r.login, nil
		},
	}))
	return r
}

// fetch returns the archive of an artifact.
func (r *registry) fetch(t *testing.T, reference, artifact string) ([]byte, error) {
	t.Helper()
	repository, err := r.client.Repository(host + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "archive"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := repository.Package(context.Background(), reference, artifact, file, nil); err != nil {
		return nil, err
	}
	return os.ReadFile(file.Name())
}

func TestPackagesMatchTheirManifest(t *testing.T) {
	r := newRegistry(t)
	digest := r.AddModule(name, "2.0.0", map[string]string{"main.tf": "# two"})
	for _, reference := range []string{"2.0.0", digest} {
		if got, err := r.fetch(t, reference, oci.Module); err != nil ||
			!bytes.Equal(got, fetchtest.Zip(map[string]string{"main.tf": "# two"})) {
			t.Errorf("%s: %d bytes, %v", reference, len(got), err)
		}
	}
}

// An invalid response of a registry is an error that names the registry.
func TestInvalidPackagesAreRefused(t *testing.T) {
	archive := fetchtest.Zip(map[string]string{"main.tf": ""})
	image := func(r *registry) map[string]any { return r.Image(name, oci.Module, "archive/zip", archive) }
	cases := map[string]struct {
		put  func(r *registry) map[string]any
		want string
	}{
		"an image for containers": {func(r *registry) map[string]any {
			return r.Image(name, "", "application/vnd.oci.image.layer.v1.tar+gzip", archive)
		}, `has the artifact type "none"`},
		"a chart": {func(r *registry) map[string]any {
			return r.Image(name, "application/vnd.cncf.helm.config.v1+json", "archive/zip", archive)
		}, ", not application/vnd.opentofu.modulepkg"},
		"an index": {func(r *registry) map[string]any {
			return map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
				"manifests": []any{}}
		}, "is of the type"},
		"no archive": {func(r *registry) map[string]any {
			return r.Image(name, oci.Module, "text/plain", archive)
		}, "has 0 layers of the type archive/zip"},
		"two archives": {func(r *registry) map[string]any {
			m := image(r)
			m["layers"] = append(m["layers"].([]any), r.Put(name, "archive/zip", []byte("x")))
			return m
		}, "has 2 layers"},
		"another size": {func(r *registry) map[string]any {
			m := image(r)
			m["layers"].([]any)[0].(map[string]any)["size"] = len(archive) + 1
			return m
		}, "mismatch"},
		"a size that nobody has": {func(r *registry) map[string]any {
			m := image(r)
			m["layers"].([]any)[0].(map[string]any)["size"] = int64(1) << 60
			return m
		}, "more than"},
		"a blob that is missing": {func(r *registry) map[string]any {
			m := image(r)
			m["layers"].([]any)[0].(map[string]any)["digest"] = "sha256:" + strings.Repeat("0", 64)
			return m
		}, "404"},
	}
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			r := newRegistry(t)
			r.PutManifest(name, c.put(r), "wrong")
			if _, err := r.fetch(t, "wrong", oci.Module); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	for title, change := range map[string]func([]byte) []byte{
		"changed": func(b []byte) []byte { return append([]byte{b[0] ^ 1}, b[1:]...) },
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"longer":  func(b []byte) []byte { return append(bytes.Clone(b), 'x') },
	} {
		t.Run("a blob that was "+title, func(t *testing.T) {
			r := newRegistry(t)
			d := r.Put(name, "archive/zip", archive)
			m := image(r)
			m["layers"] = []any{d}
			r.PutManifest(name, m, "wrong")
			r.net.Answer(host, "/v2/"+name+"/blobs/"+d["digest"].(string),
				func(w http.ResponseWriter, _ *http.Request) {
					_, _ = w.Write(change(archive))
				})
			if _, err := r.fetch(t, "wrong", oci.Module); err == nil {
				t.Error("it was taken")
			}
		})
	}
	for _, reference := range []string{"absent", "sha256:xx", "sha256:" + strings.Repeat("1", 64)} {
		if _, err := newRegistry(t).fetch(t, reference, oci.Module); err == nil {
			t.Errorf("%s was taken", reference)
		}
	}
}

func TestNamesOfRepositories(t *testing.T) {
	client := newRegistry(t).client
	for _, name := range []string{"", "example.com", "example.com/", "example.com/A", "example.com/a:1",
		"example.com/a@b",
		"example.com/../a", "example.com//a", "a b/c", "example.com/a?x", "user@example.com/a"} {
		if r, err := client.Repository(name); err == nil {
			t.Errorf("%q is %s", name, r)
		}
	}
}

func TestTagsComeInPages(t *testing.T) {
	r := newRegistry(t)
	r.Page = 2
	for _, tag := range []string{"1.1.0", "1.2.0", "1.3.0", "latest"} {
		r.AddModule(name, tag, nil)
	}
	repository, _ := r.client.Repository(host + "/" + name)
	tags, err := repository.Tags(context.Background())
	if err != nil || strings.Join(tags, " ") != "1.0.0 1.1.0 1.2.0 1.3.0 latest" {
		t.Errorf("%q, %v", tags, err)
	}
	// an endless list
	n := 0
	r.net.Answer(host, "/v2/"+name+"/tags/list", func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.Header().Set("Link", "</v2/"+name+"/tags/list>; rel=\"next\"")
		_, _ = w.Write([]byte(`{"tags":["` + strings.Repeat(`1","`, 5000) + `"]}`))
	})
	if _, err := repository.Tags(context.Background()); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("after %d pages: %v", n, err)
	}
}

// A login is only sent to its registry, and to the token server that the registry names. Errors do not contain it.
func TestLoginsGoToTheirRegistry(t *testing.T) {
	for _, tokens := range []bool{false, true} {
		r := newRegistry(t)
		r.User, r.Password, r.Tokens = "me", "canary", tokens
		if _, err := r.fetch(t, "1.0.0", oci.Module); err == nil || !strings.Contains(err.Error(), "401") ||
			!strings.Contains(err.Error(), "missing") {
			t.Errorf("without a login (tokens: %t): %v", tokens, err)
		}
		r.login = web.Login{Username: "me", Password: "canary"}
		if _, err := r.fetch(t, "1.0.0", oci.Module); err != nil {
			t.Errorf("with a login (tokens: %t): %v", tokens, err)
		}
		if r.asked[0] != host+"/"+name {
			t.Errorf("asked for %q", r.asked)
		}
		r.login.Password = "wrong-canary"
		r.client = newClientLike(r)
		if _, err := r.fetch(t, "1.0.0", oci.Module); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("with a wrong login (tokens: %t): %v", tokens, err)
		}
	}
}

// newClientLike returns a client that has no tokens yet.
func newClientLike(r *registry) *oci.Client {
	return oci.New(web.New(web.Options{Transport: r.net.Transport(), Stall: time.Minute,
		Logins: func(context.Context, string, string) (web.Login, error) { return r.login, nil }}))
}

// A registry redirects to the storage of its blobs. Neither login nor token is sent there, and errors do not contain
// the signature in the address.
func TestRedirectedBlobsGetNoLogin(t *testing.T) {
	r := newRegistry(t)
	r.User, r.Password = "me", "canary"
	r.login = web.Login{Username: "me", Password: "canary"}
	archive := fetchtest.Zip(map[string]string{"main.tf": "# elsewhere"})
	d := r.Put(name, "archive/zip", archive)
	m := r.Image(name, oci.Module, "archive/zip", archive)
	r.PutManifest(name, m, "moved")
	r.net.Answer(host, "/v2/"+name+"/blobs/"+d["digest"].(string), func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, "https://blobs.example/x?X-Amz-Signature=canary", http.StatusTemporaryRedirect)
	})
	status := http.StatusOK
	r.net.Serve("blobs.example", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "" {
			t.Error("the login went along")
		}
		w.WriteHeader(status)
		_, _ = w.Write(archive)
	}))
	if got, err := r.fetch(t, "moved", oci.Module); err != nil || !bytes.Equal(got, archive) {
		t.Errorf("%v", err)
	}
	status = http.StatusForbidden
	if _, err := r.fetch(t, "moved", oci.Module); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("%v", err)
	}
	r.net.Serve("blobs.example", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	if _, err := r.fetch(t, "moved", oci.Module); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("%v", err)
	}
	r.net.Answer(host, "/v2/"+name+"/blobs/"+d["digest"].(string), func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, "http://blobs.example/x?X-Amz-Signature=canary", http.StatusTemporaryRedirect)
	})
	if _, err := r.fetch(t, "moved", oci.Module); err == nil || !strings.Contains(err.Error(), "TLS") ||
		strings.Contains(err.Error(), "canary") {
		t.Errorf("%v", err)
	}
}

// Temporary failures are retried; permanent ones are not.
func TestTemporaryFailuresAreRetried(t *testing.T) {
	r := newRegistry(t)
	failures := 2
	at := "/v2/" + name + "/manifests/1.0.0"
	r.net.Answer(host, at, func(w http.ResponseWriter, q *http.Request) {
		if failures > 0 {
			failures--
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.ServeHTTP(w, q)
	})
	if _, err := r.fetch(t, "1.0.0", oci.Module); err != nil {
		t.Error(err)
	}
	r.net.Requests()
	r.PutManifest(name, map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json"},
		"odd")
	_, err := r.fetch(t, "odd", oci.Module)
	var unsuitable *oci.UnsuitableError
	if n := len(r.net.Requests()); !errors.As(err, &unsuitable) || n != 1 {
		t.Errorf("%d requests, %v", n, err)
	}
}
