package eval

import (
	"fmt"
	"slices"
	"sort"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/provider"
)

// compile finds the provider configuration and schema of every block of a module and compiles the bodies against them.
func (p *Program) compile(u *Unit) diag.List {
	var diags diag.List
	for _, s := range u.slots {
		switch s.Kind {
		case SlotProvider:
			schema, d := p.schema(s.Provider.Provider, s.Provider.Range)
			diags = diags.Extend(d)
			if schema == nil {
				continue
			}
			block := schema.Provider
			if block == nil || s.Provider.Mock {
				block = &provider.Block{}
			}
			s.Body = CompileBody(s.Provider.Body, block)
		case SlotResource:
			diags = diags.Extend(p.compileResource(s))
		}
	}
	return diags
}

// schema returns the schema of a provider. What is wrong with the provider is reported at the first block that needs
// it, once.
func (p *Program) schema(a addr.Provider, at hcl.Range) (*provider.Schema, diag.List) {
	schema, diags := p.Schemas.Schema(a)
	if len(diags) == 0 || p.reported[a] {
		return schema, nil
	}
	p.reported[a] = true
	out := make(diag.List, 0, len(diags))
	for _, d := range diags {
		c := *d
		if c.Subject == nil {
			c.Subject = &at
		}
		out = append(out, &c)
	}
	return schema, out
}

var kindOf = map[addr.Mode]provider.ResourceKind{
	addr.Managed: provider.ManagedResource, addr.Data: provider.DataSource, addr.Ephemeral: provider.EphemeralResource,
}

func (p *Program) compileResource(s *Slot) diag.List {
	r := s.Resource
	var diags diag.List
	abs, ok := s.unit.Module.ResolveProvider(r.ProviderConfig())
	if !ok {
		return diags // the loader has said why
	}
	s.ProviderConfig = abs
	if ps := p.providers[abs]; ps != nil {
		s.providerUnit, s.providerSlot = ps.unit, ps.index
		ps.Used = true
	}
	schema, d := p.schema(abs.Provider, r.DeclRange)
	diags = diags.Extend(d)
	if schema == nil {
		return diags
	}
	s.Type = schema.Type(kindOf[r.Addr.Mode], r.Addr.Type)
	if s.Type == nil {
		s.fault(s.Resource, unknownType(schema, s, abs.Provider))
		return diags
	}
	s.Body = CompileBody(r.Body, s.Type.Block)
	if r.Addr.Mode != addr.Ephemeral { // the protocol has no room for it there
		s.meta = s.unit.metaOf(abs.Provider, schema)
	}
	s.Provisioners, d = compileProvisioners(r.Provisioners)
	return diags.Extend(d)
}

// unknownType explains that a provider has no such type, and what it has instead.
func unknownType(schema *provider.Schema, s *Slot, p addr.Provider) diag.List {
	r := s.Resource
	rng := r.TypeRange
	what, other := "resource type", ""
	names := map[string]*provider.ResourceType{}
	switch r.Addr.Mode {
	case addr.Managed:
		names = schema.Resources
		if schema.Data[r.Addr.Type] != nil {
			other = fmt.Sprintf(
				"\n\nThere is a data source %q: write \"data\" in place of \"resource\" if you meant that.",
				r.Addr.Type)
		}
	case addr.Data:
		what, names = "data source", schema.Data
		if schema.Resources[r.Addr.Type] != nil {
			other = fmt.Sprintf(
				"\n\nThere is a resource type %q: write \"resource\" in place of \"data\" if you meant that.",
				r.Addr.Type)
		}
	case addr.Ephemeral:
		what, names = "ephemeral resource", schema.Ephemeral
	}
	candidates := make([]string, 0, len(names))
	for n := range names {
		candidates = append(candidates, n)
	}
	sort.Strings(candidates)
	if other == "" {
		other = diag.DidYouMean(r.Addr.Type, candidates)
	}
	return diag.List{}.Errorf(&rng, "Invalid "+what, "The provider %s does not support %s %q.%s", p.ForDisplay(), what,
		r.Addr.Type, other)
}

