package plan

import (
	"errors"
	"io"
)

// Write writes the plan as a file: see docs/plan-file.md for its members. The plan's Base, Refreshed and Config go with it, so that the
// file is all that applying needs beside the providers.
func (p *Plan) Write(w io.Writer) error { return errors.New("not implemented") }

// Decode reads what Write wrote. A file that is damaged, of another version, or of another program is a *FileError that says what it is
// and what to do.
func Decode(r io.ReaderAt, size int64) (*Plan, error) { return nil, errors.New("not implemented") }

// FileError says why a file cannot be read as a plan.
type FileError struct {
	// Summary is a few words; Detail says what was found and what to do.
	Summary, Detail string
	Err             error
}

// Error joins summary and detail.
func (e *FileError) Error() string { return e.Summary + ": " + e.Detail }

// Unwrap gives the cause.
func (e *FileError) Unwrap() error { return e.Err }
