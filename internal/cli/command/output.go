package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// Output is a stream that commands write to. It keeps its first error, so that a full disk is not reported as success.
type Output struct {
	to  io.Writer
	mu  sync.Mutex // guards err
	err error
}

// NewOutput returns an Output that writes to a stream.
func NewOutput(to io.Writer) *Output { return &Output{to: to} }

// Write implements io.Writer. After an error it discards all data without an error, so that an apply continues without
// its output.
func (w *Output) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return len(b), nil
	}
	if _, w.err = w.to.Write(b); w.err != nil && !closedByReader(w.err) {
		return 0, w.err
	}
	return len(b), nil
}

// Err returns the first error. A closed pipe is not an error: readers such as head close it when they have read enough.
func (w *Output) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil || closedByReader(w.err) {
		return nil
	}
	return w.err
}

func closedByReader(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}

// form is a machine-readable output of a command.
type form uint8

const (
	noForm   form = iota // nothing
	lines                // lines of JSON during the run
	document             // a JSON document
)

// LineFlags declares -json and -json-into for a command that prints events for programs line by line.
func (c *Call) LineFlags() {
	c.Flags.BoolVar(&c.JSON, "json", false, "Print JSON, one object per line, instead of text.")
	c.LinesIntoFlag()
}

// LinesIntoFlag declares -json-into alone.
func (c *Call) LinesIntoFlag() {
	c.form = lines
	c.Flags.StringVar(&c.intoName, "json-into", "",
		"Write JSON to `FILE`, one object per line, in addition to the text. The file may be a pipe.")
}

// DocumentFlags declares -json and -json-into for a command whose result is a document.
func (c *Call) DocumentFlags() {
	c.form = document
	c.Flags.BoolVar(&c.Document, "json", false, "Print a JSON document instead of text.")
	c.Flags.StringVar(&c.intoName, "json-into", "",
		"Write a JSON document to `FILE`, in addition to the text. The file may be a pipe.")
}

// InLines switches the output for programs from a document to lines, if the project requires it. It must be called
// before any output.
func (c *Call) InLines() {
	c.form = lines
	c.JSON, c.Document = c.JSON || c.Document, false
}

// Documents returns the destination of a document for programs: standard output with -json, the file of -json-into, or
// nil.
func (c *Call) Documents() io.Writer {
	switch {
	case c.Document:
		return c.Out
	case c.into != nil:
		return c.into
	}
	return nil
}

// Tell shows a text of the command: as text for people, and as a line for programs.
func (c *Call) Tell(format string, args ...any) {
	c.View().Tell(view.Notice{Text: fmt.Sprintf(format, args...)})
}

// openInto opens the file of -json-into. Because programs may read it during the run, it is written in place and not
// replaced at the end like other output files.
func (c *Call) openInto() (io.Closer, diag.List) {
	if c.intoName == "" {
		return nil, nil
	}
	if c.JSON || c.Document {
		return nil, diag.List{}.Errorf(nil, "Invalid output format", "The options -json and -json-into conflict: "+
			"-json prints JSON to standard output, -json-into prints text there and writes JSON to a file. Remove "+
			"one of them.")
	}
	err := replace.Detach(c.Surroundings.In("."), c.intoName)
	var f *os.File
	if err == nil {
		f, err = CreateFile(c.intoName)
	}
	if err != nil {
		return nil, diag.List{}.Errorf(nil, "Invalid argument", "The file of -json-into cannot be written: %s. "+
			"Nothing was done. Use a file, or a pipe, in a directory that exists.", err)
	}
	c.into = NewOutput(f)
	return f, nil
}

// writing runs a command while the file of -json-into is open.
func (c *Call) writing(run func() Outcome) Outcome {
	file, diags := c.openInto()
	if diags.HasErrors() {
		return c.Misuse(diags[0].Summary, "%s", diags[0].Detail)
	}
	outcome := run()
	c.closeView()
	if file == nil {
		return outcome
	}
	if err := errors.Join(c.into.Err(), file.Close()); err != nil {
		fmt.Fprintf(c.Err, "\nError: Failed to write the file of -json-into\n\nThe command has finished, but part of "+
			"its JSON output could not be written to %s: %s.\n", view.CleanLine(c.intoName), err)
		return Failed
	}
	return outcome
}
