package code

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/format"
	"github.com/tombolo-iac/tombolo/internal/projectfile"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// Fmt is the command fmt.
func Fmt() *command.Command {
	return &command.Command{
		Name: "fmt", Short: "Format configuration files in the canonical style", Args: "[TARGET...]",
		Long: `Rewrite configuration files (.tf), variable files (.tfvars), test files (.tftest.hcl, .tfmock.hcl) and
query files (.tfquery.hcl) in the canonical style. A target is a file, a directory, or - to format standard input to
standard output. The default is the current directory. Files in JSON syntax and files with syntax errors are not
changed.

The exit code is 3 if -check finds files that are not formatted, and 2 after errors.`,
		Exits: `0  All files are now in the canonical style. With -check, they already were.
2  There were errors.
3  With -check, some files are not in the canonical style.`,
		Example: `~ fmt -recursive
~ fmt -check -diff main.tf`,
		Setup: func(c *command.Call) command.Run {
			f := &formatting{call: c, seen: map[string]bool{}}
			c.Flags.BoolVar(&f.list, "list", true,
				"Do not list the files that are not formatted. Standard input is never listed.")
			c.Flags.BoolVar(&f.write, "write", true,
				"Do not write files. With standard input or -check, files are never written.")
			c.Flags.BoolVar(&f.diff, "diff", false, "Show the changes that formatting makes.")
			c.Flags.BoolVar(&f.check, "check", false, "Only check the files; exit with 3 if one is not formatted.")
			c.Flags.BoolVar(&f.recursive, "recursive", false, "Also format files in subdirectories.")
			return f.run
		},
	}
}

// formatting is one run of fmt.
type formatting struct {
	call                                *command.Call
	list, write, diff, check, recursive bool

	unformatted  bool // a file was not formatted
	diags        diag.List
	replacements replace.Files
	seen         map[string]bool // files that were seen, by name
}

// written waits until the formatted files are on disk.
func (f *formatting) written() {
	f.replacements.Wait(func(name string, err error) { f.problem("Failed to write "+name, err) })
}

func (f *formatting) run(ctx context.Context) command.Outcome {
	c := f.call
	f.write = f.write && !f.check
	ctx, running := c.Interruptible(ctx)
	defer running.End()
	switch targets := c.Args; {
	case len(targets) == 0:
		f.directory(ctx, ".")
	case targets[0] == "-":
		f.list, f.write = false, false
		src, err := c.In.All(ctx, "the configuration", c.Err)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			f.problem("Failed to read the standard input", err)
			break
		}
		f.text("<stdin>", src, 0)
	default:
		for _, target := range targets {
			if !f.target(ctx, target) {
				break
			}
		}
	}
	f.written()
	if ctx.Err() != nil {
		f.diags = f.diags.Errorf(nil, "Interrupted", "Not all files were processed. Each file is either unchanged or "+
			"completely formatted.")
	}
	switch ok := c.Report(f.diags); {
	case !ok:
		return command.Unformattable
	case f.check && f.unformatted:
		return command.Unformatted
	}
	return command.Done
}

func (f *formatting) problem(summary string, err error) {
	f.diags = f.diags.AppendError(summary, err)
}

// target formats a target of the command line, and reports whether it exists. If not, the command fails.
func (f *formatting) target(ctx context.Context, name string) (exists bool) {
	path := f.relative(name)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.diags = f.diags.Errorf(nil, "No file or directory at "+path,
			"The file does not exist. Options must come before the files.")
		return false
	case err != nil:
		f.problem("No file or directory at "+path, err)
		return false
	case info.IsDir():
		f.directory(ctx, path)
	case formattable(path):
		f.file(path)
	default:
		f.diags = f.diags.Errorf(nil, "Only .tf, .tfvars, and .tftest.hcl files can be processed with terraform fmt",
			"The file %s has none of these endings.", path)
	}
	return true
}

// relative returns a file name relative to the working directory.
func (f *formatting) relative(name string) string {
	wd, err := os.Getwd()
	if err != nil {
		return filepath.Clean(name)
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return filepath.Clean(name)
	}
	if path, err := filepath.Rel(wd, abs); err == nil {
		return path
	}
	return filepath.Clean(name)
}

func formattable(name string) bool {
	if filepath.Base(name) == projectfile.Name {
		return true
	}
	for _, ext := range []string{".tf", ".tofu", ".tombolo", ".tfvars", ".tftest.hcl", ".tofutest.hcl",
		".tombolotest.hcl", ".tfmock.hcl", ".tfquery.hcl"} {
		if strings.HasSuffix(name, ext) {
			return true
		}
	}
	return false
}

// directory formats the files of a directory and, with -recursive, of those below it. It skips hidden files and backup
// files of editors.
func (f *formatting) directory(ctx context.Context, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		f.problem("Failed to read the directory "+dir, err)
		return
	}
	for _, entry := range entries {
		name := entry.Name()
		path := filepath.Join(dir, name)
		switch {
		case ctx.Err() != nil:
			return
		case strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasPrefix(name, "#") &&
			strings.HasSuffix(name, "#"):
		case entry.IsDir():
			if f.recursive {
				f.directory(ctx, path)
			}
		case formattable(name):
			f.file(path)
		}
	}
}

func (f *formatting) file(path string) {
	if f.seen[path] { // a file that was seen before is not formatted again
		f.written()
	}
	f.seen[path] = true
	src, mode, err := read(path)
	if err != nil {
		f.problem("Failed to read file "+path, err)
		return
	}
	f.text(path, src, mode)
}

func read(path string) ([]byte, fs.FileMode, error) {
	src, err := regular.Read(path, regular.Text)
	if err != nil {
		return nil, 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	return src, info.Mode().Perm(), nil
}

// text formats the content of a file, and writes, lists or compares it as the flags select.
func (f *formatting) text(name string, src []byte, mode fs.FileMode) {
	c := f.call
	c.AddSources(map[string][]byte{name: src})
	out, diags := format.Source(src, name)
	if f.diags = f.diags.Extend(diags); diags.HasErrors() {
		return
	}
	changed := !bytes.Equal(src, out)
	f.unformatted = f.unformatted || changed
	if changed && f.list {
		fmt.Fprintln(c.Out, view.CleanLine(name))
	}
	if changed && f.write {
		f.replacements.Add(name, mode, out)
	}
	if changed && f.diff {
		c.Out.Write(format.Diff(name, src, out))
	}
	if !f.list && !f.write && !f.diff && !f.check {
		c.Out.Write(out)
		if !bytes.HasSuffix(out, []byte("\n")) {
			fmt.Fprintln(c.Out)
		}
	}
}
