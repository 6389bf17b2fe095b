package fetchtest

import (
	"archive/zip"
	"bytes"
	"crypto"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Release is a version of a provider.
type Release struct {
	Source    string // NAMESPACE/TYPE
	Version   string
	Platforms []string          // OS_ARCH; nil means the default ones
	Protocols []string          // of plugins; nil means 5.0
	Files     map[string]string // nil means a program and a README; programs are executable
	Raw       []byte            // the archive; replaces Files
}

// Platforms are the default platforms of a release.
var Platforms = []string{"linux_amd64", "linux_arm64", "darwin_arm64", "darwin_amd64", "windows_amd64"}

// Registry serves providers as registries do, signed with its own key.
type Registry struct {
	Key *Key
	// Trust is the signature of the key by another key, in armor.
	Trust string
	// Warnings are in every list of versions.
	Warnings []string
	// Unsigned omits the key.
	Unsigned bool
	// MoreSums is appended to every list of checksums.
	MoreSums string
	// Stated returns the hashes of a package for the descriptions of all packages of its release, as in OpenTofu's
	// registry. nil means none.
	Stated func(release Release, platform string) []string
	// Services are announced in addition to that of providers.
	Services map[string]any

	mu       sync.Mutex // guards the fields below
	releases map[string][]Release
	archives map[string][]byte
}

// NewRegistry returns a registry without providers.
func NewRegistry(t testing.TB) *Registry {
	return &Registry{Key: NewKey(t, KeyOptions{}), releases: map[string][]Release{}, archives: map[string][]byte{}}
}

// Add adds a release to the registry.
func (r *Registry) Add(release Release) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if release.Platforms == nil {
		release.Platforms = Platforms
	}
	r.releases[release.Source] = append(r.releases[release.Source], release)
}

// Replace replaces an existing release.
func (r *Registry) Replace(release Release) {
	if release.Platforms == nil {
		release.Platforms = Platforms
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.archives)
	for i, old := range r.releases[release.Source] {
		if old.Version == release.Version {
			r.releases[release.Source][i] = release
		}
	}
}

func (release Release) protocols() []string {
	if release.Protocols == nil {
		return []string{"5.0"}
	}
	return release.Protocols
}

// Archive returns the name and the content of a package.
func (release Release) Archive(platform string) (name string, content []byte) {
	_, typ, _ := strings.Cut(release.Source, "/")
	files := release.Files
	if files == nil {
		files = map[string]string{
			"terraform-provider-" + typ + "_v" + release.Version + "_x5": "#!/bin/sh\necho " + platform + "\nexit 1\n",
			"README.md": "# " + release.Source + "\n",
		}
	}
	name = fmt.Sprintf("terraform-provider-%s_%s_%s.zip", typ, release.Version, platform)
	if release.Raw != nil {
		return name, release.Raw
	}
	return name, Zip(files)
}

// Zip returns an archive; files whose names begin with terraform-provider- are executable.
func Zip(files map[string]string) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Unix(1700000000, 0)}
		h.SetMode(0o644)
		if strings.HasPrefix(name, "terraform-provider-") {
			h.SetMode(0o755)
		}
		out, err := w.CreateHeader(h)
		if err == nil {
			_, err = out.Write([]byte(files[name]))
		}
		if err != nil {
			panic(err) // writing to memory does not fail
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

// Sums returns the list of checksums of a release.
func (r *Registry) Sums(source, version string) []byte {
	release, ok := r.release(source, version)
	if !ok {
		return nil
	}
	var out bytes.Buffer
	for _, platform := range release.Platforms {
		name, content := r.archive(release, platform)
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(content), name)
	}
	out.WriteString(r.MoreSums)
	return out.Bytes()
}

func (r *Registry) archive(release Release, platform string) (string, []byte) {
	name, content := release.Archive(platform)
	r.mu.Lock()
	defer r.mu.Unlock()
	key := release.Source + "/" + name
	if kept := r.archives[key]; kept != nil {
		return name, kept
	}
	r.archives[key] = content
	return name, content
}

func (r *Registry) release(source, version string) (Release, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.releases[source]
	i := slices.IndexFunc(list, func(release Release) bool { return release.Version == version })
	if i < 0 {
		return Release{}, false
	}
	return list[i], true
}

// ServeHTTP implements http.Handler. Everything is on one host: /v1/providers/ is the service, and /files/ contains the
// files to which it refers.
func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	parts := strings.Split(strings.Trim(q.URL.Path, "/"), "/")
	switch {
	case q.URL.Path == "/.well-known/terraform.json":
		services := map[string]any{"providers.v1": "/v1/providers/"}
		for id, service := range r.Services {
			services[id] = service
		}
		JSON(w, services)
	case len(parts) == 5 && parts[0] == "v1" && parts[4] == "versions":
		r.versions(w, q, parts[2]+"/"+parts[3])
	case len(parts) == 8 && parts[0] == "v1" && parts[5] == "download":
		r.download(w, q, parts[2]+"/"+parts[3], parts[4], parts[6]+"_"+parts[7])
	case len(parts) == 5 && parts[0] == "files":
		r.file(w, q, parts[1]+"/"+parts[2], parts[3], parts[4])
	default:
		http.NotFound(w, q)
	}
}

// JSON responds with a document.
func JSON(w http.ResponseWriter, document any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document)
}