// problemAt makes an error at the reference that is being resolved.
type problemAt func(summary, format string, args ...any) diag.List

// linker gathers what one slot mentions.
type linker struct {
	p    *Program
	u    *Unit // the module whose names count
	s    *Slot
	deps map[int]bool
	self bool // self may be used
	// whole says that the expressions at hand are the block's, not its instances': count and each mean nothing in them.
	whole bool
}

// fault notes what is wrong with a part of a slot. What is merely to be said of it keeps nobody from evaluating it.
func (s *Slot) fault(part any, diags diag.List) {
	for _, d := range diags {
		if d.Severity == diag.Warning && part == partTriggers {
			continue // it asks for no value
		}
		if d.Severity == diag.Warning {
			s.warnings = append(s.warnings, d)
			continue
		}
		if s.faults == nil {
			s.faults = map[any]diag.List{}
		}
		s.faults[part] = append(s.faults[part], d)
	}
}

// faulty returns what is wrong with parts of a slot before anything is evaluated: references that lead nowhere. A part
// is an expression, a Body, or one of the values below; who evaluates it reports its faults instead.
func (s *Slot) faulty(parts ...any) diag.List {
	if s.faults == nil {
		return nil
	}
	var diags diag.List
	for _, part := range parts {
		diags = diags.Extend(s.faults[part])
	}
	return diags
}

// Parts of slots that are no expression.
type part string

const (
	partDependsOn   part = "depends_on"
	partTriggers    part = "replace_triggered_by"
	partValidations part = "validation"
)

// expr adds the references of an expression; nil is allowed.
func (l *linker) expr(e hcl.Expression) {
	if e != nil {
		l.traversals(e, e.Variables())
	}
}

func (l *linker) conditions(list []*config.Condition) {
	for _, c := range list {
		l.expr(c.Condition)
		l.expr(c.ErrorMessage)
	}
}

func (l *linker) traversals(of any, list []hcl.Traversal) {
	for _, t := range list {
		ref, d := addr.ParseReference(t)
		ref = l.u.wholeModule(ref)
		if !d.HasErrors() {
			d = d.Extend(l.resolve(ref))
		}
		l.s.fault(of, d)
		if !d.HasErrors() {
			l.s.refs = append(l.s.refs, ref)
		}
	}
}

// dependsOn adds explicit dependencies, which order without giving values.
func (l *linker) dependsOn(list []hcl.Traversal) {
	l.whole = true
	defer func() { l.whole = false }()
	for _, t := range list {
		ref, d := addr.ParseReference(t)
		if !d.HasErrors() && len(ref.Remaining) > 0 {
			rng := ref.Remaining.SourceRange()
			d = d.Errorf(&rng, "Invalid depends_on reference", "What depends_on names has to be a whole object, such "+
				"as a resource or a module, and no attribute of one. Leave out what stands behind its name.")
		}
		if !d.HasErrors() {
			d = d.Extend(l.dependOn(ref))
		}
		l.s.fault(partDependsOn, d)
	}
}

// dependOn adds one explicit dependency: a resource, an output value of a module, or all that is in a module.
func (l *linker) dependOn(ref addr.Reference) diag.List {
	whole := l.u.wholeModule(ref)
	if whole.Kind == addr.RefModule {
		if i, ok := l.u.closes[ref.Name]; ok {
			l.deps[i] = true
			l.s.explicit = append(l.s.explicit, i)
			return nil
		}
	}
	if i, ok := l.u.outSlots[[2]string{ref.Name, ref.Output}]; ok && whole.Kind == addr.RefOutput {
		l.deps[i] = true
		l.s.explicit = append(l.s.explicit, i)
		return nil
	}
	d := l.resolve(whole)
	if d == nil && whole.Kind == addr.RefResource {
		l.s.explicit = append(l.s.explicit, l.u.resources[ref.Resource])
	}
	return d
}

