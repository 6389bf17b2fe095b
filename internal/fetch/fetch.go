// Package fetch installs the modules that a configuration calls.
//
// InstallModules walks the calls from the root module down and records the folder of each called module in the module
// manifest, where package config finds it. A local module stays in place and is only recorded. Other modules are
// packages: from a module registry (package catalog finds their location), a repository or an archive (package download
// fetches them).
//
//	report, diags := fetch.InstallModules(ctx, ".", ".terraform", fetch.Options{Progress: fmt.Println, Packages: packages})
//
// Packages are fetched concurrently, each once however often it is called. They are staged in a folder beside the
// installed modules and moved into place at the end, if all were fetched: after a failed run, the previous modules are
// still installed. The walk owns its goroutines. Progress is reported on the caller's goroutine, in the order of a
// sequential walk.
package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/catalog"
	"github.com/tombolo-iac/tombolo/internal/fetch/download"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

// Options configures an installation.
type Options struct {
	// Base is a folder out of which links in the path of the data directory must not lead; "" means the directory of
	// the configuration.
	Base string
	// LanguageVersion is compared with required_version, as in config.Load.
	LanguageVersion string
	// Flavor is the tool to which the project belongs, as in config.Load.
	Flavor flavor.Flavor
	// Constants returns the values of the root module's variables, as in config.Load.
	Constants func(root *config.Module) config.Values
	// Workspace is the selected workspace, as in config.Load.
	Workspace string
	// Upgrade installs modules again even if they are recorded.
	Upgrade bool
	// Progress is called with a line for each module that is installed, such as "- net in modules/net". It may be nil.
	Progress func(line string)
	// Calls lists additional module calls, those of test files.
	Calls []config.Place
	// Packages fetches packages; nil allows only local modules.
	Packages Packages
	// Pins selects how the lock file of modules is used.
	Pins Pinning
}

// Pinning selects how the lock file of modules is used.
type Pinning int

// The lock file is ignored; it is followed and updated; or it is followed, and must contain all modules.
const (
	Unpinned Pinning = iota
	Pinned
	PinnedReadOnly
)

// Packages finds and fetches packages of modules. Its methods may be called concurrently.
type Packages interface {
	// Versions lists the versions of a module in its registry.
	Versions(ctx context.Context, m catalog.Module) ([]string, error)
	// Locate returns the package of a version of a module.
	Locate(ctx context.Context, m catalog.Module, version string) (catalog.Package, error)
	// Fetch downloads a package into a folder that does not exist yet. After an error the folder does not exist.
	Fetch(ctx context.Context, pkg catalog.Package, dir string) error
}

// Online returns a Packages that uses the network. environ is the environment of git.
func Online(client *web.Client, environ []string) Packages {
	return online{catalog.Catalog{Client: client}, &download.Getter{Web: client, Environ: environ}}
}

type online struct {
	catalog.Catalog
	*download.Getter
}

// Report is the result of InstallModules.
type Report struct {
	// Modules holds all modules of the tree except the root, parents before their children.
	Modules []Installed
}

// Installed is one called module.
type Installed struct {
	Path    addr.Module
	Source  string
	Version string // of a module from a registry
	Dir     string
	// New means that the manifest did not contain it before.
	New bool
}

// base returns the folder that must contain the data directory.
func (o Options) base(dir, dataDir string) string {
	if o.Base == "" && filepath.IsAbs(dataDir) {
		return dataDir // the caller has chosen it
	}
	return cmp.Or(o.Base, dir, ".")
}