func (r *Registry) versions(w http.ResponseWriter, q *http.Request, source string) {
	r.mu.Lock()
	list := r.releases[source]
	r.mu.Unlock()
	if list == nil {
		http.NotFound(w, q)
		return
	}
	var versions []any
	for _, release := range list {
		var platforms []any
		for _, p := range release.Platforms {
			system, arch, _ := strings.Cut(p, "_")
			platforms = append(platforms, map[string]any{"os": system, "arch": arch})
		}
		versions = append(versions, map[string]any{"version": release.Version, "protocols": release.protocols(),
			"platforms": platforms})
	}
	JSON(w, map[string]any{"id": source, "versions": versions, "warnings": r.Warnings})
}

func (r *Registry) download(w http.ResponseWriter, q *http.Request, source, version, platform string) {
	release, ok := r.release(source, version)
	if !ok || !slices.Contains(release.Platforms, platform) {
		http.NotFound(w, q)
		return
	}
	JSON(w, r.Describe(release, platform))
}

// Describe returns the registry's document about a package, for tests that change it.
func (r *Registry) Describe(release Release, platform string) map[string]any {
	name, content := r.archive(release, platform)
	system, arch, _ := strings.Cut(platform, "_")
	_, typ, _ := strings.Cut(release.Source, "/")
	base := "/files/" + release.Source + "/" + release.Version + "/"
	sums := base + fmt.Sprintf("terraform-provider-%s_%s_SHA256SUMS", typ, release.Version)
	keys := []any{}
	if !r.Unsigned {
		keys = append(keys, map[string]any{"key_id": r.Key.ID(), "ascii_armor": r.Key.Public(),
			"trust_signature": r.Trust, "source": "", "source_url": nil})
	}
	document := map[string]any{
		"protocols": release.protocols(), "os": system, "arch": arch, "filename": name, "download_url": base + name,
		"shasum":      fmt.Sprintf("%x", sha256.Sum256(content)),
		"shasums_url": sums, "shasums_signature_url": sums + ".sig", "signing_keys": map[string]any{
			"gpg_public_keys": keys},
	}
	if r.Stated != nil {
		all := map[string]any{}
		for _, p := range release.Platforms {
			_, content := r.archive(release, p)
			all[p] = map[string]any{"hashes": r.Stated(release, p), "package_size": len(content)}
		}
		document["packages"] = all
	}
	return document
}

func (r *Registry) file(w http.ResponseWriter, q *http.Request, source, version, name string) {
	release, ok := r.release(source, version)
	switch {
	case !ok:
	case strings.HasSuffix(name, "_SHA256SUMS"):
		_, _ = w.Write(r.Sums(source, version))
		return
	case strings.HasSuffix(name, "_SHA256SUMS.sig"):
		_, _ = w.Write(r.Key.Sign(r.Sums(source, version)))
		return
	}
	for _, platform := range release.Platforms {
		if own, content := r.archive(release, platform); own == name {
			w.Header().Set("Content-Type", "application/zip")
			_, _ = w.Write(content)
			return
		}
	}
	http.NotFound(w, q)
}

// Key is a signing key.
type Key struct {
	t      testing.TB
	Entity *openpgp.Entity
	config *packet.Config
}

// KeyOptions configures a key.
type KeyOptions struct {
	Made     time.Time     // time of creation; zero means now
	Lifetime time.Duration // time until it expires; 0 means never
	Rand     io.Reader     // source of randomness; nil means the system's
}

// NewKey returns a key.
func NewKey(t testing.TB, opts KeyOptions) *Key {
	t.Helper()
	if opts.Made.IsZero() {
		opts.Made = time.Now().Add(-time.Hour)
	}
	config := &packet.Config{Time: func() time.Time { return opts.Made },
		KeyLifetimeSecs: uint32(opts.Lifetime / time.Second), Algorithm: packet.PubKeyAlgoEdDSA,
		DefaultHash: crypto.SHA256, Rand: opts.Rand}
	entity, err := openpgp.NewEntity("Test Corp", "", "corp@example.com", config)
	if err != nil {
		t.Fatal(err)
	}
	return &Key{t, entity, config}
}

// ID returns the short ID of the key.
func (k *Key) ID() string { return k.Entity.PrimaryKey.KeyIdString() }

// Public returns the public key in armor.
func (k *Key) Public() string {
	var buf bytes.Buffer
	w, err := armor.Encode(&buf, openpgp.PublicKeyType, nil)
	if err == nil {
		err = k.Entity.Serialize(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		k.t.Error(err)
	}
	return buf.String()
}

// Sign returns a detached signature.
func (k *Key) Sign(text []byte) []byte { return k.SignAt(text, 0) }

// SignAt returns a detached signature that expires after a lifetime; 0 means never.
func (k *Key) SignAt(text []byte, lifetime time.Duration) []byte {
	config := *k.config
	config.SigLifetimeSecs = uint32(lifetime / time.Second)
	var buf bytes.Buffer
	if err := openpgp.DetachSign(&buf, k.Entity, bytes.NewReader(text), &config); err != nil {
		k.t.Error(err)
	}
	return buf.Bytes()
}

// SignArmored returns a detached signature in armor.
func (k *Key) SignArmored(text []byte) string {
	var buf bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&buf, k.Entity, bytes.NewReader(text), k.config); err != nil {
		k.t.Error(err)
	}
	return buf.String()
}
