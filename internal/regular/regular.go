// Package regular reads files that others may have created: in a cloned repository, an unpacked archive, or by another
// process. Such a file can be a named pipe without a writer, an endless device, or larger than memory; each is refused
// immediately.
//
//	text, err := regular.Read("main.tf", regular.Text)
//
// For a symbolic link, the target counts. A caller that must not follow links opens the name below an os.Root and uses
// OpenIn or ReadIn.
//
// Share and Permit set the permissions of a file that is written; Patient waits for leases.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Limits for the usual kinds of files, in bytes.
const (
	// Text is the limit of a configuration file, or of a file with variable values, tests or mocks.
	Text = 64 << 20
	// Record is the limit of files that programs write for programs, such as lists of installed packages and lock
	// files.
	Record = 16 << 20
	// Note is the limit of a file with a name or a few settings.
	Note = 1 << 20
	// State is the limit of a state and of its journal. Reading one takes several times as much memory, and a sparse
	// file may claim any size.
	State = 4 << 30
)

var (
	// ErrKind means that a file is not a regular file.
	ErrKind = errors.New("not a regular file")
	// ErrSize means that a file exceeds its limit.
	ErrSize = errors.New("too large")
)

// problem is a problem with a file, as a text that follows its name.
type problem struct {
	text string
	kind error
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.kind }

// Read returns the content of a regular file of up to limit bytes.
func Read(name string, limit int64) ([]byte, error) {
	return content(name, limit)(Open(name))
}

// ReadIn is like Read for a name below a folder. The path cannot leave the folder.
func ReadIn(root *os.Root, name string, limit int64) ([]byte, error) {
	return content(name, limit)(OpenIn(root, name))
}

func content(name string, limit int64) func(*os.File, error) ([]byte, error) {
	return func(f *os.File, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return upTo(f, name, limit)
	}
}

// Named returns the content of a file that a user named, as on the command line, up to limit bytes. It also reads pipes
// and terminals.
func Named(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return upTo(f, name, limit)
}

// Open opens a regular file for reading. It only waits for the end of a lease. Other kinds of files are refused before
// they are opened, or afterwards if the file was replaced in between.
func Open(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err == nil {
		err = readable(name, info)
	}
	if err != nil {
		return nil, err
	}
	return judged(Patient(func() (*os.File, error) { return os.OpenFile(name, os.O_RDONLY|dontWait, 0) }))
}

// CheckFile returns an error for a file that is not regular or exceeds limit bytes. It is for files that a library
// opens by name; the library reports missing files.
func CheckFile(name string, limit int64) error {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = readable(name, info)
	}
	if err == nil {
		err = Fits(name, info.Size(), limit)
	}
	return err
}

// Fits returns an error, which wraps ErrSize, for a file of more than limit bytes.
func Fits(name string, size, limit int64) error {
	if err := fits(size, limit); err != nil {
		return &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return nil
}

func fits(size, limit int64) error {
	if size <= limit {
		return nil
	}
	return &problem{fmt.Sprintf("it has more than %s, the limit for such a file", bytes(limit)), ErrSize}
}

// OpenIn is like Open for a name below a folder. The path cannot leave the folder.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err == nil {
		err = readable(name, info)
	}
	if err != nil {
		return nil, err
	}
	return judged(Patient(func() (*os.File, error) { return root.OpenFile(name, os.O_RDONLY|dontWait, 0) }))
}

// judged checks a file that was opened.
func judged(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = readable(f.Name(), info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readable is like Check, but also accepts the null device: users link to it where a file should have no effect, and it
// is empty.
func readable(name string, info fs.FileInfo) error {
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(null, info) {
		return nil
	}
	return Check(name, info)
}

// Check returns an error if a file is not regular. It wraps ErrKind, or the system's error for a folder.
func Check(name string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return &fs.PathError{Op: "read", Path: name, Err: syscall.EISDIR}
	}
	return &fs.PathError{Op: "read", Path: name, Err: &problem{"it is " + Kind(info.Mode()) + ", not a regular file",
		ErrKind}}
}

// Kind returns the kind of a file, with an article.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a file of a special kind"
}

// upTo reads a file to its end, which must be within the limit.
func upTo(f *os.File, name string, limit int64) ([]byte, error) {
	content, err := Rest(f, limit)
	if errors.Is(err, ErrSize) {
		err = &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return content, err
}

// Rest reads f to its end, which must be within the limit. If f is a file, Rest checks its size before it reads. Its
// errors do not name the file.
func Rest(f io.Reader, limit int64) ([]byte, error) {
	size := int64(0)
	if file, ok := f.(fs.File); ok {
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			size = max(info.Size(), 0)
		}
	}
	if err := fits(size, limit); err != nil {
		return nil, err
	}
	content := make([]byte, 0, size+1)
	for r := io.LimitReader(f, limit+1); ; {
		if len(content) == cap(content) {
			content = append(content, 0)[:len(content)]
		}
		n, err := r.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if err := fits(int64(len(content)), limit); err != nil {
		return nil, err
	}
	return content, nil
}

// bytes formats a number of bytes.
func bytes(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
