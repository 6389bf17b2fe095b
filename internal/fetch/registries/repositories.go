package registries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/oci"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

// Repositories is a mirror in a registry of OCI artifacts, with one repository for each provider and one tag for each
// version.
type Repositories struct {
	Client *oci.Client
	// Template is the template for names of repositories, for messages; Named returns such a name.
	Template string
	Named    func(p addr.Provider) (string, error)
}

// String returns the name of the source.
func (m *Repositories) String() string { return "the OCI mirror " + m.Template }

func (m *Repositories) of(p addr.Provider) (*oci.Repository, error) {
	name, err := m.Named(p)
	if err != nil {
		return nil, fmt.Errorf("%s has no repository name for %s: %w", m, p.ForDisplay(), err)
	}
	return m.Client.Repository(name)
}

// Versions lists the mirror's versions of a provider; the list is empty if there is no repository for it. It skips
// other tags.
func (m *Repositories) Versions(ctx context.Context, p addr.Provider) (packages.Listing, error) {
	repository, err := m.of(p)
	if err != nil {
		return packages.Listing{}, err
	}
	tags, err := repository.Tags(ctx)
	if web.IsNotFound(err) {
		return packages.Listing{}, nil
	}
	if err != nil {
		return packages.Listing{}, fmt.Errorf("the OCI repository %s cannot be queried: %w", repository, err)
	}
	var list packages.Listing
	for _, tag := range tags {
		// a tag cannot contain a plus sign, which begins build metadata
		if v, ok := parseVersion(strings.ReplaceAll(tag, "_", "+")); ok && tagOf(v.String()) == tag {
			list.Offers = append(list.Offers, packages.Offer{Version: v})
		}
	}
	if len(list.Offers) > maxVersions {
		return packages.Listing{}, fmt.Errorf("the OCI repository %s has %d versions, more than %d", repository,
			len(list.Offers), maxVersions)
	}
	return list, nil
}

func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

// Fetch downloads a package into a directory.
func (m *Repositories) Fetch(ctx context.Context, w packages.Request, dir string,
	progress func(done, total int64)) (packages.Fetched, error) {
	repository, err := m.of(w.Provider)
	if err != nil {
		return packages.Fetched{}, err
	}
	targets, err := repository.Index(ctx, tagOf(w.Version.String()))
	if err != nil {
		return packages.Fetched{}, fmt.Errorf("the OCI repository %s: %w", repository, err)
	}
	var names []string
	manifest := ""
	for _, t := range targets {
		if t.Platform.OS == w.Platform.OS && t.Platform.Architecture == w.Platform.Arch {
			if manifest != "" && manifest != t.Digest.String() {
				return packages.Fetched{}, fmt.Errorf("the OCI repository %s has more than one package of version %s "+
					"for %s", repository, w.Version, w.Platform)
			}
			manifest = t.Digest.String()
		}
		names = append(names, t.Platform.OS+"_"+t.Platform.Architecture)
	}
	if manifest == "" {
		return packages.Fetched{}, &packages.PlatformError{Request: w, Available: platforms(names)}
	}
	p := packages.Package{Provider: w.Provider, Version: w.Version, Platform: w.Platform,
		Path: filepath.Join(dir, archiveOf), Packed: true, From: repository.String()}
	file, err := os.OpenFile(p.Path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return packages.Fetched{}, err
	}
	err = repository.Package(ctx, manifest, oci.Target, file, progress)
	if err := errors.Join(err, file.Close()); err != nil {
		return packages.Fetched{}, discard(p, fmt.Errorf("the OCI repository %s: %w", repository, err))
	}
	h, err := p.ArchiveHash(ctx)
	if err != nil {
		return packages.Fetched{}, discard(p, err)
	}
	return packages.Fetched{Package: p, Proof: packages.Proof{Trust: packages.Checksum,
		Hashes: []lockfile.Hash{h}}}, nil
}
