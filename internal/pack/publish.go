package pack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/registries"
	"github.com/tombolo-iac/tombolo/internal/pack/generic"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// PublishOptions configures Publish.
type PublishOptions struct {
	// From is the folder with releases, as Build writes them.
	From string
	// Source is the address of the provider. Its host is that of the web server.
	Source addr.Provider
	// Dir is the folder that a web server serves as the root of the host.
	Dir string
	// Key is the key that has signed the releases. If it has its private part, it signs those that are not signed. nil
	// means that releases need no signature.
	Key *Key
}

// Published is a release in a registry.
type Published struct {
	Version   versions.Version
	Platforms []packages.Platform
	Signed    bool
	Changed   bool // false if the registry had all of it
}

// Names below the root of the web server.
const (
	discovery = ".well-known/terraform.json"
	service   = "providers.v1"
	services  = "/v1/providers/"
)

// Publish adds releases to a provider registry that consists of files. It checks all of them first, and changes nothing
// if one cannot be added. A registry never gets another archive for the same version and platform.
func Publish(ctx context.Context, o PublishOptions) (done []Published, err error) {
	releases, err := o.releases(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	root, err := openSite(o.Dir)
	if err != nil {
		return nil, err
	}
	defer root.close()
	about, err := root.discovery()
	if err != nil {
		return nil, err
	}
	for _, r := range releases {
		if err := root.compare(ctx, r); err != nil {
			return nil, err
		}
	}
	for _, r := range releases {
		before := root.written
		if err := root.add(ctx, r, o.Key); err != nil {
			return done, err
		}
		done = append(done, Published{r.version, r.platforms, r.signature != nil, root.written > before})
	}
	if err := root.list(o.provider()); err != nil {
		return done, err
	}
	return done, root.put(discovery, about)
}

// provider returns the folder of the provider, below the root.
func (o PublishOptions) provider() string {
	return path.Join(strings.Trim(services, "/"), o.Source.Namespace, o.Source.Type)
}

// release is a release in the folder of Build.
type release struct {
	version         versions.Version
	from, at        string // its folder; its folder below the root of the registry
	base            string // prefix of the names of its files
	sums, signature []byte
	list            map[string]string // checksums by name
	protocols       []string
	platforms       []packages.Platform
}

func (r *release) archive(on packages.Platform) string { return r.base + "_" + on.String() + ".zip" }

// releases reads and verifies all releases in the folder, sorted by version.
func (o PublishOptions) releases(ctx context.Context) (all []*release, _ error) {
	names, err := os.ReadDir(o.From)
	if err != nil {
		return nil, err
	}
	prefix := generic.Prefix + o.Source.Type + "_"
	for _, entry := range names {
		text, ok := strings.CutSuffix(strings.TrimPrefix(entry.Name(), prefix), "_SHA256SUMS")
		v, err := versions.ParseVersion(text)
		if !ok || !strings.HasPrefix(entry.Name(), prefix) || err != nil {
			continue
		}
		r := &release{version: v, from: o.From, at: path.Join(o.provider(), v.String()), base: prefix + text}
		if err := r.read(ctx, o.Key); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no checksums %sVERSION_SHA256SUMS. Make a release with \"provider build "+
			"-source=%s -out=%s\"", o.From, prefix, o.Source.ForDisplay(), o.From)
	}
	slices.SortFunc(all, func(a, b *release) int { return compareVersions(a.version, b.version) })
	return all, nil
}

func compareVersions(a, b versions.Version) int {
	switch {
	case a.LessThan(b):
		return -1
	case b.LessThan(a):
		return 1
	}
	return strings.Compare(a.String(), b.String())
}

// read reads and verifies a release.
func (r *release) read(ctx context.Context, key *Key) error {
	sums := r.base + "_SHA256SUMS"
	var err error
	if r.sums, err = own(r.from, sums); err != nil {
		return err
	}
	if r.list, err = registries.Sums(r.sums); err != nil {
		return fmt.Errorf("%s: %w", sums, err)
	}
	if r.signature, err = own(r.from, sums+".sig"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := r.verify(sums, key); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r.list)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		sum, err := hashOf(filepath.Join(r.from, name))
		if err != nil {
			return fmt.Errorf("%s lists it: %w", sums, err)
		}
		if sum != r.list[name] {
			return fmt.Errorf("%s has the checksum %s, but %s lists %s: it was changed, or is not complete",
				name, sum, sums, r.list[name])
		}
		text, ok := strings.CutSuffix(strings.TrimPrefix(name, r.base+"_"), ".zip")
		if on, err := packages.ParsePlatform(text); ok && err == nil && name == r.archive(on) {
			r.platforms = append(r.platforms, on)
		} else if name != r.base+"_manifest.json" {
			return fmt.Errorf("%s lists %q, which is no archive of this release", sums, name)
		}
	}
	if len(r.platforms) == 0 {
		return fmt.Errorf("%s lists no archive", sums)
	}
	return r.readManifest()
}

