package faults

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
)

// Recorder records every change that a store makes, and builds the disks that may be found after a power loss at any
// moment. It guarantees as little as POSIX does: data is durable after a sync of the file, a name after a sync of its
// folder. Until then, each single change may have happened or not, in any combination.
type Recorder struct {
	*mem.FS
	start *mem.FS

	mu    sync.Mutex
	log   []Change
	names map[string]int // current names of files
	files int
}

// Change is one change as recorded.
type Change struct {
	What string // create, rename, remove, write, truncate, sync, syncdir
	File int
	Name string // of create, rename, remove: the name that changes; of syncdir: the folder; otherwise for messages
	Old  string // of rename
	Off  int64  // of write; of truncate: the size
	Data []byte
}

// IsData reports whether a change affects content, and not a name.
func (c Change) IsData() bool { return c.What == "write" || c.What == "truncate" }

// Outcome is the outcome of a change that was not yet durable.
type Outcome struct {
	Drop bool
	// Cut, if not negative, is how many bytes of a write arrived. After them follows the old content; where the write
	// extended the file, nothing or, with Fill, these bytes. Each sector is either old or new.
	Cut  int
	Fill []byte
}

// Kept and Dropped are the outcomes of a change that happens completely or not at all.
var (
	Kept    = Outcome{Cut: -1}
	Dropped = Outcome{Drop: true, Cut: -1}
)

// Record starts recording on a disk whose content is durable.
func Record(disk *mem.FS) *Recorder {
	r := &Recorder{FS: disk, start: disk.Clone(), names: map[string]int{}}
	for _, name := range slices.Sorted(maps.Keys(disk.Contents())) {
		r.names[name] = r.files
		r.files++
	}
	return r
}

// Len returns the number of changes so far.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.log)
}

func (r *Recorder) note(c Change) {
	r.log = append(r.log, c)
}

// Open implements store.Files.
func (r *Recorder) Open(name string, flag int, perm fs.FileMode) (store.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := r.FS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	name = filepath.Clean(name)
	id, ok := r.names[name]
	switch {
	case !ok:
		id = r.files
		r.files++
		r.names[name] = id
		r.note(Change{What: "create", File: id, Name: name})
	case flag&os.O_TRUNC != 0:
		r.note(Change{What: "truncate", File: id, Name: name})
	}
	return &recorded{f, r, id, name}, nil
}

// Rename implements store.Files.
func (r *Recorder) Rename(old, name string) error {
	return r.rename(old, name, r.FS.Rename)
}

// RenameNew implements store.Files.
func (r *Recorder) RenameNew(old, name string) error {
	return r.rename(old, name, r.FS.RenameNew)
}

func (r *Recorder) rename(old, name string, do func(old, name string) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := do(old, name); err != nil {
		return err
	}
	old, name = filepath.Clean(old), filepath.Clean(name)
	r.note(Change{What: "rename", File: r.names[old], Name: name, Old: old})
	r.names[name] = r.names[old]
	delete(r.names, old)
	return nil
}

// Remove implements store.Files.
func (r *Recorder) Remove(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.FS.Remove(name); err != nil {
		return err
	}
	name = filepath.Clean(name)
	r.note(Change{What: "remove", File: r.names[name], Name: name})
	delete(r.names, name)
	return nil
}

// SyncDir implements store.Files.
func (r *Recorder) SyncDir(dir string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(Change{What: "syncdir", Name: filepath.Clean(dir)})
	return nil
}

type recorded struct {
	store.File
	r    *Recorder
	id   int
	name string
}

func (f *recorded) change(c Change, do func() error) error {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	c.File, c.Name = f.id, f.name
	err := do()
	if err == nil {
		f.r.note(c)
	}
	return err
}

// WriteAt implements store.File.
func (f *recorded) WriteAt(b []byte, off int64) (n int, err error) {
	err = f.change(Change{What: "write", Off: off, Data: slices.Clone(b)}, func() error {
		n, err = f.File.WriteAt(b, off)
		return err
	})
	return n, err
}

// Truncate implements store.File.
func (f *recorded) Truncate(size int64) error {
	return f.change(Change{What: "truncate", Off: size}, func() error { return f.File.Truncate(size) })
}

// Sync implements store.File.
func (f *recorded) Sync() error { return f.change(Change{What: "sync"}, f.File.Sync) }

// Uncertain lists those of the first n changes that a power loss right after them may undo.
func (r *Recorder) Uncertain(n int) (all []int) {
	for i, c := range r.log[:n] {
		certain := c.What == "sync" || c.What == "syncdir"
		for _, later := range r.log[i+1 : n] {
			if later.What == "sync" && c.IsData() && later.File == c.File ||
				later.What == "syncdir" && !c.IsData() && later.Name == filepath.Dir(c.Name) {
				certain = true
			}
		}
		if !certain {
			all = append(all, i)
		}
	}
	return all
}

// Change returns one change.
func (r *Recorder) Change(i int) Change { return r.log[i] }

// Disk builds the disk after a power loss after the first n changes. The uncertain changes have these fates (Kept by
// default).
func (r *Recorder) Disk(n int, fates map[int]Outcome) *mem.FS {
	disk := r.start.Clone()
	names, data := map[string]int{}, map[int][]byte{}
	for i, name := range slices.Sorted(maps.Keys(disk.Contents())) {
		names[name], data[i] = i, []byte(disk.Contents()[name])
	}
	for i, c := range r.log[:n] {
		outcome, ok := fates[i]
		if !ok {
			outcome = Kept
		}
		if !outcome.Drop {
			c.apply(names, data, outcome)
		}
	}
	for name := range disk.Contents() {
		disk.Remove(name)
	}
	for name, id := range names {
		disk.Put(name, data[id])
	}
	return disk
}

func (c Change) apply(names map[string]int, data map[int][]byte, outcome Outcome) {
	grow := func(size int) {
		if d := data[c.File]; size > len(d) {
			data[c.File] = append(d[:len(d):len(d)], make([]byte, size-len(d))...)
		}
	}
	switch c.What {
	case "create":
		names[c.Name] = c.File
	case "rename":
		delete(names, c.Old)
		names[c.Name] = c.File
	case "remove":
		delete(names, c.Name)
	case "truncate":
		grow(int(c.Off))
		data[c.File] = slices.Clone(data[c.File][:c.Off])
	case "write":
		old, b := data[c.File], slices.Clone(c.Data)
		if outcome.Cut >= 0 {
			for i := range b[outcome.Cut:] {
				if at := int(c.Off) + outcome.Cut + i; at < len(old) {
					b[outcome.Cut+i] = old[at]
				} else if outcome.Fill != nil {
					b[outcome.Cut+i] = outcome.Fill[i]
				} else {
					b = b[:outcome.Cut+i]
					break
				}
			}
		}
		grow(int(c.Off) + len(b))
		d := slices.Clone(data[c.File])
		copy(d[c.Off:], b)
		data[c.File] = d
	}
}
