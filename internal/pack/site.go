package pack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/internal/fetch/registries"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

// site is the folder of a web server. Names below it have slashes. It follows no links: who can write to the folder
// could otherwise redirect what is published.
type site struct {
	dir     string
	root    *os.Root
	written int // files that were new, or had other content
}

func openSite(dir string) (*site, error) {
	root, err := os.OpenRoot(dir)
	return &site{dir: dir, root: root}, err
}

func (s *site) close() { s.root.Close() }

// plain returns an error if a name, or a folder above it, is a link.
func (s *site) plain(name string) error {
	at := ""
	for part := range strings.SplitSeq(name, "/") { // from the top, because a name below a link may be anywhere
		at = path.Join(at, part)
		err := noLink(s.root.Lstat(filepath.FromSlash(at)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(s.dir, filepath.FromSlash(at)), err)
		}
	}
	return nil
}

// read returns the content of a file, or nil if it does not exist.
func (s *site) read(name string) ([]byte, error) {
	if err := s.plain(name); err != nil {
		return nil, err
	}
	text, err := regular.ReadIn(s.root, filepath.FromSlash(name), regular.Record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// put writes a file, unless it has this content.
func (s *site) put(name string, text []byte) error {
	if there, err := s.read(name); err != nil || there != nil && bytes.Equal(there, text) {
		return err
	}
	s.written++
	return s.write(name, func(w io.Writer) error { _, err := w.Write(text); return err })
}

func (s *site) putJSON(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return s.put(name, append(text, '\n'))
}

// write replaces a file. Web servers run as other users, who must be able to read it.
func (s *site) write(name string, write func(io.Writer) error) error {
	if err := s.plain(name); err != nil {
		return err
	}
	return replace.Own(s.dir, filepath.Join(s.dir, filepath.FromSlash(name)), filePerm, write)
}

// discovery returns the document that says where the services of the host are. Other services are kept.
func (s *site) discovery() ([]byte, error) {
	all := map[string]any{}
	text, err := s.read(discovery)
	if err != nil {
		return nil, err
	}
	if text != nil {
		if err := json.Unmarshal(text, &all); err != nil || all == nil {
			return nil, fmt.Errorf("%s is not a JSON object. Correct or remove it", filepath.Join(s.dir, discovery))
		}
	}
	if there, ok := all[service]; ok && there != services {
		return nil, fmt.Errorf("%s says that %s is at %v, but this command writes %s. Correct or remove it",
			filepath.Join(s.dir, discovery), service, there, services)
	} else if ok {
		return text, nil
	}
	all[service] = services
	text, err = json.MarshalIndent(all, "", "  ")
	return append(text, '\n'), err
}

// compare returns an error if the registry has other files for a release. A release may add platforms: its list of
// checksums then has all lines that the registry has.
func (s *site) compare(ctx context.Context, r *release) error {
	old, err := s.read(path.Join(r.at, r.base+"_SHA256SUMS"))
	if err != nil {
		return err
	}
	list, err := registries.Sums(old)
	if err != nil {
		return fmt.Errorf("%s: %w", path.Join(r.at, r.base+"_SHA256SUMS"), err)
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if r.list[name] != list[name] {
			return fmt.Errorf("version %s is published with another checksum of %s, or without it. Published releases "+
				"are not replaced: raise the version in the manifest of the provider, or build the archives of all "+
				"platforms together", r.version, name)
		}
	}
	for _, on := range r.platforms {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(r.at, r.archive(on))
		if err := s.plain(name); err != nil {
			return err
		}
		sum, err := s.hash(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && sum != r.list[r.archive(on)] {
			return fmt.Errorf("%s exists with another content. Published archives are not replaced: raise the version "+
				"in the manifest of the provider", filepath.Join(s.dir, filepath.FromSlash(name)))
		}
	}
	return nil
}

// hash returns the checksum of a file of the site.
func (s *site) hash(name string) (string, error) {
	f, err := regular.OpenIn(s.root, filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	return hashFrom(f)
}

// hashOf returns the checksum of a file, which must not be a link.
func hashOf(name string) (string, error) {
	if err := noLink(os.Lstat(name)); err != nil {
		return "", err
	}
	f, err := regular.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return hashFrom(f)
}

func hashFrom(r io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), err
}

// add writes the files of a release. Documents follow what they name, so that clients never find a part of a package.
func (s *site) add(ctx context.Context, r *release, key *Key) error {
	for _, on := range r.platforms {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.copy(r, r.archive(on)); err != nil {
			return err
		}
	}
	if err := s.sign(r, key); err != nil {
		return err
	}
	sums := path.Join(r.at, r.base+"_SHA256SUMS")
	if r.signature != nil {
		if err := s.put(sums+".sig", r.signature); err != nil {
			return err
		}
	}
	if err := s.put(sums, r.sums); err != nil {
		return err
	}
	for _, on := range r.platforms {
		d, err := r.document(on, key)
		if err != nil {
			return err
		}
		if err := s.putJSON(path.Join(r.at, "download", on.OS, on.Arch), d); err != nil {
			return err
		}
	}
	return nil
}

// copy copies an archive, unless the registry has it. Its content is compared with the checksum again, because the file
// may have changed since.
func (s *site) copy(r *release, name string) error {
	to := path.Join(r.at, name)
	if sum, err := s.hash(to); err == nil && sum == r.list[name] {
		return nil
	}
	f, err := regular.Open(filepath.Join(r.from, name))
	if err != nil {
		return err
	}
	defer f.Close()
	s.written++
	return s.write(to, func(w io.Writer) error {
		sum, err := hashFrom(io.TeeReader(f, w))
		if err == nil && sum != r.list[name] {
			err = fmt.Errorf("%s was changed while it was read", name)
		}
		return err
	})
}

// sign signs a release that is not signed. A signature that the registry has is kept, so that it stays the same.
func (s *site) sign(r *release, key *Key) error {
	if r.signature != nil || key == nil {
		return nil
	}
	_, public, err := key.Public()
	if err != nil {
		return err
	}
	old, err := s.read(path.Join(r.at, r.base+"_SHA256SUMS.sig"))
	if err != nil {
		return err
	}
	if old != nil && registries.Verify(r.sums, old, public) == nil {
		r.signature = old
		return nil
	}
	r.signature, err = key.Sign(r.sums)
	return err
}

// list writes the document with the versions of a provider, from all documents of packages.
func (s *site) list(provider string) error {
	folders, err := fs.ReadDir(s.root.FS(), provider)
	if err != nil {
		return err
	}
	var all []versions.Version
	for _, f := range folders {
		if v, err := versions.ParseVersion(f.Name()); err == nil && f.IsDir() && v.String() == f.Name() {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, compareVersions)
	out := index{Versions: []indexed{}}
	for _, v := range all {
		one := indexed{Version: v.String()}
		found, err := fs.Glob(s.root.FS(), path.Join(provider, one.Version, "download/*/*"))
		if err != nil {
			return err
		}
		for _, name := range found {
			text, err := s.read(name)
			if err != nil {
				return err
			}
			var d download
			if err := json.Unmarshal(text, &d); err != nil || !strings.HasSuffix(name, "/"+d.OS+"/"+d.Arch) {
				return fmt.Errorf("%s is not the document of a package. Remove it", filepath.Join(s.dir, name))
			}
			one.Protocols = d.Protocols
			one.Platforms = append(one.Platforms, platform{d.OS, d.Arch})
		}
		slices.SortFunc(one.Platforms, comparePlatforms)
		if len(found) > 0 {
			out.Versions = append(out.Versions, one)
		}
	}
	return s.putJSON(path.Join(provider, "versions"), out)
}
