// Package catalog queries module registries for the versions of a module and the location of a version's package.
//
//	m, err := catalog.Parse("registry.terraform.io/corp/net/aws")
//	list, err := catalog.Catalog{Client: client}.Versions(ctx, m)
//	pkg, err := catalog.Catalog{Client: client}.Locate(ctx, m, "1.2.3")
//
// Registries are not trusted: see package web for how they are read. The location of a package is a module source, such
// as the address of an archive or of a repository. A location on this machine is refused, and so is one without TLS if
// the registry has TLS. The token of a registry is only sent for packages on the registry's own host. This package
// downloads no packages.
package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

// service is the name of module registries among the services of a host.
const service = "modules.v1"

// maxVersions limits the number of versions of a module.
const maxVersions = 20_000

// Module is the address of a module in a registry.
type Module struct{ Host, Namespace, Name, System string }

// Parse parses HOST/NAMESPACE/NAME/SYSTEM, the normal form without a folder.
func Parse(text string) (Module, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 4 {
		return Module{}, fmt.Errorf("%q is not the address of a module in a registry", text)
	}
	return Module{parts[0], parts[1], parts[2], parts[3]}, nil
}

// defaultHost is omitted in messages.
const defaultHost = "registry.terraform.io"

// String returns the address in the form that users write.
func (m Module) String() string {
	short := m.Namespace + "/" + m.Name + "/" + m.System
	if m.Host == defaultHost {
		return short
	}
	return m.Host + "/" + short
}

// Catalog queries the registry in the address of a module.
type Catalog struct{ Client *web.Client }

// NotFoundError means that a registry does not have a module or a version.
type NotFoundError struct {
	Module  Module
	Version string // "" if the module does not exist
}

func (e *NotFoundError) Error() string {
	if e.Version == "" {
		return fmt.Sprintf("the registry %s has no module %s", e.Module.Host, e.Module)
	}
	return fmt.Sprintf("the registry %s has no version %s of the module %s", e.Module.Host, e.Version, e.Module)
}

type versionsAnswer struct {
	Modules []struct {
		Versions []struct {
			Version string `json:"version"`
		} `json:"versions"`
	} `json:"modules"`
}

// Versions lists the versions of a module in the registry's spelling and order.
func (c Catalog) Versions(ctx context.Context, m Module) ([]string, error) {
	base, err := c.Client.Service(ctx, m.Host, service)
	if err != nil {
		return nil, err
	}
	var answer versionsAnswer
	_, err = c.Client.JSON(ctx, web.Request{URL: base.JoinPath(m.Namespace, m.Name, m.System, "versions"),
		Host: m.Host}, &answer)
	switch {
	case web.IsNotFound(err):
		return nil, &NotFoundError{Module: m}
	case err != nil:
		return nil, fmt.Errorf("the registry %s cannot be queried: %w", m.Host, err)
	case len(answer.Modules) == 0:
		return nil, fmt.Errorf("the registry %s sent an invalid answer: its list of modules is empty", m.Host)
	}
	offers := answer.Modules[0].Versions // the others belong to modules that the module calls
	if len(offers) > maxVersions {
		return nil, fmt.Errorf("the registry %s lists %d versions, more than %d", m.Host, len(offers), maxVersions)
	}
	list := make([]string, len(offers))
	for i, v := range offers {
		list[i] = v.Version
	}
	return list, nil
}

type locationAnswer struct {
	Location string `json:"location"`
	// UseRegistryCredentials is true or false: whether the token of the registry is sent to the location. Where it
	// is present, the location is the address of an archive.
	UseRegistryCredentials json.RawMessage `json:"use_registry_credentials"`
}

// Package is the location of the package of a module version.
type Package struct {
	// Source is a module source, in the normal form of remote sources, with a folder if it has one.
	Source string
	// Archive means that Source is the address of an archive, whatever its name is. It has no getter, folder or
	// parameters.
	Archive bool
	// Host is the host whose token is sent with the request, or "" for no token.
	Host string
	// Withheld means that the registry requests its token for an address to which it must not be sent.
	Withheld bool
}

// maxLocation limits the address of a package, in bytes.
const maxLocation = 16 << 10

