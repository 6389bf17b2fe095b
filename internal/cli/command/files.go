package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// All that this package writes to disk itself goes through here: plan files, the selected workspace, generated configuration and documentation, the log.
// States are written by internal/store, the module manifest by internal/fetch.

// ReplaceFile gives a file new content: whoever reads it finds either the old or the new one, and after return the new one is durable. A
// name that stands for a device or pipe is written to as it is.
func ReplaceFile(name string, mode fs.FileMode, write func(io.Writer) error) error {
	dir, err := replace(name, mode, write)
	if err == nil && dir != "" {
		syncDir(dir)
	}
	return err
}

// Replacements replaces many files as ReplaceFile does one. Several wait for the disk at a time, and a directory is synced once for all
// files in it. The zero value is ready; it is not for concurrent use.
type Replacements struct {
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
func (r *Replacements) Add(name string, mode fs.FileMode, content []byte) {
	if r.free == nil {
		r.free = make(chan struct{}, waiting)
	}
	one := &replacement{name: name}
	r.all = append(r.all, one)
	r.free <- struct{}{}
	r.wait.Go(func() {
		defer func() { <-r.free }()
		one.dir, one.err = replace(name, mode, func(w io.Writer) error {
			_, err := w.Write(content)
			return err
		})
	})
}

// Wait ends when all files are replaced, durably, and calls failed for those that could not be, in the order in which they were added.
func (r *Replacements) Wait(failed func(name string, err error)) {
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

// replace gives a file new content, which is durable once the directory that it returns is synced.
func replace(name string, mode fs.FileMode, write func(io.Writer) error) (dir string, err error) {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return "", writeThrough(name, write)
	}
	temp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return "", nameless(name, err)
	}
	defer os.Remove(temp.Name()) // does nothing once it is renamed
	err = write(temp)
	if err == nil {
		err = temp.Chmod(mode)
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

// syncDir makes a rename durable, where the system can. A directory that cannot be read cannot be synced, and some file systems refuse; the
// file is there all the same.
func syncDir(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	d.Sync()
}

// OpenAppend opens a file to write at its end, as logs are; a new one is for its owner alone.
func OpenAppend(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// MakeDir makes a directory and those above it.
func MakeDir(dir string) error { return os.MkdirAll(dir, 0o777) }

// RemoveFile removes a file.
func RemoveFile(name string) error { return os.Remove(name) }

// OpenFile opens a file and gives it with its size.
func OpenFile(name string) (*os.File, int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory", name)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// TemporaryDir makes a directory for files that nobody needs later.
func TemporaryDir(name string) (string, error) { return os.MkdirTemp("", name) }

// RemoveDir removes a directory with all that is in it.
func RemoveDir(dir string) error { return os.RemoveAll(dir) }
