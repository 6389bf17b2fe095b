package funcs

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/regular"
)

// disk provides files to the filesystem functions.
type disk struct {
	baseDir string
	home    string
	work    *Work
}

// filesystemTable returns the functions for files, except templatefile. The results of those that read files are
// recorded.
func filesystemTable(o Options) map[string]function.Function {
	d := disk{baseDir: o.BaseDir, home: o.Home, work: o.Work}
	table := map[string]function.Function{
		"file":             fileFunc(d),
		"filebase64":       fileBase64Func(d),
		"fileexists":       fileExistsFunc(d),
		"fileset":          fileSetFunc(d),
		"filemd5":          fileHashFunc(d, md5Hex),
		"filesha1":         fileHashFunc(d, sha1Hex),
		"filesha256":       fileHashFunc(d, sha256Hex),
		"filesha512":       fileHashFunc(d, sha512Hex),
		"filebase64sha256": fileHashFunc(d, sha256Base64),
		"filebase64sha512": fileHashFunc(d, sha512Base64),
	}
	for name, f := range table {
		table[name] = o.Files.checked(name, f)
	}
	table["abspath"] = textFunc("path", func(path string, _ cty.Value) (string, error) { return d.absolute(path) })
	table["basename"] = textFunc("path", func(path string, _ cty.Value) (string, error) {
		return filepath.Base(path),
			nil
	})
	table["dirname"] = textFunc("path", func(path string, _ cty.Value) (string, error) {
		return filepath.Dir(path),
			nil
	})
	table["pathexpand"] = textFunc("path", func(path string, _ cty.Value) (string, error) { return d.expand(path) })
	return table
}

func fileFunc(d disk) function.Function {
	return textFunc("path", func(path string, arg cty.Value) (string, error) { return d.readText(path, quoted(arg)) })
}

func fileBase64Func(d disk) function.Function {
	return textFunc("path", func(path string, arg cty.Value) (string, error) {
		content, err := d.read(path, quoted(arg))
		return base64.StdEncoding.EncodeToString(content), err
	})
}

func fileHashFunc(by disk, d digest) function.Function {
	return textFunc("path", func(path string, arg cty.Value) (string, error) {
		f, err := by.open(path, quoted(arg))
		if err != nil {
			return "", err
		}
		defer f.Close()
		h := d.start()
		if _, err := io.Copy(h, &reading{file: f, work: by.work}); err != nil {
			return "", unreadable(quoted(arg), err)
		}
		return d.write(h.Sum(nil)), nil
	})
}

func fileExistsFunc(d disk) function.Function {
	return function.New(&function.Spec{
		Params:       []function.Parameter{{Name: "path", Type: cty.String, AllowUnknown: true, AllowMarked: true}},
		Type:         function.StaticReturnType(cty.Bool),
		RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			path, marks := args[0].Unmark()
			if !path.IsKnown() {
				return cty.UnknownVal(cty.Bool).WithMarks(marks), nil
			}
			exists, err := d.exists(path.AsString(), quoted(args[0]))
			return cty.BoolVal(exists).WithMarks(marks), err
		},
	})
}

func (d disk) exists(path, shown string) (bool, error) {
	path, err := d.locate(path)
	if err != nil {
		return false, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("failed to stat %s: %w", shown, bare(err))
	case info.IsDir():
		return false, fmt.Errorf("%s is a directory, not a file", shown)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is not a regular file, but %q", shown, info.Mode())
	default:
		return true, nil
	}
}

func fileSetFunc(d disk) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			{Name: "path", Type: cty.String, AllowUnknown: true, AllowMarked: true},
			{Name: "pattern", Type: cty.String, AllowUnknown: true, AllowMarked: true},
		},
		Type:         function.StaticReturnType(cty.Set(cty.String)),
		RefineResult: notNull,
		Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
			path, pathMarks := args[0].Unmark()
			pattern, patternMarks := args[1].Unmark()
			marks := cty.NewValueMarks(pathMarks, patternMarks)
			if !path.IsKnown() || !pattern.IsKnown() {
				return cty.UnknownVal(ty).WithMarks(marks), nil
			}
			show := func(text string) string {
				if len(marks) > 0 {
					return quoted(cty.StringVal("").WithMarks(marks))
				}
				return fmt.Sprintf("%q", text)
			}
			names, err := d.files(path.AsString(), pattern.AsString(), show)
			if err != nil {
				return cty.NilVal, err
			}
			if len(names) == 0 {
				return cty.SetValEmpty(cty.String).WithMarks(marks), nil
			}
			return cty.SetVal(names).WithMarks(marks), nil
		},
	})
}

