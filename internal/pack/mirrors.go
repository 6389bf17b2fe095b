package pack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

// mirrors adds the release to the two mirrors, which keep earlier releases.
func (b *build) mirrors(ctx context.Context) error {
	b.result.FilesystemMirror, b.result.NetworkMirror = filepath.Join(b.Out, filesystemMirror),
		filepath.Join(b.Out, networkMirror)
	for _, source := range b.sources() {
		for _, root := range []string{b.result.FilesystemMirror, b.result.NetworkMirror} {
			if err := os.MkdirAll(packages.ProviderPath(root, source), 0o755); err != nil {
				return err
			}
			for _, a := range b.result.Archives {
				to := packages.ArchivePath(root, packages.Request{Provider: source, Version: b.version,
					Platform: a.Platform})
				if err := share(a.Path, to); err != nil {
					return err
				}
			}
		}
		if err := b.index(ctx, source); err != nil {
			return err
		}
	}
	return nil
}

// sources returns the addresses that engines look for in mirrors. A source without a host is in Terraform's registry
// for Terraform, and in OpenTofu's for OpenTofu.
func (b *build) sources() []addr.Provider {
	if b.Source.Host != flavor.Terraform.RegistryHost() {
		return []addr.Provider{b.Source}
	}
	other := b.Source
	other.Host = flavor.OpenTofu.RegistryHost()
	return []addr.Provider{b.Source, other}
}

// index writes the documents of the network mirror for all packages of a source, because an earlier run may have packed
// for other platforms.
func (b *build) index(ctx context.Context, source addr.Provider) error {
	found, err := packages.Search(b.result.NetworkMirror, source)
	if err != nil {
		return err
	}
	type archive struct {
		URL    string   `json:"url"`
		Hashes []string `json:"hashes"`
	}
	documents, all := map[string]any{}, map[string]struct{}{}
	archives := map[string]map[string]archive{}
	for _, p := range found {
		version := p.Version.String()
		if all[version] = struct{}{}; archives[version] == nil {
			archives[version] = map[string]archive{}
		}
		files, err := p.Hash(ctx)
		if err != nil {
			return err
		}
		whole, err := p.ArchiveHash(ctx)
		if err != nil {
			return err
		}
		archives[version][p.Platform.String()] = archive{filepath.Base(p.Path), []string{string(files), string(whole)}}
		documents[version+".json"] = map[string]any{"archives": archives[version]}
	}
	documents["index.json"] = map[string]any{"versions": all}
	for name, doc := range documents {
		text, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			return err
		}
		if err := putText(filepath.Join(packages.ProviderPath(b.result.NetworkMirror, source), name),
			append(text, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// removed removes a file if it exists.
func removed(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// share links a file to a second name, with a hard link if possible. Otherwise it creates a copy. The second name
// always has a whole file.
func share(from, to string) error {
	next := to + ".new"
	if err := removed(next); err != nil {
		return err
	}
	if os.Link(from, next) == nil {
		// A link that has the second name already is the same file, and then the rename changes nothing.
		return errors.Join(os.Rename(next, to), removed(next))
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := replace.File(to, 0o666, func(w io.Writer) error { _, err := io.Copy(w, in); return err }); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}
