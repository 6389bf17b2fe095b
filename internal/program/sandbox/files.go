//go:build !without_modules

package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	esys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"
)

func (f Folder) open() (*os.Root, error) {
	if f.Below == "" {
		return os.OpenRoot(f.Path)
	}
	below, err := os.OpenRoot(f.Below)
	if err != nil {
		return nil, err
	}
	defer below.Close()
	path, err := filepath.Rel(f.Below, f.Path)
	if err != nil {
		return nil, err
	}
	return below.OpenRoot(path)
}

// maxOpen limits how many files a run has open.
const maxOpen = 256

// folder is the view that a run has of a folder. Paths cannot leave it, neither with ".." nor by links, even if other
// processes change the folder at the same time: os.Root ensures that. There are only regular files and folders; modules
// neither create links nor change modes and times.
type folder struct {
	esys.UnimplementedFS
	root  *os.Root
	write bool
	open  *atomic.Int32 // files that the run has open, in all of its folders
}

// inRoot returns a path in the form of os.Root.
func inRoot(path string) string {
	if path == "" {
		return "."
	}
	return filepath.FromSlash(path)
}

// errno converts an error. Paths out of the folder are not permitted.
func errno(err error) esys.Errno {
	var system syscall.Errno
	known := errors.As(err, &system)
	if known {
		err = system
	}
	if n := esys.UnwrapOSError(err); n != esys.EIO || known {
		return n
	}
	return esys.EPERM
}

const writing = esys.O_RDWR | esys.O_WRONLY | esys.O_APPEND | esys.O_CREAT | esys.O_TRUNC

// OpenFile implements esys.FS.
func (d *folder) OpenFile(path string, flag esys.Oflag, perm fs.FileMode) (esys.File, esys.Errno) {
	if !d.write && flag&writing != 0 {
		return nil, esys.EROFS
	}
	path = inRoot(path)
	if flag&esys.O_NOFOLLOW != 0 {
		if info, err := d.root.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, esys.ELOOP
		}
	}
	if d.open.Add(1) > maxOpen {
		d.open.Add(-1)
		return nil, esys.EAGAIN
	}
	f, err := d.openRegular(path, flag, perm)
	if err != nil {
		d.open.Add(-1)
		return nil, errno(err)
	}
	return f, 0
}

// openRegular opens a file or folder. Others are refused: a pipe without a writer would block, and a device would give
// more than files.
func (d *folder) openRegular(path string, flag esys.Oflag, perm fs.FileMode) (*file, error) {
	mode := os.O_RDONLY
	switch {
	case flag&esys.O_RDWR != 0:
		mode = os.O_RDWR
	case flag&esys.O_WRONLY != 0:
		mode = os.O_WRONLY
	}
	for ours, theirs := range map[esys.Oflag]int{esys.O_APPEND: os.O_APPEND, esys.O_CREAT: os.O_CREATE,
		esys.O_EXCL: os.O_EXCL, esys.O_TRUNC: os.O_TRUNC, esys.O_SYNC: os.O_SYNC, esys.O_DSYNC: os.O_SYNC} {
		if flag&ours != 0 {
			mode |= theirs
		}
	}
	if info, err := d.root.Stat(path); err == nil && !regularOrFolder(info) {
		return nil, fs.ErrPermission
	}
	opened, err := d.root.OpenFile(path, mode|nonblock, perm.Perm())
	if err != nil {
		return nil, err
	}
	info, err := opened.Stat()
	switch {
	case err == nil && !regularOrFolder(info):
		err = fs.ErrPermission
	case err == nil && flag&esys.O_DIRECTORY != 0 && !info.IsDir():
		err = syscall.ENOTDIR
	}
	if err != nil {
		_ = opened.Close() // nothing was written
		return nil, err
	}
	return &file{f: opened, dir: info.IsDir(), write: d.write, appends: flag&esys.O_APPEND != 0, open: d.open}, nil
}

func regularOrFolder(info fs.FileInfo) bool { return info.IsDir() || info.Mode().IsRegular() }

// Lstat implements esys.FS.
func (d *folder) Lstat(path string) (sys.Stat_t, esys.Errno) { return stat(d.root.Lstat(inRoot(path))) }

// Stat implements esys.FS.
func (d *folder) Stat(path string) (sys.Stat_t, esys.Errno) { return stat(d.root.Stat(inRoot(path))) }

func stat(info fs.FileInfo, err error) (sys.Stat_t, esys.Errno) {
	if err != nil {
		return sys.Stat_t{}, errno(err)
	}
	return sys.NewStat_t(info), 0
}

// Readlink implements esys.FS.
func (d *folder) Readlink(path string) (string, esys.Errno) {
	target, err := d.root.Readlink(inRoot(path))
	return filepath.ToSlash(target), errno(err)
}

