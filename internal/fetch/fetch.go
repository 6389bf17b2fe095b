// Package fetch installs the modules that a configuration calls.
//
// InstallModules walks the calls from the root module down and records in the module manifest where each called module
// is; package config finds them there. A local source stays where it is and is only recorded. Others are packages: from
// a registry of modules (package catalog says where), a repository or an archive (package download brings them).
//
//	report, diags := fetch.InstallModules(ctx, ".", ".terraform", fetch.Options{Progress: fmt.Println, Packages: packages})
//
// Packages are fetched side by side, each once however often it is called. They are staged in a folder beside those of
// the installed modules and put into their places at the end, if everything is there: a failed run leaves the former
// modules in force. The walk owns its goroutines; progress is reported on the caller's, in the order of a sequential
// walk.
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
	// Base is a folder that links on the way to the data directory may not leave; "" for the directory of the
	// configuration.
	Base string
	// LanguageVersion is the version that required_version is compared with, as for config.Load.
	LanguageVersion string
	// Flavor is the program that the project is for, as for config.Load.
	Flavor flavor.Flavor
	// Constants returns the values of the root module's variables, as for config.Load.
	Constants func(root *config.Module) config.Values
	// Workspace is the selected one, as for config.Load.
	Workspace string
	// Upgrade installs recorded modules again.
	Upgrade bool
	// Progress is called with a line for each module that is installed, such as "- net in modules/net"; nil for none.
	Progress func(line string)
	// Calls holds further modules to install, which test files call.
	Calls []config.Place
	// Packages is the source of packages; nil allows only local modules.
	Packages Packages
	// Pins is how the lock file of modules counts.
	Pins Pinning
}

// Pinning is how the lock file of modules counts.
type Pinning int

// The lock file is not looked at; it is followed and kept up to date; or it is followed, and an error where it does not
// have all modules.
const (
	Unpinned Pinning = iota
	Pinned
	PinnedReadOnly
)

// Packages finds and fetches packages of modules. Methods may be called concurrently.
type Packages interface {
	// Versions lists what a registry has of a module.
	Versions(ctx context.Context, m catalog.Module) ([]string, error)
	// Locate returns the remote source of a version of a module.
	Locate(ctx context.Context, m catalog.Module, version string) (string, error)
	// Fetch downloads a package into a folder that does not exist yet; after an error nothing is left of it.
	Fetch(ctx context.Context, pkg, dir string) error
}

// Online returns packages from the network. git runs in the environment.
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
	Version string // of a registry module
	Dir     string
	// New means that the manifest did not have it before.
	New bool
}

// base returns the folder that must contain the data directory.
func (o Options) base(dir, dataDir string) string {
	if o.Base == "" && filepath.IsAbs(dataDir) {
		return dataDir // the caller has chosen it
	}
	return cmp.Or(o.Base, dir, ".")
}

// InstallModules makes every module that the configuration in dir calls available, and writes the manifest into dataDir
// (relative to dir, or absolute).
func InstallModules(ctx context.Context, dir, dataDir string, opts Options) (*Report, diag.List) {
	s := newStage(dir, path.Join(filepath.ToSlash(dataDir), "modules"))
	if err := s.judge(opts.base(dir, dataDir)); err != nil {
		return &Report{}, diag.FromError("Failed to install modules", err)
	}
	// An unreadable manifest may be anything, such as a link to a foreign file. It is not replaced.
	old, err := readManifest(s.manifest())
	if err != nil {
		return &Report{}, diag.List{}.Errorf(nil, "Failed to read module manifest",
			"The record of installed modules in %s cannot be used: %s. Remove it, and run init again.", s.modules+
				"/modules.json", err)
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

// Resolve is InstallModules without its effects, for local modules: it returns the new manifest, based on the old one.
// Unused entries are kept, as other tools that share the directory do.
func Resolve(ctx context.Context, files config.Files, old *config.Manifest, opts Options) (*config.Manifest, *Report,
	diag.List) {
	opts.Packages = nil
	w := newWalk(files, old, opts)
	manifest, diags := w.run(ctx)
	return manifest, w.report, diags
}

// Problems reports the problems of modules below a root module with errors, which the caller reports. It reads local
// and installed modules, and fetches none.
func Problems(ctx context.Context, dir, dataDir string, opts Options) diag.List {
	s := newStage(dir, path.Join(filepath.ToSlash(dataDir), "modules"))
	if s.judge(opts.base(dir, dataDir)) != nil {
		return nil // the installation reports it, once the root module is valid
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

// write replaces the manifest. Only the owner can read one with passwords.
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
		return nil // the folder may be one that is only read, as in an image
	}
	return replace.Own(s.root, s.manifest(), 0o666, put)
}

// has reports whether the manifest has a content already, in a file of its own.
func (s *stage) has(content []byte) bool {
	info, err := os.Lstat(s.manifest())
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	present, err := regular.Read(s.manifest(), regular.Record)
	return err == nil && bytes.Equal(present, content)
}

// sorted returns a manifest in the order of its file.
func sorted(entries map[string]config.ManifestModule) *config.Manifest {
	out := &config.Manifest{}
	for _, entry := range entries {
		out.Modules = append(out.Modules, entry)
	}
	slices.SortFunc(out.Modules, func(a, b config.ManifestModule) int { return strings.Compare(a.Key, b.Key) })
	return out
}
