package handler

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// preparedFolder is a folder whose content is created once for all processes of a machine, because that takes long or
// because a partial folder must not be used.
//
// One of several processes creates the content, under a lock beside the folder, and the others wait. A mark in the
// folder, which is written last, shows that it is complete. A partial folder of a killed process is removed and created
// again. A complete folder is only read, so it may be on a read-only disk. On a file system without locks, processes do
// not wait.
type preparedFolder struct {
	Dir string
	// Again creates the content even if the folder is complete, on top of the existing content.
	Again bool
	// Whole, if set, checks a folder with a mark, because a part of it may have been removed.
	Whole func() bool
	// Waiting is called once if another process has the lock.
	Waiting func()
	// Make writes the content of the folder, which exists. Child processes that may outlive this process should inherit
	// the files in hold: while any process has them open, no other process begins.
	Make func(ctx context.Context, hold []*os.File) error
}

// wholeMark is the name of the mark in a complete folder.
const wholeMark = ".whole"

// lockInterval is the interval between tries to get the lock.
const lockInterval = 50 * time.Millisecond

// prepareOnce completes the folder. The error is that of Make or of the system, or the cause of the context.
func prepareOnce(ctx context.Context, w preparedFolder) error {
	if !w.Again && w.done() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(w.Dir), 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(w.Dir+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := awaitLock(ctx, lock, w.Waiting); err != nil {
		return err
	}
	defer unlock(lock) // even if other processes have inherited it
	switch {
	case w.Again:
		if err := os.Remove(filepath.Join(w.Dir, wholeMark)); err != nil && !os.IsNotExist(err) {
			return err
		}
	case w.done():
		return nil
	default:
		if err := removeTree(w.Dir); err != nil {
			return fmt.Errorf("remove unfinished files: %w", err)
		}
	}
	if err := os.MkdirAll(w.Dir, 0o700); err != nil {
		return err
	}
	if err := w.Make(ctx, inheritable(lock)); err != nil {
		return err
	}
	return w.finish()
}

// removeTree removes a folder, even with read-only subfolders, as in module caches.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

func (w preparedFolder) done() bool {
	info, err := os.Stat(filepath.Join(w.Dir, wholeMark))
	return err == nil && info.Mode().IsRegular() && (w.Whole == nil || w.Whole())
}

// finish writes the mark.
func (w preparedFolder) finish() error {
	f, err := os.CreateTemp(w.Dir, wholeMark+"-*")
	if err != nil {
		return err
	}
	err = f.Sync()
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(w.Dir, wholeMark))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// awaitLock waits for the lock.
func awaitLock(ctx context.Context, lock *os.File, waiting func()) error {
	for first := true; ; first = false {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if tryLock(lock) {
			return nil
		}
		if first && waiting != nil {
			waiting()
		}
		select {
		case <-time.After(lockInterval):
		case <-ctx.Done():
		}
	}
}
