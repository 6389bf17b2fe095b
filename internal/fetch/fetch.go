// Package fetch brings code onto the disk: the modules that a configuration calls.
//
// InstallModules walks the calls from the root module down and records in the module manifest where each called module is;
// package config finds them there. A local source stays where it is and is only recorded. Sources that need a download are
// refused for now with an explanation.
//
//	report, diags := fetch.InstallModules(ctx, ".", ".terraform", fetch.Options{Progress: fmt.Println})
//
// Everything happens on the caller's goroutine. The manifest is replaced as a whole, and only if every module was found, so
// that a failed run leaves the former state in force.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// Options tell how to install.
type Options struct {
	// LanguageVersion is what required_version is judged by, as for config.Load.
	LanguageVersion string
	// Upgrade installs modules anew that are recorded already.
	Upgrade bool
	// Progress is called with a line for each module that is installed, such as "- net in modules/net"; nil for none.
	Progress func(line string)
}

// Report tells what InstallModules found.
type Report struct {
	// Modules are all modules of the tree but the root, parents before their children.
	Modules []Installed
}

// Installed is one called module.
type Installed struct {
	Path    addr.Module
	Source  string
	Version string // of a registry module
	Dir     string
	// New tells that the manifest did not have it before.
	New bool
}

// InstallModules makes every module that the configuration in dir calls available, and writes the manifest into dataDir
// (relative to dir, or absolute).
func InstallModules(ctx context.Context, dir, dataDir string, opts Options) (*Report, diag.List) {
	manifestFile := filepath.Join(filepath.FromSlash(dataDir), "modules", "modules.json")
	if !filepath.IsAbs(manifestFile) {
		manifestFile = filepath.Join(dir, manifestFile)
	}
	old, err := readManifest(manifestFile)
	if err != nil {
		// What cannot be read is of no use to keep: the walk finds everything again.
		old = &config.Manifest{}
	}
	manifest, report, diags := Resolve(ctx, config.OSFiles(dir), old, opts)
	if diags.HasErrors() {
		return report, diags
	}
	if err := writeManifest(manifestFile, manifest); err != nil {
		diags = diags.AppendError("Failed to write module manifest", err)
	}
	return report, diags
}

// Resolve is InstallModules without its effects: it gives the manifest that has to be written, made out of the old one.
// Entries that nothing calls any more are kept, as other tools that share the directory do.
func Resolve(ctx context.Context, files config.Files, old *config.Manifest, opts Options) (*config.Manifest, *Report, diag.List) {
	w := &walk{files: files, opts: opts, manifest: map[string]config.ManifestModule{}, report: &Report{}}
	for _, entry := range old.Modules {
		w.manifest[entry.Key] = entry
	}
	w.manifest[""] = config.ManifestModule{Dir: "."}
	w.module(ctx, ".", addr.RootModule, []string{"."})
	if err := ctx.Err(); err != nil {
		return nil, w.report, diag.FromError("Operation canceled", err)
	}
	out := &config.Manifest{}
	for _, entry := range w.manifest {
		out.Modules = append(out.Modules, entry)
	}
	slices.SortFunc(out.Modules, func(a, b config.ManifestModule) int { return strings.Compare(a.Key, b.Key) })
	return out, w.report, w.diags
}

// walk is one installation.
type walk struct {
	files    config.Files
	opts     Options
	manifest map[string]config.ManifestModule
	report   *Report
	diags    diag.List
}

// module reads the module in dir and installs what it calls. The directories from the root down to it tell cycles.
func (w *walk) module(ctx context.Context, dir string, path addr.Module, dirs []string) {
	m, diags := config.LoadModule(ctx, config.Options{Files: w.files, LanguageVersion: w.opts.LanguageVersion}, dir, path)
	w.diags = w.diags.Extend(diags)
	if m == nil {
		return
	}
	for _, call := range m.SortedCalls() {
		if ctx.Err() != nil {
			return
		}
		w.call(ctx, m, call, dirs)
	}
}

// call installs one module and what it calls.
func (w *walk) call(ctx context.Context, m *config.Module, call *config.ModuleCall, dirs []string) {
	path := m.Path.Child(call.Name)
	switch call.Kind {
	case config.SourceLocal:
	case config.SourceRegistry:
		w.diags = w.diags.Errorf(&call.SourceRange, "Module source not supported", "The module %s comes from a module registry (%s), which this version cannot fetch. Copy the module into a directory of the project and call it by a local path such as \"./modules/%s\".", path, call.Source, call.Name)
		return
	case config.SourceRemote:
		w.diags = w.diags.Errorf(&call.SourceRange, "Module source not supported", "The module %s has to be downloaded (%s), which this version cannot do. Copy the module into a directory of the project and call it by a local path such as \"./modules/%s\".", path, call.Source, call.Name)
		return
	default:
		return // the source is wrong, which loading the caller reported
	}
	dir := config.LocalDir(m.Dir, call.Source)
	if err := w.checkDir(dir); err != nil {
		w.diags = w.diags.Errorf(&call.SourceRange, "Unreadable module directory", "The module %s should be in the directory %s, but that %s. Correct the source %q, which counts from the directory of the calling module.", path, dir, err, call.SourceRaw)
		return
	}
	if slices.Contains(dirs, dir) {
		w.diags = w.diags.Errorf(&call.Range, "Module calls itself", "The module in %s is called from within itself: %s. A tree of modules must end somewhere.", dir, strings.Join(append(dirs[slices.Index(dirs, dir):], dir), " calls "))
		return
	}
	w.record(path, call.Source, dir)
	w.module(ctx, dir, path, append(dirs[:len(dirs):len(dirs)], dir))
}

// checkDir tells what is wrong with a module's directory.
func (w *walk) checkDir(dir string) error {
	_, err := w.files.ReadDir(dir)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("does not exist")
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("cannot be read: %w", err)
}

// record puts a local module into manifest and report. A module whose source changed takes what was below it along.
func (w *walk) record(path addr.Module, source, dir string) {
	key := config.ManifestKey(path)
	entry := config.ManifestModule{Key: key, Source: source, Dir: dir}
	isNew := w.opts.Upgrade || w.manifest[key] != entry
	if isNew {
		for k := range w.manifest {
			if strings.HasPrefix(k, key+".") {
				delete(w.manifest, k)
			}
		}
		w.manifest[key] = entry
		if w.opts.Progress != nil {
			w.opts.Progress("- " + key + " in " + dir)
		}
	}
	w.report.Modules = append(w.report.Modules, Installed{Path: path, Source: source, Dir: dir, New: isNew})
}

func readManifest(name string) (*config.Manifest, error) {
	src, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &config.Manifest{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read module manifest: %w", err)
	}
	return config.ParseManifest(src)
}

// writeManifest replaces the file, so that a reader finds either the old or the new one.
func writeManifest(name string, m *config.Manifest) error {
	content, err := m.Encode()
	if err != nil {
		return fmt.Errorf("encode module manifest: %w", err)
	}
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("make the directory of the module manifest: %w", err)
	}
	temp, err := os.CreateTemp(dir, ".modules-*.json")
	if err != nil {
		return fmt.Errorf("write module manifest: %w", err)
	}
	defer os.Remove(temp.Name()) // fails once it is renamed
	_, err = temp.Write(content)
	if err == nil {
		err = temp.Chmod(0o644)
	}
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write module manifest: %w", err)
	}
	return nil
}
