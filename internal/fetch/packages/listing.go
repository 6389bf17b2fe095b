package packages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
)

// Listing holds the versions of a provider at one source.
type Listing struct {
	Offers   []Offer
	Warnings []string // messages of the source for users of the provider
}

// Offer is a version that a place has.
type Offer struct {
	Version versions.Version
	// Platforms are those that it is there for; nil when that shows only when a package is asked for.
	Platforms []Platform
	// Protocols are the versions of the plugin protocol that it speaks, such as "5.0"; nil when that is not said.
	Protocols []string
}

// Wish names one package.
type Wish struct {
	Provider addr.Provider
	Version  versions.Version
	Platform Platform
}

// PlatformError means that a version is there, but not for a platform.
type PlatformError struct {
	Wish
	Available []Platform // the platforms that it is there for
}

// maxNames limits the platforms that an error names.
const maxNames = 30

func (e *PlatformError) Error() string {
	if len(e.Available) == 0 {
		return fmt.Sprintf("version %s is not available for %s", e.Version, e.Platform)
	}
	names := make([]string, len(e.Available))
	for i, p := range e.Available {
		names[i] = p.String()
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if more := len(names) - maxNames; more > 0 {
		names = append(names[:maxNames], fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("version %s is not available for %s; it is available for %s", e.Version, e.Platform,
		strings.Join(names, ", "))
}

// Trust is how it is known that a package is what its publisher made.
type Trust uint8

// Kinds of evidence.
const (
	Unauthenticated Trust = iota // nothing
	Checksum                     // the source states its checksum
	SelfSigned                   // its publisher has signed it
	PartnerSigned                // its publisher, whose key HashiCorp has signed
	OfficialSigned               // HashiCorp
)

// Proof holds the evidence for the origin of a package.
type Proof struct {
	Trust Trust
	KeyID string // of the key that signed; "" for none
	// Hashes are those of the archives of all platforms, from a list that was signed, and of what they install where
	// the registry states that; without a signature that of this archive, where the place names its archives by their
	// hashes, or all that a trusted mirror states, or nil.
	Hashes []lockfile.Hash
}

// String words it as tools know it.
func (p Proof) String() string {
	return []string{"unauthenticated", "verified checksum", "self-signed", "signed by a HashiCorp partner",
		"signed by HashiCorp"}[p.Trust]
}

// Fetched is a package that is on this machine now.
type Fetched struct {
	Package
	Proof
}

// Mirror is a filesystem mirror as a place that packages come from.
type Mirror struct{ Dir string }

// String names the place.
func (m Mirror) String() string { return m.Dir }

// Versions lists the mirror's versions of a provider.
func (m Mirror) Versions(_ context.Context, p addr.Provider) (Listing, error) {
	found, err := Search(m.Dir, p)
	if err != nil {
		return Listing{}, fmt.Errorf("the filesystem mirror %s cannot be searched: %w", m.Dir, err)
	}
	var list Listing
	for _, f := range found {
		if n := len(list.Offers); n > 0 && list.Offers[n-1].Version == f.Version {
			list.Offers[n-1].Platforms = append(list.Offers[n-1].Platforms, f.Platform)
		} else {
			list.Offers = append(list.Offers, Offer{Version: f.Version, Platforms: []Platform{f.Platform}})
		}
	}
	return list, nil
}

// Fetch returns a package of the mirror, where it is.
func (m Mirror) Fetch(_ context.Context, w Wish, _ string, _ func(done, total int64)) (Fetched, error) {
	found, err := Search(m.Dir, w.Provider)
	if err != nil {
		return Fetched{}, fmt.Errorf("the filesystem mirror %s cannot be searched: %w", m.Dir, err)
	}
	problem := &PlatformError{Wish: w}
	for _, f := range found {
		switch {
		case f.Version != w.Version:
		case f.Platform == w.Platform:
			return Fetched{Package: f}, nil
		default:
			problem.Available = append(problem.Available, f.Platform)
		}
	}
	return Fetched{}, problem
}