// resolve finds the slots that a reference depends on, or says what is wrong with it.
func (l *linker) resolve(ref addr.Reference) diag.List {
	where := moduleName(l.u.Module)
	undeclared := func(summary, format string, args ...any) diag.List {
		rng := ref.Range
		return diag.List(nil).Errorf(&rng, summary, format, args...)
	}
	switch ref.Kind {
	case addr.RefVariable:
		i, ok := l.u.variables[ref.Name]
		if !ok {
			return undeclared("Reference to undeclared input variable",
				"An input variable with the name %q has not been declared.%s",
				ref.Name, suggestOr(ref.Name, l.u.variables, ` Declare it with variable `+quoted(ref.Name)+` {}.`))
		}
		l.deps[i] = true
	case addr.RefLocal:
		i, ok := l.u.locals[ref.Name]
		if ok && l.s.Kind == SlotLocal && l.s.index == i {
			return undeclared("Self-referencing local value",
				"The expression of local.%s refers to local.%[1]s itself.", ref.Name)
		}
		if !ok {
			return undeclared("Reference to undeclared local value",
				"A local value with the name %q has not been declared.%s", ref.Name, suggestOr(ref.Name, l.u.locals,
					""))
		}
		l.deps[i] = true
	case addr.RefModule, addr.RefOutput:
		return l.resolveModule(ref, undeclared)
	case addr.RefResource:
		return l.resolveResource(ref, where, undeclared)
	case addr.RefPath:
		if ref.Name != "module" && ref.Name != "root" && ref.Name != "cwd" {
			return undeclared(`Invalid "path" attribute`,
				`There is no path.%[1]s, only path.module, path.root and path.cwd.%[2]s`, ref.Name,
				diag.DidYouMean(ref.Name, []string{"module", "root", "cwd"}))
		}
	case addr.RefTerraform:
		if ref.Name != "workspace" && ref.Name != "applying" {
			return undeclared(`Invalid "terraform" attribute`, `There is no terraform.%s, only terraform.workspace, `+
				`the name of the selected workspace, and terraform.applying.`, ref.Name)
		}
	case addr.RefCount:
		if ref.Name != "index" {
			return undeclared(`Invalid "count" attribute`, `There is no count.%s, only count.index: the number of `+
				`the instance, from 0, in a block that has the argument "count".`, ref.Name)
		}
		if l.whole || !l.counted() {
			return undeclared("Reference to \"count\" in non-counted context", "%s", l.noInstance("count"))
		}
	case addr.RefEach:
		if ref.Name != "key" && ref.Name != "value" {
			return undeclared(`Invalid "each" attribute`, `There is no each.%s, only each.key and each.value: the `+
				`key and the value of the instance in a block that has the argument "for_each".`, ref.Name)
		}
		if (l.whole || !l.keyed()) && ref.Name == "value" {
			return undeclared("each.value cannot be used in this context", "%s", l.noInstance("each"))
		}
		if l.whole || !l.keyed() {
			return undeclared("Reference to \"each\" in context without for_each", "%s", l.noInstance("each"))
		}
	case addr.RefSelf:
		if l.self && l.s.Type != nil {
			return StaticTraversal(ref.Remaining, l.s.Type.Block)
		}
		if !l.self {
			return undeclared(`Invalid "self" reference`, `"self" is the object of the surrounding resource in its `+
				`provisioner, connection and postcondition blocks. It means nothing here.`)
		}
	}
	return nil
}

// noInstance returns why what an instance has of its own is not there.
func (l *linker) noInstance(name string) string {
	switch {
	case l.whole:
		return `"depends_on" belongs to the whole block, not to its instances, so "` + name + `" means nothing in it.`
	case name == "count":
		return `count.index is there in blocks that have the argument "count". This one has not.`
	}
	return `each.key and each.value are there in blocks that have the argument "for_each". This one has not.`
}

// counted and keyed tell whether the expressions at hand belong to a block with count or for_each. A module's arguments
// belong to the call.
func (l *linker) counted() bool {
	switch l.s.Kind {
	case SlotVariable:
		return l.s.arg != nil && l.s.unit.Module.Call.Count != nil
	case SlotResource:
		return l.s.Resource.Count != nil
	}
	return false
}

func (l *linker) keyed() bool {
	switch l.s.Kind {
	case SlotVariable:
		return l.s.arg != nil && l.s.unit.Module.Call.ForEach != nil
	case SlotResource:
		return l.s.Resource.ForEach != nil
	case SlotImport:
		return l.s.Import.ForEach != nil
	}
	return false
}

