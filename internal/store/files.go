package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Files is every access that the local store makes to files. Everything goes through it, so that faults can be injected at every
// call (package faults) and a store can live in memory (package mem). Names are paths of the host system.
type Files interface {
	// Open opens a file with the flags of package os. A missing file is fs.ErrNotExist.
	Open(name string, flag int, perm fs.FileMode) (File, error)
	Stat(name string) (Info, error)
	List(dir string) ([]Info, error)
	// Rename replaces what has the name; RenameNew fails with fs.ErrExist instead.
	Rename(old, name string) error
	RenameNew(old, name string) error
	Remove(name string) error
	MkdirAll(dir string, perm fs.FileMode) error
	// SyncDir makes names that were created, replaced or removed in a folder durable.
	SyncDir(dir string) error
}

// File is an open file.
type File interface {
	ReadAt(b []byte, off int64) (int, error)
	WriteAt(b []byte, off int64) (int, error)
	Truncate(size int64) error
	// Sync returns when everything written to the file is durable.
	Sync() error
	// Reserve makes sure that writing up to the offset end will not fail for lack of space, where the system can promise that.
	Reserve(end int64) error
	Stat() (Info, error)
	// Lock takes the exclusive lock that Terraform takes, without waiting: ErrLocked when another has it. Locks belong to the
	// open file; closing it gives them back.
	Lock() error
	// Locked tells whether someone else holds the lock.
	Locked() (bool, error)
	Close() error
}

// ErrLocked says that another holds the lock on a file.
var ErrLocked = errors.New("the file is locked by another process")

// Info describes a file.
type Info struct {
	Name    string
	Size    int64
	ModTime time.Time
	Mode    fs.FileMode
	ID      any // tells files apart, whatever their names; for SameFile
}

// SameFile tells whether two descriptions are of one file.
func SameFile(a, b Info) bool {
	if x, ok := a.ID.(fs.FileInfo); ok {
		y, ok := b.ID.(fs.FileInfo)
		return ok && os.SameFile(x, y)
	}
	return a.ID == b.ID
}

// OS is the file system of the machine.
type OS struct{}

// Open implements Files.
func (OS) Open(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Stat implements Files.
func (OS) Stat(name string) (Info, error) {
	fi, err := os.Stat(name)
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
		if info, err := infoOf(os.Stat(filepath.Join(dir, e.Name()))); err == nil {
			infos = append(infos, info)
		}
	}
	return infos, nil
}

// Rename implements Files.
func (OS) Rename(old, name string) error { return os.Rename(old, name) }

// RenameNew implements Files. Where the system or the file system cannot do it in one step, a program that creates the name at
// the same moment loses its file.
func (OS) RenameNew(old, name string) error {
	done, err := renameNew(old, name)
	if done {
		return err
	}
	if _, err := os.Lstat(name); err == nil {
		return fs.ErrExist
	}
	return os.Rename(old, name)
}

// Remove implements Files.
func (OS) Remove(name string) error { return os.Remove(name) }

// MkdirAll implements Files.
func (OS) MkdirAll(dir string, perm fs.FileMode) error { return os.MkdirAll(dir, perm) }

// SyncDir implements Files.
func (OS) SyncDir(dir string) error { return syncDir(dir) }

func infoOf(fi fs.FileInfo, err error) (Info, error) {
	if err != nil {
		return Info{}, err
	}
	return Info{Name: fi.Name(), Size: fi.Size(), ModTime: fi.ModTime(), Mode: fi.Mode(), ID: fi}, nil
}

type osFile struct{ *os.File }

// Stat implements File.
func (f osFile) Stat() (Info, error) { return infoOf(f.File.Stat()) }

// Reserve implements File.
func (f osFile) Reserve(end int64) error { return reserve(f.File, end) }

// Lock implements File.
func (f osFile) Lock() error { return lock(f.File) }

// Locked implements File.
func (f osFile) Locked() (bool, error) { return locked(f.File) }

// Close implements File.
func (f osFile) Close() error { return closeFile(f.File) }
