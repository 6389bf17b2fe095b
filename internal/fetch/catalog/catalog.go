// Package catalog queries module registries for the versions of a module and the location of a version's package.
//
//	m, err := catalog.Parse("registry.terraform.io/corp/net/aws")
//	list, err := catalog.Catalog{Client: client}.Versions(ctx, m)
//	source, err := catalog.Catalog{Client: client}.Locate(ctx, m, "1.2.3")
//
// Registries are not trusted: see package web for how they are read. Where a package is, is a module source, such as
// the address of an archive or of a repository; one on this machine, or one without TLS where the registry has it, is
// refused. Nothing is downloaded here.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

// service is the name of registries of modules among the services of a host.
const service = "modules.v1"

// maxVersions limits the number of versions of a module.
const maxVersions = 20_000

// Module is the address of a module in a registry.
type Module struct{ Host, Namespace, Name, System string }

// Parse reads HOST/NAMESPACE/NAME/SYSTEM, the normal form without a folder.
func Parse(text string) (Module, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 4 {
		return Module{}, fmt.Errorf("%q is not the address of a module in a registry", text)
	}
	return Module{parts[0], parts[1], parts[2], parts[3]}, nil
}

// defaultHost is left out where people read.
const defaultHost = "registry.terraform.io"

// String is the address as people write it.
func (m Module) String() string {
	short := m.Namespace + "/" + m.Name + "/" + m.System
	if m.Host == defaultHost {
		return short
	}
	return m.Host + "/" + short
}

// Catalog is the registry in the address of a module.
type Catalog struct{ Client *web.Client }

// NotFoundError means that a registry does not have a module or a version.
type NotFoundError struct {
	Module  Module
	Version string // "" when the module is not known at all
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

// Versions lists the versions of a module in the registry's form and order.
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
	said := answer.Modules[0].Versions // the others belong to modules that the module calls
	if len(said) > maxVersions {
		return nil, fmt.Errorf("the registry %s lists %d versions, more than %d", m.Host, len(said), maxVersions)
	}
	list := make([]string, len(said))
	for i, v := range said {
		list[i] = v.Version
	}
	return list, nil
}

type locationAnswer struct {
	Location string `json:"location"`
}

// maxLocation bounds the address of a package.
const maxLocation = 16 << 10

// Locate returns the source of the package of a version, in the normal form of remote sources, with a folder if it has
// one.
func (c Catalog) Locate(ctx context.Context, m Module, version string) (string, error) {
	base, err := c.Client.Service(ctx, m.Host, service)
	if err != nil {
		return "", err
	}
	doc, err := c.Client.Get(ctx, web.Request{URL: base.JoinPath(m.Namespace, m.Name, m.System, version, "download"),
		Host: m.Host, Accept: "application/json", Limit: 1 << 20, Empty: true})
	switch {
	case web.IsNotFound(err):
		return "", &NotFoundError{Module: m, Version: version}
	case err != nil:
		return "", fmt.Errorf("the registry %s cannot be queried: %w", m.Host, err)
	}
	said := doc.Header.Get("X-Terraform-Get")
	if len(doc.Body) > 0 { // a document counts more than the header
		var answer locationAnswer
		if err := web.Decode(doc.Body, &answer); err != nil && said == "" {
			return "", fmt.Errorf("the registry %s sent an invalid answer: %w", m.Host, err)
		}
		if answer.Location != "" {
			said = answer.Location
		}
	}
	if said == "" {
		return "",
			fmt.Errorf("the registry %s sent an invalid answer: it has no address for version %s of the module %s",
				m.Host, version, m)
	}
	source, err := Follow(doc.URL, said)
	if err != nil {
		return "", fmt.Errorf("the registry %s sent an address for the package that cannot be used: %w", m.Host, err)
	}
	return source, nil
}

// Follow resolves a module source in a document against the document's address. It must be a network source that is as
// well protected as the document.
func Follow(from *url.URL, said string) (string, error) {
	if len(said) > maxLocation {
		return "", fmt.Errorf("it has %d bytes", len(said))
	}
	if strings.HasPrefix(said, "/") || strings.HasPrefix(said, "./") || strings.HasPrefix(said, "../") {
		pkg, sub := config.SplitSubdir(said)
		u, err := url.Parse(pkg)
		if err != nil || pkg == "" || u.Host != "" || u.Scheme != "" {
			return "", fmt.Errorf("%.200q is not a path on a server", said)
		}
		if said = from.ResolveReference(u).String(); sub != "" {
			base, query, has := strings.Cut(said, "?")
			if said = base + "//" + sub; has {
				said += "?" + query
			}
		}
	}
	kind, source, err := config.ParseSource(said, false)
	if shown := config.ShownAnswer(said); err != nil && shown != said {
		return "", fmt.Errorf("%.200q is not the address of a package", shown) // the error has the text as it is
	}
	if err != nil {
		return "", err
	}
	if kind != config.SourceRemote {
		return "", fmt.Errorf("%.200q is not the address of a package", config.ShownAnswer(said))
	}
	getter, rest := config.SplitForced(source)
	u, err := url.Parse(rest)
	if err != nil {
		return "", errors.New("it is not a web address")
	}
	if u.Host == "" || !slices.Contains(offered[getter], u.Scheme) {
		return "", fmt.Errorf("%.200q is on this machine, or has a scheme that a server must not use",
			config.ShownAnswer(said))
	}
	if u.Scheme == "https" || u.Scheme == "ssh" {
		return source, nil
	}
	return source, web.Protected(from, u)
}

// offered holds the getters that a server may choose, each with the schemes that it may use. A getter supports more:
// "file" takes the path of any address.
var offered = map[string][]string{
	"":      {"https", "http"},
	"https": {"https", "http"},
	"http":  {"https", "http"},
	"git":   {"https", "ssh", "http", "git"},
	// Sources that cannot be fetched are refused, with the reason, by the download.
	"hg": {"https"}, "s3": {"https"}, "gcs": {"https"},
}
