// Package regular reads files that others may have created: a cloned repository, an unpacked archive, another process.
// Such a file can be a named pipe without a writer, an endless device, or larger than memory; each is refused at once.
//
//	text, err := regular.Read("main.tf", regular.Text)
//
// A symbolic link counts as what it leads to. A caller that must not follow links opens the name below an os.Root and
// uses OpenIn or ReadIn.
//
// Share and Permit give a file that is written its permissions; Patient waits for leases.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Limits for the usual kinds of files.
const (
	// Text is the limit of a file of configuration, values, tests or mocks.
	Text = 64 << 20
	// Record is the limit of files that programs write for programs: lists of installed or locked packages.
	Record = 16 << 20
	// Note is the limit of a file with a name or a few settings.
	Note = 1 << 20
	// State is the limit of a state, and of its journal. Reading one takes several times as much memory, and a file
	// without content may claim any size.
	State = 4 << 30
)

var (
	// ErrKind means that something is no regular file.
	ErrKind = errors.New("not a regular file")
	// ErrSize means that a file is larger than it may be.
	ErrSize = errors.New("too large")
)

// problem is a problem of a file, in words that follow its name.
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

// ReadIn is Read for a name below a folder, which the way to the file cannot leave.
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

// Named returns the content of a file that a person named, as on the command line: also of a pipe or a terminal, to its
// end and up to limit.
func Named(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return upTo(f, name, limit)
}

// Open opens a regular file for reading. It waits for nothing but the end of a lease: what is no regular file is
// refused before it is opened, and what becomes something else in between, after that.
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

// Judge returns an error for a file that is no regular file, or has more than limit bytes. It is for files that a
// library reads by their names; one that is missing is for the library to tell.
func Judge(name string, limit int64) error {
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

// OpenIn is Open for a name below a folder, which the way to the file cannot leave.
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

// judged checks the file that was opened.
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

// readable also accepts the null device: people link to it where a file should have no effect, and it is empty.
func readable(name string, info fs.FileInfo) error {
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(null, info) {
		return nil
	}
	return Check(name, info)
}

// Check returns an error for what is no regular file. It wraps ErrKind, or is that of the system for a folder.
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

// upTo reads a file to its end, which must come within the limit.
func upTo(f *os.File, name string, limit int64) ([]byte, error) {
	content, err := Rest(f, limit)
	if errors.Is(err, ErrSize) {
		err = &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return content, err
}

// Rest reads what is open to its end, which must come within the limit. If it is a file, its size is judged before
// anything is read. Its errors do not name it.
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

// bytes words a number of bytes.
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
