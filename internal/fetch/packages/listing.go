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
	Warnings []string // messages of the source to users of the provider
}

// Offer is an available version.
type Offer struct {
	Version versions.Version
	// Platforms are its platforms, or nil if they are unknown until a package is requested.
	Platforms []Platform
	// Protocols are its versions of the plugin protocol, such as "5.0", or nil if they are unknown.
	Protocols []string
}

// Request identifies one package.
type Request struct {
	Provider addr.Provider
	Version  versions.Version
	Platform Platform
}

// PlatformError means that a version is not available for a platform.
type PlatformError struct {
	Request
	Available []Platform // platforms for which it is available
}

// maxNames is the maximum number of platforms in an error.
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

// Trust is the kind of evidence that a package comes from its publisher.
type Trust uint8

// Kinds of evidence.
const (
	Unauthenticated Trust = iota // nothing
	Checksum                     // the source states its checksum
	SelfSigned                   // signed by its publisher
	PartnerSigned                // signed by its publisher, whose key HashiCorp has signed
	OfficialSigned               // signed by HashiCorp
)

// Proof holds the evidence for the origin of a package.
type Proof struct {
	Trust Trust
	KeyID string // of the signing key, or ""
	// Hashes are, for a signed list of checksums, the hashes of the archives of all platforms, and of their installed
	// files if the registry states them. Without a signature they are the hash of this archive if the source names
	// archives by hash, or all hashes that a trusted mirror states, or nil.
	Hashes []lockfile.Hash
}

// String returns the description that tools use.
func (p Proof) String() string {
	return []string{"unauthenticated", "verified checksum", "self-signed", "signed by a HashiCorp partner",
		"signed by HashiCorp"}[p.Trust]
}

// Fetched is a package on this machine.
type Fetched struct {
	Package
	Proof
}

// Mirror is a filesystem mirror as a source of packages.
type Mirror struct{ Dir string }

// String returns the name of the source.
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

// Fetch returns a package in place.
func (m Mirror) Fetch(_ context.Context, w Request, _ string, _ func(done, total int64)) (Fetched, error) {
	found, err := Search(m.Dir, w.Provider)
	if err != nil {
		return Fetched{}, fmt.Errorf("the filesystem mirror %s cannot be searched: %w", m.Dir, err)
	}
	problem := &PlatformError{Request: w}
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