// Locate returns the package of a version.
func (c Catalog) Locate(ctx context.Context, m Module, version string) (Package, error) {
	base, err := c.Client.Service(ctx, m.Host, service)
	if err != nil {
		return Package{}, err
	}
	at := base.JoinPath(m.Namespace, m.Name, m.System, version, "download")
	doc, err := c.Client.Get(ctx, web.Request{URL: at, Host: m.Host, Accept: "application/json", Limit: 1 << 20,
		Empty: true})
	switch {
	case web.IsNotFound(err):
		return Package{}, &NotFoundError{Module: m, Version: version}
	case err != nil:
		return Package{}, fmt.Errorf("the registry %s cannot be queried: %w", m.Host, err)
	}
	location := doc.Header.Get("X-Terraform-Get")
	var answer locationAnswer
	if len(doc.Body) > 0 { // a document takes precedence over the header
		if err := web.Decode(doc.Body, &answer); err != nil {
			if location == "" {
				return Package{}, fmt.Errorf("the registry %s sent an invalid answer: %w", m.Host, err)
			}
			answer.UseRegistryCredentials = nil
		}
		location = cmp.Or(answer.Location, location)
	}
	var pkg Package
	switch {
	case answer.UseRegistryCredentials != nil:
		pkg, err = c.own(m, base, at, answer)
	case location == "":
		return Package{},
			fmt.Errorf("the registry %s sent an invalid answer: it has no address for version %s of the module %s",
				m.Host, version, m)
	default:
		pkg.Source, err = Follow(doc.URL, location)
	}
	if err != nil {
		return Package{}, fmt.Errorf("the registry %s sent an address for the package that cannot be used: %w", m.Host,
			err)
	}
	return pkg, nil
}

// own returns a package that a registry serves itself: an archive at a web address, which may be relative to the
// address of the document.
func (c Catalog) own(m Module, base, at *url.URL, answer locationAnswer) (Package, error) {
	wanted := string(answer.UseRegistryCredentials)
	if wanted != "true" && wanted != "false" {
		return Package{}, fmt.Errorf("its use_registry_credentials is %.50s, and expected was true or false", wanted)
	}
	if len(answer.Location) > maxLocation {
		return Package{}, fmt.Errorf("it has %d bytes", len(answer.Location))
	}
	ref, err := url.Parse(answer.Location)
	if err != nil || answer.Location == "" {
		return Package{}, errors.New("it is not a web address")
	}
	u := at.ResolveReference(ref)
	switch {
	case u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return Package{}, fmt.Errorf("%.200q is not a web address, which an address beside use_registry_credentials "+
			"must be", config.ShownAnswer(answer.Location))
	case u.Fragment != "":
		return Package{}, fmt.Errorf("%.200q has a fragment (#)", config.ShownAnswer(answer.Location))
	}
	if err := web.Protected(at, u); err != nil {
		return Package{}, err
	}
	pkg := Package{Source: u.String(), Archive: true}
	switch {
	case wanted == "false":
	case c.mayHave(m.Host, base, u):
		pkg.Host = m.Host
	default:
		pkg.Withheld = true
	}
	return pkg, nil
}

// mayHave reports whether the token of a registry may be sent to an address. It must be an address of the registry's
// service, which gets the token anyway, or of the registry's host.
func (c Catalog) mayHave(host string, base, u *url.URL) bool {
	name, err := svchost.ForComparison(host)
	return err == nil && c.Client.MaySendToken(host, u) &&
		(web.SameOrigin(u, base) || web.SameOrigin(u, &url.URL{Scheme: "https", Host: string(name)}))
}

// Follow resolves a module source in a document against the document's address. It must be a network source that is at
// least as well protected as the document.
func Follow(from *url.URL, location string) (string, error) {
	if len(location) > maxLocation {
		return "", fmt.Errorf("it has %d bytes", len(location))
	}
	if strings.HasPrefix(location, "/") || strings.HasPrefix(location, "./") || strings.HasPrefix(location, "../") {
		pkg, sub := config.SplitSubdir(location)
		u, err := url.Parse(pkg)
		if err != nil || pkg == "" || u.Host != "" || u.Scheme != "" {
			return "", fmt.Errorf("%.200q is not a path on a server", location)
		}
		if location = from.ResolveReference(u).String(); sub != "" {
			base, query, has := strings.Cut(location, "?")
			if location = base + "//" + sub; has {
				location += "?" + query
			}
		}
	}
	kind, source, err := config.ParseSource(location, false)
	if shown := config.ShownAnswer(location); err != nil && shown != location {
		return "", fmt.Errorf("%.200q is not the address of a package", shown) // the error contains the text
	}
	if err != nil {
		return "", err
	}
	if kind != config.SourceRemote {
		return "", fmt.Errorf("%.200q is not the address of a package", config.ShownAnswer(location))
	}
	getter, rest := config.SplitForced(source)
	u, err := url.Parse(rest)
	if err != nil {
		return "", errors.New("it is not a web address")
	}
	if u.Host == "" || !slices.Contains(offered[getter], u.Scheme) {
		return "", fmt.Errorf("%.200q is on this machine, or has a scheme that a server must not use",
			config.ShownAnswer(location))
	}
	if u.Scheme == "https" || u.Scheme == "ssh" {
		return source, nil
	}
	return source, web.Protected(from, u)
}

// offered maps the getters that a server may choose to the schemes that they may use. A getter supports more: "file"
// uses the path of any address.
var offered = map[string][]string{
	"":      {"https", "http"},
	"https": {"https", "http"},
	"http":  {"https", "http"},
	"git":   {"https", "ssh", "http", "git"},
	// The download refuses sources that cannot be fetched, with the reason.
	"hg": {"https"}, "s3": {"https"}, "gcs": {"https"},
}
