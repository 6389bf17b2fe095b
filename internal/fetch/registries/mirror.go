package registries

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

// Mirror is a network mirror: a web server with packages of providers from any registry.
type Mirror struct {
	Client *web.Client
	URL    *url.URL
	// TrustAll accepts all hashes that the mirror states for a version, for every platform, if one of them matches the
	// package.
	TrustAll bool
}

// String returns the name of the source, without parts of its address that may be secret.
func (m Mirror) String() string {
	return (&url.URL{Scheme: m.URL.Scheme, Host: m.URL.Host, Path: m.URL.Path}).String()
}

// at returns the address of a document about a provider.
func (m Mirror) at(p addr.Provider, name string) (*url.URL, error) {
	host, err := svchost.ForComparison(p.Host)
	if err != nil {
		return nil, err
	}
	return m.URL.JoinPath(string(host), p.Namespace, p.Type, name), nil
}

func (m Mirror) read(ctx context.Context, p addr.Provider, name string, into any) (*url.URL, error) {
	u, err := m.at(p, name)
	if err != nil {
		return nil, err
	}
	doc, err := m.Client.JSON(ctx, web.Request{URL: u, Host: m.URL.Host}, into)
	return doc.URL, err
}

// Versions lists the mirror's versions of a provider; none if it does not have the provider.
func (m Mirror) Versions(ctx context.Context, p addr.Provider) (packages.Listing, error) {
	var answer struct {
		Versions map[string]struct{} `json:"versions"`
	}
	_, err := m.read(ctx, p, "index.json", &answer)
	switch {
	case web.IsNotFound(err):
		return packages.Listing{}, nil
	case err != nil:
		return packages.Listing{}, fmt.Errorf("the network mirror %s cannot be queried: %w", m, err)
	case len(answer.Versions) > maxVersions:
		return packages.Listing{}, fmt.Errorf("the network mirror %s lists %d versions, more than %d", m,
			len(answer.Versions), maxVersions)
	}
	var list packages.Listing
	for text := range answer.Versions {
		if v, ok := parseVersion(text); ok {
			list.Offers = append(list.Offers, packages.Offer{Version: v})
		}
	}
	return list, nil
}

// Fetch downloads a package into a directory.
func (m Mirror) Fetch(ctx context.Context, w packages.Request, dir string, progress func(done, total int64)) (
	packages.Fetched, error) {
	var answer struct {
		Archives map[string]struct {
			URL    string   `json:"url"`
			Hashes []string `json:"hashes"`
		} `json:"archives"`
	}
	base, err := m.read(ctx, w.Provider, w.Version.String()+".json", &answer)
	if err != nil {
		return packages.Fetched{}, fmt.Errorf("the network mirror %s cannot be queried: %w", m, err)
	}
	archive, ok := answer.Archives[w.Platform.String()]
	if !ok {
		names := slices.Sorted(maps.Keys(answer.Archives))
		return packages.Fetched{}, &packages.PlatformError{Request: w, Available: platforms(names)}
	}
	if archive.URL == "" {
		return packages.Fetched{}, fmt.Errorf("the network mirror %s sent no address for the package", m)
	}
	from, err := web.Resolve(base, archive.URL)
	if err == nil {
		err = web.Protected(base, from)
	}
	if err != nil {
		return packages.Fetched{},
			fmt.Errorf("the network mirror %s sent an address for the package that cannot be used: %w", m, err)
	}
	p, h, err := download(ctx, m.Client, from, w, dir, progress)
	if err != nil {
		return packages.Fetched{}, err
	}
	trust, err := stated(ctx, p, h, archive.Hashes)
	if err != nil {
		return packages.Fetched{}, discard(p, err)
	}
	proof := packages.Proof{Trust: trust}
	if len(answer.Archives) > maxPlatforms {
		return packages.Fetched{}, discard(p, fmt.Errorf("the network mirror %s lists %d platforms, more than %d", m,
			len(answer.Archives), maxPlatforms))
	}
	if m.TrustAll && trust == packages.Checksum {
		for _, name := range slices.Sorted(maps.Keys(answer.Archives)) {
			proof.Hashes = append(proof.Hashes, hashesIn(answer.Archives[name].Hashes)...)
		}
	}
	return packages.Fetched{Package: p, Proof: proof}, nil
}

// stated compares a package with the hashes that the mirror states. If it states hashes but none that can be checked,
// that is an error.
func stated(ctx context.Context, p packages.Package, archive lockfile.Hash, hashes []string) (packages.Trust, error) {
	if len(hashes) == 0 {
		return packages.Unauthenticated, nil
	}
	listed := hashes
	hashes = slices.DeleteFunc(slices.Clone(hashes), func(h string) bool {
		return !strings.HasPrefix(h, "h1:") &&
			!strings.HasPrefix(h, "zh:")
	})
	if len(hashes) == 0 {
		return packages.Unauthenticated, fmt.Errorf("the mirror lists only hashes of unsupported kinds, such as "+
			"%.100q, and none of the kinds h1 and zh", listed[0])
	}
	if slices.Contains(hashes, string(archive)) {
		return packages.Checksum, nil
	}
	files, err := p.Hash(ctx)
	if err != nil {
		return packages.Unauthenticated, err
	}
	if slices.Contains(hashes, string(files)) {
		return packages.Checksum, nil
	}
	return packages.Unauthenticated, fmt.Errorf("the downloaded package has the hashes %s and %s, but the mirror "+
		"lists %.500s: it was changed in transit or on the server", files, archive, strings.Join(hashes, ", "))
}
