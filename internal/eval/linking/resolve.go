package linking

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

// problemAt reports an error at the reference that is being resolved.
type problemAt func(summary, format string, args ...any) diag.List

// linker collects the references of one slot.
type linker struct {
	p    *Program
	u    *Unit // the module whose names are used
	s    *Slot
	deps map[int]bool
	self bool // self may be used
	// whole means that the current expressions belong to the block, not to its instances: count and each are not
	// available in them.
	whole bool
	// late means that the current expressions are evaluated after the slot: they may refer to it.
	late bool
	// passing means that the current expressions are keys of providers that a call passes to each of its instances.
	passing bool
	// judging means that the current expressions are conditions.
	judging bool
	// judged means that the current expressions are conditions of triggers, which may use caller.
	judged bool
	// callers are the resources that invoke the action whose configuration is linked.
	callers []*Slot
}

// expr adds the references of an expression; e may be nil.
func (l *linker) expr(e hcl.Expression) {
	if e != nil {
		l.traversals(e, funcs.Mentions(e))
	}
}

func (l *linker) conditions(list []*config.Condition) {
	l.judging = true
	defer func() { l.judging = false }()
	for _, c := range list {
		l.expr(c.Condition)
		l.expr(c.ErrorMessage)
	}
}

func (l *linker) traversals(of any, list []hcl.Traversal) {
	for _, t := range list {
		ref, d := addr.ParseReference(t)
		if d.HasErrors() && ref.Kind == 0 {
			d = l.bareName(t, d)
		}
		ref = l.u.wholeModule(ref)
		if !d.HasErrors() {
			d = d.Extend(l.resolve(ref))
		}
		l.s.fault(of, d)
		if !d.HasErrors() {
			l.s.Refs = append(l.s.Refs, ref)
			l.deprecatedOutput(of, t, ref)
		}
	}
}

// dependsOn adds explicit dependencies, which only determine the order.
func (l *linker) dependsOn(list []hcl.Traversal) {
	l.whole = true
	defer func() { l.whole = false }()
	for _, t := range list {
		ref, d := addr.ParseReference(t)
		if !d.HasErrors() && len(ref.Remaining) > 0 {
			rng := ref.Remaining.SourceRange()
			d = d.Errorf(&rng, "Invalid depends_on reference", "depends_on must name a whole object, such as a "+
				"resource or a module, not an attribute. Remove everything after the name.").
				Fixed(diag.Edit{Range: rng})
		}
		if !d.HasErrors() {
			d = d.Extend(l.dependOn(ref))
		}
		l.s.fault(PartDependsOn, d)
	}
}

// dependOn adds one explicit dependency: a resource, an output value of a module, or everything in a module.
func (l *linker) dependOn(ref addr.Reference) diag.List {
	whole := l.u.wholeModule(ref)
	if whole.Kind == addr.RefModule {
		if i, ok := l.u.Closes[ref.Name]; ok {
			l.deps[i] = true
			l.s.Explicit = append(l.s.Explicit, i)
			return nil
		}
	}
	if i, ok := l.u.CallOutputs[[2]string{ref.Name, ref.Output}]; ok && whole.Kind == addr.RefOutput {
		l.deps[i] = true
		l.s.Explicit = append(l.s.Explicit, i)
		return nil
	}
	d := l.resolve(whole)
	if d == nil && whole.Kind == addr.RefResource {
		l.s.Explicit = append(l.s.Explicit, l.u.Resources[ref.Resource])
	}
	return d
}

