// Package projectfile reads tombolo.hcl, the project file beside the root module: settings that only Tombolo supports.
// Terraform and OpenTofu ignore the file, so projects with it still work with them.
//
//	file, diags := projectfile.Load(dir)
//	if file.LocksModules() { ... }
//
// File is the schema. To add a block, add a field whose tags have its name and its row in the documentation; a test
// compares them with docs/extensions/tombolo-hcl.md. Values are constants, except for two arguments of units that
// package stack evaluates: the file is read before any evaluation. Unknown names are refused with their range and, if a
// name is similar, a suggestion: a setting that is ignored because of a typing error is worse than none.
package projectfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/nesting"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// Name is the name of the file, in the directory of the root module.
const Name = "tombolo.hcl"

// MaxSize is the maximum size of the file in bytes.
const MaxSize = 1 << 20

// File is the content of the file: a field for each block. A pointer is an optional block, and a slice a block that may
// be repeated. The zero value represents a missing file.
type File struct {
	Modules   *Modules   `hcl:"modules,block" doc:"how modules are installed"`
	Lifecycle *Lifecycle `hcl:"lifecycle,block" doc:"settings for all resources"`

	Plan      *Plan       `hcl:"plan,block" doc:"how plans are made"`
	Refresh   *Refresh    `hcl:"refresh,block" doc:"which real objects plans read"`
	Resources []Resources `hcl:"resources,block" doc:"settings for the objects that match its label"`
	Providers []Provider  `hcl:"provider,block" doc:"how a provider is called; the label is its source"`
	Policies  []Policy    `hcl:"policy,block" doc:"a program that checks plans; the label is its name"`
	Hooks     []Hook      `hcl:"hook,block" doc:"a program that runs on events; the label is its name"`

	Units []Unit `hcl:"unit,block" doc:"a root module of a stack; the label is its name"`
	Stack *Stack `hcl:"stack,block" doc:"how the units of a stack work"`
}

// Modules is the modules block.
type Modules struct {
	Lock bool `hcl:"lock,optional" doc:"lock modules in .tombolo.lock.hcl, and reject changed ones"`
}

// Lifecycle is the lifecycle block.
type Lifecycle struct {
	Remember bool `hcl:"remember_prevent_destroy,optional" doc:"keep prevent_destroy after its block is removed"`
}

// Plan is the plan block.
type Plan struct {
	Lock  *bool `hcl:"lock,optional" doc:"false: the command plan takes no lock unless -lock says so"`
	Defer bool  `hcl:"allow_deferral,optional" doc:"plan and apply as with -allow-deferral"`
}

// Refresh is the refresh block.
type Refresh struct {
	Minimal bool   `hcl:"minimal,optional" doc:"plan and apply as with -minimal-refresh"`
	MaxAge  string `hcl:"max_age,optional" doc:"minimal refreshes also read objects not read for this time, as \"24h\""`

	MaxAgeRange hcl.Range `hcl:"max_age,attr_value_range"`
}

// Resources is a resources block, of which there may be several.
type Resources struct {
	Address string `hcl:"address,label"`
	Refresh *bool  `hcl:"refresh,optional" doc:"false: plans do not read these objects"`
	AtOnce  *int   `hcl:"changes_at_once,optional" doc:"the maximum number of them that an apply changes at a time"`
	Stop    bool   `hcl:"stop_on_failure,optional" doc:"after one has failed, an apply starts no other change of them"`

	AddressRange hcl.Range `hcl:"address,label_range"`
	AtOnceRange  hcl.Range `hcl:"changes_at_once,attr_value_range"`
}

// Minimal reports whether a refresh is minimal by default.
func (f File) Minimal() bool { return f.Refresh != nil && f.Refresh.Minimal }

// MaxAge returns how long stored objects may be used in a minimal refresh; 0 means without limit.
func (f File) MaxAge() time.Duration {
	if f.Refresh == nil || f.Refresh.MaxAge == "" {
		return 0
	}
	age, err := time.ParseDuration(f.Refresh.MaxAge)
	if err != nil {
		panic("projectfile: an age that was not checked: " + err.Error())
	}
	return age
}

// Selectors returns the addresses and patterns of all resources blocks, without repetition.
func (f File) Selectors() (list []addr.Target) {
	for i, r := range f.Resources {
		again := slices.ContainsFunc(f.Resources[:i], func(other Resources) bool { return other.Address == r.Address })
		if t, diags := addr.ParseSelector(r.Address); !again && !diags.HasErrors() {
			list = append(list, t)
		}
	}
	return list
}

