// Package config parses files into the static tree of modules: native (.tf) and JSON (.tf.json) syntax, override files,
// requirements, and bodies that are decoded later with the schemas of providers. It decodes only what must be literal
// (versions, type constraints, addresses), and evaluates only module sources, which must be constant (constant.go).
//
//	cfg, diags := config.Load(ctx, config.Options{Dir: ".", LanguageVersion: "1.15.9"})
//	for _, m := range cfg.SortedModules() { ... }
//
// Load locates the called modules with the module manifest; package fetch installs them. The files of a module are
// parsed in parallel, by goroutines that end before Load returns. The result is immutable.
//
// Values of input variables come from elsewhere: values.go reads variable files, options and environment variables, and
// converts values to the types of variables.
package config

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	version "github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
)

// DefaultDataDir is the default folder for installed modules and providers in a working directory.
const DefaultDataDir = ".terraform"

// Options configures Load.
type Options struct {
	// Dir is the working directory, which holds the root module; "" means the working directory of the process. File
	// names in ranges are relative to it.
	Dir string
	// Files replaces the file system; Dir is then ignored.
	Files Files
	// DataDir holds the module manifest; "" means DefaultDataDir.
	DataDir string
	// LanguageVersion is the version that required_version is compared with, such as "1.15.9".
	LanguageVersion string
	// Flavor is the program that the project is written for: it determines the registry of sources without a host, and
	// which files replace others.
	Flavor flavor.Flavor
	// RootOnly does not load the called modules: no manifest is needed, and the tree has only the root. Installation
	// begins with it.
	RootOnly bool
	// Query also reads the root module's query files (.tfquery.hcl).
	Query bool
	// Module, if set, is loaded as the root module instead of Dir, for test files that run other modules.
	Module *Place
	// RootProviders returns provider configurations that are added to the root module's, or replace them, after all
	// modules were parsed; it may be nil.
	RootProviders func(c *Config) []*ProviderConfig
	// Constants returns the values of the root module's variables, of which only the const ones are used; nil means
	// none.
	Constants func(root *Module) Values
	// Workspace is the value of terraform.workspace before anything is evaluated; "" if it is unknown.
	Workspace string
	// Caller and Call, for LoadModule, are the calling module and the call; nil for the root module.
	Caller *Module
	Call   *ModuleCall
}

// Place is the location of a module that is called from outside of the tree.
type Place struct {
	Call *ModuleCall
	Path addr.Module // its key in the manifest
}

func (o Options) files() Files {
	if o.Files != nil {
		return o.Files
	}
	return OSFiles(o.Dir)
}

func (o Options) manifestPath() string { return path.Join(o.dataDir(), manifestName) }

func (o Options) dataDir() string {
	if o.DataDir == "" {
		return DefaultDataDir
	}
	return o.DataDir
}

// Load reads the configuration of a working directory. It reports as many problems as possible; after errors, the
// configuration holds what could be parsed, and is only nil if there is no root module.
func Load(ctx context.Context, opts Options) (*Config, diag.List) {
	l, diags := newLoader(opts)
	if diags.HasErrors() {
		return nil, diags
	}
	if !opts.RootOnly {
		if diags = diags.Extend(l.readManifest(opts.manifestPath())); diags.HasErrors() {
			return nil, diags
		}
	}
	dir := "."
	if opts.Module != nil {
		path := opts.Module.Path.Calls()
		l.below = path[:len(path)-1]
		var moreDiags diag.List
		if dir, _, moreDiags = l.installedDir(newModule(".", addr.RootModule, opts.Flavor),
			opts.Module.Call); moreDiags.HasErrors() {
			return nil, diags.Extend(moreDiags)
		}
		l.below = path
	}
	root, moreDiags := l.module(ctx, dir, addr.RootModule)
	diags = diags.Extend(moreDiags)
	if root == nil {
		return nil, diags
	}
	l.config.Root = root
	if !opts.RootOnly || opts.Constants != nil {
		diags = diags.Extend(root.setConstants(opts))
	}
	diags = diags.Extend(l.children(ctx, root, []string{dir}))
	diags = diags.Extend(l.config.settleTypes())
	if opts.RootProviders != nil {
		root.takeProviders(opts.RootProviders(l.config))
	}
	if !l.rootOnly {
		diags = diags.Extend(checkTree(l.config))
	}
	if err := ctx.Err(); err != nil {
		return nil, diag.FromError("Operation canceled", err)
	}
	return l.config, distinct(diags)
}

