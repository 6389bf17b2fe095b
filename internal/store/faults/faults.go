// Package faults makes chosen file accesses of a store fail, one call at a time. Tests use it to try every fault at
// every call.
//
// In a test, Wrap counts the calls of a first run without faults; each further run gets a Plan for one of them. In a
// real process, FromEnv reads the environment variable TOMBOLO_FAULT and kills the process itself at the chosen call.
// Only tests set that variable.
//
//	TOMBOLO_FAULT=kill:17          SIGKILL before the 17th call of the store
//	TOMBOLO_FAULT=kill-after:17    SIGKILL after it
//	TOMBOLO_FAULT=kill-short:17    half of the data is written, then SIGKILL
//	TOMBOLO_FAULT=eio:17           the call fails with an input/output error, without effect
//	TOMBOLO_FAULT=enospc:17        half of the data is written, then "no space left on device"
//	TOMBOLO_FAULT=full:17          from this call on, nothing can be created or written
//	TOMBOLO_FAULT=count:FILE       no fault; each call writes the number of calls so far to FILE
//
// Recorder (recorder.go) simulates power loss: it records every change, and builds the disks that may be found
// afterwards.
package faults

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/tombolo-iac/tombolo/internal/store"
)

// Mode is the fault at the chosen call.
type Mode string

// The modes.
const (
	None      Mode = ""
	Kill      Mode = "kill"
	KillAfter Mode = "kill-after"
	KillShort Mode = "kill-short"
	EIO       Mode = "eio"
	ENOSPC    Mode = "enospc"
	Full      Mode = "full"
)

// Modes lists all faults.
var Modes = []Mode{Kill, KillAfter, KillShort, EIO, ENOSPC, Full}

// Kills reports whether the mode ends the process.
func (m Mode) Kills() bool { return strings.HasPrefix(string(m), string(Kill)) }

// Plan chooses one call, counted from 1.
type Plan struct {
	Call int
	Mode Mode
}

// ErrDead is the error of every call after the process was "killed" in a test.
var ErrDead = errors.New("the process was killed here")

// Files wraps the files of a store.
type Files struct {
	inner store.Files
	plan  Plan
	// Die ends the process. If it is nil or returns, as in tests, every further call fails with ErrDead and has no
	// effect.
	Die func()
	// Spare reports whether a name is on another disk, which the mode Full does not affect.
	Spare func(name string) bool
	// Seen is called before every call.
	Seen func(n int, call, name string)

	mu       sync.Mutex
	calls    int
	dead     bool
	full     bool
	reserved map[string]int64 // size up to which space is reserved
}

// Wrap applies a plan of faults to files.
func Wrap(inner store.Files, plan Plan) *Files { return &Files{inner: inner, plan: plan} }

// FromEnv wraps files according to the value of TOMBOLO_FAULT. It returns them unchanged if the value is empty.
func FromEnv(spec string, inner store.Files) (store.Files, error) {
	if spec == "" {
		return inner, nil
	}
	mode, at, _ := strings.Cut(spec, ":")
	if mode == "count" {
		f := Wrap(inner, Plan{})
		f.Seen = func(n int, _, _ string) { os.WriteFile(at, []byte(strconv.Itoa(n)), 0o600) }
		return f, nil
	}
	n, err := strconv.Atoi(at)
	known := false
	for _, m := range Modes {
		known = known || m == Mode(mode)
	}
	if err != nil || !known {
		return nil, fmt.Errorf("TOMBOLO_FAULT=%s: expected MODE:CALL, such as kill:17", spec)
	}
	f := Wrap(inner, Plan{n, Mode(mode)})
	f.Die = killSelf
	return f, nil
}

// killSelf ends the process as kill -9 does: nothing is flushed, nothing deferred runs.
func killSelf() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		p.Kill()
	}
	select {} // wait for the signal
}

// Calls returns the number of calls.
func (f *Files) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Dead reports whether the process was killed.
func (f *Files) Dead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// call counts a call and returns its fault.
func (f *Files) call(what, name string, writes bool) Mode {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return Kill
	}
	f.calls++
	if f.Seen != nil {
		f.Seen(f.calls, what, name)
	}
	if f.calls == f.plan.Call && f.plan.Mode == Full {
		f.full = true
	}
	switch {
	case f.full && writes && (f.Spare == nil || !f.Spare(name)):
		return ENOSPC
	case f.full || f.calls != f.plan.Call:
		return None
	}
	return f.plan.Mode
}

func (f *Files) die() error {
	f.mu.Lock()
	f.dead = true
	f.mu.Unlock()
	if f.Die != nil {
		f.Die()
	}
	return ErrDead
}

// do runs a call without data under its fault.
func (f *Files) do(what, name string, writes bool, act func() error) error {
	switch f.call(what, name, writes) {
	case None:
		return act()
	case Kill:
		return f.die()
	case KillAfter, KillShort:
		act()
		return f.die()
	case ENOSPC:
		if writes {
			return &fs.PathError{Op: what, Path: name, Err: syscall.ENOSPC}
		}
		return act()
	}
	return &fs.PathError{Op: what, Path: name, Err: syscall.EIO}
}