// Unrefreshed returns the addresses and patterns of the objects that plans do not read.
func (f File) Unrefreshed() (list []addr.Target) {
	for _, r := range f.Resources {
		if t, diags := addr.ParseSelector(r.Address); r.Refresh != nil && !*r.Refresh && !diags.HasErrors() {
			list = append(list, t)
		}
	}
	return list
}

// check reports values that have the right type but are invalid.
func (f File) check() (diags diag.List) {
	if r := f.Refresh; r != nil {
		diags = diags.Extend(checkDuration("max_age", r.MaxAge, r.MaxAgeRange))
	}
	for _, r := range f.Resources {
		t, problems := addr.ParseSelector(r.Address)
		switch {
		case problems.HasErrors():
			diags = diags.Errorf(&r.AddressRange, "Invalid address", "%s", problems[0].Detail)
		case t.Pattern == "" && !t.IsModule() && t.Resource.Mode != addr.Managed:
			diags = diags.Errorf(&r.AddressRange, "Invalid address", "%q is not a managed resource, and a resources "+
				"block has settings only for these.", r.Address)
		case r.AtOnce != nil && *r.AtOnce < 1:
			diags = diags.Errorf(&r.AtOnceRange, "Invalid limit", "changes_at_once is %d. Expected 1 or more.",
				*r.AtOnce)
		}
	}
	return diags.Extend(f.checkProviders()).Extend(f.checkPolicies()).Extend(f.checkHooks()).
		Extend(f.checkUnits())
}

// checkDuration reports a non-empty text that is not a valid positive duration.
func checkDuration(name, text string, at hcl.Range) diag.List {
	if d, err := time.ParseDuration(text); text == "" && at == (hcl.Range{}) || err == nil && d > 0 {
		return nil
	}
	return diag.List{}.Errorf(&at, "Invalid duration", "%s is %q. Expected a duration greater than zero, such as "+
		"\"90s\", \"30m\" or \"24h\".", name, text)
}

// PlansUnlocked reports whether the command plan takes no lock by default.
func (f File) PlansUnlocked() bool { return f.Plan != nil && f.Plan.Lock != nil && !*f.Plan.Lock }

// DefersPlans reports whether plans defer what cannot be planned yet.
func (f File) DefersPlans() bool { return f.Plan != nil && f.Plan.Defer }

// RemembersPreventDestroy reports whether prevent_destroy applies after its block was removed.
func (f File) RemembersPreventDestroy() bool { return f.Lifecycle != nil && f.Lifecycle.Remember }

// LocksModules reports whether modules are pinned in a lock file.
func (f File) LocksModules() bool { return f.Modules != nil && f.Modules.Lock }

// Load reads the file of a directory; a missing one is an empty File.
func Load(dir string) (File, diag.List) {
	path := filepath.Join(dir, Name)
	src, err := regular.Read(path, MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist) && dangling(path):
		return File{}, diag.List{}.Errorf(nil, "Failed to read the project file", "%s is a link to a file that does "+
			"not exist. Remove it, or restore that file.", Name)
	case errors.Is(err, fs.ErrNotExist):
		return File{}, nil
	case errors.Is(err, regular.ErrKind) || errors.Is(err, regular.ErrSize):
		return File{}, diag.List{}.Errorf(nil, "Failed to read the project file",
			"%s cannot be used: %s. Remove it, or restore it from version control.", Name, errors.Unwrap(err))
	case err != nil:
		return File{}, diag.List{}.Errorf(nil, "Failed to read the project file", "%s cannot be read: %s.", Name, err)
	}
	return Parse(Name, src)
}

// dangling reports whether a missing file is a link, whose settings and policies must not be ignored.
func dangling(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Parse reads the text of a project file. It reports all problems, each with its range.
func Parse(filename string, src []byte) (File, diag.List) {
	if diags := nesting.Check(src, filename); diags.HasErrors() {
		return File{}, diags
	}
	parsed, hclDiags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	diags := diag.List(nil).AppendHCL(hclDiags)
	if diags.HasErrors() {
		return File{}, diags
	}
	var f File
	diags = diags.AppendHCL(gohcl.DecodeBody(parsed.Body, nil, &f))
	if !diags.HasErrors() {
		diags = diags.Extend(f.check())
	}
	if diags.HasErrors() {
		return File{}, diags
	}
	return f, diags
}
