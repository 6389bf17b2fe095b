package view

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// pairs generates schemas, values, and changed values. Every string and number in a value contains a unique token,
// which shows which values a text contains. The choices depend only on bytes, those of a seed or of a fuzzer.
type pairs struct {
	data  []byte
	count int
	// disordered are tokens of sequences with several changes, for which the choice of moved elements is not specified.
	disordered map[string]bool
	known      bool // no value is unknown
	blocks     bool // the changes are in nested blocks, which are compared by position
	// rich means that there are also texts with a structure of their own, which have no tokens or other signs, and no
	// nulls except for scalars in objects.
	rich bool
}

func newPairs(data []byte) *pairs { return &pairs{data: data, disordered: map[string]bool{}} }

// n returns a number below limit, or 0, the simplest choice, if there are no more bytes.
func (p *pairs) n(limit int) int {
	if len(p.data) == 0 {
		return 0
	}
	b := p.data[0]
	p.data = p.data[1:]
	return int(b) % limit
}

func (p *pairs) one(in int) bool { return p.n(in) == in-1 }

func (p *pairs) next() int { p.count++; return p.count }

func (p *pairs) token() string { return fmt.Sprintf("tok%dx", p.next()) }

// typ generates a type. Dynamic parts may occur anywhere except within sets, as in schemas.
func (p *pairs) typ(depth int, dynamic bool) cty.Type {
	kinds := 10
	if depth == 0 {
		kinds = 4
	}
	switch p.n(kinds) {
	case 1:
		return cty.Number
	case 2:
		return cty.Bool
	case 3:
		if dynamic {
			return cty.DynamicPseudoType
		}
	case 4:
		return cty.List(p.typ(depth-1, dynamic))
	case 5, 6:
		return cty.Set(p.typ(depth-1, false))
	case 7:
		return cty.Map(p.typ(depth-1, dynamic))
	case 8:
		tys := make([]cty.Type, p.some(4))
		for i := range tys {
			tys[i] = p.typ(depth-1, dynamic)
		}
		return cty.Tuple(tys)
	case 9:
		tys := map[string]cty.Type{}
		for range p.some(4) {
			tys[fmt.Sprintf("m%d", p.next())] = p.typ(depth-1, dynamic)
		}
		return cty.Object(tys)
	}
	return cty.String
}

// concrete returns a type without dynamic parts, as values have.
func (p *pairs) concrete(ty cty.Type) cty.Type {
	switch {
	case ty == cty.DynamicPseudoType:
		return p.typ(2, false)
	case ty.IsListType():
		return cty.List(p.concrete(ty.ElementType()))
	case ty.IsSetType():
		return cty.Set(p.concrete(ty.ElementType()))
	case ty.IsMapType():
		return cty.Map(p.concrete(ty.ElementType()))
	case ty.IsTupleType():
		tys := slices.Clone(ty.TupleElementTypes())
		for i := range tys {
			tys[i] = p.concrete(tys[i])
		}
		return cty.Tuple(tys)
	case ty.IsObjectType():
		tys := map[string]cty.Type{}
		for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) {
			tys[name] = p.concrete(ty.AttributeType(name))
		}
		return cty.Object(tys)
	}
	return ty
}

// enough is the number of names and leaves of a pair after which collections do not grow.
const enough = 400

// some returns a number of elements below limit.
func (p *pairs) some(limit int) int {
	if p.count > enough {
		return 0
	}
	return p.n(limit)
}

// value returns a value of a type with new leaves.
func (p *pairs) value(ty cty.Type) cty.Value {
	ty = p.concrete(ty)
	if !p.rich && p.one(12) {
		return cty.NullVal(ty)
	}
	switch {
	case ty == cty.Number:
		return cty.NumberIntVal(int64(7000000 + p.next()))
	case ty == cty.Bool:
		return cty.BoolVal(p.one(2))
	case ty == cty.String:
		return p.text()
	case ty.IsTupleType():
		vals := make([]cty.Value, len(ty.TupleElementTypes()))
		for i := range vals {
			vals[i] = p.value(ty.TupleElementType(i))
		}
		return cty.TupleVal(vals)
	case ty.IsObjectType():
		vals := map[string]cty.Value{}
		for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) {
			vals[name] = p.member(p.value(ty.AttributeType(name)))
		}
		return cty.ObjectVal(vals)
	case ty.IsMapType():
		vals := map[string]cty.Value{}
		for range p.some(4) {
			vals[fmt.Sprintf("k%d", p.next())] = p.value(ty.ElementType())
		}
		return mapOf(ty, vals)
	}
	vals := make([]cty.Value, p.some(5))
	for i := range vals {
		vals[i] = p.value(ty.ElementType())
	}
	return collectionOf(ty, vals)
}

