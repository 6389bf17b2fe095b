// Package terragrunt converts repositories of Terragrunt: it reads their terragrunt.hcl files and returns the unit
// blocks and the files that a stack needs instead.
//
//	result, err := terragrunt.Convert("infra")
//	for _, f := range result.Files { ... } // tombolo.hcl, backend.tf and others, to be written
//	for _, n := range result.Notes { ... } // what was not converted, with its place
//
// Everything that a file says is either converted or named in a note. The package writes no files, runs no programs and
// loads no modules.
package terragrunt

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/tombolo-iac/tombolo/internal/nesting"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// FileName is the name of the files that are converted.
const FileName = "terragrunt.hcl"

// maxSize limits the size of a file.
const maxSize = 4 << 20

// Result is a converted repository.
type Result struct {
	// Files are the files to write, in order.
	Files []File
	// Notes say what was not converted, in the order of files and lines.
	Notes []Note
	// Units are the names of the units.
	Units []string
}

// File is a file to write; its name is relative to the repository, with slashes.
type File struct {
	Name    string
	Content []byte
}

// Note is something that was not converted.
type Note struct {
	File string // relative to the repository
	Line int
	Text string
}

// converter is the work on one repository.
type converter struct {
	root   string
	result Result
	noted  map[string]bool
	parsed map[string]*hclsyntax.Body
	source map[string][]byte
}

// Convert reads the files below a directory. It returns an error only if the directory cannot be read, or has no file
// to convert.
func Convert(root string) (*Result, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	c := &converter{root: root, noted: map[string]bool{}, parsed: map[string]*hclsyntax.Body{},
		source: map[string][]byte{}}
	var dirs []string
	err = filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := e.Name()
		switch {
		case e.IsDir() && name != root && (strings.HasPrefix(base, ".") || base == "node_modules"):
			return filepath.SkipDir
		case base == FileName && !e.IsDir():
			dirs = append(dirs, c.rel(filepath.Dir(name)))
		case base == "terragrunt.stack.hcl":
			c.note(c.rel(name), 1, "files of explicit stacks are not converted: run \"terragrunt stack generate\" "+
				"first")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("there is no file %s in %s or below it", FileName, root)
	}
	slices.Sort(dirs)
	project := hclwrite.NewEmptyFile()
	for _, dir := range dirs {
		c.unit(dir, dirs, project.Body())
	}
	c.add("tombolo.hcl", hclwrite.Format(project.Bytes()))
	slices.SortStableFunc(c.result.Notes, func(a, b Note) int {
		if n := strings.Compare(a.File, b.File); n != 0 {
			return n
		}
		return a.Line - b.Line
	})
	return &c.result, nil
}

// rel returns a name relative to the repository, with slashes.
func (c *converter) rel(name string) string {
	r, err := filepath.Rel(c.root, name)
	if err != nil {
		return filepath.ToSlash(name)
	}
	return filepath.ToSlash(r)
}

// note adds a note, once.
func (c *converter) note(file string, line int, format string, args ...any) {
	n := Note{file, line, fmt.Sprintf(format, args...)}
	if key := fmt.Sprint(n); !c.noted[key] {
		c.noted[key] = true
		c.result.Notes = append(c.result.Notes, n)
	}
}

func (c *converter) noteAt(at hcl.Range, format string, args ...any) {
	c.note(at.Filename, at.Start.Line, format, args...)
}

// add adds a file, unless the repository has one of that name with another content.
func (c *converter) add(name string, content []byte) {
	full := filepath.Join(c.root, filepath.FromSlash(name))
	if _, err := os.Lstat(full); err == nil {
		if old, err := regular.Read(full, maxSize); err == nil && string(old) == string(content) {
			return
		}
		c.note(name, 1, "the file exists and was left as it is; it would have become:\n%s", content)
		return
	}
	file := File{name, content}
	if i := slices.IndexFunc(c.result.Files, func(f File) bool { return f.Name == name }); i >= 0 {
		c.result.Files[i] = file // a block of the unit replaces that of the file that it includes
		return
	}
	c.result.Files = append(c.result.Files, file)
}

// parse reads a file, once. It returns nil after an error, which is noted.
func (c *converter) parse(name string) *hclsyntax.Body {
	if body, known := c.parsed[name]; known {
		return body
	}
	c.parsed[name] = nil
	src, err := regular.Read(filepath.Join(c.root, filepath.FromSlash(name)), maxSize)
	if err != nil {
		c.note(name, 1, "the file cannot be read: %s", err)
		return nil
	}
	if diags := nesting.Check(src, name); diags.HasErrors() {
		c.note(name, 1, "the file is not valid: %s", diags.Err())
		return nil
	}
	f, problems := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if problems.HasErrors() {
		line := 1
		if at := problems[0].Subject; at != nil {
			line = at.Start.Line
		}
		c.note(name, line, "the file is not valid: %s %s", problems[0].Summary, problems[0].Detail)
		return nil
	}
	body, _ := f.Body.(*hclsyntax.Body)
	c.parsed[name], c.source[name] = body, src
	return body
}

// unit converts the file of one directory.
func (c *converter) unit(dir string, dirs []string, project *hclwrite.Body) {
	name := path.Join(dir, FileName)
	u := &reader{converter: c, dir: dir, reads: map[string]bool{},
		dependencies: map[string]string{}, inputs: map[string]input{}}
	u.read(name, dir)
	if !u.isUnit(dirs) {
		return
	}
	if dir == "." {
		c.note(name, 1, "the root of the repository is a unit itself; the name of the unit is \"root\"")
	}
	m := u.module()
	block := project.AppendNewBlock("unit", []string{unitName(dir)})
	block.Body().SetAttributeRaw("source", quoted(dir))
	if text := u.variables(m); text != "" {
		block.Body().SetAttributeRaw("variables", raw(text))
	}
	if text := u.dependsOn(); text != "" {
		block.Body().SetAttributeRaw("depends_on", raw(text))
	}
	project.AppendNewline()
	c.result.Units = append(c.result.Units, unitName(dir))
}

func unitName(dir string) string {
	if dir == "." {
		return "root"
	}
	return dir
}

func quoted(text string) hclwrite.Tokens { return raw(fmt.Sprintf("%q", text)) }

// raw returns source text as one token.
func raw(text string) hclwrite.Tokens {
	return hclwrite.Tokens{{Type: hclsyntax.TokenIdent, Bytes: []byte(text)}}
}

// dependsOn returns the list of units that have to come first and whose outputs are not used.
func (u *reader) dependsOn() string {
	var list []string
	for _, dir := range u.before {
		if text := fmt.Sprintf("unit[%q]", unitName(dir)); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "[" + strings.Join(list, ", ") + "]"
}
