// Package pack packages a program provider for other engines: archives for each platform, the checksums and manifest
// that registries ask for, and ready mirrors.
//
//	result, diags := pack.Build(ctx, pack.Options{Dir: "./notes", Source: source, Out: "dist", Hosts: map[packages.Platform]string{packages.Current(): tombolo}})
//
// An archive holds the files of the provider and, under the name that hosts look for, the generic host: a copy of the
// tombolo binary for that platform; see package generic. Nothing is compiled, and scripts are the same in all archives,
// so that one machine packs for all platforms. The same input gives the same bytes.
//
// What hosts stumble over is refused or put right while packing (files.go): links, which archives of providers cannot
// have; entries for folders, which make the hash of an archive differ from that of its content; names that other
// systems do not take; files that would be taken for the plugin; permissions.
package pack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/pack/generic"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/wire"
)

// Options configures packing.
type Options struct {
	// Dir is the folder of the provider.
	Dir string
	// Source is the address by which configurations will name the provider.
	Source addr.Provider
	// Out is the output folder.
	Out string
	// Hosts holds the tombolo binaries, by their platform. Each gets an archive.
	Hosts map[packages.Platform]string
	// Exclude are patterns, as of path.Match, for names below Dir that are not packed: of files or of folders.
	Exclude []string
	// Sign returns the detached signature of a text; nil for none. See ReadKey.
	Sign func(text []byte) ([]byte, error)
}

// Result lists the files that were made.
type Result struct {
	Version  versions.Version
	Archives []Archive
	// Files holds the paths of all files of the release, in the order of their names.
	Files []string
	// FilesystemMirror and NetworkMirror are folders that have the release, and may have others.
	FilesystemMirror, NetworkMirror string
}

// Archive is one archive.
type Archive struct {
	Platform packages.Platform
	Path     string
	Size     int64
	Files    int
}

const (
	badPackage = "Provider cannot be packed"
	oddPackage = "Check the package"
)

// filePerm are the permissions of files that are not run, in archives and of what is made.
const filePerm = 0o644

// Build packs a provider.
func Build(ctx context.Context, o Options) (*Result, diag.List) {
	m, diags := manifest.Load(o.Dir)
	if diags.HasErrors() {
		return nil, diags
	}
	diags = diags.Extend(checkNames(m, o.Source))
	if diags.HasErrors() {
		return nil, diags
	}
	version, err := versions.ParseVersion(m.Version)
	if err != nil {
		return nil, diags.Errorf(nil, badPackage, "The version %q in its manifest is not valid: %s.", m.Version, err)
	}
	m, text, more := freeze(ctx, m)
	if diags = diags.Extend(more); more.HasErrors() {
		return nil, diags
	}
	hosts := slices.SortedFunc(maps.Keys(o.Hosts), func(a, b packages.Platform) int {
		return strings.Compare(a.String(), b.String())
	})
	for _, on := range hosts {
		diags = diags.Extend(checkHost(o.Hosts[on], on))
	}
	all, more := collect(o, m, text)
	if diags = diags.Extend(more); diags.HasErrors() {
		return nil, diags
	}
	b := &build{Options: o, manifest: m, version: version, result: &Result{Version: version}}
	for _, on := range hosts {
		files := all.on(on, m)
		diags = diags.Extend(checkFiles(files, m, on))
		b.parts = append(b.parts, part{on, files})
	}
	if diags.HasErrors() {
		return nil, diags
	}
	if err := b.write(ctx); err != nil {
		return nil, diags.AppendError(badPackage, err)
	}
	return b.result, diags
}

// checkNames finds names that would lead nowhere.
func checkNames(m *manifest.Manifest, source addr.Provider) (diags diag.List) {
	if m.Version == "" {
		diags = diags.Errorf(nil, badPackage,
			`Its manifest %s has no "version", which a release needs. Add it, such as "version": "0.1.0".`, m.File)
	}
	if source.Type != m.Name {
		diags = diags.Warnf(nil, oddPackage, "The source %s ends with %q, but the types of the provider begin with "+
			"%q. Configurations must then set the provider in every resource.", source.ForDisplay(), source.Type,
			m.Name)
	}
	return diags
}

// build is one run.
type build struct {
	Options
	manifest *manifest.Manifest
	version  versions.Version
	parts    []part
	result   *Result
}

// part is a file in the archive for one platform.
type part struct {
	on    packages.Platform
	files []file
}

// base is how the names of all files of the release begin.
func (b *build) base() string {
	return fmt.Sprintf("%s%s_%s", generic.Prefix, b.Source.Type, b.version)
}

// program is the name of the plugin in an archive. Hosts take the first file, in the order of bytes, that begins with
// the prefix and the name.
func (b *build) program(on packages.Platform) string {
	name := fmt.Sprintf("%s%s_v%s", generic.Prefix, b.Source.Type, b.version)
	if on.OS == "windows" {
		name += ".exe"
	}
	return name
}

// write writes all files, the mirrors last: their content can be installed.
func (b *build) write(ctx context.Context) error {
	if err := os.MkdirAll(b.Out, 0o755); err != nil {
		return err
	}
	sums := map[string]string{}
	for _, p := range b.parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := b.base() + "_" + p.on.String() + ".zip"
		a, sum, err := b.archive(p, filepath.Join(b.Out, name))
		if err != nil {
			return err
		}
		b.result.Archives = append(b.result.Archives, a)
		sums[name] = sum
	}
	about, err := b.registryManifest()
	if err != nil {
		return err
	}
	name := b.base() + "_manifest.json"
	sums[name] = sumOf(about)
	list := listOf(sums)
	files := map[string][]byte{name: about, b.base() + "_SHA256SUMS": list}
	if b.Sign != nil {
		if files[b.base()+"_SHA256SUMS.sig"], err = b.Sign(list); err != nil {
			return fmt.Errorf("sign the checksums: %w", err)
		}
	}
	for name, text := range files {
		if err := putText(filepath.Join(b.Out, name), text); err != nil {
			return err
		}
	}
	names := slices.Concat(slices.Collect(maps.Keys(files)), slices.DeleteFunc(slices.Collect(maps.Keys(sums)),
		func(n string) bool { return files[n] != nil }))
	slices.Sort(names)
	for _, name := range names {
		b.result.Files = append(b.result.Files, filepath.Join(b.Out, name))
	}
	return b.mirrors(ctx)
}

// registryManifest is the document by which registries know the versions of the plugin protocol. It names those that
// the schema can be told in.
func (b *build) registryManifest() ([]byte, error) {
	var protocols []string
	for _, v := range wire.Versions() {
		if err := wire.Serves(v, b.manifest.Schema); err == nil {
			protocols = append(protocols, fmt.Sprintf("%d.0", v))
		}
	}
	text, err := json.MarshalIndent(map[string]any{"version": 1, "metadata": map[string]any{
		"protocol_versions": protocols}}, "", "  ")
	return append(text, '\n'), err
}
