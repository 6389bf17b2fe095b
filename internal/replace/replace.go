// Package replace replaces the content of files atomically: a reader finds either the old content or the new, and the
// new content is durable.
//
//	err := replace.File(name, 0o666, func(w io.Writer) error { _, err := w.Write(text); return err })
//
// It is for files that commands write. States have more to lose and have their own package, internal/store.
package replace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// File replaces the content of a file. A new file gets the permissions minus the umask, as in other programs; an
// existing file keeps its own. It writes directly to a device or a pipe.
func File(name string, perm fs.FileMode, write func(io.Writer) error) error {
	return durable(replace(name, perm, false, write))
}

// Exact is like File, but the file gets exactly these permissions, whatever it had before and whatever the umask is:
// for secrets, and for files that others must be able to read.
func Exact(name string, perm fs.FileMode, write func(io.Writer) error) error {
	return durable(replace(name, perm, true, write))
}

func durable(dir string, err error) error {
	if err == nil && dir != "" {
		syncDir(dir)
	}
	return err
}

// Files replaces many files in the way of Exact. It syncs several files concurrently, and a directory once for all its
// files. The zero value is ready to use. It is not safe for concurrent use.
type Files struct {
	all  []*replacement
	free chan struct{}
	wait sync.WaitGroup
}

type replacement struct {
	name, dir string
	err       error
}

// waiting is the number of files that are written concurrently.
const waiting = 16

// Add starts replacing a file.
func (r *Files) Add(name string, perm fs.FileMode, content []byte) {
	if r.free == nil {
		r.free = make(chan struct{}, waiting)
	}
	one := &replacement{name: name}
	r.all = append(r.all, one)
	r.free <- struct{}{}
	r.wait.Go(func() {
		defer func() { <-r.free }()
		one.dir, one.err = replace(name, perm, true, func(w io.Writer) error {
			_, err := w.Write(content)
			return err
		})
	})
}

// Wait returns when all files are replaced and durable. It calls failed for those that could not be, in the order in
// which they were added.
func (r *Files) Wait(failed func(name string, err error)) {
	r.wait.Wait()
	dirs := map[string]bool{}
	for _, one := range r.all {
		switch {
		case one.err != nil:
			failed(one.name, one.err)
		case one.dir != "" && !dirs[one.dir]:
			dirs[one.dir] = true
			syncDir(one.dir)
		}
	}
	r.all = nil
}

// replace replaces the content of a file. It is durable once the returned directory is synced.
func replace(name string, perm fs.FileMode, exact bool, write func(io.Writer) error) (dir string, err error) {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	if info, err := os.Stat(name); err == nil {
		if !info.Mode().IsRegular() {
			return "", writeThrough(name, write)
		}
		if !exact {
			perm, exact = info.Mode().Perm(), true
		}
	}
	return over(name, perm, exact, write)
}

// over renames a new file to name, whatever exists there.
func over(name string, perm fs.FileMode, exact bool, write func(io.Writer) error) (dir string, err error) {
	temp, err := tempFile(name, perm)
	if err != nil {
		return "", ofTarget(name, err)
	}
	defer os.Remove(temp.Name()) // has no effect after the rename
	err = write(temp)
	if err == nil && exact {
		err = temp.Chmod(perm)
	}
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return "", ofTarget(name, err)
	}
	return filepath.Dir(name), nil
}

// tempFile creates a new file in the directory of name. Files of os.CreateTemp are only readable by their owner.
func tempFile(name string, perm fs.FileMode) (*os.File, error) {
	for {
		temp, err := os.OpenFile(filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+
			strconv.FormatUint(rand.Uint64(), 36)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return temp, err
		}
	}
}

func writeThrough(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// ofTarget returns an error of a temporary file as an error of the file that it is to replace.
func ofTarget(name string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("write %s: %w", name, err)
}

// syncDir makes a rename durable, if the system can. A directory without read permission cannot be synced, and some
// file systems refuse; the file is in place in any case.
func syncDir(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	d.Sync()
}
