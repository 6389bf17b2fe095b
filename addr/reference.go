package addr

import (
	"math/big"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
)

// RefKind is the kind of object that a reference mentions.
type RefKind uint8

// The kinds of named values of the language.
const (
	RefResource  RefKind = iota + 1 // TYPE.NAME, data.TYPE.NAME, ephemeral.TYPE.NAME
	RefVariable                     // var.NAME
	RefLocal                        // local.NAME
	RefModule                       // module.NAME as a whole
	RefOutput                       // module.NAME.OUTPUT or module.NAME[KEY].OUTPUT
	RefPath                         // path.module, path.root, path.cwd
	RefTerraform                    // terraform.workspace, terraform.applying; in OpenTofu tofu.workspace
	RefCount                        // count.index
	RefEach                         // each.key, each.value
	RefSelf                         // self
	RefCaller                       // caller: the object that an action is invoked for
)

// Reference is one mention of a named value in an expression.
type Reference struct {
	Kind     RefKind
	Resource Resource // for RefResource
	Name     string   // variable, local, module call, attribute of path/terraform/count/each
	Output   string   // for RefOutput
	Root     string   // for RefTerraform: "terraform" or "tofu", as it was written
	// Key is the instance key if a literal one follows the resource or module; otherwise HasKey is false.
	Key    Key
	HasKey bool

	// Remaining holds the steps after the named value: attribute and index steps that the evaluator applies.
	Remaining hcl.Traversal
	Range     hcl.Range
	// NameRange is the range of the last step of the named value, for example the name of the output.
	NameRange hcl.Range
}

// String returns the reference as the user would write it, without Remaining.
func (r Reference) String() string {
	key := ""
	if r.HasKey {
		key = r.Key.String()
	}
	switch r.Kind {
	case RefResource:
		return r.Resource.String() + key
	case RefVariable:
		return "var." + r.Name
	case RefLocal:
		return "local." + r.Name
	case RefModule:
		return "module." + r.Name + key
	case RefOutput:
		return "module." + r.Name + key + "." + r.Output
	case RefPath:
		return "path." + r.Name
	case RefTerraform:
		return r.Root + "." + r.Name
	case RefCount:
		return "count." + r.Name
	case RefEach:
		return "each." + r.Name
	case RefSelf:
		return "self"
	case RefCaller:
		return "caller"
	}
	return "invalid"
}

// ParseReference returns the reference at the beginning of a traversal. Its problems have the wording that Terraform
// users know.
func ParseReference(t hcl.Traversal) (Reference, diag.List) {
	var diags diag.List
	ref := Reference{Range: t.SourceRange()}
	root := t.RootName()
	rootRange := t[0].SourceRange()
	named := func(kind RefKind) (Reference, diag.List) {
		name, ok := attrAt(t, 1)
		if !ok {
			return ref, noAttribute(t)
		}
		ref.Kind, ref.Name, ref.Remaining = kind, name, t[2:]
		ref.Range = hcl.RangeBetween(rootRange, t[1].SourceRange())
		return ref, nil
	}
	switch root {
	case "var":
		return named(RefVariable)
	case "local":
		return named(RefLocal)
	case "path":
		return named(RefPath)
	case "terraform", "tofu":
		ref.Root = root
		return named(RefTerraform)
	case "count":
		return named(RefCount)
	case "each":
		return named(RefEach)
	case "self":
		ref.Kind, ref.Remaining, ref.Range = RefSelf, t[1:], rootRange
		return ref, nil
	case "caller":
		ref.Kind, ref.Remaining, ref.Range = RefCaller, t[1:], rootRange
		return ref, nil
	case "module":
		return parseModuleReference(t, ref)
	case "data":
		return parseResourceReference(t, 1, Data, ref)
	case "ephemeral":
		return parseResourceReference(t, 1, Ephemeral, ref)
	case "action":
		return parseResourceReference(t, 1, Action, ref)
	case "list":
		return parseResourceReference(t, 1, List, ref)
	case "resource":
		return parseResourceReference(t, 1, Managed, ref)
	case "template", "lazy", "arg":
		return ref, diags.Errorf(&rootRange, "Reserved symbol name", "The name %[1]q is reserved. If a provider has "+
			"a resource type with that name, refer to its resources as resource.%[1]s.NAME.", root)
	}
	return parseResourceReference(t, 0, Managed, ref)
}

// noAttribute returns the error for an object of the language without an attribute name after it.
func noAttribute(t hcl.Traversal) (diags diag.List) {
	if len(t) > 1 {
		return diags.Errorf(t[1].SourceRange().Ptr(), "Invalid reference",
			"The %q object does not support this operation: only attributes of it can be used, such as %s.NAME.",
			t.RootName(), t.RootName())
	}
	return diags.Errorf(t[0].SourceRange().Ptr(), "Invalid reference",
		"%[1]q alone is not a value: write %[1]s.NAME.", t.RootName())
}

