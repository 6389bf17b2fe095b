package download

import (
	"compress/bzip2"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
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
)

// archiveNames are the ends of names of archives.
const archiveNames = ".zip, .tar.gz, .tgz, .tar.bz2 or .tbz2"

// kinds are what names may end in, and what that means; "" for what is refused.
var kinds = []struct{ end, kind string }{
	{".tar.gz", "tar.gz"}, {".tgz", "tar.gz"}, {".tar.bz2", "tar.bz2"}, {".tbz2", "tar.bz2"}, {".zip", "zip"},
	{".tar.xz", ""}, {".txz", ""}, {".gz", ""}, {".bz2", ""}, {".xz", ""},
}

// archiveKind tells how a package is packed: as the archive parameter says, otherwise by its name; "" when it is no archive.
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
			return "", fmt.Errorf("%s is packed in a way that modules cannot be unpacked from here: expected %s", path.Base(name), archiveNames)
		default:
			return k.kind, nil
		}
	}
	if name == u.Path {
		return "", nil
	}
	return "", fmt.Errorf("there is no kind of archive that is called %.50q: expected zip, tar.gz or tar.bz2", asked)
}

// unpack extracts an archive; name is what it is called in errors.
func (g *Getter) unpack(kind, archive, name, dir string) error {
	limits := g.limits()
	if kind == "zip" {
		return unpack.Zip(archive, dir, limits)
	}
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	if kind == "tar.bz2" {
		return unpack.Tar(name, bzip2.NewReader(file), dir, limits)
	}
	return unpack.TarGz(name, file, dir, limits)
}

// checksum is what the checksum parameter of a source asks of an archive; the zero value asks for nothing.
type checksum struct {
	text string
	sum  []byte
	hash hash.Hash
}

var hashes = map[string]func() hash.Hash{"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}

// parseChecksum reads TYPE:HEX, or HEX alone, whose length tells the type.
func parseChecksum(text string) (checksum, error) {
	if text == "" {
		return checksum{}, nil
	}
	kind, digits, named := strings.Cut(text, ":")
	if !named {
		kind, digits = "", text
	}
	sum, err := hex.DecodeString(digits)
	for name, make := range hashes {
		if h := make(); err == nil && len(sum) == h.Size() && (name == kind || !named) {
			return checksum{text, sum, h}, nil
		}
	}
	return checksum{}, fmt.Errorf("the checksum %.200q cannot be used: expected one such as sha256:HEX", text)
}

// verify compares a file.
func (c checksum) verify(name string) error {
	if c.hash == nil {
		return nil
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(c.hash, file); err != nil {
		return err
	}
	if got := c.hash.Sum(nil); string(got) != string(c.sum) {
		return fmt.Errorf("the archive has the checksum %x, and the source asks for %s: it was changed, or it is another one", got, c.text)
	}
	return nil
}

// Subdir finds a folder in a package. It may be a pattern, which must match one folder.
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
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil && info.IsDir() && name != ".git" {
			found = append(found, name)
		}
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("the folder %.200q is no pattern that can be looked for: %w", sub, err)
	case len(found) == 0:
		return "", fmt.Errorf("the package has no folder %.200q", sub)
	case len(found) > 1:
		return "", fmt.Errorf("the package has more than one folder %.200q, such as %q and %q", sub, found[0], found[1])
	}
	return found[0], nil
}
