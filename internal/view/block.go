package view

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/provider"
)

// blockNode is the difference of a resource's block or a nested block.
type blockNode struct {
	op      op
	replace bool
	// secret blocks are not shown. For exposure, see node.
	secret   bool
	exposure int8

	names      []string
	attributes []*node
	groups     []blockGroup
}

// blockGroup holds all nested blocks of one name.
type blockGroup struct {
	name string
	// labels holds the labels of the blocks if these form a map.
	labels []string
	blocks []*blockNode
	// matched are the blocks of a set with similar ones paired, or nil if there are no pairs.
	matched []*blockNode
	// pending blocks are unknown: neither their number nor their content is known.
	pending   bool
	pendingOp op
}

// compareBlock returns the difference of two objects of a schema. If relevant is not nil, it selects attributes and
// blocks; all others are treated as unchanged.
func compareBlock(b *provider.Block, s sides, relevant *pathSet) *blockNode {
	n := &blockNode{op: s.container(), replace: s.replace.isHere()}
	parent := n.op
	counts := func(name string) bool { return relevant == nil || relevant.here || relevant.at(name) != nil }
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		c := s.attribute(name)
		if !counts(name) {
			c.after, c.secret = c.before, c.hadSecret
		}
		if a := compareAttribute(b.Attributes[name], c, parent); a != nil {
			n.names = append(n.names, name)
			n.attributes = append(n.attributes, a)
			n.changed(a.op)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		c := s.attribute(name)
		if !counts(name) {
			c.after, c.secret = c.before, c.hadSecret
		}
		g := compareBlocks(name, b.Blocks[name], c)
		if g.pending {
			n.changed(g.pendingOp)
		}
		for _, nb := range g.blocks {
			n.changed(nb.op)
		}
		if g.pending || len(g.blocks) > 0 {
			n.groups = append(n.groups, g)
		}
	}
	return n
}

// empty reports whether there is nothing between the braces.
func (n *blockNode) empty() bool { return !n.secret && len(n.attributes) == 0 && len(n.groups) == 0 }

func (n *blockNode) changed(o op) {
	if n.op == same && o != same {
		n.op = update
	}
}

// compareBlocks compares all nested blocks of one name.
func compareBlocks(name string, nb *provider.NestedBlock, s sides) blockGroup {
	g := blockGroup{name: name}
	if s.isEmpty() {
		return g
	}
	if !isAbsent(s.after) && !s.after.IsKnown() {
		g.pending, g.pendingOp = true, update
		if isAbsent(s.before) {
			g.pendingOp = create
		}
		return g
	}
	one := func(label string, c sides) {
		if c.isEmpty() {
			return
		}
		// If a set of blocks is sensitive, so is each of the blocks.
		c.hadSecret, c.secret = widen(s.hadSecret, c.hadSecret), widen(s.secret, c.secret)
		g.labels = append(g.labels, label)
		g.blocks = append(g.blocks, compareOneBlock(&nb.Block, c))
	}
	inSet := func(c sides) *blockNode {
		c.hadSecret, c.secret = widen(s.hadSecret, nil), widen(s.secret, nil)
		return compareOneBlock(&nb.Block, c)
	}
	switch nb.Nesting {
	case provider.NestingList:
		before, after := items(s.before, s.hadSecret), items(s.after, s.secret)
		for i := range max(len(before), len(after)) {
			c := sides{replace: s.replace.at(itemName(i))}
			if i < len(before) {
				c.before, c.hadSecret = before[i].value, before[i].secrets
			}
			if i < len(after) {
				c.after, c.secret = after[i].value, after[i].secrets
			}
			one("", c)
		}
	case provider.NestingSet:
		plain, matched := bagSides(s)
		for _, c := range plain {
			one("", c)
		}
		for _, c := range matched {
			g.matched = append(g.matched, inSet(c))
		}
	case provider.NestingMap:
		for _, label := range memberNames(s.before, s.after) {
			one(label, s.part(label))
		}
	default:
		one("", s)
	}
	return g
}

// widen returns the secrets of a part, or those of the whole value if they cover all of it.
func widen(whole, part *tfjson.Secrets) *tfjson.Secrets {
	if whole.Self() {
		return whole
	}
	return part
}

