// Package stack is the model of stacks: root modules that are planned and applied together, in an order. The units are
// in the project file of the directory where the command runs.
//
//	s, diags := stack.Load(dir, file)          // units, references, order
//	diags = s.FindStates(ctx, surroundings)    // terraform_remote_state, and units with the same state
//	chosen, diags := s.Choose(stack.Choice{})  // some of them
//	r := stack.NewRun(stack.Options{Stack: s, Units: chosen, ...})
//	results := r.Plan(ctx)                     // a round
//	results = r.Apply(ctx)
//
// Every unit is loaded, planned and applied by package engine in its own directory, with its own lock and journal. This
// package decides only what is done in which order and with which values. It prints nothing: a Watcher receives what
// happens. Run.Plan and Run.Apply own the goroutines that they start, one for each unit, and wait for them.
package stack

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/projectfile"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// Stack is the units of a project file. It does not change once its states were found.
type Stack struct {
	// Root is the directory of the project file.
	Root string
	// Units are in an order in which each comes after those that it depends on, otherwise sorted by name.
	Units []*Unit
	// AtOnce is how many units may work at a time.
	AtOnce int

	source []byte // of the project file
	byName map[string]*Unit
	groups map[string][]*Unit // by label, for blocks whose source is a pattern
	broken map[*Unit]diag.List
}

// Unit is a root module of a stack.
type Unit struct {
	Name string
	// Dir is its directory, relative to the root, with slashes.
	Dir string
	// Workspace is the workspace of its state; empty means the selected one.
	Workspace string
	// VarFiles are relative to Dir.
	VarFiles []string
	// Range is the place of its name in the project file.
	Range hcl.Range
	// Edges are the dependencies of the unit, sorted by the name of the other unit.
	Edges []*Edge

	block   projectfile.Unit
	matches []string // each.match
}

// Edge is a dependency of a unit on another one.
type Edge struct {
	To *Unit
	// Outputs are the outputs to which the variables refer; All means all of them.
	Outputs []string
	All     bool
	// State means that a data source reads the state of the other unit, and Order that depends_on names it.
	State, Order bool
}

// Kind returns the words for what the edge is, for people and programs.
func (e *Edge) Kind() string {
	switch {
	case e.All || len(e.Outputs) > 0:
		return "output"
	case e.State:
		return "state"
	}
	return "order"
}

// Unit returns the unit with a name, or nil.
func (s *Stack) Unit(name string) *Unit { return s.byName[name] }

// Load expands the units of a project file in a directory and finds what their arguments refer to. It returns errors
// for unknown units, cycles, and sources that are not directories with a configuration inside of the root.
func Load(root string, file projectfile.File) (*Stack, diag.List) {
	s := &Stack{Root: root, AtOnce: file.UnitsAtOnce(), byName: map[string]*Unit{}, groups: map[string][]*Unit{},
		broken: map[*Unit]diag.List{}}
	s.source, _ = regular.Read(filepath.Join(root, projectfile.Name), projectfile.MaxSize)
	var diags diag.List
	if len(file.Units) == 0 {
		return nil, diags.Errorf(nil, "No units", "The file %s of this directory has no unit blocks, so it is not the "+
			"root of a stack. Add a block such as unit \"network\" { source = \"live/network\" }, or change to the "+
			"directory that has them (-chdir).", projectfile.Name)
	}
	for _, block := range file.Units {
		diags = diags.Extend(s.expand(block))
	}
	for _, u := range s.sorted() {
		diags = diags.Extend(s.refer(u))
	}
	if diags.HasErrors() {
		return nil, diags
	}
	diags = s.order()
	if diags.HasErrors() {
		return nil, diags
	}
	return s, diags
}

func (s *Stack) sorted() []*Unit {
	var list []*Unit
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		list = append(list, s.byName[name])
	}
	return list
}