// Open implements store.Files.
func (f *Files) Open(name string, flag int, perm fs.FileMode) (file store.File, err error) {
	makes := false
	if flag&os.O_CREATE != 0 {
		_, statErr := f.inner.Stat(name)
		makes = statErr != nil
	}
	err = f.do("open", name, makes, func() (err error) {
		file, err = f.inner.Open(name, flag, perm)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &wrapped{f, file, name}, nil
}

// Stat implements store.Files.
func (f *Files) Stat(name string) (info store.Info, err error) {
	err = f.do("stat", name, false, func() (err error) { info, err = f.inner.Stat(name); return err })
	return info, err
}

// List implements store.Files.
func (f *Files) List(dir string) (infos []store.Info, err error) {
	err = f.do("list", dir, false, func() (err error) { infos, err = f.inner.List(dir); return err })
	return infos, err
}

// Rename implements store.Files.
func (f *Files) Rename(old, name string) error {
	return f.do("rename", name, true, func() error { return f.inner.Rename(old, name) })
}

// RenameNew implements store.Files.
func (f *Files) RenameNew(old, name string) error {
	return f.do("rename", name, true, func() error { return f.inner.RenameNew(old, name) })
}

// Replaceable implements store.Files.
func (f *Files) Replaceable(name string) error {
	return f.do("stat", name, false, func() error { return f.inner.Replaceable(name) })
}

// Remove implements store.Files.
func (f *Files) Remove(name string) error {
	return f.do("remove", name, false, func() error { return f.inner.Remove(name) })
}

// RemoveDir implements store.Files.
func (f *Files) RemoveDir(dir string) error {
	return f.do("rmdir", dir, false, func() error { return f.inner.RemoveDir(dir) })
}

// Resolve implements store.Files.
func (f *Files) Resolve(name string) (to string, err error) {
	err = f.do("resolve", name, false, func() (err error) { to, err = f.inner.Resolve(name); return err })
	return to, err
}

// Through implements store.Files.
func (f *Files) Through(name string) (to io.WriteCloser, err error) {
	err = f.do("open", name, false, func() (err error) { to, err = f.inner.Through(name); return err })
	return to, err
}

// MkdirAll implements store.Files.
func (f *Files) MkdirAll(dir string, perm fs.FileMode) error {
	return f.do("mkdir", dir, true, func() error { return f.inner.MkdirAll(dir, perm) })
}

// SyncDir implements store.Files.
func (f *Files) SyncDir(dir string) error {
	return f.do("syncdir", dir, false, func() error { return f.inner.SyncDir(dir) })
}

type wrapped struct {
	f     *Files
	inner store.File
	name  string
}

// ReadAt implements store.File.
func (w *wrapped) ReadAt(b []byte, off int64) (n int, err error) {
	var end error
	err = w.f.do("read", w.name, false, func() error { n, end = w.inner.ReadAt(b, off); return nil })
	if err != nil {
		return 0, err
	}
	return n, end
}

// needsNoSpace reports whether a write needs no new space.
func (w *wrapped) needsNoSpace(end int64) bool {
	info, err := w.inner.Stat()
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	return err == nil && end <= max(info.Size, w.f.reserved[w.name])
}

// WriteAt implements store.File.
func (w *wrapped) WriteAt(b []byte, off int64) (int, error) {
	fault := func(err error) error { return &fs.PathError{Op: "write", Path: w.name, Err: err} }
	switch w.f.call("write", w.name, !w.needsNoSpace(off+int64(len(b)))) {
	case None:
		return w.inner.WriteAt(b, off)
	case Kill:
		return 0, w.f.die()
	case KillAfter:
		w.inner.WriteAt(b, off)
		return 0, w.f.die()
	case KillShort:
		w.inner.WriteAt(b[:len(b)/2], off)
		return 0, w.f.die()
	case ENOSPC:
		n, _ := w.inner.WriteAt(b[:len(b)/2], off)
		return n, fault(syscall.ENOSPC)
	}
	return 0, fault(syscall.EIO)
}

// Truncate implements store.File.
func (w *wrapped) Truncate(size int64) error {
	return w.f.do("truncate", w.name, false, func() error { return w.inner.Truncate(size) })
}

// Sync implements store.File.
func (w *wrapped) Sync() error { return w.f.do("sync", w.name, false, w.inner.Sync) }

// Share implements store.File.
func (w *wrapped) Share(like store.Info) error {
	return w.f.do("share", w.name, false, func() error { return w.inner.Share(like) })
}

// Reserve implements store.File.
func (w *wrapped) Reserve(end int64) error {
	return w.f.do("reserve", w.name, true, func() error {
		err := w.inner.Reserve(end)
		w.f.mu.Lock()
		defer w.f.mu.Unlock()
		if w.f.reserved == nil {
			w.f.reserved = map[string]int64{}
		}
		if err == nil {
			w.f.reserved[w.name] = end
		}
		return err
	})
}

// Stat implements store.File.
func (w *wrapped) Stat() (info store.Info, err error) {
	err = w.f.do("stat", w.name, false, func() (err error) { info, err = w.inner.Stat(); return err })
	return info, err
}

// Lock implements store.File.
func (w *wrapped) Lock() error { return w.f.do("lock", w.name, false, w.inner.Lock) }

// Locked implements store.File.
func (w *wrapped) Locked() (held bool, err error) {
	err = w.f.do("locked", w.name, false, func() (err error) { held, err = w.inner.Locked(); return err })
	return held, err
}

// Close implements store.File. It cannot fail in a way that matters, and releases the lock even when it reports an
// error.
func (w *wrapped) Close() error {
	if w.f.Dead() {
		return ErrDead
	}
	return w.inner.Close()
}
