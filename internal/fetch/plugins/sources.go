package plugins

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
	"github.com/tombolo-iac/tombolo/internal/settings"
)

// Sources are where packages come from, in the order of preference.
type Sources struct {
	methods []settings.Method
	// implied are local folders that count when nothing is said, in their order.
	implied []string
}

// NewSources makes the sources that the settings ask for. Without a provider_installation block those are the implied folders, which
// need not exist, and then the registries.
func NewSources(s *settings.Settings, implied []string) Sources {
	if s != nil && s.Explicit {
		return Sources{methods: s.Installation}
	}
	return Sources{implied: implied, methods: []settings.Method{{Kind: settings.Direct}}}
}

// OnlyFolders makes sources of some folders alone, whatever the settings say.
func OnlyFolders(dirs []string) Sources {
	var s Sources
	for _, dir := range dirs {
		s.methods = append(s.methods, settings.Method{Kind: settings.FilesystemMirror, Location: dir})
	}
	return s
}

// search gives the packages of a provider in all sources that cover it, newest first. The error tells why there are none.
func (s Sources) search(p addr.Provider) ([]packages.Package, error) {
	var list []packages.Package
	var looked []string
	for _, dir := range s.implied {
		found, err := packages.Search(dir, p)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the folder %s cannot be searched: %w", dir, err)
		}
		looked = append(looked, dir)
		list = append(list, found...)
	}
	if len(list) > 0 {
		return list, nil // what is there locally is not looked for elsewhere
	}
	for _, m := range s.methods {
		switch {
		case !m.Covers(p):
		case m.Kind == settings.FilesystemMirror:
			found, err := packages.Search(m.Location, p)
			if err != nil {
				return nil, fmt.Errorf("the filesystem mirror %s cannot be searched: %w", m.Location, err)
			}
			looked = append(looked, m.Location)
			list = append(list, found...)
		case m.Kind == settings.NetworkMirror:
			looked = append(looked, m.Location+" (network mirrors cannot be used in this version)")
		case m.Kind == settings.Direct:
			looked = append(looked, p.Host+" (registries cannot be used in this version)")
		}
	}
	if len(list) == 0 && len(looked) == 0 {
		return nil, errors.New("the provider_installation block of the CLI configuration has no method for it")
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("it was not found in %s. Put a package into one of the folders, or name a filesystem_mirror in the CLI configuration", strings.Join(looked, ", "))
	}
	slices.SortStableFunc(list, func(a, b packages.Package) int { return require.Compare(b.Version, a.Version) })
	return list, nil
}
