// Package mem keeps files, including states, in memory: for the backend "inmem", for programs that embed the engine,
// and for tests that simulate thousands of crashes. The store on top is the same that keeps states on disk, with all
// guarantees except that states outlive the process.
package mem

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/state"
)

// New returns a store that exists as long as it is referenced.
func New() state.Store { return store.New(store.Options{Files: NewFS(), Rescue: []string{}}) }

// FS is an in-memory file system. It implements store.Files and is safe for concurrent use.
type FS struct {
	mu    sync.Mutex
	files map[string]*inode
	dirs  map[string]bool
	clock time.Time // advances with every change, so that no two changes have the same time
	// Mandatory makes locks those of Windows: only the open file that has the lock can read or write. It is set before
	// the first use.
	Mandatory bool
}

// clean returns the name under which a file is kept: the same on all systems.
func clean(name string) string { return filepath.ToSlash(filepath.Clean(name)) }

type inode struct {
	data   []byte
	mode   fs.FileMode
	time   time.Time
	holder *handle // holder of the lock
}

// NewFS returns an empty file system with one folder, ".".
func NewFS() *FS {
	return &FS{files: map[string]*inode{}, dirs: map[string]bool{".": true}, clock: time.Unix(1_700_000_000, 0)}
}

// Clone copies the current content. No file in the copy is open or locked: it is what the next process finds after this
// one has died.
func (m *FS) Clone() *FS {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &FS{files: map[string]*inode{}, dirs: maps.Clone(m.dirs), clock: m.clock, Mandatory: m.Mandatory}
	for name, i := range m.files {
		c.files[name] = &inode{data: slices.Clone(i.data), mode: i.mode, time: i.time}
	}
	return c
}

// DropLocks releases all locks, as if all processes had ended.
func (m *FS) DropLocks() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, i := range m.files {
		i.holder = nil
	}
}

// Contents returns the content of every file.
func (m *FS) Contents() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]string{}
	for name, i := range m.files {
		all[name] = string(i.data)
	}
	return all
}

// Put creates a file with this content, or replaces its content.
func (m *FS) Put(name string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = clean(name)
	i := m.files[name]
	if i == nil {
		i = &inode{mode: 0o600}
		m.files[name] = i
	}
	i.data, i.time = slices.Clone(data), m.tick()
	for dir := path.Dir(name); !m.dirs[dir]; dir = path.Dir(dir) {
		m.dirs[dir] = true
	}
}

func (m *FS) tick() time.Time {
	m.clock = m.clock.Add(time.Microsecond)
	return m.clock
}