// files returns the regular files that match, relative to dir, with slashes. The whole joined path is a pattern,
// including the part from dir.
func (d disk) files(dir, pattern string, show func(string) string) ([]cty.Value, error) {
	d.work.fileRead()
	shown := filepath.Join(dir, pattern)
	dir = d.join(dir)
	matches, err := glob(filepath.Join(dir, pattern), d.work)
	if err != nil {
		return nil, fmt.Errorf("failed to glob pattern %s: %w", show(shown), err)
	}
	var names []cty.Value
	for i, match := range matches {
		if err := d.work.stoppedLong(int64(i) * fileSteps); err != nil {
			return nil, err
		}
		if ownJournal(match) {
			continue
		}
		name, err := filepath.Rel(dir, match)
		if err != nil {
			return nil, fmt.Errorf("failed to make %s relative", show(match))
		}
		info, err := os.Stat(match)
		if err != nil {
			return nil, fmt.Errorf("failed to stat %s: %w", show(name), bare(err))
		}
		if info.Mode().IsRegular() {
			names = append(names, cty.StringVal(filepath.ToSlash(name)))
		}
	}
	return names, nil
}

// ownJournal reports whether a path is a file of a state's journal (docs/journal.md). These files exist during an apply
// but not during a plan, so that the same call would return other files. Terraform has no such files; hiding them gives
// the same results.
func ownJournal(path string) bool {
	_, rest, found := strings.Cut(filepath.Base(path), ".tfstate.journal")
	return found && (rest == "" || rest == ".new" || rest == ".image" || rest == ".fresh")
}

// readText reads a text file.
func (d disk) readText(path, shown string) (string, error) {
	content, err := d.read(path, shown)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(content) {
		return "", fmt.Errorf("contents of %s are not valid UTF-8; use filebase64 for the content as base64, or a "+
			"function such as filesha256 for a hash of it", shown)
	}
	return string(content), nil
}

func (d disk) read(path, shown string) ([]byte, error) {
	f, err := d.open(path, shown)
	if err != nil {
		return nil, function.NewArgError(0, err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(&reading{file: f, work: d.work}, int64(limits.text)+1))
	if err == nil && len(content) > limits.text {
		err = fmt.Errorf("it has more than %d bytes, the limit for strings", limits.text)
	}
	if err != nil {
		return nil, function.NewArgError(0, unreadable(shown, err))
	}
	return content, nil
}

// reading is an open file; reads end with the work.
type reading struct {
	file *os.File
	work *Work
	kib  int64 // read so far
}

func (r *reading) Read(b []byte) (int, error) {
	if err := r.work.stoppedLong(r.kib); err != nil {
		return 0, err
	}
	n, err := r.file.Read(b)
	kib := int64(n)>>10 + 1
	r.kib += kib
	if err := r.work.spend(kib); err != nil {
		return 0, err
	}
	return n, err
}

func (d disk) open(path, shown string) (*os.File, error) {
	path, err := d.locate(path)
	if err != nil {
		return nil, err
	}
	f, err := regular.Open(path) // a pipe or a device may never end
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no file exists at %s; functions can only read files that exist before the plan is "+
			"made, so if a resource creates this file, read the content from an attribute of that resource", shown)
	case err != nil:
		return nil, unreadable(shown, err)
	}
	return f, nil
}

func unreadable(shown string, err error) error {
	return fmt.Errorf("failed to read %s: %w", shown, bare(err))
}

// bare removes the path from an error of the file system; messages add the path themselves, or omit it.
func bare(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// locate returns the path to open for a path in an expression.
func (d disk) locate(path string) (string, error) {
	d.work.fileRead()
	path, err := d.expand(path)
	if err != nil {
		return "", err
	}
	return filepath.Clean(d.join(path)), nil
}

func (d disk) join(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(d.baseDir, path)
}

func (d disk) absolute(path string) (string, error) {
	absolute, err := filepath.Abs(d.join(path))
	return filepath.ToSlash(absolute), err
}

// expand returns a path with a leading ~ replaced by the home directory.
func (d disk) expand(path string) (string, error) {
	rest, found := strings.CutPrefix(path, "~")
	if !found {
		return path, nil
	}
	if rest != "" && rest[0] != '/' && rest[0] != '\\' {
		return "", errors.New("cannot expand user-specific home dir")
	}
	home := d.home
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return "", fmt.Errorf("find the home directory: %w", err)
		}
	}
	return filepath.Join(home, rest), nil
}
