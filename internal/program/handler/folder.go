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

// preparedFolder is a folder whose content is made once for all processes of a machine: what takes long to make, or
// must not be seen half made.
//
// Of several processes one works, under a lock beside the folder, and the others wait for it. A mark in the folder,
// which is written last, says that it is whole. What a process that was killed has left behind is removed, and made
// again from the beginning. A folder that is whole is only looked at, so that it may be on a disk that cannot be
// written to. On a file system without locks, nothing waits.
type preparedFolder struct {
	Dir string
	// Again prepares the folder even if it is complete, over its content.
	Again bool
	// Whole, if it is set, is asked of a folder with a mark: someone may have removed a part of it.
	Whole func() bool
	// Waiting is called once if another process works.
	Waiting func()
	// Make writes the content into the folder, which exists. What it starts and does not see to its end, because this
	// process is killed, ought to inherit the files hold: as long as one has them, no other process begins.
	Make func(ctx context.Context, hold []*os.File) error
}

// wholeMark is the name of the file that marks a complete folder.
const wholeMark = ".whole"

// lockInterval is how often it is tried to get the lock.
const lockInterval = 50 * time.Millisecond

// prepareOnce completes the folder. The error is that of Make, or of the system, or the cause of the context.
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
	defer unlock(lock) // whatever has inherited it
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

// removeTree removes a folder, including read-only folders, as in module caches.
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