// InstallModules installs every module that the configuration in dir calls, and writes the manifest to dataDir
// (relative to dir, or absolute).
func InstallModules(ctx context.Context, dir, dataDir string, opts Options) (*Report, diag.List) {
	s := newStage(dir, path.Join(filepath.ToSlash(dataDir), "modules"))
	if err := s.check(opts.base(dir, dataDir)); err != nil {
		return &Report{}, diag.FromError("Failed to install modules", err)
	}
	// An unreadable manifest may be anything, such as a link to a foreign file, so it is not replaced.
	old, err := readManifest(s.manifest())
	if err != nil {
		return &Report{}, diag.List{}.Errorf(nil, "Failed to read module manifest",
			"The record of installed modules in %s cannot be used: %s.", s.modules+"/modules.json", err).
			Advise("Remove it, and run \"%s\" again.", diag.Run("init"))
	}
	w := newWalk(config.OSFiles(dir), old, opts)
	w.stage = s
	diags := w.readPins(dir)
	if diags.HasErrors() {
		return w.report, diags
	}
	manifest, diags := w.run(ctx)
	if !diags.HasErrors() {
		diags = diags.Extend(w.pinsInOrder())
	}
	if !diags.HasErrors() {
		waiting := func() {
			w.opts.Progress("Another process is installing modules in this directory. Waiting for " +
				"it...")
		}
		if err := s.place(ctx, old, manifest, waiting); err != nil {
			diags = diags.AppendError("Failed to install modules", err)
		}
	}
	if !diags.HasErrors() && opts.Pins == Pinned {
		diags = diags.AppendError("Failed to write the lock file of modules", w.pins.Save(dir))
	}
	if err := s.clean(); err != nil {
		diags = diags.AppendError("Failed to remove the downloaded files", err)
	}
	return w.report, diags
}

// Resolve is InstallModules without side effects, for local modules: it returns the new manifest, based on the old one.
// It keeps unused entries, as other tools that share the directory do.
func Resolve(ctx context.Context, files config.Files, old *config.Manifest, opts Options) (*config.Manifest, *Report,
	diag.List) {
	opts.Packages = nil
	w := newWalk(files, old, opts)
	manifest, diags := w.run(ctx)
	return manifest, w.report, diags
}

// Problems returns the problems of modules below a root module with errors, which the caller reports. It reads local
// and installed modules, and fetches none.
func Problems(ctx context.Context, dir, dataDir string, opts Options) diag.List {
	s := newStage(dir, path.Join(filepath.ToSlash(dataDir), "modules"))
	if s.check(opts.base(dir, dataDir)) != nil {
		return nil // the installation reports it when the root module is valid
	}
	old, err := readManifest(s.manifest())
	if err != nil {
		old = &config.Manifest{}
	}
	opts.Packages, opts.Progress = nil, nil
	w := newWalk(config.OSFiles(dir), old, opts)
	w.judging = true
	_, diags := w.run(ctx)
	return diags
}

func readManifest(name string) (*config.Manifest, error) {
	src, err := regular.Read(name, regular.Record)
	if errors.Is(err, fs.ErrNotExist) {
		return &config.Manifest{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read module manifest: %w", err)
	}
	return config.ParseManifest(src)
}

// write replaces the manifest. A manifest with passwords is only readable by its owner.
func (s *stage) write(m *config.Manifest) error {
	content, err := m.Encode()
	if err != nil {
		return fmt.Errorf("encode module manifest: %w", err)
	}
	put := func(w io.Writer) error { _, err := w.Write(content); return err }
	if slices.ContainsFunc(m.Modules, func(e config.ManifestModule) bool {
		return download.Shown(e.Source) != e.Source
	}) {
		return replace.OwnExact(s.root, s.manifest(), 0o600, put)
	}
	if s.has(content) {
		return nil // the folder may be read-only, as in an image
	}
	return replace.Own(s.root, s.manifest(), 0o666, put)
}

// has reports whether the manifest exists with this content, in its own file.
func (s *stage) has(content []byte) bool {
	info, err := os.Lstat(s.manifest())
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	present, err := regular.Read(s.manifest(), regular.Record)
	return err == nil && bytes.Equal(present, content)
}

// sorted returns a manifest with sorted entries.
func sorted(entries map[string]config.ManifestModule) *config.Manifest {
	out := &config.Manifest{}
	for _, entry := range entries {
		out.Modules = append(out.Modules, entry)
	}
	slices.SortFunc(out.Modules, func(a, b config.ManifestModule) int { return strings.Compare(a.Key, b.Key) })
	return out
}
