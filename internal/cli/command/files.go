package command

import (
	"fmt"
	"os"
)

// All files that this package itself writes are written by functions in this file. Output files of commands are written
// by internal/replace, states by internal/store.

// OpenAppend opens a file to append to, such as a log. New files can be read only by the owner.
func OpenAppend(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// CreateFile creates or truncates a file that is written while a command runs. New files can be read only by the owner:
// output for programs may contain secrets.
func CreateFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

// MakeDir creates a directory and its parents.
func MakeDir(dir string) error { return os.MkdirAll(dir, 0o777) }

// RemoveFile removes a file.
func RemoveFile(name string) error { return os.Remove(name) }

// OpenFile opens a file and returns it with its size.
func OpenFile(name string) (*os.File, int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory", name)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// TemporaryDir creates a directory for temporary files.
func TemporaryDir(name string) (string, error) { return os.MkdirTemp("", name) }

// RemoveDir removes a directory with its content.
func RemoveDir(dir string) error { return os.RemoveAll(dir) }
