// Package unpack extracts untrusted archives of providers and modules.
//
// An archive may only contain regular files and folders with plain relative names and, if the caller allows them,
// symbolic links that stay in the folder. An archive that contains anything else, such as paths outside of the folder,
// other links, devices or programs with special permissions, or that exceeds the limits, is refused with the reason.
//
//	err := unpack.Zip(ctx, "p.zip", "https://example.com/p.zip", dir, unpack.Limits{Files: 1000, Bytes: 1 << 30})
//
// The functions create the folder, which must not exist before. After an error, or if the context ends, the folder does
// not exist, whatever was extracted by then. The sizes that an archive states are checked before anything is written,
// if it states any; the extracted bytes are counted in any case. Permissions are those of the archive, limited to 0755,
// so that no other user may write; times are not kept.
package unpack

import (
	"archive/tar"
	"archive/zip"
	"compress/bzip2"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tombolo-iac/tombolo/internal/regular"
)

// Limits limits the content of an archive.
type Limits struct {
	Files int   // files and folders, including folders that are only implied by names of files
	Bytes int64 // of all files together
	// Links allows symbolic links inside of the folder.
	Links bool
}

// maxNesting limits the depth of folders.
const maxNesting = 32

// Zip extracts a zip archive into a new folder. name is the name of the archive in errors.
func Zip(ctx context.Context, archive, name, dir string, limits Limits) error {
	file, err := regular.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	r, err := openZip(file, limits)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	return extract(ctx, name, dir, limits, func(t *target) error {
		for _, f := range r.File {
			in, err := f.Open()
			if err != nil {
				return fmt.Errorf("%q: %w", f.Name, err)
			}
			if f.Mode().Type() == fs.ModeSymlink {
				err = t.link(f.Name, "", in)
			} else {
				err = t.add(f.Name, f.Mode(), in)
			}
			if err := errors.Join(err, in.Close()); err != nil {
				return err
			}
		}
		return nil
	})
}

// CheckZip refuses a zip archive whose stated content exceeds the limits, before any of it is read.
func CheckZip(archive string, limits Limits) error {
	file, err := regular.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err = openZip(file, limits); err != nil {
		return fmt.Errorf("read the archive %s: %w", archive, err)
	}
	return nil
}

// directoryBytes limits the size of a zip archive's directory per entry, in bytes, because the directory is in memory
// before anything can be counted.
const directoryBytes = 1 << 10

// openZip reads the directory of an archive and checks the stated sizes.
func openZip(file *os.File, limits Limits) (*zip.Reader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	source := &metered{ReaderAt: file, left: int64(limits.Files+1)*directoryBytes + 1<<20}
	r, err := zip.NewReader(source, info.Size())
	if source.left < 0 {
		return nil, limits.tooMany()
	}
	if errors.Is(err, zip.ErrFormat) {
		return nil, errors.New("it is not a zip archive, or is truncated")
	}
	if err != nil {
		return nil, err
	}
	source.left = math.MaxInt64 // from here on contents are read
	return r, limits.check(r)
}

// metered forwards a number of bytes and then fails.
type metered struct {
	io.ReaderAt
	left int64
}

func (m *metered) ReadAt(p []byte, at int64) (int, error) {
	if m.left -= int64(len(p)); m.left < 0 {
		return 0, errors.New("the directory is too large")
	}
	return m.ReaderAt.ReadAt(p, at)
}

func (limits Limits) check(r *zip.Reader) error {
	if len(r.File) > limits.Files {
		return limits.tooMany()
	}
	var size uint64
	seen := entries{limits: limits}
	for _, f := range r.File {
		if err := seen.enter(f.Name, f.Mode()); err != nil {
			return err
		}
		// The reader returns no more of an entry than its stated size; no single entry can make the sum overflow.
		if size += min(f.UncompressedSize64, uint64(limits.Bytes)+1); size > uint64(limits.Bytes) {
			return limits.tooLarge()
		}
	}
	return nil
}

// TarGz extracts a compressed tar archive into a new folder. name is the name of the archive in errors.
func TarGz(ctx context.Context, name string, r io.Reader, dir string, limits Limits) error {
	plain, err := gzip.NewReader(r)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrHeader):
		return fmt.Errorf("the content of %s is not a gzip archive, or is truncated", name)
	case err != nil:
		return fmt.Errorf("read the archive %s: %w", name, err)
	}
	return Tar(ctx, name, plain, dir, limits)
}

// Tar extracts a tar archive into a new folder. name is the name of the archive in errors.
func Tar(ctx context.Context, name string, r io.Reader, dir string, limits Limits) error {
	return extract(ctx, name, dir, limits, func(t *target) error {
		r := &stream{Reader: Reader(ctx, r), left: limits.Bytes + int64(limits.Files+1)*headerBytes + 2*maxPadding,
			limits: limits}
		for archive := tar.NewReader(r); ; {
			h, err := archive.Next()
			switch {
			case errors.Is(err, io.EOF):
				return drain(r)
			case errors.Is(err, tar.ErrHeader):
				return errors.New("it is not a tar archive, or is damaged")
			case err != nil:
				return err
			case h.Typeflag == tar.TypeXGlobalHeader:
				continue // metadata of the entire archive, such as its commit
			case h.Typeflag == tar.TypeLink:
				return fmt.Errorf("the entry %q is neither a file nor a folder but a link to another entry", h.Name)
			case h.Typeflag == tar.TypeSymlink:
				if err := t.link(h.Name, h.Linkname, nil); err != nil {
					return err
				}
				continue
			}
			if err := t.add(h.Name, h.FileInfo().Mode(), archive); err != nil {
				return err
			}
		}
	})
}