// wholeModule takes a reference to an output value that a module does not have for one to the module. Evaluating it
// tells what there is, and what a "try" around it gives instead. So it is with a key where a module has none: it is the
// name of an output value.
func (u *Unit) wholeModule(ref addr.Reference) addr.Reference {
	child := u.calls[ref.Name]
	if ref.Kind != addr.RefOutput || child == nil {
		return ref
	}
	_, declared := child.outputs[ref.Output]
	if call := child.Module.Call; !declared || ref.HasKey && call.Count == nil && call.ForEach == nil {
		ref.Kind = addr.RefModule
	}
	return ref
}

func (l *linker) resolveModule(ref addr.Reference, undeclared problemAt) diag.List {
	call, ok := l.u.callSlots[ref.Name]
	if !ok {
		return undeclared("Reference to undeclared module", "No module call named %q is declared in %s.%s", ref.Name,
			moduleName(l.u.Module), suggestOr(ref.Name, l.u.callSlots, ""))
	}
	l.deps[call] = true
	child := l.u.calls[ref.Name]
	if child == nil {
		return nil // the loader has said why
	}
	if ref.Kind == addr.RefOutput {
		c := l.u.slots[call].Call
		if !ref.HasKey && (c.Count != nil || c.ForEach != nil) {
			// Not an output but an attribute of a collection: evaluation tells.
			l.wholeCall(ref.Name, child)
			return nil
		}
		l.deps[l.u.outSlots[[2]string{ref.Name, ref.Output}]] = true
		return nil
	}
	l.wholeCall(ref.Name, child)
	return nil
}

// wholeCall adds the dependencies of what uses the value of a whole module call: all output values, and all that is in
// the module, for it may stand for a use of that. So whoever names a module is created after everything in it, and
// destroyed before.
func (l *linker) wholeCall(call string, child *Unit) {
	for o := range child.outputs {
		l.deps[l.u.outSlots[[2]string{call, o}]] = true
	}
	l.deps[l.u.closes[call]] = true
}

func (l *linker) resolveResource(ref addr.Reference, where string, undeclared problemAt) diag.List {
	i, ok := l.u.resources[ref.Resource]
	if !ok {
		return l.noSuchResource(ref, where, undeclared)
	}
	target := l.u.slots[i]
	if l.s.Kind == SlotImport && l.s.Import.To == target.ConfigAddr() {
		return undeclared("Invalid import id argument",
			"The import block cannot refer to %s, which is what it imports.", ref.Resource)
	}
	if check := target.Resource.Check; check != nil && (l.s.Kind != SlotCheck || l.s.Check != check) {
		return undeclared("Reference to scoped resource",
			"The referenced data resource %q %q is not available from this context.", ref.Resource.Type,
			ref.Resource.Name)
	}
	if l.s.Kind == SlotResource && l.s == target {
		return undeclared("Self-referential block", "Configuration for %s may not refer to itself.", target.Addr())
	}
	l.deps[i] = true
	if target.Type == nil {
		return nil
	}
	return l.checkAttribute(ref, target, undeclared)
}

func (l *linker) noSuchResource(ref addr.Reference, where string, undeclared problemAt) diag.List {
	word := map[addr.Mode]string{addr.Managed: "managed", addr.Data: "data",
		addr.Ephemeral: "ephemeral"}[ref.Resource.Mode]
	candidates := []string{}
	for r := range l.u.resources {
		candidates = append(candidates, r.String())
	}
	sort.Strings(candidates)
	extra := diag.DidYouMean(ref.Resource.String(), candidates)
	switch ref.Resource.Type {
	case "check", "run", "output":
		extra = fmt.Sprintf(" The result of a block %q cannot be referred to from within its module.",
			ref.Resource.Type)
	}
	if ref.Resource.Mode == addr.Managed {
		if _, ok := l.u.resources[addr.Resource{Mode: addr.Data, Type: ref.Resource.Type,
			Name: ref.Resource.Name}]; ok {
			extra = fmt.Sprintf("\n\nDid you mean the data resource data.%s?", ref.Resource)
		}
	}
	return undeclared("Reference to undeclared resource", "A %s resource %q %q has not been declared in %s.%s", word,
		ref.Resource.Type, ref.Resource.Name, where, extra)
}

