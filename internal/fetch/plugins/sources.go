package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/oci"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/registries"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
	"github.com/tombolo-iac/tombolo/internal/settings"
)

// Source is a source of packages. It is safe for concurrent use.
type Source interface {
	// Versions lists the versions of a provider; the list is empty if the source does not have the provider.
	Versions(ctx context.Context, p addr.Provider) (packages.Listing, error)
	// Fetch makes a package available on this machine, in the directory unless it was already local. If a version is
	// not available for the platform, it returns a *packages.PlatformError. It has checked what the source states about
	// the package.
	Fetch(ctx context.Context, w packages.Request, dir string, progress func(done, total int64)) (
		packages.Fetched, error)
	// String returns the name of the source in messages.
	String() string
}

// place is a source and the providers for which it is used.
type place struct {
	Source
	covers func(addr.Provider) bool
	// local means that the source needs no network.
	local bool
}

// Sources are the sources of packages in order of preference.
type Sources struct {
	// implied are the default local folders, in order. A provider in one of them is not searched elsewhere.
	implied []place
	places  []place
}

func all(addr.Provider) bool { return true }

// NewSources returns the sources that the settings configure. Without a provider_installation block these are the
// implied folders, which need not exist, followed by the registries.
func NewSources(s *settings.Settings, implied []string, client *web.Client) Sources {
	if s == nil || !s.Explicit {
		sources := Registries(client)
		for _, dir := range implied {
			if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			sources.implied = append(sources.implied, place{packages.Mirror{Dir: dir}, all, true})
		}
		return sources
	}
	var sources Sources
	for _, m := range s.Installation {
		sources.places = append(sources.places, placeOf(m, client))
	}
	return sources
}

func placeOf(m settings.Method, client *web.Client) place {
	p := place{covers: m.Covers}
	switch m.Kind {
	case settings.FilesystemMirror:
		p.Source, p.local = packages.Mirror{Dir: m.Location}, true
	case settings.NetworkMirror:
		u, err := url.Parse(m.Location)
		if err != nil {
			panic("plugins: the settings have a network mirror that is not a URL: " + m.Location)
		}
		p.Source = registries.Mirror{Client: client, URL: u, TrustAll: m.TrustAllHashes}
	case settings.OCIMirror:
		p.Source = &registries.Repositories{Client: oci.New(client), Named: m.Repository, Template: m.Location}
	default:
		p.Source = registries.Registry{Client: client}
	}
	return p
}

// Registries returns only the registries in the addresses of providers.
func Registries(client *web.Client) Sources {
	return Sources{places: []place{{registries.Registry{Client: client}, all, false}}}
}

// NetworkMirror returns only one network mirror.
func NetworkMirror(location string, client *web.Client) (Sources, error) {
	if err := settings.CheckMirrorURL(location); err != nil {
		return Sources{}, err
	}
	return Sources{places: []place{placeOf(settings.Method{Kind: settings.NetworkMirror, Location: location}, client)}},
		nil
}

// OnlyFolders returns only the given folders, regardless of the settings.
func OnlyFolders(dirs []string) Sources {
	var s Sources
	for _, dir := range dirs {
		s.places = append(s.places, place{packages.Mirror{Dir: dir}, all, true})
	}
	return s
}

// local returns the sources that need no network.
func (s Sources) local() Sources {
	return Sources{implied: s.implied, places: slices.DeleteFunc(slices.Clone(s.places), func(p place) bool {
		return !p.local
	})}
}

// offer is a version and its sources.
type offer struct {
	packages.Offer
	sources []Source
}

// catalog holds the versions of a provider from all sources, newest first.
type catalog struct {
	offers   []offer
	warnings []string
}

