// Package testfile reads files of tests: *.tftest.hcl and *.tftest.json, and the files of mocks (*.tfmock.hcl,
// *.tfmock.json) that they name.
//
//	files, diags := testfile.Load(config.OSFiles("."), "tests")
//	for _, f := range files { for _, r := range f.Runs { ... } }
//
// Only parts that must be literal are evaluated here. Expressions of variables, provider blocks and assertions are left
// for package suite, which runs the tests.
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

// DefaultDir is where files of tests are besides the root module.
const DefaultDir = "tests"

// File is one file of tests.
type File struct {
	Name string // relative to the working directory, with forward slashes
	// Variables are those for all runs, with their expressions.
	Variables hcl.Attributes
	// Declared are those that variable blocks declare.
	Declared  map[string]*config.Variable
	Parallel  bool // test { parallel = true }: what counts for runs that do not say it themselves
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
	// Providers are the configurations that the module under test gets; HasProviders tells none from all.
	Providers    []config.PassedProvider
	HasProviders bool
	Asserts      []*config.Condition
	// Module is another module than that of the working directory; nil usually.
	Module *config.ModuleCall
	// ModulePath is the module's key in the module manifest.
	ModulePath     addr.Module
	ExpectFailures []hcl.Traversal
	StateKey       string // "" for that of the module
	Parallel       bool   // it may run beside others
	Range          hcl.Range
	NameRange      hcl.Range
}

// Place is the module of the run; nil for that of the working directory.
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
	// TargetRange is where the target stands.
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

// Block is the type of the block.
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

// IsFile reports whether a name is that of a file of tests.
func IsFile(name string, f flavor.Flavor) bool {
	if strings.HasPrefix(path.Base(name), ".") || strings.HasSuffix(name, "~") {
		return false
	}
	return slices.ContainsFunc(extensions(f), func(ext string) bool { return strings.HasSuffix(name, ext) })
}

// extensions are the endings of names of files of tests.
func extensions(f flavor.Flavor) []string {
	return append(f.Extensions(".tftest.hcl"), f.Extensions(".tftest.json")...)
}

// Load reads all files of tests of a working directory: those beside the configuration, and those in dir, in the order
// of their names.
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

// modulePath is where the module manifest has the module of a run.
func (f *File) modulePath(run string) addr.Module {
	calls := []string{"test"}
	if dir := path.Dir(f.Name); dir != "." {
		calls = append(calls, strings.Split(dir, "/")...)
	}
	calls = append(calls, f.Stem(), run)
	return addr.ModuleOf(strings.Split(strings.Join(calls, "."), ".")...) // no call has a dot in its name
}

// Calls returns the modules that the runs of some files need besides that of the working directory, in their order.
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
