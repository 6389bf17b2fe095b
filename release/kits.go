package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/kits"
)

const (
	// kitName is the name of the packages. In Python and Ruby a program still imports "tombolo".
	kitName    = "tombolo-kit"
	kitSummary = "Providers of infrastructure for Tombolo, Terraform and OpenTofu as programs"
	kitReadme  = "# " + kitSummary + "\n\nThis package makes program providers shorter to write. The page\n" +
		"https://" + module + "/blob/main/docs/kits.md\nhas its words, with examples.\n"
)

// kitFile is a file in a package.
type kitFile struct {
	name string
	text []byte
}

// writeKits writes the kits as packages of their languages: a wheel, an npm tarball and a gem. Their bytes depend only
// on the kits, the licence and the version.
func writeKits(_ context.Context, dir string, _ io.Writer) error {
	packages, err := kitPackages()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range packages {
		if err := os.WriteFile(filepath.Join(dir, p.name), p.text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// kitPackages returns the packages. The licence is that in the current directory.
func kitPackages() ([]kitFile, error) {
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	var packages []kitFile
	for _, one := range []struct {
		name  string
		write func(licence []byte) ([]byte, error)
	}{
		{fmt.Sprintf("tombolo_kit-%s-py3-none-any.whl", engine.Version), wheel},
		{fmt.Sprintf("%s-%s.tgz", kitName, engine.Version), npmTarball},
		{fmt.Sprintf("%s-%s.gem", kitName, engine.Version), gem},
	} {
		text, err := one.write(licence)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
		packages = append(packages, kitFile{one.name, text})
	}
	return packages, nil
}

// wheel returns the package for Python, in the binary distribution format.
func wheel(licence []byte) ([]byte, error) {
	info := fmt.Sprintf("tombolo_kit-%s.dist-info/", engine.Version)
	metadata := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\nSummary: %s\nHome-page: https://%s\n"+
		"License: Apache-2.0\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n%s", kitName,
		engine.Version, kitSummary, module, kitReadme)
	members := []kitFile{
		{kits.PythonName, kits.Python},
		{info + "licenses/LICENSE", licence},
		{info + "METADATA", []byte(metadata)},
		{info + "WHEEL", []byte("Wheel-Version: 1.0\nGenerator: tombolo\nRoot-Is-Purelib: true\nTag: py3-none-any\n")},
	}
	var record bytes.Buffer
	for _, m := range members {
		sum := sha256.Sum256(m.text)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", m.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(m.text))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	members = append(members, kitFile{info + "RECORD", record.Bytes()})
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		header := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		header.SetMode(0o644) // without a time, which would be that of the build
		w, err := z.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(m.text); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

// npmTarball returns the package for Node.js, with types for TypeScript.
func npmTarball(licence []byte) ([]byte, error) {
	manifest, err := indented(object{
		"name": kitName, "version": engine.Version, "description": kitSummary, "license": "Apache-2.0",
		"repository": object{"type": "git", "url": "git+https://" + module + ".git", "directory": "kits/node"},
		"main":       kits.NodeName, "types": kits.NodeTypesName, "engines": object{"node": ">=18"},
		"files": []string{kits.NodeName, kits.NodeTypesName},
	})
	if err != nil {
		return nil, err
	}
	archive, err := tarOf(
		kitFile{"package/package.json", manifest}, kitFile{"package/LICENSE", licence},
		kitFile{"package/README.md", []byte(kitReadme)}, kitFile{"package/" + kits.NodeName, kits.Node},
		kitFile{"package/" + kits.NodeTypesName, kits.NodeTypes},
	)
	if err != nil {
		return nil, err
	}
	return zipped(archive)
}

// gem returns the package for Ruby: an archive with the description, the files and the checksums of both.
func gem(licence []byte) ([]byte, error) {
	files, err := tarOf(kitFile{"LICENSE", licence}, kitFile{"README.md", []byte(kitReadme)},
		kitFile{"lib/" + kits.RubyName, kits.Ruby})
	if err != nil {
		return nil, err
	}
	data, err := zipped(files)
	if err != nil {
		return nil, err
	}
	metadata, err := zipped(fmt.Appendf(nil, gemspec, kitName, engine.Version, kits.RubyName, module, kitSummary))
	if err != nil {
		return nil, err
	}
	sum := func(text []byte) string {
		sum := sha256.Sum256(text)
		return hex.EncodeToString(sum[:])
	}
	digests, err := zipped(fmt.Appendf(nil, "---\nSHA256:\n  metadata.gz: %s\n  data.tar.gz: %s\n", sum(metadata),
		sum(data)))
	if err != nil {
		return nil, err
	}
	return tarOf(kitFile{"metadata.gz", metadata}, kitFile{"data.tar.gz", data}, kitFile{"checksums.yaml.gz", digests})
}

const gemspec = `--- !ruby/object:Gem::Specification
name: %s
version: !ruby/object:Gem::Version
  version: %s
platform: ruby
authors:
- The authors of Tombolo
bindir: bin
cert_chain: []
date: 1980-01-01 00:00:00.000000000 Z
dependencies: []
executables: []
extensions: []
extra_rdoc_files: []
files:
- LICENSE
- README.md
- lib/%s
homepage: https://%s
licenses:
- Apache-2.0
metadata: {}
rdoc_options: []
require_paths:
- lib
required_ruby_version: !ruby/object:Gem::Requirement
  requirements:
  - - ">="
    - !ruby/object:Gem::Version
      version: '3.0'
required_rubygems_version: !ruby/object:Gem::Requirement
  requirements:
  - - ">="
    - !ruby/object:Gem::Version
      version: '0'
requirements: []
specification_version: 4
summary: %s
test_files: []
`

// tarOf returns an archive. Its files have the oldest time that all of these tools accept.
func tarOf(members ...kitFile) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		header := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.text)), Format: tar.FormatUSTAR,
			ModTime: time.Date(1985, 10, 26, 8, 15, 0, 0, time.UTC)}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(m.text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// zipped returns a text as a gzip stream without a time.
func zipped(text []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// checkKits compares the packages of a release with those of this tree, and returns how many there are.
func checkKits(dist string) (int, error) {
	list, err := checksums(dist)
	if err != nil {
		return 0, err
	}
	packages, err := kitPackages()
	for _, p := range packages {
		text, err := os.ReadFile(filepath.Join(dist, p.name))
		if err != nil {
			return 0, err
		}
		sum := sha256.Sum256(text)
		if !bytes.Equal(text, p.text) || list[p.name] != hex.EncodeToString(sum[:]) {
			return 0, fmt.Errorf("%s is another package than this tree makes, or %s has another checksum", p.name,
				filepath.Join(dist, sums))
		}
	}
	return len(packages), err
}