// resolve returns the slots that a reference depends on, or its problem.
func (l *linker) resolve(ref addr.Reference) diag.List {
	where := moduleName(l.u.Module)
	undeclared := func(summary, format string, args ...any) diag.List {
		rng := ref.Range
		return diag.List(nil).Errorf(&rng, summary, format, args...)
	}
	switch ref.Kind {
	case addr.RefVariable:
		i, ok := l.u.Variables[ref.Name]
		if !ok {
			return undeclared("Reference to undeclared input variable",
				"An input variable with the name %q has not been declared.%s",
				ref.Name, suggestOr(ref.Name, l.u.Variables, ` Declare it with variable `+quoted(ref.Name)+` {}.`)).
				Meant(ref.Name, sortedNames(l.u.Variables))
		}
		l.deps[i] = true
	case addr.RefLocal:
		i, ok := l.u.Locals[ref.Name]
		if ok && l.s.Kind == SlotLocal && l.s.Index == i {
			return undeclared("Self-referencing local value",
				"The expression of local.%s refers to local.%[1]s itself.", ref.Name)
		}
		if !ok {
			return undeclared("Reference to undeclared local value",
				"A local value with the name %q has not been declared.%s", ref.Name,
				suggestOr(ref.Name, l.u.Locals, "")).Meant(ref.Name, sortedNames(l.u.Locals))
		}
		l.deps[i] = true
	case addr.RefModule, addr.RefOutput:
		return l.resolveModule(ref, undeclared)
	case addr.RefResource:
		return l.resolveResource(ref, where, undeclared)
	case addr.RefPath:
		if paths := []string{"module", "root", "cwd"}; !slices.Contains(paths, ref.Name) {
			return undeclared(`Invalid "path" attribute`,
				`There is no path.%[1]s, only path.module, path.root and path.cwd.%[2]s`, ref.Name,
				diag.DidYouMean(ref.Name, paths)).Meant(ref.Name, paths)
		}
	case addr.RefTerraform:
		if ref.Name != "workspace" && ref.Name != "applying" {
			return undeclared(fmt.Sprintf(`Invalid %q attribute`, ref.Root), `There is no %[1]s.%[2]s, only `+
				`%[1]s.workspace, the name of the selected workspace, and %[1]s.applying.`, ref.Root, ref.Name).
				Meant(ref.Name, []string{"workspace", "applying"})
		}
	case addr.RefCount, addr.RefEach, addr.RefSelf, addr.RefCaller:
		return l.resolveInstance(ref, undeclared)
	}
	return nil
}

// resolveInstance checks a reference to the instance that a block is evaluated for.
func (l *linker) resolveInstance(ref addr.Reference,
	undeclared func(summary, format string, args ...any) diag.List) diag.List {
	switch ref.Kind {
	case addr.RefCount:
		if ref.Name != "index" {
			return undeclared(`Invalid "count" attribute`, `There is no count.%s, only count.index: the number of `+
				`the instance, from 0, in a block that has the argument "count".`, ref.Name).
				Meant(ref.Name, []string{"index"})
		}
		if l.whole || !l.counted() {
			return undeclared("Reference to \"count\" in non-counted context", "%s", l.noInstance("count"))
		}
	case addr.RefEach:
		if ref.Name != "key" && ref.Name != "value" {
			return undeclared(`Invalid "each" attribute`, `There is no each.%s, only each.key and each.value: the `+
				`key and the value of the instance in a block that has the argument "for_each".`, ref.Name).
				Meant(ref.Name, []string{"key", "value"})
		}
		if (l.whole || !l.keyed()) && ref.Name == "value" {
			return undeclared("each.value cannot be used in this context", "%s", l.noInstance("each"))
		}
		if l.whole || !l.keyed() {
			return undeclared("Reference to \"each\" in context without for_each", "%s", l.noInstance("each"))
		}
	case addr.RefCaller:
		return l.resolveCaller(ref, undeclared)
	case addr.RefSelf:
		if l.self && l.s.Type != nil {
			return blocks.StaticTraversal(ref.Remaining, l.s.Type.Block)
		}
		if !l.self {
			return undeclared(`Invalid "self" reference`, `"self" is the object of the surrounding resource in its `+
				`provisioner, connection and postcondition blocks. It cannot be used here.`)
		}
	}
	return nil
}

// noInstance returns the error that count or each is not available.
func (l *linker) noInstance(name string) string {
	switch {
	case l.whole:
		return `"depends_on" belongs to the block and not to its instances, so it cannot use "` + name + `".`
	case name == "count":
		return `count.index is available only in blocks with the argument "count". This block has none.`
	}
	return `each.key and each.value are available only in blocks with the argument "for_each". This block has none.`
}

// counted and keyed report whether the current expressions belong to a block with count or for_each. The arguments of a
// module call belong to the call.
func (l *linker) counted() bool {
	switch l.s.Kind {
	case SlotCall:
		return l.passing && l.s.Call.Count != nil
	case SlotVariable:
		return l.s.Arg != nil && l.s.unit.Module.Call.Count != nil
	case SlotResource:
		return l.s.Resource.Count != nil
	}
	return false
}

