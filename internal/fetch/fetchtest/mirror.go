package fetchtest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"
)

// Mirror serves providers as a network mirror does, below a path.
type Mirror struct {
	Path     string // such as /providers/
	Host     string // host of the providers' addresses
	NoHashes bool   // omit the hashes
	releases []Release
}

// Add adds a release to the mirror.
func (m *Mirror) Add(release Release) {
	if release.Platforms == nil {
		release.Platforms = Platforms
	}
	m.releases = append(m.releases, release)
}

// ServeHTTP implements http.Handler.
func (m *Mirror) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	rest, ok := strings.CutPrefix(q.URL.Path, m.Path+m.Host+"/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 {
		http.NotFound(w, q)
		return
	}
	source, name := parts[0]+"/"+parts[1], parts[2]
	versions := map[string]any{}
	for _, release := range m.releases {
		if release.Source != source {
			continue
		}
		versions[release.Version] = map[string]any{}
		if name == release.Version+".json" {
			JSON(w, map[string]any{"archives": m.Archives(release)})
			return
		}
		for _, platform := range release.Platforms {
			if own, content := release.Archive(platform); own == name {
				w.Header().Set("Content-Type", "application/zip")
				_, _ = w.Write(content)
				return
			}
		}
	}
	if name != "index.json" || len(versions) == 0 {
		http.NotFound(w, q)
		return
	}
	JSON(w, map[string]any{"versions": versions})
}

// Archives returns the mirror's document about a release, for tests that change it.
func (m *Mirror) Archives(release Release) map[string]any {
	out := map[string]any{}
	for _, platform := range release.Platforms {
		name, content := release.Archive(platform)
		entry := map[string]any{"url": name}
		if !m.NoHashes {
			entry["hashes"] = []string{FilesHash(content), ArchiveHash(content)}
		}
		out[platform] = entry
	}
	return out
}

// ArchiveHash returns the hash of an archive as in lock files.
func ArchiveHash(content []byte) string { return fmt.Sprintf("zh:%x", sha256.Sum256(content)) }

// FilesHash returns the hash of the files in an archive as in lock files.
func FilesHash(content []byte) string {
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		panic(err) // tests only hash their own archives
	}
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
	}
	h, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) { return r.Open(name) })
	if err != nil {
		panic(err)
	}
	return h
}