// distinct removes duplicates: otherwise the problems of a module that is called many times would be repeated.
func distinct(diags diag.List) diag.List {
	type problem struct {
		severity        diag.Severity
		summary, detail string
		subject         hcl.Range
	}
	seen := map[problem]bool{}
	var out diag.List
	for _, d := range diags {
		p := problem{severity: d.Severity, summary: d.Summary, detail: d.Detail}
		if d.Subject != nil {
			p.subject = *d.Subject
		}
		if !seen[p] {
			seen[p] = true
			out = out.Append(d)
		}
	}
	return out
}

// LoadModule loads a single directory as a module, without the modules that it calls, for installation.
func LoadModule(ctx context.Context, opts Options, dir string, path addr.Module) (*Module, diag.List) {
	l, diags := newLoader(opts)
	if diags.HasErrors() {
		return nil, diags
	}
	m, moreDiags := l.module(ctx, dir, path)
	if diags = diags.Extend(moreDiags); m != nil {
		m.Parent, m.Call = opts.Caller, opts.Call
		diags = diags.Extend(m.setConstants(opts))
	}
	return m, diags
}

// loader holds the common data of one Load.
type loader struct {
	files    Files
	early    Options // for early evaluation in called modules
	version  *version.Version
	flavor   flavor.Flavor
	rootOnly bool
	query    bool
	manifest map[string]ManifestModule // by key
	below    []string                  // the calls on the path to the root module in the manifest; usually none
	parsed   map[string]*parsedFile    // by name, not yet decoded: a directory may be called often
	config   *Config
}

func newLoader(opts Options) (*loader, diag.List) {
	l := &loader{
		files:    opts.files(),
		early:    Options{Dir: opts.Dir, Workspace: opts.Workspace},
		rootOnly: opts.RootOnly,
		query:    opts.Query,
		flavor:   opts.Flavor,
		parsed:   map[string]*parsedFile{},
		config:   &Config{Modules: map[addr.Module]*Module{}, Files: map[string][]byte{}},
	}
	if opts.LanguageVersion != "" {
		v, err := version.NewVersion(opts.LanguageVersion)
		if err != nil {
			return nil, diag.FromError("Invalid language version", err)
		}
		l.version = v.Core() // a constraint on 1.11.0 includes its prereleases
	}
	return l, nil
}

func (l *loader) readManifest(name string) diag.List {
	src, err := l.files.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var manifest *Manifest
	if err == nil {
		manifest, err = ParseManifest(src)
	}
	if err == nil {
		l.config.Manifest = src
		l.manifest = make(map[string]ManifestModule, len(manifest.Modules))
		for _, entry := range manifest.Modules {
			l.manifest[entry.Key] = entry
		}
		return nil
	}
	return diag.List(nil).Errorf(nil, "Failed to read module manifest",
		"The record of installed modules in %s cannot be used: %s.", name, err).
		Advise("Remove it, and run \"%s\".", diag.Run("init"))
}

// children loads the modules that m calls, recursively. dirs are the directories from the root to m, to detect a module
// that calls itself.
func (l *loader) children(ctx context.Context, m *Module, dirs []string) diag.List {
	var diags diag.List
	if l.rootOnly || m == nil {
		return nil
	}
	for _, call := range m.SortedCalls() {
		if ctx.Err() != nil {
			return diags
		}
		if call.Kind == 0 {
			continue // its source is invalid, as already reported
		}
		dir, recorded, moreDiags := l.installedDir(m, call)
		diags = diags.Extend(moreDiags)
		if dir == "" {
			continue
		}
		if cycle := cycleOf(dirs, dir); cycle != "" {
			diags = diags.Errorf(&call.Range, "Module calls itself",
				"The module in %s calls itself, directly or through other modules: %s. Remove one of the calls.",
				dir, cycle)
			continue
		}
		child, moreDiags := l.module(ctx, dir, m.Path.Child(call.Name))
		diags = diags.Extend(moreDiags)
		if child == nil {
			continue
		}
		child.Parent, child.Call, child.Version = m, call, recorded
		m.Children[call.Name] = child
		diags = diags.Extend(child.setConstants(l.early))
		diags = diags.Extend(l.children(ctx, child, append(dirs[:len(dirs):len(dirs)], dir)))
	}
	return diags
}

