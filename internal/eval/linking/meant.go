package linking

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
)

// bareName explains a reference that is only the name of an object in the module, without its kind. Otherwise the error
// would be about the missing name of a resource.
func (l *linker) bareName(t hcl.Traversal, d diag.List) diag.List {
	at := t[0].SourceRange()
	name := t.RootName()
	meant := l.withKind(name)
	if word := otherWords[name]; meant == "" && word != "" {
		return diag.List(nil).Errorf(&at, "Invalid reference", "The value is written %s in this language.", word).
			Fixed(diag.Edit{Range: at, New: word})
	}
	if meant == "" {
		for r := range l.u.Resources {
			if r.Type == name {
				return d
			}
		}
		return d.Fixed(diag.Around(at, `"`, `"`)...)
	}
	return diag.List(nil).Errorf(&at, "Invalid reference", "A reference begins with the kind of its object. Did you "+
		"mean %q?", meant).Fixed(diag.Edit{Range: at, New: meant})
}

// otherWords are the constants of other languages.
var otherWords = map[string]string{"True": "true", "TRUE": "true", "False": "false", "FALSE": "false", "None": "null",
	"nil": "null", "NULL": "null", "Null": "null", "undefined": "null"}

// withKind returns the full reference to the only object of a module with a name, or "" if there is none or more than
// one.
func (l *linker) withKind(name string) string {
	var found []string
	if _, ok := l.u.Variables[name]; ok {
		found = append(found, "var."+name)
	}
	if _, ok := l.u.Locals[name]; ok {
		found = append(found, "local."+name)
	}
	if _, ok := l.u.CallSlots[name]; ok {
		found = append(found, "module."+name)
	}
	for r := range l.u.Resources {
		if r.Name == name && (r.Mode == addr.Managed || r.Mode == addr.Data) {
			found = append(found, r.String())
		}
	}
	if len(found) != 1 {
		return l.withDot(name)
	}
	return found[0]
}

// withDot returns the reference that a word is without its dot, such as "varname", or "".
func (l *linker) withDot(word string) string {
	for _, kind := range []string{"var", "local", "module"} {
		name, ok := strings.CutPrefix(word, kind)
		if !ok || name == "" {
			continue
		}
		_, isVariable := l.u.Variables[name]
		_, isLocal := l.u.Locals[name]
		_, isCall := l.u.CallSlots[name]
		if kind == "var" && isVariable || kind == "local" && isLocal || kind == "module" && isCall {
			return kind + "." + name
		}
	}
	return ""
}

// otherRoots are words that people use by mistake for the kind of an object.
var otherRoots = map[string][]string{
	"var": {"vars", "variable", "variables"}, "local": {"locals", "loc"}, "module": {"modules", "mod"},
}

// meantByRoot returns the probable meaning of a reference to a nonexistent resource whose first step is not a resource
// type: "vars.region" is a variable, and "web.id" an attribute of a resource.
func (l *linker) meantByRoot(ref addr.Reference) string {
	root, name := ref.Resource.Type, ref.Resource.Name
	if ref.Resource.Mode != addr.Managed || ref.HasKey {
		return ""
	}
	for r := range l.u.Resources {
		if r.Type == root {
			return ""
		}
	}
	for kind, words := range otherRoots {
		if !slices.Contains(words, root) {
			continue
		}
		var known bool
		switch kind {
		case "var":
			_, known = l.u.Variables[name]
		case "local":
			_, known = l.u.Locals[name]
		case "module":
			_, known = l.u.CallSlots[name]
		}
		if known {
			return kind + "." + name
		}
	}
	if whole := l.withKind(root); whole != "" && l.hasAttribute(root, name) {
		return whole + "." + name
	}
	return ""
}

// hasAttribute reports whether the object with a name may have an attribute, as far as that is known.
func (l *linker) hasAttribute(object, attribute string) bool {
	for r, i := range l.u.Resources {
		if r.Name != object {
			continue
		}
		s := l.u.slots[i]
		if s.Resource.Count != nil || s.Resource.ForEach != nil || s.Type == nil {
			return false
		}
		return s.Type.Block.Attributes[attribute] != nil || s.Type.Block.Blocks[attribute] != nil
	}
	return true
}
