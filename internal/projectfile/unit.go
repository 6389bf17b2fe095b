package projectfile

import (
	"net/url"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/diag"
)

// Unit is a unit block: one root module of a stack, or several if the source is a pattern. The expressions are
// evaluated by package stack.
type Unit struct {
	Name      string         `hcl:"name,label"`
	Source    string         `hcl:"source" doc:"the directory of a root module, or a pattern such as \"live/*/app\""`
	Workspace string         `hcl:"workspace,optional" doc:"the workspace of its state; the selected one unless set"`
	VarFiles  []string       `hcl:"var_files,optional" doc:"files with values, relative to the source"`
	Variables *hcl.Attribute `hcl:"variables,optional" doc:"values, also of outputs of other units"`
	DependsOn *hcl.Attribute `hcl:"depends_on,optional" doc:"units that come before it, as [unit.network]"`

	NameRange      hcl.Range `hcl:"name,label_range"`
	SourceRange    hcl.Range `hcl:"source,attr_value_range"`
	WorkspaceRange hcl.Range `hcl:"workspace,attr_value_range"`
	VarFilesRange  hcl.Range `hcl:"var_files,attr_value_range"`
}

// Stack is the stack block.
type Stack struct {
	AtOnce *int `hcl:"units_at_once,optional" doc:"the maximum number of units that work at a time, 4 unless set"`

	AtOnceRange hcl.Range `hcl:"units_at_once,attr_value_range"`
}

// UnitsAtOnce returns the maximum number of units that work at a time.
func (f File) UnitsAtOnce() int {
	if f.Stack == nil || f.Stack.AtOnce == nil {
		return 4
	}
	return *f.Stack.AtOnce
}

// checkUnits reports values of unit and stack blocks that have the right type but are invalid.
func (f File) checkUnits() (diags diag.List) {
	if s := f.Stack; s != nil && s.AtOnce != nil && *s.AtOnce < 1 {
		diags = diags.Errorf(&s.AtOnceRange, "Invalid limit", "units_at_once is %d. Expected 1 or more.", *s.AtOnce)
	}
	labels := map[string]hcl.Range{}
	for _, u := range f.Units {
		if first, twice := labels[u.Name]; twice {
			diags = diags.Errorf(&u.NameRange, "Duplicate unit", "There is another unit block %q in line %d. Rename "+
				"or remove one of them.", u.Name, first.Start.Line)
		}
		labels[u.Name] = u.NameRange
		if !validUnitName(u.Name) {
			diags = diags.Errorf(&u.NameRange, "Invalid name of a unit", "%q is not a valid name. Use letters, "+
				"digits, and the characters _ - . and /.", u.Name)
		}
		if url.PathEscape(u.Workspace) != u.Workspace {
			diags = diags.Errorf(&u.WorkspaceRange, "Invalid workspace name", "%q is not a valid name of a workspace. "+
				"Use characters that need no escape in a URL, such as letters, digits, - and _.", u.Workspace)
		}
		if u.Source == "" {
			diags = diags.Errorf(&u.SourceRange, "Invalid source of a unit", "The source of the unit %q is empty. Set "+
				"it to the directory of a root module.", u.Name)
		}
	}
	return diags
}

func validUnitName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == ""
}
