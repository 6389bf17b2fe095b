package pack

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

// checkHost reports a binary of another platform than the given one, or one that does not serve a kind of provider.
// Every Go binary records its platform and its build tags. whole is true for the command tombolo.
func checkHost(name string, on packages.Platform, kind manifest.Kind) (whole bool, diags diag.List) {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() {
		return false, diags.Errorf(nil, badPackage,
			"The host for %s, %s, is not a file. Expected the tombolo binary of that platform, or a tombolo-host.", on,
			name)
	}
	built, err := readBuildInfo(name)
	if err != nil {
		return false, diags.Errorf(nil, badPackage, "The host for %s, %s, is not the tombolo binary: %s.", on, name,
			err)
	}
	is, tags := platformOf(built), strings.Split(settingOf(built, "-tags"), ",")
	own, err := os.Executable()
	switch {
	case err == nil && same(name, own) && is == on:
		// Whatever this process is, it can serve providers.
	case built.Main.Path != module:
		return false, diags.Errorf(nil, badPackage,
			"The host for %s, %s, is another program: %s. Expected the tombolo binary of that platform.", on, name,
			built.Path)
	case is != on:
		return false, diags.Errorf(nil, badPackage, "The host for %s, %s, was built for %s.", on, name, is)
	case !kind.ServedWith(tags):
		return false, diags.Errorf(nil, badPackage, "The host for %s, %s, serves other kinds of providers. Use one of "+
			"%s, or the tombolo binary.", on, name, hostsFile(kind))
	}
	if theirs, ours := released(built), released(ownBuild()); theirs != "" && ours != "" && theirs != ours {
		diags = diags.Warnf(nil, oddPackage, "The host for %s, %s, is of version %s, and this program of version %s. "+
			"Use a host of this version: another may read manifests in another way.", on, name, theirs, ours)
	}
	if needsLibraries(name) {
		diags = diags.Warnf(nil, oddPackage, "The host for %s, %s, is linked with the C library of the system "+
			"where it was built, and does not start on systems with another one. Use a release of Tombolo, or build "+
			"it with CGO_ENABLED=0.", on, name)
	}
	return built.Path == module+"/cmd/tombolo", diags
}

// module is the path of the Go module of the binary.
const module = "github.com/tombolo-iac/tombolo"

// platformOf returns the platform for which a binary was built.
func platformOf(built *debug.BuildInfo) packages.Platform {
	return packages.Platform{OS: settingOf(built, "GOOS"), Arch: settingOf(built, "GOARCH")}
}

// settingOf returns a setting of a build, or "".
func settingOf(built *debug.BuildInfo, key string) string {
	for _, s := range built.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// ownBuild returns what this program records about its build.
func ownBuild() *debug.BuildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return &debug.BuildInfo{}
	}
	return info
}

// released returns the version of a binary, or "" if it is not one of a release.
func released(built *debug.BuildInfo) string {
	v, err := versions.ParseVersion(strings.TrimPrefix(built.Main.Version, "v"))
	if err != nil || v.Metadata != "" || strings.Count(string(v.Prerelease), "-") > 0 { // as in v0.0.0-DATE-COMMIT
		return ""
	}
	return v.String()
}

// hostsFile returns the name of the file of a release that has the hosts for a kind of provider.
func hostsFile(kind manifest.Kind) string { return fmt.Sprintf("tombolo-hosts-%s_VERSION.zip", kind) }

// HostFlags returns the flags of "go build" for the host of a kind of provider, cmd/tombolo-host, which make it small:
// without other kinds, without symbols, and without inlined functions, a seventh of its code that gains nothing beside
// the programs that it calls.
func HostFlags(kind manifest.Kind) []string {
	return []string{"-trimpath", "-ldflags=-s -w", "-gcflags=all=-l", "-tags=" + strings.Join(kind.Tags(), ",")}
}

// HostName returns the name of the host for a kind of provider and a platform, in a file of a release or a folder.
func HostName(kind manifest.Kind, on packages.Platform) string {
	name := fmt.Sprintf("%s%s", hostPrefix(kind), on)
	if on.OS == "windows" {
		name += ".exe"
	}
	return name
}

func hostPrefix(kind manifest.Kind) string { return fmt.Sprintf("tombolo-host-%s_", kind) }

// FindHosts returns the hosts for a kind of provider, by platform. from is a file of a release, tombolo-hosts-KIND.zip,
// or a folder with the files in it. Those of an archive are unpacked into the folder work.
func FindHosts(from string, kind manifest.Kind, work string) (map[packages.Platform]string, error) {
	info, err := os.Stat(from)
	if err != nil {
		return nil, err
	}
	found := map[packages.Platform]string{}
	add := func(name string) bool {
		text, ok := strings.CutPrefix(name, hostPrefix(kind))
		on, err := packages.ParsePlatform(strings.TrimSuffix(text, ".exe"))
		if !ok || err != nil || name != HostName(kind, on) {
			return false
		}
		found[on] = filepath.Join(work, name)
		return true
	}
	if info.IsDir() {
		work = from
		entries, err := os.ReadDir(from)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			add(e.Name())
		}
	} else if err := unpackHosts(from, work, add); err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no hosts for this kind of provider, such as %s. Use the file %s of a release",
			from, HostName(kind, packages.Current()), hostsFile(kind))
	}
	return found, nil
}

// unpackHosts writes the files of an archive that are wanted into a folder.
func unpackHosts(from, work string, wanted func(name string) bool) error {
	z, err := zip.OpenReader(from)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if !wanted(f.Name) {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		err = replace.File(filepath.Join(work, f.Name), 0o700, func(w io.Writer) error {
			n, err := io.Copy(w, io.LimitReader(in, maxBinary+1))
			if n > maxBinary {
				err = fmt.Errorf("%s has more than %d MiB", f.Name, maxBinary>>20)
			}
			return err
		})
		if err := errors.Join(err, in.Close()); err != nil {
			return err
		}
	}
	return nil
}

func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