// expand adds the units of a block.
func (s *Stack) expand(block projectfile.Unit) (diags diag.List) {
	at := block.SourceRange
	source := path.Clean(filepath.ToSlash(block.Source))
	if path.IsAbs(source) || filepath.IsAbs(block.Source) || source == ".." || strings.HasPrefix(source, "../") {
		return diags.Errorf(&at, "Invalid source of a unit", "The source %q of the unit %q is outside of the "+
			"directory of %s. Use a path inside of it, or move that file to a directory above "+
			"both.", block.Source, block.Name,
			projectfile.Name)
	}
	if !isPattern(source) {
		return s.add(block, &Unit{Name: block.Name, Dir: source})
	}
	if _, err := path.Match(source, ""); err != nil {
		return diags.Errorf(&at, "Invalid source of a unit", "The pattern %q is not valid: a \"[\" is not closed, or "+
			"a backslash is at its end.", block.Source)
	}
	dirs, err := matching(s.Root, source)
	if err != nil {
		return diags.AppendError("Invalid source of a unit", err)
	}
	s.groups[block.Name] = nil
	for _, dir := range dirs {
		if strings.ContainsFunc(dir, unicode.IsControl) || !utf8.ValidString(dir) {
			diags = diags.Errorf(&at, "Invalid name of a unit", "The directory %q matches the pattern %q, but its "+
				"name has control characters or is not UTF-8, so it cannot be the name of a unit. Rename the "+
				"directory, or change the pattern.", dir, block.Source)
			continue
		}
		u := &Unit{Name: dir, Dir: dir, matches: matched(source, dir)}
		if block.Workspace != "" {
			u.Name += "@" + block.Workspace // another block may have the same pattern and another workspace
		}
		diags = diags.Extend(s.add(block, u))
		s.groups[block.Name] = append(s.groups[block.Name], u)
	}
	if len(dirs) == 0 {
		diags = diags.Errorf(&at, "No directories match", "No directory with configuration files matches the pattern "+
			"%q of the unit %q. Correct the pattern, or remove the block.", block.Source, block.Name)
	}
	return diags
}

// add adds one unit.
func (s *Stack) add(block projectfile.Unit, u *Unit) (diags diag.List) {
	u.block, u.Workspace, u.VarFiles, u.Range = block, block.Workspace, block.VarFiles, block.NameRange
	full := filepath.Join(s.Root, filepath.FromSlash(u.Dir))
	switch info, err := os.Stat(full); {
	case err != nil:
		return diags.Errorf(&block.SourceRange, "Invalid source of a unit", "The directory %q of the unit %q cannot "+
			"be read: %s. Create it, or correct the source.", u.Dir, u.Name, plain(err))
	case !info.IsDir():
		return diags.Errorf(&block.SourceRange, "Invalid source of a unit", "The source %q of the unit %q is a file. "+
			"Expected the directory of a root module.", u.Dir, u.Name)
	}
	if real, err := filepath.EvalSymlinks(full); err == nil && !s.contains(real) {
		return diags.Errorf(&block.SourceRange, "Invalid source of a unit", "The directory %q of the unit %q is a "+
			"link to %s, which is outside of the directory of %s. Use a directory inside of it.", u.Dir, u.Name, real,
			projectfile.Name)
	}
	if !hasConfiguration(full) {
		return diags.Errorf(&block.SourceRange, "Invalid source of a unit", "The directory %q of the unit %q has no "+
			"configuration files (.tf). Expected the directory of a root module.", u.Dir, u.Name)
	}
	if other := s.byName[u.Name]; other != nil {
		return diags.Errorf(&block.NameRange, "Duplicate unit", "There are two units with the name %q: the other one "+
			"is in line %d. Rename or remove one of the blocks, or change the pattern.", u.Name, other.Range.Start.Line)
	}
	s.byName[u.Name] = u
	return nil
}

func (s *Stack) contains(real string) bool {
	root, err := filepath.EvalSymlinks(s.Root)
	if err != nil {
		return false
	}
	if root, err = filepath.Abs(root); err != nil {
		return false
	}
	if real, err = filepath.Abs(real); err != nil {
		return false
	}
	rel, err := filepath.Rel(root, real)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// plain returns the reason of an error of a file without its name.
func plain(err error) error {
	if e, ok := err.(*fs.PathError); ok { //nolint:errorlint // only the outermost error has the name
		return e.Err
	}
	return err
}
