package stack

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Patterns of sources and of names.

// anyDepth is a part of a pattern that stands for any number of directories, also none.
const anyDepth = "**"

func isPattern(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// matching returns the directories below a root that match a pattern and have configuration files, sorted. Hidden
// directories match only a part that begins with a dot. Links to directories are not followed for "**".
func matching(root, pattern string) (list []string, err error) {
	found := []string{""}
	for part := range strings.SplitSeq(pattern, "/") {
		var next []string
		for _, dir := range found {
			switch {
			case part == anyDepth:
				next = append(next, below(root, dir)...)
				continue
			case !isPattern(part):
				next = append(next, path.Join(dir, part))
				continue
			}
			entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
			if err != nil {
				continue // a directory of another branch of the tree
			}
			for _, e := range entries {
				ok, err := path.Match(part, e.Name())
				if err != nil {
					return nil, fmt.Errorf("pattern %q: %w", pattern, err)
				}
				if ok && (!strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(part, ".")) {
					next = append(next, path.Join(dir, e.Name()))
				}
			}
		}
		slices.Sort(next)
		found = slices.Compact(next) // two parts "**" can give the same directory in several ways
	}
	for _, dir := range found {
		full := filepath.Join(root, filepath.FromSlash(dir))
		if info, err := os.Stat(full); err == nil && info.IsDir() && hasConfiguration(full) {
			list = append(list, path.Join(".", dir))
		}
	}
	return list, nil
}

// below returns a directory and all directories below it, without hidden ones and links.
func below(root, dir string) (list []string) {
	top := filepath.Join(root, filepath.FromSlash(dir))
	_ = filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return nil //nolint:nilerr // what cannot be read has no units
		}
		if name != top && strings.HasPrefix(e.Name(), ".") {
			return fs.SkipDir
		}
		if rel, err := filepath.Rel(root, name); err == nil {
			if rel = filepath.ToSlash(rel); rel == "." {
				rel = ""
			}
			list = append(list, rel)
		}
		return nil
	})
	return list
}

// matched returns the parts of a path that stand for parts of the pattern with special characters. The text for "**"
// may have several parts of the path, or none.
func matched(pattern, name string) []string {
	parts := strings.Split(name, "/")
	if name == "." {
		parts = nil
	}
	list, _ := texts(strings.Split(pattern, "/"), parts)
	return list
}

// matches reports whether a pattern, which must be valid, matches a name.
func matches(pattern, name string) bool {
	_, ok := texts(strings.Split(pattern, "/"), strings.Split(name, "/"))
	return ok
}

// texts matches part by part.
func texts(pattern, name []string) (list []string, ok bool) {
	if len(pattern) == 0 {
		return nil, len(name) == 0
	}
	if pattern[0] == anyDepth {
		for i := range len(name) + 1 {
			if rest, ok := texts(pattern[1:], name[i:]); ok {
				return append([]string{strings.Join(name[:i], "/")}, rest...), true
			}
		}
		return nil, false
	}
	if len(name) == 0 {
		return nil, false
	}
	if !isPattern(pattern[0]) {
		if pattern[0] != name[0] {
			return nil, false
		}
		return texts(pattern[1:], name[1:])
	}
	if ok, err := path.Match(pattern[0], name[0]); !ok || err != nil {
		return nil, false
	}
	rest, ok := texts(pattern[1:], name[1:])
	return append([]string{name[0]}, rest...), ok
}

// hasConfiguration reports whether a directory has files of a root module.
func hasConfiguration(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() && isConfiguration(e.Name())
	})
}

// isConfiguration reports whether a file belongs to a module.
func isConfiguration(name string) bool {
	return slices.ContainsFunc([]string{".tf", ".tf.json", ".tofu", ".tofu.json", ".tombolo"},
		func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}