// verify checks the signature. A private key makes one that is missing.
func (r *release) verify(sums string, key *Key) (err error) {
	if key == nil {
		if r.signature != nil {
			return fmt.Errorf("%s is signed. Name the key, so that the registry can offer it", sums)
		}
		return nil
	}
	_, public, err := key.Public()
	if err != nil {
		return err
	}
	if r.signature == nil {
		if key.entity.PrivateKey == nil {
			return fmt.Errorf("%s is not signed, and %s has only the public part of a key. Name the private key, or "+
				"sign with \"provider build -sign=FILE\"", sums, key.file)
		}
		return nil // signed later, unless the registry has a signature
	}
	if err := registries.Verify(r.sums, r.signature, public); err != nil {
		return fmt.Errorf("the signature %s.sig is not valid for the key in %s: %w", sums, key.file, err)
	}
	return nil
}

// readManifest reads the supported versions of the plugin protocol.
func (r *release) readManifest() error {
	name := r.base + "_manifest.json"
	if r.list[name] == "" {
		return fmt.Errorf("%s_SHA256SUMS does not list %s", r.base, name)
	}
	text, err := own(r.from, name)
	if err != nil {
		return err
	}
	var m struct {
		Version  int `json:"version"`
		Metadata struct {
			Protocols []string `json:"protocol_versions"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Version != 1 || len(m.Metadata.Protocols) == 0 {
		return fmt.Errorf("%s has no list of versions of the plugin protocol", name)
	}
	r.protocols = m.Metadata.Protocols
	return nil
}

// own reads a file of a release, which must not be a link.
func own(dir, name string) ([]byte, error) {
	name = filepath.Join(dir, name)
	if err := noLink(os.Lstat(name)); err != nil {
		return nil, err
	}
	return regular.Named(name, regular.Record)
}

// noLink returns an error for a link, and the given one.
func noLink(info fs.FileInfo, err error) error {
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = fmt.Errorf("%s is a link, which is not followed here", info.Name())
	}
	return err
}

// download is the document of one package, in the format of the registry protocol.
type download struct {
	Protocols    []string `json:"protocols"`
	OS           string   `json:"os"`
	Arch         string   `json:"arch"`
	Filename     string   `json:"filename"`
	URL          string   `json:"download_url"`
	SumsURL      string   `json:"shasums_url"`
	SignatureURL string   `json:"shasums_signature_url,omitempty"`
	Sum          string   `json:"shasum"`
	Keys         struct {
		GPG []publicKey `json:"gpg_public_keys"`
	} `json:"signing_keys"`
}

type publicKey struct {
	ID    string `json:"key_id"`
	Armor string `json:"ascii_armor"`
}

// document returns the document of a package. Its addresses are relative to its own, so that the files can be moved to
// another host.
func (r *release) document(on packages.Platform, key *Key) (d download, err error) {
	const up = "../../" // from VERSION/download/OS/ARCH to VERSION
	name := r.archive(on)
	d = download{Protocols: r.protocols, OS: on.OS, Arch: on.Arch, Filename: name, URL: up + name, Sum: r.list[name],
		SumsURL: up + r.base + "_SHA256SUMS"}
	d.Keys.GPG = []publicKey{}
	if r.signature != nil {
		d.SignatureURL = d.SumsURL + ".sig"
		var public publicKey
		public.ID, public.Armor, err = key.Public()
		d.Keys.GPG = append(d.Keys.GPG, public)
	}
	return d, err
}

// index is the document with the versions of a provider.
type index struct {
	Versions []indexed `json:"versions"`
}

type indexed struct {
	Version   string     `json:"version"`
	Protocols []string   `json:"protocols"`
	Platforms []platform `json:"platforms"`
}

type platform struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

func comparePlatforms(a, b platform) int {
	return cmp.Or(strings.Compare(a.OS, b.OS), strings.Compare(a.Arch, b.Arch))
}
