package stack

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

// References to units: which ones the arguments of a block name, before anything has a value.

// rootName is the first name of references to units.
const rootName = "unit"

const howToRefer = "Expected unit.NAME.outputs.OUTPUT, or unit[\"NAME\"].outputs.OUTPUT if the name is not an " +
	"identifier."

// refer finds the references of a unit and adds its edges.
func (s *Stack) refer(u *Unit) (diags diag.List) {
	edges := map[*Unit]*Edge{}
	if a := u.block.Variables; a != nil {
		if node, ok := a.Expr.(hclsyntax.Expression); ok {
			w := &walker{stack: s, unit: u, edges: edges, seen: map[hclsyntax.Expression]bool{}}
			_ = hclsyntax.Walk(node, w)
			diags = diags.Extend(w.diags)
		}
	}
	diags = diags.Extend(s.orders(u, edges))
	u.setEdges(edges)
	return diags
}

func (u *Unit) setEdges(edges map[*Unit]*Edge) {
	u.Edges = slices.SortedFunc(maps.Values(edges), func(a, b *Edge) int {
		return strings.Compare(a.To.Name, b.To.Name)
	})
}

// orders adds the units of depends_on.
func (s *Stack) orders(u *Unit, edges map[*Unit]*Edge) (diags diag.List) {
	a := u.block.DependsOn
	if a == nil {
		return nil
	}
	list, problems := hcl.ExprList(a.Expr)
	if problems.HasErrors() {
		return diags.Errorf(&a.Range, "Invalid depends_on", "Expected a list of units, as [unit.network].")
	}
	for _, e := range list {
		if _, problems := e.Value(nil); !problems.HasErrors() { // a constant, as "network"
			diags = diags.Errorf(e.Range().Ptr(), "Invalid depends_on", "Expected units without quotes, as "+
				"unit.NAME, or as unit[\"NAME\"] if the name is not an identifier.")
			continue
		}
		name, rest, more := s.named(u, e)
		if diags = diags.Extend(more); more.HasErrors() {
			continue
		}
		at := e.Range()
		if len(rest) > 0 {
			diags = diags.Errorf(&at, "Invalid depends_on", "Expected only the unit, without outputs: unit.NAME or "+
				"unit[\"NAME\"].")
			continue
		}
		units, isGroup := s.groups[name]
		if one := s.byName[name]; one != nil {
			units, isGroup = []*Unit{one}, false
		}
		if len(units) == 0 && !isGroup {
			diags = diags.Extend(s.unknown(name, at))
			continue
		}
		for _, to := range units {
			switch {
			case to != u:
				edge(edges, to).Order = true
			case !isGroup:
				diags = diags.Errorf(&at, "Unit depends on itself", "The unit %q names itself. Remove the reference.",
					u.Name)
			}
		}
	}
	return diags
}

func edge(edges map[*Unit]*Edge, to *Unit) *Edge {
	if edges[to] == nil {
		edges[to] = &Edge{To: to}
	}
	return edges[to]
}

func (s *Stack) unknown(name string, at hcl.Range) (diags diag.List) {
	if list := s.groups[name]; len(list) > 0 {
		return diags.Errorf(&at, "Unit is not unique", "The block %q is for %d units. Name one of them, as in "+
			"unit[%q].", name, len(list), list[0].Name)
	}
	return diags.Errorf(&at, "Unknown unit", "There is no unit %q in this file.%s Add a unit block, or correct the "+
		"name.",
		name, diag.DidYouMean(name, slices.Sorted(maps.Keys(s.byName))))
}

// named returns the name of the unit that an expression refers to, and the rest of the reference.
func (s *Stack) named(u *Unit, e hcl.Expression) (name string, rest hcl.Traversal, diags diag.List) {
	at := e.Range()
	wrong := func() (string, hcl.Traversal, diag.List) {
		return "", nil, diags.Errorf(&at, "Invalid reference to a unit", "%s", howToRefer)
	}
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		if e.Traversal.RootName() != rootName || len(e.Traversal) < 2 {
			return wrong()
		}
		switch step := e.Traversal[1].(type) {
		case hcl.TraverseAttr:
			return step.Name, e.Traversal[2:], nil
		case hcl.TraverseIndex:
			if step.Key.Type() == cty.String {
				return step.Key.AsString(), e.Traversal[2:], nil
			}
		}
	case *hclsyntax.IndexExpr:
		if !isRoot(e.Collection) {
			return wrong()
		}
		v, problems := e.Key.Value(&hcl.EvalContext{Variables: map[string]cty.Value{"each": u.each()},
			Functions: funcs.Table(funcs.Options{BaseDir: s.Root, Pure: true})})
		if problems.HasErrors() {
			return "", nil, diags.AppendHCL(problems)
		}
		if v, _ = v.Unmark(); v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
			return wrong()
		}
		return v.AsString(), nil, nil
	}
	return wrong()
}

// isRoot reports whether an expression is only the word for all units.
func isRoot(e hclsyntax.Expression) bool {
	t, ok := e.(*hclsyntax.ScopeTraversalExpr)
	return ok && len(t.Traversal) == 1 && t.Traversal.RootName() == rootName
}