// member returns a value in an object, or null.
func (p *pairs) member(v cty.Value) cty.Value {
	if p.rich && v.Type().IsPrimitiveType() && p.one(8) {
		return cty.NullVal(v.Type())
	}
	return v
}

// structured generates a text with a structure, or one that looks like the text of a difference.
func (p *pairs) structured() cty.Value {
	text := ""
	switch p.n(5) {
	case 0:
		text = "kind: " + p.token() + "\nmetadata:\n  name: web\nspec:\n- name: " + p.token() + "\n  ports:\n  - 80\n"
		for range p.n(3) {
			text += "- name: " + p.token() + "\n  a: b\n  c: d\n  e: f\n  g: h\n"
		}
	case 1:
		text = base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\nexport MODE=" + p.token() + "\nrun " + p.token()))
	case 2:
		for range 1 + p.n(2) {
			text += fmt.Sprintf("-----BEGIN THING-----\n%s\n-----END THING-----\n",
				base64.StdEncoding.EncodeToString([]byte(p.token())))
		}
	case 3:
		text = "- " + p.token() + "\n+ b\n\n  ~ c = 1 -> 2\n  EOT\n# (1 unchanged line)\n    " + p.token() + "\n"
	case 4:
		for i := range 30 {
			if text += fmt.Sprintf("line %d\n", i); p.one(8) {
				text += p.token() + "\n"
			}
		}
	}
	return cty.StringVal(text)
}

// restructured changes a text with a structure in a place of it, or only its white space.
func (p *pairs) restructured(text string) cty.Value {
	if p.one(6) {
		return cty.StringVal(text + []string{"\n", " ", "\n\n"}[p.n(3)])
	}
	if raw, err := base64.StdEncoding.DecodeString(text); err == nil && strings.Contains(string(raw), "\n") {
		inner := p.retext(cty.StringVal(string(raw))).AsString()
		return cty.StringVal(base64.StdEncoding.EncodeToString([]byte(inner)))
	}
	lines := strings.SplitAfter(text, "\n")
	switch at := p.n(len(lines)); p.n(4) {
	case 0:
		lines = slices.Delete(lines, at, at+1)
	case 1:
		lines = slices.Insert(lines, at, p.token()+"\n")
	default:
		return p.retoken(text)
	}
	return cty.StringVal(strings.Join(lines, ""))
}

// text generates a string: a word, several lines, JSON, or a long line.
func (p *pairs) text() cty.Value {
	if p.rich && p.one(3) {
		return p.structured()
	}
	switch p.n(7) {
	case 4:
		return cty.StringVal(p.token() + "\n" + p.token() + "\n" + p.token())
	case 5:
		return cty.StringVal(fmt.Sprintf(`{"j":["%s",%d,{"k":"%s"}]}`, p.token(), 7000000+p.next(), p.token()))
	case 6:
		return p.longLine()
	}
	return cty.StringVal(p.token())
}

// longLine generates a long one-line text, of which terminals only show excerpts.
func (p *pairs) longLine() cty.Value {
	words := "the quick brown fox jumps over "
	text := strings.Repeat(words, 2)
	for range 4 {
		text += p.token() + " " + strings.Repeat(words, 2)
	}
	return cty.StringVal(text)
}

func mapOf(ty cty.Type, vals map[string]cty.Value) cty.Value {
	if len(vals) == 0 {
		return cty.MapValEmpty(ty.ElementType())
	}
	return cty.MapVal(vals)
}

func collectionOf(ty cty.Type, vals []cty.Value) cty.Value {
	switch {
	case ty.IsSetType() && len(vals) == 0:
		return cty.SetValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetVal(vals)
	case len(vals) == 0:
		return cty.ListValEmpty(ty.ElementType())
	}
	return cty.ListVal(vals)
}