func compareOneBlock(b *provider.Block, s sides) *blockNode {
	if !s.hadSecret.Self() && !s.secret.Self() {
		return compareBlock(b, s, nil)
	}
	n := &blockNode{op: s.op(), secret: true, replace: s.replace.isHere()}
	if !isAbsent(s.before) && !isAbsent(s.after) && s.hadSecret.Self() != s.secret.Self() {
		n.op, n.exposure = update, -1
		if s.secret.Self() {
			n.exposure = 1
		}
	}
	return n
}

// block writes the content of a block and the closing brace, without the header.
func (r *renderer) block(n *blockNode, depth int, all bool) {
	if n.secret {
		r.pad(4*depth + 2)
		r.WriteString("# At least one attribute in this block is (or was) sensitive,\n")
		r.pad(4*depth + 2)
		r.WriteString("# so its contents will not be displayed.\n")
		r.pad(4 * depth)
		r.WriteByte('}')
		return
	}
	width := 0
	for _, name := range n.names {
		width = max(width, utf8.RuneCountInString(memberName(name)))
	}
	hidden, start := 0, r.Len()
	for i, a := range n.attributes {
		if a.op == same && !all && !important(n.names[i]) {
			hidden++
			continue
		}
		from := r.Len()
		r.warnings(a, depth+1, "")
		r.lead(depth+1, a.op)
		r.assign(memberName(n.names[i]), width)
		r.value(a, depth+1, how{all: all || important(n.names[i])})
		r.WriteByte('\n')
		if depth == 1 && !all && n.identifies(a, n.names[i]) {
			r.identify(from)
		}
	}
	r.hiddenCount(depth+1, hidden, "attribute")
	r.nestedBlocks(n, depth+1, all, r.Len() == start)
	r.pad(4 * depth)
	r.WriteByte('}')
}

// identifies reports whether an attribute says which object changes rather than what: it does not change and is shown
// nevertheless, its old value is replaced by one that the provider will choose, or the object disappears with its name.
func (n *blockNode) identifies(a *node, name string) bool {
	switch a.op {
	case same:
		return true
	case update:
		return a.kind == unknown && !a.replace
	case remove:
		return n.op == remove && important(name)
	}
	return false
}

// nestedBlocks writes the blocks inside of a block. An empty line precedes those of each name, unless the block has no
// attributes (newer/computed_blocks).
func (r *renderer) nestedBlocks(n *blockNode, depth int, all, first bool) {
	hidden := 0
	for _, g := range n.groups {
		begun := false
		begin := func() {
			if !begun && !first {
				r.WriteByte('\n')
			}
			begun = true
		}
		if g.pending {
			begin()
			r.lead(depth, g.pendingOp)
			r.WriteString(cleanLine(g.name) + " (known after apply)\n")
			continue
		}
		blocks, paired := g.blocks, r.brief && g.matched != nil
		if paired {
			blocks = g.matched
		}
		for i, b := range blocks {
			if b.op == same && !all {
				hidden++
				continue
			}
			begin()
			r.warnings(&node{exposure: b.exposure}, depth, "block")
			r.lead(depth, b.op)
			r.WriteString(cleanLine(g.name))
			if g.labels[i] != "" {
				r.WriteString(" " + quoted(g.labels[i]))
			}
			r.WriteString(" {")
			note := r.replaceNote(&node{replace: b.replace, op: b.op})
			if b.empty() && note == "" {
				r.WriteString("}\n")
				continue
			}
			r.WriteString(note)
			r.WriteByte('\n')
			r.block(b, depth, all || paired && len(b.groups) == 0 && isSmall(b.attributes))
			r.WriteByte('\n')
		}
	}
	if hidden > 0 {
		r.WriteByte('\n')
		r.hiddenCount(depth, hidden, "block")
	}
}

// objectSides returns the sides of an object. A null object is absent.
func objectSides(before, after cty.Value, hadSecret, secret *tfjson.Secrets) sides {
	return sides{before: nullAsAbsent(before), after: nullAsAbsent(after), hadSecret: hadSecret, secret: secret}
}
