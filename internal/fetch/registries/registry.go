package registries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

// service is the name of provider registries among the services of a host.
const service = "providers.v1"

// Registry uses the registry in the address of each provider.
type Registry struct {
	Client *web.Client
	// Trust holds the keys that vouch for other keys; the zero value means HashiCorp's.
	Trust Anchors
}

// String returns the name of the source.
func (r Registry) String() string { return "the registry of the provider" }

// versionsAnswer is a registry's list of the versions of a provider.
type versionsAnswer struct {
	Versions []struct {
		Version   string   `json:"version"`
		Protocols []string `json:"protocols"`
		Platforms []struct {
			OS   string `json:"os"`
			Arch string `json:"arch"`
		} `json:"platforms"`
	} `json:"versions"`
	Warnings []string `json:"warnings"`
}

// Versions lists the registry's versions of a provider; none if it does not have the provider.
func (r Registry) Versions(ctx context.Context, p addr.Provider) (packages.Listing, error) {
	base, err := r.Client.Service(ctx, p.Host, service)
	if err != nil {
		return packages.Listing{}, err
	}
	var answer versionsAnswer
	_, err = r.Client.JSON(ctx, web.Request{URL: base.JoinPath(p.Namespace, p.Type, "versions"), Host: p.Host}, &answer)
	switch {
	case web.IsNotFound(err):
		return packages.Listing{}, nil
	case err != nil:
		return packages.Listing{}, fmt.Errorf("the registry %s cannot be queried: %w", p.Host, err)
	case len(answer.Versions) > maxVersions:
		return packages.Listing{}, fmt.Errorf("the registry %s lists %d versions, more than %d", p.Host,
			len(answer.Versions), maxVersions)
	}
	list := packages.Listing{Warnings: answer.Warnings}
	for _, listed := range answer.Versions {
		v, ok := parseVersion(listed.Version)
		if !ok {
			continue // perhaps in a later format; it cannot be requested
		}
		offer := packages.Offer{Version: v, Protocols: listed.Protocols}
		if len(listed.Platforms) > maxPlatforms {
			return packages.Listing{}, fmt.Errorf("the registry %s lists %d platforms of version %s, more than %d",
				p.Host, len(listed.Platforms), v, maxPlatforms)
		}
		var on []string
		for _, p := range listed.Platforms {
			on = append(on, p.OS+"_"+p.Arch)
		}
		offer.Platforms = platforms(on)
		list.Offers = append(list.Offers, offer)
	}
	return list, nil
}

// packageAnswer is a registry's description of one package.
type packageAnswer struct {
	Protocols    []string `json:"protocols"`
	OS           string   `json:"os"`
	Arch         string   `json:"arch"`
	Filename     string   `json:"filename"`
	DownloadURL  string   `json:"download_url"`
	SHASum       string   `json:"shasum"`
	SumsURL      string   `json:"shasums_url"`
	SignatureURL string   `json:"shasums_signature_url"`
	Keys         struct {
		GPG []signingKey `json:"gpg_public_keys"`
	} `json:"signing_keys"`
	Packages map[string]statedPackage `json:"packages"` // by platform; only in OpenTofu's registry
}

// Fetch downloads a package into a directory.
func (r Registry) Fetch(ctx context.Context, w packages.Request, dir string, progress func(done, total int64)) (
	packages.Fetched, error) {
	base, err := r.Client.Service(ctx, w.Provider.Host, service)
	if err != nil {
		return packages.Fetched{}, err
	}
	var answer packageAnswer
	at := base.JoinPath(w.Provider.Namespace, w.Provider.Type, w.Version.String(), "download", w.Platform.OS,
		w.Platform.Arch)
	doc, err := r.Client.JSON(ctx, web.Request{URL: at, Host: w.Provider.Host}, &answer)
	switch {
	case web.IsNotFound(err):
		return packages.Fetched{}, &packages.PlatformError{Request: w}
	case err != nil:
		return packages.Fetched{}, fmt.Errorf("the registry %s cannot be queried: %w", w.Provider.Host, err)
	}
	sum, err := answer.check(w)
	if err != nil {
		return packages.Fetched{}, fmt.Errorf("the registry %s sent an invalid answer: %w", w.Provider.Host, err)
	}
	proof, err := r.proof(ctx, doc.URL, answer, sum)
	if err != nil {
		return packages.Fetched{}, err
	}
	from, err := web.Resolve(doc.URL, answer.DownloadURL)
	if err != nil {
		return packages.Fetched{},
			fmt.Errorf("the registry %s sent an address for the package that cannot be used: %w", w.Provider.Host, err)
	}
	p, h, err := download(ctx, r.Client, from, w, dir, progress)
	if err != nil {
		return packages.Fetched{}, err
	}
	if want := archiveHash(sum); h != want {
		return packages.Fetched{}, discard(p, fmt.Errorf("the downloaded package has the checksum %s, but the "+
			"publisher signed %s: it was changed in transit or on the server", h, want))
	}
	installed, err := answer.installedHashes(ctx, w, p, proof.Hashes)
	if err != nil {
		return packages.Fetched{}, discard(p, err)
	}
	proof.Hashes = append(proof.Hashes, installed...)
	return packages.Fetched{Package: p, Proof: proof}, nil
}

