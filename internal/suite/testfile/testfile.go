// Package testfile reads test files: *.tftest.hcl and *.tftest.json, and the mock files (*.tfmock.hcl, *.tfmock.json)
// that they name.
//
//	files, diags := testfile.Load(config.OSFiles("."), "tests")
//	for _, f := range files { for _, r := range f.Runs { ... } }
//
// It evaluates only parts that must be literal. Expressions of variables, provider blocks and assertions are left to
// package suite, which runs the tests.
package testfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/plan"
)

// DefaultDir is the directory of test files in addition to the root module.
const DefaultDir = "tests"

// File is one test file.
type File struct {
	Name string // relative to the working directory, with forward slashes
	// Variables are the expressions of variables for all runs.
	Variables hcl.Attributes
	// Declared are the variables with a variable block.
	Declared  map[string]*config.Variable
	Parallel  bool // test { parallel = true }: the default for its runs
	Providers []*Provider
	Overrides []*Override
	Runs      []*Run
	// Sources are the texts of the file and of those that it names, by name.
	Sources map[string][]byte
}

// Provider is a provider or mock_provider block.
type Provider struct {
	*config.ProviderConfig
	Mock *Mock // nil for a provider block
}

// Run is a run block.
type Run struct {
	Name      string
	PlanOnly  bool // command = plan
	Options   PlanOptions
	Variables hcl.Attributes
	Overrides []*Override
	// Providers are the configurations that the module under test gets; HasProviders distinguishes none from all.
	Providers    []config.PassedProvider
	HasProviders bool
	Asserts      []*config.Condition
	// Module is the module under test; nil for that of the working directory.
	Module *config.ModuleCall
	// ModulePath is the module's key in the module manifest.
	ModulePath     addr.Module
	ExpectFailures []hcl.Traversal
	StateKey       string // "" for that of the module
	Parallel       bool   // it may run in parallel with others
	Range          hcl.Range
	NameRange      hcl.Range
}

// Place returns the module of the run, or nil for that of the working directory.
func (r *Run) Place() *config.Place {
	if r == nil || r.Module == nil {
		return nil
	}
	return &config.Place{Call: r.Module, Path: r.ModulePath}
}

// PlanOptions is a plan_options block.
type PlanOptions struct {
	Mode        plan.Mode
	SkipRefresh bool
	Replace     []hcl.Traversal
	Targets     []hcl.Traversal
}

// Override replaces the values of an object, or of a module's outputs.
type Override struct {
	Kind   Kind
	Target addr.Target
	// Values are the attributes or output values.
	Values map[string]cty.Value
	AtPlan bool // override_during = plan: known while planning already
	Range  hcl.Range
	// TargetRange is the source range of the target.
	TargetRange hcl.Range
}

// Kind is the kind of block that an override replaces.
type Kind uint8

// The kinds.
const (
	Resource Kind = iota + 1
	Data
	Module
)

// Block returns the block type.
func (k Kind) Block() string {
	return map[Kind]string{Resource: "override_resource", Data: "override_data", Module: "override_module"}[k]
}

// Mock is the content of a mock_provider block.
type Mock struct {
	Resources map[string]*Default
	Data      map[string]*Default
	Overrides []*Override
	AtPlan    bool
}

// Default holds the computed attributes of all objects of a type.
type Default struct {
	Values map[string]cty.Value
	AtPlan bool
	Range  hcl.Range
}

// IsFile reports whether a name is that of a test file.
func IsFile(name string, f flavor.Flavor) bool {
	if strings.HasPrefix(path.Base(name), ".") || strings.HasSuffix(name, "~") {
		return false
	}
	return slices.ContainsFunc(extensions(f), func(ext string) bool { return strings.HasSuffix(name, ext) })
}

// extensions returns the extensions of test files.
func extensions(f flavor.Flavor) []string {
	return append(f.Extensions(".tftest.hcl"), f.Extensions(".tftest.json")...)
}

// Load reads all test files of a working directory: those beside the configuration and those in dir, sorted by name.
func Load(files config.Files, dir string, fl flavor.Flavor) ([]*File, diag.List) {
	var diags diag.List
	var out []*File
	dirs := []string{"."}
	if clean := path.Clean(strings.ReplaceAll(dir, `\`, "/")); clean != "." {
		dirs = append(dirs, clean)
	}
	for _, d := range dirs {
		names, err := files.ReadDir(d)
		switch {
		case d != "." && errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, diags.AppendError("Cannot find the test files", fmt.Errorf("read %s: %w", d, err))
		}
		for _, name := range config.WithoutTwins(names, fl) {
			if !IsFile(name, fl) {
				continue
			}
			f, more := Read(files, path.Join(d, name), fl)
			diags = diags.Extend(more)
			if f != nil {
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, func(a, b *File) int { return strings.Compare(a.Name, b.Name) })
	return out, diags
}

// Read reads one file.
func Read(files config.Files, name string, fl flavor.Flavor) (*File, diag.List) {
	src, err := files.ReadFile(name)
	if err != nil {
		return nil, diag.FromError("Failed to read file", fmt.Errorf("read %s: %w", name, err))
	}
	body, diags := config.ParseBody(src, name)
	r := &reader{files: files, flavor: fl, file: &File{Name: name, Sources: map[string][]byte{name: src},
		Declared: map[string]*config.Variable{}}}
	if body == nil {
		return r.file, diags
	}
	r.diags = diags
	r.read(body)
	return r.file, r.diags
}

// Stem returns the name without the extension of test files.
func (f *File) Stem() string {
	name := path.Base(f.Name)
	for _, ext := range extensions(flavor.OpenTofu) {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// modulePath returns the key of a run's module in the module manifest.
func (f *File) modulePath(run string) addr.Module {
	calls := []string{"test"}
	if dir := path.Dir(f.Name); dir != "." {
		calls = append(calls, strings.Split(dir, "/")...)
	}
	calls = append(calls, f.Stem(), run)
	return addr.ModuleOf(strings.Split(strings.Join(calls, "."), ".")...) // module calls have no dots in their names
}

// Calls returns the runs in some files that use another module than that of the working directory, in order.
func Calls(files []*File) (out []*Run) {
	for _, f := range files {
		for _, r := range f.Runs {
			if r.Module != nil && r.Module.Kind != 0 {
				out = append(out, r)
			}
		}
	}
	return out
}
