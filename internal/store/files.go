package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tombolo-iac/tombolo/internal/regular"
)

// Files contains every operation of the local store on files. The store uses no other way, so that tests can inject
// faults at every call (package faults) and keep a store in memory (package mem). Names are paths of the host system.
//
// Only Resolve and List follow a link at the name itself. No method opens or removes anything but a regular file; for
// other entries it returns an *IrregularError. So a store never writes to, empties or deletes an entry that another
// program put beside a state.
type Files interface {
	// Resolve follows the links at a name and returns a name that is not a link. The result need not exist.
	Resolve(name string) (string, error)
	// Open opens a file with the flags of package os. A missing file is fs.ErrNotExist.
	Open(name string, flag int, perm fs.FileMode) (File, error)
	// Through opens an entry that is not a regular file, such as a device or a pipe, for writing. It does not wait for
	// a reader.
	Through(name string) (io.WriteCloser, error)
	// Stat describes the entry at a name.
	Stat(name string) (Info, error)
	// List describes the entries of a folder. For a link it describes the target, or the link if the target is missing.
	List(dir string) ([]Info, error)
	// Rename replaces an existing file; RenameNew fails with fs.ErrExist instead. Replaceable returns the reason why
	// Rename would fail, as far as the system can report it in advance.
	Rename(old, name string) error
	Replaceable(name string) error
	RenameNew(old, name string) error
	// Remove removes a file; RemoveDir an empty folder, or a link to a folder.
	Remove(name string) error
	RemoveDir(dir string) error
	MkdirAll(dir string, perm fs.FileMode) error
	// SyncDir makes the names in a folder durable that were created, replaced or removed.
	SyncDir(dir string) error
}

// File is an open file.
type File interface {
	ReadAt(b []byte, off int64) (int, error)
	WriteAt(b []byte, off int64) (int, error)
	Truncate(size int64) error
	// Sync returns when everything written to the file is durable.
	Sync() error
	// Reserve ensures that writes up to the offset end will not fail for lack of space, if the system can guarantee
	// that.
	Reserve(end int64) error
	Stat() (Info, error)
	// Share sets the owner, the group and the permissions of the file to those of another, as far as the system allows:
	// the same users can read or write it, and no others.
	Share(like Info) error
	// Lock takes the same exclusive lock as Terraform, without waiting. It returns ErrLocked if another holds it, and
	// ErrNoLocks if the file system does not support locks. Locks belong to the open file; closing it releases them.
	Lock() error
	// Locked reports whether another holds the lock.
	Locked() (bool, error)
	Close() error
}

// ErrLocked means that another process holds the lock on a file.
var ErrLocked = errors.New("the file is locked by another process")

// ErrNoLocks means that the file system or its server does not support locks.
var ErrNoLocks = errors.New("the file system cannot lock files")

// IrregularError means that a file of a state is not a regular file.
type IrregularError struct {
	Name string
	Mode fs.FileMode
	To   string // of a link
}

// Error implements error.
func (e *IrregularError) Error() string {
	return fmt.Sprintf("%s is %s, not a regular file, so it was not read, written or removed", e.Name, e.what())
}

func (e *IrregularError) what() string {
	switch {
	case e.Mode&fs.ModeSymlink != 0 && e.To != "":
		return "a link to " + e.To
	case e.Mode&fs.ModeSymlink != 0:
		return "a link"
	case e.Mode.IsDir():
		return "a folder"
	case e.Mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case e.Mode&fs.ModeDevice != 0:
		return "a device"
	case e.Mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "something else"
}

// irregular returns an error if an entry is not a regular file.
func irregular(name string, fi fs.FileInfo) error {
	if fi.Mode().IsRegular() {
		return nil
	}
	e := &IrregularError{Name: name, Mode: fi.Mode()}
	if fi.Mode()&fs.ModeSymlink != 0 {
		e.To, _ = os.Readlink(name)
	}
	return e
}

// Info describes a file.
type Info struct {
	Name    string
	Size    int64
	ModTime time.Time
	Mode    fs.FileMode
	ID      any // identifies the file, whatever its names; for SameFile
}

// SameFile reports whether two descriptions are of one file.
func SameFile(a, b Info) bool {
	if x, ok := a.ID.(fs.FileInfo); ok {
		y, ok := b.ID.(fs.FileInfo)
		return ok && os.SameFile(x, y)
	}
	return a.ID == b.ID
}

// OS is the file system of the machine.
type OS struct{}

// maxLinks is the maximum number of links that a name may lead through; the system does not follow longer chains
// either.
const maxLinks = 40

// Resolve implements Files.
func (OS) Resolve(name string) (string, error) {
	for at, n := name, 0; n < maxLinks; n++ {
		to, err := os.Readlink(at)
		if err != nil { // not a link, or nothing at all: opening it shows which
			_, missing := os.Lstat(at)
			if _, err := os.Stat(name); n > 0 && missing != nil && err == nil {
				return name, nil // the system lists some entries as links that are not, such as the end of a pipe
			}
			return at, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(at), to)
		}
		at = to
	}
	return "", fmt.Errorf("%s is a link to itself, or goes through too many symbolic links", name)
}