// moduleName says which module is meant, as part of a sentence.
func moduleName(m *config.Module) string {
	if m.Path.IsRoot() {
		return "the root module"
	}
	return m.Path.String()
}

func quoted(s string) string { return `"` + s + `"` }

func suggestOr[V any](given string, have map[string]V, otherwise string) string {
	names := make([]string, 0, len(have))
	for n := range have {
		names = append(names, n)
	}
	sort.Strings(names)
	if s := diag.DidYouMean(given, names); s != "" {
		return s
	}
	return otherwise
}

// link resolves the references of every slot of a module. What is wrong with them becomes faults of the slots.
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
			l.dependsOn(s.Call.DependsOn)
		case SlotCallOutput, SlotCallClose:
			l.deps[u.callSlots[s.Call.Name]] = true
		case SlotProvider:
			l.body(s.Body)
		case SlotResource:
			l.resource(s)
			if u.parent == nil {
				for _, i := range s.imports {
					l.deps[i-u.base] = true
				}
			}
		case SlotCheck:
			if s.Check.Data != nil {
				l.deps[u.resources[s.Check.Data.Addr]] = true
			}
			l.conditions(s.Check.Asserts)
		case SlotImport:
			l.importBlock(s.Import)
		}
		s.deps = sortedKeys(l.deps)
	}
}

func (l *linker) body(b *Body) {
	if b != nil {
		l.traversals(b, b.Traversals())
	}
}

// resource adds what a resource block mentions. Its conditions and provisioners may say self.
func (l *linker) resource(s *Slot) {
	r := s.Resource
	l.expr(r.Count)
	l.expr(r.ForEach)
	l.body(s.Body)
	for d := range l.deps {
		if l.u.slots[d].Kind == SlotResource {
			s.direct = append(s.direct, d)
		}
	}
	sort.Ints(s.direct)
	s.warnings = s.warnings.Extend(redundantIgnores(s))
	l.dependsOn(r.DependsOn)
	l.conditions(r.Preconditions)
	for _, e := range r.ReplaceTriggeredBy {
		// An index such as each.key is part of the expression, so the variables of it count one by one.
		for _, t := range e.Variables() {
			if ref, d := addr.ParseReference(t); !d.HasErrors() && (ref.Kind == addr.RefResource ||
				ref.Kind == addr.RefEach || ref.Kind == addr.RefCount) {
				l.traversals(partTriggers, []hcl.Traversal{t})
			}
		}
	}
	l.self = true
	l.conditions(r.Postconditions)
	l.provisioners(s)
}

// linkVariable links an input variable: its validations count in its own module, its argument in the caller's.
func (p *Program) linkVariable(u *Unit, s *Slot) {
	inner := &linker{p: p, u: u, s: s, deps: map[int]bool{}}
	for _, v := range s.Variable.Validations {
		for _, e := range []hcl.Expression{v.Condition, v.ErrorMessage} {
			if e == nil {
				continue
			}
			for _, t := range e.Variables() {
				if ref, d := addr.ParseReference(t); !d.HasErrors() && ref.Kind == addr.RefVariable &&
					ref.Name == s.Name {
					continue // the variable itself is at hand
				}
				inner.traversals(partValidations, []hcl.Traversal{t})
			}
		}
	}
	s.deps = sortedKeys(inner.deps)
	if u.parent == nil {
		return
	}
	call := u.Module.Call
	content, _, hclDiags := call.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: s.Name}}})
	s.fault(partValidations, diag.List(nil).AppendHCL(hclDiags))
	if attr := content.Attributes[s.Name]; attr != nil {
		s.arg = attr.Expr
		outer := &linker{p: p, u: u.parent, s: s, deps: map[int]bool{}}
		inRefs := s.refs
		s.refs = nil
		outer.expr(attr.Expr)
		s.argRefs, s.refs = s.refs, inRefs
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