func (l *linker) keyed() bool {
	switch l.s.Kind {
	case SlotProvider:
		return l.s.Provider.ForEach != nil
	case SlotCall:
		return l.passing && l.s.Call.ForEach != nil
	case SlotVariable:
		return l.s.Arg != nil && l.s.unit.Module.Call.ForEach != nil
	case SlotResource:
		return l.s.Resource.ForEach != nil
	case SlotImport:
		return l.s.Import.ForEach != nil
	}
	return false
}

// wholeModule changes a reference to a missing output value to one to the module. Its evaluation reports the existing
// outputs, or a "try" around it has another result. The same applies to a key of a module without keys: it is the name
// of an output value.
func (u *Unit) wholeModule(ref addr.Reference) addr.Reference {
	child := u.Calls[ref.Name]
	if ref.Kind != addr.RefOutput || child == nil {
		return ref
	}
	_, declared := child.Outputs[ref.Output]
	if call := child.Module.Call; !declared || ref.HasKey && call.Count == nil && call.ForEach == nil {
		ref.Kind = addr.RefModule
	}
	return ref
}

func (l *linker) resolveModule(ref addr.Reference, undeclared problemAt) diag.List {
	call, ok := l.u.CallSlots[ref.Name]
	if !ok {
		return undeclared("Reference to undeclared module", "No module call named %q is declared in %s.%s", ref.Name,
			moduleName(l.u.Module), suggestOr(ref.Name, l.u.CallSlots, "")).Meant(ref.Name, sortedNames(l.u.CallSlots))
	}
	l.deps[call] = true
	child := l.u.Calls[ref.Name]
	if child == nil {
		return nil // reported by the loader
	}
	if ref.Kind == addr.RefOutput {
		c := l.u.slots[call].Call
		if !ref.HasKey && (c.Count != nil || c.ForEach != nil) {
			// Not an output but an attribute of a collection: the evaluation, which needs the values, reports it. It
			// does not depend on the rest of the module.
			l.allOutputs(ref.Name, child)
			return nil
		}
		l.deps[l.u.CallOutputs[[2]string{ref.Name, ref.Output}]] = true
		return nil
	}
	l.wholeCall(ref.Name, child)
	return nil
}

// wholeCall adds the dependencies of a reference to a whole module call: all output values, and everything in the
// module. So an object that refers to a module is created after everything in it, and destroyed before.
func (l *linker) wholeCall(call string, child *Unit) {
	l.allOutputs(call, child)
	l.deps[l.u.Closes[call]] = true
}

func (l *linker) allOutputs(call string, child *Unit) {
	for o := range child.Outputs {
		l.deps[l.u.CallOutputs[[2]string{call, o}]] = true
	}
}

func (l *linker) resolveResource(ref addr.Reference, where string, undeclared problemAt) diag.List {
	if ref.Resource.Mode == addr.Action {
		return undeclared("Invalid reference",
			"An action has no value. Refer to it only in the actions argument of an action_trigger block, in the "+
				"lifecycle block of a resource.")
	}
	i, ok := l.u.Resources[ref.Resource]
	if !ok {
		return l.noSuchResource(ref, where, undeclared)
	}
	target := l.u.slots[i]
	if l.s.Kind == SlotImport && l.s.Import.To == target.ConfigAddr() {
		_, argument := l.s.Import.Name()
		return undeclared("Invalid import "+argument+" argument",
			"The import block cannot refer to %s, because it imports that resource.", ref.Resource)
	}
	if check := target.Resource.Check; check != nil && (l.s.Kind != SlotCheck || l.s.Check != check) {
		return undeclared("Reference to scoped resource",
			"The referenced data resource %q %q is not available from this context.", ref.Resource.Type,
			ref.Resource.Name)
	}
	if l.s.Kind == SlotResource && l.s == target && !l.late {
		return undeclared("Self-referential block", "Configuration for %s may not refer to itself.", target.Addr())
	}
	l.deps[i] = true
	if ref.Resource.Mode == addr.List {
		return checkListReference(ref, undeclared)
	}
	if target.Type == nil {
		return nil
	}
	return l.checkAttribute(ref, target, undeclared)
}