func attrAt(t hcl.Traversal, i int) (string, bool) {
	if i >= len(t) {
		return "", false
	}
	a, ok := t[i].(hcl.TraverseAttr)
	return a.Name, ok
}

// keyAt returns the literal instance key at position i, if any. A value that cannot be a key is a problem; a negative
// number or an unknown value is not.
func keyAt(t hcl.Traversal, i int) (Key, bool, diag.List) {
	if i >= len(t) {
		return NoKey, false, nil
	}
	index, ok := t[i].(hcl.TraverseIndex)
	if !ok {
		return NoKey, false, nil
	}
	if key, err := keyOf(index.Key); err == nil {
		return key, true, nil
	}
	if key := index.Key; !key.IsKnown() {
		return NoKey, false, nil
	} else if !key.IsNull() && key.Type() == cty.Number {
		if _, exact := key.AsBigFloat().Int64(); exact == big.Exact {
			return NoKey, false, nil
		}
	}
	return NoKey, false, diag.List(nil).Errorf(&index.SrcRange, "Invalid index key",
		"An instance key must be a string, or a whole number that is not too large.")
}

func parseResourceReference(t hcl.Traversal, at int, mode Mode, ref Reference) (Reference, diag.List) {
	var diags diag.List
	rng := t.SourceRange()
	var typ string
	ok := true
	if at == 0 {
		typ = t.RootName()
	} else {
		typ, ok = attrAt(t, at)
	}
	name, ok2 := attrAt(t, at+1)
	if !ok || !ok2 {
		if len(t) > at+1 {
			rng = t[at+1].SourceRange() // an index in place of the name
			if !ok {
				rng = t[at].SourceRange() // an index in place of the type
			}
		}
		switch mode {
		case Data:
			return ref, diags.Errorf(&rng, "Invalid reference",
				`A reference to a data source needs its type and its name: data.TYPE.NAME.`)
		case Ephemeral:
			return ref, diags.Errorf(&rng, "Invalid reference",
				`A reference to an ephemeral resource needs its type and its name: ephemeral.TYPE.NAME.`)
		case Action:
			return ref, diags.Errorf(&rng, "Invalid reference",
				`A reference to an action needs its type and its name: action.TYPE.NAME.`)
		case List:
			return ref, diags.Errorf(&rng, "Invalid reference",
				`A reference to a list resource needs its type and its name: list.TYPE.NAME.`)
		}
		if at > 0 {
			return ref, diags.Errorf(&rng, "Invalid reference",
				`A reference to a resource needs its type and its name: resource.TYPE.NAME.`)
		}
		return ref, diags.Errorf(&rng, "Invalid reference", "This is a reference to a resource, which needs a type "+
			"and a name: %[1]s.NAME. If %[1]q should be a string, put it in double quotes.", typ)
	}
	ref.Kind, ref.Resource, ref.Remaining = RefResource, Resource{mode, typ, name}, t[at+2:]
	ref.Range = hcl.RangeBetween(t[0].SourceRange(), t[at+1].SourceRange())
	key, ok, diags := keyAt(t, at+2)
	if ok {
		ref.Key, ref.HasKey, ref.Remaining = key, true, t[at+3:]
		ref.Range = hcl.RangeBetween(t[0].SourceRange(), t[at+2].SourceRange())
	}
	return ref, diags
}

func parseModuleReference(t hcl.Traversal, ref Reference) (Reference, diag.List) {
	rootRange := t[0].SourceRange()
	name, ok := attrAt(t, 1)
	if !ok {
		return ref, noAttribute(t)
	}
	ref.Kind, ref.Name, ref.Remaining = RefModule, name, t[2:]
	ref.Range = hcl.RangeBetween(rootRange, t[1].SourceRange())
	next := 2
	key, ok, diags := keyAt(t, 2)
	if ok {
		ref.Key, ref.HasKey, ref.Remaining = key, true, t[3:]
		ref.Range = hcl.RangeBetween(rootRange, t[2].SourceRange())
		next = 3
		if next < len(t) {
			if rng := t[next].SourceRange(); !isStep(t[next]) {
				return ref, diag.List(nil).Errorf(&rng, "Invalid reference", "After the instance key of a module "+
					"only the name of an output can follow: module.NAME[KEY].OUTPUT.")
			}
		}
	}
	if output, ok := attrAt(t, next); ok {
		ref.Kind, ref.Output, ref.Remaining = RefOutput, output, t[next+1:]
		ref.NameRange = t[next].SourceRange()
		ref.Range = hcl.RangeBetween(rootRange, ref.NameRange)
	}
	return ref, diags
}

// isStep reports whether a step can lead from a module instance to an output or, as a splat, to all outputs.
func isStep(step hcl.Traverser) bool {
	_, index := step.(hcl.TraverseIndex)
	return !index
}