// cycleOf returns the path from an earlier occurrence of dir to the current one, or "".
func cycleOf(dirs []string, dir string) string {
	for i, d := range dirs {
		if d != dir {
			continue
		}
		text := ""
		for _, step := range dirs[i:] {
			text += step + " calls "
		}
		return text + dir
	}
	return ""
}

// installedDir returns the directory of a called module in the manifest, and its installed version.
func (l *loader) installedDir(m *Module, call *ModuleCall) (dir, installed string, diags diag.List) {
	const run = "Run \"%s\" to install" // programs search for this sentence and the previous one
	const advice = run + " all modules that this configuration needs."
	initialize := diag.Run("init")
	path := m.Path.Child(call.Name)
	record, ok := l.manifest[ManifestKey(addr.ModuleOf(append(slices.Clone(l.below), path.Calls()...)...))]
	if !ok && m.faulty {
		return "", "", nil // the installation stopped at problems of this module, as already reported
	}
	if !ok {
		return "", "", diags.Errorf(&call.Range, "Module not installed",
			"This module is not yet installed.").
			Advise(run+" %s and all other modules that this configuration needs.", initialize, path)
	}
	if record.Source != call.Source {
		return "", "", diags.Errorf(call.SourcePlace(), "Module source has changed",
			"The module was installed from %q; its source is now %q.", ShownSource(record.Source),
			ShownSource(call.Source)).Advise(advice, initialize)
	}
	if call.Version.Text != "" {
		v, err := version.NewVersion(record.Version)
		if err != nil || !call.Version.Parsed.Check(v) {
			return "", "", diags.Errorf(&call.Version.Range, "Module version requirements have changed",
				"Version %s is installed, which %q does not allow.", orNone(record.Version), call.Version.Text).
				Advise(advice, initialize)
		}
	}
	if _, err := l.files.ReadDir(record.Dir); err != nil {
		return "", "", diags.Errorf(&call.Range, "Module not installed",
			"The directory %s, where the module was installed, cannot be read: %s.", record.Dir, reason(err)).
			Advise(advice, initialize)
	}
	return record.Dir, record.Version, nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// reason returns the part of a file system error that does not repeat the path.
func reason(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// IsEmpty reports whether the root module has no configuration file.
func (c *Config) IsEmpty() bool {
	for name := range c.Files {
		if path.Dir(name) == "." {
			return false
		}
	}
	return true
}

// module loads one directory as a module.
func (l *loader) module(ctx context.Context, dir string, path addr.Module) (*Module, diag.List) {
	var diags diag.List
	primary, override, err := moduleFiles(l.files, dir, l.flavor)
	if err != nil {
		return nil, diags.Errorf(nil, "Unreadable module directory", "The module directory %s cannot be read: %s.", dir,
			reason(err))
	}
	if l.query && path.IsRoot() {
		queries, err := queryFiles(l.files, dir, l.flavor)
		if err != nil {
			return nil, diags.Errorf(nil, "Unreadable module directory", "The module directory %s cannot be read: %s.",
				dir, reason(err))
		}
		primary = append(primary, queries...)
	}
	parsed := l.parseFiles(ctx, append(primary[:len(primary):len(primary)], override...), len(primary))
	gate, newer := l.checkVersions(parsed, path)
	for _, f := range parsed {
		if f.source != nil {
			l.config.Files[f.name] = f.source
		}
	}
	m := newModule(dir, path, l.flavor)
	l.config.Modules[path] = m
	for _, f := range parsed {
		m.partial = m.partial || newer || f.body == nil || f.parseDiags.HasErrors()
	}
	if newer {
		// Other problems may be due to the syntax of the version that the module requires.
		m.faulty = true
		return m, gate
	}
	diags = diags.Extend(gate)
	for _, f := range parsed {
		diags = diags.Extend(f.diags)
	}
	diags = diags.Extend(m.assemble(parsed))
	m.faulty = diags.HasErrors()
	return m, diags
}