func (l *linker) noSuchResource(ref addr.Reference, where string, undeclared problemAt) diag.List {
	word := map[addr.Mode]string{addr.Managed: "managed", addr.Data: "data",
		addr.Ephemeral: "ephemeral", addr.List: "list"}[ref.Resource.Mode]
	candidates := []string{}
	for r := range l.u.Resources {
		candidates = append(candidates, r.String())
	}
	sort.Strings(candidates)
	extra, meant := diag.DidYouMean(ref.Resource.String(), candidates), diag.Nearest(ref.Resource.String(), candidates)
	if extra == "" {
		if meant = l.meantByRoot(ref); meant != "" {
			extra = fmt.Sprintf(" Did you mean %q?", meant)
		}
	}
	switch ref.Resource.Type {
	case "check", "run", "output":
		extra = fmt.Sprintf(" Expressions in the module cannot refer to the result of its %q block.",
			ref.Resource.Type)
		meant = ""
	}
	if ref.Resource.Mode == addr.Managed {
		if _, ok := l.u.Resources[addr.Resource{Mode: addr.Data, Type: ref.Resource.Type,
			Name: ref.Resource.Name}]; ok {
			extra, meant = fmt.Sprintf("\n\nDid you mean the data resource data.%s?", ref.Resource),
				"data."+ref.Resource.String()
		}
	}
	diags := undeclared("Reference to undeclared resource", "A %s resource %q %q has not been declared in %s.%s", word,
		ref.Resource.Type, ref.Resource.Name, where, extra)
	if meant != "" {
		return diags.Fixed(diag.Edit{Range: ref.Range, Old: ref.Resource.String(), New: meant})
	}
	return diags
}

// moduleName returns the name of a module, for a sentence.
func moduleName(m *config.Module) string {
	if m.Path.IsRoot() {
		return "the root module"
	}
	return m.Path.String()
}

func quoted(s string) string { return `"` + s + `"` }

func sortedNames[V any](have map[string]V) []string { return slices.Sorted(maps.Keys(have)) }

func suggestOr[V any](given string, have map[string]V, otherwise string) string {
	if s := diag.DidYouMean(given, sortedNames(have)); s != "" {
		return s
	}
	return otherwise
}

// link resolves the references of every slot of a module. Their problems become faults of the slots.
func (p *Program) link(u *Unit) {
	for _, s := range u.slots {
		l := &linker{p: p, u: u, s: s, deps: map[int]bool{}}
		switch s.Kind {
		case SlotVariable:
			p.linkVariable(u, s)
			continue
		case SlotLocal:
			l.expr(s.Local.Expr)
		case SlotOutput:
			l.expr(s.Output.Expr)
			l.dependsOn(s.Output.DependsOn)
			l.conditions(s.Output.Preconditions)
		case SlotCall:
			l.expr(s.Call.Count)
			l.expr(s.Call.ForEach)
			l.expr(s.Call.Enabled)
			l.passing = true
			for i := range s.Call.Providers {
				p := &s.Call.Providers[i]
				l.expr(p.Key)
				if at, ok := u.providers[p.InParent]; ok && p.Key != nil {
					l.deps[at] = true // the key is checked against its for_each
				}
			}
			l.passing = false
			l.dependsOn(s.Call.DependsOn)
		case SlotCallOutput, SlotCallClose:
			l.deps[u.CallSlots[s.Call.Name]] = true
		case SlotProvider:
			l.expr(s.Provider.ForEach)
			l.body(s.Body)
		case SlotResource:
			l.resource(s)
			for _, i := range s.imports {
				if d := i - u.base; d >= 0 && d < len(u.slots) {
					l.deps[d] = true
				}
			}
		case SlotCheck:
			if s.Check.Data != nil {
				l.deps[u.Resources[s.Check.Data.Addr]] = true
			}
			l.conditions(s.Check.Asserts)
		case SlotImport:
			l.importBlock(s.Import)
		}
		s.deps = sortedKeys(l.deps)
	}
}

func (l *linker) body(b *blocks.Body) {
	if b != nil {
		l.traversals(b, b.Traversals())
	}
}

