package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	oci "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/tombolo-iac/tombolo/internal/engine"
)

// artifact is an entry of the file artifacts.json of goreleaser.
type artifact struct {
	Name string `json:"name"`
	Path string `json:"path"`
	OS   string `json:"goos"`
	Arch string `json:"goarch"`
	Type string `json:"type"`
}

func artifacts(dist string) (list []artifact, err error) {
	text, err := os.ReadFile(filepath.Join(dist, "artifacts.json"))
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(text, &list)
}

// writeImage writes DIST/image, an OCI layout with an image for linux on amd64 and arm64: the program, Mozilla's root
// certificates, and an empty /tmp. Its digest only depends on these.
func writeImage(_ context.Context, dist string, out io.Writer) error {
	list, err := artifacts(dist)
	if err != nil {
		return err
	}
	l := layout{dir: filepath.Join(dist, "image")}
	index := oci.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageIndex}
	for _, arch := range []string{"amd64", "arm64"} {
		i := slices.IndexFunc(list, func(a artifact) bool {
			return a.Type == "Binary" && a.Name == program && a.OS == "linux" && a.Arch == arch
		})
		if i < 0 {
			return fmt.Errorf("%s names no binary %s for linux on %s", dist, program, arch)
		}
		manifest, err := l.image(list[i].Path, arch)
		if err != nil {
			return err
		}
		index.Manifests = append(index.Manifests, manifest)
	}
	both, err := l.document(oci.MediaTypeImageIndex, index)
	if err != nil {
		return err
	}
	both.Annotations = map[string]string{oci.AnnotationRefName: engine.Version}
	if err := l.file(oci.ImageIndexFile, oci.Index{Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: oci.MediaTypeImageIndex, Manifests: []oci.Descriptor{both}}); err != nil {
		return err
	}
	if err := l.file(oci.ImageLayoutFile, oci.ImageLayout{Version: oci.ImageLayoutVersion}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s %s\n", l.dir, both.Digest)
	return err
}

// layout is a folder of blobs, named by their digests.
type layout struct{ dir string }

func (l layout) blob(mediaType string, content []byte) (oci.Descriptor, error) {
	d := oci.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
	file := filepath.Join(l.dir, "blobs", d.Digest.Algorithm().String(), d.Digest.Encoded())
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return d, err
	}
	return d, os.WriteFile(file, content, 0o644)
}

func (l layout) document(mediaType string, value any) (oci.Descriptor, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return oci.Descriptor{}, err
	}
	return l.blob(mediaType, text)
}

func (l layout) file(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.dir, name), text, 0o644)
}

// image writes the image of one platform and returns the descriptor of its manifest.
func (l layout) image(binary, arch string) (oci.Descriptor, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return oci.Descriptor{}, err
	}
	plain, err := layerOf(content)
	if err != nil {
		return oci.Descriptor{}, err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(plain); err != nil {
		return oci.Descriptor{}, err
	}
	if err := z.Close(); err != nil {
		return oci.Descriptor{}, err
	}
	layer, err := l.blob(oci.MediaTypeImageLayerGzip, packed.Bytes())
	if err != nil {
		return layer, err
	}
	platform := oci.Platform{OS: "linux", Architecture: arch}
	config, err := l.document(oci.MediaTypeImageConfig, oci.Image{
		Platform: platform,
		Config: oci.ImageConfig{Entrypoint: []string{"/usr/bin/" + program}, WorkingDir: "/work",
			Env: []string{"PATH=/usr/bin:/bin", "HOME=/tmp"},
			Labels: map[string]string{oci.AnnotationTitle: title, oci.AnnotationVersion: engine.Version,
				oci.AnnotationLicenses: "Apache-2.0", oci.AnnotationSource: "https://" + module}},
		RootFS: oci.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(plain)}},
	})
	if err != nil {
		return config, err
	}
	manifest, err := l.document(oci.MediaTypeImageManifest, oci.Manifest{Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: oci.MediaTypeImageManifest, Config: config, Layers: []oci.Descriptor{layer}})
	manifest.Platform = &platform
	return manifest, err
}

// layerOf returns the only layer of an image as an archive with fixed modification times.
func layerOf(binary []byte) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []struct {
		name    string
		mode    int64
		content []byte
	}{
		{"etc/", 0o755, nil}, {"etc/ssl/", 0o755, nil}, {"etc/ssl/certs/", 0o755, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, certificates()},
		{"tmp/", 0o1777, nil}, {"usr/", 0o755, nil}, {"usr/bin/", 0o755, nil},
		{"usr/bin/" + program, 0o755, binary},
		{"work/", 0o777, nil},
	} {
		header := &tar.Header{Typeflag: tar.TypeDir, Name: f.name, Mode: f.mode, Size: int64(len(f.content)),
			ModTime: time.Unix(0, 0)}
		if f.content != nil {
			header.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}

// certificates returns Mozilla's unconstrained root certificates in PEM.
func certificates() []byte {
	var all [][]byte
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			all = append(all, root.Certificate)
		}
	}
	slices.SortFunc(all, func(a, b []byte) int { return cmp.Compare(string(a), string(b)) })
	var b bytes.Buffer
	for _, der := range all {
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: der}) // writes to a buffer do not fail
	}
	return b.Bytes()
}
