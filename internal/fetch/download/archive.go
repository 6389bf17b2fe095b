package download

import (
	"compress/bzip2"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/fetch/unpack"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// archiveNames lists the extensions of archives.
const archiveNames = ".zip, .tar.gz, .tgz, .tar.bz2 or .tbz2"

// kinds maps the extensions of archives to their kinds; "" means that they are refused.
var kinds = []struct{ end, kind string }{
	{".tar.gz", "tar.gz"}, {".tgz", "tar.gz"}, {".tar.bz2", "tar.bz2"}, {".tbz2", "tar.bz2"}, {".zip", "zip"},
	{".tar.xz", ""}, {".txz", ""}, {".gz", ""}, {".bz2", ""}, {".xz", ""},
}

// archiveKind returns the kind of an archive, from the archive parameter or else from its name, or "" if it is not an
// archive.
func archiveKind(u *url.URL) (string, error) {
	asked := u.Query().Get("archive")
	name := u.Path
	switch asked {
	case "false", "0", "f", "F", "FALSE", "False":
		return "", nil
	case "", "true", "1", "t", "T", "TRUE", "True":
	default:
		name = "." + asked
	}
	for _, k := range kinds {
		switch {
		case !strings.HasSuffix(name, k.end):
		case k.kind == "":
			return "", fmt.Errorf("%s has a format that cannot be unpacked: expected %s",
				path.Base(name), archiveNames)
		default:
			return k.kind, nil
		}
	}
	if name == u.Path {
		return "", nil
	}
	return "", fmt.Errorf("%.50q is not a known kind of archive: expected zip, tar.gz or tar.bz2", asked)
}

// kindOf returns the kind of an archive, which it derives from the archive's first bytes.
func kindOf(file io.ReaderAt) (string, error) {
	begin := make([]byte, 6)
	n, err := file.ReadAt(begin, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	for _, k := range []struct{ begins, kind string }{
		{"PK", "zip"}, {"\x1f\x8b", "tar.gz"}, {"BZh", "tar.bz2"}, {"\xfd7zXZ\x00", ""},
	} {
		switch {
		case !strings.HasPrefix(string(begin[:n]), k.begins):
		case k.kind == "":
			return "", errors.New("the package is compressed with xz, and modules cannot be unpacked from that: " +
				"expected a zip archive, or a tar archive compressed with gzip or bzip2")
		default:
			return k.kind, nil
		}
	}
	return "", errors.New("the package is not an archive: expected a zip archive, or a tar archive compressed with " +
		"gzip or bzip2")
}

// unpack extracts an archive; name is its name in errors.
func (g *Getter) unpack(ctx context.Context, kind, archive, name, dir string) error {
	limits := g.limits()
	if kind == "zip" {
		return unpack.Zip(ctx, archive, name, dir, limits)
	}
	file, err := regular.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	if kind == "tar.bz2" {
		return unpack.Tar(ctx, name, bzip2.NewReader(file), dir, limits)
	}
	return unpack.TarGz(ctx, name, file, dir, limits)
}

// checksum is the checksum parameter of a source.
type checksum struct {
	text string
	sum  []byte
	hash func() hash.Hash
}

var hashes = map[string]func() hash.Hash{"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}

// parseChecksum parses TYPE:HEX, or only HEX, whose length determines the type.
func parseChecksum(text string) (checksum, error) {
	kind, digits, named := strings.Cut(text, ":")
	if !named {
		kind, digits = "", text
	}
	sum, err := hex.DecodeString(digits)
	for name, make := range hashes {
		if err == nil && len(sum) == make().Size() && (name == kind || !named) {
			return checksum{text, sum, make}, nil
		}
	}
	return checksum{}, fmt.Errorf("the checksum %.200q cannot be used: expected one such as sha256:HEX", text)
}

// addChecksum adds the checksum in the address of a package.
func addChecksum(sums []checksum, u *url.URL) ([]checksum, error) {
	for _, text := range u.Query()["checksum"] {
		sum, err := parseChecksum(text)
		if err != nil {
			return nil, err
		}
		sums = append(sums[:len(sums):len(sums)], sum)
	}
	return sums, nil
}

// verify compares a file with all required checksums.
func verify(ctx context.Context, name string, sums []checksum) error {
	if len(sums) == 0 {
		return nil
	}
	file, err := regular.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	var into []io.Writer
	hashed := make([]hash.Hash, len(sums))
	for i, sum := range sums {
		hashed[i] = sum.hash()
		into = append(into, hashed[i])
	}
	if _, err := io.Copy(io.MultiWriter(into...), unpack.Reader(ctx, file)); err != nil {
		return err
	}
	for i, sum := range sums {
		if got := hashed[i].Sum(nil); string(got) != string(sum.sum) {
			return fmt.Errorf(
				"the archive has the checksum %x, but the source requires %s: it was changed, or it is a different "+
					"package",
				got, sum.text)
		}
	}
	return nil
}

// Subdir returns a folder in a package. sub may be a pattern, which must match one folder.
func Subdir(dir, sub string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(sub)) {
		return "", fmt.Errorf("the folder %.200q is outside of the package", sub)
	}
	if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(sub))); err == nil && info.IsDir() {
		return path.Clean(sub), nil
	}
	names, err := fs.Glob(os.DirFS(dir), path.Clean(sub))
	var found []string
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil && info.IsDir() &&
			name != ".git" {
			found = append(found, name)
		}
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("the folder %.200q is not a valid pattern: %w", sub, err)
	case len(found) == 0:
		return "", fmt.Errorf("the package has no folder %.200q", sub)
	case len(found) > 1:
		return "", fmt.Errorf("the package has more than one folder %.200q, such as %q and %q", sub, found[0], found[1])
	}
	return found[0], nil
}