// resource adds the references of a resource block. Its conditions and provisioners may use self.
func (l *linker) resource(s *Slot) {
	r := s.Resource
	l.expr(r.Count)
	l.expr(r.ForEach)
	l.expr(r.Enabled)
	l.callers = l.callersOf(s)
	l.body(s.Body)
	l.callers = nil
	for d := range l.deps {
		if l.u.slots[d].Kind == SlotResource {
			s.Direct = append(s.Direct, d)
		}
	}
	sort.Ints(s.Direct)
	s.warnings = s.warnings.Extend(redundantIgnores(s))
	l.expr(r.ProviderKey)
	l.dependsOn(r.DependsOn)
	l.conditions(r.Preconditions)
	for _, e := range r.ReplaceTriggeredBy {
		// An index such as each.key is part of the expression, so its references are added separately.
		for _, t := range funcs.Mentions(e) {
			if ref, d := addr.ParseReference(t); !d.HasErrors() && (ref.Kind == addr.RefResource ||
				ref.Kind == addr.RefEach || ref.Kind == addr.RefCount) {
				l.traversals(PartTriggers, []hcl.Traversal{t})
			}
		}
	}
	for _, g := range r.Ignored.Conditions() {
		l.traversals(g, funcs.Mentions(g.Expr))
	}
	l.guards(r.PreventDestroy, r.Destroy)
	l.actionTriggers(s)
	l.self = true
	l.conditions(r.Postconditions)
	l.provisioners(s)
}

// guards adds the references of the guards of a resource. They are kept separately: a plan to destroy everything only
// evaluates these of a block.
func (l *linker) guards(list ...*config.Guard) {
	own := &linker{p: l.p, u: l.u, s: l.s, deps: map[int]bool{}}
	before := len(l.s.Refs)
	for _, g := range list {
		if g != nil && g.Expr != nil {
			own.traversals(g, funcs.Mentions(g.Expr))
		}
	}
	l.s.GuardRefs = slices.Clone(l.s.Refs[before:])
	l.s.guard = sortedKeys(own.deps)
	for d := range own.deps {
		l.deps[d] = true
	}
}

// linkVariable links an input variable: the references of its validations are in its own module, those of its argument
// in the caller's.
func (p *Program) linkVariable(u *Unit, s *Slot) {
	inner := &linker{p: p, u: u, s: s, deps: map[int]bool{}, judging: true}
	for _, v := range s.Variable.Validations {
		for _, e := range []hcl.Expression{v.Condition, v.ErrorMessage} {
			if e == nil {
				continue
			}
			for _, t := range funcs.Mentions(e) {
				if ref, d := addr.ParseReference(t); !d.HasErrors() && ref.Kind == addr.RefVariable &&
					ref.Name == s.Name {
					continue // the variable itself is available
				}
				inner.traversals(PartValidations, []hcl.Traversal{t})
			}
		}
	}
	s.deps = sortedKeys(inner.deps)
	if u.Parent == nil {
		return
	}
	call := u.Module.Call
	content, _, hclDiags := call.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: s.Name}}})
	s.fault(PartValidations, diag.List(nil).AppendHCL(hclDiags))
	if attr := content.Attributes[s.Name]; attr != nil {
		s.Arg = attr.Expr
		s.deprecatedArgument(u.Module)
		outer := &linker{p: p, u: u.Parent, s: s, deps: map[int]bool{}}
		inRefs := s.Refs
		s.Refs = nil
		outer.expr(attr.Expr)
		s.ArgRefs, s.Refs = s.Refs, inRefs
		s.outer = sortedKeys(outer.deps)
	}
}

func sortedKeys(m map[int]bool) []int {
	out := make([]int, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// LinkOutside resolves the references of expressions outside of the configuration that use the names of a module. It
// returns the references, the schemas that they need, and their problems. other, if set, reports whether a reference is
// not to a name of the module, and then returns its problems.
func (p *Program) LinkOutside(u *Unit, list []hcl.Expression,
	other func(hcl.Traversal, *Unit) (bool, diag.List)) (refs []addr.Reference, warnings, diags diag.List) {
	s := &Slot{unit: u}
	l := &linker{p: p, u: u, s: s, deps: map[int]bool{}}
	for _, e := range list {
		for _, t := range funcs.Mentions(e) {
			if other != nil {
				means, problems := other(t, u)
				if diags = diags.Extend(problems); means {
					continue
				}
			}
			l.traversals(e, []hcl.Traversal{t})
		}
		diags = diags.Extend(s.Faulty(e))
	}
	return s.Refs, s.warnings, diags
}