func fail(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// Resolve implements store.Files. FS has no links.
func (m *FS) Resolve(name string) (string, error) { return name, nil }

// Through implements store.Files. FS has neither devices nor pipes.
func (m *FS) Through(name string) (io.WriteCloser, error) {
	return nil, fail("open", name, fs.ErrNotExist)
}

// Open implements store.Files.
func (m *FS) Open(name string, flag int, perm fs.FileMode) (store.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = clean(name)
	i := m.files[name]
	switch {
	case i == nil && flag&os.O_CREATE == 0, !m.dirs[path.Dir(name)]:
		return nil, fail("open", name, fs.ErrNotExist)
	case i != nil && flag&os.O_EXCL != 0:
		return nil, fail("open", name, fs.ErrExist)
	case i == nil:
		i = &inode{mode: perm, time: m.tick()}
		m.files[name] = i
	case flag&os.O_TRUNC != 0:
		i.data, i.time = nil, m.tick()
	}
	return &handle{fs: m, inode: i, name: name}, nil
}

// Stat implements store.Files.
func (m *FS) Stat(name string) (store.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = clean(name)
	if m.dirs[name] {
		return store.Info{Name: path.Base(name), Mode: fs.ModeDir | 0o755, ID: "folder " + name}, nil
	}
	i := m.files[name]
	if i == nil {
		return store.Info{}, fail("stat", name, fs.ErrNotExist)
	}
	return i.info(name), nil
}

func (i *inode) info(name string) store.Info {
	return store.Info{Name: path.Base(name), Size: int64(len(i.data)), ModTime: i.time, Mode: i.mode, ID: i}
}

// List implements store.Files.
func (m *FS) List(dir string) ([]store.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = clean(dir)
	if !m.dirs[dir] {
		return nil, fail("list", dir, fs.ErrNotExist)
	}
	var all []store.Info
	for name, i := range m.files {
		if path.Dir(name) == dir {
			all = append(all, i.info(name))
		}
	}
	for name := range m.dirs {
		if path.Dir(name) == dir && name != dir {
			all = append(all, store.Info{Name: path.Base(name), Mode: fs.ModeDir | 0o755})
		}
	}
	slices.SortFunc(all, func(a, b store.Info) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Rename implements store.Files.
func (m *FS) Rename(old, name string) error { return m.rename(old, name, true) }

// RenameNew implements store.Files.
func (m *FS) RenameNew(old, name string) error { return m.rename(old, name, false) }

// Replaceable implements store.Files. Every file can be replaced.
func (m *FS) Replaceable(string) error { return nil }

func (m *FS) rename(old, name string, replace bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, name = clean(old), clean(name)
	i := m.files[old]
	switch {
	case i == nil:
		return fail("rename", old, fs.ErrNotExist)
	case !replace && m.files[name] != nil:
		return fail("rename", name, fs.ErrExist)
	}
	m.files[name] = i
	delete(m.files, old)
	return nil
}

// Remove implements store.Files.
func (m *FS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = clean(name)
	switch {
	case m.dirs[name]:
		return &store.IrregularError{Name: name, Mode: fs.ModeDir}
	case m.files[name] == nil:
		return fail("remove", name, fs.ErrNotExist)
	}
	delete(m.files, name)
	return nil
}

// RemoveDir implements store.Files.
func (m *FS) RemoveDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if dir = clean(dir); !m.dirs[dir] {
		return fail("remove", dir, fs.ErrNotExist)
	}
	delete(m.dirs, dir)
	return nil
}

// MkdirAll implements store.Files.
func (m *FS) MkdirAll(dir string, _ fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for dir = clean(dir); !m.dirs[dir]; dir = path.Dir(dir) {
		m.dirs[dir] = true
	}
	return nil
}

// SyncDir implements store.Files.
func (m *FS) SyncDir(string) error { return nil }

type handle struct {
	fs    *FS
	inode *inode
	name  string
}

// errHeld is the error for reading or writing a file that another has locked, where locks are mandatory.
var errHeld = errors.New("another process has locked a portion of the file")

// held returns an error if the lock of another prevents reading and writing.
func (h *handle) held() error {
	if h.fs.Mandatory && h.inode.holder != nil && h.inode.holder != h {
		return fail("use", h.name, errHeld)
	}
	return nil
}

// ReadAt implements store.File.
func (h *handle) ReadAt(b []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.held(); err != nil {
		return 0, err
	}
	if off >= int64(len(h.inode.data)) {
		return 0, io.EOF
	}
	n := copy(b, h.inode.data[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements store.File.
func (h *handle) WriteAt(b []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.held(); err != nil {
		return 0, err
	}
	if end := int(off) + len(b); end > len(h.inode.data) {
		h.inode.data = append(h.inode.data, make([]byte, end-len(h.inode.data))...)
	}
	h.inode.time = h.fs.tick()
	return copy(h.inode.data[off:], b), nil
}

// Truncate implements store.File.
func (h *handle) Truncate(size int64) error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.held(); err != nil {
		return err
	}
	d := h.inode.data
	if int(size) > len(d) {
		d = append(d, make([]byte, int(size)-len(d))...)
	}
	h.inode.data, h.inode.time = d[:size:size], h.fs.tick()
	return nil
}

// Sync implements store.File.
func (h *handle) Sync() error { return nil }

// Reserve implements store.File.
func (h *handle) Reserve(int64) error { return nil }

// Stat implements store.File.
func (h *handle) Stat() (store.Info, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return h.inode.info(h.name), nil
}

// Share implements store.File.
func (h *handle) Share(like store.Info) error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	h.inode.mode = like.Mode.Perm()
	return nil
}

// Lock implements store.File.
func (h *handle) Lock() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.inode.holder != nil && h.inode.holder != h {
		return store.ErrLocked
	}
	h.inode.holder = h
	return nil
}

// Locked implements store.File.
func (h *handle) Locked() (bool, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return h.inode.holder != nil && h.inode.holder != h, nil
}

// Close implements store.File.
func (h *handle) Close() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.inode.holder == h {
		h.inode.holder = nil
	}
	return nil
}