// search searches all sources for a provider. The error is the reason why there is no version.
func (s Sources) search(ctx context.Context, p addr.Provider) (catalog, error) {
	found, looked, err := ask(ctx, p, s.implied, nil)
	if err != nil || len(found.offers) > 0 {
		return found, err
	}
	found, looked, err = ask(ctx, p, s.places, looked)
	if err != nil || len(found.offers) > 0 {
		return found, err
	}
	if len(looked) == 0 {
		return catalog{}, errors.New("the provider_installation block of the CLI configuration has no installation " +
			"method for it")
	}
	return catalog{}, fmt.Errorf("it was not found in %s. Check its name, or add a package to a folder that is a "+
		"filesystem_mirror in the CLI configuration", strings.Join(looked, ", "))
}

// ask searches places. before are the names of places that were already searched; looked also contains them.
func ask(ctx context.Context, p addr.Provider, places []place, before []string) (found catalog, looked []string,
	err error) {
	looked = before
	for _, from := range places {
		if !from.covers(p) {
			continue
		}
		list, err := from.Versions(ctx, p)
		if err != nil {
			if len(looked) > 0 {
				err = fmt.Errorf("%w; it was not found in %s", err, strings.Join(looked, ", "))
			}
			return catalog{}, looked, err
		}
		name := from.String()
		if _, ok := from.Source.(registries.Registry); ok {
			name = "the registry " + p.Host
		}
		looked = append(looked, name)
		found.add(list, from.Source)
	}
	slices.SortStableFunc(found.offers, func(a, b offer) int { return require.Compare(b.Version, a.Version) })
	return found, looked, nil
}

func (c *catalog) add(list packages.Listing, from Source) {
	known := make(map[versions.Version]int, len(c.offers))
	for i, o := range c.offers {
		known[o.Version] = i
	}
	for _, o := range list.Offers {
		i, ok := known[o.Version]
		if !ok {
			known[o.Version] = len(c.offers)
			// appending copies once per source, however often a version is listed
			o.Platforms = slices.Clip(o.Platforms)
			c.offers = append(c.offers, offer{o, []Source{from}})
			continue
		}
		both := &c.offers[i]
		if both.Platforms == nil || o.Platforms == nil {
			both.Platforms = nil
		} else {
			both.Platforms = append(both.Platforms, o.Platforms...)
		}
		if !slices.Contains(both.sources, from) {
			both.sources = append(both.sources, from)
		}
	}
	c.warnings = append(c.warnings, list.Warnings...)
}

// offer returns the offer of a version.
func (c catalog) offer(v versions.Version) (offer, bool) {
	for _, o := range c.offers {
		if o.Version == v {
			return o, true
		}
	}
	return offer{}, false
}

func (c catalog) versions() []versions.Version {
	out := make([]versions.Version, len(c.offers))
	for i, o := range c.offers {
		out[i] = o.Version
	}
	return out
}

// String returns the newest versions.
func (c catalog) String() string {
	texts := []string{}
	for _, o := range c.offers {
		texts = append(texts, o.Version.String())
	}
	if len(texts) > 10 {
		texts = append(texts[:10], fmt.Sprintf("and %d older ones", len(texts)-10))
	}
	return strings.Join(texts, ", ")
}

// check returns an error if a version is known not to be available for a platform, before it is requested.
func (o offer) check(w packages.Request) error {
	if o.Platforms != nil && !slices.Contains(o.Platforms, w.Platform) {
		return &packages.PlatformError{Request: w, Available: o.Platforms}
	}
	return nil
}

// fetch fetches a package from the first source that has it for the platform.
func (o offer) fetch(ctx context.Context, w packages.Request, dir string, progress func(done, total int64)) (
	packages.Fetched, error) {
	problem := &packages.PlatformError{Request: w, Available: slices.Clone(o.Platforms)}
	for _, from := range o.sources {
		found, err := from.Fetch(ctx, w, dir, progress)
		var elsewhere *packages.PlatformError
		if errors.As(err, &elsewhere) {
			problem.Available = append(problem.Available, elsewhere.Available...)
			continue
		}
		return found, err
	}
	return packages.Fetched{}, problem
}