// Open implements Files. The entry is checked before it is opened: opening a pipe or a device may block, or have an
// effect.
func (OS) Open(name string, flag int, perm fs.FileMode) (File, error) {
	before, err := os.Lstat(name)
	if err == nil {
		err = irregular(name, before)
	} else if isMissing(err) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	f, err := regular.Patient(func() (*os.File, error) { return regular.Shared(name, flag|noFollow, perm) })
	if err != nil {
		if fi, statErr := os.Lstat(name); statErr == nil && irregular(name, fi) != nil {
			return nil, irregular(name, fi) // it was created meanwhile
		}
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil {
		err = irregular(name, fi)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return osFile{f}, nil
}

// Through implements Files.
func (OS) Through(name string) (io.WriteCloser, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Stat implements Files.
func (OS) Stat(name string) (Info, error) {
	fi, err := os.Lstat(name)
	return infoOf(fi, err)
}

// List implements Files.
func (OS) List(dir string) ([]Info, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var infos []Info
	for _, e := range entries {
		// Follow links, as Terraform does for workspace folders.
		name := filepath.Join(dir, e.Name())
		info, err := infoOf(os.Stat(name))
		if err != nil {
			info, err = infoOf(os.Lstat(name))
		}
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// Rename implements Files.
func (OS) Rename(old, name string) error { return os.Rename(old, name) }

// Replaceable implements Files.
func (OS) Replaceable(name string) error { return replaceable(name) }

// RenameNew implements Files. On file systems that support neither a rename without replacement nor hard links, the
// file of a program that creates the name at the same moment is lost.
func (OS) RenameNew(old, name string) error {
	done, err := renameNew(old, name)
	if done {
		return err
	}
	switch err := os.Link(old, name); {
	case err == nil:
		return os.Remove(old)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	if _, err := os.Lstat(name); err == nil {
		return fs.ErrExist
	}
	return os.Rename(old, name)
}

// Remove implements Files.
func (OS) Remove(name string) error {
	fi, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if err := irregular(name, fi); err != nil {
		return err
	}
	return os.Remove(name)
}

// RemoveDir implements Files.
func (OS) RemoveDir(dir string) error { return os.Remove(dir) }

// MkdirAll implements Files.
func (OS) MkdirAll(dir string, perm fs.FileMode) error { return os.MkdirAll(dir, perm) }

// SyncDir implements Files.
func (OS) SyncDir(dir string) error { return syncDir(dir) }

func infoOf(fi fs.FileInfo, err error) (Info, error) {
	if err != nil {
		return Info{}, err
	}
	// On Windows, what identifies a file is read when it is first compared, by its name, which another file may get.
	os.SameFile(fi, fi)
	return Info{Name: fi.Name(), Size: fi.Size(), ModTime: fi.ModTime(), Mode: fi.Mode(), ID: fi}, nil
}

type osFile struct{ *os.File }

// Stat implements File.
func (f osFile) Stat() (Info, error) { return infoOf(f.File.Stat()) }

// Share implements File.
func (f osFile) Share(like Info) error {
	if info, ok := like.ID.(fs.FileInfo); ok {
		return regular.Share(f.File, info)
	}
	return regular.Permit(f.File, like.Mode.Perm()&0o666)
}

// Reserve implements File.
func (f osFile) Reserve(end int64) error { return reserve(f.File, end) }

// Lock implements File.
func (f osFile) Lock() error { return lock(f.File) }

// Locked implements File.
func (f osFile) Locked() (bool, error) { return locked(f.File) }

// Close implements File.
func (f osFile) Close() error { return closeFile(f.File) }
