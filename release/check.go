package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	oci "github.com/opencontainers/image-spec/specs-go/v1"
)

// checkRelease checks what goreleaser and this command wrote into DIST: the blobs of the image have their digests and
// contain the released programs, each manifest of a package manager has the checksum of every archive that it names,
// and the packages of the kits are those of this tree. Ruby, if it is there, parses the formula.
func checkRelease(ctx context.Context, dist string, out io.Writer) error {
	list, err := artifacts(dist)
	if err != nil {
		return err
	}
	platforms, err := checkImage(filepath.Join(dist, "image"), list)
	if err != nil {
		return fmt.Errorf("the image: %w", err)
	}
	archives, err := checkManifests(dist)
	if err != nil {
		return err
	}
	packages, err := checkKits(dist)
	if err != nil {
		return fmt.Errorf("the kits: %w", err)
	}
	formula := filepath.Join(dist, program+".rb")
	parsed := "there is no ruby to parse it"
	if ruby, err := exec.LookPath("ruby"); err == nil {
		if text, err := exec.CommandContext(ctx, ruby, "-wc", formula).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", formula, err, text)
		}
		parsed = "ruby parses it"
	}
	_, err = fmt.Fprintf(out, "image: %s; manifests: %d checksums of archives; kits: %d packages; formula: %s\n",
		strings.Join(platforms, ", "), archives, packages, parsed)
	return err
}

// checkImage returns the platforms of an image.
func checkImage(dir string, list []artifact) (platforms []string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, oci.ImageIndexFile))
	if err != nil {
		return nil, err
	}
	var top, index oci.Index
	if err := json.Unmarshal(text, &top); err != nil || len(top.Manifests) != 1 {
		return nil, fmt.Errorf("%s does not name one index: %v", oci.ImageIndexFile, err)
	}
	if err := blobOf(dir, top.Manifests[0], &index); err != nil {
		return nil, err
	}
	for _, d := range index.Manifests {
		var manifest oci.Manifest
		var config oci.Image
		if err := errors.Join(blobOf(dir, d, &manifest), blobOf(dir, manifest.Config, &config)); err != nil {
			return nil, err
		}
		if d.Platform == nil || config.OS != d.Platform.OS || config.Architecture != d.Platform.Architecture ||
			len(manifest.Layers) != 1 || len(config.RootFS.DiffIDs) != 1 {
			return nil, fmt.Errorf("%s: platform, configuration and layers do not fit", d.Digest)
		}
		i := slices.IndexFunc(list, func(a artifact) bool {
			return a.Type == "Binary" && a.Name == program && a.OS == config.OS && a.Arch == config.Architecture
		})
		if i < 0 {
			return nil, fmt.Errorf("there is no program for %s on %s", config.OS, config.Architecture)
		}
		if err := checkLayer(dir, manifest.Layers[0], config.RootFS.DiffIDs[0], list[i].Path); err != nil {
			return nil, err
		}
		platforms = append(platforms, config.OS+"/"+config.Architecture)
	}
	if slices.Sort(platforms); !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
		return nil, fmt.Errorf("its platforms are %v", platforms)
	}
	return platforms, nil
}

// blobOf reads a blob, which must have its digest and size, as JSON.
func blobOf(dir string, d oci.Descriptor, into any) error {
	content, err := blobBytes(dir, d)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}

func blobBytes(dir string, d oci.Descriptor) ([]byte, error) {
	if err := d.Digest.Validate(); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(dir, "blobs", d.Digest.Algorithm().String(), d.Digest.Encoded()))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) != d.Size || digest.FromBytes(content) != d.Digest {
		return nil, fmt.Errorf("the blob %s has %d bytes and the digest %s", d.Digest, len(content),
			digest.FromBytes(content))
	}
	return content, nil
}

// checkLayer compares the program in a layer with the released one.
func checkLayer(dir string, d oci.Descriptor, plain digest.Digest, binary string) error {
	packed, err := blobBytes(dir, d)
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	content, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	if digest.FromBytes(content) != plain {
		return fmt.Errorf("the layer %s is %s when it is unpacked, and not %s", d.Digest,
			digest.FromBytes(content), plain)
	}
	want, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	for r := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := r.Next()
		if err != nil {
			return fmt.Errorf("the layer %s has no program: %w", d.Digest, err)
		}
		if header.Name != "usr/bin/"+program {
			continue
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("the layer %s has another program than %s", d.Digest, binary)
		}
		return nil
	}
}

// named matches the address of an archive and the checksum behind it.
var named = regexp.MustCompile(`(?s)https://[^\s"']+/([^\s"'/]+\.(?:tar\.gz|zip)).*?\b([0-9a-fA-F]{64})\b`)

// checkManifests compares the checksums in the manifests of Homebrew, Scoop and winget with those of the release, and
// returns how many there are.
func checkManifests(dist string) (count int, err error) {
	sums, err := checksums(dist)
	if err != nil {
		return 0, err
	}
	for kind, want := range map[string]int{program + ".rb": 4, "scoop": 2, "winget": 2} {
		found := 0
		err := filepath.WalkDir(filepath.Join(dist, kind), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				found++
				if sums[m[1]] == "" || !strings.EqualFold(m[2], sums[m[1]]) {
					err = errors.Join(err, fmt.Errorf("%s: %s has the checksum %q, and not %q", path, m[1],
						sums[m[1]], m[2]))
				}
			}
			return err
		})
		if err != nil {
			return 0, err
		}
		if found != want {
			return 0, fmt.Errorf("%s names %d archives, and not %d", filepath.Join(dist, kind), found, want)
		}
		count += found
	}
	return count, nil
}
