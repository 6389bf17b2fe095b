package pins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/tombolo-iac/tombolo/internal/regular"
)

// history is the folder with a repository's history, which does not belong to the package.
const history = ".git"

// Hash returns the hash of the files of a package: their names and contents, and the targets of links. It ignores git's
// own files.
func Hash(ctx context.Context, dir string) (string, error) {
	var names []string
	links := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, name)
		if err := errors.Join(err, relErr, context.Cause(ctx)); err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.Name() == history && rel != ".":
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.IsDir():
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(name)
			if err != nil {
				return err
			}
			rel += "/" // no file name ends in a slash, so a link is never taken for a file with the same text
			links[rel] = filepath.ToSlash(to)
			names = append(names, rel)
		default:
			names = append(names, rel)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("read the files of a module: %w", err)
	}
	h, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		if to, ok := links[name]; ok {
			return io.NopCloser(strings.NewReader(to)), nil
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		return regular.Open(filepath.Join(dir, filepath.FromSlash(name)))
	})
	if err != nil {
		return "", fmt.Errorf("read the files of a module: %w", err)
	}
	return h, nil
}

// Commit returns the commit of a package from a repository, or "" for other packages.
func Commit(dir string) string {
	head, err := regular.Read(filepath.Join(dir, history, "HEAD"), regular.Note)
	if commit := strings.TrimSpace(string(head)); err == nil && IsCommit(commit) {
		return commit
	}
	return "" // no repository, or one where a branch was checked out since
}