// mutate returns a changed value; its declared type may be dynamic.
func (p *pairs) mutate(ty cty.Type, v cty.Value) cty.Value {
	switch p.n(10) {
	case 0, 1, 2:
		return v
	case 3:
		if !p.known {
			return cty.UnknownVal(ty)
		}
		return v
	case 4:
		return p.value(v.Type())
	case 5:
		if ty == cty.DynamicPseudoType || p.rich {
			return p.value(ty)
		}
		return cty.NullVal(v.Type())
	}
	if v.IsNull() || !v.IsKnown() {
		return p.value(v.Type())
	}
	switch is := v.Type(); {
	case is == cty.String:
		return p.retext(v)
	case is.IsPrimitiveType():
		return p.value(is)
	case is.IsTupleType():
		vals := v.AsValueSlice()
		for i := range vals {
			vals[i] = p.mutate(memberType(ty, i, "", vals[i]), vals[i])
		}
		return cty.TupleVal(vals)
	case is.IsObjectType():
		vals := v.AsValueMap()
		for _, name := range slices.Sorted(maps.Keys(vals)) {
			vals[name] = p.member(p.mutate(memberType(ty, 0, name, vals[name]), vals[name]))
		}
		return cty.ObjectVal(vals)
	case is.IsMapType():
		vals := v.AsValueMap()
		if vals == nil {
			vals = map[string]cty.Value{}
		}
		for _, key := range slices.Sorted(maps.Keys(vals)) {
			switch p.n(3) {
			case 1:
				delete(vals, key)
			case 2:
				vals[key] = p.mutate(is.ElementType(), vals[key])
			}
		}
		if p.one(2) {
			vals[fmt.Sprintf("k%d", p.next())] = p.value(is.ElementType())
		}
		return mapOf(is, vals)
	}
	return p.collection(v)
}

// memberType returns the declared type of a member of a tuple or object, or that of v if there is none.
func memberType(ty cty.Type, i int, name string, v cty.Value) cty.Type {
	switch {
	case ty.IsTupleType():
		return ty.TupleElementType(i)
	case ty.IsObjectType():
		return ty.AttributeType(name)
	}
	return v.Type()
}

// retext changes a string in a place of it.
func (p *pairs) retext(v cty.Value) cty.Value {
	if p.rich && p.one(2) {
		return p.restructured(v.AsString())
	}
	return p.retoken(v.AsString())
}

// retoken replaces one of the tokens of a string.
func (p *pairs) retoken(text string) cty.Value {
	tokens := tokenPattern.FindAllString(text, -1)
	if len(tokens) == 0 {
		return p.text()
	}
	return cty.StringVal(strings.ReplaceAll(text, tokens[p.n(len(tokens))], p.token()))
}

// collection changes a list or set: elements are added, removed, changed or moved, or several of these.
func (p *pairs) collection(v cty.Value) cty.Value {
	ty, vals := v.Type(), v.AsValueSlice()
	happened := 0
	if p.one(2) { // each is changed at its position
		for i := range vals {
			if p.one(2) {
				vals[i] = p.mutate(ty.ElementType(), vals[i])
				happened = 1
			}
		}
	}
	for range p.n(3) {
		if at := p.n(len(vals) + 1); at < len(vals) && p.one(2) {
			vals = slices.Delete(vals, at, at+1)
		} else {
			vals = slices.Insert(vals, at, p.value(ty.ElementType()))
		}
		happened++
	}
	if len(vals) > 1 && p.one(4) {
		i, j := p.n(len(vals)), p.n(len(vals))
		vals[i], vals[j] = vals[j], vals[i]
		happened += 2
	}
	out := collectionOf(ty, vals)
	if ty.IsListType() && (happened > 1 || happened == 1 && p.blocks) {
		for _, at := range []cty.Value{v, out} {
			for token := range leaves(at) {
				p.disordered[token] = true
			}
		}
	}
	return out
}

