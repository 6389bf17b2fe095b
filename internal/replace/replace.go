// Package replace gives files new content as a whole: a reader finds either the old content or the new, and what was
// written is durable.
//
//	err := replace.File(name, 0o666, func(w io.Writer) error { _, err := w.Write(text); return err })
//
// It is for what commands leave behind. States have more to lose and their own package, internal/store.
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

// File replaces the content of a file. A new file gets the permissions without those of the umask, as from any other
// program; an existing one keeps its own. A device or pipe is written to directly.
func File(name string, perm fs.FileMode, write func(io.Writer) error) error {
	return durable(replace(name, perm, false, write))
}

// Exact is File for a file that has these permissions afterwards, whatever it had and whatever the process takes away:
// for what is secret, and for what is not for its owner alone.
func Exact(name string, perm fs.FileMode, write func(io.Writer) error) error {
	return durable(replace(name, perm, true, write))
}

func durable(dir string, err error) error {
	if err == nil && dir != "" {
		syncDir(dir)
	}
	return err
}

// Files replaces many files as Exact does one. Several wait for the disk at a time, and a directory is synced once for
// all files in it. The zero value is ready; it is not for concurrent use.
type Files struct {
	all  []*replacement
	free chan struct{}
	wait sync.WaitGroup
}

type replacement struct {
	name, dir string
	err       error
}

// waiting is how many files are written at a time.
const waiting = 16

// Add begins to replace a file.
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

// Wait ends when all files are replaced, durably, and calls failed for those that could not be, in the order in which
// they were added.
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

// replace returns a file new content, which is durable once the directory that it returns is synced.
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

// over renames a new file over whatever has the name.
func over(name string, perm fs.FileMode, exact bool, write func(io.Writer) error) (dir string, err error) {
	temp, err := tempFile(name, perm)
	if err != nil {
		return "", nameless(name, err)
	}
	defer os.Remove(temp.Name()) // does nothing once it is renamed
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
		return "", nameless(name, err)
	}
	return filepath.Dir(name), nil
}

// tempFile creates a new file in the directory of another one. Only the owner can read files of os.CreateTemp.
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

// nameless words an error of a temporary file as one of the file that it was made for.
func nameless(name string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("write %s: %w", name, err)
}

// syncDir makes a rename durable, where the system can. A directory that cannot be read cannot be synced, and some file
// systems refuse; the file is there all the same.
func syncDir(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	d.Sync()
}
