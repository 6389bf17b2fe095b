package unpack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// link is a symbolic link that is created after everything else, so that nothing is ever written through one.
type link struct{ name, to string }

// maxLink limits the target of a link, in bytes, which is the content of an entry in some archives.
const maxLink = 4096

// link records a symbolic link. If its target is not in the header, it is the content.
func (t *target) link(name, to string, content io.Reader) error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	if err := t.enter(name, fs.ModeSymlink); err != nil {
		return err
	}
	if content != nil {
		text, err := io.ReadAll(io.LimitReader(content, maxLink+1))
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		to = string(text)
	}
	if err := staysInside(path.Clean(name), to); err != nil {
		return err
	}
	t.links = append(t.links, link{path.Clean(name), to})
	return nil
}

// staysInside checks a link by its text.
func staysInside(name, to string) error {
	plain := path.Join(path.Dir(name), to)
	if to == "" || len(to) > maxLink || path.IsAbs(to) || strings.ContainsAny(to, "\\\x00:") ||
		!filepath.IsLocal(filepath.FromSlash(plain)) {
		return fmt.Errorf("the entry %.200q is a link to a place outside of the folder, %.200q", name, to)
	}
	return nil
}

func (t *target) makeLinks(dir string) error {
	for _, l := range t.links {
		local := filepath.FromSlash(l.name)
		if err := t.folder(filepath.Dir(local), l.name); err != nil {
			return err
		}
		if err := t.root.Symlink(filepath.FromSlash(l.to), local); err != nil {
			return refusal(l.name, err)
		}
	}
	if len(t.links) == 0 {
		return nil
	}
	return CheckTree(t.ctx, dir, "", t.limits)
}

// CheckTree checks an untrusted folder: it refuses links that lead out of it, even through other links, entries that
// are neither file, folder nor link, and an excessive size. It does not check the folder with the name apart at the
// top; "" means that there is none.
func CheckTree(ctx context.Context, dir, apart string, limits Limits) error {
	top, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	files, bytes := 0, int64(0)
	return filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(top, name)
		if err := errors.Join(err, relErr, context.Cause(ctx)); err != nil {
			return err
		}
		if rel == "." {
			return nil
		}
		if files++; files > limits.Files {
			return limits.tooMany()
		}
		switch kindOf := d.Type(); {
		case rel == apart && d.IsDir():
			return filepath.SkipDir
		case d.IsDir():
			return nil
		case kindOf == fs.ModeSymlink:
			return checkLink(top, name, rel)
		case !kindOf.IsRegular():
			return fmt.Errorf("%.200q is neither a file nor a folder but a %s", rel, kind(kindOf))
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if bytes += info.Size(); bytes > limits.Bytes {
			return limits.tooLarge()
		}
		return nil
	})
}

func checkLink(top, name, rel string) error {
	to, err := os.Readlink(name)
	if err != nil {
		return err
	}
	if err := staysInside(filepath.ToSlash(rel), filepath.ToSlash(to)); err != nil {
		return err
	}
	// The path to the target may contain other links, and then ".." is relative to their targets.
	real, err := filepath.EvalSymlinks(name)
	// It is broken or circular, and must not lead out if its target is created later.
	if err != nil {
		if slash := filepath.ToSlash(to); path.Clean(slash) != strings.TrimSuffix(slash, "/") {
			return fmt.Errorf("the link %.200q has no valid target; it goes through %.200q", rel, to)
		}
		return nil
	}
	if in, err := filepath.Rel(top, real); err != nil || !filepath.IsLocal(in) {
		return fmt.Errorf("the link %.200q points outside of the folder, to %.200q", rel, real)
	}
	return nil
}