// damage returns a decompression error in our own words.
func damage(err error) error {
	var bzip2Problem bzip2.StructuralError
	var deflateProblem flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is cut off")
	case errors.As(err, &bzip2Problem):
		return errors.New("it is not a bzip2 archive, or is damaged")
	case errors.As(err, &deflateProblem), errors.Is(err, gzip.ErrChecksum), errors.Is(err, zip.ErrChecksum):
		return errors.New("it is damaged: its checksum does not match")
	}
	return err
}

// headerBytes limits the headers and metadata of a tar archive per entry, in bytes: well-compressed headers take long
// to read without using the disk.
const headerBytes = 4 << 10

// stream is a tar archive of limited length.
type stream struct {
	io.Reader
	left   int64
	limits Limits
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if s.left -= int64(n); s.left < 0 {
		return 0, s.limits.tooLarge()
	}
	return n, err
}

// maxPadding limits the bytes after the end of a tar archive, because writers fill their last block.
const maxPadding = 1 << 20

// drain reads to the end, so that the checksum of a compressed archive is verified.
func drain(r io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(r, maxPadding+1))
	if err == nil && n > maxPadding {
		err = errors.New("there is data after its end")
	}
	return err
}

// extract creates the folder and calls fill to write entries into it.
func extract(ctx context.Context, name, dir string, limits Limits, fill func(*target) error) (err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("unpack %s: %w", name, damage(err)), os.RemoveAll(dir))
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	t := &target{ctx: ctx, root: root, entries: entries{limits: limits}}
	if err := fill(t); err != nil {
		return err
	}
	if t.contents == 0 { // then links would have no target
		return errors.New("there are no files in it")
	}
	return t.makeLinks(dir)
}

// Reader returns a reader that fails after the context has ended.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &stoppable{ctx, r} }

type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.r.Read(p)
}

func (limits Limits) tooMany() error  { return fmt.Errorf("it has more than %d entries", limits.Files) }
func (limits Limits) tooLarge() error { return fmt.Errorf("it holds more than %d bytes", limits.Bytes) }

// target is a folder that is being filled. Names are checked first, and os.Root would refuse any that escaped the
// check.
type target struct {
	ctx context.Context
	entries
	root     *os.Root
	contents int
	bytes    int64
	links    []link
}

// entries counts the entries of an archive on the disk, and the folders that contain them.
type entries struct {
	limits  Limits
	files   int
	folders map[string]bool
}

// enter checks an entry and counts it, and each folder that contains it the first time.
func (e *entries) enter(name string, mode fs.FileMode) error {
	if e.files++; e.files > e.limits.Files {
		return e.limits.tooMany()
	}
	if err := e.limits.checkEntry(name, mode); err != nil {
		return err
	}
	if e.folders == nil {
		e.folders = map[string]bool{}
	}
	plain := path.Clean(name)
	if mode.IsDir() {
		e.folders[plain] = true // its own entry was counted
	}
	for dir := path.Dir(plain); dir != "." && !e.folders[dir]; dir = path.Dir(dir) {
		e.folders[dir] = true
		if e.files++; e.files > e.limits.Files {
			return e.limits.tooMany()
		}
	}
	return nil
}

func (t *target) add(name string, mode fs.FileMode, in io.Reader) error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	if err := t.enter(name, mode); err != nil {
		return err
	}
	local := filepath.FromSlash(path.Clean(strings.TrimSuffix(name, "/")))
	if mode.IsDir() {
		return t.folder(local, name)
	}
	if err := t.folder(filepath.Dir(local), name); err != nil {
		return err
	}
	// The same name twice is an error, because programs differ in which of the two they use.
	out, err := t.root.OpenFile(local, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm()&0o755|0o600)
	if err != nil {
		return refusal(name, err)
	}
	t.contents++
	n, err := io.Copy(out, io.LimitReader(Reader(t.ctx, in), t.limits.Bytes-t.bytes+1))
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("%q: %w", name, damage(err))
	}
	if t.bytes += n; t.bytes > t.limits.Bytes {
		return t.limits.tooLarge()
	}
	return nil
}

// folder creates the folder for an entry.
func (t *target) folder(local, entry string) error {
	err := t.root.MkdirAll(local, 0o755)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("the entry %.200q needs a folder where another entry is a file", entry)
	}
	return refusal(entry, err)
}

// refusal returns the error for an entry that cannot be created.
func refusal(name string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the name %.200q appears twice, or another name is the same on this file system", name)
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Errorf("the entry %.200q: %w", name, err)
}

func (limits Limits) checkEntry(name string, mode fs.FileMode) error {
	plain := strings.TrimSuffix(name, "/")
	switch {
	case !filepath.IsLocal(filepath.FromSlash(plain)) || strings.ContainsAny(plain, "\\\x00:") ||
		strings.Contains("/"+plain+"/", "/../"):
		return fmt.Errorf("the entry %.200q has a name that could leave the folder", name)
	case strings.Count(plain, "/") > maxNesting:
		return fmt.Errorf("the entry %.100q… is more than %d folders deep", name, maxNesting)
	case limits.Links && mode.Type() == fs.ModeSymlink:
		return nil
	case !mode.IsRegular() && !mode.IsDir():
		return fmt.Errorf("the entry %.200q is neither a file nor a folder but a %s", name, kind(mode))
	case mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 || mode&fs.ModeSticky != 0:
		return fmt.Errorf("the entry %.200q has special permissions (%s)", name, mode)
	}
	return nil
}

func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case mode&fs.ModeDevice != 0:
		return "device"
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	}
	return "special file"
}
