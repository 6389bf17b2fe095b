// Package pack packages a program provider for other engines: archives for each platform, the checksums and the
// manifest that registries require, and ready-made mirrors.
//
//	result, diags := pack.Build(ctx, pack.Options{Dir: "./notes", Source: source, Out: "dist", Hosts: map[packages.Platform]string{packages.Current(): tombolo}})
//
// An archive contains the files of the provider and, under the name that engines look for, the generic host: a copy of
// the binary tombolo-host or tombolo for that platform; see package generic. Nothing is compiled, and scripts are the
// same in all archives, so one machine packs for all platforms. The same input produces the same bytes.
//
// Anything that causes problems in hosts is refused or corrected while packing (files.go): links, which archives of
// providers must not contain; entries for folders, which make the hash of an archive differ from that of its content;
// names that other systems do not support; files that would be taken for the plugin; permissions.
package pack

import (
	"context"
	"encoding/json"
	"errors"
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
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/provider"
)

// Options configures packing.
type Options struct {
	// Dir is the folder of the provider.
	Dir string
	// Source is the address with which configurations name the provider.
	Source addr.Provider
	// Out is the output folder.
	Out string
	// Hosts maps platforms to binaries of tombolo, or of tombolo-host for the kind of provider. Each platform gets an
	// archive.
	Hosts map[packages.Platform]string
	// Exclude are patterns in the syntax of path.Match for names of files or folders below Dir that are not packed.
	Exclude []string
	// Sign returns the detached signature of a text; nil means no signatures. See ReadKey.
	Sign func(text []byte) ([]byte, error)
}

// Result lists the files that were written.
type Result struct {
	Version  versions.Version
	Archives []Archive
	// Files lists the paths of all files of the release, sorted by name.
	Files []string
	// Smaller is the file of a release with hosts that are smaller than one that was used, or "".
	Smaller string
	// FilesystemMirror and NetworkMirror are folders that contain the release and perhaps others.
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

// filePerm are the permissions of files that are not executable, in archives and in the output.
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
	var whole bool
	hosts := sortedPlatforms(o.Hosts)
	for _, on := range hosts {
		isWhole, more := checkHost(o.Hosts[on], on, m.Kind())
		whole, diags = whole || isWhole, diags.Extend(more)
	}
	all, more := collect(o, m, text)
	if diags = diags.Extend(more); diags.HasErrors() {
		return nil, diags
	}
	b := &build{Options: o, version: version, protocols: protocolsOf(m.Schema), result: &Result{Version: version}}
	if whole {
		b.result.Smaller = hostsFile(m.Kind())
	}
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

// checkNames reports names that would not work.
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

// build is one run of Build.
type build struct {
	Options
	version   versions.Version
	protocols []string // versions of the plugin protocol that the provider speaks
	parts     []part
	result    *Result
}

// part is a file in the archive for one platform.
type part struct {
	on    packages.Platform
	files []file
}

// base returns the prefix of the names of all files of the release.
func (b *build) base() string {
	return fmt.Sprintf("%s%s_%s", generic.Prefix, b.Source.Type, b.version)
}

// program returns the name of the plugin in an archive. Hosts use the first file, in byte order, that begins with the
// prefix and the name.
func (b *build) program(on packages.Platform) string {
	name := fmt.Sprintf("%s%s_v%s", generic.Prefix, b.Source.Type, b.version)
	if on.OS == "windows" {
		name += ".exe"
	}
	return name
}

// unfinishedPrefix begins the names of folders in the output in which files are written until all of them are complete.
const unfinishedPrefix = ".unfinished-"

// write writes all files, the mirrors last, because their content can be installed. Until the files of the release are
// complete, which takes long, they are in a folder that is removed if Build fails or is interrupted. The rest is not
// interrupted.
func (b *build) write(ctx context.Context) (err error) {
	if err := os.MkdirAll(b.Out, 0o755); err != nil {
		return err
	}
	replace.Sweep(b.Out, unfinishedPrefix)
	work, err := replace.Unfinished(b.Out, unfinishedPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, work.Remove()) }()
	names, err := b.release(ctx, work.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(b.Out, name)
		if err := os.Rename(filepath.Join(work.Dir, name), path); err != nil {
			return err
		}
		b.result.Files = append(b.result.Files, path)
	}
	slices.Sort(b.result.Files)
	return b.mirrors(context.WithoutCancel(ctx))
}

// release writes the files of the release into a folder, and returns their names, those of the checksums last.
func (b *build) release(ctx context.Context, dir string) (names []string, err error) {
	sums := map[string]string{}
	for _, p := range b.parts {
		name := b.base() + "_" + p.on.String() + ".zip"
		a, sum, err := b.archive(ctx, p, filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		a.Path = filepath.Join(b.Out, name)
		names = append(names, name)
		b.result.Archives = append(b.result.Archives, a)
		sums[name] = sum
	}
	about, err := b.registryManifest()
	if err != nil {
		return nil, err
	}
	name := b.base() + "_manifest.json"
	sums[name] = sumOf(about)
	list := listOf(sums)
	files := map[string][]byte{name: about, b.base() + "_SHA256SUMS": list}
	if b.Sign != nil {
		if files[b.base()+"_SHA256SUMS.sig"], err = b.Sign(list); err != nil {
			return nil, fmt.Errorf("sign the checksums: %w", err)
		}
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(files))) { // _manifest.json before _SHA256SUMS
		names = append(names, name)
		if err := putText(filepath.Join(dir, name), files[name]); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// registryManifest returns the document with the supported versions of the plugin protocol, for registries.
func (b *build) registryManifest() ([]byte, error) {
	text, err := json.MarshalIndent(map[string]any{"version": 1, "metadata": map[string]any{
		"protocol_versions": b.protocols}}, "", "  ")
	return append(text, '\n'), err
}

// protocolsOf returns the versions of the plugin protocol that can express a schema.
func protocolsOf(schema *provider.Schema) (list []string) {
	for _, v := range wire.Versions() {
		if err := wire.Serves(v, schema); err == nil {
			list = append(list, fmt.Sprintf("%d.0", v))
		}
	}
	return list
}

func sortedPlatforms(of map[packages.Platform]string) []packages.Platform {
	return slices.SortedFunc(maps.Keys(of), func(a, b packages.Platform) int {
		return strings.Compare(a.String(), b.String())
	})
}
