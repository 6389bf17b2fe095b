// Package registries downloads packages of providers from registries and network mirrors, and reports the evidence for
// their origin.
//
//	registry := registries.Registry{Client: client}
//	list, err := registry.Versions(ctx, provider)
//	package, err := registry.Fetch(ctx, wish, dir, progress)
//
// A package from a registry is only returned if its checksum is in a list that is signed with one of the provider's
// keys according to the registry; a package from a mirror, if it has one of the hashes that the mirror states, if any.
// A downloaded package is an archive in a directory of the caller, under a name that this package chooses. Names and
// paths from servers are only compared, never used.
//
// Responses of servers are limited and decoded strictly: see package web. This package does not choose versions.
package registries

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

// Limits of a server's responses.
const (
	maxVersions  = 20_000
	maxPlatforms = 500 // of one version
	maxArchive   = 2 << 30
)

// archiveOf is the name of the downloaded archive in the caller's directory.
const archiveOf = "package.zip"

// download downloads an archive into a directory and returns its package and its hash.
func download(ctx context.Context, client *web.Client, from *url.URL, w packages.Request, dir string,
	progress func(done, total int64)) (p packages.Package, h lockfile.Hash, err error) {
	p = packages.Package{Provider: w.Provider, Version: w.Version, Platform: w.Platform,
		Path: filepath.Join(dir, archiveOf), Packed: true,
		From: (&url.URL{Scheme: from.Scheme, Host: from.Host, Path: from.Path}).String()}
	file, err := os.OpenFile(p.Path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return p, "", err
	}
	_, err = client.Download(ctx, web.Request{URL: from, Limit: maxArchive}, file, progress)
	if err := errors.Join(err, file.Close()); err != nil {
		return p, "", errors.Join(err, os.Remove(p.Path))
	}
	h, err = p.ArchiveHash(ctx)
	return p, h, err
}

// archiveHash returns the hash of an archive with a SHA-256 checksum.
func archiveHash(sum [sha256.Size]byte) lockfile.Hash {
	return lockfile.Hash(fmt.Sprintf("zh:%x", sum))
}

// discard removes an archive that turned out to be wrong.
func discard(p packages.Package, err error) error { return errors.Join(err, os.Remove(p.Path)) }

// parseVersion parses a version in the spelling of a server, or returns false.
func parseVersion(text string) (versions.Version, bool) {
	if len(text) > 256 || tooLargeNumber().MatchString(text) {
		return versions.Version{}, false
	}
	v, err := versions.ParseVersion(text)
	return v, err == nil
}

// platforms returns the valid platforms in a list without duplicates.
func platforms(texts []string) []packages.Platform {
	var unique []packages.Platform
	for _, text := range texts[:min(len(texts), maxPlatforms)] {
		if p, err := packages.ParsePlatform(text); err == nil && !slices.Contains(unique, p) {
			unique = append(unique, p)
		}
	}
	return unique
}