// Mkdir implements esys.FS.
func (d *folder) Mkdir(path string, perm fs.FileMode) esys.Errno {
	return d.change(func() error { return d.root.Mkdir(inRoot(path), perm.Perm()) })
}

// Rename implements esys.FS.
func (d *folder) Rename(from, to string) esys.Errno {
	return d.change(func() error {
		// A link would mean something else in its new place, which may be that of a folder of the module.
		if info, err := d.root.Lstat(inRoot(from)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fs.ErrPermission
		}
		return d.root.Rename(inRoot(from), inRoot(to))
	})
}

// Rmdir implements esys.FS.
func (d *folder) Rmdir(path string) esys.Errno {
	return d.change(func() error { return d.remove(inRoot(path), true) })
}

// Unlink implements esys.FS.
func (d *folder) Unlink(path string) esys.Errno {
	return d.change(func() error { return d.remove(inRoot(path), false) })
}

func (d *folder) change(do func() error) esys.Errno {
	if !d.write {
		return esys.EROFS
	}
	return errno(do())
}

// remove removes an empty folder, or something else.
func (d *folder) remove(path string, dir bool) error {
	info, err := d.root.Lstat(path)
	switch {
	case err != nil:
		return err
	case dir && !info.IsDir():
		return syscall.ENOTDIR
	case !dir && info.IsDir():
		return syscall.EISDIR
	}
	return d.root.Remove(path)
}

// file is a file or folder that a run has open.
type file struct {
	esys.UnimplementedFile
	f           *os.File
	dir, write  bool
	appends     bool
	open        *atomic.Int32
	wasReleased bool
}

// Dev implements esys.File.
func (f *file) Dev() (uint64, esys.Errno) {
	st, n := f.Stat()
	return st.Dev, n
}

// Ino implements esys.File.
func (f *file) Ino() (sys.Inode, esys.Errno) {
	st, n := f.Stat()
	return st.Ino, n
}

// IsDir implements esys.File.
func (f *file) IsDir() (bool, esys.Errno) { return f.dir, 0 }

// IsAppend implements esys.File.
func (f *file) IsAppend() bool { return f.appends }

// SetAppend implements esys.File.
func (f *file) SetAppend(enable bool) esys.Errno {
	if enable != f.appends {
		return esys.ENOSYS
	}
	return 0
}

// Stat implements esys.File.
func (f *file) Stat() (sys.Stat_t, esys.Errno) { return stat(f.f.Stat()) }

// Read implements esys.File.
func (f *file) Read(buf []byte) (int, esys.Errno) { return f.moved(f.f.Read(buf)) }

// Pread implements esys.File.
func (f *file) Pread(buf []byte, off int64) (int, esys.Errno) { return f.moved(f.f.ReadAt(buf, off)) }

// Write implements esys.File.
func (f *file) Write(buf []byte) (int, esys.Errno) { return f.moved(f.f.Write(buf)) }

// Pwrite implements esys.File.
func (f *file) Pwrite(buf []byte, off int64) (int, esys.Errno) { return f.moved(f.f.WriteAt(buf, off)) }

// moved returns the result of reading or writing. The end of a file is no error.
func (f *file) moved(n int, err error) (int, esys.Errno) {
	switch {
	case f.dir:
		return 0, esys.EISDIR
	case errors.Is(err, io.EOF):
		return n, 0
	}
	return n, errno(err)
}

// place is an alias because go vet expects Seek to have the signature of io.Seeker if its arguments have these types.
type place = int64

// Seek implements esys.File.
func (f *file) Seek(offset place, whence int) (int64, esys.Errno) {
	at, err := f.f.Seek(offset, whence)
	return at, errno(err)
}

// Readdir implements esys.File.
func (f *file) Readdir(n int) (list []esys.Dirent, _ esys.Errno) {
	if !f.dir {
		return nil, esys.ENOTDIR
	}
	entries, err := f.f.ReadDir(n)
	for _, e := range entries {
		list = append(list, esys.Dirent{Name: e.Name(), Type: e.Type()})
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return list, errno(err)
}

// Truncate implements esys.File.
func (f *file) Truncate(size int64) esys.Errno {
	switch {
	case f.dir:
		return esys.EISDIR
	case !f.write:
		return esys.EROFS
	}
	return errno(f.f.Truncate(size))
}

// Sync implements esys.File.
func (f *file) Sync() esys.Errno { return errno(f.f.Sync()) }

// Datasync implements esys.File.
func (f *file) Datasync() esys.Errno { return f.Sync() }

// Close implements esys.File.
func (f *file) Close() esys.Errno {
	if !f.wasReleased {
		f.wasReleased = true
		f.open.Add(-1)
	}
	return errno(f.f.Close())
}