// each returns the value of "each" in the arguments of a unit.
func (u *Unit) each() cty.Value {
	match := cty.ListValEmpty(cty.String)
	if len(u.matches) > 0 {
		var list []cty.Value
		for _, m := range u.matches {
			list = append(list, cty.StringVal(m))
		}
		match = cty.ListVal(list)
	}
	return cty.ObjectVal(map[string]cty.Value{"path": cty.StringVal(u.Dir), "match": match})
}

// walker collects the references in an expression.
type walker struct {
	stack *Stack
	unit  *Unit
	edges map[*Unit]*Edge
	seen  map[hclsyntax.Expression]bool // parts of a reference that is already known
	diags diag.List
}

// Enter implements hclsyntax.Walker.
func (w *walker) Enter(node hclsyntax.Node) hcl.Diagnostics {
	if e, ok := node.(hclsyntax.Expression); ok && w.seen[e] { // other nodes are not pointers
		return nil
	}
	switch e := node.(type) {
	case *hclsyntax.RelativeTraversalExpr:
		if index, ok := e.Source.(*hclsyntax.IndexExpr); ok && isRoot(index.Collection) {
			w.seen[index], w.seen[index.Collection] = true, true
			w.add(index, e.Traversal)
		}
	case *hclsyntax.IndexExpr:
		if isRoot(e.Collection) {
			w.seen[e.Collection] = true
			w.add(e, nil)
		}
	case *hclsyntax.ScopeTraversalExpr:
		if e.Traversal.RootName() == rootName {
			w.add(e, nil)
		}
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (w *walker) Exit(hclsyntax.Node) hcl.Diagnostics { return nil }

// add adds a reference: an expression for a unit, and the steps after it.
func (w *walker) add(e hcl.Expression, steps hcl.Traversal) {
	name, rest, diags := w.stack.named(w.unit, e)
	if w.diags = w.diags.Extend(diags); diags.HasErrors() {
		return
	}
	at := e.Range()
	steps = append(slices.Clone(rest), steps...)
	to := w.stack.byName[name]
	switch {
	case to == nil:
		w.diags = w.diags.Extend(w.stack.unknown(name, at))
		return
	case to == w.unit:
		w.diags = w.diags.Errorf(&at, "Unit depends on itself", "The unit %q refers to its own outputs. Remove the "+
			"reference.", name)
		return
	}
	if first, ok := step(steps, 0); !ok || first != "outputs" {
		w.diags = w.diags.Errorf(&at, "Invalid reference to a unit", "%s", howToRefer)
		return
	}
	one := edge(w.edges, to)
	if output, ok := step(steps, 1); !ok {
		one.All = true
	} else if !slices.Contains(one.Outputs, output) {
		one.Outputs = append(one.Outputs, output)
		slices.Sort(one.Outputs)
	}
}

// step returns the name of a step of a reference.
func step(t hcl.Traversal, i int) (name string, ok bool) {
	if i >= len(t) {
		return "", false
	}
	switch s := t[i].(type) {
	case hcl.TraverseAttr:
		return s.Name, true
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String {
			return s.Key.AsString(), true
		}
	}
	return "", false
}

// values evaluates the variables of a unit. units has the outputs of the units that it refers to. The values may be
// marked as sensitive.
func (s *Stack) values(u *Unit, units map[string]map[string]cty.Value) (map[string]cty.Value, diag.List) {
	a := u.block.Variables
	if a == nil {
		return nil, nil
	}
	known := map[string]cty.Value{}
	for name, outputs := range units {
		known[name] = cty.ObjectVal(map[string]cty.Value{"outputs": cty.ObjectVal(outputs)})
	}
	v, problems := a.Expr.Value(&hcl.EvalContext{
		Variables: map[string]cty.Value{rootName: cty.ObjectVal(known), "each": u.each()},
		Functions: funcs.Table(funcs.Options{BaseDir: s.Root, Pure: true}),
	})
	diags := diag.List(nil).AppendHCL(problems)
	if diags.HasErrors() {
		return nil, diags
	}
	v, marks := v.Unmark()
	if !v.IsKnown() || v.IsNull() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return nil, diags.Errorf(&a.Range, "Invalid variables", "The argument variables of the unit %q is %s. "+
			"Expected an object with the values of variables by name.", u.Name, describe(v))
	}
	out := map[string]cty.Value{}
	for it := v.ElementIterator(); it.Next(); {
		name, value := it.Element()
		key := name.AsString()
		if out[key] = value.WithMarks(marks); !value.IsWhollyKnown() {
			diags = diags.Errorf(&a.Range, "Invalid variables", "The value of the variable %q of the unit %q is not "+
				"known, because a function was called whose results change, such as timestamp. Use a value that stays "+
				"the same.",
				key, u.Name)
		}
	}
	return out, diags
}

func describe(v cty.Value) string {
	switch {
	case !v.IsKnown():
		return "not known"
	case v.IsNull():
		return "null"
	}
	return fmt.Sprintf("a value of the type %s", v.Type().FriendlyName())
}