// check compares a response with the request, and returns the checksum that it states.
func (a packageAnswer) check(w packages.Request) (sum [sha256.Size]byte, err error) {
	raw, err := hex.DecodeString(a.SHASum)
	switch {
	case err != nil || len(raw) != len(sum):
		return sum, fmt.Errorf("%.100q is not a SHA-256 checksum", a.SHASum)
	case a.OS != w.Platform.OS || a.Arch != w.Platform.Arch:
		return sum, fmt.Errorf("the answer to a request for %s describes a package for %.100s",
			w.Platform, a.OS+"_"+a.Arch)
	case a.Filename == "" || strings.ContainsAny(a.Filename, "/\\\x00\n"):
		return sum, fmt.Errorf("%.100q is not the name of a file", a.Filename)
	case len(a.Keys.GPG) == 0:
		return sum,
			errors.New("there is no key to verify the signature of the package, so its origin is unknown")
	case len(a.Keys.GPG) > maxKeys:
		return sum, fmt.Errorf("there are %d keys, more than %d", len(a.Keys.GPG), maxKeys)
	case len(a.Protocols) > 0 && !slices.ContainsFunc(a.Protocols, Speaks):
		return sum, &ProtocolError{Request: w, Protocols: a.Protocols}
	}
	return [sha256.Size]byte(raw), nil
}

// ProtocolError means that a provider uses an unsupported version of the plugin protocol.
type ProtocolError struct {
	packages.Request
	Protocols []string
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("version %s uses version %.100s of the plugin protocol, but this program supports 5 and 6",
		e.Version, strings.Join(e.Protocols, ", "))
}

// Speaks reports whether this program supports a version of the plugin protocol.
func Speaks(protocol string) bool {
	major, _, _ := strings.Cut(protocol, ".")
	return major == "5" || major == "6"
}

// proof reads and verifies the signed list of checksums, and finds the package in it.
func (r Registry) proof(ctx context.Context, base *url.URL, answer packageAnswer, sum [sha256.Size]byte) (
	packages.Proof, error) {
	sums, err := r.document(ctx, base, answer.SumsURL, maxSums)
	if err != nil {
		return packages.Proof{}, fmt.Errorf("the list of checksums cannot be read: %w", err)
	}
	signature, err := r.document(ctx, base, answer.SignatureURL, maxSignature)
	if err != nil {
		return packages.Proof{}, fmt.Errorf("the signature of the checksums cannot be read: %w", err)
	}
	proof, err := verify(sums, signature, answer.Keys.GPG, r.Trust)
	if err != nil {
		return packages.Proof{}, fmt.Errorf("the signature of the checksums cannot be trusted: %w", err)
	}
	list, err := parseSums(sums)
	if err != nil {
		return packages.Proof{}, fmt.Errorf("the list of checksums cannot be used: %w", err)
	}
	signed, ok := list.sum(answer.Filename)
	switch {
	case !ok:
		return packages.Proof{}, fmt.Errorf("the signed list of checksums has none for %.200q", answer.Filename)
	case signed != sum:
		return packages.Proof{},
			fmt.Errorf("the registry lists the checksum %[2]x for %.200[1]s, but the signed list has %[3]x",
				answer.Filename,
				sum, signed)
	}
	proof.Hashes = list.hashes()
	return proof, nil
}

func (r Registry) document(ctx context.Context, base *url.URL, text string, limit int64) ([]byte, error) {
	if text == "" {
		return nil, errors.New("the registry did not send its address")
	}
	u, err := web.Resolve(base, text)
	if err != nil {
		return nil, err
	}
	doc, err := r.Client.Get(ctx, web.Request{URL: u, Limit: limit})
	return doc.Body, err
}