// block generates a schema. Dynamic attributes are in blocks directly within the outermost, where object and changed
// represent collections of such blocks correctly.
func (p *pairs) block(depth int, dynamic bool) *provider.Block {
	b := &provider.Block{Attributes: map[string]*provider.Attribute{}, Blocks: map[string]*provider.NestedBlock{}}
	for range 1 + p.n(4) {
		name := fmt.Sprintf("a%d", p.next())
		if p.one(10) {
			name = "tags"
		}
		b.Attributes[name] = p.attribute(depth, dynamic)
	}
	if depth > 0 {
		for range p.n(3) {
			nesting := provider.NestingSingle + provider.Nesting(p.n(5))
			inner := p.block(depth-1, depth == 2 && nesting != provider.NestingSet)
			nb := &provider.NestedBlock{Nesting: nesting}
			nb.Attributes, nb.Blocks = inner.Attributes, inner.Blocks
			b.Blocks[fmt.Sprintf("b%d", p.next())] = nb
		}
	}
	return b
}

func (p *pairs) attribute(depth int, dynamic bool) *provider.Attribute {
	a := &provider.Attribute{Optional: true, Sensitive: p.one(12)}
	if depth > 0 && p.one(3) {
		modes := [...]provider.Nesting{provider.NestingSingle, provider.NestingList, provider.NestingSet,
			provider.NestingMap}
		a.Nested = &provider.NestedObject{Nesting: modes[p.n(4)], Attributes: map[string]*provider.Attribute{}}
		for range 1 + p.n(3) {
			inner := p.attribute(depth-1, dynamic && a.Nested.Nesting == provider.NestingSingle)
			a.Nested.Attributes[fmt.Sprintf("n%d", p.next())] = inner
		}
		return a
	}
	a.Type = p.typ(depth+1, dynamic)
	return a
}

// object generates the value of a block. Collections of blocks with dynamic attributes are tuples and objects.
func (p *pairs) object(b *provider.Block) cty.Value {
	vals := map[string]cty.Value{}
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		vals[name] = p.value(b.Attributes[name].ImpliedType())
	}
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		nb := b.Blocks[name]
		if nb.ImpliedType() != cty.DynamicPseudoType {
			vals[name] = p.value(nb.ImpliedType())
			continue
		}
		list, keyed := make([]cty.Value, p.some(3)), map[string]cty.Value{}
		for i := range list {
			list[i] = p.object(&nb.Block)
			keyed[fmt.Sprintf("k%d", p.next())] = list[i]
		}
		vals[name] = cty.TupleVal(list)
		if nb.Nesting == provider.NestingMap {
			vals[name] = cty.ObjectVal(keyed)
		}
	}
	return cty.ObjectVal(vals)
}

// changed generates the new value of an object of a block.
func (p *pairs) changed(b *provider.Block, v cty.Value) cty.Value {
	vals := v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		vals[name] = p.mutate(b.Attributes[name].ImpliedType(), vals[name])
	}
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		nb := b.Blocks[name]
		switch ty := nb.ImpliedType(); {
		case ty != cty.DynamicPseudoType:
			p.blocks = true
			vals[name] = p.mutate(ty, vals[name])
			p.blocks = false
		case nb.Nesting == provider.NestingMap:
			keyed := map[string]cty.Value{}
			for key, inner := range vals[name].AsValueMap() {
				keyed[key] = inner
			}
			for _, key := range slices.Sorted(maps.Keys(keyed)) {
				keyed[key] = p.changed(&nb.Block, keyed[key])
			}
			if p.one(2) {
				keyed[fmt.Sprintf("k%d", p.next())] = p.object(&nb.Block)
			}
			vals[name] = cty.ObjectVal(keyed)
		default:
			list := vals[name].AsValueSlice()
			for i := range list {
				list[i] = p.changed(&nb.Block, list[i])
			}
			if p.one(2) {
				list = append(list, p.object(&nb.Block))
			}
			vals[name] = cty.TupleVal(list)
		}
	}
	return cty.ObjectVal(vals)
}

// paths selects paths in a value to be sensitive or to force a replacement. None leads into a set.
func (p *pairs) paths(v cty.Value) []cty.Path {
	var all, chosen []cty.Path
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		if len(path) > 0 {
			all = append(all, path.Copy())
		}
		return !v.Type().IsSetType(), nil
	})
	slices.SortStableFunc(all, func(a, b cty.Path) int { return strings.Compare(place(a), place(b)) })
	for range p.n(4) {
		if len(all) > 0 {
			chosen = append(chosen, all[(p.n(256)<<8+p.n(256))%len(all)])
		}
	}
	return chosen
}
