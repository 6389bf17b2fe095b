package registries

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
)

// statedPackage holds the hashes that OpenTofu's registry states for one platform.
type statedPackage struct {
	Hashes []string `json:"hashes"`
}

// installedHashes returns the hashes of the installed files of all platforms, which OpenTofu's registry states beside
// those of their archives, so that a lock file written on one platform is valid on all. Only hashes beside an archive
// in the signed list are used. Like OpenTofu, it ignores those of other registries.
func (a packageAnswer) installedHashes(ctx context.Context, w packages.Request, p packages.Package,
	signed []lockfile.Hash) (list []lockfile.Hash, err error) {
	if flavor.OfRegistry(w.Provider.Host) != flavor.OpenTofu || len(a.Packages) == 0 {
		return nil, nil
	}
	if len(a.Packages) > maxPlatforms {
		return nil, fmt.Errorf("the registry %s lists the hashes of %d platforms, more than %d", w.Provider.Host,
			len(a.Packages), maxPlatforms)
	}
	for _, platform := range slices.Sorted(maps.Keys(a.Packages)) {
		installed := a.Packages[platform].installed(signed)
		if platform == w.Platform.String() && len(installed) > 0 {
			own, err := p.Hash(ctx)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(installed, own) {
				return nil, fmt.Errorf("the downloaded package has the hash %s, but the registry lists %.500s: it "+
					"was changed in transit or on the server", own, fmt.Sprint(installed))
			}
			installed = []lockfile.Hash{own}
		}
		list = append(list, installed...)
	}
	return list, nil
}

// installed returns the hash of a package's installed files, if its archive is in the signed list.
func (s statedPackage) installed(signed []lockfile.Hash) (list []lockfile.Hash) {
	known := false
	for _, h := range hashesIn(s.Hashes) {
		known = known || slices.Contains(signed, h)
		if h.Scheme() == "h1" {
			list = append(list, h)
		}
	}
	if !known || len(list) > 1 {
		return nil // an archive has only one content
	}
	return list
}

// hashesIn returns those texts that are hashes of a kind in lock files.
func hashesIn(texts []string) (list []lockfile.Hash) {
	for _, text := range texts {
		var raw []byte
		var err error
		if sum, isInstalled := strings.CutPrefix(text, "h1:"); isInstalled {
			raw, err = base64.StdEncoding.DecodeString(sum)
		} else if sum, isArchive := strings.CutPrefix(text, "zh:"); isArchive {
			raw, err = hex.DecodeString(sum)
		}
		if err == nil && len(raw) == sha256.Size {
			list = append(list, lockfile.Hash(text))
		}
	}
	return list
}
